"""Velocities, actuator Jacobian, frames and energies of a robot with closed loops, from those of its tree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from appell.algebra import Scalar, Vec3
from appell.algorithms import energy, kinematics
from appell.closed_loop import constraints
from appell.closed_loop.constraints import Matrix
from appell.closed_loop.elimination import dot
from appell.closed_loop.reduction import VelocityReduction
from appell.model.tree import Frame

if TYPE_CHECKING:
    from appell.closed_loop.system import LoopSystem

Scalars = Sequence[Scalar]


def closure_jacobian(system: LoopSystem, q: Scalars) -> Matrix:
    """K(q): K v is the rate of the closure residual at the velocities v of all joints."""
    return transposed(constraints.jacobian_columns(system, q))


def joint_velocity_jacobian(system: LoopSystem, q: Scalars) -> Matrix:
    """G(q)."""
    return transposed(VelocityReduction.at(system, q).columns())


def joint_velocities(system: LoopSystem, q: Scalars, qd: Scalars) -> list[Scalar]:
    """v = G u."""
    return VelocityReduction.at(system, q).velocities(qd)


def joint_accelerations(system: LoopSystem, q: Scalars, qd: Scalars, qdd: Scalars) -> list[Scalar]:
    """v̇ = G u̇ + Ġ u."""
    reduction = VelocityReduction.at(system, q)
    return reduction.accelerations(reduction.velocities(qd), qdd)


def actuator_jacobian(system: LoopSystem, q: Scalars) -> Matrix:
    """J_a(q): velocities of the actuated joints are J_a u."""
    G = VelocityReduction.at(system, q).columns()
    return [[column[k] for column in G] for k in system.actuated]


def kinetic_energy(system: LoopSystem, q: Scalars, qd: Scalars) -> Scalar:
    """T of the tree at v = G u."""
    return energy.kinetic_energy(system.lumped, q, joint_velocities(system, q, qd))


def potential_energy(system: LoopSystem, q: Scalars) -> Scalar:
    """U of the tree."""
    return energy.potential_energy(system.tree, q)


def center_of_mass(system: LoopSystem, q: Scalars) -> Vec3:
    """Of the tree."""
    return energy.center_of_mass(system.tree, q)


def pose(system: LoopSystem, q: Scalars, frame: Frame, reference: str) -> Matrix:
    """Of the tree."""
    return kinematics.pose(system.tree, q, frame, reference)


def jacobian(system: LoopSystem, q: Scalars, frame: Frame, reference: str) -> Matrix:
    """J G: the twist of a frame per independent velocity."""
    G = VelocityReduction.at(system, q).columns()
    return [[dot(row, column) for column in G] for row in kinematics.jacobian(system.tree, q, frame, reference)]


def transposed(A: Matrix) -> Matrix:
    return [list(row) for row in zip(*A, strict=True)]
