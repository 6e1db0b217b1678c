"""The equations of motion as a matrix times the inertial parameters: tau = K(q, qd, qdd) Φ.

Source: Valera et al. 2003, section 4 (its Φ has Ixz before Iyy; here the order is that of `Robot.parameters`), with the
tensor recursion of Mata 2002, section 4.1. In the ten numbers (m, γ, I) of a body at its origin the inertia force and its
moment are linear, so a column of K is the recursion run for a body that has one unit parameter and no other:

    (9)   f = m s̈ + Ω γ        moment = γ x s̈ + t_O(Ω, J)        J = trace(I)/2 1 - I

propagated from that body to the base by (15) and (16), and projected on every joint of that path by (14). A rotor acts on its
own joint alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from appell.algebra import Scalar, Scalars, Wrench
from appell.algorithms.inverse_dynamics.mata2002 import body_force, propagate_motion, step_inward
from appell.algorithms.registry import algorithm
from appell.model.parameters import PER_LINK, inertia_of, parameter_count, rotors
from appell.model.tree import Placement, Tree


@algorithm("regressor", "mata2002")
def regressor(tree: Tree, q: Scalars, qd: Scalars, qdd: Scalars) -> list[list[Scalar]]:
    """K with tau = K Φ."""
    placements = tree.placements(q)
    motions = propagate_motion(tree, placements, qd, qdd)
    K: list[list[Scalar]] = [[0.0] * parameter_count(tree) for _ in range(tree.nv)]
    for i, (link, motion) in enumerate(zip(tree.links, motions, strict=True)):
        frame = tree.frames[link.body]
        for k, unit in enumerate(UNITS):
            wrench = body_force(replace(link, inertia=inertia_of(unit, frame.R, frame.p)), motion)  # (9), (10)
            for row, force in joint_forces_to_base(tree, placements, i, wrench):
                K[row][PER_LINK * i + k] = K[row][PER_LINK * i + k] + force
    for k, (_, link) in enumerate(rotors(tree), PER_LINK * len(tree.links)):
        for row, acceleration in enumerate(link.velocities(qdd), link.idx_v):
            K[row][k] = acceleration * link.multiplier
    return K


def joint_forces_to_base(
    tree: Tree, placements: list[Placement], i: int, wrench: Wrench
) -> Iterator[tuple[int, Scalar]]:
    """Index in qd and generalised force, (14), of every joint between a body's wrench and the base, (15) and (16)."""
    for j in tree.ancestors(i):
        link = tree.links[j]
        for k, force in enumerate(link.kind.project(wrench.moment, wrench.force)):
            yield link.idx_v + k, force * link.multiplier
        wrench = step_inward(placements[j], wrench)


UNITS = tuple(tuple(float(i == k) for i in range(PER_LINK)) for k in range(PER_LINK))
"""The ten unit vectors of a body's parameters."""
