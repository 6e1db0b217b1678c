"""States of a rollout, with figures of every robot, or of median and spread of many."""

from __future__ import annotations

from os import PathLike
from typing import Any, NamedTuple

import numpy as np

from appell.plotting import COLOURS, new_figure, save_figure, tidy

MAX_CURVES = 12
"""Up to so many robots are drawn one by one."""
MAX_PANELS = 8
"""Number of coordinates that are shown."""


class RolloutStates(NamedTuple):
    """Times (T,) [s], configurations and velocities (..., T, n), or (n, T, ...) in columns, of the saved states."""

    t: np.ndarray
    q: Any
    qd: Any

    def plot(self, path: str | PathLike | None = None, *, columns: bool = False) -> Any:
        """A figure of q and qd over time: every robot, or median and spread of many. Needs matplotlib.

        Args:
            path: file to write the figure to, its format taken from the name.
            columns: whether the arrays are in columns.

        Returns:
            The `matplotlib.figure.Figure`.

        Example:
            >>> import appell, numpy as np
            >>> arm = appell.compile(appell.load("planar2r"))
            >>> fall = appell.rollout(arm, np.zeros((50, 2)), np.zeros((50, 2)), steps=20, dt=1e-2)
            >>> len(fall.plot().axes)
            4
        """
        q, qd = (robot_rows(values, columns) for values in (self.q, self.qd))
        count, _, nq = q.shape
        figure = new_figure(10.0, 1.8 * min(nq, MAX_PANELS) + 0.8)
        panels = figure.subplots(min(nq, MAX_PANELS), 2, sharex=True, squeeze=False)
        for column, (values, label) in enumerate(((q, "q"), (qd, "qd"))):
            for i, panel in enumerate(panels[:, column]):
                if i < values.shape[2]:
                    _curves(panel, self.t, values[:, :, i])
                    panel.set_ylabel(f"{label}{i + 1} [{'rad, m' if label == 'q' else 'rad/s, m/s'}]", fontsize=8)
                tidy(panel)
            panels[-1, column].set_xlabel("time [s]")
        shown = "each of" if count <= MAX_CURVES else "median, quartiles and range of"
        figure.suptitle(f"Rollout: {shown} {count} robots", fontsize=11)
        save_figure(figure, path)
        return figure


def robot_rows(values: Any, columns: bool) -> np.ndarray:
    """Results as (robots, T, n) on the CPU, from rows (..., T, n) or columns (n, T, ...)."""
    array = np.asarray(values.get() if hasattr(values, "get") else values)
    if columns:
        array = np.moveaxis(array, (0, 1), (-1, -2))
    return array.reshape(-1, *array.shape[-2:])


def _curves(panel: Any, t: np.ndarray, values: np.ndarray) -> None:
    if len(values) <= MAX_CURVES:
        for i, curve in enumerate(values):
            panel.plot(t, curve, color=COLOURS[i % len(COLOURS)], linewidth=1.2)
        return
    low, lower, middle, upper, high = np.percentile(values, [0, 25, 50, 75, 100], axis=0)
    panel.fill_between(t, low, high, color=COLOURS[0], alpha=0.15, linewidth=0)
    panel.fill_between(t, lower, upper, color=COLOURS[0], alpha=0.35, linewidth=0)
    panel.plot(t, middle, color=COLOURS[0], linewidth=1.5)
