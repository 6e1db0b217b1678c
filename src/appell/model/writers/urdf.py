"""Robots as URDF text. What `appell.load` reads back is equal to the robot, number by number.

A robot that was read from URDF keeps its text (`UrdfDocument`): only elements whose values differ from those read are changed,
and everything else stays (comments, materials, transmissions, Gazebo tags, elements of other programs).

Numbers are written with all digits. URDF cannot represent infinity: unlimited revolute and prismatic joints have the largest
float, as other programs require limits. Rotor inertias are written in Drake's tags, a gravity other than the default, an
initial state and the mark of estimated mass properties in `appell` tags, which other programs ignore. Joint types that URDF
does not have raise an error. `coupled` is not written: it is the argument `mimic` of `appell.load`.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lxml import etree  # pyright: ignore[reportAttributeAccessIssue]

from appell.errors import ModelError
from appell.model.actuator import Actuator
from appell.model.body import Body, Geometry, Visual
from appell.model.joint import Joint, Limits
from appell.model.joints import KINDS
from appell.model.pose import Pose
from appell.model.writers.xml_edit import (
    arrange,
    as_text,
    child,
    children,
    insert,
    parse_document,
    remove,
    set_attributes,
)

if TYPE_CHECKING:
    from appell.model.description import Description

DRAKE = "http://drake.mit.edu"
TYPES = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar")
"""Joint types of URDF."""
GRAVITY = (0.0, 0.0, -9.81)
MASS_FIELDS = ("mass", "com", "inertia", "estimated", "mass_defect")


@dataclass(frozen=True)
class UrdfDocument:
    """The text that a robot was read from, and the robot as it was read."""

    text: str
    robot: Description


def to_urdf(robot: Description) -> str:
    """The robot as URDF text; documented at `Robot.to_urdf`."""
    for joint in robot.joints:
        if joint.kind not in TYPES:
            raise ModelError(
                f"joint {joint.name!r} is {joint.kind}, which URDF does not have (it has {', '.join(TYPES)}). "
                "Write the robot with Robot.to_dict, which has every joint type."
            )
    try:
        if robot.document is not None:
            return updated_text(robot, robot.document)
        root = etree.Element("robot", name=robot.name, nsmap={"drake": DRAKE} if any(map(_motor, robot.joints)) else {})
        _write(root, robot)
        return etree.tostring(root, encoding="unicode", pretty_print=True)
    except ValueError as error:
        raise ModelError(f"robot {robot.name!r} cannot be written as XML: {error}.") from None


def updated_text(robot: Description, document: UrdfDocument) -> str:
    """The text of the document with the elements of the robot that differ."""
    before = document.robot
    fields = ("name", "bodies", "joints", "gravity_vector", "initial_state", "actuators")
    if all(getattr(robot, field) == getattr(before, field) for field in fields):
        return document.text
    root, serialize = parse_document(document.text)
    _write(root, robot, before)
    if robot.name != before.name:
        root.set("name", robot.name)
    return serialize(robot.name == before.name)


def _write(root: etree._Element, robot: Description, before: Description | None = None) -> None:
    """Add the robot's elements to the root; those that are equal in `before` stay as they are."""
    own = _own(robot)
    if own != (_own(before) if before else dict.fromkeys(own)):
        set_attributes(child(root, "appell", first=True), **own)
    bodies, joints = (_named(before.bodies), _named(before.joints)) if before else ({}, {})
    links, connections = ({node.get("name"): node for node in children(root, tag)} for tag in ("link", "joint"))
    undeclared = set(bodies) - set(links) if before and _connections(before) == _connections(robot) else set()
    written = [body for body in robot.bodies if body.name not in undeclared or body != bodies[body.name]]
    arrange(root, "link", [_link(links.get(body.name), body, bodies.get(body.name)) for body in written])
    arrange(root, "joint", [_joint(connections.get(each.name), each, joints.get(each.name)) for each in robot.joints])
    for joint in robot.joints:
        old = joints.get(joint.name)
        if (joint.rotor_inertia, joint.gear_ratio) != ((old.rotor_inertia, old.gear_ratio) if old else (0.0, 1.0)):
            _transmission(root, joint)
    _actuators(root, robot.actuators, before.actuators if before else ())


