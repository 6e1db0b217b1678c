"""The cut-off frequency that predicts best in cross-validation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from appell.identification import signals
from appell.identification.base import BaseParameters
from appell.identification.cleaning import Segment
from appell.identification.cross_validation import products
from appell.identification.findings import Finding
from appell.identification.observations import ProgressCallback, ignore
from appell.identification.recorded_motion import filtered_motion, long_enough
from appell.robot.protocol import AnyRobot
from appell.robot.regressor_terms import RegressorTerm

RATIO = 1.5
"""Ratio of successive cut-off frequencies."""


def cutoff_frequencies(segments: Sequence[Segment]) -> list[float]:
    """Candidates [Hz]: from the band of the motion to a fifth of the sampling rate, or what the shortest segment allows."""
    period = max(segment.period for segment in segments)
    longest = max(segments, key=lambda segment: len(segment.t))
    band = signals.motion_band(longest.q, longest.period)
    low = max(1.2 * band, 12.0 / (len(longest.t) * longest.period))
    high = 0.2 / period
    if low >= high:
        return [high]
    count = min(14, int(np.log(high / low) / np.log(RATIO)) + 1)
    return [float(f) for f in low * RATIO ** np.arange(count)]


def choose_cutoff(
    robot: AnyRobot,
    parts: Sequence[Segment],
    base: BaseParameters,
    terms: Sequence[RegressorTerm],
    report: ProgressCallback = ignore,
) -> tuple[float, list[tuple[float, float]]]:
    """A frequency in the upper half of those around the least prediction error with errors within a percent of it."""
    curve: list[tuple[float, float]] = []
    frequencies = cutoff_frequencies(parts)
    for number, frequency in enumerate(frequencies):
        report(number / len(frequencies))
        usable = [part for part in parts if long_enough(part, frequency)]
        if not usable:
            continue
        motions = [filtered_motion(robot, part, frequency) for part in usable]
        data = products(robot, base, terms, (), motions)
        rhs = list(range(len(robot.actuator_names)))
        curve.append((frequency, data.error(np.ones(data.size, dtype=bool), rhs)))
    if not curve:
        return 0.2 / max(part.period for part in parts), []
    errors = np.array([error for _, error in curve])
    least, good = int(np.argmin(errors)), errors <= 1.01 * errors.min() + 1e-6
    low = least - int(np.argmin(np.append(good[least::-1], False))) + 1
    high = least + int(np.argmin(np.append(good[least:], False))) - 1
    return curve[(low + 2 * high) // 3][0], curve


def describe_cutoff(cutoff: float, curve: Sequence[tuple[float, float]]) -> tuple[list[str], list[Finding]]:
    if not curve:
        return [f"cut-off frequency {cutoff:.3g} Hz: the recording is too short to compare others"], []
    errors = dict(curve)
    shown = ", ".join(f"{f:.3g} Hz {100 * e:.2f} %" for f, e in curve)
    notes = [f"cut-off frequency {cutoff:.3g} Hz: prediction error in cross-validation {shown}"]
    frequencies = list(errors)
    findings = []
    k, values = frequencies.index(cutoff), list(errors.values())
    valleys = [
        i
        for i in range(len(values))
        if values[i] < 1.05 * values[k] and max(values[min(i, k) : max(i, k) + 1]) > 1.3 * values[k]
    ]
    if valleys:
        other = frequencies[valleys[0]]
        findings.append(
            Finding(
                "cut-off frequency", f"{cutoff:.3g} Hz",
                f"{other:.3g} Hz predicts about as well, those between do not ({shown})",
                "Compare both with --cutoff, and look for vibrations in the recording.",
            )
        )  # fmt: skip
    return notes, findings
