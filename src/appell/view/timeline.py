"""A recorded motion as a viewer plays it: the state at a time, curves, and impacts with where they happened."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from appell.errors import ArgumentError
from appell.view.subject import Subject

if TYPE_CHECKING:
    from appell.simulation.trajectory import Trajectory

CURVE_POINTS = 600
"""Samples of a curve beside the scene; more cannot be told apart there."""
MOST_CURVES = 12


class Moment(NamedTuple):
    """Coordinates, speeds, accelerations and forces of the drives at one time."""

    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray
    tau: np.ndarray


class Mark(NamedTuple):
    """A point that hit a wall: when [s], where [m], which, and how hard [N s]."""

    time: float
    place: np.ndarray
    point: str
    impulse: float


@dataclass(frozen=True)
class Timeline:
    """A motion of a subject.

    Example:
        >>> import appell
        >>> from appell.view.subjects import subject_of
        >>> arm = appell.load("planar2r")
        >>> motion = appell.simulate(arm, [0.5, 0.0], [0.0, 0.0], duration=1.0, sample=0.25)
        >>> bool(abs(Timeline(subject_of(arm), motion).moment(0.5).q - motion.q[2]).max() < 1e-15)
        True
    """

    subject: Subject
    motion: Trajectory

    def __post_init__(self) -> None:
        has = (self.motion.q.shape[1], self.motion.qd.shape[1])
        wants = (len(self.subject.start), len(self.subject.sliders))
        if has != wants:
            raise ArgumentError(
                f"the motion has {has[0]} coordinates and {has[1]} speeds, {self.subject.name} has {wants[0]} and "
                f"{wants[1]}. Show it with the robot that it was made with, {self.motion.robot_name!r}."
            )

    @property
    def start(self) -> float:
        return float(self.motion.t[0])

    @property
    def end(self) -> float:
        return float(self.motion.t[-1])

    def moment(self, t: float) -> Moment:
        """The state at a time; between two samples by cubic polynomials, at an impact the state after it."""
        times = self.motion.t
        after = int(np.clip(np.searchsorted(times, t, side="right"), 1, len(times) - 1))
        before = after - 1
        span = times[after] - times[before]
        share = float(np.clip((t - times[before]) / span, 0.0, 1.0)) if span > 0 else 1.0
        q, qd, qdd, tau = (
            (array[before], array[after]) for array in (self.motion.q, self.motion.qd, self.motion.qdd, self.motion.tau)
        )
        plain = len(q[0]) == len(qd[0])  # else there are quaternions, whose rates are not qd
        return Moment(
            cubic(*q, span * qd[0], span * qd[1], share) if plain else self.subject.between(*q, share),
            cubic(*qd, span * qdd[0], span * qdd[1], share),
            cubic_slope(*qd, span * qdd[0], span * qdd[1], share) / span if span > 0 else qdd[1],
            (1.0 - share) * tau[0] + share * tau[1],
        )

    def curves(self) -> dict[str, Mapping[str, np.ndarray]]:
        """Curves by what they show: the times under `"t"`, then coordinates, drives and energy."""
        keep = np.unique(np.linspace(0, len(self.motion) - 1, CURVE_POINTS).astype(int))
        q, tau = self.motion.q[keep], self.motion.tau[keep]
        shown: dict[str, Mapping[str, np.ndarray]] = {
            "t": {"t": self.motion.t[keep]},
            "coordinates [rad, m]": _named(self.motion.q_names, q),
            "drives [N m, N]": _named(self.motion.drive_names, tau) if np.any(tau) else {},
            "energy [J]": {"kinetic + potential": self.motion.energy[keep]},
        }
        return {name: curves for name, curves in shown.items() if curves}

    def marks(self) -> tuple[Mark, ...]:
        """Every point that hit a wall, at the place where the frame of that name was."""
        found = []
        for impact in self.motion.impacts:
            poses = self.subject.poses(impact.q)
            for point, impulse in zip(impact.points, impact.impulses, strict=True):
                if point in poses:
                    found.append(Mark(impact.time, np.asarray(poses[point])[:3, 3], point, float(impulse)))
        return tuple(found)


def cubic(x0: np.ndarray, x1: np.ndarray, slope0: np.ndarray, slope1: np.ndarray, share: float) -> np.ndarray:
    """The cubic polynomial through x0 and x1 with these slopes, for a share of the way from 0 to 1.

    Example:
        >>> cubic(np.array(0.0), np.array(1.0), np.array(0.0), np.array(3.0), 0.5).item()  # share³
        0.125
    """
    s = share
    ends = (1 - s) ** 2 * (1 + 2 * s) * x0 + s**2 * (3 - 2 * s) * x1
    return ends + s * (1 - s) ** 2 * slope0 - s**2 * (1 - s) * slope1


def cubic_slope(x0: np.ndarray, x1: np.ndarray, slope0: np.ndarray, slope1: np.ndarray, share: float) -> np.ndarray:
    """The derivative of `cubic` by the share; closer to the truth between samples than a straight line of slopes.

    Example:
        >>> cubic_slope(np.array(0.0), np.array(1.0), np.array(0.0), np.array(3.0), 0.5).item()  # 3 share²
        0.75
    """
    s = share
    return 6 * s * (1 - s) * (x1 - x0) + (1 - s) * (1 - 3 * s) * slope0 - s * (2 - 3 * s) * slope1


def _named(labels: tuple[str, ...], values: np.ndarray) -> Mapping[str, np.ndarray]:
    return {label: values[:, i] for i, label in enumerate(labels[:MOST_CURVES])}
