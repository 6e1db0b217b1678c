"""Orientations of the bodies of a spherical parallel robot: the closed-form inverse kinematics.

Source: Abedloo 2014, section III-A, with the corrections of docs/theory/abedloo2014.md.
    (25)  R_ee = Rz(q1) Ry(q2) Rx(q3)
    (27)  R_i1 = Rz(λ) Rx(γ - π) Rz(θ)        R_i2 = R_i1 Rx(α1) Rz(ψ)
    (33)  a cos θ + b sin θ = c               (34)  its two roots          (36)  ψ
The cosines and sines of the angles of (34) and (36) take one square root and one division per leg and no trigonometric
function. The root of (34) is also the h of (39), h = ±√(a² + b² - c²).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from appell.algebra import AxisRotation, Rotation, Scalar, Vec3, X, Y, Z, cos, sin, sqrt

if TYPE_CHECKING:
    from appell.closed_loop.spherical.system import LegModel, SphericalSystem

DEPENDENT_JOINTS = 3
"""Number of joints at the end of a leg that depend on the platform's orientation; the joints before them are coordinates."""


class LegPlacements(NamedTuple):
    """A leg in the world.

    Attributes:
        axes: directions of its joints, in the world; the last three are u, w, v of the paper.
        turns: rotations of the joints that carry the leg's bodies.
        steps: rotation of each body in the frame before it, the first in the world.
        discriminant: a² + b² - c², negative where the leg does not reach; the square of h.
        h: (v x w) · u of eq. (39).
    """

    axes: tuple[Vec3, ...]
    turns: tuple[AxisRotation, ...]
    steps: tuple[Rotation, ...]
    discriminant: Scalar
    h: Scalar


class Placements(NamedTuple):
    """Orientations of all bodies.

    Attributes:
        R: orientation of the platform, R_ee.
        axes: rotation axes of the platform's coordinates, in the world: the columns of E in (26).
        legs: in order.
    """

    R: Rotation
    axes: tuple[Vec3, ...]
    legs: tuple[LegPlacements, ...]


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
