"""Ranges of a robot's coordinates, narrowed by the ranges of mimic joints."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from appell.model.joints import KINDS
from appell.robot.robot import Robot

LIMIT_TOL = 1e-12
"""Rounding allowed at a limit. [rad, m]"""


class CoordinateBounds(NamedTuple):
    """Limits of all coordinates, infinite where there are none, and whether they are angles modulo 2π, (nq,) each."""

    lower: np.ndarray
    upper: np.ndarray
    periodic: np.ndarray

    def clip(self, q: np.ndarray) -> np.ndarray:
        """The nearest configuration within the limits."""
        return np.clip(q, self.lower, self.upper)

    def wrap_near(self, q: np.ndarray, q0: np.ndarray) -> np.ndarray:
        """Equivalent configurations, angles shifted by multiples of 2π as near to q0 as the limits allow."""
        period = 2.0 * np.pi
        q = np.where(self.periodic, q + period * np.round((q0 - q) / period), q)
        above, below = np.ceil((q - self.upper) / period), np.ceil((self.lower - q) / period)
        shift = np.where(above > 0.0, -above, np.where(below > 0.0, below, 0.0))
        return np.where(self.periodic & np.isfinite(shift), q + period * shift, q)

    def contains(self, q: np.ndarray) -> np.ndarray:
        """Whether all coordinates are within the limits, (...)."""
        return np.all((q >= self.lower - LIMIT_TOL) & (q <= self.upper + LIMIT_TOL), axis=-1)


def coordinate_bounds(robot: Robot) -> CoordinateBounds:
    """The ranges of a robot's coordinates."""
    bounds = CoordinateBounds(np.full(robot.nq, -np.inf), np.full(robot.nq, np.inf), np.zeros(robot.nq, dtype=bool))
    for joint in robot.moving_joints:
        kind, (first, _) = KINDS[joint.kind], robot.first_coordinates[joint.name]
        if kind.nq == 1:
            bounds.lower[first], bounds.upper[first] = joint.limits.lower, joint.limits.upper
            bounds.periodic[first] = joint.kind in ("revolute", "continuous")
    for link in robot.tree.links:
        if not link.is_independent and link.multiplier:
            limits = robot.joint(link.name).limits
            ends = sorted((end - link.mimic_offset) / link.multiplier for end in (limits.lower, limits.upper))
            bounds.lower[link.idx_q] = max(bounds.lower[link.idx_q], ends[0])
            bounds.upper[link.idx_q] = min(bounds.upper[link.idx_q], ends[1])
            bounds.periodic[link.idx_q] = bounds.periodic[link.idx_q] and float(link.multiplier).is_integer()
    return bounds


def velocity_coordinates(robot: Robot) -> tuple[np.ndarray, np.ndarray]:
    """For each velocity the index of the first coordinate of its joint, and whether that is its only one, (nv,) each."""
    index, single = np.zeros(robot.nv, dtype=int), np.zeros(robot.nv, dtype=bool)
    for joint in robot.moving_joints:
        kind, (q, v) = KINDS[joint.kind], robot.first_coordinates[joint.name]
        index[v : v + kind.nv], single[v : v + kind.nv] = q, kind.nq == 1
    return index, single
