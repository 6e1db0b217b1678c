"""Rows of the regression: decimation, borders, folds, blocks that are left out, states of recorded motions."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.closeness import assert_close

import appell
from appell.errors import IdentificationError
from appell.identification import Holdout, observations, recorded_motion
from appell.identification.base import base_parameters
from appell.identification.cleaning import Segment
from appell.identification.observations import Observations
from appell.identification.recorded_motion import Decimation, filtered_motion, usable_motions
from appell.identification.signals import decimation_kernel
from appell.robot.regressor_terms import Viscous


def segment(count=2000, period=0.001, recording=0, start=0.0, still=False):
    t = start + period * np.arange(count)
    q = np.stack([np.sin(3.0 * t), 0.0 * t if still else np.cos(5.0 * t)], axis=1)
    return Segment(t, q, np.stack([t, np.sin(t)], axis=1), None, np.ones(count, dtype=bool), recording)


@pytest.fixture(scope="module")
def robot():
    return appell.load("planar2r")


def observed(robot, *motions, factor=1, holdout=None):
    terms = (Viscous(),)
    return Observations(robot, terms, base_parameters(robot, terms), motions, factor, holdout or Holdout())


@pytest.mark.parametrize(
    ("total", "stride", "factor"),
    [(1, 1, 1), (3, 1, 3), (4, 1, 4), (7, 1, 7), (8, 2, 4), (12, 3, 4), (20, 5, 4), (25, 5, 5), (64, 16, 4)],
)
def test_decimation_in_two_steps(total, stride, factor):
    assert Decimation.of(total) == (stride, factor)


@pytest.mark.parametrize(
    ("cutoff", "count", "expected"),
    [
        (None, 100_000, 1),
        (10.0, 100_000, 20),
        (10.0, 30_000, 12),
        (10.0, 2_000, 1),
        (10.0, 14_500, 7),
        (28.0, 100_000, 7),
        (13.0, 100_000, 12),
    ],
)
def test_five_samples_remain_in_a_period_of_the_cutoff(cutoff, count, expected):
    """And two thousand in all: whole multiples of four from eight on."""
    assert recorded_motion.default_decimation(cutoff, [segment(count)]) == expected
    if count > 20_000:
        halves = [segment(count // 2), segment(count // 2)]
        assert recorded_motion.default_decimation(cutoff, halves) == expected


def test_the_slowest_recording_decides_the_decimation():
    """Five samples remain in a period of 10 Hz at 0.002 s, though the other recording has 0.001 s."""
    assert recorded_motion.default_decimation(10.0, [segment(50_000), segment(50_000, 0.002)]) == 8
    assert [recorded_motion.long_enough(segment(count), None) for count in (24, 25)] == [False, True]


def test_slow_filters(robot):
    assert len(filtered_motion(robot, segment(9000), 0.5).t) == 9000 - 2 * 2004


def test_borders_of_the_filter():
    assert recorded_motion.border_samples(None, 0.001) == 4
    assert recorded_motion.border_samples(10.0, 0.001) == 104
    assert recorded_motion.border_samples(3.0, 0.1) == 8


@pytest.mark.parametrize(
    ("count", "decimation", "enough"),
    [(416, 1, True), (415, 1, False), (416, 13, False), (417, 13, True), (416, 12, True)],
)
def test_segments_long_enough(count, decimation, enough):
    """Four borders of 104, and more than 16 samples for each step of the decimation between two of them."""
    assert recorded_motion.long_enough(segment(count), 10.0, decimation) == enough


def test_a_filtered_motion_has_the_derivatives(robot):
    part = segment()
    motion = filtered_motion(robot, part, None)
    assert_close(motion.t, part.t[4:-4])
    assert_close(motion.q, part.q[4:-4])
    assert_close(motion.qd[:, 0], 3.0 * np.cos(3.0 * motion.t), tolerance=1e-9)
    assert_close(motion.qdd[:, 1], -25.0 * np.cos(5.0 * motion.t), tolerance=1e-6)
    assert_close(motion.tau, part.tau[4:-4])
    assert motion.trusted.all()
    smooth = filtered_motion(robot, part, 20.0)
    assert len(smooth.t) == 2000 - 2 * 54
    assert_close(smooth.qd[:, 0], 3.0 * np.cos(3.0 * smooth.t), tolerance=1e-3)
    given = filtered_motion(robot, part, None, rates=(np.full((2000, 2), 7.0), None))
    assert (given.qd == 7.0).all()
    assert_close(given.qdd, np.zeros((1992, 2)), scale=1.0, tolerance=1e-9)


def test_strides_filter_the_forces_and_keep_the_times(robot):
    part = segment()
    motion = filtered_motion(robot, part, 20.0, 4)
    first = 54 + 24
    assert_close(motion.t, part.t[first : first + 4 * len(motion.t) : 4])
    assert len(motion.t) == (2000 - 108 - 49) // 4 + 1
    assert_close(motion.tau, part.tau[first : first + 4 * len(motion.t) : 4], tolerance=2e-3)
    assert_close(motion.raw, part.tau[first : first + 4 * len(motion.t) : 4])
    for first, last in ((1000, 1001), (1202, 1204), (1401, 1404), (1603, 1613)):
        part.trusted[first:last] = False
    weights = np.abs(decimation_kernel(4))
    index = np.rint(1000 * motion.t).astype(int)
    shares = np.array([weights @ ~part.trusted[k - 24 : k + 25] for k in index])
    assert (filtered_motion(robot, part, 20.0, 4).trusted == (shares < 0.05)).all()
    assert ((shares > 0.05) & (shares < 0.075)).any()


def test_joints_that_hardly_move_are_at_rest(robot):
    for travel, rest in ((0.9e-3, True), (1.1e-3, False)):
        part = segment(still=True)
        part.q[:, 1] = 0.5 * travel * np.sin(9.0 * part.t)
        motion = filtered_motion(robot, part, None)
        assert (motion.qd[:, 1] == 0.0).all() == rest
        assert (motion.qdd[:, 1] == 0.0).all() == rest
        assert motion.qd[:, 0].any()


@pytest.mark.parametrize("cutoff", [0.0, 500.0, -1.0])
def test_frequencies_beyond_half_the_sampling_rate(robot, cutoff):
    with pytest.raises(appell.ArgumentError, match="expected between 0 and 500 Hz"):
        filtered_motion(robot, segment(), cutoff)


def test_short_segments(robot):
    with pytest.raises(IdentificationError, match="has 15 samples, expected at least 16"):
        filtered_motion(robot, segment(15), None)
    assert len(filtered_motion(robot, segment(16), None).t) == 8
    kept = usable_motions(robot, [segment(2000), segment(24)], None, Decimation(1, 1))
    assert len(kept) == 1
    assert len(usable_motions(robot, [segment(24)], None, Decimation(1, 1))) == 1
    with pytest.raises(IdentificationError, match="no part of the recordings is long enough"):
        usable_motions(robot, [segment(24), segment(24)], None, Decimation(1, 1))


def test_recordings_follow_each_other_after_a_pause(robot):
    parts = [segment(200), segment(100, start=0.5), segment(300, recording=1, start=5.0), segment(300, recording=2)]
    motions = [filtered_motion(robot, part, None) for part in parts]
    seen = observed(robot, *motions)
    starts = np.cumsum([0, *(len(motion.t) for motion in motions)])
    t = seen.t
    assert t[0] == pytest.approx(0.004)
    assert t[starts[1]] == pytest.approx(0.504)
    assert t[starts[2]] == pytest.approx(t[starts[2] - 1] + 1.0)
    assert t[starts[3]] == pytest.approx(t[starts[3] - 1] + 1.0)
    assert seen.recording.tolist() == np.repeat([0, 0, 1, 2], np.diff(starts)).tolist()
    assert seen.fold(5).tolist() == seen.recording.tolist()
    two = observed(robot, *motions[:3])
    assert [int((two.fold(5)[two.recording == 1] == k).sum()) for k in range(5)] == [59, 58, 59, 58, 58]
    assert (np.diff(two.fold(5)[two.recording == 0]) >= 0).all()


def test_blocks_that_are_left_out(robot):
    """Each fourth block of 0.1 s, counted from the start of the recording."""
    motions = [
        filtered_motion(robot, segment(1000, start=7.0), None),
        filtered_motion(robot, segment(1000, start=9.0), None),
    ]
    seen = observed(robot, *motions, holdout=Holdout(4, 0.1))
    since = np.concatenate([motion.t for motion in motions]) - motions[0].t[0]
    assert (seen.holdout_mask == (np.floor(since / 0.1 + 1e-9).astype(int) % 4 == 3)).mean() > 0.995
    assert not observed(robot, *motions, holdout=Holdout(0)).holdout_mask.any()


def test_decimated_observations(robot):
    motion = filtered_motion(robot, segment(), None)
    motion.trusted[1000:1003] = False
    seen = observed(robot, motion, factor=4)
    assert_close(seen.t, motion.t[24 : len(motion.t) - 24 : 4])
    assert_close(seen.forces, motion.tau[24:-24:4], tolerance=2e-3)
    weights = np.abs(decimation_kernel(4))
    shares = [weights @ ~motion.trusted[4 * k : 4 * k + 49] for k in range(len(seen.t))]
    assert (seen.trusted == (np.array(shares) < 0.05)).all()
    assert not seen.trusted.all()
    values = np.linspace(1.0, 2.0, len(seen.base))
    measured, predicted, held = seen.predict_raw(values)
    assert len(measured) == len(held) == len(motion.t) - 3
    assert_close(measured, motion.raw[motion.trusted])
    assert_close(seen.predict(values)[:100], predicted[24:424:4], tolerance=2e-2)


def test_many_states_are_thinned_for_raw_predictions(robot, monkeypatch):
    monkeypatch.setattr(observations, "MAX_RAW", 400)
    motion = filtered_motion(robot, segment(1208), None)
    seen = observed(robot, motion)
    values = np.ones(len(seen.base))
    whole = seen.predict_raw(values)
    assert len(whole[0]) == 400
    assert_close(whole[0], motion.raw[::3])
    monkeypatch.setattr(observations, "PIECE_SIZE", 7 * 2 * len(seen.base))
    pieces = seen.predict_raw(values)
    assert_close(pieces[0], whole[0])
    assert_close(pieces[1], whole[1])
    assert (pieces[2] == whole[2]).all()
