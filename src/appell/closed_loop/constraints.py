"""The closure equations in the velocities v of the spanning tree, K(q) v = 0 and K v̇ + K̇ v = 0, solved for dependent ones.

Rows of K are equations of closures (`appell.closed_loop.closures`), columns are velocities of the tree. The independent
velocities u are some of the tree's own; the others, v_D, follow from K_D v_D = - K_I u. With A = K_D in the factors of
`Elimination`, v = G(q) u and v̇ = G u̇ + Ġ u:
    v_D = - A⁺ K_I u,        v̇_D = - A⁺ (K_I u̇ + K̇ v),        G^T f = f_I - K_I^T λ with A^T λ = f_D.
G is not needed for the last one: λ are the multipliers that balance the forces f_D on the dependent joints.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from appell.algebra import ZERO, Scalar, Twist, Vec3, X, Y, Z, is_zero
from appell.closed_loop.closures import KinematicLoop, LoopKinematics, PathJoint, loop_kinematics
from appell.closed_loop.elimination import Elimination, dot, subtract_multiple, unit_step

if TYPE_CHECKING:
    from appell.closed_loop.system import LoopSystem

Matrix = list[list[Scalar]]
"""By rows unless stated otherwise."""
CLOSURE_TOL = 1e-4
"""Configurations with a larger norm of the closure residual are invalid. [m, rad]"""


def all_loop_kinematics(
    system: LoopSystem, q: Sequence[Scalar], v: Sequence[Scalar] | None = None
) -> list[LoopKinematics]:
    placements = system.tree.placements(q)
    return [loop_kinematics(system.tree, placements, loop, v) for loop in system.loops]


def closure_residual(system: LoopSystem, q: Sequence[Scalar]) -> list[Scalar]:
    """Zero when all loops are closed.  [m, rad]"""
    pairs = zip(system.loops, all_loop_kinematics(system, q), strict=True)
    return [entry for loop, path in pairs for entry in loop.kind.residual(path.d, path.Q)]


def jacobian_columns(system: LoopSystem, q: Sequence[Scalar]) -> Matrix:
    """K by columns."""

    def entries(loop: KinematicLoop, path: LoopKinematics, at: PathJoint, unit: Twist) -> list[Scalar]:
        twist = path.column(at, unit)
        return loop.kind.rows(path.Q, twist.linear, twist.angular)

    return _assemble_columns(system, all_loop_kinematics(system, q), entries)


def jacobian_column_rates(system: LoopSystem, q: Sequence[Scalar], v: Sequence[Scalar]) -> Matrix:
    """K̇ by columns at the velocities v."""

    def entries(loop: KinematicLoop, path: LoopKinematics, at: PathJoint, unit: Twist) -> list[Scalar]:
        twist, rate = path.column(at, unit), path.column_rate(at, unit)
        steady = loop.kind.rows(path.Q, rate.linear, rate.angular)
        turning = loop.kind.row_rates(path.Q, path.omega, twist.linear, twist.angular)
        return [a + b for a, b in zip(steady, turning, strict=True)]

    return _assemble_columns(system, all_loop_kinematics(system, q, v), entries)


def velocity_product(system: LoopSystem, q: Sequence[Scalar], v: Sequence[Scalar]) -> list[Scalar]:
    """K̇ v, accumulated per joint instead of per column."""
    rows: list[Scalar] = []
    for loop, path in zip(system.loops, all_loop_kinematics(system, q, v), strict=True):
        angular, linear = [], []
        for at in path.joints:
            link = system.tree.links[at.link]
            rate = path.column_rate(at, link.kind.twist(link.velocities(v)))
            angular.append(rate.angular)
            linear.append(rate.linear)
        total = Twist(sum(angular[1:], angular[0]), sum(linear[1:], linear[0]))
        steady = loop.kind.rows(path.Q, total.linear, total.angular)
        turning = loop.kind.row_rates(path.Q, path.omega, path.v, path.omega)
        rows += [a + b for a, b in zip(steady, turning, strict=True)]
    return rows


def closure_wrenches(system: LoopSystem, q: Sequence[Scalar], multipliers: Sequence[Scalar]) -> Matrix:
    """Wrench of every closure on its second body: force at the second origin and moment, along the first body's axes."""
    first, result = 0, []
    for loop, path in zip(system.loops, all_loop_kinematics(system, q), strict=True):
        own = multipliers[first : first + loop.kind.count]
        first += loop.kind.count
        wrench = [sum(a * b for a, b in zip(own, row, strict=True)) for row in _unit_rows(loop, path)]
        result.append([*(loop.axes @ Vec3(*wrench[:3])), *(loop.axes @ Vec3(*wrench[3:]))])
    return result


def _unit_rows(loop: KinematicLoop, path: LoopKinematics) -> Matrix:
    """Closure rows for each unit relative velocity, linear first."""
    linear = [loop.kind.rows(path.Q, unit, ZERO) for unit in (X, Y, Z)]
    return linear + [loop.kind.rows(path.Q, ZERO, unit) for unit in (X, Y, Z)]


Entries = Callable[[KinematicLoop, LoopKinematics, PathJoint, Twist], list[Scalar]]


def _assemble_columns(system: LoopSystem, paths: list[LoopKinematics], entries: Entries) -> Matrix:
    """A matrix by columns, from the entries of every unit twist along the loop paths."""
    matrix: Matrix = [[0.0] * system.rows for _ in range(system.tree.nv)]
    first = 0
    for loop, path in zip(system.loops, paths, strict=True):
        for at in path.joints:
            link = system.tree.links[at.link]
            for k, unit in enumerate(link.kind.motion_subspace()):
                column = matrix[link.idx_v + k]
                for row, entry in enumerate(entries(loop, path, at, unit), start=first):
                    column[row] = column[row] + entry * link.multiplier
        first += loop.kind.count
    return matrix


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
        K, residual = jacobian_columns(system, q), closure_residual(system, q)
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
        return self.all_velocities(ud, velocity_product(self.system, self.q, v))

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
        rates = jacobian_column_rates(self.system, self.q, v)
        zero = [0.0] * len(self.system.independent)
        return [self.all_velocities(zero, times(rates, column)) for column in G]


def times(A: Matrix, x: Sequence[Scalar]) -> list[Scalar]:
    """A x for A by columns, without structural zeros."""
    total: list[Scalar] = [0.0] * (len(A[0]) if A else 0)
    for column, entry in zip(A, x, strict=True):
        if not is_zero(entry):
            total = subtract_multiple(total, -entry, column)
    return total
