"""Rates of coordinates from speeds, q̇ = N(q) qd, over any scalars.

Most joints have q̇ = qd. Those whose speeds are quasi-velocities, taken along the moving body's own axes (floating, planar,
spherical), say so by a `rate` of their kind; here they are called free.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from appell.algebra import Scalar, sqrt
from appell.model.joints import KINDS

if TYPE_CHECKING:
    from appell.model.tree import Tree


class QuasiVelocityJoint(NamedTuple):
    """A joint whose coordinates do not change at its speeds.

    Attributes:
        name: of the joint.
        kind: name in `appell.model.joints.KINDS`.
        q, v: its first coordinate and first speed.
    """

    name: str
    kind: str
    idx_q: int
    idx_v: int


def quasi_velocity_joints(tree: Tree) -> tuple[QuasiVelocityJoint, ...]:
    """The free joints of a robot, in the order of the coordinates."""
    found = (
        QuasiVelocityJoint(link.name, link.kind.name, link.idx_q, link.idx_v)
        for link in tree.links
        if link.kind.has_quasi_velocities
    )
    return tuple(sorted(found, key=lambda joint: joint.idx_q))


def quaternions(free: Sequence[QuasiVelocityJoint]) -> tuple[tuple[str, int], ...]:
    """The joints that have a unit quaternion among their coordinates, each with the place in q where it begins."""
    begins = ((joint, KINDS[joint.kind].quaternion) for joint in free)
    return tuple((joint.name, joint.idx_q + begin) for joint, begin in begins if begin is not None)


def coordinate_rates(free: Sequence[QuasiVelocityJoint], q: Sequence[Scalar], qd: Sequence[Scalar]) -> list[Scalar]:
    """q̇ = N(q) qd; nq scalars from nq and nv scalars."""
    rates: list[Scalar] = []
    done = 0
    for _, name, i, k in free:
        kind = KINDS[name]
        rates += qd[done:k]
        rates += kind.rate(q[i : i + kind.nq], qd[k : k + kind.nv])
        done = k + kind.nv
    return [*rates, *qd[done:]]


def normalize_quaternions(free: Sequence[QuasiVelocityJoint], q: Sequence[Scalar]) -> list[Scalar]:
    """The same configuration with quaternions of unit length, from which steps along q̇ drift away."""
    q = list(q)
    for _, begin in quaternions(free):
        x, y, z, w = q[begin : begin + 4]
        length = sqrt(x * x + y * y + z * z + w * w)
        q[begin : begin + 4] = x / length, y / length, z / length, w / length
    return q
