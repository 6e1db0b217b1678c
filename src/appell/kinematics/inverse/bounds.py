"""Ranges of a robot's coordinates, those of joints that follow others included."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from appell.model.joints import KINDS

if TYPE_CHECKING:
    from appell.robot.robot import Robot


class Bounds(NamedTuple):
    """Lower and upper limits of all coordinates, infinite where there are none, (nq,) each.

    `angles` marks coordinates that mean the same after a full turn.
    """

    lower: np.ndarray
    upper: np.ndarray
    angles: np.ndarray

    def clipped(self, q: np.ndarray) -> np.ndarray:
        """The nearest coordinates within the limits."""
        return np.clip(q, self.lower, self.upper)

    def without(self, chosen: np.ndarray) -> Bounds:
        """The same, with no limits of the coordinates marked in `chosen` (nq,)."""
        lower, upper = np.where(chosen, -np.inf, self.lower), np.where(chosen, np.inf, self.upper)
        return Bounds(lower, upper, self.angles)

    def wound(self, q: np.ndarray, near: np.ndarray) -> np.ndarray:
        """The same configurations with angles as near to `near` as the limits allow, by full turns."""
        turn = 2.0 * np.pi
        q = np.where(self.angles, q + turn * np.round((near - q) / turn), q)
        above, below = np.ceil((q - self.upper) / turn), np.ceil((self.lower - q) / turn)
        shift = np.where(above > 0.0, -above, np.where(below > 0.0, below, 0.0))
        return np.where(self.angles & np.isfinite(shift), q + turn * shift, q)

    def hold(self, q: np.ndarray) -> np.ndarray:
        """Whether all coordinates are within the limits, (...)."""
        return np.all((q >= self.lower - SLACK) & (q <= self.upper + SLACK), axis=-1)


SLACK = 1e-12
"""What rounding may add to a coordinate at its limit. [rad, m]"""


def bounds_of(robot: Robot) -> Bounds:
    """The ranges of a robot's coordinates. A leader's range is also narrowed by those of its followers."""
    bounds = Bounds(np.full(robot.nq, -np.inf), np.full(robot.nq, np.inf), np.zeros(robot.nq, dtype=bool))
    for joint in robot.moving_joints:
        kind, (first, _) = KINDS[joint.kind], robot.first_coordinates[joint.name]
        if kind.nq == 1:
            bounds.lower[first], bounds.upper[first] = joint.limits.lower, joint.limits.upper
            bounds.angles[first] = joint.kind in ("revolute", "continuous")
    for link in robot.tree.links:
        if not link.is_independent and link.multiplier:
            limits = robot.joint(link.name).limits
            ends = sorted((end - link.mimic_offset) / link.multiplier for end in (limits.lower, limits.upper))
            bounds.lower[link.idx_q] = max(bounds.lower[link.idx_q], ends[0])
            bounds.upper[link.idx_q] = min(bounds.upper[link.idx_q], ends[1])
            bounds.angles[link.idx_q] = bounds.angles[link.idx_q] and float(link.multiplier).is_integer()
    return bounds
