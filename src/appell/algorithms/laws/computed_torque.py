"""Inverse dynamics control along a reference, Valera 2003, eq. (29) and table 4, second row: v = q̈_d - Kd ė - Kp e.

Table 4 prints -Kd q̇: the error would tend to -Kp⁻¹ Kd q̇_d instead of zero.
"""

from __future__ import annotations

from appell.algorithms.laws.law import NOTHING, Law, Model, Signals, Vector, feedback, total


def torque(model: Model, q: Vector, qd: Vector, signals: Signals, gains: Signals, memory: Signals = NOTHING) -> Vector:
    v = total(signals["qdd"], feedback(q, qd, signals, gains))
    return model.inverse_dynamics(q, qd, v)


LAW = Law("computed_torque", ("q", "qd", "qdd"), ("kp", "kd"), torque)
