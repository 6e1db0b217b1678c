"""A joint between two bodies, as data. The joint models are in `appell.model.joints`."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from appell.model.pose import Pose, Triple


@dataclass(frozen=True)
class Limits:
    """Position range [rad, m], velocity limit [rad/s, m/s] and effort limit [N m, N]; infinite where unlimited."""

    lower: float = -math.inf
    upper: float = math.inf
    velocity: float = math.inf
    effort: float = math.inf


@dataclass(frozen=True)
class Mimic:
    """q = multiplier q_joint + offset."""

    joint: str
    multiplier: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True)
class Joint:
    """Connects `parent` to `child`; the child's frame is the joint's frame.

    Attributes:
        kind: a name in `appell.model.joints.KINDS`.
        origin: pose of the child's frame in the parent's at q = 0.
        axis: direction in the joint's frame, of unit length.
        damping: viscous friction. [N m s/rad, N s/m]
        friction: Coulomb friction. [N m, N]
        stiffness, springref: of a spring, and the coordinate at which it is at rest; of joints with one coordinate.
            [N m/rad, N/m; rad, m]
        rotor_inertia, gear_ratio: of the motor; the reflected inertia is `armature = gear_ratio² rotor_inertia`. [kg m²]
        pitch: advance of a helical joint per radian. [m/rad]
        line: line of the description file it came from, 0 where unknown.
    """

    name: str
    kind: str
    parent: str
    child: str
    origin: Pose = Pose()
    axis: Triple = (0.0, 0.0, 1.0)
    limits: Limits = Limits()
    damping: float = 0.0
    friction: float = 0.0
    rotor_inertia: float = 0.0
    gear_ratio: float = 1.0
    mimic: Mimic | None = None
    pitch: float = 0.0
    stiffness: float = 0.0
    springref: float = 0.0
    line: int = field(default=0, compare=False, repr=False)

    @property
    def armature(self) -> float:
        """Reflected rotor inertia, part of M. [kg m², kg]"""
        return self.gear_ratio * self.gear_ratio * self.rotor_inertia
