"""From a description to a tree: merging of fixed bodies and placement of the link frames.

Bodies connected by fixed joints become one link. Each link has a frame of its own, placed as in the modified
Denavit-Hartenberg notation of the papers: z along the joint's axis, origin on the axis, and the rotation about z chosen so
that the transformation to the largest branch is one rotation about x followed by the joint's rotation about z. A rotation
then costs 8 products and 4 sums for every robot, not only for those described by DH tables (`docs/decisions/0001`). Joints
with quasi-velocities along the axes of their child, such as a floating base, keep the frame of that body.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from appell.algebra import NO_MASS, Angle, Inertia, Mat3, Sym3, Vec3
from appell.model.body import Body, inertia_entries, inertia_tensors
from appell.model.joint import Joint
from appell.model.joints import KINDS, JointModel
from appell.model.tree import BASE, Frame, Link, Tree

if TYPE_CHECKING:
    from appell.model.description import Description


def build_tree(robot: Description) -> Tree:
    """Merge fixed bodies, place frames on the axes, and order links parents first."""
    return _Builder(robot).tree()


def root_body(robot: Description) -> str:
    """The body that is the child of no joint."""
    children = {joint.child for joint in robot.joints}
    (root,) = (body.name for body in robot.bodies if body.name not in children)
    return root


def leader_of(robot: Description, joint: Joint) -> tuple[Joint, float, float]:
    """The joint whose coordinate a joint follows, with multiplier and offset; itself unless it is a coupled mimic joint."""
    multiplier, offset = 1.0, 0.0
    while robot.coupled and joint.mimic is not None:
        multiplier, offset = multiplier * joint.mimic.multiplier, multiplier * joint.mimic.offset + offset
        joint = robot.joint(joint.mimic.joint)
    return joint, multiplier, offset


def joints_outward(robot: Description) -> Iterator[Joint]:
    """All joints, parents first."""
    below: dict[str, list[Joint]] = {body.name: [] for body in robot.bodies}
    for joint in robot.joints:
        below[joint.parent].append(joint)
    waiting = [root_body(robot)]
    while waiting:
        own = below[waiting.pop()]
        yield from own
        waiting += [joint.child for joint in reversed(own)]


NEARLY_PARALLEL = 0.01
"""Squared sine of the angle between two axes whose common normal is far away."""


class LinkSpec(NamedTuple):
    """One link before its frame is placed: a joint, or one part of it, with the index of its first coordinate in the joint."""

    joint: Joint
    kind: JointModel
    parent: int
    first: int
    R: np.ndarray
    p: np.ndarray
    """Axis frame at q = 0 in the axis frame of the parent link."""


class _Builder:
    """Intermediate results of `build_tree`; all arrays are plain floats."""

    def __init__(self, robot: Description) -> None:
        self.robot = robot
        self.carrier: dict[str, tuple[int, np.ndarray, np.ndarray]] = {}  # body: its link, rotation, position
        self.parts: list[LinkSpec] = []  # parents first
        self._place_bodies()

    def _place_bodies(self) -> None:
        """Pose of every body in the frame of its link, from the root to the tips."""
        self.carrier[root_body(self.robot)] = (BASE, np.eye(3), np.zeros(3))
        for joint in joints_outward(self.robot):
            self.carrier[joint.child] = self._place_joint(joint, *self.carrier[joint.parent])

    def _place_joint(self, joint: Joint, link: int, R: np.ndarray, p: np.ndarray):
        """The link of the joint's child, and the child's pose in it."""
        R, p = R @ joint.origin.rotation, p + R @ np.array(joint.origin.xyz)
        first = 0
        for kind, axis in KINDS[joint.kind].parts(joint):
            axes = axes_along(axis) if kind.axial else np.eye(3)
            self.parts.append(LinkSpec(joint, kind, link, first, _cleaned(R @ axes), p))
            link, R, p, first = len(self.parts) - 1, axes.T, np.zeros(3), first + kind.nv
        return link, R, p

    def tree(self) -> Tree:
        zxz = [_zxz(part.R, part.p) for part in self.parts]
        largest = self._largest_branches()
        own = self._azimuths(zxz, largest)
        spins = {i: about_z(-angle) for i, angle in own.items()}
        base = spins[BASE]
        origins, moved = self._origins(spins, largest)
        inertias = [NO_MASS] * len(self.parts)
        frames = {}
        for body in self.robot.bodies:
            link, R, p = self.carrier[body.name]
            R, p = _cleaned(spins[link] @ R), spins[link] @ p - moved[link]
            frames[body.name] = Frame(link, Mat3(*R.ravel().tolist()), Vec3(*p.tolist()))
            if link != BASE:
                inertias[link] = inertias[link] + _transformed(body, R, p)
        return Tree(
            links=tuple(self._link(i, zxz[i], own, origins[i], inertias[i]) for i in range(len(self.parts))),
            frames=frames,
            gravity=Vec3(*(base @ np.array(self.robot.gravity_vector)).tolist()),
            nq=self.robot.nq,
            nv=self.robot.nv,
            base=Mat3(*base.T.ravel().tolist()),
        )

    def _largest_branches(self) -> dict[int, int]:
        """The link after each link that has the most links behind it."""
        size = [1] * len(self.parts)
        largest: dict[int, int] = {}
        for i in reversed(range(len(self.parts))):
            parent = self.parts[i].parent
            if parent != BASE:
                size[parent] += size[i]
            if parent not in largest or size[i] >= size[largest[parent]]:
                largest[parent] = i
        return largest

    def _azimuths(self, zxz: list[tuple[float, float, float]], largest: dict[int, int]) -> dict[int, float]:
        """The rotation of each frame about its z that leaves one rotation about x to its largest branch."""
        free = [BASE, *(i for i, part in enumerate(self.parts) if part.kind.symmetric)]
        return dict.fromkeys(range(BASE, len(self.parts)), 0.0) | {i: zxz[largest[i]][0] for i in free if i in largest}

    def _origins(
        self, spins: dict[int, np.ndarray], largest: dict[int, int]
    ) -> tuple[list[np.ndarray], dict[int, np.ndarray]]:
        """Origins in the frames of the parents, and how far each was moved along its axis.

        It goes to the common normal with the next axis where coordinates vanish by that. Moves that change nothing by themselves
        are made if in the end they help (parallel axes one after the other).
        """
        origins = [spins[part.parent] @ part.p for part in self.parts]
        axes = [spins[part.parent] @ part.R[:, 2] for part in self.parts]
        tried = [self._moved_origins(list(origins), axes, largest, even) for even in (0, 1)]
        return min(tried, key=lambda result: sum(map(coordinate_cost, result[0])))

    def _moved_origins(
        self, origins: list[np.ndarray], axes: list[np.ndarray], largest: dict[int, int], even: int
    ) -> tuple[list[np.ndarray], dict[int, np.ndarray]]:
        """Those of `_origins`, moved from the tips to the root; `even` is 1 if moves are made that change nothing."""
        links = range(BASE, len(self.parts))
        moved, below = dict.fromkeys(links, np.zeros(3)), {i: [] for i in links}
        for i in reversed(range(len(self.parts))):
            part, after = self.parts[i], below[i]
            below[part.parent].append(i)
            if not part.kind.symmetric or not after:
                continue
            step = np.array([0.0, 0.0, nearest_on_z(origins[largest[i]], axes[largest[i]])])
            tried = {i: origins[i] + axes[i] * step[2], **{k: origins[k] - step for k in after}}
            tried = {k: np.where(np.abs(p) < 1e-16, 0.0, p) for k, p in tried.items()}
            if sum(map(coordinate_cost, tried.values())) < sum(coordinate_cost(origins[k]) for k in tried) + even:
                moved[i] = step
                for k, origin in tried.items():
                    origins[k] = origin
        return origins, moved

    def _link(
        self, i: int, zxz: tuple[float, float, float], own: dict[int, float], origin: np.ndarray, inertia: Inertia
    ) -> Link:
        joint, kind, parent, first, _, _ = self.parts[i]
        leader, multiplier, offset = leader_of(self.robot, joint)
        q, v = self.robot.first_coordinates[leader.name]
        return Link(
            name=joint.name,
            body=joint.child,
            parent=parent,
            kind=kind,
            idx_q=q + first,
            idx_v=v + first,
            multiplier=multiplier,
            mimic_offset=offset,
            is_independent=leader is joint,
            azimuth=Angle.of(_wrapped(zxz[0] - own[parent])),
            tilt=Angle.of(zxz[1]),
            offset=Angle.of(_wrapped(zxz[2] + own[i])),
            origin=Vec3(*origin.tolist()),
            inertia=inertia,
            armature=joint.armature,
        )


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
        x, y, _ = about_z(a)[:, 0] @ R  # first row of Rx(b) Rz(c): for small b the errors of a and c cancel
        return a, b, float(np.arctan2(-y, x))
    a = float(np.arctan2(p[1], p[0])) if p[0] or p[1] else 0.0
    total = float(np.arctan2(R[1, 0], R[0, 0]))  # a + c for b = 0, a - c for b = pi
    return a, b, (total - a if R[2, 2] > 0 else a - total)


def coordinate_cost(origin: np.ndarray) -> int:
    """Coordinates that operations are needed for; the first one of an origin costs most."""
    count = int(np.count_nonzero(origin))
    return count + (count > 0)


def nearest_on_z(point: np.ndarray, direction: np.ndarray) -> float:
    """Where the z axis is nearest to a line; at the height of the point if they are parallel or nearly so."""
    x, y, z = direction
    across = float(x * x + y * y)
    return float(point[2] - z * (x * point[0] + y * point[1]) / across) if across > NEARLY_PARALLEL else float(point[2])


def about_z(angle: float) -> np.ndarray:
    """Rotation matrix (3, 3)."""
    _, c, s = Angle.of(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def _wrapped(angle: float) -> float:
    return float(np.arctan2(np.sin(angle), np.cos(angle)))


def _cleaned(R: np.ndarray) -> np.ndarray:
    """Direction cosines of 0 and ±1 up to rounding become exact."""
    R = np.where(np.abs(R) < 1e-15, 0.0, R)
    return np.where(np.abs(np.abs(R) - 1.0) < 1e-15, np.sign(R), R)


def _transformed(body: Body, R: np.ndarray, p: np.ndarray) -> Inertia:
    """A body's mass properties in the frame of its link."""
    com = p + R @ np.array(body.com)
    tensor = R @ inertia_tensors([body])[0] @ R.T
    return Inertia.at_center(body.mass, Vec3(*com.tolist()), Sym3(*inertia_entries(tensor)))
