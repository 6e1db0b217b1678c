"""Actuators and named postures of a description."""

from __future__ import annotations

import math
from dataclasses import dataclass

from appell.model.pose import Triple

Range = tuple[float, float]
UNLIMITED: Range = (-math.inf, math.inf)


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

    @property
    def joint(self) -> str:
        """The joint that it acts on, the first of several."""
        return self.joints[0]

    @property
    def gear(self) -> float:
        """The gear ratio of that joint."""
        return self.gears[0]

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
