"""The player of a motion: play, pause, playback speed, and curves with a line at the current time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from appell.plotting import COLOURS
from appell.view.timeline import Timeline

FRAME_PERIOD = 1.0 / 25.0
"""Time between two frames. [s]"""
SPEEDS = ("0.1", "0.25", "0.5", "1", "2", "5")


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
            legend={"show": len(self._curves) <= 8},
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
