"""Motion of all links of a tree in one function: what contacts with surfaces need, whatever the points and surfaces are.

Per link, along the world's axes: rotation R by rows, position p of its origin, angular velocity ω, velocity v of the origin, and
the accelerations α and a of both at qdd = 0. Then per unit twist of a joint, times its multiplier: direction e of the rotation
and velocity u of the origin. A point of link i at x has

    v_x = v + ω x (x - p),   J_x = columns u_k + e_k x (x - p_k) of all joints k on the way to i,
    J̇_x qd = a + α x (x - p) + ω x (ω x (x - p)).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from appell.algebra import Scalar, Scalars
from appell.algorithms.kinematics import WorldMotion, world_accelerations, world_motion
from appell.algorithms.registry import Quantity
from appell.algorithms.system import SystemOnTree
from appell.model.tree import Tree

PER_LINK, PER_UNIT = 24, 6
"""Numbers of a link, and of a unit twist."""


def link_motion(system: LinkMotionSystem, q: Scalars, qd: Scalars) -> list[Scalar]:
    """R, p, ω, v, α, a of every link, then e, u of every unit twist."""
    tree = system.tree
    motions = world_motion(tree, q, qd)
    result = link_numbers(tree, motions, qd, [0.0] * tree.nv)
    for link, motion in zip(tree.links, motions, strict=True):
        for e, u in motion.units(link.kind.motion_subspace()):
            result += [*(e * link.multiplier), *(u * link.multiplier)]
    return result


def link_numbers(tree: Tree, motions: list[WorldMotion], qd: Scalars, qdd: Scalars) -> list[Scalar]:
    """R, p, ω, v, α, a of every link."""
    result: list[Scalar] = []
    for motion, acceleration in zip(motions, world_accelerations(tree, motions, qd, qdd), strict=True):
        rows = [entry for row in motion.R.rows for entry in row]
        result += [*rows, *motion.p, *motion.omega, *motion.v, *acceleration.angular, *acceleration.linear]
    return result


@dataclass(frozen=True)
class LinkMotionSystem(SystemOnTree):
    """A tree with the function `link_motion`."""

    tree: Tree
    quantities: ClassVar[Mapping[str, Quantity]] = {
        "link_motion": Quantity(
            "link_motion", ("q", "qd"), ("m",), "recursive", uses_gravity=False, methods={"recursive": link_motion}
        )
    }

    @property
    def sizes(self) -> Mapping[str, int]:
        tree = self.tree
        return {"q": tree.nq, "qd": tree.nv, "m": PER_LINK * len(tree.links) + PER_UNIT * len(unit_twists(tree))}


def unit_twists(tree: Tree) -> list[tuple[int, int]]:
    """Link and index in qd of every unit twist, in the order of `link_motion`."""
    return [(i, link.idx_v + k) for i, link in enumerate(tree.links) for k in range(link.kind.nv)]
