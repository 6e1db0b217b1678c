"""A robot with closed loops out of a file."""

from __future__ import annotations

from appell.closed_loop.functions import LoopDynamics
from appell.robot.loaded import Loaded


class LoadedClosedLoopRobot(Loaded, LoopDynamics):
    """Made by `appell.load_compiled`; its functions are documented in `LoopDynamics`."""

    @property
    def _closure_names(self) -> tuple[str, ...]:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.system.parts
