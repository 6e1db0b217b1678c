"""Is there inertia against every motion? The pivots of the inertia matrix M(q) at a general configuration.

The articulated-body recursion factors M = L^T D L in one pass from the tips to the base: M is positive definite exactly
where every pivot D_j = s_j^T A_j s_j, with A_j the articulated inertia of what hangs on joint j, is positive (the rotor's
inertia counts). A pivot of zero names the joint whose motion meets no inertia. Spatial vectors are angular part first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from appell.algebra.angle import Angle
from appell.model.check.mass import tensors
from appell.model.joint import Joint
from appell.model.joints import KINDS, JointModel
from appell.model.tree_builder import axes_along

if TYPE_CHECKING:
    from appell.model.description import Description

RELATIVE_TOL = 1e-11
"""A pivot this much smaller than the terms it came from is zero up to rounding."""
LENGTH_TOL = 1e-9
"""A radius of gyration below this is no inertia. [m]"""


class Pivot(NamedTuple):
    """The inertia that one degree of freedom meets, and the size below which it is rounding."""

    value: float
    rounding: float


class SubtreeInertia(NamedTuple):
    """What hangs on a frame: its articulated inertia, the same before the last joint was released, and its mass."""

    A: np.ndarray
    before: np.ndarray
    mass: float

    def plus(self, other: SubtreeInertia) -> SubtreeInertia:
        return SubtreeInertia(self.A + other.A, self.before + other.before, self.mass + other.mass)

    def transformed(self, R: np.ndarray, p: np.ndarray) -> SubtreeInertia:
        """Seen from a frame in which this one has rotation R and origin p."""
        X = np.zeros((6, 6))
        X[:3, :3] = X[3:, 3:] = R.T
        X[3:, :3] = -R.T @ _skew(p)
        return SubtreeInertia(X.T @ self.A @ X, X.T @ self.before @ X, self.mass)


def general_configuration(robot: Description) -> dict[str, np.ndarray]:
    """Coordinates of every moving joint, all different and none special."""
    rng = np.random.default_rng(0)
    moving = [joint for joint in robot.joints if KINDS[joint.kind].nv]
    return {joint.name: KINDS[joint.kind].random(rng, 0.3, 1.2) for joint in moving}


def pivots(robot: Description) -> dict[str, tuple[Pivot, ...]]:
    """Pivots of all moving joints by name. Joints coupled by mimic are not released for those above them."""
    masses = {body.name: abs(body.mass) for body in robot.bodies}
    carried = {
        body.name: SubtreeInertia(inertia, inertia, masses[body.name])
        for body, inertia in zip(robot.bodies, _spatial_inertias(robot), strict=True)
    }
    followers = [joint for joint in robot.joints if robot.coupled and joint.mimic is not None and KINDS[joint.kind].nv]
    coupled = {name for joint in followers if joint.mimic for name in (joint.name, joint.mimic.joint)}
    q = general_configuration(robot)
    found: dict[str, tuple[Pivot, ...]] = {}
    for joint in reversed(_outward(robot)):
        load = carried.pop(joint.child)
        if joint.name in q:
            load, found[joint.name] = _through_joint(joint, q[joint.name], load, release=joint.name not in coupled)
        load = load.transformed(joint.origin.rotation, np.array(joint.origin.xyz))
        carried[joint.parent] = carried[joint.parent].plus(load)
    return found


def _through_joint(
    joint: Joint, q: np.ndarray, load: SubtreeInertia, release: bool
) -> tuple[SubtreeInertia, tuple[Pivot, ...]]:
    """What the joint carries as its parent feels it, and the pivots of its degrees of freedom."""
    load = SubtreeInertia(load.A, load.A, load.mass)
    found: list[Pivot] = []
    last = KINDS[joint.kind].nq
    for kind, axis in reversed(KINDS[joint.kind].parts(joint)):
        axes = axes_along(axis) if kind.axial else np.eye(3)
        for s in _motions(kind, axes):
            U = load.A @ s
            size = np.abs(s) @ np.abs(load.before) @ np.abs(s)
            pivot = Pivot(
                float(s @ U) + joint.armature, float(RELATIVE_TOL * size + LENGTH_TOL**2 * (s[:3] @ s[:3]) * load.mass)
            )
            found.append(pivot)
            if release and pivot.value > pivot.rounding:
                load = load._replace(A=load.A - np.outer(U, U) / pivot.value)
        R, p = kind.placement(q[last - kind.nq : last].tolist(), Angle.of(0.0))
        load = load.transformed(axes @ np.array([*R.matrix()]).reshape(3, 3) @ axes.T, axes @ np.array([*p]))
        last -= kind.nq
    return load, tuple(found)


def _motions(kind: JointModel, axes: np.ndarray) -> list[np.ndarray]:
    """Unit motions of a joint in the child's frame."""
    return [np.concatenate([axes @ [*twist.angular], axes @ [*twist.linear]]) for twist in kind.motion_subspace()]


def _outward(robot: Description) -> list[Joint]:
    """All joints, parents first."""
    below: dict[str, list[Joint]] = {body.name: [] for body in robot.bodies}
    for joint in robot.joints:
        below[joint.parent].append(joint)
    children = {joint.child for joint in robot.joints}
    order = [joint for body in robot.bodies if body.name not in children for joint in below[body.name]]
    for joint in order:
        order.extend(below[joint.child])
    return order


def _spatial_inertias(robot: Description) -> np.ndarray:
    """(bodies, 6, 6) at the origins of the bodies: [[I - m c~c~, m c~], [-m c~, m 1]]."""
    m = np.array([body.mass for body in robot.bodies])[:, None, None]
    c = _skew(np.array([body.com for body in robot.bodies], dtype=float).reshape(-1, 3))
    spatial = np.zeros((len(robot.bodies), 6, 6))
    spatial[:, :3, :3] = tensors(robot.bodies) - m * (c @ c)
    spatial[:, :3, 3:] = m * c
    spatial[:, 3:, :3] = -m * c
    spatial[:, 3:, 3:] = m * np.eye(3)
    return spatial


def _skew(v: np.ndarray) -> np.ndarray:
    x, y, z = np.moveaxis(v, -1, 0)
    o = np.zeros_like(x)
    return np.stack([o, -z, y, z, o, -x, -y, x, o], axis=-1).reshape(*v.shape[:-1], 3, 3)
