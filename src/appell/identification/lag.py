"""Time by which forces are recorded late, from cross-validation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from appell.identification.cleaning import Segment
from appell.identification.cross_validation import LAG_STEPS, Products
from appell.identification.recorded_motion import RecordedMotion, filtered_motion, long_enough
from appell.robot.protocol import AnyRobot

LAG_TIME = 0.004
"""Least time of one step of the shifts. [s]"""
MIN_LAG_GAIN = 0.01
"""Relative reduction of the prediction error for which forces are shifted, with many samples."""


class Lag(NamedTuple):
    """Time by which the forces are late [s], and the prediction error with and without it."""

    seconds: float
    error: float
    without: float

    @property
    def notes(self) -> tuple[str, ...]:
        """What is done about it."""
        if not self.seconds:
            return ()
        errors = f"prediction error {100 * self.error:.2f} %, without {100 * self.without:.2f} %"
        return (f"forces are late by {1e3 * self.seconds:.3g} ms and shifted back: {errors}",)


def shifted_motions(
    robot: AnyRobot, parts: Sequence[Segment], cutoff: float | None
) -> tuple[list[RecordedMotion], list[tuple[np.ndarray, int, int]], float]:
    """Motions, for each its forces with sample and step of the shifts, and the time of one step."""
    period = max(part.period for part in parts)
    motions, shifted = [], []
    for part in parts:
        if len(parts) > 1 and not long_enough(part, cutoff):
            continue
        motion = filtered_motion(robot, part, cutoff)
        first = round((motion.t[0] - part.t[0]) / part.period)
        motions.append(motion)
        shifted.append((part.tau, first, max(1, round(max(period, LAG_TIME) / part.period))))
    return motions, shifted, max(1, round(max(period, LAG_TIME) / period)) * period


def choose_lag(data: Products, step: float) -> Lag:
    """The shift of all forces at the vertex of the parabola through the least error and its neighbours."""
    active, forces = data.base_columns, data.forces
    errors = np.array([data.error(active, [k] * forces) for k in range(2 * LAG_STEPS + 1)])
    best, without = int(np.argmin(errors)), float(errors[LAG_STEPS])
    if best in (0, 2 * LAG_STEPS):
        return Lag(0.0, without, without)
    a, b, c = errors[best - 1 : best + 2] ** 2
    vertex = best - LAG_STEPS + 0.5 * (a - c) / max(a - 2.0 * b + c, 1e-300)
    least = float(np.sqrt(max(b - 0.125 * (a - c) ** 2 / max(a - 2.0 * b + c, 1e-300), 0.0)))
    if least > (1.0 - max(MIN_LAG_GAIN, data.samples.sum() ** -0.5)) * without:  # few samples, uncertain errors
        return Lag(0.0, without, without)
    return Lag(float(vertex * step), least, without)


def without_lag(segment: Segment, lag: float) -> Segment:
    """The segment with forces of a later time, t + lag."""
    from scipy.interpolate import CubicSpline

    if not lag:
        return segment
    shift = lag / segment.period
    if abs(shift - round(shift)) < 0.02:
        index = np.clip(np.arange(len(segment.t)) + round(shift), 0, len(segment.t) - 1)
        tau = segment.tau[index]
    else:
        tau = CubicSpline(segment.t, segment.tau, axis=0)(np.clip(segment.t + lag, segment.t[0], segment.t[-1]))
    inside = (segment.t + lag >= segment.t[0]) & (segment.t + lag <= segment.t[-1])
    return replace(segment, tau=tau, trusted=segment.trusted & inside)
