"""The inward pass that all recursive inverse dynamics share: wrenches of bodies become forces of joints.

Mata 2002 eqs (14)-(16), which are Valera 2003 eqs (16), (17), (23), (25), (26) with α - β carried as one vector, and the
inward recursion of Luh, Walker and Paul.
"""

from __future__ import annotations

from appell.algebra import Scalar
from appell.algebra.wrench import Wrench
from appell.model.tree import BASE, Link, Placement, Tree


def project_on_joints(tree: Tree, places: list[Placement], qdd, forces: list[Wrench]) -> list[Scalar]:
    """Generalised forces from the wrenches of the bodies, (14)-(16), tips first."""
    totals = list(forces)
    tau: list[Scalar] = [0.0] * tree.nv
    for i in reversed(range(len(tree.links))):
        link = tree.links[i]
        if i in tree.external:
            totals[i] = totals[i].minus(tree.external[i])
        for k, force in enumerate(joint_forces(link, totals[i], qdd)):
            tau[link.idx_v + k] = tau[link.idx_v + k] + force
        if link.parent != BASE:
            totals[link.parent] = totals[link.parent].plus(step_inward(places[i], totals[i]))
    return tau


def joint_forces(link: Link, total: Wrench, qdd) -> list[Scalar]:
    """Forces of the joint that carries a wrench, (14), and accelerates its rotor; felt by the leader if it mimics one."""
    forces = link.kind.project(total.moment, total.force)
    return [
        (force + acceleration * link.armature) * link.multiplier
        for force, acceleration in zip(forces, link.velocities(qdd), strict=True)
    ]


def step_inward(place: Placement, total: Wrench) -> Wrench:
    """What a link's wrench adds to its parent's: R (f + φ) of (16), and s~ φ + R χ of (15)."""
    R, s = place
    phi = R @ total.force
    return Wrench(phi, s.cross(phi) + R @ total.moment)
