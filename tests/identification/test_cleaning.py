"""Recordings as evenly sampled segments, and units of their times and angles."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.closeness import assert_close

import appell
from appell.errors import IdentificationError
from appell.identification import cleaning, units
from appell.identification.cleaning import Segment, clean_recording
from appell.identification.recording import Recording, _stamp_unit, as_recordings


@pytest.fixture(scope="module")
def robot():
    return appell.load("planar2r")


def swing(t) -> Recording:
    """Smooth coordinates and forces at these times."""
    t = np.asarray(t, dtype=float)
    q = np.stack([np.sin(t), np.cos(2.0 * t)], axis=1)
    return Recording(t, q, 3.0 * q[:, ::-1] + 0.1 * t[:, None], name="swing")


def even(count=400, period=0.01):
    return period * np.arange(count)


def test_a_clean_recording_is_one_segment(robot):
    given = swing(even())
    found = clean_recording(robot, given, 3)
    (segment,) = found.segments
    assert not found.notes
    assert not found.findings
    assert segment.recording == 3
    assert segment.trusted.all()
    assert segment.period == pytest.approx(0.01)
    assert_close(segment.q, given.q)
    assert_close(segment.tau, given.tau)
    assert clean_recording(robot, given).segments[0].recording == 0


@pytest.mark.parametrize(("steps", "pieces"), [(3.4, 1), (3.6, 2)])
def test_gaps_are_longer_than_three_and_a_half_steps(robot, steps, pieces):
    t = even()
    t[200:] += (steps - 1.0) * 0.01
    found = clean_recording(robot, swing(t))
    assert len(found.segments) == pieces
    assert [len(each.t) for each in found.segments] == ([400] if pieces == 1 else [200, 200])
    if pieces == 2:
        assert found.notes == ("split at 1 gaps, the longest 0.036 s with 0.01 s between samples",)
        assert_close(found.segments[1].q, swing(t).q[200:])


def test_short_intervals_are_dropped(robot):
    """Shorter than 40 samples, or than 0.02 of the recording."""
    for count, first, kept in ((400, 39, False), (400, 40, True), (3000, 59, False), (3000, 60, True)):
        t = even(count)
        t[first:] += 1.0
        found = clean_recording(robot, swing(t))
        assert [len(each.t) for each in found.segments] == ([first] if kept else []) + [count - first]
        assert (f"dropped 1 short intervals with {first} samples in all" in found.notes) != kept
        t = even(count)
        t[count - first :] += 1.0
        last = clean_recording(robot, swing(t)).segments
        assert [len(each.t) for each in last] == [count - first] + ([first] if kept else [])


def test_missing_coordinates_are_interpolated_or_cut(robot):
    """Up to three samples, or 0.01 s, by cubic splines; more end a segment, and so do missing ends."""
    for period, count, pieces in ((0.01, 3, 1), (0.01, 4, 2), (0.001, 9, 1), (0.001, 11, 2)):
        given = swing(even(1000, period))
        q = given.q.copy()
        q[500 : 500 + count, 1] = np.nan
        found = clean_recording(robot, Recording(given.t, q, given.tau))
        assert len(found.segments) == pieces
        if pieces == 1:
            assert_close(found.segments[0].q, given.q, tolerance=1e-6)
            assert found.segments[0].trusted.all()
        else:
            assert [len(each.t) for each in found.segments] == [500, 500 - count]
    for rows in (slice(0, 2), slice(-2, None)):
        q = given.q.copy()
        q[rows, 0] = np.nan
        (segment,) = clean_recording(robot, Recording(given.t, q, given.tau)).segments
        assert len(segment.t) == 998


def test_missing_forces_are_interpolated_by_lines(robot):
    """Up to three are trusted."""
    given = swing(even())
    for count, trusted in ((3, 400), (4, 396)):
        tau = given.tau.copy()
        tau[100 : 100 + count, 0] = np.nan
        (segment,) = clean_recording(robot, Recording(given.t, given.q, tau)).segments
        assert segment.trusted.sum() == trusted
        line = np.interp(given.t[100 : 100 + count], given.t[[99, 100 + count]], given.tau[[99, 100 + count], 0])
        assert_close(segment.tau[100 : 100 + count, 0], line, tolerance=1e-12)
        assert_close(segment.tau[:, 1], given.tau[:, 1])


def test_missing_velocities_are_interpolated_by_lines(robot):
    given = swing(even())
    qd = 5.0 * np.sin(20.0 * given.q)
    qd[100:102, 1] = np.nan
    (segment,) = clean_recording(robot, Recording(given.t, given.q, given.tau, qd)).segments
    assert segment.qd is not None
    line = np.interp([100.0, 101.0], [99.0, 102.0], qd[[99, 102], 1])
    assert_close(segment.qd[100:102, 1], line, tolerance=1e-12)
    assert segment.trusted.all()


def test_columns_with_few_numbers_are_not_interpolated():
    x = np.full((10, 2), np.nan)
    x[[0, 5, 9], 0] = 1.0
    x[[0, 3, 5, 9], 1] = [0.0, 3.0, 5.0, 9.0]
    assert_close(cleaning._whole(x, smooth=True), np.stack([np.zeros(10), np.arange(10.0)], axis=1), tolerance=1e-12)
    cubic = np.arange(10.0)[:, None] ** 3
    part = cubic.copy()
    part[4] = np.nan
    assert_close(cleaning._whole(part, smooth=True), cubic, tolerance=1e-12)
    assert cleaning._whole(part, smooth=False)[4, 0] == pytest.approx((27.0 + 125.0) / 2.0)
    assert cleaning._whole(cubic, smooth=True) is cubic


def test_times_that_do_not_increase_are_dropped(robot):
    t = even()
    t[100] = t[99]
    t[200] = t[150]
    t[300] = np.nan
    given = swing(even())
    found = clean_recording(robot, Recording(t, given.q, given.tau, given.q))
    assert [(each.kind, each.where) for each in found.findings] == [("times", "sample 100")]
    assert "3 samples have no time or one that does not increase" in found.findings[0].evidence
    (segment,) = found.segments
    assert len(segment.t) == 397
    assert segment.qd is not None
    assert segment.qd.shape == (397, 2)
    back = even()
    back[:81] = 0.0  # the first of them is good, but alone before a gap
    assert len(clean_recording(robot, swing(back)).segments[0].t) == 319
    back[:82] = 0.0
    with pytest.raises(IdentificationError, match=r"t\[1\] = 0 s follows t\[0\] = 0 s, and 81 of 400 samples in all"):
        clean_recording(robot, swing(back))


def jittered(size):
    t = even()
    t[1:-1:2] += size * 0.01
    return t


def test_uneven_times_are_resampled_where_the_coordinates_follow_them(robot):
    t = jittered(0.2)
    found = clean_recording(robot, swing(t))
    (segment,) = found.segments
    regular = np.linspace(t[0], t[-1], len(t))
    assert_close(segment.t, regular)
    assert_close(segment.q, swing(regular).q, tolerance=1e-6)
    assert_close(segment.tau, swing(regular).tau, tolerance=1e-6)
    assert found.notes == ("resampled to even times by cubic splines: time steps differ from 0.01 s by up to 20 %",)


@pytest.mark.parametrize(("ratio", "kept"), [(0.69, True), (0.71, False)])
def test_stamps_are_those_of_a_log_where_even_times_are_smoother_by_a_third(monkeypatch, ratio, kept):
    data = swing(jittered(0.2))
    monkeypatch.setattr(cleaning, "roughness", lambda t, q: ratio if np.ptp(np.diff(t)) < 1e-9 else 1.0)
    segment, _ = cleaning._evenly_sampled(Segment(data.t, data.q, data.tau, None, np.ones(400, dtype=bool)))
    assert (segment.q is data.q) == kept


def test_short_recordings_are_one_segment(robot):
    """Of 20 samples at least, though gaps leave no intervals of less than 40."""
    (segment,) = clean_recording(robot, swing(5.0 + even(30))).segments
    assert len(segment.t) == 30
    assert segment.period == pytest.approx(0.01)
    assert swing(5.0 + even(30)).period == pytest.approx(0.01)


def test_even_samples_with_late_stamps_keep_their_values(robot):
    """The coordinates are smoother over even times than over the stamps."""
    given = swing(even())
    (segment,) = clean_recording(robot, Recording(jittered(0.2), given.q, given.tau)).segments
    assert_close(segment.q, given.q)
    assert_close(segment.t, even(), tolerance=1e-12)


@pytest.mark.parametrize(("size", "resampled"), [(0.009, False), (0.011, True)])
def test_one_percent_of_jitter_is_even(robot, size, resampled):
    found = clean_recording(robot, swing(jittered(size)))
    assert bool(found.notes) == resampled
    assert (found.segments[0].q[1, 0] != np.sin(jittered(size)[1])) == resampled


def test_resampled_forces_are_trusted_between_trusted_ones():
    t = jittered(0.2)
    data = swing(t)
    trusted = np.ones(len(t), dtype=bool)
    trusted[100] = False
    segment, jitter = cleaning._evenly_sampled(Segment(t, data.q, data.tau, data.q, trusted, 5))
    assert jitter == pytest.approx(0.2)
    assert np.flatnonzero(~segment.trusted).tolist() == [100, 101]  # 101 lies between both
    trusted[100:102] = True, False
    other, _ = cleaning._evenly_sampled(Segment(t, data.q, data.tau, None, trusted))
    assert np.flatnonzero(~other.trusted).tolist() == [101]
    assert segment.recording == 5
    assert segment.qd is not None
    assert_close(segment.qd, swing(segment.t).q, tolerance=1e-6)


def test_roughness_is_the_distance_from_cubics_relative_to_travel():
    t = np.array([0.0, 1.0, 2.5, 3.0, 4.5, 5.0, 7.0])
    cubic = np.stack([t**3 - t, 10.0 * t**2], axis=1)
    assert cleaning.roughness(t, cubic) < 1e-14
    x = np.zeros((5, 1))
    x[2] = 1.0
    assert cleaning.roughness(np.arange(5.0), x) == pytest.approx(1.0)
    x[:, 0] = [0.0, 0.0, 0.0, 2.0, 0.0]
    assert cleaning.roughness(np.arange(5.0), x) == pytest.approx(4.0 / 6.0)
    x[:, 0] = [0.0, 0.0, 0.0, 0.0, 3.0]
    assert cleaning.roughness(np.arange(5.0), x) == pytest.approx(1.0 / 6.0)


def test_saturated_forces_and_no_force(robot):
    given = swing(even())
    with pytest.raises(IdentificationError, match="tau is 0 in all samples"):
        clean_recording(robot, Recording(given.t, given.q, 0.0 * given.tau))
    limit = 2.5
    clipped = np.clip(given.tau, -limit, limit)
    (segment,) = clean_recording(robot, Recording(given.t, given.q, clipped)).segments
    assert (segment.trusted == (np.abs(clipped) < limit).all(axis=1)).mean() > 0.99


# --- units --------------------------------------------------------------------------------------------------------------------


def drift(count, period, speed):
    """The first joint moves 2 rad to and fro with this speed."""
    t = period * np.arange(count)
    path = speed * t
    q = np.zeros((count, 2))
    q[:, 0] = np.abs((path + 1.0) % 4.0 - 2.0)
    return t, q


@pytest.mark.parametrize(
    ("period", "speed", "bad"),
    [(0.049, 0.0090, False), (0.051, 0.0090, True), (0.051, 0.0105, False), (0.051, 0.0095, True)],
)
def test_slow_motion_with_rare_samples_is_in_milliseconds(robot, period, speed, bad):
    """1 rad in more than 100 s, and periods above 0.05 s."""
    t, q = drift(20000, period, speed)
    t += 1e5
    if bad:
        with pytest.raises(IdentificationError, match="these are milliseconds"):
            units.require_seconds(robot, t, q)
    else:
        units.require_seconds(robot, t, q)


def test_every_second_sample_of_many_is_enough(robot):
    for speed, bad in ((0.0095, True), (0.0105, False)):
        t, q = drift(120_000, 0.051, speed)
        if bad:
            with pytest.raises(IdentificationError, match="these are milliseconds"):
                units.require_seconds(robot, t, q)
        else:
            units.require_seconds(robot, t, q)


def test_travel_of_less_than_a_radian_counts_whole(robot):
    """0.5 rad in 100 s."""
    for speed, bad in ((0.0045, True), (0.0055, False)):
        t, q = drift(20000, 0.06, speed * 4.0)
        q *= 0.25
        assert np.ptp(q[:, 0]) == pytest.approx(0.5, abs=0.01)
        if bad:
            with pytest.raises(IdentificationError, match=r"'joint1' takes 111 s for 0\.5 rad or m"):
                units.require_seconds(robot, t, q)
        else:
            units.require_seconds(robot, t, q)


def test_all_samples_count_for_the_path(robot):
    """A joint that shakes with every sample is not slow."""
    t = 0.06 * np.arange(20000)
    q = np.linspace(0.0, 1.0, 20000)[:, None] + np.where(np.arange(20000) % 2, 0.1, 0.0)[:, None] * [1.0, 0.0]
    units.require_seconds(robot, t, q)


def limited(lower, upper):
    kind = "continuous" if upper is None else "revolute"
    limit = "" if upper is None else f'<limit lower="{lower}" upper="{upper}" effort="1" velocity="1"/>'
    text = f"""<robot name="one"><link name="a"/><link name="b"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"
    ixy="0" ixz="0" iyz="0"/></inertial></link><joint name="turn" type="{kind}"><parent link="a"/><child link="b"/>
    <axis xyz="0 0 1"/>{limit}</joint></robot>"""
    return appell.load(text)


@pytest.mark.parametrize("limits", [(-0.5, 2.0), (-2.0, 0.5)])
@pytest.mark.parametrize(("reach", "bad"), [(5.7, False), (6.3, True), (165.0, True), (180.0, False)])
def test_angles_far_beyond_the_limits_are_degrees(limits, reach, bad):
    """Three times the limit of 2 rad or more, and as degrees less than 1.5 times it, 171.9."""
    t = even(200)
    q = reach * np.sin(20.0 * t)[:, None] / np.quantile(np.abs(np.sin(20.0 * t)), 0.99)
    if bad:
        with pytest.raises(IdentificationError, match=rf"reaches {reach:.4g} rad, its limit is 2 rad"):
            units.require_radians(limited(*limits), t, q)
    else:
        units.require_radians(limited(*limits), t, q)


@pytest.mark.parametrize(
    ("speed", "reach", "bad"), [(48.0, 20.0, False), (53.0, 20.0, True), (53.0, 6.0, False), (53.0, 6.6, True)]
)
def test_joints_without_limits_are_too_fast_in_degrees(speed, reach, bad):
    """More than 50 rad/s over 0.02 s, beyond one turn."""
    t = 50.0 + even(2000, 0.001)
    q = (np.abs((speed * t) % (4.0 * reach) - 2.0 * reach) - reach)[:, None]
    robot = limited(0, None)
    if bad:
        with pytest.raises(IdentificationError, match="these are degrees"):
            units.require_radians(robot, t, q)
    else:
        units.require_radians(robot, t, q)


# --- times in files, and arguments --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("step", "unit"),
    [(0.9, 1.0), (1, 1e-3), (499, 1e-3), (500, 1e-6), (99_999, 1e-6), (100_000, 1e-9), (1.5, 1.0)],
)
def test_whole_numbers_are_times_in_smaller_units(step, unit):
    assert _stamp_unit(step * np.arange(20.0)) == unit
    assert _stamp_unit(step * np.arange(19.0)) == 1.0
    with_gap = step * np.arange(21.0)
    with_gap[3] = np.nan
    assert _stamp_unit(with_gap) == unit
    assert _stamp_unit(np.array([1.0])) == 1.0


def test_names_of_several_recordings_differ():
    one = swing(even(20))
    assert [each.name for each in as_recordings([one, one])] == ["swing 1", "swing 2"]
    assert as_recordings([one])[0] is one
    assert as_recordings(one)[0].period == pytest.approx(0.01)
    assert as_recordings((one.t, one.q, one.tau))[0].name == "recording"
    with pytest.raises(appell.ArgumentError, match="q or tau is missing"):
        as_recordings(one.t, one.q)
    with pytest.raises(appell.ArgumentError, match="recordings is a list"):
        as_recordings([])
