"""Rates of the joints of a spherical parallel robot, and of its Jacobians.

Source: Abedloo 2014, eqs (37) to (50), with the corrections of docs/theory/abedloo2014.md.
    (37)  θ̇ u + ψ̇ w + ξ̇ v = Ω                 (39)  p1 = v x w,  p2 = u x v,  p3 = w x u,  h = p1 · u
    (40)  θ̇ = p1 · Ω / h,  ψ̇ = p2 · Ω / h     (41)  θ̈, ψ̈ from the rate of (37)
    (46)  J_ij, the Jacobian of body j of leg i, along the body's axes
A Jacobian is a list with one vector per velocity. Velocities are either the rates of the coordinates, or quasi-velocities, with
the platform's angular velocity Ω along the world's axes instead of the rates of its Euler angles.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from appell.algebra import ZERO, Scalar, Vec3, X, Y, Z, sqrt
from appell.closed_loop.spherical.placements import DEPENDENT_JOINTS, LegPlacements, Placements

if TYPE_CHECKING:
    from appell.closed_loop.spherical.system import SphericalSystem

MIN_H = 1e-4
"""Legs with a smaller |h| are singular: their joints rotate 1e4 times faster than the platform."""


class VelocityBasis(NamedTuple):
    """The velocities of the columns of the Jacobians.

    Attributes:
        E: angular velocity of the platform per unit of each velocity, in the world; (26).
        Ed: its rate.
        free: for each leg, the indices of the velocities of its free joints.
    """

    E: tuple[Vec3, ...]
    Ed: tuple[Vec3, ...]
    free: tuple[tuple[int, ...], ...]


class PlatformRates(NamedTuple):
    """Angular velocity and acceleration of the platform in the world, and the rates of the legs' free joints."""

    Omega: Vec3
    Omegad: Vec3
    free: tuple[tuple[tuple[Scalar, Scalar], ...], ...]


def coordinate_velocities(
    system: SphericalSystem, placed: Placements, qd: Sequence[Scalar] | None = None
) -> VelocityBasis:
    """The rates of the coordinates; Ed is zero without qd."""
    guided = len(placed.axes)
    rates = axis_rates(placed.axes, qd[:guided]) if qd is not None else (ZERO,) * guided
    rest = (ZERO,) * (system.nv - guided)
    return VelocityBasis((*placed.axes, *rest), (*rates, *rest), system.free_velocities)


def quasi_velocities(system: SphericalSystem, placed: Placements) -> VelocityBasis:
    """Ω along the world's axes instead of Euler rates: regular at every orientation of the platform."""
    if system.guide is not None:
        return coordinate_velocities(system, placed)
    rest = (ZERO,) * (system.nv - 3)
    return VelocityBasis((X, Y, Z, *rest), (ZERO, ZERO, ZERO, *rest), system.free_velocities)


def axis_rates(axes: Sequence[Vec3], rates: Sequence[Scalar]) -> tuple[Vec3, ...]:
    """Rates of the directions of consecutive axes; for Euler angles the columns of Ė in (26)."""
    Omega, directions = ZERO, []
    for axis, rate in zip(axes, rates, strict=True):
        directions.append(Omega.cross(axis))
        Omega = Omega + axis * rate
    return tuple(directions)


def platform_rates(
    system: SphericalSystem, placed: Placements, qd: Sequence[Scalar], qdd: Sequence[Scalar] | None = None
) -> PlatformRates:
    """Ω = E q̇ and Ω̇ = E q̈ + Ė q̇, (26); without q̈ the velocity terms alone."""
    guided = len(placed.axes)
    qdd = [0.0] * system.nv if qdd is None else qdd
    Omega = Omegad = ZERO
    for axis, rate, acceleration in zip(placed.axes, qd[:guided], qdd[:guided], strict=True):
        Omegad = Omegad + axis * acceleration + Omega.cross(axis) * rate
        Omega = Omega + axis * rate
    free = tuple(tuple((qd[k], qdd[k]) for k in own) for own in system.free_velocities)
    return PlatformRates(Omega, Omegad, free)


