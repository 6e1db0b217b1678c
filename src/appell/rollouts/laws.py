"""Control laws that a rollout can hold inside: torques from the state, over any scalars.

A law is written once over lists of scalars; a kernel traces it, the plain rollout calls it with arrays of lanes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from appell.algebra import Scalar

Vector = list[Scalar]
Signals = Mapping[str, Vector]


class Model(Protocol):
    """What a law may ask of the robot."""

    def inverse_dynamics(self, q: Vector, qd: Vector, qdd: Vector) -> Vector: ...
    def gravity(self, q: Vector) -> Vector: ...


@dataclass(frozen=True)
class Law:
    """One control law.

    Attributes:
        signals: vectors that may change with time; the first ones default to zero where they are not given.
        gains: vectors that stay.
        torque: generalised forces from the model, the state, signals and gains.
    """

    name: str
    signals: tuple[str, ...]
    gains: tuple[str, ...]
    torque: Callable[[Model, Vector, Vector, Signals, Signals], Vector]


def _given(model: Model, q: Vector, qd: Vector, signals: Signals, gains: Signals) -> Vector:
    return list(signals["tau"])


def _feedback(q: Vector, qd: Vector, signals: Signals, gains: Signals) -> Vector:
    """kp (q_ref - q) + kd (qd_ref - qd)."""
    return [
        kp * (q_ref - x) + kd * (qd_ref - xd)
        for x, xd, q_ref, qd_ref, kp, kd in zip(
            q, qd, signals["q"], signals["qd"], gains["kp"], gains["kd"], strict=True
        )
    ]


def _pd(model: Model, q: Vector, qd: Vector, signals: Signals, gains: Signals) -> Vector:
    return _feedback(q, qd, signals, gains)


def _pd_gravity(model: Model, q: Vector, qd: Vector, signals: Signals, gains: Signals) -> Vector:
    return [a + b for a, b in zip(_feedback(q, qd, signals, gains), model.gravity(q), strict=True)]


def _computed_torque(model: Model, q: Vector, qd: Vector, signals: Signals, gains: Signals) -> Vector:
    """Valera 2003, eq. (29) with v = qdd_ref + kd (qd_ref - qd) + kp (q_ref - q)."""
    v = [a + b for a, b in zip(signals["qdd"], _feedback(q, qd, signals, gains), strict=True)]
    return model.inverse_dynamics(q, qd, v)


LAWS = {
    law.name: law
    for law in (
        Law("torque", ("tau",), (), _given),
        Law("pd", ("q", "qd"), ("kp", "kd"), _pd),
        Law("pd_gravity", ("q", "qd"), ("kp", "kd"), _pd_gravity),
        Law("computed_torque", ("q", "qd", "qdd"), ("kp", "kd"), _computed_torque),
    )
}
