"""`appell.show(robot)`: a page in the browser with sliders, quantities and, for a recorded motion, a player."""

from __future__ import annotations

import socket
import threading
from collections.abc import Sequence
from contextlib import redirect_stdout
from html import escape
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np

from appell.deprecation import renamed_arguments, renamed_attributes
from appell.errors import AppellError, ArgumentError
from appell.simulation.contact.surfaces import Surface
from appell.simulation.trajectory import Trajectory
from appell.table import StyledCell, cell_text, html_table
from appell.view import LOCAL, PORT
from appell.view.guard import guarded_server
from appell.view.scene import LAYERS
from appell.view.shapes import shown_surfaces
from appell.view.subject import Slider, StateQuantities, Subject, frame_origins, hidden_layers
from appell.view.subjects import subject_of
from appell.view.timeline import MotionState, Player, Timeline
from appell.view.viser_scene import ViserScene

MAX_VELOCITY = 5.0
"""Range of the velocity sliders. [rad/s, m/s]"""
TABLE_STYLE = "font-size:0.78em; font-variant-numeric:tabular-nums; border-collapse:collapse; white-space:nowrap"
CELL_STYLE = "padding:0.05em 0.4em; text-align:right"
STATES_SEEN = 20
"""States of a motion that the first view shows."""
ROUNDING_TOL = 1e-10
"""Numbers below this part of the largest are shown as zero."""


@renamed_attributes(rest="show_at_rest")
class Page:
    """A served page. Close it with `close()`.

    Attributes:
        url: its address, with a token.
        q: the configuration shown, (nq,).
        player: plays the motion; None without a motion.
    """

    def __init__(
        self, server: Any, url: str, subject: Subject, timeline: Timeline | None, surfaces: Sequence[Surface | None]
    ) -> None:
        self.server, self.url, self.subject = server, url, subject
        self.q = subject.start
        self._n = len(subject.sliders)
        self._labels = [slider.label for slider in subject.sliders]
        self._lock = threading.RLock()
        server.gui.configure_theme(show_share_button=False, show_logo=False, control_width="large")
        server.gui.set_panel_label(subject.name)
        impacts = timeline.impact_marks() if timeline else ()
        self._scene = ViserScene(server, subject, scene_points(subject, timeline), surfaces, impacts)
        with server.gui.add_folder("Energy and centre of mass"):
            self._state = server.gui.add_html("")
        with server.gui.add_folder("Joints"):
            self._sliders = [
                self._add_slider(f"{x.label} [{x.unit}]", x.lower, x.upper, x.step, shown_value(x, value))
                for x, value in zip(subject.sliders, self._values(), strict=True)
            ]
            server.gui.add_button("Back to the start").on_click(lambda _: self.show_at_rest(subject.start))
        with server.gui.add_folder("Forces"):
            self._forces = server.gui.add_html("")
        with server.gui.add_folder("Mass matrix", expand_by_default=self._n <= 8):
            self._matrix = server.gui.add_html("")
        with server.gui.add_folder("Velocities", expand_by_default=False):
            self._velocity_sliders = [
                self._add_slider(f"{x.label} [{x.unit}/s]", -MAX_VELOCITY, MAX_VELOCITY, 0.01, 0.0)
                for x in subject.sliders
            ]
            server.gui.add_button("Stop").on_click(lambda _: self.show_at_rest(self.q))
        with server.gui.add_folder("Layers", expand_by_default=False):
            self._add_layer_switches()
            if timeline and timeline.motion.contact_forces:
                box = server.gui.add_checkbox("contact forces", True, hint="of the surfaces on the robot")
                box.on_update(lambda event: self._show_forces(event.target.value))
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

    def __repr__(self) -> str:
        return f"<Page of {self.subject.name!r}: {self.url}>"

    def close(self) -> None:
        """Stop playing and serving."""
        if self.player:
            self.player.close()
        with redirect_stdout(StringIO()):  # viser prints a message
            self.server.stop()

    def _show_time(self, timeline: Timeline, t: float) -> None:
        self.show(timeline.state(t), recorded=True)
        self._scene.show_impacts(t)
        self._scene.show_forces(timeline.contact_arrows(t))

    def _show_forces(self, visible: bool) -> None:
        self._scene.forces_visible = visible
        if self.player:
            self.player.go_to(self.player.time)

    def _values(self) -> np.ndarray:
        return self.subject.slider_values(self.q)

    def _add_slider(self, label: str, lower: float, upper: float, step: float, value: float) -> Any:
        handle = self.server.gui.add_slider(label, lower, upper, step, value)
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
            self.server.gui.add_html(f"<p>{escape(note)}</p>")


def scene_points(subject: Subject, timeline: Timeline | None) -> np.ndarray:
    """Origins of the frames (N, 3) at the start, or over the motion. [m]"""
    return frame_origins(subject, [subject.start] if timeline is None else timeline.configurations(STATES_SEEN))


