"""Check that every joint moves some inertia: the pivots of the mass matrix M(q) at a generic configuration.

The articulated-body recursion factors M = L^T D L in one pass from the tips to the base: M is positive definite exactly
where every pivot D_j = s_j^T A_j s_j, with A_j the articulated inertia of the subtree of joint j, is positive (rotor
inertia included). A zero pivot marks a joint that moves no inertia. Spatial vectors are angular part first.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from appell.algebra.angle import Angle
from appell.model.body import inertia_tensors
from appell.model.check.problem import Problem
from appell.model.joint import Joint
from appell.model.joints import KINDS
from appell.model.tree_builder import axes_along, joints_outward

if TYPE_CHECKING:
    from appell.model.description import Description

RELATIVE_TOL = 1e-11
"""Pivots smaller than this, relative to their terms, count as zero."""
LENGTH_TOL = 1e-9
"""Radii of gyration below this count as zero. [m]"""


class Pivot(NamedTuple):
    """The inertia D of one degree of freedom, and the size below which it is rounding."""

    value: float
    rounding: float


class SubtreeInertia(NamedTuple):
    """Articulated inertia of the bodies below a frame, the same before its joint was eliminated, and their mass."""

    A: np.ndarray
    before: np.ndarray
    mass: float

    def plus(self, other: SubtreeInertia) -> SubtreeInertia:
        return SubtreeInertia(self.A + other.A, self.before + other.before, self.mass + other.mass)

    def transformed(self, R: np.ndarray, p: np.ndarray) -> SubtreeInertia:
        """The same in a frame in which this frame has rotation R and origin p."""
        X = np.zeros((6, 6))
        X[:3, :3] = X[3:, 3:] = R.T
        X[3:, :3] = -R.T @ _skew(p)
        return SubtreeInertia(X.T @ self.A @ X, X.T @ self.before @ X, self.mass)


def pivots(robot: Description, q: Mapping[str, np.ndarray]) -> dict[str, tuple[Pivot, ...]]:
    """Pivots of all moving joints, with coordinates q, by name. Joints coupled by mimic are not eliminated."""
    carried = {
        body.name: SubtreeInertia(inertia, inertia, abs(body.mass))
        for body, inertia in zip(robot.bodies, _spatial_inertias(robot), strict=True)
    }
    followers = [joint for joint in robot.joints if robot.coupled and joint.mimic and joint.name in q]
    coupled = {name for joint in followers if joint.mimic for name in (joint.name, joint.mimic.joint)}
    result: dict[str, tuple[Pivot, ...]] = {}
    for joint in reversed([*joints_outward(robot)]):
        subtree = carried.pop(joint.child)
        if joint.name in q:
            eliminate = joint.name not in coupled
            subtree, result[joint.name] = _eliminate_joint(joint, q[joint.name], subtree, eliminate)
        subtree = subtree.transformed(joint.origin.rotation, np.array(joint.origin.xyz))
        carried[joint.parent] = carried[joint.parent].plus(subtree)
    return result


def _eliminate_joint(
    joint: Joint, q: np.ndarray, subtree: SubtreeInertia, eliminate: bool
) -> tuple[SubtreeInertia, tuple[Pivot, ...]]:
    """The subtree in the frame before the joint, and the pivots of the joint's degrees of freedom."""
    subtree = SubtreeInertia(subtree.A, subtree.A, subtree.mass)
    joint_pivots: list[Pivot] = []
    last = KINDS[joint.kind].nq
    for kind, axis in reversed(KINDS[joint.kind].parts(joint)):
        axes = axes_along(axis) if kind.axial else np.eye(3)
        for twist in kind.motion_subspace():
            s = np.concatenate([axes @ [*twist.angular], axes @ [*twist.linear]])
            U = subtree.A @ s
            size = np.abs(s) @ np.abs(subtree.before) @ np.abs(s)
            pivot = Pivot(
                float(s @ U) + joint.armature,
                float(RELATIVE_TOL * size + LENGTH_TOL**2 * (s[:3] @ s[:3]) * subtree.mass),
            )
            joint_pivots.append(pivot)
            if eliminate and pivot.value > pivot.rounding:
                subtree = subtree._replace(A=subtree.A - np.outer(U, U) / pivot.value)
        R, p = kind.placement(q[last - kind.nq : last].tolist(), Angle.of(0.0))
        subtree = subtree.transformed(axes @ np.array([*R.matrix()]).reshape(3, 3) @ axes.T, axes @ np.array([*p]))
        last -= kind.nq
    return subtree, tuple(joint_pivots)


