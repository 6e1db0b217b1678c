"""Recordings as evenly sampled segments: corrupt samples found, gaps split, uneven times resampled; every step is noted.

Order: times in order, plausible values, encoders that are stuck, outliers against the neighbouring samples, gaps, resampling. All
of it precedes any filter, since a filter spreads one bad sample over its neighbours.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from appell.errors import IdentificationError
from appell.identification.corruption import (
    MAX_BAD_SHARE,
    MAX_FILL,
    MAX_FILL_TIME,
    CleaningLog,
    filled,
    runs,
    saturated_samples,
    without_corrupt,
    without_frozen,
)
from appell.identification.findings import Finding
from appell.identification.recording import Recording, require_shapes
from appell.identification.units import require_radians, require_seconds
from appell.robot.protocol import AnyRobot

JITTER_TOL = 0.01
"""Relative difference between time steps up to which samples count as evenly spaced."""
GAP_STEPS = 3.5
"""Time steps longer than this many median ones are gaps."""
MIN_SEGMENT = 0.02
"""Segments shorter than this share of the recording, or than 40 samples, are dropped."""


@dataclass(frozen=True)
class Segment:
    """An evenly sampled part of a recording: t (N,), q (N, nq), tau (N, actuators), qd or None.

    Attributes:
        trusted: samples whose forces were measured and are not saturated, (N,).
        recording: number of the recording.
    """

    t: np.ndarray
    q: np.ndarray
    tau: np.ndarray
    qd: np.ndarray | None
    trusted: np.ndarray
    recording: int = 0

    @property
    def period(self) -> float:
        """Time between samples. [s]"""
        return float((self.t[-1] - self.t[0]) / (len(self.t) - 1))


@dataclass(frozen=True)
class CleanRecording:
    """The segments of a recording, what was done to it, and what was found."""

    name: str
    segments: tuple[Segment, ...]
    notes: tuple[str, ...]
    findings: tuple[Finding, ...]


def clean_recording(robot: AnyRobot, recording: Recording, number: int = 0) -> CleanRecording:
    """The recording as evenly sampled segments without corrupt samples."""
    log = CleaningLog(recording.name, list(recording.notes), [])
    recording = _in_order(require_shapes(robot, recording), log)
    require_seconds(robot, recording.t, recording.q)
    require_radians(robot, recording.t, recording.q)
    breaks = _gaps(recording.t)
    q = without_corrupt(robot, recording.q, "q", robot.q_names, breaks, log)
    tau = without_corrupt(robot, recording.tau, "tau", robot.actuator_names, breaks, log)
    if not np.nan_to_num(tau).any():
        raise IdentificationError("tau is 0 in all samples: no force was recorded. Check sensors and torque constants.")
    q = without_frozen(robot, recording.t, q, log)
    saturated = saturated_samples(robot, tau, log)
    trusted = ~saturated
    for k in range(tau.shape[1]):
        for first, last in runs(np.isnan(tau[:, k]), MAX_FILL + 1):
            trusted[first:last] = False
    segments = tuple(_segments(replace(recording, q=q, tau=tau), trusted, number, log))
    if not segments:
        raise IdentificationError(
            f"{recording.name}: no interval without gaps is long enough to identify from. "
            f"{' '.join(log.notes)} Record again, or pass a longer recording."
        )
    return CleanRecording(recording.name, segments, tuple(log.notes), tuple(log.findings))


def _in_order(recording: Recording, log: CleaningLog) -> Recording:
    """Samples with finite, increasing times: repeated stamps and single steps backwards are dropped."""
    kept = np.isfinite(recording.t)
    t = np.where(kept, recording.t, -np.inf)
    kept &= t > np.concatenate([[-np.inf], np.maximum.accumulate(t)[:-1]])
    dropped = int((~kept).sum())
    if not dropped:
        return recording
    first = int(np.argmin(kept))
    if dropped > MAX_BAD_SHARE * len(t):
        found = f"t[{first}] = {recording.t[first]:g} s follows t[{first - 1}] = {recording.t[first - 1]:g} s"
        raise IdentificationError(
            f"t does not increase: {found}, and {dropped} of {len(t)} samples in all. Sort the samples."
        )
    log.found(
        "times", f"sample {first}", f"{dropped} samples have no time or one that does not increase; they are dropped",
        "Record the sensors' own times.",
    )  # fmt: skip
    qd = None if recording.qd is None else recording.qd[kept]
    return replace(recording, t=recording.t[kept], q=recording.q[kept], tau=recording.tau[kept], qd=qd)


def _gaps(t: np.ndarray) -> list[int]:
    """First samples after gaps in time."""
    steps = np.diff(t)
    return [int(k) + 1 for k in np.flatnonzero(steps > GAP_STEPS * np.median(steps))]


def _segments(recording: Recording, trusted: np.ndarray, number: int, log: CleaningLog) -> Iterator[Segment]:
    """Evenly sampled parts between gaps of the times and of the coordinates."""
    t = recording.t
    missing = np.asarray(np.isnan(recording.q).any(axis=1))
    step = float(np.median(np.diff(t)))
    for first, last in runs(missing):
        if last - first <= max(MAX_FILL, MAX_FILL_TIME / step) and first > 0 and last < len(t):
            missing[first:last] = False
    ends = _gaps(t)
    cuts = sorted({0, len(t), *ends})
    pieces = []
    for a, b in pairwise(cuts):
        pieces += [(a + first, a + last) for first, last in runs(~missing[a:b])]
    shortest = max(40, int(MIN_SEGMENT * len(t)))
    kept = [(a, b) for a, b in pieces if b - a >= min(shortest, len(t))]
    if ends:
        widest = float(np.diff(t).max())
        log.notes.append(f"split at {len(ends)} gaps, the longest {widest:.4g} s with {step:.4g} s between samples")
    if len(pieces) > len(kept):
        lost = sum(b - a for a, b in pieces) - sum(b - a for a, b in kept)
        log.notes.append(f"dropped {len(pieces) - len(kept)} short intervals with {lost} samples in all")
    worst = 0.0
    for a, b in kept:
        part = slice(a, b)
        qd = None if recording.qd is None else recording.qd[part]
        q, tau = _whole(recording.q[part], smooth=True), _whole(recording.tau[part], smooth=False)
        velocities = None if qd is None else _whole(qd, smooth=False)
        segment = Segment(t[part], q, tau, velocities, trusted[part], number)
        even, jitter = _evenly_sampled(segment)
        worst = max(worst, jitter)
        yield even
    if worst > JITTER_TOL:
        log.notes.append(
            f"resampled to even times by cubic splines: time steps differ from {step:.4g} s by up to {100 * worst:.3g} %"
        )


def _whole(array: np.ndarray, smooth: bool) -> np.ndarray:
    """Columns with missing samples interpolated: by cubic splines where the signal is smooth, else by lines."""
    from scipy.interpolate import CubicSpline

    bad = np.isnan(array)
    if not bad.any():
        return array
    array, index = array.copy(), np.arange(len(array))
    for k in np.flatnonzero(bad.any(axis=0)):
        good = ~bad[:, k]
        if good.sum() < 4:
            array[:, k] = 0.0  # a force that is not used, since its samples are not trusted
        elif smooth:
            array[~good, k] = CubicSpline(index[good], array[good, k])(index[~good])
        else:
            array[:, k] = filled(array[:, k], ~good)
    return array


def _evenly_sampled(segment: Segment) -> tuple[Segment, float]:
    """The segment on an even grid of times, and the largest relative difference between its time steps.

    Stamps are those of the sensors, or of a log that samples evenly and stamps late: the coordinates decide, which are
    smoother over the right times.
    """
    from scipy.interpolate import CubicSpline

    t = segment.t
    steps = np.diff(t)
    jitter = float(np.abs(steps / np.median(steps) - 1.0).max())
    even = np.linspace(t[0], t[-1], len(t))
    if jitter <= JITTER_TOL:
        return replace(segment, t=even), jitter
    if roughness(even, segment.q) < 0.7 * roughness(t, segment.q):
        return replace(segment, t=even), jitter
    arrays = [None if x is None else CubicSpline(t, x, axis=0)(even) for x in (segment.q, segment.tau, segment.qd)]
    trusted = np.interp(even, t, segment.trusted.astype(float)) > 0.999
    return Segment(even, arrays[0], arrays[1], arrays[2], trusted, segment.recording), jitter  # type: ignore[arg-type]


def roughness(t: np.ndarray, q: np.ndarray) -> float:
    """Median distance of the samples from the cubics through their four neighbours, relative to each column's travel."""
    nodes = [t[k : len(t) - 4 + k] for k in (0, 1, 3, 4)]
    x, total = t[2:-2], np.zeros((len(t) - 4, q.shape[1]))
    for i, own in enumerate(nodes):
        weight = np.ones(len(x))
        for j, other in enumerate(nodes):
            if i != j:
                weight *= (x - other) / (own - other)
        total += weight[:, None] * q[(0, 1, 3, 4)[i] : len(t) - 4 + (0, 1, 3, 4)[i]]
    travel = np.maximum(np.ptp(q, axis=0), 1e-12)
    return float(np.median(np.median(np.abs(q[2:-2] - total), axis=0) / travel))
