"""Reduction of the velocities of a tree to independent ones: v = G(q) u, v̇ = G u̇ + Ġ u.

The independent velocities u are some of the tree's own; the others, v_D, follow from the closures, K_D v_D = - K_I u. With
A = K_D in the factors of `Elimination`,
    v_D = - A⁺ K_I u,        v̇_D = - A⁺ (K_I u̇ + K̇ v),        G^T f = f_I - K_I^T λ with A^T λ = f_D.
G is not needed for the last one: λ are the multipliers that balance the forces f_D on the dependent joints.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from appell.algebra import Scalar, is_zero
from appell.closed_loop import constraints
from appell.closed_loop.constraints import Matrix
from appell.closed_loop.elimination import Elimination, dot, subtract_multiple, unit_step

if TYPE_CHECKING:
    from appell.closed_loop.system import LoopSystem

CLOSURE_TOL = 1e-4
"""Configurations with a larger norm of the closure residual are invalid. [m, rad]"""


@dataclass(frozen=True)
class VelocityReduction:
    """The closures at one configuration, solved for the dependent velocities."""

    system: LoopSystem
    q: Sequence[Scalar]
    K: Matrix
    """By columns, one per velocity of the tree."""
    factors: Elimination

    @classmethod
    def at(cls, system: LoopSystem, q: Sequence[Scalar]) -> VelocityReduction:
        K, residual = constraints.jacobian_columns(system, q), constraints.closure_residual(system, q)
        closed = unit_step(CLOSURE_TOL**2 - dot(residual, residual))
        return cls(system, q, K, Elimination.of([K[k] for k in system.dependent], closed))

    def all_velocities(self, independent: Sequence[Scalar], extra: Sequence[Scalar] | None = None) -> list[Scalar]:
        """All velocities of the tree from the independent ones: K v + extra = 0."""
        total: list[Scalar] = [0.0] * self.system.rows if extra is None else list(extra)
        for k, velocity in zip(self.system.independent, independent, strict=True):
            total = subtract_multiple(total, -velocity, self.K[k])
        v: list[Scalar] = [0.0] * self.system.tree.nv
        for k, velocity in zip(self.system.independent, independent, strict=True):
            v[k] = velocity
        for k, value in zip(self.system.dependent, self.factors.solve(total), strict=True):
            v[k] = -value
        return v

    def velocities(self, u: Sequence[Scalar]) -> list[Scalar]:
        """v = G u."""
        return self.all_velocities(u)

    def accelerations(self, v: Sequence[Scalar], ud: Sequence[Scalar]) -> list[Scalar]:
        """v̇ = G u̇ + Ġ u at the tree's velocities v = G u."""
        return self.all_velocities(ud, constraints.velocity_product(self.system, self.q, v))

    def multipliers(self, f: Sequence[Scalar]) -> list[Scalar]:
        """Minimum-norm λ with K_D^T λ = f_D."""
        if not self.system.dependent:  # closures without effect
            return [0.0] * self.system.rows
        return self.factors.solve_transposed([f[k] for k in self.system.dependent])

    def project_forces(self, f: Sequence[Scalar]) -> list[Scalar]:
        """G^T f."""
        multipliers = self.multipliers(f)
        return [f[k] - dot(self.K[k], multipliers) for k in self.system.independent]

    def columns(self) -> Matrix:
        """G by columns, one per independent velocity."""
        count = len(self.system.independent)
        return [self.all_velocities([1.0 if i == k else 0.0 for i in range(count)]) for k in range(count)]

    def column_rates(self, v: Sequence[Scalar], G: Matrix) -> Matrix:
        """Ġ by columns: K_D Ġ_D = - K̇ G, and Ġ_I = 0."""
        rates = constraints.jacobian_column_rates(self.system, self.q, v)
        zero = [0.0] * len(self.system.independent)
        return [self.all_velocities(zero, times(rates, column)) for column in G]


def times(A: Matrix, x: Sequence[Scalar]) -> list[Scalar]:
    """A x for A by columns, without structural zeros."""
    total: list[Scalar] = [0.0] * (len(A[0]) if A else 0)
    for column, entry in zip(A, x, strict=True):
        if not is_zero(entry):
            total = subtract_multiple(total, -entry, column)
    return total
