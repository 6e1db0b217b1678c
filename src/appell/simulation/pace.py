"""Notices a motion that diverges although every number is still finite: speeds grow, and steps shrink with them."""

from __future__ import annotations

import numpy as np

WINDOW = 500
"""So many steps are looked at together."""
FAST = 1e4
"""Speeds up to this are never taken to diverge. [rad/s, m/s]"""
STEPS = 1e6
"""A run that diverges is given up when the rest of it would take more steps than this."""


class Pace:
    """How fast a run gets on.

    It diverges when all of this holds at the end of a window: the greatest speed is above `FAST`, it is greater than a window
    ago, and steps as long as those of the window would need more than `STEPS` to the end.
    """

    def __init__(self, duration: float) -> None:
        self.duration = duration
        self._count, self._since, self._speed = 0, 0.0, 0.0

    def diverges(self, t: float, qd: np.ndarray) -> bool:
        """A step has ended in this state."""
        self._count += 1
        if self._count < WINDOW:
            return False
        speed, step = float(np.abs(qd).max(initial=0.0)), (t - self._since) / WINDOW
        grows = speed > max(FAST, self._speed)
        self._count, self._since, self._speed = 0, t, speed
        return grows and self.duration - t > STEPS * step
