"""Momentum of the whole robot about its centre of mass, its matrix, and the Jacobian of the centre of mass.

A unit velocity of joint j moves its subtree as one rigid body. With the joint's unit twist at the world origin (velocity e,
angular velocity w) and mass m, first moment γ and inertia tensor H of the subtree about the same point, its momentum and
moment of momentum are
    P = m e + w x γ        L = γ x e + H w
and the columns of A_G are [P; L - c x P], c the centre of mass of the robot. Rotors are left out, as in Pinocchio.
"""

from __future__ import annotations

from collections.abc import Iterator

from appell.algebra import ZERO, DirectionCosines, Inertia, Rotation, Scalar, Scalars, Twist, Vec3, Wrench
from appell.algorithms.energy import require_mass
from appell.algorithms.kinematics import WorldMotion, world_motion
from appell.algorithms.registry import algorithm
from appell.model.tree import BASE, Tree


@algorithm("centroidal_momentum", "composite")
def centroidal_momentum(tree: Tree, q: Scalars, qd: Scalars) -> list[Scalar]:
    """Momentum and moment of momentum about the centre of mass, along the world axes.  [kg m/s, kg m²/s]"""
    motions = world_motion(tree, q, qd)
    bodies = own_bodies(tree, motions)
    P, L = ZERO, ZERO
    for body, motion in zip(bodies, motions, strict=True):
        own = body.momentum(at_world_origin(Twist(motion.omega, motion.v), motion.p))
        P, L = P + own.force, L + own.moment
    mass, gamma = moving_mass(bodies)
    return [*P, *(L - gamma.cross(P) * (1.0 / mass))]


@algorithm("centroidal_momentum_matrix", "composite")
def centroidal_momentum_matrix(tree: Tree, q: Scalars) -> list[list[Scalar]]:
    """A_G(q) with momentum = A_G qd, linear rows first.  [kg, kg m, kg m²]"""
    motions = world_motion(tree, q)
    bodies = own_bodies(tree, motions)
    mass, gamma = moving_mass(bodies)
    c = gamma * (1.0 / mass)
    A: list[list[Scalar]] = [[0.0] * tree.nv for _ in range(6)]
    for v, (P, L) in unit_momenta(tree, motions, bodies):
        for row, entry in enumerate((*P, *(L - c.cross(P)))):
            A[row][v] = A[row][v] + entry
    return A


@algorithm("center_of_mass_jacobian", "composite")
def center_of_mass_jacobian(tree: Tree, q: Scalars) -> list[list[Scalar]]:
    """ċ = J qd: momentum per unit velocity and unit mass.  [m, 1]"""
    motions = world_motion(tree, q)
    bodies = own_bodies(tree, motions)
    mass, _ = moving_mass(bodies)
    J: list[list[Scalar]] = [[0.0] * tree.nv for _ in range(3)]
    for v, (P, _) in unit_momenta(tree, motions, bodies):
        for row, entry in enumerate(P * (1.0 / mass)):
            J[row][v] = J[row][v] + entry
    return J


def own_bodies(tree: Tree, motions: list[WorldMotion]) -> list[Inertia]:
    """Mass properties of every link about the world origin, along the world axes."""
    return [
        link.inertia.transformed(Rotation(DirectionCosines(motion.R)), motion.p)
        for link, motion in zip(tree.links, motions, strict=True)
    ]


def moving_mass(bodies: list[Inertia]) -> tuple[Scalar, Vec3]:
    """Mass and first moment of all moving bodies; raises for zero mass."""
    mass, gamma = 0.0, ZERO
    for body in bodies:
        mass, gamma = mass + body.mass, gamma + body.gamma
    require_mass(mass)
    return mass, gamma


def unit_momenta(tree: Tree, motions: list[WorldMotion], bodies: list[Inertia]) -> Iterator[tuple[int, Wrench]]:
    """For every degree of freedom of every joint, its index in qd and the momentum per unit velocity."""
    carried = list(bodies)
    for i in reversed(range(len(carried))):
        parent = tree.links[i].parent
        if parent != BASE:
            carried[parent] = carried[parent] + carried[i]
    for link, motion, body in zip(tree.links, motions, carried, strict=True):
        for k, unit in enumerate(motion.units(link.kind.motion_subspace())):
            yield link.idx_v + k, body.momentum(at_world_origin(unit, motion.p)).times(link.multiplier)


def at_world_origin(twist: Twist, p: Vec3) -> Twist:
    """The twist of a frame at p, taken at the world origin."""
    return Twist(twist.angular, twist.linear + p.cross(twist.angular))
