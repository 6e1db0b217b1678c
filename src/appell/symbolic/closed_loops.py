"""The equations of motion of a small robot with closed loops, in closed form.

In the coordinates q and velocities v of the spanning tree, with the multipliers λ of the closures,

    M(q) v̇ + velocity_forces(q, v) + gravity(q) = S^T τ + K(q)^T λ,        K v̇ + closure_bias(q, v) = 0,        closure(q) = 0.

`reduced` eliminates the multipliers: with the independent velocities u, v = G(q) u, G = [1; -K_D⁻¹ K_I] and Gibbs-Appell's

    G^T M G u̇ + G^T (velocity_forces - M [0; K_D⁻¹ closure_bias]) + G^T gravity = G^T S^T τ.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from appell.algebra import Mat3, Vec3
from appell.closed_loop.closures import loop_kinematics
from appell.closed_loop.constraints import jacobian_columns, velocity_product
from appell.closed_loop.robot import ClosedLoopRobot
from appell.closed_loop.singularity import jacobian_at
from appell.model.tree import Tree
from appell.symbolic.harmonic import to_sympy
from appell.symbolic.tree_equations import Equations, SymbolicTree, tree_equations

if TYPE_CHECKING:
    import sympy


@dataclass(frozen=True)
class ClosedLoopEquations:
    """Equations of a robot with closed loops.

    Attributes:
        tree: those of the spanning tree, with its coordinates and velocities.
        closure: residuals of the closures, zero where the loops are closed, (rows, 1).
        K: Jacobian of the closures, K v = 0, (rows, nv of the tree).
        closure_bias: K̇ v, (rows, 1).
        S: which velocities of the tree have an actuator, (nu, nv of the tree).
        independent, dependent: indices of the velocities of the tree, from 0.
        rows: closures that are independent at the reference configuration, one for each dependent velocity, from 0.
    """

    tree: Equations
    closure: sympy.ImmutableMatrix
    K: sympy.ImmutableMatrix
    closure_bias: sympy.ImmutableMatrix
    S: sympy.ImmutableMatrix
    independent: tuple[int, ...]
    dependent: tuple[int, ...]
    rows: tuple[int, ...]

    def velocities(self) -> sympy.ImmutableMatrix:
        """G(q): the velocities of the tree from the independent ones, v = G u."""
        import sympy

        rows, free, D = list(self.rows), list(self.independent), list(self.dependent)
        solved = -_inverse(self.K.extract(rows, D)) * self.K.extract(rows, free)
        G = sympy.zeros(len(free) + len(D), len(free))
        for k, i in enumerate(free):
            G[i, k] = 1
        for k, d in enumerate(D):
            G[d, :] = solved[k, :]
        return sympy.ImmutableMatrix(G)

    def reduced(self) -> Equations:
        """The equations in the independent velocities, at closed configurations; `qd` has these velocities.

        Forces are generalized ones, G^T S^T tau of the actuators.
        """
        import sympy

        G, qd, rows, D = self.velocities(), self.tree.qd, list(self.rows), list(self.dependent)
        u = sympy.Matrix([qd[k] for k in self.independent])
        moving = dict(zip([qd[d] for d in D], (G * u).extract(D, [0]), strict=True))
        solved = _inverse(self.K.extract(rows, D)) * self.closure_bias.extract(rows, [0])
        drift = sympy.zeros(len(qd), 1)
        for k, d in enumerate(D):
            drift[d] = -solved[k]
        forces = (self.tree.velocity_forces + self.tree.M * drift).subs(moving, simultaneous=True)
        return replace(
            self.tree, qd=sympy.ImmutableMatrix(u), M=sympy.ImmutableMatrix(G.T * self.tree.M * G),
            velocity_forces=sympy.ImmutableMatrix(G.T * forces), gravity=sympy.ImmutableMatrix(G.T * self.tree.gravity),
        )  # fmt: skip

    def latex(self) -> str:
        """The terms of the tree, K and its bias as an `aligned` block of LaTeX."""
        return self.tree.latex((r"\mathbf{K}", self.K), (r"\dot{\mathbf{K}}\dot{\mathbf{q}}", self.closure_bias))

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.latex()}$"


def closed_loop_equations(robot: ClosedLoopRobot, symbols: bool, force: bool) -> ClosedLoopEquations:
    """The equations of a robot with closed loops; poses of the closures' frames stay numbers."""
    import sympy

    loops = robot.system.loops

    def used(tree: Tree, q: list[Any]) -> list[Any]:
        placements = tree.placements(q)
        paths = [loop_kinematics(tree, placements, loop) for loop in loops]
        return [entry for path in paths for entry in (*path.d, *path.Q)]

    equations, symbolic = tree_equations(robot.spanning_tree, symbols, force, used)
    system = replace(robot.system, tree=symbolic.tree)

    def matrix(rows: Iterable[Iterable[Any]]) -> sympy.ImmutableMatrix:
        return sympy.ImmutableMatrix([[to_sympy(entry, symbolic.variables) for entry in row] for row in rows])

    K = jacobian_columns(system, symbolic.q)
    bias = velocity_product(system, symbolic.q, symbolic.qd)
    actuated = [[int(k == v) for v in range(symbolic.tree.nv)] for k in system.actuated]
    dependent = tuple(sorted(system.dependent))
    return ClosedLoopEquations(
        equations, sympy.ImmutableMatrix(_residuals(system, symbolic)), matrix(zip(*K, strict=True)),
        matrix([entry] for entry in bias), sympy.ImmutableMatrix(actuated), tuple(system.independent), dependent,
        independent_rows(jacobian_at(robot.system, np.array(robot.reference_configuration))[:, list(dependent)]),
    )  # fmt: skip


def independent_rows(K: np.ndarray) -> tuple[int, ...]:
    """As many rows of a matrix of full column rank as it has columns, well conditioned, in order."""
    from scipy.linalg import qr

    pivots = qr(K.T, mode="r", pivoting=True)[1]  # type: ignore[misc]
    return tuple(sorted(int(k) for k in pivots[: K.shape[1]]))


def _residuals(system: Any, symbolic: SymbolicTree) -> list[Any]:
    """Residuals of all closures; some divide by cosines, so that they are computed from SymPy's expressions."""
    placements, found = symbolic.tree.placements(symbolic.q), []
    for loop in system.loops:
        path = loop_kinematics(symbolic.tree, placements, loop)
        d, Q = ([to_sympy(x, symbolic.variables) for x in part] for part in (path.d, path.Q))
        found += loop.kind.residual(Vec3(*d), Mat3(*Q))
    return found


def _inverse(A: Any) -> Any:
    """By cofactors, which keeps the formulas of small matrices short."""
    return A.adjugate() / A.det()
