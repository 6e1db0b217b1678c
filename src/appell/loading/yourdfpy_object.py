"""Robots read by yourdfpy: its data classes, without meshes.

yourdfpy keeps neither line numbers nor the tags of rotors. Its poses are matrices.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from appell.loading.source import ParsedRobot, Source
from appell.model.body import Body, Geometry, Visual, inertia_entries, rotated_inertia
from appell.model.joint import Joint, Limits, Mimic
from appell.model.joints import KINDS
from appell.model.pose import Pose, triple
from appell.robot.robot import Robot


def read(source: Source) -> ParsedRobot:
    """The robot of a `yourdfpy.URDF`."""
    robot = source.given.robot
    colours = {material.name: material.color for material in robot.materials or ()}
    bodies = tuple(_body(link, colours) for link in robot.links)
    return ParsedRobot(Robot(robot.name or "robot", bodies, tuple(map(_joint, robot.joints))))


def _body(link: Any, colours: dict[str, Any]) -> Body:
    visuals = tuple(_visual(visual, colours) for visual in link.visuals if visual.geometry is not None)
    drawn = tuple(visual for visual in visuals if visual is not None)
    shapes = (_geometry(collision) for collision in link.collisions if collision.geometry is not None)
    touching = tuple(shape for shape in shapes if shape is not None)
    if link.inertial is None:
        return Body(link.name or "", visuals=drawn, collisions=touching)
    pose = _pose(link.inertial.origin)
    tensor = np.zeros((3, 3)) if link.inertial.inertia is None else np.asarray(link.inertial.inertia, dtype=float)
    inertia = inertia_entries(tensor) if pose.rpy == (0.0, 0.0, 0.0) else rotated_inertia(pose.rotation, tensor)
    return Body(link.name or "", _number(link.inertial.mass), pose.xyz, inertia, drawn, touching)


def _joint(joint: Any) -> Joint:
    limit, dynamics, mimic = joint.limit, joint.dynamics, joint.mimic
    moves = joint.type not in KINDS or KINDS[joint.type].nv > 0
    axis = (1.0, 0.0, 0.0) if joint.axis is None else triple(joint.axis)
    return Joint(
        joint.name or "", joint.type or "", joint.parent or "", joint.child or "", _pose(joint.origin),
        axis=axis if moves else (0.0, 0.0, 1.0),
        limits=Limits() if limit is None else Limits(
            _number(limit.lower, -math.inf), _number(limit.upper, math.inf),
            _number(limit.velocity, math.inf), _number(limit.effort, math.inf),
        ),
        damping=0.0 if dynamics is None else _number(dynamics.damping),
        friction=0.0 if dynamics is None else _number(dynamics.friction),
        mimic=Mimic(mimic.joint, _number(mimic.multiplier, 1.0), _number(mimic.offset)) if mimic and moves else None,
    )  # fmt: skip


_SIZES = {
    "box": lambda shape: tuple(float(edge) for edge in shape.size),
    "cylinder": lambda shape: (float(shape.radius), float(shape.length)),
    "sphere": lambda shape: (float(shape.radius),),
    "mesh": lambda shape: triple(np.broadcast_to(1.0 if shape.scale is None else shape.scale, 3)),
}


def _visual(visual: Any, colours: dict[str, Any]) -> Visual | None:
    found, material = _geometry(visual), visual.material
    if found is None:
        return None
    colour = (material.color or colours.get(material.name)) if material is not None else None
    rgba = None if colour is None else tuple(float(each) for each in colour.rgba)
    return Visual(found.kind, found.size, found.pose, found.mesh, rgba)  # type: ignore[arg-type]


def _geometry(element: Any) -> Geometry | None:
    for kind, size in _SIZES.items():
        shape = getattr(element.geometry, kind)
        if shape is not None:
            return Geometry(kind, size(shape), _pose(element.origin), getattr(shape, "filename", ""))
    return None


def _pose(matrix: Any) -> Pose:
    if matrix is None:
        return Pose()
    T = np.asarray(matrix, dtype=float)
    return Pose.from_matrix(T[:3, 3], T[:3, :3])


def _number(value: Any, default: float = 0.0) -> float:
    return default if value is None else float(value)
