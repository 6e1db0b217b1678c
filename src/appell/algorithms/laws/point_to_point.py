"""Inverse dynamics control to a point, Valera 2003, eq. (29) and table 4, first row: v = -Kd q̇ - Kp e."""

from __future__ import annotations

from appell.algorithms.laws.law import NOTHING, Law, Model, Signals, Vector, error


def torque(model: Model, q: Vector, qd: Vector, signals: Signals, gains: Signals, memory: Signals = NOTHING) -> Vector:
    v = [-kd * xd - kp * e for kd, xd, kp, e in zip(gains["kd"], qd, gains["kp"], error(q, signals), strict=True)]
    return model.inverse_dynamics(q, qd, v)


LAW = Law("point_to_point", ("q",), ("kp", "kd"), torque)
