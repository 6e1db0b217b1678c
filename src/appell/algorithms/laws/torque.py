"""Open loop: the torque is the signal."""

from __future__ import annotations

from appell.algorithms.laws.law import NOTHING, Law, Model, Signals, Vector


def torque(model: Model, q: Vector, qd: Vector, signals: Signals, gains: Signals, memory: Signals = NOTHING) -> Vector:
    return list(signals["tau"])


LAW = Law("torque", ("tau",), (), torque)
