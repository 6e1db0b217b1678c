"""Reference trajectories: q, qd and qdd as functions of time, for controllers and for inverse dynamics."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from typing import Any, NamedTuple, Protocol

import numpy as np

from appell.kinematics.trajectories.curves import Curve
from appell.plotting import lines, new_figure, save_figure
from appell.robot.robot import Robot

MAX_MARKED_BREAKS = 40
"""Number of breaks from which on they are not marked in figures."""


class Timed(Protocol):
    """A function of time on [0, duration]; its acceleration may jump at `breaks`. [s]"""

    @property
    def duration(self) -> float: ...
    @property
    def breaks(self) -> np.ndarray: ...


class AlongCurve:
    """Duration and breaks of a curve."""

    curve: Curve

    @property
    def duration(self) -> float:
        return self.curve.duration

    @property
    def breaks(self) -> np.ndarray:
        return self.curve.breaks


class ReferenceState(NamedTuple):
    """q (..., nq), qd and qdd (..., nv)."""

    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray


class Reference(Timed, Protocol):
    """A reference trajectory: reference(t) for a time, or for times (N,). After `duration` it is constant."""

    @property
    def joint_names(self) -> tuple[str, ...]: ...
    def __call__(self, t: float | np.ndarray) -> ReferenceState: ...


class Plottable:
    """Figures of a reference trajectory."""

    def plot(self: Any, path: str | PathLike | None = None, robot: Robot | None = None) -> Any:
        """A figure of q, qd and qdd over time; with a robot also of its torques. Needs matplotlib.

        Args:
            path: file to write the figure to; its suffix is the format.

        Returns:
            The `matplotlib.figure.Figure`.
        """
        t = np.linspace(0.0, self.duration, 600)
        q, qd, qdd = self(t)
        panels = [(q, "q [rad, m]"), (qd, "qd [rad/s, m/s]"), (qdd, "qdd [rad/s², m/s²]")]
        if robot is not None:
            panels.append((robot.inverse_dynamics(q, qd, qdd), "torque [N m, N]"))
        figure = new_figure(9.0, 2.2 * len(panels) + 0.5)
        axes = figure.subplots(len(panels), 1, sharex=True)
        for axis, (values, label) in zip(axes, panels, strict=True):
            names = self.joint_names
            if values.shape[1] != len(names):
                names = tuple(str(i) for i in range(values.shape[1]))
            lines(axis, t, {name: values[:, i] for i, name in enumerate(names)}, label)
            for time in self.breaks[1:-1] if len(self.breaks) < MAX_MARKED_BREAKS else ():
                axis.axvline(time, color="0.85", linewidth=0.8, zorder=0)
        axes[-1].set_xlabel("time [s]")
        save_figure(figure, path)
        return figure


@dataclass(frozen=True, eq=False)
class JointReference(AlongCurve, Plottable):
    """A reference trajectory given by curves of the coordinates.

    Attributes:
        curve: of all coordinates.
        joint_names: one per coordinate.
    """

    curve: Curve
    joint_names: tuple[str, ...]

    def __call__(self, t: float | np.ndarray) -> ReferenceState:
        return ReferenceState(*self.curve(t))

    def __repr__(self) -> str:
        return f"JointReference({len(self.joint_names)} joints, {self.duration:g} s)"
