"""A recorded motion for the viewer: the state at a time, curves, impacts with their positions, and the player.

The player has play, pause, playback speed, and curves with a line at the current time.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.interpolate import CubicHermiteSpline

from appell.errors import ArgumentError
from appell.model.point import Point
from appell.plotting import COLOURS
from appell.simulation.trajectory import Trajectory
from appell.view.subject import Subject

CURVE_POINTS = 600
"""Samples per curve in the panel."""
MAX_CURVES = 8
"""Curves per plot, so that its legend has room: those with the largest range."""
FRAME_PERIOD = 1.0 / 25.0
"""Time between two frames. [s]"""
SPEEDS = ("0.1", "0.25", "0.5", "1", "2", "5")


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
        if not isinstance(self.motion, Trajectory):
            raise ArgumentError(
                f"motion is a {type(self.motion).__name__}, expected a Trajectory; appell.Trajectory.load reads a file."
            )
        got = (self.motion.q.shape[1], self.motion.qd.shape[1])
        expected = (len(self.subject.start), len(self.subject.sliders))
        if got != expected:
            raise ArgumentError(
                f"the motion has {got[0]} coordinates and {got[1]} velocities, {self.subject.name} has {expected[0]} and "
                f"{expected[1]}. Show it with its own robot, {self.motion.robot_name!r}, and the same base, fixed or floating."
            )

    @property
    def start(self) -> float:
        return float(self.motion.t[0])

    @property
    def end(self) -> float:
        return float(self.motion.t[-1])

    def configurations(self, count: int) -> list[np.ndarray]:
        """Configurations at so many times from its start to its end."""
        return [self.state(t).q for t in np.linspace(self.start, self.end, count)]

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
        """Curves by title: the times under `"t"`, then coordinates, actuator forces, sizes of contact forces and energy."""
        motion = self.motion
        keep = np.unique(np.linspace(0, len(motion) - 1, CURVE_POINTS).astype(int))
        tau = motion.tau[keep]
        titled: dict[str, Mapping[str, np.ndarray]] = {
            "t": {"t": motion.t[keep]},
            _title("coordinates [rad, m]", motion.q_names): _widest(motion.q_names, motion.q[keep]),
            _title("actuators [N m, N]", motion.actuator_names): _widest(motion.actuator_names, tau)
            if np.any(tau)
            else {},
            **self._force_curves(keep),
            "energy [J]": {"kinetic + potential": motion.energy[keep]},
        }
        return {title: curves for title, curves in titled.items() if curves}

    def _force_curves(self, keep: np.ndarray) -> dict[str, Mapping[str, np.ndarray]]:
        names = tuple(self.motion.contact_forces)
        if not names:
            return {}
        sizes = np.stack([np.linalg.norm(force[keep], axis=1) for force in self.motion.contact_forces.values()], axis=1)
        return {_title("contact forces [N]", names): _widest(names, sizes)}

    def contact_arrows(self, t: float) -> np.ndarray:
        """Start and end (k, 2, 3) of an arrow for each contact force at a time; the longest of the motion is 0.4 sizes. [m]"""
        forces = self.motion.contact_forces
        sample = int(np.clip(np.searchsorted(self.motion.t, t, side="right") - 1, 0, len(self.motion) - 1))
        acting = {name: force[sample] for name, force in forces.items() if force[sample].any()}
        poses = self.subject.poses(self.state(t).q) if acting else {}
        starts = {name: point_position(poses, name) for name in acting}
        scale = 0.4 * self.subject.size / self._largest_force if acting else 0.0
        arrows = [(p, p + scale * acting[name]) for name, p in starts.items() if p is not None]
        return np.array(arrows).reshape(-1, 2, 3)

    @cached_property
    def _largest_force(self) -> float:
        return max(float(np.linalg.norm(force, axis=1).max()) for force in self.motion.contact_forces.values())

    def impact_marks(self) -> tuple[ImpactMark, ...]:
        """All impacts, at the positions of their points."""
        marks = []
        for impact in self.motion.impacts:
            poses = self.subject.poses(impact.q)
            for point, impulse in zip(impact.points, impact.impulses, strict=True):
                position = point_position(poses, point)
                if position is not None:
                    marks.append(ImpactMark(impact.time, position, point, float(impulse)))
        return tuple(marks)


def point_position(poses: Mapping[str, np.ndarray], name: str) -> np.ndarray | None:
    """Position of a contact point of this name; None where its body has no pose. [m]"""
    point = Point(name) if name in poses else Point.from_text(name)
    pose = poses.get(point.body)
    return None if pose is None else (np.asarray(pose) @ [*point.offset, 1.0])[:3]


def _title(label: str, names: tuple[str, ...]) -> str:
    return label if len(names) <= MAX_CURVES else f"{label}, {MAX_CURVES} of {len(names)}"


def _widest(names: tuple[str, ...], values: np.ndarray) -> Mapping[str, np.ndarray]:
    """The curves with the largest range, in order."""
    widest = sorted(np.argsort(-np.ptp(values, axis=0), kind="stable")[:MAX_CURVES].tolist())
    return {names[k]: values[:, k] for k in widest}


class Player:
    """Plays a timeline in its own panel; calls `show(t)` for every frame."""

    def __init__(self, server: Any, timeline: Timeline, show: Callable[[float], None]) -> None:
        self._timeline, self._show = timeline, show
        self._server = server
        self._playing = threading.Event()
        self._closed = threading.Event()
        panel = server.gui.add_panel()
        with panel.add_tab("Motion"):
            self._time = self._slider()
            self._button = server.gui.add_button("Play")
            self._speed = server.gui.add_dropdown("Speed", SPEEDS, initial_value="1")
            curves = timeline.curves()
            times = curves.pop("t")["t"]
            self._plots = [TimePlot(server, title, times, named) for title, named in curves.items()]
        panel.dock_left()
        panel.set_width(380)
        self._time.on_update(self._time_moved)
        self._button.on_click(lambda _: self.pause() if self._playing.is_set() else self.play())
        self._thread = threading.Thread(target=self._run, name="appell-player", daemon=True)
        self._thread.start()

    @property
    def time(self) -> float:
        """The current time. [s]"""
        return float(self._time.value)

    def play(self) -> None:
        """Continue, or start again from the end."""
        if self.time >= self._timeline.end:
            self.go_to(self._timeline.start)
        self._button.label = "Pause"
        self._playing.set()

    def pause(self) -> None:
        self._playing.clear()
        self._button.label = "Play"

    def go_to(self, t: float) -> None:
        """Show the state at a time. [s]"""
        t = float(np.clip(t, self._timeline.start, self._timeline.end))
        self._time.value = t
        self._show(t)
        for plot in self._plots:
            plot.mark(t)

    def close(self) -> None:
        """End the thread."""
        self._closed.set()
        self._playing.set()
        self._thread.join(timeout=2.0)

    def _slider(self) -> Any:
        start, end = self._timeline.start, self._timeline.end
        marks = tuple(dict.fromkeys(round(impact.time, 6) for impact in self._timeline.motion.impacts))
        step = max((end - start) / 1000.0, 1e-6)
        return self._server.gui.add_slider("t [s]", start, end, step, start, marks=marks or None)

    def _time_moved(self, event: Any) -> None:
        if event.client_id is not None:  # moved by the user, not by the player
            self.pause()
            self.go_to(self.time)

    def _run(self) -> None:
        while not self._closed.is_set():
            self._playing.wait()
            begun, t = time.perf_counter(), self.time
            while self._playing.is_set() and not self._closed.is_set():
                now = t + (time.perf_counter() - begun) * float(self._speed.value)
                self.go_to(now)
                if now >= self._timeline.end:
                    self.pause()
                self._closed.wait(FRAME_PERIOD)


class TimePlot:
    """Curves over time, and a line at the current time."""

    def __init__(self, server: Any, title: str, times: np.ndarray, curves: Mapping[str, np.ndarray]) -> None:
        self._times, self._curves = times, [np.asarray(curve, dtype=float) for curve in curves.values()]
        low, high = min(curve.min() for curve in self._curves), max(curve.max() for curve in self._curves)
        margin = max(0.05 * (high - low), 0.01 * max(abs(low), abs(high)), 1e-9)
        self._low, self._high = float(low - margin), float(high + margin)
        series: list[dict[str, Any]] = [{"label": "t [s]"}]
        for i, label in enumerate(curves):
            series.append({"label": label, "stroke": COLOURS[i % len(COLOURS)], "width": 1.5})
        series.append({"label": "now", "stroke": "#999999", "width": 1})
        self._handle = server.gui.add_uplot(
            self._data(float(times[0])),
            tuple(series),
            title=title,
            scales={"x": {"time": False}, "y": {"range": (self._low, self._high)}},
            axes=({"size": 30}, {"size": 55}),
            legend={"show": True},
            aspect=1.6,
        )

    def mark(self, t: float) -> None:
        """Move the line to a time."""
        self._handle.data = self._data(t)

    def _data(self, t: float) -> tuple[np.ndarray, ...]:
        """The curves, and a steep line between the two samples around t."""
        now = np.full(len(self._times), np.nan)
        index = int(np.clip(np.searchsorted(self._times, t), 1, max(len(now) - 1, 1)))
        now[index - 1 : index + 1] = (self._low, self._high)[: len(now[index - 1 : index + 1])]
        return (self._times, *self._curves, now)
