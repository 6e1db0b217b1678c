"""References: coordinates, speeds and accelerations at every moment, for controllers and for inverse dynamics."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from appell.kinematics.trajectories.piecewise import AlongCurve, Piecewise, Timed

if TYPE_CHECKING:
    from appell.robot.robot import Robot


class State(NamedTuple):
    """Coordinates (..., nq), speeds and accelerations (..., nv)."""

    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray


class Reference(Timed, Protocol):
    """Where a robot should be: reference(t) for a time, or for times (N,). After `duration` it stays, at rest."""

    @property
    def joint_names(self) -> tuple[str, ...]: ...
    def __call__(self, t: float | np.ndarray) -> State: ...


class Plottable:
    """References can draw themselves."""

    def plot(self, path: str | PathLike | None = None, robot: Robot | None = None) -> Any:
        """A picture of coordinates, speeds and accelerations over time; with a robot also its torques. Needs matplotlib.

        Args:
            path: file to write the picture to, its kind taken from the name.

        Returns:
            The `matplotlib.figure.Figure`.
        """
        from appell.kinematics.trajectories.plot import plot

        return plot(self, path, robot)  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class JointReference(AlongCurve, Plottable):
    """A reference given by curves of the coordinates themselves.

    Attributes:
        curve: of all coordinates together.
        joint_names: one a coordinate.
    """

    curve: Piecewise
    joint_names: tuple[str, ...]

    def __call__(self, t: float | np.ndarray) -> State:
        return State(*self.curve(t))

    def __repr__(self) -> str:
        return f"JointReference({len(self.joint_names)} joints, {self.duration:g} s)"
