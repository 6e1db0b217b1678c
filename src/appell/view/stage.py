"""The three-dimensional part of the page: shapes on moving frames, marks and the mass centre."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from appell.view.camera import camera_for
from appell.view.poses import quaternion_of
from appell.view.shape import LAYERS, WORLD, Rgb, Shape
from appell.view.solids import sphere
from appell.view.subject import Subject
from appell.view.timeline import Mark

CENTER: Rgb = (0.9, 0.62, 0.0)
IMPACT: Rgb = (0.84, 0.10, 0.11)
ROOT = "/subject"


class Stage:
    """Everything of one subject that is drawn, kept by viser under the name of its frame.

    Attributes:
        layers: the layers that have shapes.
    """

    def __init__(self, server: Any, subject: Subject, walls: Sequence[Shape], marks: Sequence[Mark]) -> None:
        self._scene = server.scene
        self._subject = subject
        shapes = (*subject.shapes, *walls)
        self.layers = tuple(layer for layer in LAYERS if any(shape.layer == layer for shape in shapes))
        carriers = dict.fromkeys(shape.frame for shape in shapes if shape.frame != WORLD)
        self._frames = {name: self._scene.add_frame(f"{ROOT}/{_safe(name)}", show_axes=False) for name in carriers}
        self._shapes = [(shape.layer, self._add(shape)) for shape in shapes]
        self._center = self._dot("/center_of_mass", 0.025 * subject.size, CENTER)
        self._marks = [(mark, self._dot(f"/impacts/{i}", 0.02 * subject.size, IMPACT)) for i, mark in enumerate(marks)]
        for mark, dot in self._marks:
            dot.position = mark.place
        self._look(server)

    def move(self, poses: Mapping[str, np.ndarray]) -> None:
        """Put all frames where they are now."""
        for name, frame in self._frames.items():
            pose = poses[name]
            frame.wxyz, frame.position = quaternion_of(pose[:3, :3]), pose[:3, 3]

    def move_center(self, place: np.ndarray) -> None:
        """Put the mass centre where it is now. [m]"""
        self._center.position = place

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

    def show_marks(self, until: float) -> None:
        """Show the impacts up to a time. [s]"""
        for mark, dot in self._marks:
            dot.visible = mark.time <= until

    def _add(self, shape: Shape) -> Any:
        root = "/world" if shape.frame == WORLD else f"{ROOT}/{_safe(shape.frame)}"
        return self._scene.add_mesh_simple(
            f"{root}/{shape.layer}/{_safe(shape.name)}",
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

    def _look(self, server: Any) -> None:
        """Grid and camera for the subject's size, with up where it belongs."""
        size = self._subject.size
        poses = self._subject.poses(self._subject.start)
        places = np.array([pose[:3, 3] for pose in poses.values()])
        view = camera_for(places, size)
        self._scene.set_up_direction(view.up)
        cell = float(10.0 ** np.round(np.log10(size / 5)))
        floor = (0.0, 0.0, min(0.0, float(places[:, 2].min())))
        self._scene.add_grid("/grid", 8 * size, 8 * size, cell_size=cell, section_size=5 * cell, position=floor)
        server.initial_camera.position, server.initial_camera.look_at = view.position, view.look_at
        server.initial_camera.up = view.up


def _safe(name: str) -> str:
    """A name that is one step of a path."""
    return name.replace("/", "|") or "_"
