"""SDF: models of Gazebo, versions 1.4 and later.

Read are links, joints, frames and nested models of the first model, with poses relative to any frame. Bodies have the frames of
the links; a joint whose frame is not that of its child has a frame of its own, a body without mass with the joint's name. A
model that is not fixed to the world is fixed at its root link here, or floats with `base="floating"`.

Defaults are those of the format: a link without `inertial` has 1 kg and 1 kg m². Universal joints become two revolute ones.
Included files and elements that change the motion but are not part of the model give a warning or an error.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from appell.loading.sdf_frames import MODEL, WORLD, SdfModel, as_pose, collect, matrix
from appell.loading.sdf_links import read_link
from appell.loading.source import ParsedRobot, Source
from appell.loading.xml import ProblemLog, XmlNode, parse
from appell.model.body import Body
from appell.model.joint import Joint, Limits, Mimic
from appell.model.pose import Pose, Triple, triple
from appell.names import unused_name
from appell.robot.robot import Robot

KINDS = {
    "revolute": "revolute", "continuous": "continuous", "prismatic": "prismatic", "fixed": "fixed", "ball": "spherical",
    "screw": "helical", "universal": "revolute", "revolute2": "revolute",
}  # fmt: skip
"""Joint types of the format and their names here; the last two have a second axis."""
UNLIMITED = 1e16
"""Limits of this size mean that there are none."""


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
    model = SdfModel(version)
    collect(model, model_node, "")
    gravity = world.child("gravity").content((0.0, 0.0, -9.81))
    bodies, joints, virtual = _tree(model, model_node)
    for frame in model.frames.values():
        if frame.where and not np.isfinite(model.pose(frame.relative_to)).all():
            what = f"its pose is relative to {frame.relative_to!r}, which is unknown or relative to itself"
            frame.where.note("link", what, "Correct the name.")
    name = model_node.text("name") or "robot"
    robot = Robot(name, tuple(bodies), tuple(joints), triple(gravity), source=source.label)
    return ParsedRobot(robot, tuple(notes.problems), frozenset(virtual))


# --- tree ---------------------------------------------------------------------------------------------------------------


def _tree(model: SdfModel, node: XmlNode) -> tuple[list[Body], list[Joint], set[str]]:
    """Bodies, joints and the names of bodies without mass that were added."""
    bodies = [read_link(name, link) for name, link in model.links.items()]
    taken = [*model.links, WORLD]
    joints: list[Joint] = []
    virtual: set[str] = set()

    def frame_body(wanted: str) -> str:
        name = unused_name(wanted, taken)
        taken.append(name)
        virtual.add(name)
        bodies.append(Body(name))
        return name

    placed = matrix(node.child("pose")) if node else np.eye(4)
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
            Joint(unused_name("model_joint", list(model.joints)), "fixed", root, roots[0], as_pose(poses[roots[0]]))
        )
    for name, frame in model.frames.items():
        if frame.where is not None and frame.where.tag == "frame":
            link = model.link_of(name)
            if link in poses:
                relative = np.linalg.inv(poses[link]) @ model.pose(name)
                joints.append(Joint(f"{name}_fixed", "fixed", link, frame_body(name), as_pose(relative)))
    return bodies, joints, virtual


def _end(model: SdfModel, joint: XmlNode, prefix: str, end: str) -> str:
    """The link that a joint's parent or child element names, directly or by a frame attached to it."""
    name = joint.child(end).words
    return WORLD if name == WORLD else model.link_of(prefix + name if name else "")


def _joints(
    model: SdfModel, name: str, node: XmlNode, prefix: str, ends: Sequence[str], poses, frame_body
) -> list[Joint]:
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
        joints.append(_joint(model, own, kind, node, axis, prefix, before, carried, as_pose(origin), at))
        before, origin = carried, np.eye(4)
    if before != child:
        joints.append(Joint(f"{name}_fixed", "fixed", before, child, as_pose(np.linalg.inv(at) @ end), line=node.line))
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


def _axis(model: SdfModel, axis: XmlNode, prefix: str, at: np.ndarray) -> Triple:
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
