"""Control laws: generalized forces from the state, over any scalars. Inverse dynamics control: Valera 2003, eq. (29), table 4.

To add a law: write its torque function and list it in LAWS.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Protocol

from appell.algebra import Scalar

Vector = list[Scalar]
Signals = Mapping[str, Vector]
NO_SIGNALS: Signals = MappingProxyType({})


class LawModel(Protocol):
    """Terms of the robot's dynamics that a law may use."""

    def inverse_dynamics(self, q: Vector, qd: Vector, qdd: Vector) -> Vector: ...
    def gravity(self, q: Vector) -> Vector: ...
    def mass_matrix(self, q: Vector) -> list[Vector]: ...


def no_rates(q: Vector, qd: Vector, signals: Signals) -> Signals:
    """The rates of a law without memory."""
    return NO_SIGNALS


@dataclass(frozen=True)
class Law:
    """One control law, written once over lists of scalars: kernels trace it, plain loops call it with arrays of lanes.

    Attributes:
        signals: vectors that may change with time; the first ones default to zero where they are not given.
        gains: constant vectors.
        torque: generalized forces from the model, q, qd, signals, gains and memory. [N m, N]
        memory: state vectors of the law, such as an integral; zero at the start.
        rates: rate of change of each vector of the memory.
    """

    name: str
    signals: tuple[str, ...]
    gains: tuple[str, ...]
    torque: Callable[[LawModel, Vector, Vector, Signals, Signals, Signals], Vector]
    memory: tuple[str, ...] = ()
    rates: Callable[[Vector, Vector, Signals], Signals] = no_rates

    @property
    def is_feedback(self) -> bool:
        """Whether it compares coordinates with a reference."""
        return "q" in self.signals


def error(q: Vector, signals: Signals, name: str = "q") -> Vector:
    """e = q - q_d: the sign of Valera 2003's table 4 (e is not defined there)."""
    return [x - x_d for x, x_d in zip(q, signals[name], strict=True)]


def feedback(q: Vector, qd: Vector, signals: Signals, gains: Signals) -> Vector:
    """-Kp e - Kd ė. Table 4 prints -Kd q̇: the error would tend to -Kp⁻¹ Kd q̇_d instead of zero."""
    pairs = zip(gains["kp"], error(q, signals), gains["kd"], error(qd, signals, "qd"), strict=True)
    return [-kp * e - kd * ed for kp, e, kd, ed in pairs]


def total(*terms: Vector) -> Vector:
    """Sum of vectors."""
    return [sum(entries[1:], entries[0]) for entries in zip(*terms, strict=True)]


def open_loop(model: LawModel, q: Vector, qd: Vector, signals: Signals, gains: Signals, memory: Signals) -> Vector:
    """τ is the signal."""
    return list(signals["tau"])


def pd(model: LawModel, q: Vector, qd: Vector, signals: Signals, gains: Signals, memory: Signals) -> Vector:
    """Feedback of each joint without a model: τ = -Kp e - Kd ė."""
    return feedback(q, qd, signals, gains)


def pd_gravity(model: LawModel, q: Vector, qd: Vector, signals: Signals, gains: Signals, memory: Signals) -> Vector:
    """Feedback of each joint with gravity compensation: τ = G(q) - Kp e - Kd ė."""
    return total(feedback(q, qd, signals, gains), model.gravity(q))


def point_to_point(model: LawModel, q: Vector, qd: Vector, signals: Signals, gains: Signals, memory: Signals) -> Vector:
    """Inverse dynamics control to a point, table 4, first row: v = -Kd q̇ - Kp e."""
    v = [-kd * xd - kp * e for kd, xd, kp, e in zip(gains["kd"], qd, gains["kp"], error(q, signals), strict=True)]
    return model.inverse_dynamics(q, qd, v)


def computed_torque(
    model: LawModel, q: Vector, qd: Vector, signals: Signals, gains: Signals, memory: Signals
) -> Vector:
    """Inverse dynamics control along a reference, table 4, second row: v = q̈_d - Kd ė - Kp e."""
    v = total(signals["qdd"], feedback(q, qd, signals, gains))
    return model.inverse_dynamics(q, qd, v)


def integral_tracking(
    model: LawModel, q: Vector, qd: Vector, signals: Signals, gains: Signals, memory: Signals
) -> Vector:
    """Inverse dynamics control with integral action, table 4, third row: v = q̈_d - Kd ė - Kp e - Ki ∫ e dt."""
    integral = [-ki * x for ki, x in zip(gains["ki"], memory["integral"], strict=True)]
    v = total(signals["qdd"], feedback(q, qd, signals, gains), integral)
    return model.inverse_dynamics(q, qd, v)


def integral_rates(q: Vector, qd: Vector, signals: Signals) -> Signals:
    """d/dt ∫ e dt = e."""
    return {"integral": error(q, signals)}


PD, PID = ("kp", "kd"), ("kp", "kd", "ki")
LAWS = {
    law.name: law
    for law in (
        Law("torque", ("tau",), (), open_loop),
        Law("pd", ("q", "qd"), PD, pd),
        Law("pd_gravity", ("q", "qd"), PD, pd_gravity),
        Law("point_to_point", ("q",), PD, point_to_point),
        Law("computed_torque", ("q", "qd", "qdd"), PD, computed_torque),
        Law("integral_tracking", ("q", "qd", "qdd"), PID, integral_tracking, ("integral",), integral_rates),
    )
}
"""All laws, by name."""
