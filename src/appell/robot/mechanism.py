"""What a simulation asks of a robot: the protocol `Mechanism`, and how a plain `Robot` answers it.

`appell.simulate` moves whatever is a `Mechanism`. A tree is made one here. A robot of another kind, such as one with closed
loops, has a method `mechanism()` that returns its own; nothing else in this package knows what kind of robot moves.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

import numpy as np

from appell.errors import ArgumentError
from appell.model.joints import KINDS
from appell.model.losses import Losses, losses
from appell.robot.compiled import CompiledRobot, compile
from appell.robot.rates import Coordinates
from appell.robot.robot import Robot


class Bounds(NamedTuple):
    """Limits of a mechanism, infinite where there are none; reported, or applied where `appell.simulate` is asked to.

    Attributes:
        lower, upper: of the coordinates, (nq,). [rad, m]
        speed: greatest, (nv,). [rad/s, m/s]
        effort: greatest force of the drives, (nu,). [N m, N]
    """

    lower: np.ndarray
    upper: np.ndarray
    speed: np.ndarray
    effort: np.ndarray


class Mechanism(Protocol):
    """A robot as a simulation sees it: one state at a time, q (nq,) and qd (nv,).

    Speeds qd may be any set of nv independent ones. Functions return numbers that are not finite where they are given such
    numbers; they raise nothing. `moved`, `mass_matrix` and `coriolis_matrix` are asked for by the method `midpoint` and by
    walls alone.
    """

    @property
    def name(self) -> str: ...
    @property
    def nq(self) -> int: ...
    @property
    def nv(self) -> int: ...
    @property
    def joint_names(self) -> tuple[str, ...]:
        """Joints that carry coordinates."""
        ...

    @property
    def q_names(self) -> tuple[str, ...]:
        """A name for each coordinate, (nq,)."""
        ...

    @property
    def qd_names(self) -> tuple[str, ...]:
        """A name for each speed, (nv,)."""
        ...

    @property
    def drive_names(self) -> tuple[str, ...]:
        """A name for each drive, (nu,)."""
        ...

    @property
    def losses(self) -> Losses:
        """Damping and Coulomb friction at each speed. Damping is only looked at for whether there is any."""
        ...

    @property
    def bounds(self) -> Bounds:
        """What `limits="robot"` applies, and what a trajectory reports to be passed."""
        ...

    def forward_dynamics(self, q: np.ndarray, qd: np.ndarray, forces: np.ndarray) -> np.ndarray:
        """qdd under forces (nv,) on the speeds, (nv,)."""
        ...

    def driven(self, q: np.ndarray, tau: np.ndarray) -> np.ndarray:
        """Forces of the drives tau (nu,) as forces on the speeds, (nv,)."""
        ...

    def damped(self, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """Forces of damping on the speeds, (nv,)."""
        ...

    def energy(self, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """Kinetic plus potential energy of states (..., nq), (..., nv). [J]"""
        ...

    def rates(self, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """Rates of the coordinates, (nq,)."""
        ...

    def tidied(self, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The nearest state that obeys the mechanism's constraints: unit quaternions, closed loops."""
        ...

    def drift(self, q: np.ndarray, qd: np.ndarray) -> float:
        """How far a state is from obeying them; it is tidied when this is above 1e-10. [1, m]"""
        ...

    def trouble(self, q: np.ndarray) -> str:
        """Why nothing finite can be computed in this configuration, in words; empty where nothing is known."""
        ...

    def moved(self, q: np.ndarray, step: np.ndarray) -> np.ndarray:
        """Coordinates after a step (nv,) along the speeds, (nq,)."""
        ...

    def mass_matrix(self, q: np.ndarray) -> np.ndarray:
        """M of the speeds, (nv, nv)."""
        ...

    def coriolis_matrix(self, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """A C with Ṁ = C + C^T, (nv, nv)."""
        ...


class NativeFunctions:
    """What the functions of every compiled robot answer alike."""

    dynamics: Any

    def mass_matrix(self, q: np.ndarray) -> np.ndarray:
        return self.dynamics.mass_matrix(q, check=False)

    def coriolis_matrix(self, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        return self.dynamics.coriolis_matrix(q, qd, check=False)

    def energy(self, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        return self.dynamics.kinetic_energy(q, qd) + self.dynamics.potential_energy(q)


class TreeMechanism(NativeFunctions):
    """A `Robot`, its functions as native code, so that equal runs give equal bits from the first one on."""

    def __init__(self, robot: Robot) -> None:
        self.robot, self.dynamics = robot, native(robot)
        self.coordinates = Coordinates(robot)
        self.name, self.nq, self.nv, self.joint_names = robot.name, robot.nq, robot.nv, robot.joint_names
        self.losses = losses(robot)
        self.damping = np.array(self.losses.damping)
        self.q_names = robot.q_names
        self.qd_names = robot.qd_names
        self.drive_names, self.bounds = self.qd_names, _bounds(robot)

    def forward_dynamics(self, q: np.ndarray, qd: np.ndarray, forces: np.ndarray) -> np.ndarray:
        return self.dynamics.forward_dynamics(q, qd, forces, check=False)

    def driven(self, q: np.ndarray, tau: np.ndarray) -> np.ndarray:
        return tau

    def damped(self, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        return -self.damping * qd

    def rates(self, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        return self.coordinates.rates(q, qd)

    def moved(self, q: np.ndarray, step: np.ndarray) -> np.ndarray:
        return self.coordinates.moved(q, step)

    def tidied(self, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self.coordinates.tidied(q), qd

    def drift(self, q: np.ndarray, qd: np.ndarray) -> float:
        return self.coordinates.drift(q)

    def trouble(self, q: np.ndarray) -> str:
        return ""


def mechanism_of(robot: Any) -> Mechanism:
    """The robot as a simulation sees it: its own `mechanism()` if it has one, else that of a tree."""
    robot = robot.robot if isinstance(robot, CompiledRobot) else robot
    own: Callable[[], Mechanism] | None = getattr(robot, "mechanism", None)
    if own is None and not isinstance(robot, Robot):
        remedy = f" Load it first: appell.load({robot!r})." if isinstance(robot, str) else ""
        raise ArgumentError(f"robot is a {type(robot).__name__}, expected an appell.Robot.{remedy}")
    return TreeMechanism(robot) if own is None else own()


@lru_cache(maxsize=16)
def native(robot: Robot) -> CompiledRobot:
    """The robot's functions as native code; interpreted where there is no compiler. One state a call needs no threads."""
    return compile(robot, threads=1)


def _bounds(robot: Robot) -> Bounds:
    lower, upper, speed, effort = [], [], [], []
    for joint in robot.moving_joints:
        kind, limits = KINDS[joint.kind], joint.limits
        lower += [limits.lower if kind.limited else -np.inf] * kind.nq
        upper += [limits.upper if kind.limited else np.inf] * kind.nq
        speed += [limits.velocity] * kind.nv
        effort += [limits.effort] * kind.nv
    return Bounds(*map(np.array, (lower, upper, speed, effort)))
