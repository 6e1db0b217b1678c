"""The input of the recursions: moving links, parents first, with frames on their joint axes.

`appell.model.tree_builder` makes a tree of a description.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from appell.algebra import Angle, AxisRotation, Inertia, Mat3, Rotation, Scalar, Scalars, Vec3, Wrench
from appell.errors import ArgumentError, ModelError
from appell.model.joints import JointModel

if TYPE_CHECKING:
    from appell.model.check.problem import Problem

BASE = -1
"""Parent index of links whose joint is fixed to the base."""


class Placement(NamedTuple):
    """Rotation link to parent, ^{i-1}R_i, and the origin's position in the parent's frame, s_{i-1,i}."""

    R: Rotation
    s: Vec3


@dataclass(frozen=True)
class Link:
    """One moving link and its joint.

    At q = 0 its frame has the position `origin` and the rotation `Rz(azimuth) Rx(tilt) Rz(offset)` in its parent's frame.

    Attributes:
        name, body: of its joint, and of the joint's child body.
        parent: index of the parent link, or BASE.
        kind: its joint model.
        idx_q, idx_v: index of the joint's first entry in q and in qd.
        multiplier, mimic_offset: the joint's coordinate is multiplier q + mimic_offset (1 and 0 unless it is a mimic joint).
        is_independent: whether the coordinate is the joint's own (False for a mimic joint).
        inertia: mass properties of all its bodies, in its frame.
        armature: reflected rotor inertia.
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

    def coordinates(self, q: Scalars) -> list[Scalar]:
        """The joint's coordinates out of q."""
        own = q[self.idx_q : self.idx_q + self.kind.nq]
        return list(own) if self.is_independent else [x * self.multiplier + self.mimic_offset for x in own]

    def velocities(self, qd: Scalars) -> list[Scalar]:
        """The joint's velocities (or accelerations) out of qd (or qdd)."""
        own = qd[self.idx_v : self.idx_v + self.kind.nv]
        return list(own) if self.is_independent else [x * self.multiplier for x in own]

    @property
    def before_joint(self) -> Rotation:
        """The constant rotation before the joint, Rz(azimuth) Rx(tilt)."""
        return Rotation(AxisRotation.by(2, self.azimuth), AxisRotation.by(0, self.tilt))

    def placement(self, q: Scalars) -> Placement:
        """Rotation and origin of the link in its parent."""
        before = self.before_joint
        R, p = self.kind.placement(self.coordinates(q), self.offset)
        return Placement(before * R, self.origin + before @ p)


@dataclass(frozen=True)
class Frame:
    """A named frame of the description, fixed in a link or in the base: x_link = p + R x_frame."""

    link: int
    R: Mat3
    p: Vec3


@dataclass(frozen=True)
class Tree:
    """All links, parents first, frames, gravity, and external wrenches."""

    links: tuple[Link, ...]
    frames: dict[str, Frame]
    gravity: Vec3
    nq: int
    nv: int
    base: Mat3
    """Rotation of the base frame of the recursions in the world frame."""
    external: Mapping[int, Wrench] = field(default_factory=dict)
    """External wrenches on links, each at the link's origin in the link's frame."""
    mass_defects: Mapping[str, Problem] = field(default_factory=dict)
    """Links without inertia, or with a negative mass, which leave the mass matrix singular or indefinite."""

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        below: list[list[int]] = [[] for _ in self.links]
        for i, link in enumerate(self.links):
            if link.parent != BASE:
                below[link.parent].append(i)
        return tuple(map(tuple, below))

    @cached_property
    def quaternions(self) -> tuple[tuple[str, int], ...]:
        """Names of the joints with a unit quaternion, each with the index of its first entry in q."""
        return tuple(
            (link.name, link.idx_q + link.kind.quaternion) for link in self.links if link.kind.quaternion is not None
        )

    @cached_property
    def angles(self) -> tuple[int, ...]:
        """Indices of the coordinates that are angles."""
        return tuple(sorted({link.idx_q + k for link in self.links for k in link.kind.angles}))

    @cached_property
    def parameter_bodies(self) -> tuple[tuple[str, int], ...]:
        """Bodies in the order of the inertial parameters, each with the axis of its frame that is nearest to its joint's axis."""
        frames = (self.frames[link.body].R for link in self.links)  # the joint's axis is z of the link's frame
        axes = (max(range(3), key=[abs(float(x)) for x in (R.zx, R.zy, R.zz)].__getitem__) for R in frames)
        return tuple((link.body, axis) for link, axis in zip(self.links, axes, strict=True))

    def placements(self, q: Scalars) -> list[Placement]:
        """Every link in its parent."""
        return [link.placement(q) for link in self.links]

    def require_mass(self, function: str) -> None:
        """Raise if the mass matrix is not positive definite at any configuration."""
        if self.mass_defects:
            names = [repr(name) for name in self.mass_defects]
            listed = ", ".join(names[:12]) + (f", ... ({len(names)} in all)" if len(names) > 12 else "")
            raise ModelError(
                f"{function} needs mass, which is missing or negative: {listed}. Give it with robot.with_inertia({{...}}), "
                "estimate it from the shapes with robot.with_estimated_inertia(density=...), or write a repaired file with "
                "`appell check FILE --fix OUT.urdf`. Poses, Jacobians and inverse kinematics need no mass.",
                problems=tuple(self.mass_defects.values()),
            )

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
