"""Inverse and forward dynamics of a spherical parallel robot from the gradient of its Gibbs function.

Source: Abedloo 2014, eqs (12) to (16), (49) and (51), with the corrections of docs/theory/abedloo2014.md.
    (15)  ∂S/∂q̈ = Σ J^T (I α + ω x I ω - m ρ x σ)        (51)  Q = Jact^T τ
Equation (15) needs the angular accelerations alone: each leg is gone through outwards for ω, α and the moments of its bodies,
and inwards for the moments about its joints. The platform's angular velocity Ω is taken as quasi-velocity, so that torques do
not care where the Euler angles are singular.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from appell.algebra import ZERO, Inertia, Scalar, Vec3, Z
from appell.algorithms.linear import solve
from appell.closed_loop.spherical.actuation import actuator_torques, dot
from appell.closed_loop.spherical.jacobians import (
    actuated_rows,
    gravity,
    inertia_matrix,
    mass_matrix,
    paper_coriolis_matrix,
)
from appell.closed_loop.spherical.placements import LegPlacements, Placements, placements
from appell.closed_loop.spherical.rates import (
    PlatformRates,
    VelocityBasis,
    axis_rates,
    coordinate_velocities,
    joint_motion,
    joint_rows,
    normals,
    platform_rates,
    quasi_velocities,
)

if TYPE_CHECKING:
    from appell.closed_loop.spherical.system import LegModel, SphericalSystem


class BodyMotion(NamedTuple):
    """A body along its own axes: angular velocity, angular acceleration, free fall."""

    omega: Vec3
    alpha: Vec3
    sigma: Vec3


def inverse_dynamics(system: SphericalSystem, q, qd, qdd) -> list[Scalar]:
    """Torques of the actuators that give qdd at (q, qd): (15) and (51) in quasi-velocities.  [N m]"""
    placed = placements(system, q)
    speeds = quasi_velocities(system, placed)
    Q = gradient(system, placed, speeds, platform_rates(system, placed, qd, qdd))
    return actuator_torques(system, actuated_rows(system, placed, speeds), Q)


def paper_inverse_dynamics(system: SphericalSystem, q, qd, qdd) -> list[Scalar]:
    """The same as the paper writes it: τ = Jact^-T (M q̈ + C q̇ + G), (19), (21) and (51).  [N m]"""
    M, C, G = mass_matrix(system, q), paper_coriolis_matrix(system, q, qd), gravity(system, q)
    Q = [dot(M[k], qdd) + dot(C[k], qd) + G[k] for k in range(system.nv)]
    placed = placements(system, q)
    return actuator_torques(system, actuated_rows(system, placed, coordinate_velocities(system, placed)), Q)


def generalized_forces(system: SphericalSystem, q, qd, qdd) -> list[Scalar]:
    """Q = M q̈ + C q̇ + G on the coordinates, by (15).  [N m]"""
    placed = placements(system, q)
    return gradient(system, placed, coordinate_velocities(system, placed), platform_rates(system, placed, qd, qdd))


def bias(system: SphericalSystem, q, qd) -> list[Scalar]:
    """C(q, qd) qd + G(q), the forces on the coordinates at qdd = 0.  [N m]"""
    return generalized_forces(system, q, qd, [0.0] * system.nv)


def forward_dynamics(system: SphericalSystem, q, qd, torques) -> list[Scalar]:
    """Accelerations of the coordinates under torques of the actuators.  [rad/s²]"""
    placed = placements(system, q)
    Jact = actuated_rows(system, placed, quasi_velocities(system, placed))
    return accelerations_of_coordinates(
        system, placed, qd, [dot([row[k] for row in Jact], torques) for k in range(system.nv)]
    )


def accelerations(system: SphericalSystem, q, qd, forces) -> list[Scalar]:
    """Accelerations of the coordinates under forces on them, M(q)⁻¹ (Q - bias).  [rad/s²]"""
    placed = placements(system, q)
    if system.guide is not None:
        return accelerations_of_coordinates(system, placed, qd, forces)
    moved = ZERO  # E^-T Q, the moment on the platform
    for p, force in zip(normals(euler_chain(placed)), forces[:3], strict=True):
        moved = moved + p * force
    return accelerations_of_coordinates(system, placed, qd, [*moved, *forces[3:]])


def accelerations_of_coordinates(
    system: SphericalSystem, placed: Placements, qd: Sequence[Scalar], Q: Sequence[Scalar]
) -> list[Scalar]:
    """Accelerations of the coordinates under forces on the quasi-velocities."""
    speeds, rates = quasi_velocities(system, placed), platform_rates(system, placed, qd)
    b = gradient(system, placed, speeds, rates if system.guide is not None else rates._replace(Omegad=ZERO))
    rest = [force - own for force, own in zip(Q, b, strict=True)]
    found = solve(inertia_matrix(system, placed, speeds), rest, range(system.nv))
    return found if system.guide is not None else [*euler_accelerations(placed, qd, Vec3(*found[:3])), *found[3:]]


def euler_accelerations(placed: Placements, qd: Sequence[Scalar], Omegad: Vec3) -> list[Scalar]:
    """q̈ with E q̈ = Ω̇ - Ė q̇: eq. (38) for the three axes of the Euler angles."""
    rest = Omegad
    for direction, rate in zip(axis_rates(placed.axes, qd[:3]), qd[:3], strict=True):
        rest = rest - direction * rate
    return [p @ rest for p in normals(euler_chain(placed))]


def euler_chain(placed: Placements) -> LegPlacements:
    """The axes of the Euler angles as if they were a leg: its h, cos q2, vanishes in gimbal lock."""
    first, second, third = placed.axes
    leaning = first @ third
    return LegPlacements(placed.axes, (), (), 1.0 - leaning * leaning, third.cross(second) @ first)


def gradient(system: SphericalSystem, placed: Placements, speeds: VelocityBasis, rates: PlatformRates) -> list[Scalar]:
    """∂S/∂q̈, eq. (15): forces on the speeds, from the moments of all bodies."""
    body = platform_motion(system, placed, rates)
    N = placed.R @ moment(system.platform, body, system.external.get(system.platform_place))
    Q = [N @ column for column in speeds.E]
    for i, (numbers, leg, free, given) in enumerate(
        zip(system.legs, placed.legs, speeds.free, rates.free, strict=True)
    ):
        about_joints = leg_moments(system, i, numbers, leg, joint_motion(leg, rates, given))
        rows = joint_rows(leg, speeds.E, free)
        for t, row in zip(about_joints, rows, strict=False):
            Q = [total + t * entry for total, entry in zip(Q, row, strict=True)]
    return Q


def platform_motion(system: SphericalSystem, placed: Placements, rates: PlatformRates) -> BodyMotion:
    """Motion of the platform, (44) and (45)."""
    R = placed.R.T
    return BodyMotion(R @ rates.Omega, R @ rates.Omegad, R @ system.gravity)


def leg_moments(
    system: SphericalSystem,
    number: int,
    numbers: LegModel,
    leg: LegPlacements,
    joints: Sequence[tuple[Scalar, Scalar]],
) -> list[Scalar]:
    """Moments about the joints of a leg that its own bodies need, by the two passes."""
    motions = leg_motions(system, leg, joints)
    about: list[Scalar] = []
    carried = ZERO
    for j in reversed(range(len(motions))):
        carried = moment(numbers.inertias[j], motions[j], system.external.get((number, j))) + carried
        about.append(carried.z)
        carried = leg.steps[j] @ carried
    return about[::-1]


def leg_motions(
    system: SphericalSystem, leg: LegPlacements, joints: Sequence[tuple[Scalar, Scalar]]
) -> list[BodyMotion]:
    """Motion of the bodies of a leg from the base to the platform, (42) to (45)."""
    motions = []
    omega, alpha, sigma = ZERO, ZERO, system.gravity
    for step, (rate, acceleration) in zip(leg.steps, joints, strict=False):
        omega, sigma = step.T @ omega, step.T @ sigma
        alpha = step.T @ alpha + Z * acceleration + omega.cross(Z) * rate
        omega = omega + Z * rate
        motions.append(BodyMotion(omega, alpha, sigma))
    return motions


def moment(inertia: Inertia, body: BodyMotion, external: Vec3 | None) -> Vec3:
    """I α + ω x I ω - m ρ x σ about the centre, less the moment that the world exerts."""
    about = inertia.at_origin
    N = about @ body.alpha + body.omega.cross(about @ body.omega) - inertia.gamma.cross(body.sigma)
    return N if external is None else N - external
