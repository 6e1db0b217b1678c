"""Description of one leg of a spherical parallel robot: revolute axes that all pass through one point, the centre.

Abedloo 2014, figure 3 and eqs (27) to (29). Frame j of a leg has its z axis along joint j and turns with it:

    R_1 = Rz(λ) Rx(tilt) Rz(θ_1)        R_{j+1} = R_j Rx(α_j) Rz(θ_{j+1})

so two angles give the direction of the first axis, one angle per body (its arc) leads to the next axis, and two angles give the
direction of the last axis in the platform. Any chain of revolute axes through one point has this form.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from appell.algebra import Angle, AxisRotation, Rotation
from appell.deprecation import renamed_fields
from appell.errors import ModelError, unknown_name_message
from appell.model.body import Body

WORKING_MODES = {"plus": 1.0, "minus": -1.0}
"""The sign of the root in eq. (34)."""


class Axis(NamedTuple):
    """Direction of an axis through the centre: z of the frame Rz(azimuth) Rx(tilt). [rad]

    Example:
        >>> from appell.closed_loop.spherical import Axis
        >>> [round(x, 3) for x in Axis(azimuth=0.0, tilt=0.5).direction]
        [0.0, -0.479, 0.878]
    """

    azimuth: float
    tilt: float

    @property
    def rotation(self) -> Rotation:
        """Rz(azimuth) Rx(tilt)."""
        return Rotation(axis_rotation(2, self.azimuth), axis_rotation(0, self.tilt))

    @property
    def direction(self) -> tuple[float, float, float]:
        """The unit vector along the axis."""
        (sin_a, cos_a), (sin_t, cos_t) = ((math.sin(angle), math.cos(angle)) for angle in self)
        return sin_a * sin_t, -cos_a * sin_t, cos_t


@renamed_fields(assembly="working_mode")
@dataclass(frozen=True)
class Leg:
    """A chain of revolute joints from the base to the platform.

    Attributes:
        base: the first axis, in the world.
        arcs: angles between consecutive axes, one per body, α_1, α_2, ... [rad]
        tip: the last axis, in the platform's frame.
        bodies: one per arc; body j rotates with joint j, its frame has z along that joint, and its arc leads from z towards
            -y to the next axis.
        working_mode: `"plus"` or `"minus"`, the root of eq. (34): the branch of the leg's inverse kinematics.
        actuated: indices of the joints with a motor, from 0 at the base.

    Example:
        >>> from appell.closed_loop.spherical import Axis, Leg
        >>> leg = Leg("leg", Axis(0.0, -2.2), (1.4, 1.2), Axis(0.0, -0.6))
        >>> leg.joint_names
        ('leg_joint1', 'leg_joint2', 'leg_joint3')
    """

    name: str
    base: Axis
    arcs: tuple[float, ...]
    tip: Axis
    bodies: tuple[Body, ...] = ()
    working_mode: str = "plus"
    actuated: tuple[int, ...] = (0,)

    def __post_init__(self) -> None:
        if not self.bodies:
            object.__setattr__(self, "bodies", tuple(Body(f"{self.name}_link{j + 1}") for j in range(len(self.arcs))))
        if len(self.bodies) != len(self.arcs):
            raise ModelError(
                f"leg {self.name!r} has {len(self.bodies)} bodies for {len(self.arcs)} arcs, expected one body per arc: "
                "the last joint carries the platform."
            )
        if self.working_mode not in WORKING_MODES:
            raise ModelError(
                f"leg {self.name!r}: {unknown_name_message('working mode', self.working_mode, WORKING_MODES)}"
            )
        for number in (*self.base, *self.tip, *self.arcs):
            if not math.isfinite(number):
                raise ModelError(f"leg {self.name!r} has the angle {number}, expected finite numbers [rad].")
        for k, arc in enumerate(self.arcs):
            if abs(math.sin(arc)) < 1e-6:
                raise ModelError(
                    f"leg {self.name!r}: arc {k + 1} is {arc:g} rad, so two axes of the leg coincide. Give it another angle."
                )
        for k in self.actuated:
            if not 0 <= k < self.joints:
                raise ModelError(
                    f"leg {self.name!r} has no joint {k} to be actuated: its joints are 0 to {self.joints - 1}."
                )
        if len(set(self.actuated)) != len(self.actuated):
            raise ModelError(f"leg {self.name!r} lists an actuated joint twice: {self.actuated}.")

    @property
    def joints(self) -> int:
        """Number of joints."""
        return len(self.arcs) + 1

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the joints."""
        return tuple(f"{self.name}_joint{j + 1}" for j in range(self.joints))

    @property
    def sign(self) -> float:
        """+1 or -1: the root of eq. (34)."""
        return WORKING_MODES[self.working_mode]


def axis_rotation(axis: int, angle: float) -> AxisRotation:
    """A constant rotation about a coordinate axis, exact at right angles."""
    _, cos, sin = Angle.of(angle)
    return AxisRotation(axis, cos, sin)
