"""URDF: the unified robot description format.

Read are links (mass properties, shapes for drawing and for contact), joints, actuators of transmissions (their reduction is the
gear), the motor's inertia (`drake:rotor_inertia`, `drake:gear_ratio`) and springs that Gazebo adds to joints. A reduction has
no effect on the dynamics: it acts only together with a rotor. Meshes are file names, not opened. Everything else (sensors,
other tags of Gazebo, safety controllers) is not part of the model; it stays in the text that `Robot.to_urdf` writes.

Defaults: no `inertial` means no mass, no `axis` means x, no `limit` (or no `lower`, `upper` in it) means unlimited. A
`mimic` of a fixed joint is ignored. The order of links and joints is kept.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from appell.loading.source import ParsedRobot, Source
from appell.loading.xml import ProblemLog, XmlNode, parse, written_as_utf_8
from appell.model.actuator import Actuator
from appell.model.body import Body, Geometry, Six, Visual, rotated_inertia
from appell.model.joint import Joint, Limits, Mimic
from appell.model.joints import KINDS
from appell.model.pose import Pose, triple
from appell.model.writers.urdf import UrdfDocument
from appell.robot.robot import Robot

Rgba = tuple[float, float, float, float]


def read(source: Source) -> ParsedRobot:
    """The robot as the file has it."""
    notes = ProblemLog(source.label)
    root = XmlNode(parse(source.data, source.label), "robot", notes)
    name = root.text("name")
    if not name:
        root.note("robot-name", "<robot> has no name", 'Add name="...".')
    colours = {
        material.text("name"): colour
        for material in root.children("material", "material")
        if (colour := _colour(material)) is not None
    }
    rotors, springs, own = _rotors(root), _springs(root), root.child("appell")
    bodies = [_body(link, colours) for link in root.children("link")]
    joints = tuple(_joint(joint, rotors, springs) for joint in root.children("joint"))
    joints = _with_known_leaders(root, joints)
    _note_macros(root)
    robot = Robot(
        name or "robot",
        (*_undeclared_root(root, bodies, joints), *bodies),
        joints,
        gravity_vector=triple(own.numbers("gravity", (0.0, 0.0, -9.81))),
        actuators=_actuators(root, joints),
        source=source.label,
    )
    if own.text("q") and all(joint.kind in KINDS for joint in robot.joints):
        state = own.numbers("q", (0.0,) * robot.nq), own.numbers("qd", (0.0,) * robot.nv)
        robot = replace(robot, initial_state=state)
    document = UrdfDocument(written_as_utf_8(source.text), robot)
    return ParsedRobot(replace(robot, document=document), tuple(notes.problems))


def _undeclared_root(root: XmlNode, bodies: Sequence[Body], joints: Sequence[Joint]) -> tuple[Body, ...]:
    """A body without mass for the root, where joints name it as their parent and no link declares it."""
    declared, children = {body.name for body in bodies}, {joint.child for joint in joints}
    absent = dict.fromkeys(joint.parent for joint in joints if joint.parent and joint.parent not in declared)
    if len(absent) != 1 or not declared or not declared <= children or absent.keys() & children:
        return ()
    (name,) = absent
    root.note("root", f"the root link {name!r} is not declared; it is added as a frame", f'Add <link name="{name}"/>.')
    return (Body(name),)


def _note_macros(root: XmlNode) -> None:
    """Macros that were not expanded: links and joints may be missing."""
    macros = [
        node for node in root.children() if "/xacro" in str(node.element.tag) or "xacro:" in str(node.element.tag)
    ]
    if macros:
        named = ", ".join(dict.fromkeys(f"<xacro:{node.tag}>" for node in macros))
        what = f"{len(macros)} macros of xacro are not expanded ({named})"
        macros[0].note("macros", what, "Load it with xacro_args={}, or expand it with xacro.")


# --- links --------------------------------------------------------------------------------------------------------------


def _body(link: XmlNode, colours: Mapping[str, Rgba]) -> Body:
    name = link.text("name")
    link = replace(link, where=f"link {name!r}")
    inertial = replace(link.child("inertial"), notes=ProblemLog(link.notes.file))
    mass, pose = inertial.child("mass"), _pose(inertial)
    if inertial and not mass:
        inertial.note("missing", "<inertial> has no <mass>", 'Add <mass value="..."/>.')
    properties = mass.number("value", required=True), pose.xyz, _inertia(inertial, pose)
    defects = [problem for problem in inertial.notes.problems if problem.kind != "default"]
    if defects:
        properties = 0.0, (0.0, 0.0, 0.0), NO_INERTIA
    link.notes.problems.extend(problem for problem in inertial.notes.problems if problem.kind == "default")
    visuals = (_visual(visual, colours) for visual in link.children("visual"))
    collisions = (_collision(collision) for collision in link.children("collision"))
    return Body(
        name, *properties,
        tuple(visual for visual in visuals if visual is not None),
        tuple(collision for collision in collisions if collision is not None),
        inertial.child("appell").text("estimated"), "; ".join(f"{p.what}. {p.fix}".rstrip(".") for p in defects), link.line,
    )  # fmt: skip


NO_INERTIA: Six = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


def _inertia(inertial: XmlNode, pose: Pose) -> Six:
    """The inertia tensor along the axes of the body."""
    node = inertial.child("inertia")
    if inertial and not node:
        inertial.note("missing", "<inertial> has no <inertia>", "Add <inertia ixx=... iyy=... izz=.../>.")
    xx, yy, zz = (node.number(entry, required=True) for entry in ("ixx", "iyy", "izz"))
    xy, xz, yz = (node.number(entry, blank=False) for entry in ("ixy", "ixz", "iyz"))
    if pose.rpy == (0.0, 0.0, 0.0):
        return xx, xy, xz, yy, yz, zz
    return rotated_inertia(pose.rotation, np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]))


_SIZES = {
    "box": lambda shape: shape.numbers("size", (0.0, 0.0, 0.0)),
    "cylinder": lambda shape: (shape.number("radius"), shape.number("length")),
    "sphere": lambda shape: (shape.number("radius"),),
    "capsule": lambda shape: (shape.number("radius"), shape.number("length")),
    "mesh": lambda shape: shape.numbers("scale", (1.0, 1.0, 1.0)),
}


def _visual(node: XmlNode, colours: Mapping[str, Rgba]) -> Visual | None:
    """A visual shape. Invalid ones are left out with a warning: they do not affect the dynamics."""
    quiet = replace(node, notes=ProblemLog(node.notes.file))
    material = quiet.child("material")
    colour = _colour(material) or colours.get(material.text("name"))
    found = _geometry(quiet)
    if found is not None and not quiet.notes.problems:
        return Visual(found.kind, found.size, found.pose, found.mesh, colour)
    _note_shape(node, quiet, "drawing", "drawn")
    return None


def _collision(node: XmlNode) -> Geometry | None:
    """A shape that touches surfaces. Invalid ones are left out with a warning."""
    quiet = replace(node, notes=ProblemLog(node.notes.file))
    found = _geometry(quiet)
    if found is not None and found.kind != "mesh" and min(found.size) < 0.0:
        quiet.note("number", f"a {found.kind} with size {found.size}, expected numbers >= 0", "")
    if found is not None and not quiet.notes.problems:
        return found
    _note_shape(node, quiet, "collision", "used for contact")
    return None


def _geometry(node: XmlNode) -> Geometry | None:
    shape = next((shape for shape in node.child("geometry").children() if shape.tag in _SIZES), None)
    if shape is None:
        return None
    return Geometry(shape.tag, _SIZES[shape.tag](shape), _pose(node), shape.text("filename"))


def _note_shape(node: XmlNode, quiet: XmlNode, kind: str, use: str) -> None:
    what = quiet.notes.problems[0].what if quiet.notes.problems else f"<{node.tag}> has no known shape"
    node.note(kind, what, f"Shapes are {', '.join(_SIZES)}; the shape is not {use}.")


def _colour(material: XmlNode) -> Rgba | None:
    colour = material.child("color")
    if not colour:
        return None
    r, g, b, a = colour.numbers("rgba", (0.0, 0.0, 0.0, 1.0))
    return r, g, b, a


# --- joints -------------------------------------------------------------------------------------------------------------


Pair = tuple[float, float]


def _with_known_leaders(root: XmlNode, joints: Sequence[Joint]) -> tuple[Joint, ...]:
    """The joints; those that mimic a joint which does not exist are independent."""
    names = {joint.name for joint in joints}
    lost = {joint.name: joint.mimic.joint for joint in joints if joint.mimic and joint.mimic.joint not in names}
    for node in root.children("joint"):
        name = node.text("name")
        if name in lost:
            what = f"it mimics the unknown joint {lost[name]!r} and is independent"
            replace(node, where=f"joint {name!r}").note("leader", what, "Correct the name.")
    return tuple(replace(joint, mimic=None) if joint.name in lost else joint for joint in joints)


def _joint(node: XmlNode, rotors: Mapping[str, Pair], springs: Mapping[str, Pair]) -> Joint:
    name, kind = node.text("name"), node.text("type")
    node = replace(node, where=f"joint {name!r}")
    moves = kind not in KINDS or KINDS[kind].nv > 0
    axis = node.child("axis")
    if moves and axis and axis.element.get("xyz") is None:
        axis.note("default", "<axis> has no attribute 'xyz'; its default, x, is used", "Add it.")
    dynamics, mimic, own = node.child("dynamics"), node.child("mimic"), node.child("appell")
    followed = Mimic(mimic.text("joint"), mimic.number("multiplier", 1.0), mimic.number("offset", 0.0))
    rotor_inertia, gear_ratio = rotors.get(name, (0.0, 1.0))
    stiffness, springref = springs.get(name, (0.0, 0.0))
    return Joint(
        name, kind, node.child("parent").text("link"), node.child("child").text("link"), _pose(node),
        axis=triple(axis.numbers("xyz", (1.0, 0.0, 0.0) if moves else (0.0, 0.0, 1.0))),
        limits=_limits(node.child("limit")),
        damping=dynamics.number("damping"),
        friction=dynamics.number("friction"),
        rotor_inertia=rotor_inertia,
        gear_ratio=gear_ratio,
        mimic=followed if moves and mimic else None,
        pitch=own.number("pitch"),
        stiffness=own.number("stiffness", stiffness),
        springref=own.number("springref", springref),
        line=node.line,
    )  # fmt: skip


def _limits(node: XmlNode) -> Limits:
    """Limits, infinite where absent. The largest float stands for infinity, which URDF cannot represent."""
    defaults = {"lower": -math.inf, "upper": math.inf, "velocity": math.inf, "effort": math.inf}
    values = {name: node.number(name, default, infinite=True) for name, default in defaults.items()}
    return Limits(**{
        name: math.copysign(math.inf, value) if abs(value) >= sys.float_info.max else value
        for name, value in values.items()
    })  # fmt: skip


def _actuators(root: XmlNode, joints: Sequence[Joint]) -> tuple[Actuator, ...]:
    """The actuators of transmissions with one joint and a reduction, which is their gear."""
    known = {joint.name for joint in joints if joint.kind in KINDS and KINDS[joint.kind].nv == 1 and not joint.mimic}
    found: dict[str, Actuator] = {}
    for transmission in root.children("transmission"):
        driven = tuple(joint.text("name") for joint in transmission.children("joint"))
        for actuator in transmission.children("actuator"):
            reduction = actuator.child("mechanicalReduction") or transmission.child("mechanicalReduction")
            gear = replace(reduction, notes=ProblemLog("")).content((0.0,))
            if len(driven) == 1 and driven[0] in known and gear[0] and actuator.text("name"):
                found.setdefault(actuator.text("name"), Actuator(actuator.text("name"), driven, gear))
    return tuple(found.values())


def _springs(root: XmlNode) -> dict[str, Pair]:
    """Stiffness and rest of the springs that Gazebo adds to joints, by the joint's name."""
    springs: dict[str, Pair] = {}
    for node in root.children("gazebo", "gazebo"):
        if node.child("turnGravityOff").words in ("true", "1"):
            node.note("ignored", f"gravity acts on {node.text('reference')!r} here", "Leave <turnGravityOff> out.")
        if node.child("springStiffness"):
            ends = (replace(node.child(f"spring{end}"), notes=ProblemLog("")) for end in ("Stiffness", "Reference"))
            (stiffness,), (reference,) = (end.content((0.0,)) for end in ends)
            springs[node.text("reference")] = stiffness, reference
    return springs


def _rotors(root: XmlNode) -> dict[str, Pair]:
    """Rotor inertia and gear ratio of the joints whose transmission gives them."""
    rotors: dict[str, Pair] = {}
    for transmission in root.children("transmission", "transmission"):
        transmission = replace(transmission, where=f"transmission {transmission.text('name')!r}")
        for actuator in transmission.children("actuator"):
            inertia, ratio = actuator.child("rotor_inertia"), actuator.child("gear_ratio")
            if not inertia and not ratio:
                continue
            motor = inertia.number("value"), ratio.number("value", 1.0)
            if inertia and not ratio and actuator.child("mechanicalReduction"):
                actuator.note(
                    "ignored", "a rotor inertia with <mechanicalReduction>, which is not used: the gear ratio is taken as 1",
                    'Write <drake:gear_ratio value="..."/>.',
                )  # fmt: skip
            rotors.update({joint.text("name"): motor for joint in transmission.children("joint")})
    return rotors


def _pose(node: XmlNode) -> Pose:
    origin = node.child("origin")
    return Pose(triple(origin.numbers("xyz")), triple(origin.numbers("rpy")))
