"""Choices by cross-validation: cut-off frequency, friction terms, time lag of the forces.

Rows are single states with the forces as recorded, so that choices of the filter are compared on the same numbers. A fold is a
recording, or a fifth of one. For each fold and force the products X^T X of

    X = [K_b | columns of other friction terms | forces, shifted by some samples]

suffice for the residuals of every choice: training on the other folds subtracts one fold's products from the sum.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from appell.errors import ModelError
from appell.identification import signals
from appell.identification.base import BaseParameters, base_regressor
from appell.identification.cleaning import Segment
from appell.identification.findings import Finding
from appell.identification.observations import FOLDS, RecordedMotion, filtered_motion, long_enough
from appell.robot.protocol import AnyRobot
from appell.robot.regressor_terms import (
    AsymmetricViscous,
    Coulomb,
    LoadFriction,
    Offset,
    RegressorTerm,
    Rotor,
    Stribeck,
    Viscous,
)

COULOMB_WIDTH = 0.01
"""Velocity over which Coulomb friction is smoothed, unless cross-validation prefers another. [rad/s, m/s]"""
COULOMB_WIDTHS = (0.0025, 0.005, 0.02, 0.04, 0.08)
FINER_WIDTHS = (0.7, 0.85, 1.2, 1.4)
STRIBECK_VELOCITIES = (0.05, 0.15, 0.4)
DEFAULT_TERMS = (Rotor(), Viscous(), Coulomb(COULOMB_WIDTH), Offset())
"""Regressor terms besides the link inertias, by default."""

MAX_ROWS, MAX_SAMPLES, WINDOWS = 4000, 120_000, 12
"""States at which choices are compared; samples that are filtered for it, in this many windows."""
RATIO = 1.5
"""Ratio of successive cut-off frequencies."""
MIN_GAIN, MIN_TERM_GAIN = 0.01, 0.03
"""Relative reduction of the prediction error for which another choice than the default is made, or a term is added."""
MIN_STRIBECK = 0.05
"""Least root mean square of the columns of Stribeck friction, between 0 and 1."""
LAG_STEPS, LAG_TIME = 6, 0.004
"""Shifts of the forces: this many steps to both sides, of at least this time [s]."""
RIDGE = 1e-11
"""Added to the diagonal of normal equations with unit columns."""


class Lag(NamedTuple):
    """Time by which the forces are late [s], and the prediction error with and without it."""

    seconds: float
    error: float
    without: float


@dataclass(frozen=True)
class Choices:
    """What was chosen, with the evidence.

    Attributes:
        cutoff: cut-off frequency. [Hz]
        terms: regressor terms.
        lag: of the forces.
        curve: cut-off frequencies and their prediction errors.
        notes: one line for each choice.
        findings: choices that are doubtful.
        products: for other comparisons; forces as recorded are the last right-hand sides.
    """

    cutoff: float | None
    terms: tuple[RegressorTerm, ...]
    lag: Lag
    curve: tuple[tuple[float, float], ...]
    notes: tuple[str, ...]
    findings: tuple[Finding, ...]
    products: Products | None = None


@dataclass(frozen=True)
class Products:
    """X^T X of each fold and force: G (c, c), products with right-hand sides h (c, r), their powers p (r,)."""

    columns: tuple[np.ndarray, ...]
    G: tuple[tuple[np.ndarray, ...], ...]
    h: tuple[tuple[np.ndarray, ...], ...]
    p: tuple[tuple[np.ndarray, ...], ...]
    samples: tuple[int, ...]
    size: int

    def residuals(self, active: np.ndarray, rhs: Sequence[int], cross: bool = True) -> np.ndarray:
        """Squared residuals, (folds, forces): each fold predicted from the others, or all of them fitted."""
        weights = np.ones(len(self.columns))
        for _ in range(3):
            rest = self._residuals(active, rhs, weights, cross=False).sum(axis=0)
            power = np.array([sum(fold[j][r] for fold in self.p) for j, r in enumerate(rhs)])
            weights = 1.0 / np.maximum(rest, 1e-12 * power.max(initial=1e-300))
        return self._residuals(active, rhs, weights, cross)

    def _residuals(self, active: np.ndarray, rhs: Sequence[int], weights: np.ndarray, cross: bool) -> np.ndarray:
        folds = range(len(self.G))
        A, b = np.zeros((len(folds), self.size, self.size)), np.zeros((len(folds), self.size))
        for f in folds:
            for j, own in enumerate(self.columns):
                A[f][np.ix_(own, own)] += weights[j] * self.G[f][j]
                b[f][own] += weights[j] * self.h[f][j][:, rhs[j]]
        A, b = A[:, active][:, :, active], b[:, active]
        result = np.zeros((len(folds), len(self.columns)))
        for f in folds:
            M, v = (
                (A.sum(axis=0) - A[f], b.sum(axis=0) - b[f])
                if cross and len(folds) > 1
                else (A.sum(axis=0), b.sum(axis=0))
            )
            values = np.zeros(self.size)
            values[active] = _solution(M, v)
            for j, own in enumerate(self.columns):
                x = values[own]
                p = self.p[f][j][rhs[j]]
                result[f, j] = max(p - 2.0 * x @ self.h[f][j][:, rhs[j]] + x @ self.G[f][j] @ x, 1e-14 * p)
        return result

    def smallest_column(self, first: int, count: int) -> float:
        """Least root mean square among columns from `first` on."""
        squares, rows = np.zeros(self.size), np.zeros(self.size)
        for G, samples in zip(self.G, self.samples, strict=True):
            for own, products in zip(self.columns, G, strict=True):
                squares[own] += np.diag(products)
                rows[own] += samples
        return float(np.sqrt(squares / np.maximum(rows, 1.0))[first : first + count].min())

    def error(self, active: np.ndarray, rhs: Sequence[int]) -> float:
        """Relative error in cross-validation: geometric mean of the one of all forces and the mean one of each."""
        rest = self.residuals(active, rhs).sum(axis=0)
        power = np.array([sum(fold[j][r] for fold in self.p) for j, r in enumerate(rhs)])
        seen = power > 1e-12 * power.max(initial=0.0)
        total = np.log(rest[seen].sum() / power[seen].sum())
        return float(np.exp(0.25 * (total + np.mean(np.log(rest[seen] / power[seen])))))


def _solution(M: np.ndarray, v: np.ndarray) -> np.ndarray:
    scale = np.sqrt(np.maximum(np.diag(M), 1e-300))
    unit = M / np.outer(scale, scale)
    return np.linalg.solve(unit + RIDGE * np.eye(len(v)), v / scale) / scale


def products(
    robot: AnyRobot,
    base: BaseParameters,
    terms: Sequence[RegressorTerm],
    others: Sequence[RegressorTerm],
    motions: Sequence[RecordedMotion],
    shifted: Sequence[tuple[np.ndarray, int, int]] = (),
) -> Products:
    """Products of base parameters, other terms, and forces: shifted ones of each force, then all forces unshifted."""
    forces, b = len(robot.actuator_names), len(base)
    thin = max(1, sum(len(motion.t) for motion in motions) // MAX_ROWS)
    tree = robot is robot.spanning_tree
    used = base.used if tree else np.ones((forces, b), dtype=bool)
    own = [np.concatenate([np.flatnonzero(used[j]), b + forces * np.arange(len(others)) + j]) for j in range(forces)]
    blocks = []
    for k, motion in enumerate(motions):
        rows = np.flatnonzero(motion.trusted)[::thin]
        states = [x[rows] for x in motion.states]
        K = base_regressor(robot, base, terms, *states, check=False)
        extra = [np.einsum("njj->nj", term.columns(*states)) for term in others] if tree else []
        fold = np.arange(len(rows)) * FOLDS // max(len(rows), 1)
        shifts = list(_shifts(rows, *shifted[k])) if shifted else []
        blocks.append((motion.recording, fold, K, extra, shifts, motion.raw[rows]))
    recordings = sorted({block[0] for block in blocks})
    G, h, p, samples = [], [], [], []
    labels = [recordings.index(block[0]) if len(recordings) >= 3 else block[1] for block in blocks]
    for fold in range(max(len(recordings), 1) if len(recordings) >= 3 else FOLDS):
        parts: list[list[np.ndarray]] = [[] for _ in range(forces)]
        for label, (_, _, K, extra, shifts, raw) in zip(labels, blocks, strict=True):
            kept = np.broadcast_to(np.asarray(label) == fold, (len(K),))
            for j in range(forces):
                added = [x[kept, j, None] for x in extra]
                late = [x[kept, j, None] for x in shifts]
                parts[j].append(np.hstack([K[kept, j][:, used[j]], *added, *late, raw[kept]]))
        X = [np.concatenate(rows) for rows in parts]
        products = [x.T @ x for x in X]
        samples.append(len(X[0]))
        sizes = [len(columns) for columns in own]
        G.append(tuple(P[:c, :c] for P, c in zip(products, sizes, strict=True)))
        h.append(tuple(P[:c, c:] for P, c in zip(products, sizes, strict=True)))
        p.append(tuple(np.diag(P)[c:] for P, c in zip(products, sizes, strict=True)))
    return Products(tuple(own), tuple(G), tuple(h), tuple(p), tuple(samples), b + forces * len(others))


def _shifts(rows: np.ndarray, tau: np.ndarray, first: int, step: int) -> Iterator[np.ndarray]:
    """Forces at the rows, shifted by -LAG_STEPS ... LAG_STEPS steps."""
    for k in range(-LAG_STEPS, LAG_STEPS + 1):
        yield tau[np.clip(first + rows + k * step, 0, len(tau) - 1)]


def windows(segments: Sequence[Segment]) -> list[Segment]:
    """The segments, or a dozen evenly spaced parts of them if they have many samples."""
    total = sum(len(segment.t) for segment in segments)
    if total <= MAX_SAMPLES:
        return list(segments)
    size, result = MAX_SAMPLES // WINDOWS, []
    for segment in segments:
        count = max(1, round(WINDOWS * len(segment.t) / total))
        for first in np.linspace(0, max(len(segment.t) - size, 0), count).astype(int):
            part = slice(first, first + size)
            qd = None if segment.qd is None else segment.qd[part]
            arrays = (segment.t[part], segment.q[part], segment.tau[part], qd, segment.trusted[part])
            result.append(Segment(*arrays, segment.recording))
    return result


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


def choose(
    robot: AnyRobot,
    segments: Sequence[Segment],
    base: BaseParameters,
    terms: tuple[RegressorTerm, ...],
    cutoff: float | str | None,
    friction: bool,
) -> Choices:
    """Cut-off frequency, if `"auto"`, lag, and friction terms beyond the default ones if `friction`, by cross-validation."""
    notes, findings, curve = [], [], []
    parts = windows(segments)
    if isinstance(cutoff, str):
        cutoff, curve = _choose_cutoff(robot, parts, base, terms)
        notes, findings = _describe_cutoff(cutoff, curve)
    motions, shifted, step = _shifted_motions(robot, parts, cutoff)
    widths = tuple(Coulomb(width) for width in COULOMB_WIDTHS) if friction and robot is robot.spanning_tree else ()
    data = products(robot, base, terms, widths, motions, shifted)
    forces = len(robot.actuator_names)
    lag = _choose_lag(data, np.arange(data.size) < len(base), forces, step)
    if lag.seconds:
        notes.append(
            f"forces are late by {1e3 * lag.seconds:.3g} ms and shifted back: prediction error {100 * lag.error:.2f} %, without "
            f"{100 * lag.without:.2f} %"
        )
    if widths:
        shift = round(lag.seconds / step) + LAG_STEPS
        wide, lines = _choose_terms(data, base, terms, widths, forces, shift)
        width = next(term.width for term in wide if isinstance(term, Coulomb))
        notes += lines
        others = _other_terms(robot, width)
        again = products(robot, base, wide, others, motions, shifted)
        terms, lines = _choose_terms(again, base, wide, others, forces, shift)
        notes += lines
    return Choices(cutoff, terms, lag, tuple(curve), tuple(notes), tuple(findings), data)


def _choose_cutoff(
    robot: AnyRobot, parts: Sequence[Segment], base: BaseParameters, terms: Sequence[RegressorTerm]
) -> tuple[float, list[tuple[float, float]]]:
    """A frequency in the upper half of those around the least prediction error with errors within a percent of it."""
    curve: list[tuple[float, float]] = []
    for frequency in cutoff_frequencies(parts):
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


def _describe_cutoff(cutoff: float, curve: Sequence[tuple[float, float]]) -> tuple[list[str], list[Finding]]:
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
        if i not in (k - 1, k, k + 1)
        and values[i] < 1.05 * values[k]
        and max(values[min(i, k) : max(i, k) + 1]) > 1.3 * values[k]
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


def _shifted_motions(
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


def _choose_lag(data: Products, active: np.ndarray, forces: int, step: float) -> Lag:
    """The shift of all forces at the vertex of the parabola through the least error and its neighbours."""
    errors = np.array([data.error(active, [k] * forces) for k in range(2 * LAG_STEPS + 1)])
    best, without = int(np.argmin(errors)), float(errors[LAG_STEPS])
    if best in (0, 2 * LAG_STEPS):
        return Lag(0.0, without, without)
    a, b, c = errors[best - 1 : best + 2] ** 2
    vertex = best - LAG_STEPS + 0.5 * (a - c) / max(a - 2.0 * b + c, 1e-300)
    least = float(np.sqrt(max(b - 0.125 * (a - c) ** 2 / max(a - 2.0 * b + c, 1e-300), 0.0)))
    if least > (1.0 - MIN_GAIN) * without:
        return Lag(0.0, without, without)
    return Lag(float(vertex * step), least, without)


def _other_terms(robot: AnyRobot, width: float) -> tuple[RegressorTerm, ...]:
    """Widths near this one for Coulomb friction, and friction terms that may be added."""
    others: list[RegressorTerm] = [Coulomb(round(factor * width, 6)) for factor in FINER_WIDTHS]
    others += [AsymmetricViscous(), *(Stribeck(velocity, width) for velocity in STRIBECK_VELOCITIES)]
    with contextlib.suppress(ModelError):  # a description without masses has no loads
        if np.abs(robot.gravity(robot.random_configurations(20, np.random.default_rng(0)))).max(initial=0.0) > 0:
            others.append(LoadFriction(robot, width))
    return tuple(others)


def _choose_terms(
    data: Products,
    base: BaseParameters,
    terms: tuple[RegressorTerm, ...],
    others: Sequence[RegressorTerm],
    forces: int,
    rhs: int,
) -> tuple[tuple[RegressorTerm, ...], list[str]]:
    """The terms with another Coulomb friction or more terms, where these reduce the prediction error noticeably.

    A term replaces one of its own type.
    """
    coulomb = np.array([base.names[k].startswith("fc[") for k in base.independent])
    active = np.arange(data.size) < len(base)
    chosen: dict[type, RegressorTerm] = {type(term): term for term in terms}
    least = data.error(active, [rhs] * forces)
    lines = [f"{_describe(chosen[Coulomb])}: prediction error {100 * least:.2f} %"]
    for k, term in enumerate(others):
        trial = active.copy()
        if isinstance(term, Coulomb):
            trial[: len(base)] &= ~coulomb
        for other, each in enumerate(others):
            if type(each) is type(term):
                first = len(base) + forces * other
                trial[first : first + forces] = other == k
        if isinstance(term, Stribeck) and data.smallest_column(len(base) + forces * k, forces) < MIN_STRIBECK:
            lines.append(f"{_describe(term)}: not seen, since some joint is hardly ever as slow")
            continue
        value = data.error(trial, [rhs] * forces)
        taken = value < (1.0 - (MIN_GAIN if isinstance(term, Coulomb) else MIN_TERM_GAIN)) * least
        lines.append(f"{_describe(term)}: {100 * value:.2f} %{', chosen' if taken else ''}")
        if taken:
            active, least = trial, value
            chosen[type(term)] = term
    return tuple(chosen.values()), lines


def _describe(term: RegressorTerm) -> str:
    if isinstance(term, Coulomb):
        return f"Coulomb friction over {term.width} rad/s"
    if isinstance(term, Stribeck):
        return f"with Stribeck friction below {term.velocity} rad/s"
    return {"AsymmetricViscous": "with viscous friction that differs between directions"}.get(
        type(term).__name__, "with friction in proportion to the load"
    )


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
