"""Coordinate rates q̇ = N(q) qd over any scalars.

Most joints have q̇ = qd. Floating, planar and spherical joints have quasi-velocities along the axes of the moving body: their
joint models define `rate`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from appell.algebra import Scalar, Scalars, sqrt
from appell.model.joints import KINDS
from appell.model.tree import Tree


class QuasiVelocityJoint(NamedTuple):
    """A joint with q̇ = N(q) v, N not the identity.

    Attributes:
        kind: name in `appell.model.joints.KINDS`.
        idx_q, idx_v: index of its first entry in q and in qd.
    """

    name: str
    kind: str
    idx_q: int
    idx_v: int


def quasi_velocity_joints(tree: Tree) -> tuple[QuasiVelocityJoint, ...]:
    """The quasi-velocity joints of a robot, in the order of q."""
    joints = (
        QuasiVelocityJoint(link.name, link.kind.name, link.idx_q, link.idx_v)
        for link in tree.links
        if link.kind.has_quasi_velocities
    )
    return tuple(sorted(joints, key=lambda joint: joint.idx_q))


def quaternions(joints: Sequence[QuasiVelocityJoint]) -> tuple[tuple[str, int], ...]:
    """Names of the joints with a unit quaternion, each with the index of its first entry in q."""
    offsets = ((joint, KINDS[joint.kind].quaternion) for joint in joints)
    return tuple((joint.name, joint.idx_q + offset) for joint, offset in offsets if offset is not None)


def coordinate_rates(joints: Sequence[QuasiVelocityJoint], q: Scalars, qd: Scalars) -> list[Scalar]:
    """q̇ = N(q) qd; nq scalars from nq and nv scalars."""
    rates: list[Scalar] = []
    done = 0
    for _, name, i, k in joints:
        kind = KINDS[name]
        rates += qd[done:k]
        rates += kind.rate(q[i : i + kind.nq], qd[k : k + kind.nv])
        done = k + kind.nv
    return [*rates, *qd[done:]]


def tangent_map(joints: Sequence[QuasiVelocityJoint], q: np.ndarray, nv: int) -> np.ndarray:
    """N(q) of configurations (N, nq), (N, nq, nv)."""
    N = np.empty((*q.shape, nv), q.dtype)
    for k, unit in enumerate(np.eye(nv)):
        for i, rate in enumerate(coordinate_rates(joints, [*q.T], [*unit])):
            N[:, i, k] = rate
    return N


def normalize_quaternions(joints: Sequence[QuasiVelocityJoint], q: Scalars) -> list[Scalar]:
    """The configuration with quaternions of unit length; steps along q̇ change their length."""
    q = list(q)
    for _, first in quaternions(joints):
        x, y, z, w = q[first : first + 4]
        length = sqrt(x * x + y * y + z * z + w * w)
        q[first : first + 4] = x / length, y / length, z / length, w / length
    return q
