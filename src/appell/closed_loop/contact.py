"""Functions of a robot with closed loops that contact needs, in its independent velocities u.

With v = G u the velocities of the tree, a point of link i at x has the velocity J_x G u and the acceleration J_x Ġ u + J̇_x v at
u̇ = 0: the motion of the links (`appell.algorithms.link_motion`) is that of the tree at v and v̇ = Ġ u, with a unit twist of every
link for every entry of u in the place of those of the joints. Contact impulses p then act on u with M_u = G^T M G as on a tree:

    M_u (u⁺ - u⁻) = (J_x G)^T p,     Delassus matrix (J_x G) M_u^-1 (J_x G)^T.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from appell.algebra import Scalar, Scalars
from appell.algorithms.inverse_dynamics.mata2002 import inverse_dynamics as tree_forces
from appell.algorithms.kinematics import world_motion
from appell.algorithms.link_motion import PER_LINK, PER_UNIT, link_numbers
from appell.algorithms.registry import Quantity
from appell.algorithms.springs import potential_energy
from appell.algorithms.system import SystemOnTree
from appell.closed_loop.constraints import Matrix, VelocityReduction, closure_residual, jacobian_columns
from appell.closed_loop.dynamics import transposed
from appell.closed_loop.elimination import Elimination, dot
from appell.closed_loop.system import LoopSystem
from appell.model.joint_friction import Spring
from appell.model.tree import Tree


def link_motion(system: LoopContactSystem, q: Scalars, qd: Scalars) -> list[Scalar]:
    """R, p, ω, v, α, a of every link, its unit twists e, u per independent velocity, then v, Ġ u and the rows of G."""
    tree, reduction = system.tree, VelocityReduction.at(system.loops, q)
    v, G = reduction.velocities(qd), reduction.columns()
    vd = reduction.accelerations(v, [0.0] * len(qd))
    result = link_numbers(tree, world_motion(tree, q, v), v, vd)
    per_velocity = [world_motion(tree, q, column) for column in G]
    for i in range(len(tree.links)):
        for motions in per_velocity:
            result += [*motions[i].omega, *motions[i].v]
    return [*result, *v, *vd, *(entry for row in transposed(G) for entry in row)]


def closure_step(system: LoopContactSystem, q: Scalars) -> list[Scalar]:
    """The step along the dependent velocities that closes the loops to first order, (n,): K_D s_D = - residual."""
    loops = system.loops
    K = jacobian_columns(loops, q)
    step: list[Scalar] = [0.0] * system.tree.nv
    solution = Elimination.of([K[k] for k in loops.dependent]).solve(closure_residual(loops, q))
    for k, value in zip(loops.dependent, solution, strict=True):
        step[k] = -value
    return step


def damping_matrix(system: LoopContactSystem, q: Scalars) -> Matrix:
    """G^T D G with the damping D of all joints of the tree."""
    G = VelocityReduction.at(system.loops, q).columns()
    damped = [[d * entry for d, entry in zip(system.damping, column, strict=True)] for column in G]
    return [[dot(column, other) for other in damped] for column in G]


def bias(system: LoopContactSystem, q: Scalars, qd: Scalars) -> list[Scalar]:
    """Generalized forces at u̇ = 0, those of springs included.  [N m, N]"""
    reduction = VelocityReduction.at(system.loops, q)
    v = reduction.velocities(qd)
    forces = tree_forces(system.loops.lumped, q, v, reduction.accelerations(v, [0.0] * len(qd)))
    for spring in system.springs:
        forces[spring.idx_v] = forces[spring.idx_v] - spring.force(q)
    return reduction.project_forces(forces)


@dataclass(frozen=True)
class LoopContactSystem(SystemOnTree):
    """A tree with loop closures, springs and damping at its joints."""

    loops: LoopSystem
    springs: tuple[Spring, ...]
    damping: tuple[float, ...]  # of all velocities of the tree
    quantities: ClassVar[Mapping[str, Quantity]] = {
        quantity.name: quantity
        for quantity in (
            Quantity("link_motion", ("q", "qd"), ("m",), "loops", uses_gravity=False, methods={"loops": link_motion}),
            Quantity("closure_step", ("q",), ("n",), "loops", uses_gravity=False, methods={"loops": closure_step}),
            Quantity(
                "damping_matrix", ("q",), ("v", "v"), "loops", uses_gravity=False, methods={"loops": damping_matrix}
            ),
            Quantity("bias", ("q", "qd"), ("v",), "loops", methods={"loops": bias}),
            Quantity("potential_energy", ("q",), (), "loops", methods={"loops": potential_energy}),
        )
    }
    sources: ClassVar[tuple[Path, ...]] = LoopSystem.sources

    @property
    def tree(self) -> Tree:
        return self.loops.tree

    @property
    def sizes(self) -> Mapping[str, int]:
        tree, v = self.tree, len(self.loops.independent)
        results = PER_LINK * len(tree.links) + PER_UNIT * len(tree.links) * v + (2 + v) * tree.nv
        return {"q": tree.nq, "qd": v, "v": v, "n": tree.nv, "m": results}

    @property
    def fingerprint_data(self) -> object:
        return self.loops.fingerprint_data, self.springs, self.damping
