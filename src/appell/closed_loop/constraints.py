"""The equations of all closures of a robot, in the speeds v of its tree: K(q) v = 0 and K v̇ + K̇ v = 0.

Every row is one equation of one closure (`appell.closed_loop.closures`), every column one speed of the tree.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from appell.algebra import ZERO, Scalar, Vec3, X, Y, Z
from appell.closed_loop.way import Crossing, Loop, Way, walk
from appell.model.joints import Twist

if TYPE_CHECKING:
    from appell.closed_loop.system import LoopSystem

Matrix = list[list[Scalar]]
"""By rows, or by columns where it is said."""


def ways(system: LoopSystem, q: Sequence[Scalar], v: Sequence[Scalar] | None = None) -> list[Way]:
    """The way round every loop."""
    places = system.tree.placements(q)
    return [walk(system.tree, places, loop, v) for loop in system.loops]


def residual(system: LoopSystem, q: Sequence[Scalar]) -> list[Scalar]:
    """What is zero when all loops are closed.  [m, rad]"""
    pairs = zip(system.loops, ways(system, q), strict=True)
    return [entry for loop, way in pairs for entry in loop.kind.residual(way.d, way.Q)]


def columns(system: LoopSystem, q: Sequence[Scalar]) -> Matrix:
    """K by columns."""

    def entries(loop: Loop, way: Way, at: Crossing, unit: Twist) -> list[Scalar]:
        twist = way.column(at, unit)
        return loop.kind.rows(way.Q, twist.linear, twist.angular)

    return _collected(system, ways(system, q), entries)


def column_rates(system: LoopSystem, q: Sequence[Scalar], v: Sequence[Scalar]) -> Matrix:
    """K̇ by columns, while the joints move at v."""

    def entries(loop: Loop, way: Way, at: Crossing, unit: Twist) -> list[Scalar]:
        twist, rate = way.column(at, unit), way.column_rate(at, unit)
        steady = loop.kind.rows(way.Q, rate.linear, rate.angular)
        turning = loop.kind.row_rates(way.Q, way.omega, twist.linear, twist.angular)
        return [a + b for a, b in zip(steady, turning, strict=True)]

    return _collected(system, ways(system, q, v), entries)


def drift(system: LoopSystem, q: Sequence[Scalar], v: Sequence[Scalar]) -> list[Scalar]:
    """K̇ v, joint by joint instead of column by column."""
    rows: list[Scalar] = []
    for loop, way in zip(system.loops, ways(system, q, v), strict=True):
        angular, linear = [], []
        for at in way.crossings:
            link = system.tree.links[at.link]
            rate = way.column_rate(at, link.kind.twist(link.velocities(v)))
            angular.append(rate.angular)
            linear.append(rate.linear)
        total = Twist(sum(angular[1:], angular[0]), sum(linear[1:], linear[0]))
        steady = loop.kind.rows(way.Q, total.linear, total.angular)
        turning = loop.kind.row_rates(way.Q, way.omega, way.v, way.omega)
        rows += [a + b for a, b in zip(steady, turning, strict=True)]
    return rows


def wrenches(system: LoopSystem, q: Sequence[Scalar], multipliers: Sequence[Scalar]) -> Matrix:
    """What every closure exerts on its second body: force at the second origin and moment, along the first body's axes."""
    first, result = 0, []
    for loop, way in zip(system.loops, ways(system, q), strict=True):
        own = multipliers[first : first + loop.kind.count]
        first += loop.kind.count
        wrench = [sum(a * b for a, b in zip(own, row, strict=True)) for row in _unit_rows(loop, way)]
        result.append([*(loop.axes @ Vec3(*wrench[:3])), *(loop.axes @ Vec3(*wrench[3:]))])
    return result


def _unit_rows(loop: Loop, way: Way) -> Matrix:
    """The equations of one closure, for every unit of the relative velocity, linear ones first."""
    linear = [loop.kind.rows(way.Q, unit, ZERO) for unit in (X, Y, Z)]
    return linear + [loop.kind.rows(way.Q, ZERO, unit) for unit in (X, Y, Z)]


Entries = Callable[[Loop, Way, Crossing, Twist], list[Scalar]]


def _collected(system: LoopSystem, found: list[Way], entries: Entries) -> Matrix:
    """A matrix by columns, from the entries that every unit twist on the way round a loop brings."""
    matrix: Matrix = [[0.0] * system.rows for _ in range(system.tree.nv)]
    first = 0
    for loop, way in zip(system.loops, found, strict=True):
        for at in way.crossings:
            link = system.tree.links[at.link]
            for k, unit in enumerate(link.kind.motion_subspace()):
                column = matrix[link.idx_v + k]
                for row, entry in enumerate(entries(loop, way, at, unit), start=first):
                    column[row] = column[row] + entry * link.multiplier
        first += loop.kind.count
    return matrix