def _spatial_inertias(robot: Description) -> np.ndarray:
    """(bodies, 6, 6) at the origins of the bodies: [[I - m c~c~, m c~], [-m c~, m 1]]."""
    m = np.array([body.mass for body in robot.bodies])[:, None, None]
    c = _skew(np.array([body.com for body in robot.bodies], dtype=float).reshape(-1, 3))
    spatial = np.zeros((len(robot.bodies), 6, 6))
    spatial[:, :3, :3] = inertia_tensors(robot.bodies) - m * (c @ c)
    spatial[:, :3, 3:] = m * c
    spatial[:, 3:, :3] = -m * c
    spatial[:, 3:, 3:] = m * np.eye(3)
    return spatial


def _skew(v: np.ndarray) -> np.ndarray:
    x, y, z = np.moveaxis(v, -1, 0)
    o = np.zeros_like(x)
    return np.stack([o, -z, y, z, o, -x, -y, x, o], axis=-1).reshape(*v.shape[:-1], 3, 3)


# --- the check ----------------------------------------------------------------------------------------------------------


def check_moving_links(robot: Description) -> Iterator[Problem]:
    """Every independent joint moves inertia, else M is singular; a moving link without mass of its own is a warning.

    Expects a robot without structural errors.
    """
    rng = np.random.default_rng(0)
    moving = [joint for joint in robot.joints if KINDS[joint.kind].nv]
    with np.errstate(over="ignore", invalid="ignore"):  # checked below
        joint_pivots = pivots(robot, {joint.name: KINDS[joint.kind].random(rng, 0.3, 1.2) for joint in moving})
    own = _own_mass(robot)
    for leader, joints in _groups(robot).items():
        for group in zip(*(joint_pivots[joint.name] for joint, _ in joints), strict=True):
            value = sum(factor * factor * pivot.value for pivot, (_, factor) in zip(group, joints, strict=True))
            rounding = sum(factor * factor * pivot.rounding for pivot, (_, factor) in zip(group, joints, strict=True))
            if not math.isfinite(value):
                what = "the inertia that it moves is no finite number"
                fix = "Correct masses, lengths and mimic ratios that are far too large."
                yield Problem.of(leader, "non-finite", what, fix)
                break
            if value <= rounding:
                inertia = f"a negative inertia of {value:.3g}" if value < -rounding else "no inertia"
                what = f"link {leader.child!r} moves with {inertia}: the mass matrix is not positive definite"
                fix = "Give the link mass and inertia, or the joint a rotor inertia, or make the joint fixed."
                yield Problem.of(leader, "singular", what, fix)
                break
        else:
            for joint in (joint for joint, _ in joints if not own[joint.child] and not joint.armature):
                what = f"the link moves with joint {joint.name!r} but has no mass"
                yield Problem("massless", f"link {joint.child!r}", what, "Give it mass and inertia.", joint.line)


def _groups(robot: Description) -> dict[Joint, list[tuple[Joint, float]]]:
    """The independent joints, each with all joints that follow it and their velocity ratios."""
    joints = {joint.name: joint for joint in robot.joints}
    groups: dict[Joint, list[tuple[Joint, float]]] = {joint: [] for joint in robot.moving_joints}
    for joint in (joint for joint in robot.joints if KINDS[joint.kind].nv):
        leader, factor = joint, 1.0
        while robot.coupled and leader.mimic is not None:
            factor *= leader.mimic.multiplier
            leader = joints[leader.mimic.joint]
        groups[leader].append((joint, factor))
    return groups


def _own_mass(robot: Description) -> dict[str, float]:
    """Mass plus inertia of every body and the bodies fixed to it: zero only if all are zero."""
    above = {joint.child: joint for joint in robot.joints}
    own = {body.name: abs(body.mass) + sum(map(abs, body.inertia)) for body in robot.bodies}
    carrier: dict[str, str] = {}
    for body in robot.bodies:
        path, name = [], body.name
        while name not in carrier and name in above and KINDS[above[name].kind].nv == 0:
            path.append(name)
            name = above[name].parent
        first = carrier.setdefault(name, name)
        carrier.update(dict.fromkeys(path, first))
        if first != body.name:
            own[first] += own[body.name]
    return own
