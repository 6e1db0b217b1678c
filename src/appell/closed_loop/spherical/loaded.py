"""A spherical parallel robot out of a file."""

from __future__ import annotations

from appell.closed_loop.spherical.functions import SphericalFunctions
from appell.robot.loaded import Loaded


class LoadedSphericalRobot(Loaded, SphericalFunctions):
    """Made by `appell.load_compiled`; its functions are documented in `SphericalFunctions`."""

    @property
    def _leg_count(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        return len(self.system.parts)
