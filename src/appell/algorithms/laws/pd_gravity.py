"""Joint by joint feedback with the weight carried by the model: τ = G(q) - Kp e - Kd ė."""

from __future__ import annotations

from appell.algorithms.laws.law import NOTHING, Law, Model, Signals, Vector, feedback, total


def torque(model: Model, q: Vector, qd: Vector, signals: Signals, gains: Signals, memory: Signals = NOTHING) -> Vector:
    return total(feedback(q, qd, signals, gains), model.gravity(q))


LAW = Law("pd_gravity", ("q", "qd"), ("kp", "kd"), torque)
