"""A spherical parallel robot with its functions as native code."""

from __future__ import annotations

from typing import TYPE_CHECKING

from appell.closed_loop.spherical.functions import SphericalFunctions
from appell.robot.compiled import MAIN, Compiled

if TYPE_CHECKING:
    from appell.closed_loop.spherical.robot import SphericalRobot


class CompiledSphericalRobot(Compiled, SphericalFunctions):
    """Made by `appell.compile`; its functions are documented in `SphericalFunctions`."""

    robot: SphericalRobot

    main = (
        *(name for name in MAIN if name != "center_of_mass"),
        "generalized_forces", "actuator_jacobian", "joint_angles", "margins",
    )  # fmt: skip

    @property
    def _leg_count(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        return len(self.robot.legs)