def normals(leg: LegPlacements) -> tuple[Vec3, Vec3, Vec3]:
    """p1 / h, p2 / h, p3 / h of (39): the rates of the last three joints are their products with Ω."""
    u, w, v = leg.axes[-DEPENDENT_JOINTS:]
    share = guarded_reciprocal(leg.h, leg.discriminant, MIN_H**2)
    return v.cross(w) * share, u.cross(v) * share, w.cross(u) * share


def guarded_reciprocal(value: Scalar, size: Scalar, least: Scalar) -> Scalar:
    """1 / value; NaN where size < least. The added term and its derivative are zero elsewhere."""
    return 1.0 / (value + (size - abs(size)) * sqrt(size - least))


def joint_motion(
    leg: LegPlacements, rates: PlatformRates, free: Sequence[tuple[Scalar, Scalar]]
) -> list[tuple[Scalar, Scalar]]:
    """Rate and acceleration of every joint of a leg: (40) and (41) for the dependent ones."""
    if len(free) == len(leg.axes):
        return list(free)
    base, based = ZERO, ZERO
    for axis, (rate, acceleration) in zip(leg.axes, free, strict=False):
        based = based + axis * acceleration + base.cross(axis) * rate
        base = base + axis * rate
    u, w, v = leg.axes[-DEPENDENT_JOINTS:]
    P = normals(leg)
    relative = rates.Omega - base
    theta, psi, xi = (p @ relative for p in P)  # (40)
    turning = base.cross(u) * theta + (base + u * theta).cross(w) * psi + rates.Omega.cross(v) * xi
    rest = rates.Omegad - based - turning  # the rate of (37), without the accelerations of the joints
    return [*free, *((rate, p @ rest) for rate, p in zip((theta, psi, xi), P, strict=True))]  # (41)


def joint_rows(leg: LegPlacements, E: Sequence[Vec3], free: Sequence[int]) -> list[list[Scalar]]:
    """The rate of every joint as a row over the velocities with platform axes E: (50), for all joints."""
    relative = relative_to_leg(leg, E, free)
    return [*unit_rows(free, len(E)), *([p @ column for column in relative] for p in dependent_normals(leg, free))]


def joint_row_rates(
    leg: LegPlacements, basis: VelocityBasis, free: Sequence[int], motion: Sequence[tuple[Scalar, Scalar]], Omega: Vec3
) -> list[list[Scalar]]:
    """Rates of these rows, `(p/h)^T Ė + ((h ṗ - ḣ p)/h²)^T E`."""
    constant = [[0.0] * len(basis.E) for _ in free]
    if len(free) == len(leg.axes):
        return constant
    rates = [rate for rate, _ in motion[: len(leg.axes) - 1]]
    directions = axis_rates(leg.axes[:-1], rates)
    relative = relative_to_leg(leg, basis.E, free)
    relatived = list(basis.Ed)
    for direction, own in zip(directions, free, strict=False):
        relatived[own] = relatived[own] - direction
    axesd = (*directions[len(free) :], Omega.cross(leg.axes[-1]))
    P = normals(leg)
    rows = constant
    for p in P:
        pd = ZERO  # rate of p/h; the three form the inverse of the matrix of axes
        for other, axisd in zip(P, axesd, strict=True):
            pd = pd - other * (p @ axisd)
        rows.append([p @ ed + pd @ e for e, ed in zip(relative, relatived, strict=True)])
    return rows


def relative_to_leg(leg: LegPlacements, E: Sequence[Vec3], free: Sequence[int]) -> list[Vec3]:
    """Angular velocity of the platform relative to the last free body of the leg, for each velocity."""
    relative = list(E)
    for axis, own in zip(leg.axes, free, strict=False):
        relative[own] = relative[own] - axis
    return relative


def dependent_normals(leg: LegPlacements, free: Sequence[int]) -> tuple[Vec3, ...]:
    """The normals of the dependent joints; none if all joints are free."""
    return () if len(free) == len(leg.axes) else normals(leg)


def unit_rows(free: Sequence[int], count: int) -> list[list[Scalar]]:
    """Rows of the free joints, whose rates are velocities of the basis."""
    return [[1.0 if k == own else 0.0 for k in range(count)] for own in free]
