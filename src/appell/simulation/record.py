"""What is kept of an impact and of a stretch of contact."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class Impact:
    """All points that hit their walls at one instant.

    Arrays have one entry, or one row, per point.

    Attributes:
        time: [s]
        points: names of the frames that received an impulse.
        walls: number of the wall that each of them hit, in the order given to `appell.simulate`.
        impulses: along the wall's normal towards the allowed side, never negative, (k,). [N s]
        friction_impulses: in the tangent, along the world's axes, (k, 3). [N s]
        normal_velocity_change: jump of the velocity along the normal, (1 + e) times the speed of approach, (k,). [m/s]
        incidence: angle between the velocity before the impact and the normal, (k,). [rad]
        energy_before, energy_after: kinetic plus potential energy of the robot. [J]
        q: coordinates at the impact, (nq,).
        qd_before, qd_after: speeds, (nv,).
    """

    time: float
    points: tuple[str, ...]
    walls: tuple[int, ...]
    impulses: np.ndarray
    friction_impulses: np.ndarray
    normal_velocity_change: np.ndarray
    incidence: np.ndarray
    energy_before: float
    energy_after: float
    q: np.ndarray = field(repr=False)
    qd_before: np.ndarray = field(repr=False)
    qd_after: np.ndarray = field(repr=False)


@dataclass(frozen=True)
class Contact:
    """A stretch of time in which a point stays on a wall.

    Attributes:
        point, wall: name of the frame, number of the wall.
        start, end: [s]
    """

    point: str
    wall: int
    start: float
    end: float
