"""Joint by joint feedback without a model: τ = -Kp e - Kd ė."""

from __future__ import annotations

from appell.algorithms.laws.law import NOTHING, Law, Model, Signals, Vector, feedback


def torque(model: Model, q: Vector, qd: Vector, signals: Signals, gains: Signals, memory: Signals = NOTHING) -> Vector:
    return feedback(q, qd, signals, gains)


LAW = Law("pd", ("q", "qd"), ("kp", "kd"), torque)
