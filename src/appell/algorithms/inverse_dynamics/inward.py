"""The inward pass that all recursive inverse dynamics share: wrenches of bodies become forces of joints.

Mata 2002 eqs (14)-(16), which are Valera 2003 eqs (16), (17), (23), (25), (26) with α - β carried as one vector, and the
inward recursion of Luh, Walker and Paul.
"""

from __future__ import annotations

from appell.algebra import Scalar
from appell.model.tree import BASE, Placement, Tree, Wrench


def project_on_joints(tree: Tree, places: list[Placement], qdd, forces: list[Wrench]) -> list[Scalar]:
    """Generalised forces from the wrenches of the bodies, (14)-(16), tips first."""
    totals = list(forces)
    tau: list[Scalar] = [0.0] * tree.nv
    for i in reversed(range(len(tree.links))):
        link = tree.links[i]
        if i in tree.external:
            totals[i] = _without(totals[i], tree.external[i])
        accelerations = link.speeds(qdd)
        for k, force in enumerate(link.kind.project(totals[i].moment, totals[i].force)):
            own = force + accelerations[k] * link.armature
            tau[link.v + k] = tau[link.v + k] + own * link.multiplier
        if link.parent != BASE:
            totals[link.parent] = step_inward(places[i], totals[link.parent], totals[i])
    return tau


def step_inward(place: Placement, parent: Wrench, own: Wrench) -> Wrench:
    """The parent's wrench with this link's carried over: (15) and (16)."""
    R, s = place
    phi = R @ own.force
    return Wrench(parent.force + phi, parent.moment + s.cross(phi) + R @ own.moment)


def _without(a: Wrench, b: Wrench) -> Wrench:
    return Wrench(a.force - b.force, a.moment - b.moment)
