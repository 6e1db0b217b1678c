"""Closed-form kinematics of a spherical parallel robot: orientations of its bodies, rates of its joints.

Source: Abedloo 2014, section III, with the corrections of docs/theory/abedloo2014.md.
    (25)  R_ee = Rz(q1) Ry(q2) Rx(q3)
    (27)  R_i1 = Rz(λ) Rx(γ - π) Rz(θ)        R_i2 = R_i1 Rx(α1) Rz(ψ)
    (33)  a cos θ + b sin θ = c               (34)  its two roots          (36)  ψ
    (37)  θ̇ u + ψ̇ w + ξ̇ v = Ω                 (39)  p1 = v x w,  p2 = u x v,  p3 = w x u,  h = p1 · u
    (40)  θ̇ = p1 · Ω / h,  ψ̇ = p2 · Ω / h     (41)  θ̈, ψ̈ from the rate of (37)
The cosines and sines of the angles of (34) and (36) take one square root and one division per leg and no trigonometric
function. The root of (34) is also the h of (39), h = ±√(a² + b² - c²). A Jacobian is a list with one vector per velocity.
Velocities are either the rates of the coordinates, or quasi-velocities, with the platform's angular velocity Ω along the world's
axes instead of the rates of its Euler angles.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from appell.algebra import ZERO, AxisRotation, Rotation, Scalar, Vec3, X, Y, Z, cos, sin, sqrt
from appell.algebra.scalar import atan2

if TYPE_CHECKING:
    from appell.closed_loop.spherical.system import BodyIndex, LegModel, SphericalSystem

DEPENDENT_JOINTS = 3
"""Number of joints at the end of a leg that depend on the platform's orientation; the joints before them are coordinates."""
MIN_H = 1e-4
"""Legs with a smaller |h| are singular: their joints rotate 1e4 times faster than the platform."""


class LegPlacements(NamedTuple):
    """A leg in the world."""

    axes: tuple[Vec3, ...]  # directions of its joints, in the world; the last three are u, w, v of the paper
    turns: tuple[AxisRotation, ...]  # rotations of the joints that carry the leg's bodies
    steps: tuple[Rotation, ...]  # rotation of each body in the frame before it, the first in the world
    discriminant: Scalar  # a² + b² - c², negative where the leg does not reach; the square of h
    h: Scalar  # (v x w) · u of eq. (39)


class Placements(NamedTuple):
    """Orientations of all bodies."""

    R: Rotation  # orientation of the platform, R_ee
    axes: tuple[Vec3, ...]  # rotation axes of the platform's coordinates, in the world: the columns of E in (26)
    legs: tuple[LegPlacements, ...]  # in order


def placements(system: SphericalSystem, q: Sequence[Scalar]) -> Placements:
    """Orientations at q: eqs (25) to (36)."""
    R, axes = platform_orientation(system, q)
    legs = tuple(
        (open_chain(leg, free) if len(free) == leg.joints else closed_chain(leg, R, free))
        for leg, free in zip(system.legs, system.free_angles(q), strict=True)
    )
    return Placements(R, axes, legs)


def platform_orientation(system: SphericalSystem, q: Sequence[Scalar]) -> tuple[Rotation, tuple[Vec3, ...]]:
    """Orientation of the platform and the axes of its coordinates: 321 Euler angles, or the joints of the guiding leg."""
    if system.guide is None:
        return euler(q)
    leg = system.legs[system.guide]
    chain = open_chain(leg, q[: leg.joints])
    return chain_rotation(leg, chain.turns) * Rotation(joint_rotation(q[leg.joints - 1])) * leg.tip.T, chain.axes


def euler(q: Sequence[Scalar]) -> tuple[Rotation, tuple[Vec3, ...]]:
    """R_ee of (25), and the columns of E in (26)."""
    yaw, pitch, roll = (AxisRotation(axis, cos(angle), sin(angle)) for axis, angle in zip((2, 1, 0), q, strict=False))
    return Rotation(yaw, pitch, roll), (Z, yaw @ Y, yaw @ (pitch @ X))


