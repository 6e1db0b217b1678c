"""The robot as the recursions see it: moving links in parents-first order, with frames on their joint axes.

How a description becomes a tree is in `appell.model.tree_builder`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from appell.algebra import Angle, AxisRotation, Inertia, Mat3, Rotation, Scalar, Vec3, Wrench
from appell.errors import ArgumentError
from appell.model.joints import JointModel

BASE = -1
"""Parent index of links that hang on the base."""


class Placement(NamedTuple):
    """Rotation link to parent, ^{i-1}R_i, and the origin's position in the parent's frame, s_{i-1,i}."""

    R: Rotation
    s: Vec3


@dataclass(frozen=True)
class Link:
    """One moving link and the joint that carries it.

    At q = 0 its frame stands in its parent's at position `s0` with rotation `Rz(turn) Rx(tilt) Rz(offset)`.

    Attributes:
        name, body: of its joint, and of the body that the joint carries.
        parent: index of the link it hangs on, BASE for the base.
        kind: what its joint does.
        q, v: first coordinate and first speed of its joint.
        multiplier, shift: the joint's coordinate is multiplier q + shift (1 and 0 unless it mimics another joint).
        leads: whether the coordinate is the joint's own (False for a joint that mimics another).
        inertia: mass properties of all its bodies, in its frame.
        armature: rotor inertia felt at the joint.
    """

    name: str
    body: str
    parent: int
    kind: JointModel
    idx_q: int
    idx_v: int
    multiplier: float
    mimic_offset: float
    is_independent: bool
    azimuth: Angle
    tilt: Angle
    offset: Angle
    origin: Vec3
    inertia: Inertia
    armature: Scalar

    def coordinates(self, q: Sequence[Scalar]) -> list[Scalar]:
        """The joint's own coordinates out of q."""
        own = q[self.idx_q : self.idx_q + self.kind.nq]
        return list(own) if self.is_independent else [x * self.multiplier + self.mimic_offset for x in own]

    def velocities(self, qd: Sequence[Scalar]) -> list[Scalar]:
        """The joint's own speeds (or accelerations) out of qd."""
        own = qd[self.idx_v : self.idx_v + self.kind.nv]
        return list(own) if self.is_independent else [x * self.multiplier for x in own]

    def placement(self, q: Sequence[Scalar]) -> Placement:
        """Where the link stands in its parent."""
        before = Rotation(
            AxisRotation(2, self.azimuth.cos, self.azimuth.sin), AxisRotation(0, self.tilt.cos, self.tilt.sin)
        )
        R, p = self.kind.placement(self.coordinates(q), self.offset)
        return Placement(before * R, self.origin + before @ p)


@dataclass(frozen=True)
class Frame:
    """A named frame of the description, fixed in a link (or in the base): x_link = p + R x_frame."""

    link: int
    R: Mat3
    p: Vec3


@dataclass(frozen=True)
class Tree:
    """All links, parents first, with everything that the recursions need and nothing else."""

    links: tuple[Link, ...]
    frames: dict[str, Frame]
    gravity: Vec3
    nq: int
    nv: int
    base: Mat3
    """Rotation of the base frame of the recursions in the world frame."""
    external: Mapping[int, Wrench] = field(default_factory=dict)
    """Forces from outside on links, each at the link's origin in the link's frame."""

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        below: list[list[int]] = [[] for _ in self.links]
        for i, link in enumerate(self.links):
            if link.parent != BASE:
                below[link.parent].append(i)
        return tuple(tuple(each) for each in below)

    @cached_property
    def quaternions(self) -> tuple[tuple[str, int], ...]:
        """The joints that have a unit quaternion among their coordinates, each with the place in q where it begins."""
        return tuple(
            (link.name, link.idx_q + link.kind.quaternion) for link in self.links if link.kind.quaternion is not None
        )

    @cached_property
    def parameter_bodies(self) -> tuple[tuple[str, int], ...]:
        """Bodies in the order of the inertial parameters, each with the axis of its frame that is nearest to its joint's axis."""
        frames = (self.frames[link.body].R for link in self.links)  # the joint's axis is z of the link's frame
        axes = (max(range(3), key=[abs(float(x)) for x in (R.zx, R.zy, R.zz)].__getitem__) for R in frames)
        return tuple((link.body, axis) for link, axis in zip(self.links, axes, strict=True))

    def placements(self, q: Sequence[Scalar]) -> list[Placement]:
        """Every link in its parent."""
        return [link.placement(q) for link in self.links]

    def ancestors(self, i: int) -> list[int]:
        """i, its parent, and so on to the base."""
        path = []
        while i != BASE:
            path.append(i)
            i = self.links[i].parent
        return path


def require_tree(name: str, robot: Any, remedy: str = "") -> Tree:
    """The kinematic tree of a robot; an error for robots with closed loops."""
    tree = getattr(getattr(robot, "system", None), "recursion", None)
    if tree is None:
        raise ArgumentError(f"{name} is a {type(robot).__name__}, expected an appell.Robot, a kinematic tree.{remedy}")
    return tree
