"""The robot as the recursions see it: moving links in parents-first order, frames on the joint axes.

Bodies joined by fixed joints become one link. Each link gets a frame of its own, placed as in the modified
Denavit-Hartenberg notation of the papers: z along the joint's axis, origin on the axis, and the turn about z chosen so
that the way to the heaviest branch is one turn about x followed by the joint's own turn about z. A rotation then costs 8
products and 4 sums for every robot, not only for those that were described by DH tables (`docs/decisions/0001`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from appell.algebra import NO_MASS, Angle, Inertia, Mat3, Rotation, Scalar, Sym3, Turn, Vec3
from appell.model.joints import KINDS, JointKind

if TYPE_CHECKING:
    from appell.model.joint import Joint
    from appell.model.robot import Robot

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
    kind: JointKind
    q: int
    v: int
    multiplier: float
    shift: float
    leads: bool
    turn: Angle
    tilt: Angle
    offset: Angle
    s0: Vec3
    inertia: Inertia
    armature: Scalar

    def coordinates(self, q: Sequence[Scalar]) -> list[Scalar]:
        """The joint's own coordinates out of q."""
        own = q[self.q : self.q + self.kind.nq]
        return list(own) if self.leads else [x * self.multiplier + self.shift for x in own]

    def speeds(self, qd: Sequence[Scalar]) -> list[Scalar]:
        """The joint's own speeds (or accelerations) out of qd."""
        own = qd[self.v : self.v + self.kind.nv]
        return list(own) if self.leads else [x * self.multiplier for x in own]

    def placement(self, q: Sequence[Scalar]) -> Placement:
        """Where the link stands in its parent."""
        before = Rotation(Turn(2, self.turn.cos, self.turn.sin), Turn(0, self.tilt.cos, self.tilt.sin))
        R, p = self.kind.placement(self.coordinates(q), self.offset)
        return Placement(before * R, self.s0 + before @ p)


@dataclass(frozen=True)
class Frame:
    """A named frame of the description, fixed in a link (or in the base): x_link = p + R x_frame."""

    link: int
    R: Mat3
    p: Vec3


class Wrench(NamedTuple):
    """A force and its moment about the origin of the frame they are given in."""

    force: Vec3
    moment: Vec3

    def plus(self, other: Wrench) -> Wrench:
        return Wrench(self.force + other.force, self.moment + other.moment)

    def minus(self, other: Wrench) -> Wrench:
        return Wrench(self.force - other.force, self.moment - other.moment)

    def times(self, factor: Scalar) -> Wrench:
        return Wrench(self.force * factor, self.moment * factor)


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


def build_tree(robot: Robot) -> Tree:
    """Merge fixed bodies, place frames on the axes, and order links parents first."""
    return _Builder(robot).tree()


