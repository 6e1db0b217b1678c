"""Defects of known strength in synthetic recordings: each is found, and its effect on another motion bounded."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import appell
from appell.errors import IdentificationWarning
from appell.identification import Filtering, Recording, Transmission
from appell.identification.corruption import outliers
from appell_lab.recordings import Plant, random_motion, record

TERMS = ("rotor", "viscous", appell.identification.Coulomb(0.01), "offset")


@pytest.fixture(scope="module")
def recordings():
    """Two motions of a four-joint arm with friction at 100 Hz, noise of 2 %."""
    robot = appell.load("puma560").lock({"joint5": 0.3, "joint6": 0.0})
    plant = Plant.of(robot, 1, force=0.02, stribeck=0.0, width=0.01)
    motions = (random_motion(robot, seed, 10.0, 5, 1.0) for seed in (1, 2))
    return robot, *(record(plant, motion, 20.0, 0.01, seed) for seed, motion in enumerate(motions))


def column(array: str, rows, k: int, value: float):
    def damage(recording: Recording) -> Recording:
        changed = getattr(recording, array).copy()
        changed[rows, k] = value
        return replace(recording, **{array: changed})

    return damage


def spikes(recording: Recording) -> Recording:
    hit = np.random.default_rng(1).random(recording.tau.shape) < 0.05
    return replace(recording, tau=recording.tau + hit * 2.0 * np.abs(recording.tau).max(axis=0))


def stuck(recording: Recording) -> Recording:
    k = 500 + int(np.argmax(np.abs(np.diff(recording.q[500:1500, 1]))))
    return column("q", slice(k, k + 60), 1, float(recording.q[k, 1]))(recording)


def clipped(recording: Recording) -> Recording:
    limit = 0.6 * np.abs(recording.tau[:, 1]).max()
    tau = recording.tau.copy()
    tau[:, 1] = np.clip(tau[:, 1], -limit, limit)
    return replace(recording, tau=tau)


def gap(recording: Recording) -> Recording:
    kept = (recording.t < 10.0) | (recording.t > 11.5)
    return Recording(recording.t[kept], recording.q[kept], recording.tau[kept])


def backwards(recording: Recording) -> Recording:
    t = recording.t.copy()
    t[1000] = t[998]
    return replace(recording, t=t)


FOUND = {
    "spikes": (spikes, "corrupt samples", "joint2"),
    "1000 rad": (column("q", 1200, 2, 1000.0), "corrupt samples", "joint3"),
    "1e305": (column("tau", [700, 701, 1500], 1, 1e305), "corrupt samples", "joint2"),
    "missing": (column("q", slice(900, 1100), 3, np.nan), "corrupt samples", "joint4"),
    "stuck": (stuck, "stuck encoder", "joint2"),
    "times": (backwards, "times", "sample 1000"),
    "clipped": (clipped, "saturation", "joint2"),
}
"""Defects with what is found where; the effect on another motion is small."""


@pytest.fixture(scope="module")
def clean(recordings):
    robot, first, second = recordings
    found = appell.identify(robot, first, terms=TERMS)
    assert not found.findings
    return found, found.validate(second).raw.total


@pytest.mark.parametrize("name", FOUND)
def test_defects_are_found_and_harmless(recordings, clean, name):
    robot, first, second = recordings
    damage, kind, where = FOUND[name]
    with pytest.warns(IdentificationWarning, match=kind):
        fit = appell.identify(robot, damage(first), terms=TERMS, filtering=Filtering(clean[0].cutoff))
    assert (kind, where) in {(each.kind, each.where) for each in fit.findings}
    assert fit.validate(second).raw.total < 1.05 * clean[1]


WRONG = {
    "silent": (lambda r: replace(r, tau=r.tau * [1, 1, 1, 0]), "no signal", "joint4"),
    "sign": (lambda r: replace(r, tau=r.tau * [1, 1, -1, 1]), "sign", "joint3"),
    "forces": (lambda r: replace(r, tau=r.tau[:, [0, 2, 1, 3]]), "columns", "joint2 and joint3"),
    "positions": (lambda r: replace(r, q=r.q[:, [0, 2, 1, 3]]), "columns", "joint2 and joint3"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_signs_and_columns_are_named(recordings, name):
    robot, first, _ = recordings
    damage, kind, where = WRONG[name]
    with pytest.warns(IdentificationWarning, match=kind):
        fit = appell.identify(robot, damage(first), terms=TERMS)
    assert (kind, where) in {(each.kind, each.where) for each in fit.findings}


def test_the_opposite_sign_of_a_joint_that_no_other_shares_shows_in_its_friction(recordings):
    robot, first, _ = recordings
    with pytest.warns(IdentificationWarning, match=r"negative viscous friction, joint4: fv\[joint4\] = -"):
        appell.identify(robot, replace(first, tau=first.tau * [1, 1, 1, -1]), terms=TERMS)


@pytest.mark.parametrize("constant", [0.0, -1.0])
def test_torque_constants_that_are_not_positive(recordings, constant):
    robot, first, _ = recordings
    gains = Transmission(torque_constants=[1.0, constant, 1.0, 1.0])
    with pytest.warns(IdentificationWarning, match=f"torque constant, joint2: {constant:g}"):
        appell.identify(robot, first, terms=TERMS, transmission=gains)


def test_a_gap_splits_the_recording(recordings, clean):
    robot, first, second = recordings
    fit = appell.identify(robot, gap(first), terms=TERMS, filtering=Filtering(clean[0].cutoff))
    assert any("split at 1 gaps, the longest 1.5" in step for step in fit.steps)
    assert fit.validate(second).raw.total < 1.05 * clean[1]


def test_late_forces_are_shifted_back(recordings, clean):
    """By 23 ms, that is 2.3 samples."""
    robot, _, second = recordings
    plant = Plant.of(robot, 1, force=0.02, stribeck=0.0, width=0.01)
    late = record(plant, random_motion(robot, 1, 10.0, 5, 1.0), 20.0, 0.01, 0, lag=0.023)
    fit = appell.identify(robot, late, terms=TERMS)
    assert fit.lag == pytest.approx(0.023, abs=0.002)
    assert replace(fit, lag=0.0).validate(second).raw.total < 1.05 * clean[1]


def test_stamps_that_alternate_are_those_of_the_samples_or_of_the_log(recordings, clean):
    """9 and 11 ms: once the samples were taken then, once evenly."""
    robot, first, second = recordings
    plant = Plant.of(robot, 1, force=0.02, stribeck=0.0, width=0.01)
    uneven = record(plant, random_motion(robot, 1, 10.0, 5, 1.0), 20.0, 0.01, 0, uneven=True)
    for recording in (uneven, replace(first, t=uneven.t)):
        fit = appell.identify(robot, recording, terms=TERMS, filtering=Filtering(clean[0].cutoff))
        assert fit.validate(second).raw.total < 1.05 * clean[1]
    assert any("resampled" in step for step in fit.steps)


def test_coarse_forces_are_not_saturated(recordings, clean):
    """The last joint's forces have a dozen levels, and stay at each for some samples; a fifth of them cut off is saturation."""
    robot, first, second = recordings
    step = np.ptp(first.tau[:, 3]) / 12.0
    coarse = replace(first, tau=np.round(first.tau / step) * step)
    options = {"terms": TERMS, "filtering": Filtering(clean[0].cutoff)}
    fit = appell.identify(robot, coarse, **options)
    assert not fit.findings
    assert fit.validate(second).raw.total < 1.2 * clean[1]
    limit = np.round(np.quantile(np.abs(coarse.tau[:, 3]), 0.6) / step) * step
    cut = replace(coarse, tau=np.stack([*coarse.tau.T[:3], np.clip(coarse.tau[:, 3], -limit, limit)], axis=1))
    with pytest.warns(IdentificationWarning, match="saturation, joint4"):
        appell.identify(robot, cut, **options)


