"""SDF: models of Gazebo, versions 1.4 and later.

Read are links, joints, frames and nested models of the first model, with poses relative to any frame. Bodies have the frames of
the links; a joint whose frame is not that of its child has a frame of its own, a body without mass with the joint's name. A
model that is not fixed to the world is fixed at its root link here, or floats with `base="floating"`.

Defaults are those of the format: a link without `inertial` has 1 kg and 1 kg m². Universal joints become two revolute ones.
Included files and elements that change the motion but are not part of the model give a warning or an error.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from appell.loading.source import ParsedRobot, Source
from appell.loading.xml import ProblemLog, XmlNode, parse
from appell.model.body import Body, Geometry, Six, Visual, rotated_inertia
from appell.model.joint import Joint, Limits, Mimic
from appell.model.pose import Pose, Triple, triple
from appell.names import unused_name
from appell.robot.robot import Robot

WORLD, MODEL = "world", "__model__"
KINDS = {
    "revolute": "revolute", "continuous": "continuous", "prismatic": "prismatic", "fixed": "fixed", "ball": "spherical",
    "screw": "helical", "universal": "revolute", "revolute2": "revolute",
}  # fmt: skip
"""Joint types of the format and their names here; the last two have a second axis."""
UNLIMITED = 1e16
"""Limits of this size mean that there are none."""


@dataclass(frozen=True)
class FrameSpec:
    """Pose of a frame relative to another, and the frame to which it is attached (empty for a link)."""

    relative_to: str
    pose: np.ndarray
    attached_to: str = ""
    where: XmlNode | None = None


@dataclass(frozen=True)
class Model:
    """Frames, links and joints of a model and of the models in it, by their scoped names."""

    version: float
    frames: dict[str, FrameSpec] = field(default_factory=dict)
    links: dict[str, XmlNode] = field(default_factory=dict)
    joints: dict[str, tuple[XmlNode, str]] = field(default_factory=dict)

    def pose(self, name: str, seen: tuple[str, ...] = ()) -> np.ndarray:
        """Pose (4, 4) in the frame of the outer model."""
        if name in ("", MODEL):
            return np.eye(4)
        frame = self.frames.get(name)
        if frame is None or name in seen:
            return np.full((4, 4), np.nan)
        return self.pose(frame.relative_to, (*seen, name)) @ frame.pose

    def link_of(self, name: str) -> str:
        """The link, or the world, to which a frame is attached; the name itself if it is unknown."""
        seen: set[str] = set()
        while name not in self.links and name != WORLD and name in self.frames and name not in seen:
            seen.add(name)
            name = self.frames[name].attached_to
        return name


def read(source: Source) -> ParsedRobot:
    """The robot of the first model."""
    notes = ProblemLog(source.label)
    root = XmlNode(parse(source.data, source.label), "robot", notes)
    world = root.child("world")
    model_node = root.child("model") or world.child("model")
    if not model_node:
        root.note("missing", "there is no <model>", "Give a file with a model; included models are not read.")
    if len([*root.children("model"), *world.children("model")]) > 1:
        root.note("ignored", "there are several models; only the first is read", "Give one model per file.")
    version = root.number("version", 1.7)
    model = Model(version)
    _collect(model, model_node, "")
    gravity = world.child("gravity").content((0.0, 0.0, -9.81))
    bodies, joints, virtual = _tree(model, model_node)
    for frame in model.frames.values():
        if frame.where and not np.isfinite(model.pose(frame.relative_to)).all():
            what = f"its pose is relative to {frame.relative_to!r}, which is unknown or relative to itself"
            frame.where.note("link", what, "Correct the name.")
    name = model_node.text("name") or "robot"
    robot = Robot(name, tuple(bodies), tuple(joints), triple(gravity), source=source.label)
    return ParsedRobot(robot, tuple(notes.problems), frozenset(virtual))


# --- frames -------------------------------------------------------------------------------------------------------------


def _collect(model: Model, node: XmlNode, prefix: str) -> None:
    """Add the frames, links and joints of a model element to the model."""
    own = prefix.removesuffix("::") or MODEL

    def scoped(name: str, default: str = "") -> str:
        return {"": default, MODEL: own, WORLD: WORLD}.get(name, prefix + name)

    def add(name: str, element: XmlNode, relative_to: str, attached_to: str = "") -> None:
        pose = element.child("pose")
        base = scoped(pose.text("relative_to"), relative_to)
        model.frames[name] = FrameSpec(base, _matrix(pose), attached_to, element)

    first = next((link.text("name") for link in node.children("link")), "")
    for link in node.children("link"):
        name = prefix + link.text("name")
        model.links[name] = replace(link, where=f"link {name!r}")
        add(name, model.links[name], own)
    for joint in node.children("joint"):
        name = prefix + joint.text("name")
        child = scoped(joint.child("child").words)
        model.joints[name] = replace(joint, where=f"joint {name!r}"), prefix
        add(name, model.joints[name][0], child, child)
    for frame in node.children("frame"):
        name = prefix + frame.text("name")
        attached = scoped(frame.text("attached_to"), own)
        add(name, replace(frame, where=f"frame {name!r}"), attached, attached)
    for inner in node.children("model"):
        name = prefix + inner.text("name")
        add(name, replace(inner, where=f"model {name!r}"), own)
        if inner.text("placement_frame"):
            inner.note("ignored", "placement_frame is not read", "Give the pose of the model's own frame.")
        _collect(model, inner, name + "::")
        inside = next((link.text("name") for link in inner.children("link")), "")
        canonical = inner.text("canonical_link") or inside
        model.frames[name] = replace(model.frames[name], attached_to=f"{name}::{canonical}")
    if own == MODEL:
        model.frames[MODEL] = FrameSpec("", np.eye(4), node.text("canonical_link") or first)
    for element in node.children("include"):
        uri = element.child("uri").words
        element.note("missing", f"the included model {uri!r} is not read", "Give a file that contains all models.")


def _matrix(node: XmlNode) -> np.ndarray:
    """The pose (4, 4) of a `pose` element: x y z and roll pitch yaw, in degrees if it says so, or a quaternion."""
    T = np.eye(4)
    if node.text("rotation_format") == "quat_xyzw":
        x, y, z, *quaternion = node.content((0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0))
        length = math.sqrt(sum(each * each for each in quaternion))
        if not 0.0 < length < math.inf:
            node.note("number", "the quaternion of <pose> has length 0", "Give one of unit length.")
            return T
        a, b, c, w = (each / length for each in quaternion)
        T[:3, :3] = [
            [1 - 2 * (b * b + c * c), 2 * (a * b - c * w), 2 * (a * c + b * w)],
            [2 * (a * b + c * w), 1 - 2 * (a * a + c * c), 2 * (b * c - a * w)],
            [2 * (a * c - b * w), 2 * (b * c + a * w), 1 - 2 * (a * a + b * b)],
        ]
        T[:3, 3] = x, y, z
        return T
    x, y, z, *rpy = node.content((0.0,) * 6)
    if node.text("degrees") in ("true", "1"):
        rpy = [math.radians(angle) for angle in rpy]
    T[:3, :3], T[:3, 3] = Pose((x, y, z), triple(rpy)).rotation, (x, y, z)
    return T


def _as_pose(T: np.ndarray) -> Pose:
    return Pose.from_matrix(T[:3, 3], T[:3, :3]) if np.isfinite(T).all() else Pose()


# --- tree ---------------------------------------------------------------------------------------------------------------


def _tree(model: Model, node: XmlNode) -> tuple[list[Body], list[Joint], set[str]]:
    """Bodies, joints and the names of bodies without mass that were added."""
    bodies = [_body(name, link) for name, link in model.links.items()]
    taken = [*model.links, WORLD]
    joints: list[Joint] = []
    virtual: set[str] = set()

    def frame_body(wanted: str) -> str:
        name = unused_name(wanted, taken)
        taken.append(name)
        virtual.add(name)
        bodies.append(Body(name))
        return name

    placed = _matrix(node.child("pose")) if node else np.eye(4)
    poses = {WORLD: np.linalg.inv(placed)} | {name: model.pose(name) for name in model.links}
    parents = {}
    for name, (joint, prefix) in model.joints.items():
        ends = [_end(model, joint, prefix, end) for end in ("parent", "child")]
        parents[name] = ends[0]
        joints += _joints(model, name, joint, prefix, ends, poses, frame_body)
    anchored = WORLD in parents.values() and WORLD not in model.links
    if anchored:
        bodies.insert(0, Body(WORLD))
    children = {model.link_of(_end(model, joint, prefix, "child")) for joint, prefix in model.joints.values()}
    roots = [name for name in model.links if name not in children]
    if (
        WORLD not in parents.values()
        and len(roots) == 1
        and not np.allclose(poses[roots[0]], np.eye(4), rtol=0, atol=0)
    ):
        root = frame_body(MODEL)
        joints.append(
            Joint(unused_name("model_joint", list(model.joints)), "fixed", root, roots[0], _as_pose(poses[roots[0]]))
        )
    for name, frame in model.frames.items():
        if frame.where is not None and frame.where.tag == "frame":
            link = model.link_of(name)
            if link in poses:
                relative = np.linalg.inv(poses[link]) @ model.pose(name)
                joints.append(Joint(f"{name}_fixed", "fixed", link, frame_body(name), _as_pose(relative)))
    return bodies, joints, virtual


def _end(model: Model, joint: XmlNode, prefix: str, end: str) -> str:
    """The link that a joint's parent or child element names, directly or by a frame attached to it."""
    name = joint.child(end).words
    return WORLD if name == WORLD else model.link_of(prefix + name if name else "")


