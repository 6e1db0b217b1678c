"""Corrupt samples of a recording: missing, implausible, isolated and frozen ones, and saturated forces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from appell.errors import IdentificationError
from appell.identification.findings import Finding
from appell.robot.protocol import AnyRobot

MAX_FILL, MAX_FILL_TIME = 3, 0.01
"""Most consecutive missing coordinates that are interpolated: this many samples, or this time [s]."""
IMPLAUSIBLE = {"q": 100.0, "tau": 1e4}
"""Multiples of the median deviation beyond which a value is implausible, whatever its neighbours are."""
MAX_BAD_SHARE = 0.2
"""Share of bad samples of a column beyond which the column is unusable."""
OUTLIER_FACTOR, SIDE, MAX_PASSES = 8.0, 5, 8
"""Robust standard deviations beyond which a sample differs from both sides, samples of a side, most passes."""
NOTEWORTHY = 5e-3
"""Share of outliers from which they are a finding."""
MAX_FROZEN_TIME = 0.05
"""Time for which an encoder may repeat a value while its joint moves fast. [s]"""
SATURATED_SHARE, SATURATED_RUN = 0.002, 3
"""Share of samples at exactly the largest force, in runs of at least this length, that counts as saturation."""


@dataclass(frozen=True)
class CleaningLog:
    """What is done to a recording while it is cleaned, and what is found."""

    name: str
    notes: list[str]
    findings: list[Finding]

    def found(self, kind: str, where: str, evidence: str, remedy: str) -> None:
        self.findings.append(Finding(kind, where, f"{self.name}: {evidence}", remedy))


def _reach(robot: AnyRobot, kind: str, k: int) -> float:
    """Largest plausible magnitude of a column: the joint's limits and one travel beyond, or infinity."""
    if kind == "tau" or robot.nq != robot.spanning_tree.nq:
        return np.inf
    joints = {robot.first_coordinates[joint.name][0]: joint for joint in robot.spanning_tree.moving_joints}
    if k not in joints:
        return np.inf
    limits = joints[k].limits
    reach = max(abs(limits.lower), abs(limits.upper)) + (limits.upper - limits.lower)
    return float(reach) if np.isfinite(reach) and reach > 0 else np.inf


def without_corrupt(
    robot: AnyRobot, given: np.ndarray, kind: str, names: Sequence[str], breaks: Sequence[int], log: CleaningLog
) -> np.ndarray:
    """The columns with corrupt samples as NaN, copied only if there are some; `breaks` are samples after gaps in time."""
    array = given
    for k, name in enumerate(names):
        column = given[:, k].copy()
        _drop_corrupt(column, kind, name, _reach(robot, kind, k), breaks, log)
        if np.isnan(column).any():
            array = given.copy() if array is given else array
            array[:, k] = column
    return array


def _drop_corrupt(
    column: np.ndarray, kind: str, name: str, reach: float, breaks: Sequence[int], log: CleaningLog
) -> None:
    """Set missing, implausible and isolated samples of a column to NaN."""
    missing = ~np.isfinite(column)
    _require_usable(missing, column, kind, name)
    typical = float(np.median(np.abs(column[~missing] - np.median(column[~missing]))))
    bound = (
        min(reach, IMPLAUSIBLE[kind] * typical + float(np.abs(np.median(column[~missing])))) if typical > 0 else reach
    )
    beyond = ~missing & (np.abs(column) > bound)
    _require_usable(missing | beyond, column, kind, name)
    column[beyond] = np.nan
    isolated = np.zeros(len(column), dtype=bool)
    edges = {edge for run in runs(np.isnan(column), MAX_FILL + 1) for edge in run}
    for first, last in pairwise(sorted({0, len(column), *breaks, *edges})):
        isolated[first:last] = outliers(column[first:last])
    column[isolated] = np.nan
    if kind == "tau" and not np.ptp(column[~np.isnan(column)]):
        log.found(
            "no signal", name, f"its force is {column[0]:g} in all samples", "Check its sensor and torque constant."
        )
    for flags, text in ((missing, "missing"), (beyond, "beyond what is plausible"), (isolated, "unlike both sides")):
        count = int(flags.sum())
        if count:
            groups, first = len(runs(flags)), int(np.argmax(flags))
            evidence = f"{count} samples of {kind} are {text} ({100 * count / len(column):.2g} %), {groups} runs, first {first}"
            if flags is isolated and count < NOTEWORTHY * len(column):
                log.notes.append(f"{name}: {evidence}; they are left out")
            else:
                log.found("corrupt samples", name, evidence, "They are left out; check the sensor and the log.")


def _require_usable(bad: np.ndarray, column: np.ndarray, kind: str, name: str) -> None:
    if bad.mean() > MAX_BAD_SHARE:
        row = int(np.argmax(bad))
        raise IdentificationError(
            f"{kind} of {name!r} is {column[row]:g} at sample {row}: {int(bad.sum())} of {len(bad)} numbers are missing or "
            "implausible. Repair the column, or pass an interval without this."
        )


