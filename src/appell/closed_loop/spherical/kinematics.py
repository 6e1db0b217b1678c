"""Joint angles of a spherical parallel robot with their rates and accelerations, poses, and distances from singularities.

Source: Abedloo 2014, eqs (34), (36), (40), (41), with the corrections of docs/theory/abedloo2014.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from appell.algebra import Rotation, Scalar, Vec3, X
from appell.algebra.scalar import atan2
from appell.closed_loop.spherical.actuation import orthogonal_columns
from appell.closed_loop.spherical.dynamics import euler_chain
from appell.closed_loop.spherical.jacobians import actuated_rows, body_jacobians
from appell.closed_loop.spherical.placements import Placements, chain_rotation, placements
from appell.closed_loop.spherical.rates import (
    coordinate_velocities,
    joint_motion,
    platform_rates,
    quasi_velocities,
)

if TYPE_CHECKING:
    from appell.closed_loop.spherical.system import BodyIndex, SphericalSystem


def joint_angles(system: SphericalSystem, q: Sequence[Scalar]) -> list[Scalar]:
    """Angles of all joints of all legs, from -π to π for the dependent ones: (34), (36).  [rad]"""
    placed = placements(system, q)
    angles: list[Scalar] = []
    for model, leg, free in zip(system.legs, placed.legs, system.free_angles(q), strict=True):
        angles += free
        if len(free) == model.joints:
            continue
        angles += [atan2(turn.sin, turn.cos) for turn in leg.turns[-2:]]
        last = chain_rotation(model, leg.turns).T @ (placed.R @ (model.tip @ X))
        angles.append(atan2(last.y, last.x))
    return angles


def joint_velocities(system: SphericalSystem, q, qd) -> list[Scalar]:
    """Rates of all joints of all legs, (40).  [rad/s]"""
    return [rate for rate, _ in _motions(system, q, qd, None)]


def joint_accelerations(system: SphericalSystem, q, qd, qdd) -> list[Scalar]:
    """Accelerations of all joints of all legs, (41).  [rad/s²]"""
    return [acceleration for _, acceleration in _motions(system, q, qd, qdd)]


def _motions(system: SphericalSystem, q, qd, qdd) -> list[tuple[Scalar, Scalar]]:
    placed = placements(system, q)
    rates = platform_rates(system, placed, qd, qdd)
    return [
        joint for leg, free in zip(placed.legs, rates.free, strict=True) for joint in joint_motion(leg, rates, free)
    ]


def pose(system: SphericalSystem, q: Sequence[Scalar], body: BodyIndex, reference: str) -> list[list[Scalar]]:
    """Homogeneous transformation of a body's frame, whose origin is the centre."""
    R = body_rotation(placements(system, q), body)
    return [[*row, 0.0] for row in R.matrix().rows] + [[0.0, 0.0, 0.0, 1.0]]


def jacobian(system: SphericalSystem, q: Sequence[Scalar], body: BodyIndex, reference: str) -> list[list[Scalar]]:
    """Jacobian of a body's twist, (44) and (46); its linear rows are zero, because the frame's origin is the centre."""
    placed = placements(system, q)
    bodies = body_jacobians(system, placed, coordinate_velocities(system, placed))
    J = next(own.J for (_, index), own in zip(system.names, bodies, strict=True) if index == body)
    if reference != "LOCAL":
        R = body_rotation(placed, body)
        J = [R @ column for column in J]
    return [[0.0] * system.nv] * 3 + [[column[k] for column in map(tuple, J)] for k in range(3)]


def body_rotation(placed: Placements, body: BodyIndex) -> Rotation:
    """Rotation of a body in the world."""
    leg, number = body
    if leg < 0:
        return placed.R
    R = Rotation()
    for step in placed.legs[leg].steps[: number + 1]:
        R = R * step
    return R


def margins(system: SphericalSystem, q: Sequence[Scalar]) -> list[Scalar]:
    """Distances from singularities.

    For each leg a² + b² - c² of (34), for each leg h of (39), det Jact of (50), -det E, and for each quasi-velocity the squared
    sine of the angle between its column of Jact and the span of the columns before it.
    """
    placed = placements(system, q)
    Jact = actuated_rows(system, placed, coordinate_velocities(system, placed))
    columns = orthogonal_columns(actuated_rows(system, placed, quasi_velocities(system, placed)), system.nv)
    return [
        *(leg.discriminant for leg in placed.legs),
        *(leg.h for leg in placed.legs),
        determinant(Jact) if len(Jact) == system.nv else 0.0,
        1.0 if system.guide is not None else euler_chain(placed).h,
        *(column.left / column.length for column in columns),
    ]


def determinant(rows: Sequence[Sequence[Scalar]]) -> Scalar:
    """By expansion along the first row; three rows are a triple product."""
    if len(rows) == 1:
        return rows[0][0]
    if len(rows) == 3:
        a, b, c = (Vec3(*row) for row in rows)
        return a @ b.cross(c)
    total: Scalar = 0.0
    for k, entry in enumerate(rows[0]):
        minor = determinant([[*row[:k], *row[k + 1 :]] for row in rows[1:]])
        total = total + entry * (minor if k % 2 == 0 else -minor)
    return total