def _joints(model: Model, name: str, node: XmlNode, prefix: str, ends: Sequence[str], poses, frame_body) -> list[Joint]:
    """A joint of the format: one joint here, two of a universal one, and a fixed one where its frame is not the child's."""
    kind = KINDS.get(node.text("type"), node.text("type"))
    parent, child = ends
    if parent not in poses or child not in poses:
        return [Joint(name, kind, parent, child, line=node.line)]
    at, end = model.pose(name), poses[child]
    if kind == "fixed":
        at = end
    axes = [node.child("axis")] + ([node.child("axis2")] if node.text("type") in ("universal", "revolute2") else [])
    joints: list[Joint] = []
    before, origin = parent, np.linalg.inv(poses[parent]) @ at
    for k, axis in enumerate(axes):
        last = k == len(axes) - 1 and np.allclose(at, end, rtol=0.0, atol=1e-15)
        own = name if k == 0 else f"{name}_axis2"
        carried = child if last else frame_body(own)
        joints.append(_joint(model, own, kind, node, axis, prefix, before, carried, _as_pose(origin), at))
        before, origin = carried, np.eye(4)
    if before != child:
        joints.append(Joint(f"{name}_fixed", "fixed", before, child, _as_pose(np.linalg.inv(at) @ end), line=node.line))
    return joints


