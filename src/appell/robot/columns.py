"""Columns of the regressor beside the inertial parameters: rotors, friction, offsets, couplings, and columns of your own.

A block is a few columns that belong together. The built-in ones have a column for every speed, with the joint's own
parameter; a block of your own subclasses `Block`, or is an instance of `Columns` made of a function.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from appell.errors import ArgumentError, choices

AnyRobot = Any


class Block(ABC):
    """Columns of the regressor, linear in parameters that are no inertial parameters of links."""

    positive: ClassVar[bool] = False
    """Whether the parameters are positive by their meaning; fits with `physical=True` keep them so."""

    @abstractmethod
    def names(self, robot: AnyRobot) -> tuple[str, ...]:
        """Name of each parameter."""

    @abstractmethod
    def columns(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        """Generalised forces of one unit of each parameter, (N, nv, k) for states (N, nq), (N, nv), (N, nv)."""

    def own(self, robot: AnyRobot) -> np.ndarray:
        """The parameters as the robot's description has them, (k,)."""
        return np.zeros(len(self.names(robot)))


class _OfEverySpeed(Block):
    """One parameter for every generalised speed, felt at that speed alone."""

    symbol: ClassVar[str]

    def names(self, robot: AnyRobot) -> tuple[str, ...]:
        return tuple(f"{self.symbol}[{speed}]" for speed in robot.qd_names)

    def columns(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        return self.felt(qd, qdd)[:, :, None] * np.eye(qd.shape[1])

    @abstractmethod
    def felt(self, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        """Force of one unit at every speed, (N, nv)."""


@dataclass(frozen=True)
class Rotor(_OfEverySpeed):
    """Inertia of rotors, felt at the joints: Ia qdd. [kg m², kg]"""

    symbol = "Ia"
    positive = True

    def felt(self, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        return qdd

    def own(self, robot: AnyRobot) -> np.ndarray:
        armature = np.zeros(robot.nv)
        for link in robot.tree.links:
            armature[link.v : link.v + link.kind.nv] += link.multiplier**2 * link.armature
        return armature


@dataclass(frozen=True)
class Viscous(_OfEverySpeed):
    """Viscous friction, fv qd. [N m s, N s/m]"""

    symbol = "fv"
    positive = True

    def felt(self, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        return qd

    def own(self, robot: AnyRobot) -> np.ndarray:
        from appell.model.losses import losses

        return np.array(losses(robot).damping)


@dataclass(frozen=True)
class Coulomb(_OfEverySpeed):
    """Dry friction, fc tanh(qd / width): at a width of zero it jumps with the sign of the speed. [N m, N]

    A speed that is computed from an encoder has a sign of its own at rest, where dry friction is anything between -fc and
    fc. A small width [rad/s, m/s] takes it as none there.
    """

    symbol = "fc"
    positive = True
    width: float = 0.0

    def felt(self, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        return smooth_sign(qd, self.width)

    def own(self, robot: AnyRobot) -> np.ndarray:
        from appell.model.losses import losses

        return np.array(losses(robot).friction)


@dataclass(frozen=True)
class Offset(_OfEverySpeed):
    """A constant force: of a current sensor, or of dry friction that differs with the direction. [N m, N]"""

    symbol = "offset"

    def felt(self, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        return np.ones_like(qd)


@dataclass(frozen=True)
class Coupling(Block):
    """A motor that turns with the sum of two joints' speeds, as in wrists: what its shaft adds to each of them.

    On each joint of the pair the shaft adds Iam qdd and fvm qd of the *other* joint, and fcm sign(qd of both).

    Attributes:
        first, second: places of the two joints in qd.
        width: as in `Coulomb`.
    """

    first: int
    second: int
    width: float = 0.0

    def names(self, robot: AnyRobot) -> tuple[str, ...]:
        speeds = robot.qd_names
        pair = f"{speeds[self.first]}+{speeds[self.second]}"
        return (f"Iam[{pair}]", f"fvm[{pair}]", f"fcm[{pair}]")

    def columns(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        block = np.zeros((*qd.shape, 3))
        together = smooth_sign(qd[:, self.first] + qd[:, self.second], self.width)
        for own, other in ((self.first, self.second), (self.second, self.first)):
            block[:, own] = np.stack([qdd[:, other], qd[:, other], together], axis=1)
        return block


@dataclass(frozen=True)
class Columns(Block):
    """Columns made by a function of yours.

    Example:
        >>> import numpy as np, appell
        >>> spring = Columns(("k",), lambda q, qd, qdd: q[:, :, None] * np.eye(2)[:, :1])  # a spring at the first joint
        >>> appell.load("planar2r").regressor([0.5, 0.0], [0.0, 0.0], [0.0, 0.0], columns=[spring])[:, -1].tolist()
        [0.5, 0.0]
    """

    parameters: tuple[str, ...]
    function: Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]

    def names(self, robot: AnyRobot) -> tuple[str, ...]:
        return self.parameters

    def columns(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        block, expected = np.asarray(self.function(q, qd, qdd), dtype=float), (*qd.shape, len(self.parameters))
        if block.shape != expected:
            raise ArgumentError(f"the columns {self.parameters} have shape {block.shape}, expected {expected}.")
        return block


BLOCKS: dict[str, Block] = {"rotor": Rotor(), "viscous": Viscous(), "coulomb": Coulomb(), "offset": Offset()}
"""The blocks that have a name."""


def blocks(columns: Sequence[str | Block]) -> tuple[Block, ...]:
    """Blocks by name or as they are."""
    if isinstance(columns, (str, Block)):
        columns = (columns,)
    for each in columns:
        if not isinstance(each, Block) and each not in BLOCKS:
            raise ArgumentError(choices("columns", each, BLOCKS))
    return tuple(each if isinstance(each, Block) else BLOCKS[each] for each in columns)


def beside(K, columns: Sequence[str | Block], q, qd, qdd, out: np.ndarray | None = None) -> np.ndarray:
    """The regressor K (..., nv, p) with the columns of these blocks behind it."""
    if not isinstance(K, np.ndarray):
        raise ArgumentError(
            f"columns= need NumPy arrays, got {type(K).__name__}. Leave columns out and add them yourself."
        )
    *lead, nv, _ = K.shape
    if np.shape(qd)[-1] != nv:
        raise ArgumentError(
            "columns= need states as rows, got columns. Compile with layout='rows', or add them yourself."
        )
    states = [np.broadcast_to(np.asarray(x, dtype=K.dtype), (*lead, np.shape(x)[-1])) for x in (q, qd, qdd)]
    flat = [x.reshape(-1, x.shape[-1]) for x in states]
    added = [block.columns(*flat) for block in blocks(columns)]
    joined = np.concatenate([K, *(each.reshape(*lead, nv, -1).astype(K.dtype) for each in added)], axis=-1)
    if out is None:
        return joined
    out[...] = joined
    return out


def beside_actuators(
    K, J: np.ndarray, columns: Sequence[str | Block], q, qd, qdd, out: np.ndarray | None = None
) -> np.ndarray:
    """The regressor K (..., a, p) of actuators, and behind it the shortest forces y of actuators with J^T y = the columns.

    Args:
        J: Jacobian of the actuators, (..., a, nv); where it is not finite the columns are not, either.
    """
    if isinstance(K, np.ndarray) and K.shape[-2] != J.shape[-2]:
        raise ArgumentError(
            "columns= need states as rows, got columns. Compile with layout='rows', or add them yourself."
        )
    none = np.zeros((*K.shape[:-2], J.shape[-1], 0), dtype=K.dtype) if isinstance(K, np.ndarray) else K
    of_speeds = beside(none, columns, q, qd, qdd)
    solved = np.linalg.pinv(np.swapaxes(np.nan_to_num(J), -1, -2)) @ of_speeds
    known = np.isfinite(K).all(axis=(-2, -1), keepdims=True)
    joined = np.concatenate([K, np.where(known, solved, np.nan).astype(K.dtype)], axis=-1)
    if out is None:
        return joined
    out[...] = joined
    return out


def smooth_sign(speed: np.ndarray, width: float) -> np.ndarray:
    """tanh(speed / width), which is the sign at a width of zero."""
    return np.tanh(speed / width) if width > 0 else np.sign(speed)
