"""The equations of motion of a spherical parallel robot as a matrix times the inertial parameters: Q = K Φ.

In the ten numbers of a body (m, m ρ, I about the centre) the moment of Abedloo 2014, eq. (15), is linear.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from appell.algebra import IDENTITY, Scalar, Vec3
from appell.algorithms.regressor import UNITS
from appell.closed_loop.spherical.dynamics import BodyMotion, leg_motions, moment, platform_motion
from appell.closed_loop.spherical.jacobians import still_jacobians
from appell.closed_loop.spherical.posture import posture
from appell.closed_loop.spherical.rates import coordinate_speeds, joint_motion, platform_rates
from appell.model.parameters import inertia_of

if TYPE_CHECKING:
    from appell.closed_loop.spherical.system import SphericalSystem


def regressor(system: SphericalSystem, q, qd, qdd) -> list[list[Scalar]]:
    """K with Q = K Φ over the ten parameters of every body: (15) for bodies with one unit parameter and no other."""
    placed = posture(system, q)
    speeds, rates = coordinate_speeds(system, placed), platform_rates(system, placed, qd, qdd)
    rows: list[list[Scalar]] = [[] for _ in range(system.nv)]

    def add(body: BodyMotion, J: Sequence[Vec3]) -> None:
        for unit in UNITS:
            N = moment(inertia_of(unit, IDENTITY), body, None)
            for row, column in zip(rows, J, strict=True):
                row.append(column @ N)

    bodies = still_jacobians(system, placed, speeds)
    add(platform_motion(system, placed, rates), next(bodies).J)
    for leg, given in zip(placed.legs, rates.free, strict=True):
        for body in leg_motions(system, leg, joint_motion(leg, rates, given)):
            add(body, next(bodies).J)
    return rows