def _joint(model, name, kind, node, axis: XmlNode, prefix: str, parent: str, child: str, origin: Pose, at) -> Joint:
    limit, dynamics = axis.child("limit"), axis.child("dynamics")
    pitch = node.child("screw_thread_pitch").content((0.0,))[0] / (2.0 * math.pi)
    if node.child("thread_pitch"):
        node.note(
            "ignored", "<thread_pitch> has another meaning in every simulator", "Write <screw_thread_pitch>, in metres."
        )
    return Joint(
        name, kind, parent, child, origin,
        axis=_axis(model, axis, prefix, at) if kind not in ("fixed", "spherical") else (0.0, 0.0, 1.0),
        limits=Limits(
            _limit(limit.child("lower"), -math.inf), _limit(limit.child("upper"), math.inf),
            _limit(limit.child("velocity"), math.inf, positive=True), _limit(limit.child("effort"), math.inf, positive=True),
        ),
        damping=dynamics.child("damping").content((0.0,))[0],
        friction=dynamics.child("friction").content((0.0,))[0],
        mimic=_mimic(axis.child("mimic"), prefix) if kind != "fixed" else None,
        pitch=pitch,
        stiffness=dynamics.child("spring_stiffness").content((0.0,))[0],
        springref=dynamics.child("spring_reference").content((0.0,))[0],
        line=node.line,
    )  # fmt: skip


def _axis(model: Model, axis: XmlNode, prefix: str, at: np.ndarray) -> Triple:
    """The direction in the joint's frame; before version 1.5 it is given in the frame of the model."""
    node = axis.child("xyz")
    direction = np.array(node.content((0.0, 0.0, 1.0)))
    frame = node.text("expressed_in")
    parent_model = axis.child("use_parent_model_frame").words in ("true", "1")
    if not frame and (model.version < 1.5 or parent_model):
        frame = MODEL
    if not frame:
        return triple(direction)
    own = prefix.removesuffix("::") or MODEL
    R = model.pose(own if frame == MODEL else prefix + frame)[:3, :3]
    if not np.isfinite(R).all():
        node.note("link", f"the axis is expressed in {frame!r}, which is unknown", "Correct the name.")
        return triple(direction)
    turned = at[:3, :3].T @ R @ direction
    return triple(np.where(np.abs(turned) < 1e-15, 0.0, turned))


