"""The recursive Newton-Euler and articulated-body algorithms in spatial vectors, as Pinocchio has them, on CasADi symbols.

Pinocchio's own CasADi interface is not part of its PyPI wheels. This is the same work written down once more: placements
and inertias out of Pinocchio's model, motions and forces in local frames, linear part first, nothing done to save operations
but what CasADi does by itself (products with 0 and 1). Recursions: Featherstone 2008, tables 5.1 and 7.1.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import casadi
import numpy as np
from casadi import SX, cross, dot, mtimes, skew


class Spatial(NamedTuple):
    """A motion or a force: linear and angular part."""

    linear: Any
    angular: Any

    def __add__(self, other: Spatial) -> Spatial:  # type: ignore[override]
        return Spatial(self.linear + other.linear, self.angular + other.angular)

    def __sub__(self, other: Spatial) -> Spatial:
        return Spatial(self.linear - other.linear, self.angular - other.angular)

    def times(self, factor) -> Spatial:
        return Spatial(self.linear * factor, self.angular * factor)

    def cross_motion(self, other: Spatial) -> Spatial:
        linear = cross(self.angular, other.linear) + cross(self.linear, other.angular)
        return Spatial(linear, cross(self.angular, other.angular))

    def cross_force(self, other: Spatial) -> Spatial:
        angular = cross(self.angular, other.angular) + cross(self.linear, other.linear)
        return Spatial(cross(self.angular, other.linear), angular)

    def dot(self, other: Spatial):
        return dot(self.linear, other.linear) + dot(self.angular, other.angular)


class Place(NamedTuple):
    """x_parent = R x + p."""

    R: Any
    p: Any

    def motion_to_child(self, motion: Spatial) -> Spatial:
        linear = mtimes(self.R.T, motion.linear - cross(self.p, motion.angular))
        return Spatial(linear, mtimes(self.R.T, motion.angular))

    def force_to_parent(self, force: Spatial) -> Spatial:
        linear = mtimes(self.R, force.linear)
        return Spatial(linear, mtimes(self.R, force.angular) + cross(self.p, linear))


class Inertia(NamedTuple):
    """A symmetric 6 by 6 matrix [[A, B], [B^T, D]], linear part first."""

    A: Any
    B: Any
    D: Any

    def times(self, motion: Spatial) -> Spatial:
        linear = mtimes(self.A, motion.linear) + mtimes(self.B, motion.angular)
        return Spatial(linear, mtimes(self.B.T, motion.linear) + mtimes(self.D, motion.angular))

    def minus_outer(self, U: Spatial, V: Spatial) -> Inertia:
        return Inertia(
            self.A - mtimes(U.linear, V.linear.T),
            self.B - mtimes(U.linear, V.angular.T),
            self.D - mtimes(U.angular, V.angular.T),
        )

    def to_parent(self, placement: Place) -> Inertia:
        turned = [mtimes(mtimes(placement.R, block), placement.R.T) for block in self]
        A, B, D = turned
        p = skew(placement.p)
        moved = B - mtimes(A, p)
        return Inertia(A, moved, D + mtimes(p, moved) - mtimes(B.T, p))

    def __add__(self, other: Inertia) -> Inertia:  # type: ignore[override]
        return Inertia(self.A + other.A, self.B + other.B, self.D + other.D)


class Joint(NamedTuple):
    """Numbers of one joint and its body, out of Pinocchio's model."""

    parent: int
    axis: Spatial
    R: np.ndarray
    p: np.ndarray
    inertia: Inertia

    def placement(self, q) -> Place:
        axis = np.array(self.axis.angular).ravel()
        turn = SX(_sparse(axis, q)) if axis.any() else SX(np.eye(3))
        slide = SX(self.axis.linear) * q if not axis.any() else SX(3, 1)
        return Place(mtimes(SX(self.R), turn), SX(self.p) + mtimes(SX(self.R), slide))


