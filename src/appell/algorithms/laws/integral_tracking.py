"""Inverse dynamics control with integral action, Valera 2003, eq. (29) and table 4, third row (its erratum applied):

v = q̈_d - Kd ė - Kp e - Ki ∫ e dt
"""

from __future__ import annotations

from appell.algorithms.laws.law import NOTHING, Law, Model, Signals, Vector, error, feedback, total


def torque(model: Model, q: Vector, qd: Vector, signals: Signals, gains: Signals, memory: Signals = NOTHING) -> Vector:
    pull = [-ki * integral for ki, integral in zip(gains["ki"], memory["integral"], strict=True)]
    v = total(signals["qdd"], feedback(q, qd, signals, gains), pull)
    return model.inverse_dynamics(q, qd, v)


def rates(q: Vector, qd: Vector, signals: Signals) -> Signals:
    return {"integral": error(q, signals)}


LAW = Law("integral_tracking", ("q", "qd", "qdd"), ("kp", "kd", "ki"), torque, ("integral",), rates)
