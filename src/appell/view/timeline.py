"""A recorded motion for the viewer: the state at a time, curves, and impacts with their positions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.interpolate import CubicHermiteSpline

from appell.errors import ArgumentError
from appell.simulation.trajectory import Trajectory
from appell.view.subject import Subject

CURVE_POINTS = 600
"""Samples per curve in the panel."""
MAX_CURVES = 12


class MotionState(NamedTuple):
    """Configuration, generalized velocity, acceleration and actuator forces at one time."""

    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray
    tau: np.ndarray


class ImpactMark(NamedTuple):
    """An impact of one point: time [s], position [m], name of the point, normal impulse [N s]."""

    time: float
    position: np.ndarray
    point: str
    impulse: float


@dataclass(frozen=True)
class Timeline:
    """A motion of a subject.

    Example:
        >>> import appell
        >>> from appell.view.subjects import subject_of
        >>> arm = appell.load("planar2r")
        >>> motion = appell.simulate(arm, [0.5, 0.0], [0.0, 0.0], duration=1.0, t_eval=0.25)
        >>> bool(abs(Timeline(subject_of(arm), motion).state(0.5).q - motion.q[2]).max() < 1e-15)
        True
    """

    subject: Subject
    motion: Trajectory

    def __post_init__(self) -> None:
        got = (self.motion.q.shape[1], self.motion.qd.shape[1])
        expected = (len(self.subject.start), len(self.subject.sliders))
        if got != expected:
            raise ArgumentError(
                f"the motion has {got[0]} coordinates and {got[1]} velocities, {self.subject.name} has {expected[0]} and "
                f"{expected[1]}. Show it with its own robot, {self.motion.robot_name!r}."
            )

    @property
    def start(self) -> float:
        return float(self.motion.t[0])

    @property
    def end(self) -> float:
        return float(self.motion.t[-1])

    def state(self, t: float) -> MotionState:
        """The state at a time; cubic polynomials between samples, at an impact the state after it."""
        motion, times = self.motion, self.motion.t
        after = int(np.clip(np.searchsorted(times, t, side="right"), 1, len(times) - 1))
        pair = slice(after - 1, after + 1)
        span = times[after] - times[after - 1]
        if span <= 0.0:
            return MotionState(motion.q[after], motion.qd[after], motion.qdd[after], motion.tau[after])
        s = float(np.clip(t - times[after - 1], 0.0, span))
        velocity = CubicHermiteSpline((0.0, span), motion.qd[pair], motion.qdd[pair])
        if motion.q.shape[1] == motion.qd.shape[1]:
            q = CubicHermiteSpline((0.0, span), motion.q[pair], motion.qd[pair])(s)
        else:  # quaternions, whose rates are not qd
            q = self.subject.interpolate(motion.q[after - 1], motion.q[after], s / span)
        tau = (1.0 - s / span) * motion.tau[after - 1] + s / span * motion.tau[after]
        return MotionState(q, velocity(s), velocity(s, 1), tau)

    def curves(self) -> dict[str, Mapping[str, np.ndarray]]:
        """Curves by title: the times under `"t"`, then coordinates, actuator forces and energy."""
        motion = self.motion
        keep = np.unique(np.linspace(0, len(motion) - 1, CURVE_POINTS).astype(int))
        tau = motion.tau[keep]
        titled: dict[str, Mapping[str, np.ndarray]] = {
            "t": {"t": motion.t[keep]},
            "coordinates [rad, m]": _by_name(motion.q_names, motion.q[keep]),
            "actuators [N m, N]": _by_name(motion.actuator_names, tau) if np.any(tau) else {},
            "energy [J]": {"kinetic + potential": motion.energy[keep]},
        }
        return {title: curves for title, curves in titled.items() if curves}

    def impact_marks(self) -> tuple[ImpactMark, ...]:
        """All impacts of points that are frames, at the positions of these frames."""
        marks = []
        for impact in self.motion.impacts:
            poses = self.subject.poses(impact.q)
            for point, impulse in zip(impact.points, impact.impulses, strict=True):
                if point in poses:
                    marks.append(ImpactMark(impact.time, np.asarray(poses[point])[:3, 3], point, float(impulse)))
        return tuple(marks)


def _by_name(names: tuple[str, ...], values: np.ndarray) -> Mapping[str, np.ndarray]:
    return {name: values[:, i] for i, name in enumerate(names[:MAX_CURVES])}
