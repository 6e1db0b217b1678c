"""The closure equations in the velocities v of the spanning tree: K(q) v = 0 and K v̇ + K̇ v = 0.

Rows are equations of closures (`appell.closed_loop.closures`), columns are velocities of the tree.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from appell.algebra import ZERO, Scalar, Twist, Vec3, X, Y, Z
from appell.closed_loop.loop_path import KinematicLoop, LoopKinematics, PathJoint, loop_kinematics

if TYPE_CHECKING:
    from appell.closed_loop.system import LoopSystem

Matrix = list[list[Scalar]]
"""By rows unless stated otherwise."""


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
