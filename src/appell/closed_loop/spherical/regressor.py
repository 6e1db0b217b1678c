"""The equations of motion of a spherical parallel robot as a matrix times the inertial parameters: τ = K Φ.

In the ten numbers of a body (m, m ρ, I about the centre) the moment of Abedloo 2014, eq. (15), is linear.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from appell.algebra import IDENTITY, Scalar, Vec3
from appell.algorithms.regressor import UNITS
from appell.closed_loop.spherical.actuation import actuator_torques
from appell.closed_loop.spherical.dynamics import BodyMotion, leg_motions, moment, platform_motion
from appell.closed_loop.spherical.jacobians import actuated_rows, body_jacobians
from appell.closed_loop.spherical.placements import Placements, placements
from appell.closed_loop.spherical.rates import (
    PlatformRates,
    VelocityBasis,
    coordinate_velocities,
    joint_motion,
    platform_rates,
    quasi_velocities,
)
from appell.model.parameters import inertia_of

if TYPE_CHECKING:
    from appell.closed_loop.spherical.system import SphericalSystem


def regressor(system: SphericalSystem, q, qd, qdd) -> list[list[Scalar]]:
    """K with τ = K Φ for the torques of the actuators, by (51) column by column, in quasi-velocities."""
    placed = placements(system, q)
    speeds = quasi_velocities(system, placed)
    K = of_speeds(system, placed, speeds, platform_rates(system, placed, qd, qdd))
    Jact = actuated_rows(system, placed, speeds)
    columns = [actuator_torques(system, Jact, column) for column in zip(*K, strict=True)]
    return [list(row) for row in zip(*columns, strict=True)]


def generalized_regressor(system: SphericalSystem, q, qd, qdd) -> list[list[Scalar]]:
    """K with Q = K Φ for the forces on the coordinates."""
    placed = placements(system, q)
    return of_speeds(system, placed, coordinate_velocities(system, placed), platform_rates(system, placed, qd, qdd))


def of_speeds(
    system: SphericalSystem, placed: Placements, speeds: VelocityBasis, rates: PlatformRates
) -> list[list[Scalar]]:
    """K of the forces on some speeds, over the ten parameters of every body: (15) for bodies of one unit parameter each."""
    rows: list[list[Scalar]] = [[] for _ in range(system.nv)]

    def add(body: BodyMotion, J: Sequence[Vec3]) -> None:
        for unit in UNITS:
            N = moment(inertia_of(unit, IDENTITY), body, None)
            for row, column in zip(rows, J, strict=True):
                row.append(column @ N)

    bodies = body_jacobians(system, placed, speeds)
    add(platform_motion(system, placed, rates), next(bodies).J)
    for leg, given in zip(placed.legs, rates.free, strict=True):
        for body in leg_motions(system, leg, joint_motion(leg, rates, given)):
            add(body, next(bodies).J)
    return rows
