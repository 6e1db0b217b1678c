"""Actuators and named postures of a description."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from appell.model.body import Six
from appell.model.pose import Triple
from appell.model.tree_builder import leader_of
from appell.names import entry_indices

if TYPE_CHECKING:
    from appell.model.description import Description

Range = tuple[float, float]
UNLIMITED: Range = (-math.inf, math.inf)
NO_WRENCH: Six = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Actuator:
    """A motor that acts on one joint, or on several through a transmission.

    At the length l = Σ gear q and velocity Σ gear qd of its transmission its force is
    gain u + bias[0] + bias[1] l + bias[2] l̇ for the control u, clipped to `force_range`; a joint gets gear times the force.

    Attributes:
        joints, gears: the entries of qd that it acts on, and the gear ratio of each.
        kind: `"motor"` (u is the force but for the gain), `"position"`, `"velocity"` (a servo with u as its target) or
            `"general"`.
        force_range: of the force. [N m, N]
        control_range: of u.
        frame, wrench: of a thruster: it acts with the wrench (force, then moment) times its force at the origin and along the
            axes of the frame, and has no joints.

    Example:
        >>> Actuator("servo", ("elbow",), (50.0,), "position", gain=10.0, bias=(0.0, -10.0, 0.0)).force(0.5, 0.4, 0.0)
        1.0
    """

    name: str
    joints: tuple[str, ...]
    gears: tuple[float, ...]
    kind: str = "motor"
    force_range: Range = UNLIMITED
    control_range: Range = UNLIMITED
    gain: float = 1.0
    bias: Triple = (0.0, 0.0, 0.0)
    frame: str = ""
    wrench: Six = NO_WRENCH

    @property
    def joint(self) -> str:
        """The joint that it acts on, the first of several; empty for a thruster."""
        return self.joints[0] if self.joints else ""

    @property
    def gear(self) -> float:
        """The gear ratio of that joint."""
        return self.gears[0] if self.gears else 1.0

    def force(self, control: float, length: float = 0.0, velocity: float = 0.0) -> float:
        """The force at a control, clipped to both ranges. [N m, N]"""
        u = min(max(control, self.control_range[0]), self.control_range[1])
        force = self.gain * u + self.bias[0] + self.bias[1] * length + self.bias[2] * velocity
        return min(max(force, self.force_range[0]), self.force_range[1])

    def largest_force(self) -> float:
        """The largest magnitude of its force: by `force_range`, or of a motor by `control_range`. [N m, N]"""
        low, high = self.force_range
        if not any(self.bias):
            ends = [self.gain * u for u in self.control_range]
            low, high = max(low, min(ends)), min(high, max(ends))
        return max(abs(low), abs(high))


@dataclass(frozen=True)
class Posture:
    """Coordinates of joints by name, such as those of a keyframe."""

    name: str
    joints: tuple[tuple[str, tuple[float, ...]], ...]


def transmission(robot: Description) -> np.ndarray:
    """The matrix T (nv, actuators) of the gears: generalized forces are T times the forces; zero columns for thrusters."""
    T = np.zeros((robot.nv, len(robot.actuators)))
    indices = entry_indices(robot.qd_names)
    joints = {joint.name: joint for joint in robot.joints}
    for a, actuator in enumerate(robot.actuators):
        for entry, gear in zip(actuator.joints, actuator.gears, strict=True):
            if entry in joints:
                leader, multiplier, _ = leader_of(robot, joints[entry])
                T[robot.first_coordinates[leader.name][1], a] += multiplier * gear
            else:
                T[indices[entry], a] += gear
    return T