@pytest.mark.parametrize("extremum", np.arange(393.0, 400.0, 0.5))
def test_a_recording_that_ends_in_motion_has_no_outliers_there(extremum):
    """The last samples have no neighbours on one side: an extremum just before is not unlike them."""
    x = np.cos(0.03 * (np.arange(400) - extremum)) + 1e-6 * np.random.default_rng(0).normal(size=400)
    assert not outliers(x).any()
    assert not outliers(x[::-1]).any()
    x[200] += 0.5
    assert np.flatnonzero(outliers(x)).tolist() == [200]


def test_vibrations_do_not_pass_for_motion(recordings):
    """Spectral lines at 58 to 87 Hz of 1e-4 rad in a motion below 0.5 Hz, at 1 kHz."""
    robot = recordings[0]
    plant = Plant.of(robot, 1, force=0.01, stribeck=0.0, lines=1e-4)
    motions = (random_motion(robot, seed, 10.0, 5, 1.0) for seed in (1, 2))
    first, second = (record(plant, motion, 12.0, 0.001, seed) for seed, motion in enumerate(motions))
    fit = appell.identify(robot, first, terms=TERMS)
    assert 0.5 < fit.cutoff < 30.0
    assert fit.validate(second).filtered.total < 0.02


def test_few_samples_of_a_slow_motion_are_a_finding(recordings):
    robot, first, second = recordings
    short = Recording(first.t[:120], first.q[:120], first.tau[:120])
    with pytest.warns(IdentificationWarning, match="excitation"):
        fit = appell.identify(robot, short)
    assert fit.validate(second).raw.total > 3.0 * fit.relative_error.total


def test_several_recordings_are_folds(recordings):
    robot, first, second = recordings
    both = appell.identify(robot, [first, second], terms=TERMS)
    assert len(both.recordings) == 2
    assert len(set(both.recordings)) == 2
    alone = appell.identify(robot, first, terms=TERMS)
    assert (both.standard_errors < alone.standard_errors).mean() > 0.9
    assert both.validate(second).filtered.total < 1.05 * alone.validate(second).filtered.total


def covered(seed: int, colour: float) -> np.ndarray:
    """Which 95 % intervals hold the true values, for a four-joint arm with coloured noise of 5 %."""
    robot = appell.load("puma560").lock({"joint5": 0.3, "joint6": 0.0})
    plant = Plant.of(robot, 0, force=0.05, colour=colour, encoder=1e-6, stribeck=0.0, width=0.01)
    recording = record(plant, random_motion(robot, seed, 10.0, 5, 1.0), 30.0, 0.008, seed)
    fit = appell.identify(robot, recording, terms=TERMS, filtering=Filtering(5.0))
    truth = np.concatenate([
        plant.robot.parameters[: 10 * len(robot.tree.links)], plant.rotor, plant.viscous, plant.coulomb, plant.offset,
    ])  # fmt: skip
    return np.abs(fit.base_parameters - fit.base.of(truth)) < 1.96 * fit.standard_errors


def test_intervals_hold_what_they_promise():
    """95 % intervals, coloured noise; eight recordings with 35 parameters each, whose errors are correlated."""
    inside = np.concatenate([covered(seed, 0.9) for seed in range(8)])
    assert 0.88 < inside.mean() < 0.99


@pytest.mark.slow
@pytest.mark.parametrize("colour", [0.0, 0.8, 0.95])
def test_intervals_of_a_hundred_recordings(colour):
    inside = np.concatenate([covered(seed, colour) for seed in range(100)])
    assert 0.90 < inside.mean() < 0.98
