"""Shapes for robots without meshes: rods from joint to joint, joints as short cylinders, inertia as ellipsoids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from appell.model.joints import KINDS
from appell.view.shape import Rgb, Shape
from appell.view.solids import cylinder, frame_along, rod, sphere

if TYPE_CHECKING:
    from appell.model.body import Body
    from appell.model.pose import Triple
    from appell.robot.robot import Robot

LINK: Rgb = (0.35, 0.42, 0.50)
JOINT: Rgb = (0.84, 0.37, 0.0)
INERTIA: Rgb = (0.0, 0.45, 0.70)
SHORT = 1e-6
"""Rods shorter than this are not drawn. [m]"""


def link_shapes(robot: Robot, size: float, points: Mapping[str, Sequence[Triple]] | None = None) -> tuple[Shape, ...]:
    """Rods and joints of a robot whose reach is about `size`. [m]

    A rod leads from a body's origin to each joint that it carries and to each of its further `points`, and, where there
    are none, to its mass centre.
    """
    thick = 0.012 * size
    shapes = []
    for body in robot.bodies:
        carried = [joint for joint in robot.joints if joint.parent == body.name]
        ends = [joint.origin.xyz for joint in carried] + list((points or {}).get(body.name, ()))
        ends = ends or ([body.com] if body.mass else [])
        for number, end in enumerate(ends):
            if np.linalg.norm(end) > SHORT:
                shapes.append(Shape(f"rod{number}", body.name, rod((0, 0, 0), end, thick), LINK))
    for joint in robot.joints:
        kind = KINDS[joint.kind]
        if kind.nv:
            mesh = cylinder(2.0 * thick, 5.0 * thick) if kind.axial else sphere(2.5 * thick)
            turn = np.eye(4)
            turn[:3, :3] = frame_along(np.array(joint.axis))
            shapes.append(Shape(f"joint {joint.name}", joint.child, mesh.moved(turn), JOINT))
    return tuple(shapes)


def inertia_shapes(bodies: Sequence[Body], size: float) -> tuple[Shape, ...]:
    """An ellipsoid for every body with mass and inertia; those that would cover a robot of this size are left out."""
    shapes = []
    for body in bodies:
        axes, turn = inertia_ellipsoid(body)
        if 0.0 < axes.max() < size / 2:
            pose = np.eye(4)
            pose[:3, :3], pose[:3, 3] = turn, body.com
            mesh = sphere(1.0).scaled(np.maximum(axes, 0.02 * axes.max())).moved(pose)
            shapes.append(Shape("inertia", body.name, mesh, INERTIA, 0.25, "inertia"))
    return tuple(shapes)


def inertia_ellipsoid(body: Body) -> tuple[np.ndarray, np.ndarray]:
    """Semi-axes [m] and axes (3, 3) of the ellipsoid of even density with a body's mass and inertia.

    Its moments are I_x = m (b² + c²)/5 and so on, so a² = 5 (I_y + I_z - I_x)/(2 m).

    Example:
        >>> from appell.model.body import Body
        >>> ball = Body("ball", mass=5.0, inertia=(0.5, 0, 0, 0.5, 0, 0.5))  # 2/5 m r² with r = 0.5
        >>> inertia_ellipsoid(ball)[0].tolist()
        [0.5, 0.5, 0.5]
    """
    if body.mass <= 0.0:
        return np.zeros(3), np.eye(3)
    xx, xy, xz, yy, yz, zz = body.inertia
    moments, turn = np.linalg.eigh(np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]))
    squares = 2.5 * (moments.sum() - 2.0 * moments) / body.mass
    if np.linalg.det(turn) < 0:
        turn = turn * np.array([1.0, 1.0, -1.0])
    return np.sqrt(squares.clip(0.0)), turn
