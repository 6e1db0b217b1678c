"""Inverse dynamics of a tree, tensor form of the Gibbs-Appell equations.

Source: Mata et al. 2002, sections 2 and 4.1, with the corrections of docs/theory/mata2002.md. Symbols: docs/notation.md.
    (9)   f_i = m_i r̈_i                 (10)  t~_i = Ω_i J_i - (Ω_i J_i)^T          (12)  Ω_i = ω̇~_i + ω~_i²
    (14)  τ_j = z_j · χ_j               (15)  χ_j = r~_jj f_j + s~_j,j+1 φ_j + t_j + R χ_j+1
                                        (16)  φ_j = R (f_j+1 + φ_j+1)
Mass moments are taken at the origin O_i of the link frame instead of the centre of mass G_i: with γ = m r and J about O_i,
(9) reads f = m s̈ + Ω γ and r~ f + t together are γ x s̈ + t_O. The number of operations is the same, massless links are
allowed, and τ is linear in the ten numbers (m, γ, J).
"""

from __future__ import annotations

from typing import NamedTuple

from appell.algebra import ZERO, Mat3, Scalar, Scalars, Vec3, Wrench, acceleration_tensor, moment_of_tensor
from appell.algorithms.registry import algorithm
from appell.model.tree import BASE, Link, Placement, Tree


class LinkMotion(NamedTuple):
    """Angular velocity and acceleration, their tensor Ω, and the acceleration s̈ of the origin, in the link's frame."""

    omega: Vec3
    omegad: Vec3
    Omega: Mat3
    sdd: Vec3


@algorithm("inverse_dynamics", "mata2002", lumpable=True)
def inverse_dynamics(tree: Tree, q: Scalars, qd: Scalars, qdd: Scalars) -> list[Scalar]:
    """Generalised forces tau that give qdd at (q, qd).  [N m, N]"""
    placements = tree.placements(q)
    motions = propagate_motion(tree, placements, qd, qdd)  # base to tips, step 1
    forces = [body_force(link, motion) for link, motion in zip(tree.links, motions, strict=True)]  # step 2
    return project_on_joints(tree, placements, qdd, forces)  # tips to base, step 3


@algorithm("bias", "mata2002", lumpable=True)
def bias(tree: Tree, q: Scalars, qd: Scalars) -> list[Scalar]:
    """Forces at zero acceleration, C qd + g (section 3: "terms of joint accelerations eliminated")."""
    return inverse_dynamics(tree, q, qd, [0.0] * tree.nv)


@algorithm("gravity", "mata2002", lumpable=True)
def gravity(tree: Tree, q: Scalars) -> list[Scalar]:
    """Static forces: those at zero velocity and acceleration."""
    return inverse_dynamics(tree, q, [0.0] * tree.nv, [0.0] * tree.nv)


def at_rest(tree: Tree) -> LinkMotion:
    """Motion of the base: gravity enters as its acceleration, s̈_0 = -g (4.1, step 1, with the sign corrected)."""
    return LinkMotion(ZERO, ZERO, acceleration_tensor(ZERO, ZERO), -tree.gravity)


def propagate_motion(tree: Tree, placements: list[Placement], qd, qdd) -> list[LinkMotion]:
    """Motion of every link, parents first."""
    motions: list[LinkMotion] = []
    for link, placement in zip(tree.links, placements, strict=True):
        parent = at_rest(tree) if link.parent == BASE else motions[link.parent]
        motions.append(step_outward(link, placement, parent, qd, qdd))
    return motions


def step_outward(link: Link, placement: Placement, parent: LinkMotion, qd, qdd) -> LinkMotion:
    """Motion of a link from its parent's (4.1, step 1; the terms of joint translation from the errata)."""
    R, s = placement
    joint, jointd = link.kind.twist(link.velocities(qd)), link.kind.twist(link.velocities(qdd))
    carried = R.T @ parent.omega
    omega = carried + joint.angular
    omegad = R.T @ parent.omegad + jointd.angular + carried.cross(joint.angular)
    sdd = R.T @ (parent.sdd + parent.Omega @ s) + jointd.linear + (carried + omega).cross(joint.linear)
    return LinkMotion(omega, omegad, acceleration_tensor(omega, omegad), sdd)


def body_force(link: Link, motion: LinkMotion) -> Wrench:
    """Inertia force f_i (9) and its moment about the link's origin, r~ f + t with t of (10)."""
    m, gamma, J = link.inertia
    force = motion.sdd * m + motion.Omega @ gamma
    moment = gamma.cross(motion.sdd) + moment_of_tensor(motion.Omega, J)
    return Wrench(force, moment)


def project_on_joints(tree: Tree, placements: list[Placement], qdd, forces: list[Wrench]) -> list[Scalar]:
    """Generalised forces from the wrenches of the bodies, (14)-(16), tips first.

    Shared by all recursive methods: these are Valera 2003 (16), (17), (23), (25), (26) with α - β carried as one vector, and
    the inward recursion of Luh, Walker and Paul.
    """
    totals = list(forces)
    tau: list[Scalar] = [0.0] * tree.nv
    for i in reversed(range(len(tree.links))):
        link = tree.links[i]
        if i in tree.external:
            totals[i] = totals[i].minus(tree.external[i])
        for k, force in enumerate(joint_forces(link, totals[i], qdd)):
            tau[link.idx_v + k] = tau[link.idx_v + k] + force
        if link.parent != BASE:
            totals[link.parent] = totals[link.parent].plus(step_inward(placements[i], totals[i]))
    return tau


def joint_forces(link: Link, total: Wrench, qdd) -> list[Scalar]:
    """Forces of a joint under a wrench, (14), with those that accelerate its rotor, mapped to the leader of a mimic joint."""
    forces = link.kind.project(total.moment, total.force)
    return [
        (force + acceleration * link.armature) * link.multiplier
        for force, acceleration in zip(forces, link.velocities(qdd), strict=True)
    ]


def step_inward(placement: Placement, total: Wrench) -> Wrench:
    """The part of a link's wrench in its parent's: R (f + φ) of (16), and s~ φ + R χ of (15)."""
    R, s = placement
    phi = R @ total.force
    return Wrench(phi, s.cross(phi) + R @ total.moment)
