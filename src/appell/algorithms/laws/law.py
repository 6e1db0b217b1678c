"""What a control law is: generalised forces from the state, over any scalars."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Protocol

from appell.algebra import Scalar

Vector = list[Scalar]
Signals = Mapping[str, Vector]
NOTHING: Signals = MappingProxyType({})


class Model(Protocol):
    """What a law may ask of the robot."""

    def inverse_dynamics(self, q: Vector, qd: Vector, qdd: Vector) -> Vector: ...
    def gravity(self, q: Vector) -> Vector: ...


class Torque(Protocol):
    """Generalised forces from the model, the state, signals, gains and memory. [N m, N]"""

    def __call__(
        self, model: Model, q: Vector, qd: Vector, signals: Signals, gains: Signals, memory: Signals = NOTHING
    ) -> Vector: ...


class Rates(Protocol):
    """How fast each vector of the memory changes."""

    def __call__(self, q: Vector, qd: Vector, signals: Signals) -> Signals: ...


def no_memory(q: Vector, qd: Vector, signals: Signals) -> Signals:
    return NOTHING


@dataclass(frozen=True)
class Law:
    """One control law, written once over lists of scalars: kernels trace it, plain loops call it with arrays of lanes.

    Attributes:
        signals: vectors that may change with time; the first ones default to zero where they are not given.
        gains: vectors that stay.
        torque: generalised forces.
        memory: vectors that the law carries along, such as an integral; they start at zero.
        rates: rate of change of each vector of the memory.
    """

    name: str
    signals: tuple[str, ...]
    gains: tuple[str, ...]
    torque: Torque
    memory: tuple[str, ...] = ()
    rates: Rates = no_memory


def error(q: Vector, signals: Signals, name: str = "q") -> Vector:
    """e = q - q_d: the sign of Valera 2003's table 4 (e is not defined there)."""
    return [x - x_d for x, x_d in zip(q, signals[name], strict=True)]


def feedback(q: Vector, qd: Vector, signals: Signals, gains: Signals) -> Vector:
    """-Kp e - Kd ė: the second term is misprinted as -Kd q̇ in table 4, which would pull a moving reference back."""
    pairs = zip(gains["kp"], error(q, signals), gains["kd"], error(qd, signals, "qd"), strict=True)
    return [-kp * e - kd * ed for kp, e, kd, ed in pairs]


def total(*terms: Vector) -> Vector:
    """Sum of vectors."""
    return [sum(entries[1:], entries[0]) for entries in zip(*terms, strict=True)]
