"""M, C and G of a spherical parallel robot by rotation Jacobians and their rates, without symbolic differentiation.

Source: Abedloo 2014, eqs (17) to (24) and (44) to (48), with the corrections of docs/theory/abedloo2014.md. Over all bodies,
    (21)  M = Σ J^T I J        C = Σ J^T I J̇ + J^T ω~ I J        G = Σ m (ρ~ J)^T σ,    σ = R^T g
with the Jacobian J of the body's angular velocity along its own axes, and I about the centre. The paper's C gives the correct
C q̇, but Ṁ - 2C is not skew. It is skew with the true rate J̇ and

    C = Σ J^T I J̇ + J^T (N ω)~ J,      N = trace(I)/2 1 - I,

the Christoffel symbols, with C(q, a) b = C(q, b) a.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from appell.algebra import ZERO, Inertia, Scalar, Vec3, Z
from appell.closed_loop.spherical.placements import LegPlacements, Placements, placements
from appell.closed_loop.spherical.rates import (
    VelocityBasis,
    coordinate_velocities,
    joint_motion,
    joint_row_rates,
    joint_rows,
    platform_rates,
)

if TYPE_CHECKING:
    from appell.closed_loop.spherical.system import LegModel, SphericalSystem

Columns = list[Vec3]
"""A Jacobian: one vector per velocity."""
Matrix = list[list[Scalar]]


class BodyJacobian(NamedTuple):
    """Jacobian of a body's angular velocity along its own axes, and gravity along them.

    Attributes:
        Jd: its rate, or the paper's matrix with the same product with q̇; empty if not needed.
        omega: angular velocity.
        sigma: acceleration of free fall.
    """

    inertia: Inertia
    J: Columns
    Jd: Columns
    omega: Vec3
    sigma: Vec3


RateTerm = Callable[[Vec3, Scalar, Vec3, Scalar], Vec3]
"""Term of a joint in a column of J̇, from the column before it, the joint's rate, ω before it and its row's entry."""


def true_rate(column: Vec3, rate: Scalar, omega: Vec3, entry: Scalar) -> Vec3:
    """The rate of J_j = R^T J_{j-1} + z row: the frame rotates at θ̇ about z."""
    return column.cross(Z) * rate


def halves(column: Vec3, rate: Scalar, omega: Vec3, entry: Scalar) -> Vec3:
    """Eq. (47): half of the Coriolis term on the joint's own row, half on those before it."""
    return (column.cross(Z) * rate + omega.cross(Z) * entry) * 0.5


def body_jacobians(system: SphericalSystem, placed: Placements, basis: VelocityBasis) -> Iterator[BodyJacobian]:
    """Jacobians of all bodies, (44) and (46)."""
    R = placed.R.T
    yield BodyJacobian(system.platform, [R @ column for column in basis.E], [], ZERO, R @ system.gravity)
    for model, leg, free in zip(system.legs, placed.legs, basis.free, strict=True):
        rows = joint_rows(leg, basis.E, free)
        J, sigma = [ZERO] * system.nv, system.gravity
        for inertia, step, row in zip(model.inertias, leg.steps, rows, strict=False):
            J = [step.T @ column + Z * entry for column, entry in zip(J, row, strict=True)]
            sigma = step.T @ sigma
            yield BodyJacobian(inertia, J, [], ZERO, sigma)


def body_jacobian_rates(system: SphericalSystem, q, qd, rate_term: RateTerm = true_rate) -> Iterator[BodyJacobian]:
    """Jacobians of all bodies and their rates in the coordinates, (44) to (48)."""
    placed = placements(system, q)
    basis, rates = coordinate_velocities(system, placed, qd), platform_rates(system, placed, qd)
    R = placed.R.T
    J, omega = [R @ column for column in basis.E], R @ rates.Omega
    Jd = [R @ column for column in basis.Ed]  # (48)
    if rate_term is true_rate:
        Jd = [column - omega.cross(other) for column, other in zip(Jd, J, strict=True)]
    yield BodyJacobian(system.platform, J, Jd, omega, R @ system.gravity)
    for model, leg, free, free_rates in zip(system.legs, placed.legs, basis.free, rates.free, strict=True):
        motion = joint_motion(leg, rates, free_rates)
        rows = zip(joint_rows(leg, basis.E, free), joint_row_rates(leg, basis, free, motion, rates.Omega), strict=True)
        yield from leg_jacobians(model, leg, [rate for rate, _ in motion], list(rows), system, rate_term)


