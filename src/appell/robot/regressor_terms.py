"""Regressor terms besides the link inertias: rotors, friction, offsets, couplings, and user-defined ones.

A term is a few columns of the regressor with their parameters. The built-in terms have one column per generalized velocity;
other terms subclass `RegressorTerm`, or are instances of `CustomTerm` made from a function.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from appell.checks import require_choice
from appell.deprecation import renamed_attributes, warn_renamed
from appell.errors import ArgumentError
from appell.model.joint_friction import joint_friction

if TYPE_CHECKING:
    from appell.robot.protocol import AnyRobot


@renamed_attributes(own="nominal_values")
class RegressorTerm(ABC):
    """Columns of the regressor for parameters other than the inertial parameters of the links."""

    positive: ClassVar[bool] = False
    """Whether the parameters are positive by definition; fits with `physical=True` keep them positive."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "own" in vars(cls):
            warn_renamed(f"{cls.__name__}.own", "nominal_values")
            cls.nominal_values = vars(cls)["own"]

    @abstractmethod
    def names(self, robot: AnyRobot) -> tuple[str, ...]:
        """Name of each parameter."""

    @abstractmethod
    def columns(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        """Generalized forces per unit of each parameter, (N, nv, k) for states (N, nq), (N, nv), (N, nv)."""

    def nominal_values(self, robot: AnyRobot) -> np.ndarray:
        """The parameters in the robot's description, (k,); zero by default."""
        return np.zeros(len(self.names(robot)))


class _TermPerVelocity(RegressorTerm):
    """One parameter per generalized velocity, whose force acts on that velocity only."""

    symbol: ClassVar[str]

    def names(self, robot: AnyRobot) -> tuple[str, ...]:
        return tuple(f"{self.symbol}[{name}]" for name in robot.qd_names)

    def columns(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        return self.unit_force(qd, qdd)[:, :, None] * np.eye(qd.shape[1])

    @abstractmethod
    def unit_force(self, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        """Force per unit of each parameter, (N, nv)."""


@dataclass(frozen=True)
class Rotor(_TermPerVelocity):
    """Reflected rotor inertia, Ia qdd. [kg m², kg]"""

    symbol = "Ia"
    positive = True

    def unit_force(self, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        return qdd

    def nominal_values(self, robot: AnyRobot) -> np.ndarray:
        armature = np.zeros(robot.nv)
        for link in robot.spanning_tree.tree.links:
            armature[link.idx_v : link.idx_v + link.kind.nv] += link.multiplier**2 * link.armature
        return armature


@dataclass(frozen=True)
class Viscous(_TermPerVelocity):
    """Viscous friction, fv qd. [N m s, N s/m]"""

    symbol = "fv"
    positive = True

    def unit_force(self, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        return qd

    def nominal_values(self, robot: AnyRobot) -> np.ndarray:
        return np.array(joint_friction(robot.spanning_tree).damping)


@dataclass(frozen=True)
class Coulomb(_TermPerVelocity):
    """Coulomb friction, fc tanh(qd / width); fc sign(qd) at width zero. [N m, N]

    At rest the sign of a velocity computed from an encoder is noise, and the friction lies anywhere between -fc and fc. A
    small width [rad/s, m/s] gives a force near zero there.
    """

    symbol = "fc"
    positive = True
    width: float = 0.0

    def unit_force(self, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        return smooth_sign(qd, self.width)

    def nominal_values(self, robot: AnyRobot) -> np.ndarray:
        return np.array(joint_friction(robot.spanning_tree).friction)


@dataclass(frozen=True)
class Offset(_TermPerVelocity):
    """A constant force: offset of a current sensor, or Coulomb friction that depends on the direction. [N m, N]"""

    symbol = "offset"

    def unit_force(self, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        return np.ones_like(qd)


@dataclass(frozen=True)
class AsymmetricViscous(_TermPerVelocity):
    """Viscous friction that differs between the directions, fa |qd|. [N m s, N s/m]"""

    symbol = "fa"

    def unit_force(self, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        return np.abs(qd)


@dataclass(frozen=True)
class Stribeck(_TermPerVelocity):
    """Friction at low speeds beyond Coulomb's, fs tanh(qd / width) exp(-(qd / velocity)²). [N m, N]"""

    symbol = "fs"
    velocity: float = 0.1
    width: float = 0.01

    def unit_force(self, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        return smooth_sign(qd, self.width) * np.exp(-((qd / self.velocity) ** 2))


@dataclass(frozen=True)
class LoadFriction(RegressorTerm):
    """Coulomb friction in proportion to the load of the gears, fl |g(q)| tanh(qd / width), g the described gravity forces."""

    robot: Any
    width: float = 0.01

    def names(self, robot: AnyRobot) -> tuple[str, ...]:
        return tuple(f"fl[{name}]" for name in robot.qd_names)

    def columns(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        load = np.abs(self.robot.gravity(q)) * smooth_sign(qd, self.width)
        return load[:, :, None] * np.eye(qd.shape[1])


@dataclass(frozen=True)
class Coupling(RegressorTerm):
    """A motor shaft with the velocity w = qd_first + ratio qd_second of two joints, as in wrists.

    Its inertia and friction, with the forces (1, ratio) (Iam dw/dt + fvm w + fcm sign(w)) on the two joints. The parts of Iam and
    fvm that act on the joint whose own acceleration or velocity they belong to are left to `Rotor` and `Viscous`.

    Attributes:
        first, second: indices of the two joints in qd.
        width: as in `Coulomb`.
        ratio: of the second velocity; -1 for a shaft that turns with the difference.
    """

    first: int
    second: int
    width: float = 0.0
    ratio: float = 1.0

    def names(self, robot: AnyRobot) -> tuple[str, ...]:
        sign = "+" if self.ratio > 0 else "-"
        factor = "" if abs(self.ratio) == 1.0 else f"{abs(self.ratio):g} "
        pair = f"{robot.qd_names[self.first]}{sign}{factor}{robot.qd_names[self.second]}"
        return (f"Iam[{pair}]", f"fvm[{pair}]", f"fcm[{pair}]")

    def columns(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        columns = np.zeros((*qd.shape, 3))
        direction = smooth_sign(qd[:, self.first] + self.ratio * qd[:, self.second], self.width)
        for joint, other, arm in ((self.first, self.second, 1.0), (self.second, self.first, self.ratio)):
            columns[:, joint] = np.stack(
                [self.ratio * qdd[:, other], self.ratio * qd[:, other], arm * direction], axis=1
            )
        return columns


@dataclass(frozen=True)
class CustomTerm(RegressorTerm):
    """A term made from a function.

    Example:
        >>> import numpy as np, appell
        >>> spring = CustomTerm(("k",), lambda q, qd, qdd: q[:, :, None] * np.eye(2)[:, :1])  # a spring at the first joint
        >>> appell.load("planar2r").regressor([0.5, 0.0], [0.0, 0.0], [0.0, 0.0], terms=[spring])[:, -1].tolist()
        [0.5, 0.0]
    """

    parameters: tuple[str, ...]
    function: Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]

    def names(self, robot: AnyRobot) -> tuple[str, ...]:
        return self.parameters

    def columns(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        columns, expected = np.asarray(self.function(q, qd, qdd), dtype=float), (*qd.shape, len(self.parameters))
        if columns.shape != expected:
            raise ArgumentError(
                f"columns of the term {self.parameters} have shape {columns.shape}, expected {expected}."
            )
        return columns


TERMS: dict[str, RegressorTerm] = {"rotor": Rotor(), "viscous": Viscous(), "coulomb": Coulomb(), "offset": Offset()}
"""Terms that can be given by name."""


def as_terms(terms: str | RegressorTerm | Sequence[str | RegressorTerm]) -> tuple[RegressorTerm, ...]:
    """Terms given by name or as objects, as objects."""
    if isinstance(terms, (str, RegressorTerm)):
        terms = (terms,)
    for term in terms:
        if not isinstance(term, RegressorTerm):
            require_choice("term", term, TERMS)
    return tuple(term if isinstance(term, RegressorTerm) else TERMS[term] for term in terms)


def append_terms(K, terms: Sequence[str | RegressorTerm], q, qd, qdd, out: np.ndarray | None = None) -> np.ndarray:
    """The regressor K (..., nv, p) followed by the columns of the terms."""
    if not isinstance(K, np.ndarray):
        raise ArgumentError(
            f"terms= needs NumPy arrays, got {type(K).__name__}. Leave terms out and append the columns yourself."
        )
    *batch_shape, nv, _ = K.shape
    _require_rows(np.shape(qd)[-1] == nv)
    states = [np.broadcast_to(np.asarray(x, dtype=K.dtype), (*batch_shape, np.shape(x)[-1])) for x in (q, qd, qdd)]
    flat = [x.reshape(-1, x.shape[-1]) for x in states]
    added = [term.columns(*flat) for term in as_terms(terms)]
    return _joined([K, *(x.reshape(*batch_shape, nv, x.shape[-1]).astype(K.dtype) for x in added)], out)


def append_actuator_terms(
    K, J: np.ndarray, terms: Sequence[str | RegressorTerm], q, qd, qdd, out: np.ndarray | None = None
) -> np.ndarray:
    """The regressor K (..., a, p) of actuator forces, then minimum-norm actuator forces y with J^T y = columns of the terms.

    The Jacobian J of the actuators is (..., a, nv); where K is not finite, the added columns are NaN.
    """
    is_numpy = isinstance(K, np.ndarray)
    _require_rows(not is_numpy or K.shape[-2] == J.shape[-2])
    empty = np.zeros((*K.shape[:-2], J.shape[-1], 0), dtype=K.dtype) if is_numpy else K
    generalized = append_terms(empty, terms, q, qd, qdd)
    actuator = np.linalg.pinv(np.swapaxes(np.nan_to_num(J), -1, -2)) @ generalized
    finite = np.isfinite(K).all(axis=(-2, -1), keepdims=True)
    return _joined([K, np.where(finite, actuator, np.nan).astype(K.dtype)], out)


def _require_rows(has_rows: bool) -> None:
    if not has_rows:
        raise ArgumentError(
            "terms= needs states as rows, got columns. Compile with layout='rows', or append the columns yourself."
        )


def _joined(parts: list[np.ndarray], out: np.ndarray | None) -> np.ndarray:
    joined = np.concatenate(parts, axis=-1)
    if out is None:
        return joined
    out[...] = joined
    return out


def smooth_sign(velocity: np.ndarray, width: float) -> np.ndarray:
    """tanh(velocity / width), the sign at width zero."""
    return np.tanh(velocity / width) if width > 0 else np.sign(velocity)