def _connections(robot: Description) -> list[tuple[str, str]]:
    return [(joint.parent, joint.child) for joint in robot.joints]


def _named(items: Iterable[Any]) -> dict[str, Any]:
    return {item.name: item for item in items}


def _own(robot: Description) -> dict[str, Iterable[float] | None]:
    """Attributes of the `appell` tag; None where the value is the default."""
    q, qd = robot.initial_state or (None, None)
    return {"gravity": None if robot.gravity_vector == GRAVITY else robot.gravity_vector, "q": q, "qd": qd}


# --- links --------------------------------------------------------------------------------------------------------------


def _link(link: etree._Element | None, body: Body, old: Body | None) -> etree._Element:
    """The element of a body, with the values that differ from those of `old`; a new one where there is none."""
    if link is None:
        return _link(etree.Element("link", name=body.name), body, None)
    old = old or Body(body.name)
    if any(getattr(body, field) != getattr(old, field) for field in MASS_FIELDS):
        _inertial(link, body, old)
    for tag, shapes, former in (("visual", body.visuals, old.visuals), ("collision", body.collisions, old.collisions)):
        if shapes != former:
            _shapes(link, tag, shapes, former)
    return link


def _inertial(link: etree._Element, body: Body, old: Body) -> None:
    if not (body.mass or any(body.com) or any(body.inertia)):
        for node in children(link, "inertial"):
            remove(node)
        return
    inertial = child(link, "inertial", first=True)
    if (body.com, body.inertia) != (old.com, old.inertia) or old.mass_defect or not children(inertial, "inertia"):
        _pose(inertial, Pose(body.com))
        set_attributes(child(inertial, "mass"), value=body.mass)
        entries = dict(zip(("ixx", "ixy", "ixz", "iyy", "iyz", "izz"), body.inertia, strict=True))
        set_attributes(child(inertial, "inertia"), **entries)
    set_attributes(child(inertial, "mass"), value=body.mass)
    if body.estimated != old.estimated:
        set_attributes(child(inertial, "appell"), estimated=body.estimated or None)


_SIZES = {
    "box": ("size",),
    "cylinder": ("radius", "length"),
    "sphere": ("radius",),
    "capsule": ("radius", "length"),
    "mesh": ("scale",),
}


def _shapes(link: etree._Element, tag: str, shapes: Sequence[Geometry], former: Sequence[Geometry]) -> None:
    """Replace the shapes that differ; all of them if the elements do not correspond to those that were read."""
    nodes = children(link, tag)
    kept = len(nodes) == len(former)
    same = [kept and k < len(shapes) and shapes[k] == shape for k, shape in enumerate(former)]
    for k, node in enumerate(nodes):
        if not (kept and same[k]):
            remove(node)
    for k, shape in enumerate(shapes):
        if not (k < len(same) and same[k]):
            there = children(link, tag)
            place = link.index(there[k]) if k < len(there) else link.index(there[-1]) + 1 if there else None
            insert(link, _shape(tag, shape), place)


def _shape(tag: str, shape: Geometry) -> etree._Element:
    node = etree.Element(tag)
    _pose(node, shape.pose)
    names = _SIZES[shape.kind]
    values = shape.size if len(names) > 1 else [shape.size]
    geometry = etree.SubElement(node, "geometry")
    solid = etree.SubElement(geometry, shape.kind)
    set_attributes(solid, **dict(zip(names, values, strict=True)))
    if shape.mesh:
        solid.set("filename", shape.mesh)
    if isinstance(shape, Visual) and shape.rgba is not None:
        material = etree.SubElement(node, "material", name="rgba " + as_text(shape.rgba))
        set_attributes(etree.SubElement(material, "color"), rgba=shape.rgba)
    return node


# --- joints -------------------------------------------------------------------------------------------------------------


