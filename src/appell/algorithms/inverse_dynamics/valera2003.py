"""Inverse dynamics of a tree, vector form of the Gibbs-Appell equations.

Source: Valera et al. 2003, section 2, with the corrections of docs/theory/valera2003.md. Symbols: docs/notation.md.
    (8)   τ_j = A_j + B_j               rotational and translational part of ∂G/∂q̈_j
    (16)  A_j = z_j · α_j               (17)  α_j = I ω̇ + ω x I ω + R α_j+1
    (23)  B_j = -z_j · β_j              (25)  β_j = m r̈_G x r_OG + φ_j x s_j,j+1 + R β_j+1
α and β are carried as one vector α - β, which saves one rotation per joint, as the paper's own count assumes.
(9)-(12), the motion of the links by vector recursions, are shared with Newton-Euler.
"""

from __future__ import annotations

from typing import NamedTuple

from appell.algebra import ZERO, Scalar, Scalars, Vec3, Wrench
from appell.algorithms.inverse_dynamics.mata2002 import project_on_joints
from appell.algorithms.registry import algorithm
from appell.model.tree import BASE, Link, Placement, Tree


class VectorMotion(NamedTuple):
    """Angular velocity, angular acceleration and acceleration of the origin, in the link's frame."""

    omega: Vec3
    omegad: Vec3
    rdd: Vec3

    def acceleration_of(self, r: Vec3) -> Vec3:
        """Acceleration of the point r of the link, (12)."""
        return self.rdd + self.omega.cross(self.omega.cross(r)) + self.omegad.cross(r)


@algorithm("inverse_dynamics", "valera2003")
def inverse_dynamics(tree: Tree, q: Scalars, qd: Scalars, qdd: Scalars) -> list[Scalar]:
    """Generalised forces tau that give qdd at (q, qd).  [N m, N]"""
    placements = tree.placements(q)
    motions = propagate_motion(tree, placements, qd, qdd)  # steps 1 and 2
    forces = []
    for link, motion in zip(tree.links, motions, strict=True):
        force = translational_force(link, motion)
        alpha, beta = rotational_moment(link, motion), force.cross(link.inertia.com)
        forces.append(Wrench(force, alpha - beta))  # steps 4 and 5, each body's own part
    return project_on_joints(tree, placements, qdd, forces)  # the recursions of (17), (25), (26), and step 6


@algorithm("bias", "valera2003")
def bias(tree: Tree, q: Scalars, qd: Scalars) -> list[Scalar]:
    """C qd + g: A + B at zero acceleration (section 4, corrected: both terms, not B alone)."""
    return inverse_dynamics(tree, q, qd, [0.0] * tree.nv)


def propagate_motion(tree: Tree, placements: list[Placement], qd, qdd) -> list[VectorMotion]:
    """Motion of every link, parents first; gravity enters as the acceleration of the base."""
    motions: list[VectorMotion] = []
    for link, placement in zip(tree.links, placements, strict=True):
        parent = VectorMotion(ZERO, ZERO, -tree.gravity) if link.parent == BASE else motions[link.parent]
        motions.append(step_outward(link, placement, parent, qd, qdd))
    return motions


def step_outward(link: Link, placement: Placement, parent: VectorMotion, qd, qdd) -> VectorMotion:
    """Motion of a link from its parent's, (9)-(11)."""
    R, s = placement
    joint, jointd = link.kind.twist(link.velocities(qd)), link.kind.twist(link.velocities(qdd))
    carried = R.T @ parent.omega
    omega = carried + joint.angular  # (9), with the factor rho that is missing in print
    omegad = R.T @ parent.omegad + jointd.angular + carried.cross(joint.angular)  # (10), likewise
    relative = jointd.linear + (carried + omega).cross(joint.linear)
    return VectorMotion(omega, omegad, R.T @ parent.acceleration_of(s) + relative)  # (11)


def translational_force(link: Link, motion: VectorMotion) -> Vec3:
    """m r̈_G, the gradient of the translational part of the Gibbs function."""
    return motion.acceleration_of(link.inertia.com) * link.inertia.mass


def rotational_moment(link: Link, motion: VectorMotion) -> Vec3:
    """I_G ω̇ + ω x I_G ω, the body's part of α in (17)."""
    inertia = link.inertia.inertia
    return inertia @ motion.omegad + motion.omega.cross(inertia @ motion.omega)