def leg_jacobians(
    model: LegModel,
    leg: LegPlacements,
    rates: Sequence[Scalar],
    rows: Sequence[tuple[list[Scalar], list[Scalar]]],
    system: SphericalSystem,
    rate_term: RateTerm,
) -> Iterator[BodyJacobian]:
    """From the base to the last body of a leg."""
    J, Jd, omega, sigma = [ZERO] * system.nv, [ZERO] * system.nv, ZERO, system.gravity
    for inertia, step, rate, (row, rowd) in zip(model.inertias, leg.steps, rates, rows, strict=False):
        before, omega_before = [step.T @ column for column in J], step.T @ omega
        Jd = [
            step.T @ columnd + rate_term(column, rate, omega_before, entry) + Z * entryd
            for columnd, column, entry, entryd in zip(Jd, before, row, rowd, strict=True)
        ]
        J = [column + Z * entry for column, entry in zip(before, row, strict=True)]
        omega, sigma = omega_before + Z * rate, step.T @ sigma
        yield BodyJacobian(inertia, J, Jd, omega, sigma)


def mass_matrix(system: SphericalSystem, q: Sequence[Scalar]) -> Matrix:
    """M(q) in the coordinates, (21).  [kg m²]"""
    placed = placements(system, q)
    return inertia_matrix(system, placed, coordinate_velocities(system, placed))


def inertia_matrix(system: SphericalSystem, placed: Placements, basis: VelocityBasis) -> Matrix:
    """Σ J^T I J over all bodies."""
    M: Matrix = [[0.0] * system.nv for _ in range(system.nv)]
    for body in body_jacobians(system, placed, basis):
        IJ = [body.inertia.at_origin @ column for column in body.J]
        for k, column in enumerate(body.J):
            for j in range(k, system.nv):
                M[k][j] = M[k][j] + column @ IJ[j]
    return [[M[min(k, j)][max(k, j)] for j in range(system.nv)] for k in range(system.nv)]


def gravity(system: SphericalSystem, q: Sequence[Scalar]) -> list[Scalar]:
    """G(q) in the coordinates, (21).  [N m]"""
    placed = placements(system, q)
    G = [0.0] * system.nv
    for body in body_jacobians(system, placed, coordinate_velocities(system, placed)):
        moment = body.inertia.gamma.cross(body.sigma)
        G = [total - column @ moment for total, column in zip(G, body.J, strict=True)]
    return G


def coriolis_matrix(system: SphericalSystem, q: Sequence[Scalar], qd: Sequence[Scalar]) -> Matrix:
    """C(q, qd) of the Christoffel symbols.  [N m s]"""
    return _sum(
        system,
        body_jacobian_rates(system, q, qd),
        lambda body, column: (body.inertia.J @ body.omega).cross(column),
    )


def paper_coriolis_matrix(system: SphericalSystem, q: Sequence[Scalar], qd: Sequence[Scalar]) -> Matrix:
    """C(q, qd) of the paper, (21) with (47) and (48): correct in the product with qd; Ṁ - 2C is not skew.  [N m s]"""
    return _sum(
        system,
        body_jacobian_rates(system, q, qd, halves),
        lambda body, column: body.omega.cross(body.inertia.at_origin @ column),
    )


def _sum(
    system: SphericalSystem, bodies: Iterator[BodyJacobian], turning: Callable[[BodyJacobian, Vec3], Vec3]
) -> Matrix:
    """Σ J^T (I J̇ + turning J) over the bodies."""
    C: Matrix = [[0.0] * system.nv for _ in range(system.nv)]
    for body in bodies:
        columns = [
            body.inertia.at_origin @ rate + turning(body, column) for column, rate in zip(body.J, body.Jd, strict=True)
        ]
        C = [
            [total + row @ column for total, column in zip(totals, columns, strict=True)]
            for totals, row in zip(C, body.J, strict=True)
        ]
    return C


def actuator_jacobian(system: SphericalSystem, q: Sequence[Scalar]) -> Matrix:
    """Jact: rates of the actuated joints from those of the coordinates, (50)."""
    placed = placements(system, q)
    return actuated_rows(system, placed, coordinate_velocities(system, placed))


def actuated_rows(system: SphericalSystem, placed: Placements, basis: VelocityBasis) -> Matrix:
    """Rows of the actuated joints over a velocity basis."""
    rows: Matrix = []
    for model, leg, free in zip(system.legs, placed.legs, basis.free, strict=True):
        own = joint_rows(leg, basis.E, free)
        rows += [own[k] for k in model.actuated]
    return rows
