"""Results of a simulation besides the samples: impacts, contact intervals, limit violations, events, work."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from appell.deprecation import renamed_attribute


@dataclass(frozen=True)
class Impact:
    """All points that hit surfaces at one instant. Arrays have one entry or one row per point.

    Attributes:
        time: [s]
        points: names of the frames that received an impulse.
        surfaces: index of the surface that each of them hit, in the order given to `appell.simulate`.
        impulses: normal impulses towards the allowed side, never negative, (k,). [N s]
        friction_impulses: tangential impulses in the world frame, (k, 3). [N s]
        normal_velocity_change: jump of the normal velocity, 1 + e times the approach velocity, (k,). [m/s]
        incidence: angle between the velocity before the impact and the normal, (k,). [rad]
        energy_before, energy_after: kinetic plus potential energy of the robot. [J]
        q: configuration at the impact, (nq,).
        qd_before, qd_after: generalized velocities, (nv,).
    """

    time: float
    points: tuple[str, ...]
    surfaces: tuple[int, ...]
    impulses: np.ndarray
    friction_impulses: np.ndarray
    normal_velocity_change: np.ndarray
    incidence: np.ndarray
    energy_before: float
    energy_after: float
    q: np.ndarray = field(repr=False)
    qd_before: np.ndarray = field(repr=False)
    qd_after: np.ndarray = field(repr=False)

    walls = renamed_attribute("walls", "surfaces")


@dataclass(frozen=True)
class ContactInterval:
    """A time interval in which a point stays on a surface.

    Attributes:
        point, surface: name of the frame, index of the surface.
        start, end: [s]
    """

    point: str
    surface: int
    start: float
    end: float

    wall = renamed_attribute("wall", "surface")


@dataclass(frozen=True)
class Event:
    """A zero of an event function.

    Attributes:
        name: of the function.
        number: its index among the given functions.
        time: [s]
        q, qd: state there, (nq,), (nv,).
    """

    name: str
    number: int
    time: float
    q: np.ndarray = field(repr=False)
    qd: np.ndarray = field(repr=False)


class Work(NamedTuple):
    """Work done on the robot since the start, each (N,). [J]

    Attributes:
        actuators: by their forces.
        passive: by damping and friction in the joints, never positive.
        contact: by impacts and by friction on surfaces, never positive.
    """

    actuators: np.ndarray
    passive: np.ndarray
    contact: np.ndarray

    @property
    def total(self) -> np.ndarray:
        """Sum of the three."""
        return self.actuators + self.passive + self.contact

    drives = renamed_attribute("drives", "actuators")
    joints = renamed_attribute("joints", "passive")
    walls = renamed_attribute("walls", "contact")
