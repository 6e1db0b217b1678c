"""Limits of the joints that a motion passes. They are reported, not enforced: a wall or a controller enforces them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from appell.robot.simulation_model import SimulationModel

ROUNDING = 1e-9
"""What is beyond a limit by less counts as at it: joints that start at a limit move about it by rounding. [rad, m, rad/s, m/s]"""


@dataclass(frozen=True)
class Excess:
    """A stretch of time in which a coordinate or a speed is beyond its limit, as seen at the integrator's steps.

    Attributes:
        name: of the coordinate or the speed.
        limit: `"lower"`, `"upper"` or `"speed"`.
        start, end: [s]
        most: how far it went beyond. [rad, m, rad/s, m/s]
    """

    name: str
    limit: str
    start: float
    end: float
    most: float


class ExcessWatch:
    """Collects what is passed in one run."""

    def __init__(self, model: SimulationModel) -> None:
        self.bounds, self.found = model.limits, list[Excess]()
        self._names = (*model.q_names, *model.q_names, *model.qd_names)
        self._kinds = ("lower",) * model.nq + ("upper",) * model.nq + ("speed",) * model.nv
        self._open: dict[int, tuple[float, float]] = {}
        self._needed = any(np.isfinite(each).any() for each in self.bounds[:3])

    def look(self, t: float, q: np.ndarray, qd: np.ndarray) -> None:
        """The motion passes through this state."""
        if not self._needed:
            return
        lower, upper, speed, _ = self.bounds
        beyond = np.concatenate([lower - q, q - upper, np.abs(qd) - speed])
        now = np.flatnonzero(beyond > ROUNDING).tolist()
        for i in [i for i in self._open if i not in now]:
            self._close(i, t)
        for i in now:
            start, most = self._open.get(i, (t, 0.0))
            self._open[i] = (start, max(most, float(beyond[i])))

    def finish(self, t: float) -> tuple[Excess, ...]:
        """All that was passed, in order of time, the motion having ended."""
        for i in list(self._open):
            self._close(i, t)
        return tuple(sorted(self.found, key=lambda each: each.start))

    def _close(self, i: int, t: float) -> None:
        start, most = self._open.pop(i)
        self.found.append(Excess(self._names[i], self._kinds[i], start, t, most))