def _limit(node: XmlNode, default: float, positive: bool = False) -> float:
    (value,) = node.content((default,), infinite=True)
    return default if abs(value) >= UNLIMITED or (positive and value < 0.0) else value


def _mimic(node: XmlNode, prefix: str) -> Mimic | None:
    """q = multiplier (q_leader - reference) + offset."""
    if not node:
        return None
    multiplier, offset, reference = (
        node.child(tag).content((default,))[0]
        for tag, default in (("multiplier", 1.0), ("offset", 0.0), ("reference", 0.0))
    )
    return Mimic(prefix + node.text("joint"), multiplier, offset - multiplier * reference)


# --- links --------------------------------------------------------------------------------------------------------------


def _body(name: str, link: XmlNode) -> Body:
    quiet = replace(link.child("inertial"), notes=ProblemLog(link.notes.file))
    if not quiet:
        link.note("default", "the link has no <inertial>; the format takes 1 kg and 1 kg m²", "Give mass and inertia.")
    if link.child("gravity").words in ("false", "0"):
        link.note("ignored", "gravity acts on the link here", "Leave <gravity> out.")
    pose = _matrix(quiet.child("pose"))
    mass = quiet.child("mass").content((1.0,))[0]
    entries = zip(("ixx", "ixy", "ixz", "iyy", "iyz", "izz"), (1.0, 0.0, 0.0, 1.0, 0.0, 1.0), strict=True)
    xx, xy, xz, yy, yz, zz = (quiet.child("inertia").child(tag).content((value,))[0] for tag, value in entries)
    inertia: Six = xx, xy, xz, yy, yz, zz
    if not np.array_equal(pose[:3, :3], np.eye(3)):
        inertia = rotated_inertia(pose[:3, :3], np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]))
    defect = "; ".join(problem.what for problem in quiet.notes.problems)
    if quiet.text("auto") in ("true", "1"):
        defect = "they are computed by the simulator (auto); robot.with_estimated_inertia does the same"
    body = Body(name, mass, triple(pose[:3, 3]), inertia)
    if defect:
        body = Body(name, mass_defect=defect)
    visuals = tuple(Visual(*shape, rgba=_colour(node)) for node, shape in _shapes(link, "visual"))
    collisions = tuple(Geometry(*shape) for _, shape in _shapes(link, "collision"))
    return replace(body, visuals=visuals, collisions=collisions, line=link.line)


SIZES = {
    "box": (("size", 3),),
    "cylinder": (("radius", 1), ("length", 1)),
    "sphere": (("radius", 1),),
    "capsule": (("radius", 1), ("length", 1)),
    "mesh": (("scale", 3),),
}


def _shapes(link: XmlNode, tag: str) -> Iterator[tuple[XmlNode, tuple]]:
    """Kind, size, pose and mesh of each shape that can be read, with its element."""
    for node in link.children(tag):
        quiet = replace(node, notes=ProblemLog(node.notes.file))
        shape = next((shape for shape in quiet.child("geometry").children() if shape.tag in SIZES), None)
        if shape is not None:
            sizes = (shape.child(name).content((1.0,) * count) for name, count in SIZES[shape.tag])
            found = shape.tag, tuple(x for size in sizes for x in size), _as_pose(_matrix(quiet.child("pose")))
            if not quiet.notes.problems:
                yield node, (*found, shape.child("uri").words)
                continue
        what = quiet.notes.problems[0].what if quiet.notes.problems else f"<{tag}> has no known shape"
        kind = "drawing" if tag == "visual" else "collision"
        node.note(kind, what, f"Shapes are {', '.join(SIZES)}; the shape is left out.")


def _colour(node: XmlNode) -> tuple[float, float, float, float] | None:
    diffuse = replace(node, notes=ProblemLog("")).child("material").child("diffuse")
    if not diffuse:
        return None
    r, g, b, a = diffuse.content((0.7, 0.7, 0.7, 1.0))
    return r, g, b, a
