"""The three-dimensional part of the page in viser: shapes on moving frames, impacts and the centre of mass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from appell.simulation.contact.surfaces import Surface
from appell.view.scene import LAYERS, WORLD, Rgb, Shape, fit_camera, sphere
from appell.view.shapes import surface_shapes
from appell.view.subject import Subject
from appell.view.timeline import ImpactMark

COM_COLOUR: Rgb = (0.9, 0.62, 0.0)
IMPACT_COLOUR: Rgb = (0.84, 0.10, 0.11)
FORCE_COLOUR: Rgb = (0.0, 0.62, 0.45)
ROOT = "/subject"
SEEN = 0.5
"""Part of the extent of a motion that is its size, where it is more than the size of the subject."""


class ViserScene:
    """The shapes of one subject, kept by viser under the names of their frames.

    Attributes:
        layers: the layers that have shapes.
        forces_visible: whether contact forces are shown.
    """

    def __init__(
        self,
        server: Any,
        subject: Subject,
        origins: np.ndarray,
        surfaces: Sequence[Surface | None],
        impacts: Sequence[ImpactMark],
    ) -> None:
        self._scene = server.scene
        self._forces: Any = None
        self.forces_visible = True
        self._subject = subject
        low, high = origins.min(axis=0), origins.max(axis=0)
        size = max(subject.size, SEEN * float((high - low).max()))
        shapes = (*subject.shapes, *surface_shapes(surfaces, size, 0.5 * (low + high)))
        self.layers = tuple(layer for layer in LAYERS if any(shape.layer == layer for shape in shapes))
        carriers = dict.fromkeys(shape.frame for shape in shapes if shape.frame != WORLD)
        self._frames = {name: self._scene.add_frame(f"{ROOT}/{_path_part(name)}", show_axes=False) for name in carriers}
        self._shapes = [(shape.layer, self._add(shape)) for shape in shapes]
        self._center = self._dot("/center_of_mass", 0.025 * subject.size, COM_COLOUR)
        self._impacts = []
        for i, impact in enumerate(impacts):
            dot = self._dot(f"/impacts/{i}", 0.02 * subject.size, IMPACT_COLOUR)
            dot.position = impact.position
            self._impacts.append((impact.time, dot))
        self._set_camera(server, origins, size)

    def move(self, poses: Mapping[str, np.ndarray]) -> None:
        """Set the poses of all frames."""
        for name, frame in self._frames.items():
            pose = poses[name]
            x, y, z, w = Rotation.from_matrix(pose[:3, :3]).as_quat()
            frame.wxyz, frame.position = (w, x, y, z), pose[:3, 3]

    def move_center(self, position: np.ndarray) -> None:
        """Set the position of the centre of mass. [m]"""
        self._center.position = position

    def show_layer(self, layer: str, visible: bool) -> None:
        """Show or hide all shapes of a layer."""
        for own, handle in self._shapes:
            if own == layer:
                handle.visible = visible

    def show_center(self, visible: bool) -> None:
        self._center.visible = visible

    def show_axes(self, visible: bool) -> None:
        """Show or hide the axes of all frames."""
        for frame in self._frames.values():
            frame.show_axes = visible

    def show_impacts(self, until: float) -> None:
        """Show the impacts up to a time. [s]"""
        for time, dot in self._impacts:
            dot.visible = time <= until

    def show_forces(self, arrows: np.ndarray) -> None:
        """Show contact forces as arrows (k, 2, 3) from start to end. [m]"""
        if self._forces is not None:
            self._forces.remove()
            self._forces = None
        if len(arrows) and self.forces_visible:
            size = self._subject.size
            self._forces = self._scene.add_arrows(
                "/contact_forces", arrows, FORCE_COLOUR,
                shaft_radius=0.006 * size, head_radius=0.015 * size, head_length=0.04 * size,
            )  # fmt: skip

    def _add(self, shape: Shape) -> Any:
        root = "/world" if shape.frame == WORLD else f"{ROOT}/{_path_part(shape.frame)}"
        return self._scene.add_mesh_simple(
            f"{root}/{shape.layer}/{_path_part(shape.name)}",
            shape.mesh.vertices,
            shape.mesh.faces,
            color=shape.colour,
            opacity=None if shape.opacity >= 1.0 else shape.opacity,
            side="double",
            flat_shading=shape.layer == "meshes",
            cast_shadow=shape.opacity >= 1.0,
        )

    def _dot(self, name: str, radius: float, colour: Rgb) -> Any:
        mesh = sphere(radius)
        return self._scene.add_mesh_simple(name, mesh.vertices, mesh.faces, color=colour)

    def _set_camera(self, server: Any, origins: np.ndarray, size: float) -> None:
        """Grid, camera and up direction for these points."""
        camera = fit_camera(origins, size)
        self._scene.set_up_direction(camera.up)
        cell = float(10.0 ** np.round(np.log10(size / 5)))
        x, y = np.round(0.5 * (origins.min(axis=0) + origins.max(axis=0))[:2] / (5 * cell)) * 5 * cell
        floor = (float(x), float(y), min(0.0, float(origins[:, 2].min())))
        self._scene.add_grid("/grid", 8 * size, 8 * size, cell_size=cell, section_size=5 * cell, position=floor)
        server.initial_camera.position, server.initial_camera.look_at = camera.position, camera.look_at
        server.initial_camera.up = camera.up


def _path_part(name: str) -> str:
    return name.replace("/", "|") or "_"