def joints(model) -> list[Joint]:
    """All joints of a model of Pinocchio, each of one degree of freedom."""
    joints = []
    for i in range(1, model.njoints):
        data = model.joints[i].createData()
        model.joints[i].calc(data, np.zeros(model.nq))
        S = np.array(data.S).ravel()
        body, placed = model.inertias[i], model.jointPlacements[i]
        c = np.array(skew(body.lever))
        blocks = body.mass * np.eye(3), -body.mass * c, body.inertia - body.mass * c @ c
        axis = Spatial(casadi.DM(S[:3]), casadi.DM(S[3:]))
        inertia = Inertia(*(SX(casadi.sparsify(casadi.DM(block))) for block in blocks))
        joints.append(Joint(model.parents[i] - 1, axis, placed.rotation, placed.translation, inertia))
    return joints


def rnea(model, q, qd, qdd):
    """Forces from accelerations."""
    tree = joints(model)
    base = Spatial(SX(3, 1), SX(3, 1)), Spatial(-SX(casadi.DM(np.array(model.gravity.linear))), SX(3, 1))
    motions, placements, forces = [], [], []
    for i, joint in enumerate(tree):
        velocity, acceleration = motions[joint.parent] if joint.parent >= 0 else base
        placement, own = joint.placement(q[i]), joint.axis.times(qd[i])
        v = placement.motion_to_child(velocity) + own
        a = placement.motion_to_child(acceleration) + joint.axis.times(qdd[i]) + v.cross_motion(own)
        motions.append((v, a))
        placements.append(placement)
        forces.append(joint.inertia.times(a) + v.cross_force(joint.inertia.times(v)))
    tau = [SX(0)] * len(tree)
    for i in reversed(range(len(tree))):
        tau[i] = tree[i].axis.dot(forces[i]) + model.armature[i] * qdd[i]
        if tree[i].parent >= 0:
            forces[tree[i].parent] = forces[tree[i].parent] + placements[i].force_to_parent(forces[i])
    return casadi.vertcat(*tau)


def aba(model, q, qd, tau):
    """Accelerations from forces."""
    tree = joints(model)
    still, fall = Spatial(SX(3, 1), SX(3, 1)), Spatial(-SX(casadi.DM(np.array(model.gravity.linear))), SX(3, 1))
    velocities, velocity_products, placements, bias_forces = [], [], [], []
    for i, joint in enumerate(tree):
        placement, own = joint.placement(q[i]), joint.axis.times(qd[i])
        v = placement.motion_to_child(velocities[joint.parent] if joint.parent >= 0 else still) + own
        velocities.append(v)
        velocity_products.append(v.cross_motion(own))
        placements.append(placement)
        bias_forces.append(v.cross_force(joint.inertia.times(v)))
    inertias = [joint.inertia for joint in tree]
    freed: list[Any] = [None] * len(tree)
    for i in reversed(range(len(tree))):
        U = inertias[i].times(tree[i].axis)
        inverse = 1 / (tree[i].axis.dot(U) + model.armature[i])
        u = tau[i] - tree[i].axis.dot(bias_forces[i])
        freed[i] = U.times(inverse), inverse * u
        parent = tree[i].parent
        if parent >= 0:
            left = inertias[i].minus_outer(U, U.times(inverse))
            handed = bias_forces[i] + left.times(velocity_products[i]) + U.times(inverse * u)
            inertias[parent] = inertias[parent] + left.to_parent(placements[i])
            bias_forces[parent] = bias_forces[parent] + placements[i].force_to_parent(handed)
    accelerations, qdd = [], []
    for i, joint in enumerate(tree):
        a = (
            placements[i].motion_to_child(accelerations[joint.parent] if joint.parent >= 0 else fall)
            + velocity_products[i]
        )
        UD, own = freed[i]
        qdd.append(own - UD.dot(a))
        accelerations.append(a + joint.axis.times(qdd[i]))
    return casadi.vertcat(*qdd)


def _sparse(axis: np.ndarray, q) -> Any:
    """Rotation about a unit axis; exact zeros and ones about a coordinate axis."""
    a = SX(casadi.sparsify(casadi.DM(axis)))
    s, c = casadi.sin(q), casadi.cos(q)
    return mtimes(a, a.T) * (1 - c) + SX(casadi.DM(np.eye(3))) * c + skew(a) * s
