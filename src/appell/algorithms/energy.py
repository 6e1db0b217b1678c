"""Kinetic and potential energy, centre of mass, and the Gibbs function."""

from __future__ import annotations

from appell.algebra import ZERO, Scalar, Scalars, Sym3, Twist, Vec3, is_zero
from appell.algorithms.common_frame import AT_REST
from appell.algorithms.inverse_dynamics.mata2002 import LinkMotion, propagate_motion
from appell.algorithms.registry import algorithm
from appell.errors import ModelError
from appell.model.tree import BASE, Link, Placement, Tree


@algorithm("kinetic_energy", "gibbs", lumpable=True)
def kinetic_energy(tree: Tree, q: Scalars, qd: Scalars) -> Scalar:
    """T = Σ (m v²/2 + v · (ω x γ) + ω · H ω/2) + rotors, v the velocity of the link's origin.  [J]"""
    twists: list[Twist] = []
    total: Scalar = 0.0
    for link, place in zip(tree.links, tree.placements(q), strict=True):
        twists.append(link_twist(link, place, AT_REST if link.parent == BASE else twists[link.parent], qd))
        total = total + kinetic_energy_of(link, twists[-1], qd)
    return total


def link_twist(link: Link, place: Placement, parent: Twist, qd: Scalars) -> Twist:
    """Twist of a link at its origin in its frame, from its parent's."""
    (R, s), joint = place, link.kind.twist(link.velocities(qd))
    linear = R.T @ (parent.linear + parent.angular.cross(s)) + joint.linear
    return Twist(R.T @ parent.angular + joint.angular, linear)


def kinetic_energy_of(link: Link, twist: Twist, qd: Scalars) -> Scalar:
    """Kinetic energy of a link and of its rotor."""
    omega, v = twist
    momentum = v * (0.5 * link.inertia.mass) + omega.cross(link.inertia.gamma)
    total = v @ momentum + omega @ (link.inertia.at_origin @ omega) * 0.5
    for rate in link.velocities(qd):
        total = total + rate * rate * (0.5 * link.armature)
    return total


@algorithm("potential_energy", "gibbs")
def potential_energy(tree: Tree, q: Scalars) -> Scalar:
    """U = -g · Σ m_i r_i over the moving bodies.  [J]"""
    _, moment = first_moment(tree, q)
    return -(tree.gravity @ moment)


@algorithm("center_of_mass", "gibbs")
def center_of_mass(tree: Tree, q: Scalars) -> Vec3:
    """Σ m_i r_i / Σ m_i over the moving bodies, in the world frame.  [m]"""
    mass, moment = first_moment(tree, q)
    require_mass(mass)
    return tree.base @ moment * (1.0 / mass)


def require_mass(mass: Scalar) -> None:
    """Raise if the robot's mass is zero for every state."""
    if is_zero(mass):
        raise ModelError("the moving bodies have no mass, so there is no centre of mass. Give the links their masses.")


def first_moment(tree: Tree, q: Scalars) -> tuple[Scalar, Vec3]:
    """Mass and first moment of all moving bodies about the world origin, in the base frame of the recursions."""
    masses = [link.inertia.mass for link in tree.links]
    moments = [link.inertia.gamma for link in tree.links]
    mass, moment = 0.0, ZERO
    for i, (R, s) in reversed(list(enumerate(tree.placements(q)))):
        carried = R @ moments[i] + s * masses[i]
        parent = tree.links[i].parent
        if parent == BASE:
            mass, moment = mass + masses[i], moment + carried
        else:
            masses[parent], moments[parent] = masses[parent] + masses[i], moments[parent] + carried
    return mass, moment


@algorithm("gibbs_function", "gibbs")
def gibbs_function(tree: Tree, q: Scalars, qd: Scalars, qdd: Scalars) -> Scalar:
    """G = Σ (m r̈²/2 + ω̇ · I ω̇/2 + ω̇ · (ω x I ω)) + rotors, Mata 2002 (3) and (4); r̈ includes gravity.  [J/s²]"""
    total: Scalar = 0.0
    for link, motion in zip(tree.links, propagate_motion(tree, tree.placements(q), qd, qdd), strict=True):
        total = total + gibbs_function_of(link, link.inertia.com, link.inertia.inertia, motion, qdd)
    return total


def gibbs_function_of(link: Link, com: Vec3, inertia: Sym3, motion: LinkMotion, qdd: Scalars) -> Scalar:
    """The part of a link, with its centre of mass and its inertia tensor there, and of its rotor."""
    rdd = motion.sdd + motion.Omega @ com
    total = (rdd @ rdd) * (0.5 * link.inertia.mass)
    total = total + motion.omegad @ (inertia @ motion.omegad * 0.5 + motion.omega.cross(inertia @ motion.omega))
    for acceleration in link.velocities(qdd):
        total = total + acceleration * acceleration * (0.5 * link.armature)
    return total