def outliers(x: np.ndarray) -> np.ndarray:
    """Samples that differ from the values on both sides, and from a cubic through them, by many robust deviations.

    Steps (Coulomb friction) differ from one side only, extrema of smooth signals only by their curvature. Further passes
    find outliers next to others.
    """
    flags = ~np.isfinite(x)
    missing, steps = flags.copy(), np.abs(np.diff(x[~flags]))
    resolution = float(steps[steps > 0].min(initial=np.inf)) if len(steps) else np.inf
    if not np.isfinite(resolution) or len(x) < 16:
        return np.zeros(len(x), dtype=bool)
    for _ in range(MAX_PASSES):
        clean = filled(x, flags)
        near, far = (
            distance_from_cubic(clean, step) for step in (1, 2)
        )  # an outlier next to another shows in the second
        floor, wide = (np.maximum(local_scale(distance), 2.0 * resolution) for distance in (near, far))
        unlike = ((near > OUTLIER_FACTOR * floor) | (far > OUTLIER_FACTOR * wide)) & ~flags
        unlike[:SIDE] = unlike[-SIDE:] = False  # without a whole side; filters cut these off anyway
        candidates = np.flatnonzero(unlike)
        before, after = (
            np.median([clean[candidates + side * k] for k in range(1, SIDE + 1)], axis=0) for side in (-1, 1)
        )
        height = np.maximum(
            np.minimum(clean[candidates] - before, clean[candidates] - after),
            np.minimum(before - clean[candidates], after - clean[candidates]),
        )
        new = candidates[height > 0.5 * OUTLIER_FACTOR * floor[candidates]]
        if not len(new) or flags.sum() + len(new) > MAX_BAD_SHARE * len(x):
            break
        flags[new] = True
    return flags & ~missing


def distance_from_cubic(x: np.ndarray, step: int) -> np.ndarray:
    """Distance of each sample from the cubic through the samples one and two steps before and after it."""
    padded = np.pad(x, 2 * step, mode="edge")
    a, b, c, d = (padded[k * step : k * step + len(x)] for k in (0, 1, 3, 4))
    return np.abs(x - (4.0 * (b + c) - a - d) / 6.0)


def local_scale(deviation: np.ndarray, block: int = 128) -> np.ndarray:
    """Robust standard deviation around each sample: median in blocks / 0.6745, at least a third of the whole signal's."""
    count = max(1, len(deviation) // block)
    size = len(deviation) // count
    medians = np.median(deviation[: count * size].reshape(count, size), axis=1) / 0.6745
    whole = float(np.median(deviation)) / 0.6745
    centres = (np.arange(count) + 0.5) * size
    return np.maximum(np.interp(np.arange(len(deviation)), centres, medians), whole / 3.0)


def filled(x: np.ndarray, flags: np.ndarray) -> np.ndarray:
    """A column with flagged samples replaced by linear interpolation."""
    if not flags.any():
        return x
    index = np.arange(len(x))
    result = x.copy()
    result[flags] = np.interp(index[flags], index[~flags], x[~flags])
    return result


def without_frozen(robot: AnyRobot, t: np.ndarray, given: np.ndarray, log: CleaningLog) -> np.ndarray:
    """Coordinates with NaN where an encoder repeats one value while its joint moves fast before, or jumps after."""
    q = given
    shortest = max(8, round(MAX_FROZEN_TIME / float(np.median(np.diff(t)))))
    for k, name in enumerate(robot.q_names):
        steps = np.abs(np.diff(filled(q[:, k], np.isnan(q[:, k]))))
        typical = float(np.sqrt(np.mean(steps**2)))
        for first, last in runs(steps == 0.0, shortest):
            before, after = steps[max(0, first - 3) : first], steps[last : last + 4]
            fast = len(before) == 3 and before.min() > 0.3 * typical
            jumps = len(after) == 4 and after[0] > 5.0 * max(typical, after[1:].max())
            if fast or jumps:
                evidence = (
                    f"the encoder reads {q[first, k]:.6g} from t = {t[first]:.4g} s to {t[last]:.4g} s ({last - first + 1} "
                    f"samples) and moves fast {'before' if fast else 'after'}; the interval is cut out"
                )
                log.found("stuck encoder", name, evidence, "Repair the encoder or the log.")
                q = given.copy() if q is given else q
                q[first : last + 1, k] = np.nan
        if np.isnan(q[:, k]).mean() > 0.5:
            raise IdentificationError(f"the encoder of {name!r} is stuck during most of the recording. Repair it.")
    return q


def saturated_samples(robot: AnyRobot, tau: np.ndarray, log: CleaningLog) -> np.ndarray:
    """Samples at which a force stays at exactly its largest or smallest value."""
    flags = np.zeros(len(tau), dtype=bool)
    for k, name in enumerate(robot.actuator_names):
        column = tau[:, k]
        high, low = np.nanmax(column), np.nanmin(column)
        limits = [(high, "largest"), (low, "smallest")] if high > low else []
        for limit, text in limits:
            at_limit = column == limit
            long = runs(at_limit, SATURATED_RUN)
            count = sum(last - first for first, last in long)
            distance = np.abs(column - limit)
            next_level = np.nanmin(distance[~at_limit])
            usual = int((distance == next_level).sum())  # coarse forces stay at every level for a while
            if count > max(SATURATED_SHARE * len(column), 3 * usual) and abs(limit) > 0.3 * np.nanmax(np.abs(column)):
                for first, last in long:
                    flags[first:last] = True
                evidence = (
                    f"{count} samples ({100 * count / len(column):.2g} %) stay at exactly the {text} force {limit:.6g}, in "
                    f"{len(long)} runs; they are left out of the fit"
                )
                log.found(
                    "saturation", name, evidence, "Reduce speed or acceleration, or raise the limit of the current."
                )
    return flags


def runs(flags: np.ndarray, shortest: int = 1) -> list[tuple[int, int]]:
    """Start and end (exclusive) of every run of True of at least this length."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], flags.astype(np.int8), [0]])))
    return [(int(a), int(b)) for a, b in zip(edges[::2], edges[1::2], strict=True) if b - a >= shortest]