def _joint(node: etree._Element | None, joint: Joint, old: Joint | None) -> etree._Element:
    """The element of a joint, with the values that differ from those of `old`; a new one where there is none."""
    if node is None:
        return _joint(etree.Element("joint", name=joint.name), joint, None)
    if old == joint:
        return node
    kind = KINDS[joint.kind]

    def differs(*fields: str) -> bool:
        return old is None or any(getattr(old, field) != getattr(joint, field) for field in fields)

    if differs("kind"):
        node.set("type", joint.kind)
    if (joint.origin != Pose()) if old is None else differs("origin"):
        _pose(node, joint.origin)
    for end in ("parent", "child"):
        if differs(end):
            set_attributes(child(node, end), link=getattr(joint, end))
    if differs("axis", "kind") and (old is not None or kind.nv or joint.axis != (0.0, 0.0, 1.0)):
        set_attributes(child(node, "axis"), xyz=joint.axis)
    if differs("limits", "kind") and (kind.limited or joint.limits != Limits() or children(node, "limit")):
        _limits(node, joint.limits, kind.limited)
    if (joint.damping or joint.friction) if old is None else differs("damping", "friction"):
        set_attributes(child(node, "dynamics"), damping=joint.damping, friction=joint.friction)
    if (joint.stiffness or joint.springref) if old is None else differs("stiffness", "springref"):
        set_attributes(child(node, "appell"), stiffness=joint.stiffness, springref=joint.springref)
    if differs("mimic"):
        for former in children(node, "mimic"):
            remove(former)
        if joint.mimic is not None:
            set_attributes(child(node, "mimic"), **vars(joint.mimic))
    return node


def _limits(node: etree._Element, limits: Limits, ranged: bool) -> None:
    def written(name: str, value: float) -> float | None:
        if not ranged and name in ("lower", "upper") and math.isinf(value):
            return None
        return min(max(value, -sys.float_info.max), sys.float_info.max)

    order = ("lower", "upper", "effort", "velocity")
    set_attributes(child(node, "limit"), **{name: written(name, getattr(limits, name)) for name in order})


def _motor(joint: Joint) -> bool:
    return joint.rotor_inertia != 0.0 or joint.gear_ratio != 1.0


def _transmission(root: etree._Element, joint: Joint) -> None:
    """Rotor inertia and gear ratio in the joint's transmission that has a rotor, or in a new one."""
    for transmission in children(root, "transmission"):
        if joint.name in (node.get("name") for node in children(transmission, "joint")):
            for actuator in children(transmission, "actuator"):
                if children(actuator, "rotor_inertia") or children(actuator, "gear_ratio"):
                    _rotor(actuator, joint)
                    return
    transmission = etree.Element("transmission", name=f"{joint.name}_transmission")
    etree.SubElement(transmission, "type").text = "transmission_interface/SimpleTransmission"
    etree.SubElement(transmission, "joint", name=joint.name)
    _rotor(etree.SubElement(transmission, "actuator", name=f"{joint.name}_motor"), joint)
    insert(root, transmission)


def _actuators(root: etree._Element, actuators: Sequence[Actuator], old: Sequence[Actuator]) -> None:
    """Motors of one joint as transmissions with a reduction; others have no place in URDF. Those that changed are replaced."""
    gone = {actuator.name for actuator in old if actuator not in actuators}
    for transmission in children(root, "transmission") if gone else ():
        if gone & {node.get("name") for node in children(transmission, "actuator")}:
            remove(transmission)
    for each in actuators:
        if each not in old and each == Actuator(each.name, each.joints, each.gears) and len(each.joints) == 1:
            transmission = etree.Element("transmission", name=f"{each.name}_transmission")
            etree.SubElement(transmission, "type").text = "transmission_interface/SimpleTransmission"
            etree.SubElement(transmission, "joint", name=each.joint)
            actuator = etree.SubElement(transmission, "actuator", name=each.name)
            etree.SubElement(actuator, "mechanicalReduction").text = as_text(each.gear)
            insert(root, transmission)


def _rotor(actuator: etree._Element, joint: Joint) -> None:
    for name in ("rotor_inertia", "gear_ratio"):
        found = children(actuator, name)
        node = found[0] if found else etree.SubElement(actuator, f"{{{DRAKE}}}{name}", nsmap={"drake": DRAKE})
        set_attributes(node, value=getattr(joint, name))


def _pose(node: etree._Element, pose: Pose) -> None:
    if pose != Pose() or children(node, "origin"):
        set_attributes(child(node, "origin", first=True), xyz=pose.xyz, rpy=pose.rpy)
