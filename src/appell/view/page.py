"""The page: a subject on its stage, with sliders, numbers and, for a recorded motion, a player."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import redirect_stdout
from html import escape
from io import StringIO
from typing import Any

import numpy as np

from appell.errors import AppellError
from appell.simulation.contact.surfaces import Surface
from appell.view.numbers import force_html, matrix_html, state_html
from appell.view.player import Player
from appell.view.shape import LAYERS
from appell.view.sliders import Slider
from appell.view.stage import Stage
from appell.view.subject import Subject, hidden_layers
from appell.view.timeline import Moment, Timeline
from appell.view.walls import wall_shapes

FASTEST = 5.0
"""Range of the speeds' sliders. [rad/s, m/s]"""


class Page:
    """A served page. Close it with `close()`.

    Attributes:
        q: coordinates that are shown, (nq,).
        player: plays the motion; None where there is none.
    """

    def __init__(self, server: Any, subject: Subject, timeline: Timeline | None, walls: Sequence[Surface]) -> None:
        self.server, self.subject = server, subject
        self.q = subject.start
        self._n = len(subject.sliders)
        self._labels = [slider.label for slider in subject.sliders]
        self._lock = threading.RLock()
        server.gui.configure_theme(show_share_button=False, show_logo=False, control_width="large")
        server.gui.set_panel_label(subject.name)
        marks = timeline.marks() if timeline else ()
        self._stage = Stage(server, subject, wall_shapes(walls, subject.size), marks)
        with server.gui.add_folder("Energy and mass centre"):
            self._state = server.gui.add_html("")
        with server.gui.add_folder("Joints"):
            self._sliders = [
                self._slider(each, value) for each, value in zip(subject.sliders, self._values(), strict=True)
            ]
            server.gui.add_button("Back to the start").on_click(lambda _: self.rest(subject.start))
        with server.gui.add_folder("Forces"):
            self._forces = server.gui.add_html("")
        with server.gui.add_folder("Inertia matrix", expand_by_default=self._n <= 8):
            self._matrix = server.gui.add_html("")
        with server.gui.add_folder("Speeds", expand_by_default=False):
            self._speeds = [self._speed(each) for each in subject.sliders]
            server.gui.add_button("Stop").on_click(lambda _: self.rest(self.q))
        with server.gui.add_folder("What is shown", expand_by_default=False):
            self._switches()
        self.player: Player | None = None
        if timeline is None:
            self.rest(self.q)
        else:
            self.player = Player(server, timeline, lambda t: self._show_time(timeline, t))
            self.player.go_to(timeline.start)

    def rest(self, q: np.ndarray) -> None:
        """Show the subject at rest in a state, and set the sliders to it."""
        zero = np.zeros(self._n)
        with self._lock:
            for slider in self._speeds:
                slider.value = 0.0
            self.show(Moment(q, zero, zero, zero))

    def show(self, moment: Moment, drive: bool = False, move_sliders: bool = True) -> None:
        """Show a state: its poses, its numbers and, unless they were moved by hand, its slider values."""
        with self._lock, self.server.atomic():
            self.q = moment.q
            self._stage.move(self.subject.poses(moment.q))
            try:
                self._read(moment, drive)
            except AppellError as error:  # a singular state: it can be shown, but has no numbers
                self._state.content = escape(str(error))
            if move_sliders:
                for handle, slider, value in zip(self._sliders, self.subject.sliders, self._values(), strict=True):
                    handle.value = shown_value(slider, value)

    def _read(self, moment: Moment, drive: bool) -> None:
        """Show the numbers of a state."""
        readings = self.subject.readings(moment.q, moment.qd, moment.qdd)
        self._stage.move_center(readings.center_of_mass)
        self._state.content = state_html(readings)
        recorded = moment.tau if drive else None
        self._forces.content = force_html(readings, self._labels, self.subject.drives, recorded)
        self._matrix.content = matrix_html(readings.M, self._labels)

    def close(self) -> None:
        """Stop playing and serving."""
        if self.player:
            self.player.close()
        with redirect_stdout(StringIO()):  # viser says so on stdout, which belongs to the caller
            self.server.stop()

    def _show_time(self, timeline: Timeline, t: float) -> None:
        self.show(timeline.moment(t), drive=True)
        self._stage.show_marks(t)

    def _values(self) -> np.ndarray:
        return self.subject.values(self.q)

    def _slider(self, slider: Slider, value: float) -> Any:
        label, value = f"{slider.label} [{slider.unit}]", shown_value(slider, value)
        handle = self.server.gui.add_slider(label, slider.lower, slider.upper, slider.step, value)
        handle.on_update(self._moved_by_hand)
        return handle

    def _speed(self, slider: Slider) -> Any:
        handle = self.server.gui.add_slider(f"{slider.label} [{slider.unit}/s]", -FASTEST, FASTEST, 0.01, 0.0)
        handle.on_update(self._moved_by_hand)
        return handle

    def _moved_by_hand(self, event: Any) -> None:
        if event.client_id is None:
            return
        if self.player:
            self.player.pause()
        with self._lock:
            values = np.array([handle.value for handle in self._sliders])
            qd = np.array([handle.value for handle in self._speeds])
            q = self.subject.coordinates(values, near=self.q)
            blocked = q is self.q  # loops do not close there: the slider goes back
            self.show(Moment(q, qd, np.zeros(self._n), np.zeros(self._n)), move_sliders=blocked)

    def _switches(self) -> None:
        """A check box for each layer."""
        hidden = hidden_layers(self.subject)
        for layer in self._stage.layers:
            on = layer not in hidden
            box = self.server.gui.add_checkbox(layer, on, hint=LAYERS[layer])
            box.on_update(lambda event, layer=layer: self._stage.show_layer(layer, event.target.value))
            self._stage.show_layer(layer, on)
        center = self.server.gui.add_checkbox("mass centre", True)
        center.on_update(lambda event: self._stage.show_center(event.target.value))
        axes = self.server.gui.add_checkbox("frames", False)
        axes.on_update(lambda event: self._stage.show_axes(event.target.value))
        for note in self.subject.notes:
            self.server.gui.add_markdown(note)


def shown_value(slider: Slider, value: float) -> float:
    """A value as a slider can show it: within its range, to four decimals."""
    return round(float(np.clip(value, slider.lower, slider.upper)), 4)
