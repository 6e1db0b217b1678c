"""Shapes of robots without meshes: rods between joints, short cylinders for joints, ellipsoids for inertia."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from appell.model.body import Body
from appell.model.joints import KINDS
from appell.model.pose import Triple
from appell.robot.robot import Robot
from appell.view.scene import Rgb, Shape
from appell.view.solids import cylinder, frame_along, pose_matrix, rod, sphere

LINK_COLOUR: Rgb = (0.35, 0.42, 0.50)
JOINT_COLOUR: Rgb = (0.84, 0.37, 0.0)
INERTIA_COLOUR: Rgb = (0.0, 0.45, 0.70)
MIN_ROD_LENGTH = 1e-6
"""Rods shorter than this are not drawn. [m]"""


def link_shapes(robot: Robot, size: float, points: Mapping[str, Sequence[Triple]] | None = None) -> tuple[Shape, ...]:
    """Rods and joints of a robot of approximate extent `size`. [m]

    Rods connect the origin of a body with the joints on it and with its additional `points`; without any, with its centre
    of mass.
    """
    radius = 0.012 * size
    shapes = []
    for body in robot.bodies:
        attached = [joint for joint in robot.joints if joint.parent == body.name]
        ends = [joint.origin.xyz for joint in attached] + list((points or {}).get(body.name, ()))
        ends = ends or ([body.com] if body.mass else [])
        for number, end in enumerate(ends):
            if np.linalg.norm(end) > MIN_ROD_LENGTH:
                shapes.append(Shape(f"rod{number}", body.name, rod((0, 0, 0), end, radius), LINK_COLOUR))
    for joint in robot.joints:
        kind = KINDS[joint.kind]
        if kind.nv:
            mesh = cylinder(2.0 * radius, 5.0 * radius) if kind.axial else sphere(2.5 * radius)
            pose = pose_matrix(frame_along(np.array(joint.axis)), (0.0, 0.0, 0.0))
            shapes.append(Shape(f"joint {joint.name}", joint.child, mesh.transformed(pose), JOINT_COLOUR))
    return tuple(shapes)


def inertia_shapes(bodies: Sequence[Body], size: float) -> tuple[Shape, ...]:
    """An ellipsoid per body with mass and inertia; ellipsoids larger than half the `size` of the robot are omitted."""
    shapes = []
    for body in bodies:
        axes, rotation = inertia_ellipsoid(body)
        if 0.0 < axes.max() < size / 2:
            ellipsoid = sphere(1.0).scaled(np.maximum(axes, 0.02 * axes.max()))
            mesh = ellipsoid.transformed(pose_matrix(rotation, body.com))
            shapes.append(Shape("inertia", body.name, mesh, INERTIA_COLOUR, 0.25, "inertia"))
    return tuple(shapes)


def inertia_ellipsoid(body: Body) -> tuple[np.ndarray, np.ndarray]:
    """Semi-axes [m] and axes (3, 3) of the ellipsoid of uniform density with a body's mass and inertia.

    Its moments are I_x = m (b² + c²)/5 and so on, so a² = 5 (I_y + I_z - I_x)/(2 m).
    """
    if body.mass <= 0.0:
        return np.zeros(3), np.eye(3)
    xx, xy, xz, yy, yz, zz = body.inertia
    moments, rotation = np.linalg.eigh(np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]))
    squares = 2.5 * (moments.sum() - 2.0 * moments) / body.mass
    if np.linalg.det(rotation) < 0:
        rotation = rotation * np.array([1.0, 1.0, -1.0])
    return np.sqrt(squares.clip(0.0)), rotation
