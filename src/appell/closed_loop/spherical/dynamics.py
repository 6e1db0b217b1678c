"""Inverse and forward dynamics, regressors and energies of a spherical parallel robot, from its Gibbs function.

Source: Abedloo 2014, eqs (12) to (16), (49) and (51), with the corrections of docs/theory/abedloo2014.md.
    (15)  ∂S/∂q̈ = Σ J^T (I α + ω x I ω - m ρ x σ)        (51)  Q = Jact^T τ
Equation (15) needs the angular accelerations alone: an outward pass over each leg gives ω, α and the moments of its bodies, an
inward pass the moments about its joints. In the ten parameters of a body (m, m ρ, I about the centre) the moment is linear, which
gives the regressor. The quasi-velocity Ω of the platform keeps torques regular where the Euler angles are singular.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from appell.algebra import IDENTITY, ZERO, Inertia, Scalar, Vec3, Z
from appell.algorithms.derivatives.automatic import moved, second_derivatives, state_jacobian
from appell.algorithms.energy import require_mass
from appell.algorithms.linear import solve
from appell.algorithms.regressor import UNITS
from appell.closed_loop.elimination import dot
from appell.closed_loop.spherical.jacobians import (
    actuated_rows,
    actuator_torques,
    body_jacobians,
    gravity,
    inertia_matrix,
    mass_matrix,
    paper_coriolis_matrix,
)
from appell.closed_loop.spherical.kinematics import (
    LegPlacements,
    Placements,
    PlatformRates,
    VelocityBasis,
    axis_rates,
    coordinate_velocities,
    euler_chain,
    joint_motion,
    joint_rows,
    normals,
    placements,
    platform_rates,
    quasi_velocities,
)
from appell.model.parameters import inertia_of

if TYPE_CHECKING:
    from appell.closed_loop.spherical.system import LegModel, SphericalSystem


class BodyMotion(NamedTuple):
    """A body along its own axes: angular velocity, angular acceleration, free fall."""

    omega: Vec3
    alpha: Vec3
    sigma: Vec3


def inverse_dynamics(system: SphericalSystem, q, qd, qdd) -> list[Scalar]:
    """Actuator torques that give qdd at (q, qd): (15) and (51) in quasi-velocities.  [N m]"""
    placed = placements(system, q)
    basis = quasi_velocities(system, placed)
    Q = gradient(system, placed, basis, platform_rates(system, placed, qd, qdd))
    return actuator_torques(system, actuated_rows(system, placed, basis), Q)


def paper_inverse_dynamics(system: SphericalSystem, q, qd, qdd) -> list[Scalar]:
    """The same as the paper writes it: τ = Jact^-T (M q̈ + C q̇ + G), (19), (21) and (51).  [N m]"""
    M, C, G = mass_matrix(system, q), paper_coriolis_matrix(system, q, qd), gravity(system, q)
    Q = [dot(M[k], qdd) + dot(C[k], qd) + G[k] for k in range(system.nv)]
    placed = placements(system, q)
    return actuator_torques(system, actuated_rows(system, placed, coordinate_velocities(system, placed)), Q)


def generalized_forces(system: SphericalSystem, q, qd, qdd) -> list[Scalar]:
    """Q = M q̈ + C q̇ + G in the coordinates, by (15).  [N m]"""
    placed = placements(system, q)
    return gradient(system, placed, coordinate_velocities(system, placed), platform_rates(system, placed, qd, qdd))


def bias(system: SphericalSystem, q, qd) -> list[Scalar]:
    """C(q, qd) qd + G(q), the generalized forces at qdd = 0.  [N m]"""
    return generalized_forces(system, q, qd, [0.0] * system.nv)


def forward_dynamics(system: SphericalSystem, q, qd, tau) -> list[Scalar]:
    """Accelerations of the coordinates under actuator torques.  [rad/s²]"""
    placed = placements(system, q)
    Jact = actuated_rows(system, placed, quasi_velocities(system, placed))
    return coordinate_accelerations(system, placed, qd, [dot([row[k] for row in Jact], tau) for k in range(system.nv)])


def inverse_dynamics_derivatives(system: SphericalSystem, q, qd, qdd) -> list[list[Scalar]]:
    """[∂τ/∂q, ∂τ/∂q̇, ∂τ/∂q̈] side by side."""
    return state_jacobian(partial(inverse_dynamics, system), partial(moved, (), q), qd, qdd)


def inverse_dynamics_second_derivatives(system: SphericalSystem, q, qd, qdd) -> list[list[list[Scalar]]]:
    """For each torque, [∂²/∂q∂q, ∂²/∂q∂q̇, ∂²/∂q∂q̈, ∂²/∂q̇∂q̇] side by side."""
    return second_derivatives(lambda q, qd: inverse_dynamics_derivatives(system, q, qd, qdd), partial(moved, (), q), qd)


def forward_dynamics_derivatives(system: SphericalSystem, q, qd, tau) -> list[list[Scalar]]:
    """[∂q̈/∂q, ∂q̈/∂q̇, ∂q̈/∂τ] side by side."""
    return state_jacobian(partial(forward_dynamics, system), partial(moved, (), q), qd, tau)


def accelerations(system: SphericalSystem, q, qd, forces) -> list[Scalar]:
    """Accelerations of the coordinates under generalized forces, M(q)⁻¹ (Q - bias).  [rad/s²]"""
    placed = placements(system, q)
    if system.guide is not None:
        return coordinate_accelerations(system, placed, qd, forces)
    platform_moment = ZERO  # E^-T Q
    for p, force in zip(normals(euler_chain(placed)), forces[:3], strict=True):
        platform_moment = platform_moment + p * force
    return coordinate_accelerations(system, placed, qd, [*platform_moment, *forces[3:]])


def coordinate_accelerations(
    system: SphericalSystem, placed: Placements, qd: Sequence[Scalar], Q: Sequence[Scalar]
) -> list[Scalar]:
    """Accelerations of the coordinates under forces on the quasi-velocities."""
    basis, rates = quasi_velocities(system, placed), platform_rates(system, placed, qd)
    b = gradient(system, placed, basis, rates if system.guide is not None else rates._replace(Omegad=ZERO))
    rest = [force - own for force, own in zip(Q, b, strict=True)]
    qdd = solve(inertia_matrix(system, placed, basis), rest, range(system.nv))
    return qdd if system.guide is not None else [*euler_accelerations(placed, qd, Vec3(*qdd[:3])), *qdd[3:]]


def euler_accelerations(placed: Placements, qd: Sequence[Scalar], Omegad: Vec3) -> list[Scalar]:
    """q̈ with E q̈ = Ω̇ - Ė q̇: eq. (38) for the three axes of the Euler angles."""
    rest = Omegad
    for direction, rate in zip(axis_rates(placed.axes, qd[:3]), qd[:3], strict=True):
        rest = rest - direction * rate
    return [p @ rest for p in normals(euler_chain(placed))]


def gradient(system: SphericalSystem, placed: Placements, basis: VelocityBasis, rates: PlatformRates) -> list[Scalar]:
    """∂S/∂q̈, eq. (15): forces on the velocity basis, from the moments of all bodies."""
    body = platform_motion(system, placed, rates)
    N = placed.R @ moment(system.platform, body, system.external.get(system.platform_place))
    Q = [N @ column for column in basis.E]
    for i, (model, leg, free, free_rates) in enumerate(
        zip(system.legs, placed.legs, basis.free, rates.free, strict=True)
    ):
        about_joints = leg_moments(system, i, model, leg, joint_motion(leg, rates, free_rates))
        rows = joint_rows(leg, basis.E, free)
        for t, row in zip(about_joints, rows, strict=False):
            Q = [total + t * entry for total, entry in zip(Q, row, strict=True)]
    return Q


def platform_motion(system: SphericalSystem, placed: Placements, rates: PlatformRates) -> BodyMotion:
    """Motion of the platform, (44) and (45)."""
    R = placed.R.T
    return BodyMotion(R @ rates.Omega, R @ rates.Omegad, R @ system.gravity)


def leg_moments(
    system: SphericalSystem, number: int, model: LegModel, leg: LegPlacements, joints: Sequence[tuple[Scalar, Scalar]]
) -> list[Scalar]:
    """Moments about the joints of a leg from the inertia of its bodies, by the two passes."""
    motions = leg_motions(system, leg, joints)
    about: list[Scalar] = []
    carried = ZERO
    for j in reversed(range(len(motions))):
        carried = moment(model.inertias[j], motions[j], system.external.get((number, j))) + carried
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
    """I α + ω x I ω - m ρ x σ about the centre, minus the external moment."""
    about = inertia.at_origin
    N = about @ body.alpha + body.omega.cross(about @ body.omega) - inertia.gamma.cross(body.sigma)
    return N if external is None else N - external


def regressor(system: SphericalSystem, q, qd, qdd) -> list[list[Scalar]]:
    """K with τ = K Φ for the actuator torques, by (51) for each column, in quasi-velocities."""
    placed = placements(system, q)
    basis = quasi_velocities(system, placed)
    K = regressor_of(system, placed, basis, platform_rates(system, placed, qd, qdd))
    Jact = actuated_rows(system, placed, basis)
    columns = [actuator_torques(system, Jact, column) for column in zip(*K, strict=True)]
    return [list(row) for row in zip(*columns, strict=True)]


def generalized_regressor(system: SphericalSystem, q, qd, qdd) -> list[list[Scalar]]:
    """K with Q = K Φ for the generalized forces."""
    placed = placements(system, q)
    return regressor_of(system, placed, coordinate_velocities(system, placed), platform_rates(system, placed, qd, qdd))


def regressor_of(
    system: SphericalSystem, placed: Placements, basis: VelocityBasis, rates: PlatformRates
) -> list[list[Scalar]]:
    """K of the forces on a velocity basis, over the ten parameters of every body: (15) for unit parameters."""
    rows: list[list[Scalar]] = [[] for _ in range(system.nv)]
    motions = body_motions(system, placed, rates)
    for (_, motion), body in zip(motions, body_jacobians(system, placed, basis), strict=True):
        for unit in UNITS:
            N = moment(inertia_of(unit, IDENTITY), motion, None)
            for row, column in zip(rows, body.J, strict=True):
                row.append(column @ N)
    return rows


def kinetic_energy(system: SphericalSystem, q, qd) -> Scalar:
    """T = Σ ω · I ω / 2.  [J]"""
    return _total(system, q, qd, None, lambda inertia, body: body.omega @ (inertia.at_origin @ body.omega) * 0.5)


def potential_energy(system: SphericalSystem, q) -> Scalar:
    """U = -Σ m ρ · σ, zero with all mass at the centre.  [J]"""
    placed = placements(system, q)
    total = -(system.platform.gamma @ (placed.R.T @ system.gravity))
    for model, leg in zip(system.legs, placed.legs, strict=True):
        sigma = system.gravity
        for inertia, step in zip(model.inertias, leg.steps, strict=True):
            sigma = step.T @ sigma
            total = total - inertia.gamma @ sigma
    return total


def center_of_mass(system: SphericalSystem, q) -> Vec3:
    """Σ m R ρ / Σ m in the world.  [m]"""
    placed = placements(system, q)
    mass, total = system.platform.mass, placed.R @ system.platform.gamma
    for model, leg in zip(system.legs, placed.legs, strict=True):
        moment = ZERO  # first moment of the bodies from the tip to the base, in the frame of each
        for inertia, step in zip(reversed(model.inertias), reversed(leg.steps), strict=True):
            mass, moment = mass + inertia.mass, step @ (inertia.gamma + moment)
        total = total + moment
    require_mass(mass)
    return total * (1.0 / mass)


def gibbs_function(system: SphericalSystem, q, qd, qdd) -> Scalar:
    """S of (3) with (12), without the terms independent of q̈: its gradient is Q, its Hessian M.  [J/s²]"""

    def energy(inertia: Inertia, body: BodyMotion) -> Scalar:
        about = inertia.at_origin
        rest = body.omega.cross(about @ body.omega) - inertia.gamma.cross(body.sigma)
        return body.alpha @ (about @ body.alpha * 0.5 + rest)

    return _total(system, q, qd, qdd, energy)


def _total(system: SphericalSystem, q, qd, qdd, energy: Callable[[Inertia, BodyMotion], Scalar]) -> Scalar:
    """Σ energy(inertia, motion) over all bodies."""
    placed = placements(system, q)
    first, *others = body_motions(system, placed, platform_rates(system, placed, qd, qdd))
    total = energy(*first)
    for body in others:
        total = total + energy(*body)
    return total


def body_motions(
    system: SphericalSystem, placed: Placements, rates: PlatformRates
) -> Iterator[tuple[Inertia, BodyMotion]]:
    """Inertia and motion of all bodies: the platform, then those of the legs."""
    yield system.platform, platform_motion(system, placed, rates)
    for model, leg, free in zip(system.legs, placed.legs, rates.free, strict=True):
        yield from zip(model.inertias, leg_motions(system, leg, joint_motion(leg, rates, free)), strict=True)
