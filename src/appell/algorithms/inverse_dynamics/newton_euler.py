"""Inverse dynamics of a tree by the recursive Newton-Euler equations in link frames.

Source: J.Y.S. Luh, M.W. Walker, R.P.C. Paul, On-line computational scheme for mechanical manipulators, J. Dyn. Syst. Meas.
Control 102 (1980). Written for frames at the joint (modified Denavit-Hartenberg), as the papers compare it.
"""

from __future__ import annotations

from appell.algebra import Scalar, Scalars, Wrench
from appell.algorithms.inverse_dynamics.mata2002 import project_on_joints
from appell.algorithms.inverse_dynamics.valera2003 import VectorMotion, propagate_motion
from appell.algorithms.registry import algorithm
from appell.model.tree import Link, Tree


@algorithm("inverse_dynamics", "newton_euler")
def inverse_dynamics(tree: Tree, q: Scalars, qd: Scalars, qdd: Scalars) -> list[Scalar]:
    """Generalised forces tau that give qdd at (q, qd).  [N m, N]"""
    placements = tree.placements(q)
    motions = propagate_motion(tree, placements, qd, qdd)
    forces = []
    for link, motion in zip(tree.links, motions, strict=True):
        F, N = newton_euler(link, motion)
        forces.append(Wrench(F, N + link.inertia.com.cross(F)))
    return project_on_joints(tree, placements, qdd, forces)


@algorithm("bias", "newton_euler")
def bias(tree: Tree, q: Scalars, qd: Scalars) -> list[Scalar]:
    """C qd + g: the forces at zero acceleration."""
    return inverse_dynamics(tree, q, qd, [0.0] * tree.nv)


def newton_euler(link: Link, motion: VectorMotion) -> Wrench:
    """Newton's F = m r̈_G and Euler's N = I ω̇ + ω x I ω, at the centre of mass."""
    mass, com, inertia = link.inertia.mass, link.inertia.com, link.inertia.inertia
    F = motion.acceleration_of(com) * mass
    N = inertia @ motion.omegad + motion.omega.cross(inertia @ motion.omega)
    return Wrench(F, N)
