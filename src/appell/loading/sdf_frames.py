"""Frames of SDF: poses relative to other frames, names within nested models."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np

from appell.loading.xml import XmlNode
from appell.model.pose import Pose, triple

WORLD, MODEL = "world", "__model__"


@dataclass(frozen=True)
class FrameSpec:
    """Pose of a frame relative to another, and the frame to which it is attached (empty for a link)."""

    relative_to: str
    pose: np.ndarray
    attached_to: str = ""
    where: XmlNode | None = None


@dataclass(frozen=True)
class SdfModel:
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


def collect(model: SdfModel, node: XmlNode, prefix: str) -> None:
    """Add the frames, links and joints of a model element to the model."""
    own = prefix.removesuffix("::") or MODEL

    def scoped(name: str, default: str = "") -> str:
        return {"": default, MODEL: own, WORLD: WORLD}.get(name, prefix + name)

    def add(name: str, element: XmlNode, relative_to: str, attached_to: str = "") -> None:
        pose = element.child("pose")
        base = scoped(pose.text("relative_to"), relative_to)
        model.frames[name] = FrameSpec(base, matrix(pose), attached_to, element)

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
        collect(model, inner, name + "::")
        inside = next((link.text("name") for link in inner.children("link")), "")
        canonical = inner.text("canonical_link") or inside
        model.frames[name] = replace(model.frames[name], attached_to=f"{name}::{canonical}")
    if own == MODEL:
        model.frames[MODEL] = FrameSpec("", np.eye(4), node.text("canonical_link") or first)
    for element in node.children("include"):
        uri = element.child("uri").words
        element.note("missing", f"the included model {uri!r} is not read", "Give a file that contains all models.")


def matrix(node: XmlNode) -> np.ndarray:
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


def as_pose(T: np.ndarray) -> Pose:
    """Position and angles of a pose (4, 4); the identity if it is not finite."""
    return Pose.from_matrix(T[:3, 3], T[:3, :3]) if np.isfinite(T).all() else Pose()
