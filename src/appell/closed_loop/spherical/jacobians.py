"""M, C and G of a spherical parallel robot by rotation Jacobians and their rates, and its actuator torques.

Source: Abedloo 2014, eqs (17) to (24) and (44) to (51), with the corrections of docs/theory/abedloo2014.md. Over all bodies,
    (21)  M = Σ J^T I J        C = Σ J^T I J̇ + J^T ω~ I J        G = Σ m (ρ~ J)^T σ,    σ = R^T g
with the Jacobian J of the body's angular velocity along its own axes, and I about the centre. The paper's C gives the correct
C q̇, but Ṁ - 2C is not skew. It is skew with the true rate J̇ and
    C = Σ J^T I J̇ + J^T (N ω)~ J,      N = trace(I)/2 1 - I,
the Christoffel symbols, with C(q, a) b = C(q, b) a. Actuator torques τ follow from generalized forces Q,
    (51)  Q = Jact^T τ
With redundant actuators τ has minimum norm: with the orthogonal columns Jact = U T, T^T y = Q and τ = U y.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from appell.algebra import ZERO, Inertia, Scalar, Vec3, Z, sqrt
from appell.closed_loop.elimination import dot
from appell.closed_loop.spherical.kinematics import (
    LegPlacements,
    Placements,
    VelocityBasis,
    body_rotation,
    coordinate_velocities,
    euler_chain,
    guarded_reciprocal,
    joint_motion,
    joint_row_rates,
    joint_rows,
    placements,
    platform_rates,
    quasi_velocities,
)
from appell.errors import ArgumentError

if TYPE_CHECKING:
    from appell.closed_loop.spherical.system import BodyIndex, LegModel, SphericalSystem

Columns = list[Vec3]
"""A Jacobian: one vector per velocity."""
Matrix = list[list[Scalar]]
MIN_SINE = 1e-6
"""Smallest sine between a column of the actuator Jacobian and the span of the columns before it."""


class BodyJacobian(NamedTuple):
    """Jacobian of a body's angular velocity along its own axes, and gravity along them."""

    inertia: Inertia
    J: Columns
    Jd: Columns  # its rate, or the paper's matrix with the same product with q̇; empty if not needed
    omega: Vec3  # angular velocity
    sigma: Vec3  # acceleration of free fall


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
    bodies = body_jacobian_rates(system, q, qd)
    return _sum(system, bodies, lambda body, column: (body.inertia.J @ body.omega).cross(column))


def paper_coriolis_matrix(system: SphericalSystem, q: Sequence[Scalar], qd: Sequence[Scalar]) -> Matrix:
    """C(q, qd) of the paper, (21) with (47) and (48): correct in the product with qd; Ṁ - 2C is not skew.  [N m s]"""
    bodies = body_jacobian_rates(system, q, qd, halves)
    return _sum(system, bodies, lambda body, column: body.omega.cross(body.inertia.at_origin @ column))


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


def actuator_torques(system: SphericalSystem, Jact: Sequence[Sequence[Scalar]], Q: Sequence[Scalar]) -> list[Scalar]:
    """Minimum-norm τ with Jact^T τ = Q, (51)."""
    if len(Jact) < system.nv:
        raise ArgumentError(
            f"{len(Jact)} actuators cannot give {system.nv} degrees of freedom any acceleration, so inverse_dynamics and "
            "regressor are not defined. Actuate more joints, or use generalized_forces and generalized_regressor."
        )
    columns = orthogonal_columns(Jact, system.nv)
    y: list[Scalar] = []
    for k, column in enumerate(columns):
        value = Q[k]
        for part, share in zip(column.parts, y, strict=True):
            value = value - part * share
        y.append(value * column.scale)
    return [dot([column.direction[i] for column in columns], y) for i in range(len(Jact))]


class OrthogonalColumn(NamedTuple):
    """A column as `parts` along the directions of the columns before it and a rest along its own `direction`.

    `length` and `left` are the squared lengths of the column and of the rest, `scale` is 1/√left.
    """

    direction: list[Scalar]
    parts: list[Scalar]
    length: Scalar
    left: Scalar
    scale: Scalar


def orthogonal_columns(matrix: Sequence[Sequence[Scalar]], count: int) -> list[OrthogonalColumn]:
    """Gram-Schmidt orthogonalization of the columns; NaN where they are dependent."""
    columns: list[OrthogonalColumn] = []
    for k in range(count):
        rest = [row[k] for row in matrix]
        length, parts = dot(rest, rest), []
        for column in columns:
            part = dot(column.direction, rest)
            rest = [entry - part * other for entry, other in zip(rest, column.direction, strict=True)]
            parts.append(part)
        left = dot(rest, rest)
        scale = guarded_reciprocal(sqrt(left), left, length * MIN_SINE**2)
        columns.append(OrthogonalColumn([entry * scale for entry in rest], parts, length, left, scale))
    return columns


def jacobian(system: SphericalSystem, q: Sequence[Scalar], body: BodyIndex, reference: str) -> list[list[Scalar]]:
    """Jacobian of a body's twist, (44) and (46); its linear rows are zero, because the frame's origin is the centre."""
    placed = placements(system, q)
    bodies = body_jacobians(system, placed, coordinate_velocities(system, placed))
    J = next(own.J for (_, index), own in zip(system.names, bodies, strict=True) if index == body)
    if reference != "LOCAL":
        R = body_rotation(placed, body)
        J = [R @ column for column in J]
    return [[0.0] * system.nv] * 3 + [[column[k] for column in map(tuple, J)] for k in range(3)]


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
