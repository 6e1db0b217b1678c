"""Corrupt samples one by one: what is found just beyond each bound, and is not just within it."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.closeness import assert_close

import appell
from appell.errors import IdentificationError
from appell.identification import corruption
from appell.identification.corruption import CleaningLog

LIMITED = """
<robot name="two"><link name="a"/><link name="b"/><link name="c"/><link name="d"/>
<joint name="turn" type="revolute"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/>
<limit lower="-2" upper="1" effort="1" velocity="1"/></joint>
<joint name="round" type="continuous"><parent link="b"/><child link="c"/><axis xyz="0 0 1"/></joint>
<joint name="slide" type="prismatic"><parent link="c"/><child link="d"/><axis xyz="1 0 0"/>
<limit lower="0.5" upper="4" effort="1" velocity="1"/></joint></robot>
"""


@pytest.fixture(scope="module")
def robot():
    with pytest.warns(appell.ModelWarning):
        return appell.load(LIMITED)


def empty_log() -> CleaningLog:
    return CleaningLog("log", [], [])


def test_runs_of_flags():
    flags = np.array([1, 0, 1, 1, 0, 0, 1, 1, 1], dtype=bool)
    assert corruption.runs(flags) == [(0, 1), (2, 4), (6, 9)]
    assert corruption.runs(flags, 2) == [(2, 4), (6, 9)]
    assert corruption.runs(flags, 3) == [(6, 9)]


def test_flagged_samples_are_interpolated_by_lines():
    x = np.array([0.0, 50.0, 2.0, np.nan, np.nan, 5.0])
    flags = np.array([0, 1, 0, 1, 1, 0], dtype=bool)
    assert_close(corruption.filled(x, flags), np.arange(6.0))
    assert corruption.filled(x, flags & False) is x


@pytest.mark.parametrize("step", [1, 2])
def test_distance_from_the_cubic_through_the_neighbours(step):
    """Zero for cubics; for a single one it has the weights of the interpolation, 1, 4/6 and 1/6."""
    k = np.arange(20.0)
    inner = slice(2 * step, -2 * step)
    assert_close(corruption.distance_from_cubic(0.01 * k**3 - k, step)[inner], np.zeros(20 - 4 * step), scale=1.0)
    single = np.zeros(20)
    single[10] = 1.0
    expected = np.zeros(20)
    for distance, weight in ((0, 1.0), (step, 4.0 / 6.0), (2 * step, 1.0 / 6.0)):
        expected[[10 - distance, 10 + distance]] = weight
    assert_close(corruption.distance_from_cubic(single, step), expected, tolerance=1e-15)


def test_the_ends_are_continued_by_their_values():
    assert_close(
        corruption.distance_from_cubic(np.arange(8.0), 1)[:2], np.array([1.0 / 3.0, 1.0 / 6.0]), tolerance=1e-12
    )


@pytest.mark.parametrize(("length", "size"), [(256, 128), (300, 150), (383, 191)])
def test_the_local_scale_is_the_median_of_blocks(length, size):
    """Medians of two blocks at their centres, with lines between."""
    deviation = np.where(np.arange(length) < size, 1.0, 2.0)
    scale = corruption.local_scale(deviation)
    k = np.arange(length)
    assert_close(scale * 0.6745, np.clip(1.0 + (k - size / 2) / size, 1.0, 2.0), tolerance=1e-12)


def test_the_local_scale_is_a_third_of_the_whole_or_more():
    deviation = np.where(np.arange(384) < 128, 0.1, 3.0)
    scale = corruption.local_scale(deviation) * 0.6745
    assert scale[0] == pytest.approx(1.0)
    assert scale[-1] == pytest.approx(3.0)
    assert_close(corruption.local_scale(np.arange(101.0)) * 0.6745, np.full(101, 50.0), tolerance=1e-12)


@pytest.mark.parametrize(("height", "found"), [(28.0, []), (31.0, [100]), (-28.0, []), (-31.0, [100])])
def test_an_outlier_is_eight_deviations_high(height, found):
    """Noise of +-1 has steps of 2, so that a deviation counts as 4; the cubic through the neighbours is 5/3 on the other side."""
    x = np.where(np.arange(256) % 2, -1.0, 1.0)
    x[100] += height if height > 0 else 0.0
    x[101] += height if height < 0 else 0.0
    assert np.flatnonzero(corruption.outliers(x)).tolist() == [k + (height < 0) for k in found]


def test_outliers_next_to_each_other():
    rng = np.random.default_rng(0)
    t = np.arange(400)
    smooth = 5.0 * np.sin(0.02 * t) + 0.01 * rng.normal(size=400)
    for hit in ([200], [200, 201], [50, 52, 300]):
        x = smooth.copy()
        x[hit] += 2.0
        assert np.flatnonzero(corruption.outliers(x)).tolist() == hit


@pytest.mark.parametrize(("height", "found"), [(16.6, [100]), (15.4, [])])
def test_an_outlier_is_four_deviations_above_the_medians_of_five_samples_on_both_sides(height, found):
    """Noise of +-1, whose deviation counts as 4; both neighbours are lower, so that the cubic through them is far."""
    for sign in (1.0, -1.0):
        x = np.where(np.arange(256) % 2, -1.0, 1.0)
        x[[99, 101]] -= 13.0
        x[100] = height - 1.0
        assert np.flatnonzero(corruption.outliers(sign * x)).tolist() == found


def test_outliers_have_five_samples_on_both_sides():
    for count, hit, found in ((100, 5, True), (100, 4, False), (100, 94, True), (100, 95, False), (16, 8, True)):
        x = np.where(np.arange(count) % 2, -1.0, 1.0)
        x[hit] += 60.0
        assert np.flatnonzero(corruption.outliers(x)).tolist() == ([hit] if found else [])


def test_single_levels_of_coarse_signals_are_no_outliers():
    """The least step counts as the resolution, also where most samples repeat the one before."""
    x = np.floor(np.arange(256) / 8.0)
    x[100] += 1.0
    assert not corruption.outliers(x).any()
    x[100] += 30.0
    assert np.flatnonzero(corruption.outliers(x)).tolist() == [100]


def test_outliers_are_looked_for_again_beside_those_found():
    """Pairs of neighbours hide each other from the cubic through the next samples."""
    x = np.where(np.arange(60) % 2, -1.0, 1.0)
    x[20:22] += 100.0
    assert np.flatnonzero(corruption.outliers(x)).tolist() == [20, 21]


def test_steps_and_corners_are_no_outliers():
    rng = np.random.default_rng(0)
    t = np.arange(400)
    step = np.where(t < 150, 0.0, 5.0) + 0.01 * rng.normal(size=400)
    corner = np.abs(t - 200.0)
    for x in (step, corner, np.zeros(400), np.where(t == 10, 1.0, 0.0)[:15]):
        assert not corruption.outliers(x).any()
    gaps = step.copy()
    gaps[100:110] = np.nan
    assert not corruption.outliers(gaps).any()


def test_reach_is_the_limit_and_one_travel(robot):
    assert corruption._reach(robot, "q", 0) == 5.0
    assert corruption._reach(robot, "q", 1) == np.inf
    assert corruption._reach(robot, "q", 2) == 7.5
    assert corruption._reach(robot, "tau", 0) == np.inf


def cleaned(column, kind="q", reach=np.inf, breaks=()):
    log, result = empty_log(), np.array(column)
    corruption._drop_corrupt(result, kind, "joint", reach, breaks, log)
    return np.flatnonzero(np.isnan(result)).tolist(), log


def wave(count=1000):
    """About 2, with a median deviation of 0.1."""
    return 2.0 + np.where(np.arange(count) % 2, -0.1, 0.1)


@pytest.mark.parametrize(("kind", "factor"), [("q", 100.0), ("tau", 1e4)])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_implausible_values(kind, factor, sign):
    """Beyond a multiple of the median deviation plus the median, or beyond the reach."""
    for share, text in ((0.95, "unlike both sides"), (1.1, "beyond what is plausible")):
        x = wave()
        x[500] = sign * share * (2.1 + 0.1 * factor)
        found, log = cleaned(x, kind)
        assert found == [500]
        told = log.notes[0] if share < 1 else log.findings[0].evidence
        assert f"1 samples of {kind} are {text} (0.1 %), 1 runs, first 500" in told
        assert len(log.notes) + len(log.findings) == 1
    x = wave()
    x[500] = sign * 6.0
    assert "beyond what is plausible" in cleaned(x, reach=5.5)[1].findings[0].evidence
    assert not cleaned(x, reach=6.5)[1].findings


def test_outliers_are_a_finding_from_five_in_a_thousand():
    for hit, finding in (([200, 300, 400, 500], False), ([200, 300, 400, 500, 600], True)):
        x = wave()
        x[hit] += 8.0
        found, log = cleaned(x)
        assert found == hit
        assert bool(log.findings) == finding
        assert bool(log.notes) != finding


def test_a_column_is_unusable_beyond_a_fifth():
    x = wave()
    x[:200] = np.nan
    assert cleaned(x)[0] == list(range(200))
    x[200] = np.nan
    with pytest.raises(IdentificationError, match=r"q of 'joint' is nan at sample 0: 201 of 1000 numbers"):
        cleaned(x)
    x[200] = 1e6
    with pytest.raises(IdentificationError, match="201 of 1000"):
        cleaned(x)


def test_a_force_without_signal():
    log = cleaned(np.full(100, 0.7), "tau")[1]
    assert [(each.kind, each.where, each.evidence) for each in log.findings] == [
        ("no signal", "joint", "log: its force is 0.7 in all samples")
    ]
    assert not cleaned(np.full(100, 0.7), "q")[1].findings
    assert not cleaned(wave(), "tau")[1].findings


def test_the_first_samples_that_have_a_side():
    x = wave()
    x[5] += 8.0
    assert cleaned(x)[0] == [5]


def test_intervals_between_gaps_are_compared_with_themselves():
    x = np.concatenate([wave(100), 8.0 + wave(1), wave(100)])
    assert cleaned(x)[0] == [100]
    assert cleaned(x, breaks=[100, 101])[0] == []
    gap = x.copy()
    gap[90:100] = gap[101:105] = np.nan
    assert cleaned(gap)[0] == [*range(90, 100), *range(101, 105)]


def test_corrupt_columns_are_copied_only_if_need_be(robot):
    q = np.stack([0.1 * wave(), wave(), wave()], axis=1)
    assert corruption.without_corrupt(robot, q, "q", robot.q_names, [], empty_log()) is q
    q[300, 1] = np.nan
    q[400, 0] = 5.5
    result = corruption.without_corrupt(robot, q, "q", robot.q_names, [], empty_log())
    assert np.argwhere(np.isnan(result)).tolist() == [[300, 1], [400, 0]]
    assert q[400, 0] == 5.5


def encoder(speed_before, repeats, speed=2.0, count=2000, jump=None):
    """A coordinate of constant speed that is stuck for some steps in the middle, with other speeds before and a jump after."""
    steps = np.full(count, speed)
    steps[1000 : 1000 + repeats] = 0.0
    steps[990:1000] = speed_before
    if jump is not None:
        steps[1000 + repeats] = jump
    return np.concatenate([[0.0], np.cumsum(steps)])


def stuck(robot, period, column):
    q = np.zeros((len(column), 3))
    q[:] = np.arange(len(column))[:, None]
    q[:, 1] = column
    log = empty_log()
    result = corruption.without_frozen(robot, period * np.arange(len(column)), q, log)
    return np.flatnonzero(np.isnan(result[:, 1])).tolist(), log


@pytest.mark.parametrize(("period", "shortest"), [(0.01, 8), (0.001, 50)])
def test_a_stuck_encoder_repeats_its_value_for_long(robot, period, shortest):
    """For 0.05 s, and for eight steps at least, while the joint moves fast before."""
    assert stuck(robot, period, encoder(2.0, shortest - 1))[0] == []
    found, log = stuck(robot, period, encoder(2.0, shortest))
    assert found == list(range(1000, 1001 + shortest))
    (finding,) = log.findings
    assert (finding.kind, finding.where) == ("stuck encoder", robot.q_names[1])
    start, end = 1000 * period, (1000 + shortest) * period
    assert f"from t = {start:.4g} s to {end:.4g} s ({shortest + 1} samples) and moves fast before" in finding.evidence


def test_a_slow_joint_may_repeat_its_value(robot):
    """Fast is 0.3 of the typical speed."""
    assert stuck(robot, 0.01, encoder(0.5, 20))[0] == []
    assert stuck(robot, 0.01, encoder(0.68, 20))[0] == list(range(1000, 1021))


def test_a_jump_after_repeated_values(robot):
    """By five typical steps, and by five of those that follow."""
    found, log = stuck(robot, 0.01, encoder(0.1, 20, jump=12.0))
    assert found == list(range(1000, 1021))
    assert "moves fast after" in log.findings[0].evidence
    assert stuck(robot, 0.01, encoder(0.1, 20, jump=9.0))[0] == []
    high = encoder(0.1, 20, jump=12.0)
    high[1022:] += 1.0  # the step after the jump is 3
    assert stuck(robot, 0.01, high)[0] == []


def test_stuck_intervals_at_the_ends(robot):
    """Without three steps before or four after it nothing shows that the joint moves."""
    assert stuck(robot, 0.01, np.concatenate([np.zeros(30), np.arange(100.0)]))[0] == []
    assert stuck(robot, 0.01, np.concatenate([np.arange(100.0), np.full(30, 99.0)]))[0] == list(range(99, 130))


def test_an_encoder_that_is_stuck_for_most_of_the_recording(robot):
    half = np.concatenate([np.arange(1001.0), np.full(999, 1000.0)])
    assert len(stuck(robot, 0.01, half)[0]) == 1000
    with pytest.raises(IdentificationError, match=f"encoder of '{robot.q_names[1]}' is stuck during most"):
        stuck(robot, 0.01, half[1:])


def saturated(robot, column):
    tau = np.zeros((len(column), 3))
    tau[:] = np.linspace(-1.0, 1.0, len(column))[:, None]
    tau[:, 0] = column
    log = empty_log()
    return np.flatnonzero(corruption.saturated_samples(robot, tau, log)).tolist(), log


def test_saturation_is_more_than_two_in_a_thousand_samples_in_runs_of_three(robot):
    t = np.arange(2000)
    wavy = np.sin(0.1 * t)
    for runs_of, count, found in ((3, 1, 0), (4, 1, 0), (3, 2, 6), (2, 10, 0), (5, 1, 5)):
        x, hit = wavy.copy(), []
        for k in range(count):
            hit += list(range(100 + 50 * k, 100 + 50 * k + runs_of))
        x[hit] = 1.5
        flagged, log = saturated(robot, x)
        assert flagged == (hit if found else [])
        assert len(log.findings) == bool(found)
    assert "5 samples (0.25 %) stay at exactly the largest force 1.5, in 1 runs" in log.findings[0].evidence


@pytest.mark.parametrize(("usual", "found"), [(3, True), (4, False)])
def test_saturated_forces_stay_at_their_limit_longer_than_at_the_next_level(robot, usual, found):
    """Three times as long: 10 samples at 1.5, and 3 or 4 at 1.25, the next smaller force."""
    x = np.sin(0.1 * np.arange(2000))
    x[100:110] = 1.5
    x[[300 + 20 * k for k in range(usual)]] = 1.25
    for sign in (1.0, -1.0):
        assert saturated(robot, sign * x)[0] == (list(range(100, 110)) if found else [])
    x[50] = np.nan
    assert saturated(robot, x)[0] == (list(range(100, 110)) if found else [])


def test_saturation_of_one_direction_with_little_force_is_a_stop(robot):
    """A smallest force below 0.3 of the largest magnitude is no limit of the drive."""
    x = 1.0 + np.sin(0.1 * np.arange(2000))
    for low, flagged in ((0.25, False), (0.35, True)):
        y = np.maximum(x, low * 2.0)
        assert bool(saturated(robot, y)[0]) == flagged
    assert "smallest force 0.7" in saturated(robot, y)[1].findings[0].evidence
    assert saturated(robot, np.zeros(2000))[0] == []
