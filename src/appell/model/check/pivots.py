"""Is there inertia against every motion? The pivots of the inertia matrix M(q) at a general configuration.

The articulated-body recursion factors M = L^T D L in one pass from the tips to the base: M is positive definite exactly
where every pivot D_j = s_j^T A_j s_j, with A_j the articulated inertia of what hangs on joint j, is positive (the rotor's
inertia counts). A pivot of zero names the joint whose motion meets no inertia. Spatial vectors are angular part first.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from appell.model.check.mass import tensors
from appell.model.joint import Joint
from appell.model.joints import KINDS
from appell.model.robot import Robot

RELATIVE = 1e-11
"""A pivot this much smaller than the terms it came from is zero up to rounding."""
LENGTH = 1e-9
"""A radius of gyration below this is no inertia. [m]"""


class Pivot(NamedTuple):
    """The inertia a joint meets, the size below which it is rounding, and the mass that hangs on the joint."""

    value: float
    rounding: float
    mass: float


def pivots(robot: Robot) -> dict[str, Pivot]:
    """Pivots of all moving joints by name. Joints coupled by mimic are not released for those above them."""
    inertia = dict(zip((body.name for body in robot.bodies), _spatial_inertias(robot), strict=True))
    before = dict(inertia)  # the same sums, each term taken before the joint below was released
    mass = {body.name: abs(body.mass) for body in robot.bodies}
    followers = [joint for joint in robot.joints if robot.coupled and joint.mimic is not None and KINDS[joint.kind].nv]
    coupled = {name for joint in followers if joint.mimic for name in (joint.name, joint.mimic.joint)}
    rng = np.random.default_rng(0)
    found: dict[str, Pivot] = {}
    for joint in reversed(_outward(robot)):
        A, B, m = inertia.pop(joint.child), before.pop(joint.child), mass.pop(joint.child)
        q = 0.0
        released = A
        if KINDS[joint.kind].nv:
            q = float(rng.uniform(0.3, 1.2))
            s, reach = _motion(joint)
            U = A @ s
            pivot = float(s @ U) + joint.armature
            rounding = RELATIVE * float(s @ np.abs(B) @ np.abs(s)) + (LENGTH * reach) ** 2 * m
            found[joint.name] = Pivot(pivot, rounding, m)
            if joint.name not in coupled and pivot > rounding:
                released = A - np.outer(U, U) / pivot
        X = _to_child(joint, q)
        inertia[joint.parent] = inertia[joint.parent] + X.T @ released @ X
        before[joint.parent] = before[joint.parent] + X.T @ A @ X
        mass[joint.parent] += m
    return found


def _outward(robot: Robot) -> list[Joint]:
    """All joints, parents first."""
    below: dict[str, list[Joint]] = {body.name: [] for body in robot.bodies}
    for joint in robot.joints:
        below[joint.parent].append(joint)
    children = {joint.child for joint in robot.joints}
    order = [joint for body in robot.bodies if body.name not in children for joint in below[body.name]]
    for joint in order:
        order.extend(below[joint.child])
    return order


def _spatial_inertias(robot: Robot) -> np.ndarray:
    """(bodies, 6, 6) at the origins of the bodies: [[I - m c~c~, m c~], [-m c~, m 1]]."""
    m = np.array([body.mass for body in robot.bodies])[:, None, None]
    c = _skew(np.array([body.com for body in robot.bodies], dtype=float).reshape(-1, 3))
    spatial = np.zeros((len(robot.bodies), 6, 6))
    spatial[:, :3, :3] = tensors(robot.bodies) - m * (c @ c)
    spatial[:, :3, 3:] = m * c
    spatial[:, 3:, :3] = -m * c
    spatial[:, 3:, 3:] = m * np.eye(3)
    return spatial


def _motion(joint: Joint) -> tuple[np.ndarray, float]:
    """Unit motion of the joint in the child's frame; whether it turns (1) or slides (0)."""
    (twist,) = KINDS[joint.kind].subspace()
    axis = np.array(joint.axis) / np.linalg.norm(joint.axis)
    turns, slides = float(twist.angular.z), float(twist.linear.z)
    return np.concatenate([turns * axis, slides * axis]), turns


def _to_child(joint: Joint, q: float) -> np.ndarray:
    """The matrix that turns a motion vector at the parent's origin into one at the child's, with the joint at q."""
    R, p = joint.origin.rotation, np.array(joint.origin.xyz)
    if KINDS[joint.kind].nv:
        s, turns = _motion(joint)
        axis = s[:3] + s[3:]
        if turns:
            K = _skew(axis)
            R = R @ (np.eye(3) + np.sin(q) * K + (1 - np.cos(q)) * (K @ K))
        else:
            p = p + R @ axis * q
    X = np.zeros((6, 6))
    X[:3, :3] = X[3:, 3:] = R.T
    X[3:, :3] = -R.T @ _skew(p)
    return X


def _skew(v: np.ndarray) -> np.ndarray:
    x, y, z = np.moveaxis(v, -1, 0)
    o = np.zeros_like(x)
    return np.stack([o, -z, y, z, o, -x, -y, x, o], axis=-1).reshape(*v.shape[:-1], 3, 3)