def closed_chain(leg: LegModel, R: Rotation, free: Sequence[Scalar]) -> LegPlacements:
    """A leg whose last three joints follow from the platform's orientation R; the angles before are given."""
    start = open_chain(leg, free) if free else LegPlacements((), (), (), 1.0, 1.0)
    B = chain_rotation(leg, start.turns)
    first, second = leg.arcs[-2:]
    u, v = B @ Z, R @ (leg.tip @ Z)  # (29)
    C = B.T @ v
    a, b, c = -(first.sin * C.y), first.sin * C.x, second.cos - first.cos * C.z  # (32), (33)
    length = a * a + b * b
    discriminant = length - c * c
    h = leg.sign * sqrt(discriminant)
    share = 1.0 / length
    theta = AxisRotation(2, (a * c - b * h) * share, (b * c + a * h) * share)  # (34)
    w = B @ (theta @ (first @ Z))  # (29)
    d = first.T @ (theta.T @ C)  # v in the frame in which ψ = 0
    psi = AxisRotation(2, -(d.y * (1.0 / second.sin)), d.x * (1.0 / second.sin))  # (36)
    before = Rotation(leg.arcs[-3]) if free else leg.base
    steps = (before * Rotation(theta), Rotation(first, psi))
    return LegPlacements((*start.axes, u, w, v), (*start.turns, theta, psi), (*start.steps, *steps), discriminant, h)


def open_chain(leg: LegModel, angles: Sequence[Scalar]) -> LegPlacements:
    """The first joints of a leg and their bodies, at given angles."""
    axes, turns, steps = [], [], []
    B = before = leg.base
    for k, angle in enumerate(angles):
        axes.append(B @ Z)
        if k < len(leg.arcs):
            turn = joint_rotation(angle)
            turns.append(turn)
            steps.append(before * Rotation(turn))
            before = Rotation(leg.arcs[k])
            B = B * Rotation(turn, leg.arcs[k])
    return LegPlacements(tuple(axes), tuple(turns), tuple(steps), 1.0, 1.0)


def chain_rotation(leg: LegModel, turns: Sequence[AxisRotation]) -> Rotation:
    """Rotation of the axis after the first joints of a leg, in the world."""
    R = leg.base
    for turn, arc in zip(turns, leg.arcs, strict=False):
        R = R * Rotation(turn, arc)
    return R


def joint_rotation(angle: Scalar) -> AxisRotation:
    """Rotation of a joint about its z axis."""
    return AxisRotation(2, cos(angle), sin(angle))


class VelocityBasis(NamedTuple):
    """The velocities of the columns of the Jacobians."""

    E: tuple[Vec3, ...]  # angular velocity of the platform per unit of each velocity, in the world; (26)
    Ed: tuple[Vec3, ...]  # its rate
    free: tuple[tuple[int, ...], ...]  # for each leg, the indices of the velocities of its free joints


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
    units = [[1.0 if k == own else 0.0 for k in range(len(E))] for own in free]
    P = () if len(free) == len(leg.axes) else normals(leg)
    return [*units, *([p @ column for column in relative] for p in P)]


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


def body_rotation(placed: Placements, body: BodyIndex) -> Rotation:
    """Rotation of a body in the world."""
    leg, number = body
    if leg < 0:
        return placed.R
    R = Rotation()
    for step in placed.legs[leg].steps[: number + 1]:
        R = R * step
    return R


def euler_chain(placed: Placements) -> LegPlacements:
    """The axes of the Euler angles as a leg: its h, cos q2, is zero in gimbal lock."""
    first, second, third = placed.axes
    cosine = first @ third
    return LegPlacements(placed.axes, (), (), 1.0 - cosine * cosine, third.cross(second) @ first)
