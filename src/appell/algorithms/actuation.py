"""Joints and actuators of a tree: every generalized velocity is that of a joint with an actuator of its own.

Closed loops have other maps (`appell.closed_loop.kinematics`); those of a tree are the identity.
"""

from __future__ import annotations

from collections.abc import Sequence

from appell.algebra import Scalar
from appell.algorithms.registry import algorithm
from appell.model.tree import Tree


@algorithm("actuator_jacobian", "identity")
@algorithm("joint_velocity_jacobian", "identity")
def identity(tree: Tree, q: Sequence[Scalar]) -> list[list[Scalar]]:
    """J_a = G = 1."""
    return [[1.0 if i == j else 0.0 for j in range(tree.nv)] for i in range(tree.nv)]


@algorithm("joint_velocities", "identity")
def joint_velocities(tree: Tree, q: Sequence[Scalar], qd: Sequence[Scalar]) -> list[Scalar]:
    """G qd = qd."""
    return list(qd)


@algorithm("joint_accelerations", "identity")
def joint_accelerations(tree: Tree, q: Sequence[Scalar], qd: Sequence[Scalar], qdd: Sequence[Scalar]) -> list[Scalar]:
    """G qdd + Ġ qd = qdd."""
    return list(qdd)
