"""The page: a subject with sliders, quantities and, for a recorded motion, a player."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import redirect_stdout
from html import escape
from io import StringIO
from typing import Any

import numpy as np

from appell.deprecation import renamed_attributes
from appell.errors import AppellError
from appell.simulation.contact.surfaces import Surface
from appell.view.player import Player
from appell.view.scene import LAYERS
from appell.view.sliders import Slider
from appell.view.state_tables import energy_table, force_table, matrix_table
from appell.view.subject import Subject, hidden_layers
from appell.view.surfaces import surface_shapes
from appell.view.timeline import MotionState, Timeline
from appell.view.viser_scene import ViserScene

MAX_VELOCITY = 5.0
"""Range of the velocity sliders. [rad/s, m/s]"""


@renamed_attributes(rest="show_at_rest")
class Page:
    """A served page. Close it with `close()`.

    Attributes:
        q: the configuration shown, (nq,).
        player: plays the motion; None without a motion.
    """

    def __init__(self, server: Any, subject: Subject, timeline: Timeline | None, surfaces: Sequence[Surface]) -> None:
        self.server, self.subject = server, subject
        self.q = subject.start
        self._n = len(subject.sliders)
        self._labels = [slider.label for slider in subject.sliders]
        self._lock = threading.RLock()
        server.gui.configure_theme(show_share_button=False, show_logo=False, control_width="large")
        server.gui.set_panel_label(subject.name)
        impacts = timeline.impact_marks() if timeline else ()
        self._scene = ViserScene(server, subject, surface_shapes(surfaces, subject.size), impacts)
        with server.gui.add_folder("Energy and centre of mass"):
            self._state = server.gui.add_html("")
        with server.gui.add_folder("Joints"):
            self._sliders = [
                self._slider(each, value) for each, value in zip(subject.sliders, self._values(), strict=True)
            ]
            server.gui.add_button("Back to the start").on_click(lambda _: self.show_at_rest(subject.start))
        with server.gui.add_folder("Forces"):
            self._forces = server.gui.add_html("")
        with server.gui.add_folder("Mass matrix", expand_by_default=self._n <= 8):
            self._matrix = server.gui.add_html("")
        with server.gui.add_folder("Velocities", expand_by_default=False):
            self._velocity_sliders = [self._velocity_slider(each) for each in subject.sliders]
            server.gui.add_button("Stop").on_click(lambda _: self.show_at_rest(self.q))
        with server.gui.add_folder("Layers", expand_by_default=False):
            self._add_layer_switches()
        self.player: Player | None = None
        if timeline is None:
            self.show_at_rest(self.q)
        else:
            self.player = Player(server, timeline, lambda t: self._show_time(timeline, t))
            self.player.go_to(timeline.start)

    def show_at_rest(self, q: np.ndarray) -> None:
        """Show a configuration at rest, and set the sliders to it."""
        zero = np.zeros(self._n)
        with self._lock:
            for slider in self._velocity_sliders:
                slider.value = 0.0
            self.show(MotionState(q, zero, zero, zero))

    def show(self, state: MotionState, recorded: bool = False, move_sliders: bool = True) -> None:
        """Show the poses and quantities of a state and, with `move_sliders`, its slider values."""
        with self._lock, self.server.atomic():
            self.q = state.q
            self._scene.move(self.subject.poses(state.q))
            try:
                self._show_quantities(state, recorded)
            except AppellError as error:  # a singular state has poses, but no dynamics
                self._state.content = escape(str(error))
            if move_sliders:
                for handle, slider, value in zip(self._sliders, self.subject.sliders, self._values(), strict=True):
                    handle.value = shown_value(slider, value)

    def _show_quantities(self, state: MotionState, recorded: bool) -> None:
        """Fill the tables; actuator forces of a recorded motion are shown, too."""
        quantities = self.subject.quantities(state.q, state.qd, state.qdd)
        self._scene.move_center(quantities.center_of_mass)
        self._state.content = energy_table(quantities)
        self._forces.content = force_table(
            quantities, self._labels, self.subject.actuator_names, state.tau if recorded else None
        )
        self._matrix.content = matrix_table(quantities.M, self._labels)

    def close(self) -> None:
        """Stop playing and serving."""
        if self.player:
            self.player.close()
        with redirect_stdout(StringIO()):  # viser prints a message
            self.server.stop()

    def _show_time(self, timeline: Timeline, t: float) -> None:
        self.show(timeline.state(t), recorded=True)
        self._scene.show_impacts(t)

    def _values(self) -> np.ndarray:
        return self.subject.slider_values(self.q)

    def _slider(self, slider: Slider, value: float) -> Any:
        label, value = f"{slider.label} [{slider.unit}]", shown_value(slider, value)
        handle = self.server.gui.add_slider(label, slider.lower, slider.upper, slider.step, value)
        handle.on_update(self._slider_moved)
        return handle

    def _velocity_slider(self, slider: Slider) -> Any:
        handle = self.server.gui.add_slider(f"{slider.label} [{slider.unit}/s]", -MAX_VELOCITY, MAX_VELOCITY, 0.01, 0.0)
        handle.on_update(self._slider_moved)
        return handle

    def _slider_moved(self, event: Any) -> None:
        if event.client_id is None:
            return
        if self.player:
            self.player.pause()
        with self._lock:
            values = np.array([handle.value for handle in self._sliders])
            qd = np.array([handle.value for handle in self._velocity_sliders])
            q = self.subject.configuration(values, near=self.q)
            blocked = q is self.q  # the loops do not close there: move the slider back
            self.show(MotionState(q, qd, np.zeros(self._n), np.zeros(self._n)), move_sliders=blocked)

    def _add_layer_switches(self) -> None:
        """A check box per layer."""
        hidden = hidden_layers(self.subject)
        for layer in self._scene.layers:
            on = layer not in hidden
            box = self.server.gui.add_checkbox(layer, on, hint=LAYERS[layer])
            box.on_update(lambda event, layer=layer: self._scene.show_layer(layer, event.target.value))
            self._scene.show_layer(layer, on)
        center = self.server.gui.add_checkbox("centre of mass", True)
        center.on_update(lambda event: self._scene.show_center(event.target.value))
        axes = self.server.gui.add_checkbox("frames", False)
        axes.on_update(lambda event: self._scene.show_axes(event.target.value))
        for note in self.subject.notes:
            self.server.gui.add_markdown(note)


def shown_value(slider: Slider, value: float) -> float:
    """The value within the range of the slider, rounded to four decimals."""
    return round(float(np.clip(value, slider.lower, slider.upper)), 4)
