"""Robots as URDF text. What `appell.load` reads back is equal to the robot, number by number.

Numbers are written with all digits. URDF cannot represent infinity: unlimited revolute and prismatic joints have the largest
float, as other programs require limits. Rotor inertias are written in Drake's tags, a gravity other than the default and an
initial state in an `appell` tag, which other programs ignore. Joint types that URDF does not have raise an error.
`coupled` is not written: it is the argument `mimic` of `appell.load`.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

from lxml import etree  # pyright: ignore[reportAttributeAccessIssue]

from appell.errors import ModelError
from appell.model.body import Body, Geometry
from appell.model.joint import Joint, Limits
from appell.model.joints import KINDS
from appell.model.pose import Pose

if TYPE_CHECKING:
    from appell.model.description import Description

DRAKE = "http://drake.mit.edu"
TYPES = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar")
"""Joint types of URDF."""


def to_urdf(robot: Description) -> str:
    """The robot as URDF text; documented at `Robot.to_urdf`."""
    for joint in robot.joints:
        if joint.kind not in TYPES:
            raise ModelError(
                f"joint {joint.name!r} is {joint.kind}, which URDF does not have (it has {', '.join(TYPES)}). "
                "Write the robot with Robot.to_dict, which has every joint type."
            )
    try:
        root = etree.Element("robot", name=robot.name, nsmap={"drake": DRAKE} if any(map(_motor, robot.joints)) else {})
        if own := _own(robot):
            _add(root, "appell", **own)
        for body in robot.bodies:
            _link(root, body)
        for joint in robot.joints:
            _joint(root, joint)
        for joint in filter(_motor, robot.joints):
            _transmission(root, joint)
    except ValueError as error:
        raise ModelError(f"robot {robot.name!r} cannot be written as XML: {error}.") from None
    return etree.tostring(root, encoding="unicode", pretty_print=True)


def _own(robot: Description) -> dict[str, Iterable[float]]:
    """Attributes of the `appell` tag."""
    own: dict[str, Iterable[float]] = {}
    if robot.gravity_vector != (0.0, 0.0, -9.81):
        own["gravity"] = robot.gravity_vector
    if robot.initial_state is not None:
        own["q"], own["qd"] = robot.initial_state
    return own


def _link(root: etree._Element, body: Body) -> None:
    link = _add(root, "link", name=body.name)
    if body.mass or any(body.com) or any(body.inertia):
        inertial = _add(link, "inertial")
        _pose(inertial, Pose(body.com))
        _add(inertial, "mass", value=body.mass)
        _add(inertial, "inertia", **dict(zip(("ixx", "ixy", "ixz", "iyy", "iyz", "izz"), body.inertia, strict=True)))
    for visual in body.visuals:
        node = _geometry(link, "visual", visual)
        if visual.rgba is not None:
            _add(_add(node, "material", name="rgba " + _text(visual.rgba)), "color", rgba=visual.rgba)
    for collision in body.collisions:
        _geometry(link, "collision", collision)


_SHAPES = {
    "box": ("size",),
    "cylinder": ("radius", "length"),
    "sphere": ("radius",),
    "capsule": ("radius", "length"),
    "mesh": ("scale",),
}


def _geometry(link: etree._Element, tag: str, geometry: Geometry) -> etree._Element:
    node = _add(link, tag)
    _pose(node, geometry.pose)
    names = _SHAPES[geometry.kind]
    values = geometry.size if len(names) > 1 else [geometry.size]
    shape = _add(_add(node, "geometry"), geometry.kind, **dict(zip(names, values, strict=True)))
    if geometry.mesh:
        shape.set("filename", geometry.mesh)
    return node


def _joint(root: etree._Element, joint: Joint) -> None:
    node = _add(root, "joint", name=joint.name, type=joint.kind)
    _pose(node, joint.origin)
    _add(node, "parent", link=joint.parent)
    _add(node, "child", link=joint.child)
    kind = KINDS[joint.kind]
    if kind.nv or joint.axis != (0.0, 0.0, 1.0):
        _add(node, "axis", xyz=joint.axis)
    if kind.limited or joint.limits != Limits():
        _limits(node, joint.limits, kind.limited)
    if joint.damping or joint.friction:
        _add(node, "dynamics", damping=joint.damping, friction=joint.friction)
    if joint.mimic is not None:
        _add(node, "mimic", joint=joint.mimic.joint, multiplier=joint.mimic.multiplier, offset=joint.mimic.offset)


def _limits(node: etree._Element, limits: Limits, ranged: bool) -> None:
    bounds = {"lower": limits.lower, "upper": limits.upper}
    written = bounds if ranged else {name: value for name, value in bounds.items() if math.isfinite(value)}
    values = {**written, "effort": limits.effort, "velocity": limits.velocity}
    _add(node, "limit", **{name: min(max(x, -sys.float_info.max), sys.float_info.max) for name, x in values.items()})


def _motor(joint: Joint) -> bool:
    return joint.rotor_inertia != 0.0 or joint.gear_ratio != 1.0


def _transmission(root: etree._Element, joint: Joint) -> None:
    transmission = _add(root, "transmission", name=f"{joint.name}_transmission")
    _add(transmission, "type").text = "transmission_interface/SimpleTransmission"
    _add(transmission, "joint", name=joint.name)
    actuator = _add(transmission, "actuator", name=f"{joint.name}_motor")
    _add(actuator, f"{{{DRAKE}}}rotor_inertia", value=joint.rotor_inertia)
    _add(actuator, f"{{{DRAKE}}}gear_ratio", value=joint.gear_ratio)


def _pose(node: etree._Element, pose: Pose) -> None:
    if pose != Pose():
        _add(node, "origin", xyz=pose.xyz, rpy=pose.rpy)


def _add(parent: etree._Element, tag: str, **attributes: str | float | Iterable[float]) -> etree._Element:
    return etree.SubElement(parent, tag, {name: _text(value) for name, value in attributes.items()})


def _text(value: str | float | Iterable[float]) -> str:
    if isinstance(value, str):
        return value
    return repr(float(value)) if isinstance(value, (int, float)) else " ".join(repr(float(each)) for each in value)
