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

from appell.algebra import (
    IDENTITY,
    DirectionCosines,
    Mat3,
    Rotation,
    Scalar,
    Scalars,
    Vec3,
    Wrench,
    acceleration_tensor,
)
from appell.algorithms.inverse_dynamics.mata2002 import LinkMotion, body_force, propagate_motion, step_inward
from appell.algorithms.registry import algorithm
from appell.model.parameters import PER_LINK, inertia_of, parameter_count, rotors
from appell.model.tree import Link, Placement, Tree


@algorithm("regressor", "mata2002")
def regressor(tree: Tree, q: Scalars, qd: Scalars, qdd: Scalars) -> list[list[Scalar]]:
    """K with tau = K Φ."""
    placements = tree.placements(q)
    motions = propagate_motion(tree, placements, qd, qdd)
    K: list[list[Scalar]] = [[0.0] * parameter_count(tree) for _ in range(tree.nv)]
    for i, (link, motion) in enumerate(zip(tree.links, motions, strict=True)):
        frame = tree.frames[link.body]
        body = in_link(frame.R, frame.p)
        for k, wrench in enumerate(unit_wrenches(link, motion_of_body(body, motion))):
            for row, force in joint_forces_to_base(tree, placements, i, step_inward(body, wrench)):
                K[row][PER_LINK * i + k] = K[row][PER_LINK * i + k] + force
    for k, (_, link) in enumerate(rotors(tree), PER_LINK * len(tree.links)):
        for row, acceleration in enumerate(link.velocities(qdd), link.idx_v):
            K[row][k] = acceleration * link.multiplier
    return K


def in_link(R: Mat3, p: Vec3) -> Placement:
    """Placement of a body in its link."""
    return Placement(Rotation(DirectionCosines(R)), p)


def motion_of_body(place: Placement, motion: LinkMotion) -> LinkMotion:
    """Motion of a link, seen from its body's frame."""
    R, p = place
    omega, omegad = R.T @ motion.omega, R.T @ motion.omegad
    return LinkMotion(omega, omegad, acceleration_tensor(omega, omegad), R.T @ (motion.sdd + motion.Omega @ p))


def unit_wrenches(link: Link, motion: LinkMotion) -> list[Wrench]:
    """Inertia force and moment, (9) and (10), for each unit parameter of a body, in the body's frame."""
    return [body_force(replace(link, inertia=inertia_of(unit, IDENTITY)), motion) for unit in UNITS]


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