def shown_value(slider: Slider, value: float) -> float:
    """The value within the range of the slider, rounded to four decimals."""
    return round(float(np.clip(value, slider.lower, slider.upper)), 4)


def energy_table(quantities: StateQuantities) -> str:
    """Energies and the centre of mass."""
    com = ", ".join(f"{x + 0.0:.3f}" for x in quantities.center_of_mass.round(3))
    energies = {"kinetic": quantities.kinetic, "potential": quantities.potential}
    energies["total"] = quantities.kinetic + quantities.potential
    rows = [[f"{name} energy", f"{cell_text(value)} J"] for name, value in energies.items()]
    return panel_table([], [*rows, ["centre of mass", f"{com} m"]])


def force_table(
    quantities: StateQuantities, labels: Sequence[str], actuators: Sequence[str], recorded: np.ndarray | None = None
) -> str:
    """Actuator forces by inverse dynamics and, for a recorded motion, as recorded; generalized forces of gravity."""
    columns = {"tau": quantities.tau}
    if recorded is not None and len(recorded) == len(actuators):
        columns["recorded"] = recorded
    gravity = {"gravity": quantities.gravity}
    if tuple(actuators) == tuple(labels):
        return _force_table({**columns, **gravity}, labels)
    return _force_table(columns, actuators) + _force_table(gravity, labels)


def _force_table(columns: dict[str, np.ndarray], labels: Sequence[str]) -> str:
    values = np.stack([without_rounding(column) for column in columns.values()], axis=-1).tolist()
    return panel_table(["N m, N", *columns], [[label, *row] for label, row in zip(labels, values, strict=True)])


def matrix_table(M: np.ndarray, labels: Sequence[str]) -> str:
    """The mass matrix; larger entries have a darker background."""
    largest = float(np.abs(M).max(initial=0.0)) or 1.0
    rows = []
    for label, row in zip(labels, without_rounding(M).tolist(), strict=True):
        shades = [f"background:rgba(0,114,178,{0.45 * abs(value) / largest:.2f})" for value in row]
        rows.append([label, *map(StyledCell, row, shades)])
    return f'<div style="overflow-x:auto">{panel_table([], rows)}</div>'


def without_rounding(values: np.ndarray) -> np.ndarray:
    """The values, with those that are negligible compared to the largest set to zero."""
    return np.where(np.abs(values) < ROUNDING_TOL * np.abs(values).max(initial=0.0), 0.0, values)


def panel_table(columns: Sequence[str], rows: Sequence[Sequence]) -> str:
    """A small table: labels on the left, numbers on the right."""
    labelled = [[StyledCell(label, "text-align:left"), *cells] for label, *cells in rows]
    return html_table(columns, labelled, style=TABLE_STYLE, cell_style=CELL_STYLE)


@renamed_arguments(walls="surfaces")
def show(
    robot: Any,
    motion: Trajectory | None = None,
    *,
    surfaces: Surface | Sequence[Surface] | None = None,
    host: str = LOCAL,
    port: int = PORT,
    folder: str | Path | None = None,
) -> Page:
    """Serve a page that shows a robot, until `close()` of the result is called or Python ends. Needs viser.

    Open `url` of the result in a browser; requests without its token, and those of other pages, are rejected. The page has
    sliders for the joints and shows actuator forces, mass matrix, energy and centre of mass. A motion can be played, with its
    impacts marked.

    Args:
        robot: any robot, or an object like `appell.view.subject.Subject`.
        surfaces: contact surfaces, as for `appell.simulate`; by default those of the motion.
        host: address to listen on; only this computer can reach the default one.
        port: if it is in use, the next free one.
        folder: that of the robot description, for mesh files.

    Example:
        >>> import appell
        >>> page = appell.show(appell.load("planar2r"), port=8700)
        >>> page.url.startswith("http://127.0.0.1:87")  # open it in a browser
        True
        >>> page.close()
    """
    try:
        import viser  # noqa: F401
    except ImportError:
        raise AppellError("the viewer needs viser. Install it with: pip install 'appell[view]'") from None
    require_local_address(host, port)
    subject = subject_of(robot, None if folder is None else Path(folder))
    timeline = None if motion is None else Timeline(subject, motion)
    shown = shown_surfaces(surfaces, motion)
    server, url = guarded_server(host, port, subject.name)
    return Page(server, url, subject, timeline, shown)


def require_local_address(host: str, port: int) -> None:
    """Raise ArgumentError unless this computer can listen on the address; a server would wait for it forever."""
    if not isinstance(port, int) or not 0 < port < 1 << 16:
        raise ArgumentError(f"port is {port!r}, expected a whole number from 1 to 65535.")
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.bind(address)
    except OSError as error:
        raise ArgumentError(
            f"host is {host!r}, which is not an address of this computer ({error.strerror}). Use {LOCAL}, or 0.0.0.0 for all of "
            "its addresses."
        ) from None