class _Builder:
    """Intermediate results of `build_tree`; all arrays are plain floats."""

    def __init__(self, robot: Robot) -> None:
        self.robot = robot
        self.carrier: dict[str, tuple[int, np.ndarray, np.ndarray]] = {}  # body: link it is part of, rotation, position
        self.order: list[Joint] = []  # moving joints, parents first
        self.parent: list[int] = []
        self.rest: list[tuple[np.ndarray, np.ndarray]] = []  # joint frame in the parent link's axis frame, at q = 0
        self._place_bodies()

    def _place_bodies(self) -> None:
        """Walk down from the root: every body gets its pose in the frame of the link that carries it."""
        below: dict[str, list[Joint]] = {body.name: [] for body in self.robot.bodies}
        children = {joint.child for joint in self.robot.joints}
        for joint in self.robot.joints:
            below[joint.parent].append(joint)
        (root,) = (body.name for body in self.robot.bodies if body.name not in children)
        self.carrier[root] = (BASE, np.eye(3), np.zeros(3))
        waiting = [root]
        while waiting:
            body = waiting.pop()
            link, R, p = self.carrier[body]
            for joint in below[body]:
                R_joint, p_joint = R @ joint.origin.rotation, p + R @ np.array(joint.origin.xyz)
                if KINDS[joint.kind].nv == 0:
                    self.carrier[joint.child] = (link, R_joint, p_joint)
                else:
                    axes = axes_along(joint.axis)
                    self.carrier[joint.child] = (len(self.order), axes.T, np.zeros(3))
                    self.order.append(joint)
                    self.parent.append(link)
                    self.rest.append((_cleaned(R_joint @ axes), p_joint))
            waiting.extend(joint.child for joint in reversed(below[body]))

    def tree(self) -> Tree:
        turns, tilts, offsets, own = self._angles()
        base = _about_z(-own[BASE])
        inertias = [NO_MASS] * len(self.order)
        frames = {}
        for body in self.robot.bodies:
            link, R, p = self.carrier[body.name]
            spin = _about_z(-own[link])
            R, p = _cleaned(spin @ R), spin @ p
            frames[body.name] = Frame(link, Mat3(*R.ravel().tolist()), Vec3(*p.tolist()))
            if link != BASE:
                inertias[link] = inertias[link] + _moved(body, R, p)
        return Tree(
            links=tuple(
                self._link(i, joint, turns[i], tilts[i], offsets[i], _about_z(-own[self.parent[i]]), inertias[i])
                for i, joint in enumerate(self.order)
            ),
            frames=frames,
            gravity=Vec3(*(base @ np.array(self.robot.gravity_vector)).tolist()),
            nq=self.robot.nq,
            nv=self.robot.nv,
            base=Mat3(*base.T.ravel().tolist()),
        )

    def _link(self, i, joint: Joint, turn: Angle, tilt: Angle, offset: Angle, spin, inertia: Inertia) -> Link:
        leader, multiplier, shift = joint, 1.0, 0.0
        while self.robot.coupled and leader.mimic is not None:
            multiplier, shift = multiplier * leader.mimic.multiplier, multiplier * leader.mimic.offset + shift
            leader = self.robot.joint(leader.mimic.joint)
        nq, nv = self._first_coordinate(leader.name)
        return Link(
            name=joint.name, body=joint.child, parent=self.parent[i], kind=KINDS[joint.kind], q=nq, v=nv,
            multiplier=multiplier, shift=shift, leads=leader is joint, turn=turn, tilt=tilt, offset=offset,
            s0=Vec3(*(spin @ self.rest[i][1]).tolist()), inertia=inertia, armature=joint.armature,
        )  # fmt: skip

    def _first_coordinate(self, name: str) -> tuple[int, int]:
        nq = nv = 0
        for joint in self.robot.moving_joints:
            if joint.name == name:
                break
            nq, nv = nq + KINDS[joint.kind].nq, nv + KINDS[joint.kind].nv
        return nq, nv

    def _angles(self) -> tuple[list[Angle], list[Angle], list[Angle], dict[int, float]]:
        """Turn, tilt and offset of every link, and the turn of each frame about its own z that makes them so."""
        size = [1] * len(self.order)
        for i in reversed(range(len(self.order))):
            if self.parent[i] != BASE:
                size[self.parent[i]] += size[i]
        zxz = [_zxz(R, p) for R, p in self.rest]
        own: dict[int, float] = {BASE: 0.0}
        for i in range(BASE, len(self.order)):
            below = [k for k in range(len(self.order)) if self.parent[k] == i]
            own[i] = zxz[max(below, key=lambda k: size[k])][0] if below else 0.0
        turns = [Angle.of(_wrapped(zxz[i][0] - own[self.parent[i]])) for i in range(len(self.order))]
        tilts = [Angle.of(b) for _, b, _ in zxz]
        offsets = [Angle.of(_wrapped(zxz[i][2] + own[i])) for i in range(len(self.order))]
        return turns, tilts, offsets, own


def axes_along(axis: Sequence[float]) -> np.ndarray:
    """A rotation whose third column is this unit vector; a signed permutation when the axis is a coordinate axis."""
    z = np.array(axis, dtype=float)
    z = z / np.linalg.norm(z)
    x = np.roll(np.eye(3)[int(np.argmax(np.abs(z)))], 1)  # the next coordinate axis, never parallel to z
    x = x - z * (x @ z)
    x = x / np.linalg.norm(x)
    return np.column_stack([x, np.cross(z, x), z])


def _zxz(R: np.ndarray, p: np.ndarray) -> tuple[float, float, float]:
    """Angles (a, b, c) with R = Rz(a) Rx(b) Rz(c). For parallel axes a points along the common normal p."""
    sine = float(np.hypot(R[0, 2], R[1, 2]))
    b = float(np.arctan2(sine, R[2, 2]))
    if sine > 0.0:
        a = float(np.arctan2(R[0, 2], -R[1, 2]))
        x, y, _ = _about_z(a)[:, 0] @ R  # first row of Rx(b) Rz(c): for small b the errors of a and c cancel
        return a, b, float(np.arctan2(-y, x))
    a = float(np.arctan2(p[1], p[0])) if p[0] or p[1] else 0.0
    total = float(np.arctan2(R[1, 0], R[0, 0]))  # a + c for b = 0, a - c for b = pi
    return a, b, (total - a if R[2, 2] > 0 else a - total)


def _about_z(angle: float) -> np.ndarray:
    _, c, s = Angle.of(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def _wrapped(angle: float) -> float:
    return float(np.arctan2(np.sin(angle), np.cos(angle)))


def _cleaned(R: np.ndarray) -> np.ndarray:
    """Direction cosines that are zero or one up to rounding become exactly so."""
    R = np.where(np.abs(R) < 1e-15, 0.0, R)
    return np.where(np.abs(np.abs(R) - 1.0) < 1e-15, np.sign(R), R)


def _moved(body, R: np.ndarray, p: np.ndarray) -> Inertia:
    """A body's mass properties in the frame of its link."""
    Ixx, Ixy, Ixz, Iyy, Iyz, Izz = body.inertia
    I_link = R @ np.array([[Ixx, Ixy, Ixz], [Ixy, Iyy, Iyz], [Ixz, Iyz, Izz]]) @ R.T
    com = p + R @ np.array(body.com)
    entries = (I_link[0, 0], I_link[0, 1], I_link[0, 2], I_link[1, 1], I_link[1, 2], I_link[2, 2])
    return Inertia.at_center(body.mass, Vec3(*com.tolist()), Sym3(*(float(x) for x in entries)))
