"""Bands, rows in pieces, recordings of logs and coordinates of bodies: exact small cases and both sides of bounds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from helpers.closeness import assert_close

import appell
from appell.columns import Columns
from appell.identification import Holdout, corruption, observations, recording, signals, units
from appell.identification.base import base_parameters
from appell.identification.log_columns import LogColumns, find_columns
from appell.identification.observations import Observations
from appell.identification.physical import PriorParameters, nearest_parameters, physical_fit
from appell.identification.recorded_motion import RecordedMotion
from appell.identification.recording import Recording
from appell.model.joint import Limits
from appell.robot.regressor_terms import Viscous


def test_the_band_is_that_of_the_median_joint_that_moves():
    """A joint moves from 1e-3 on."""
    t = np.linspace(-1.0, 1.0, 200)[:, None]
    wave = np.sin(2 * np.pi * 0.05 * np.arange(200))[:, None]
    for size, band in ((0.51e-3, 5.0), (0.49e-3, 2.0)):
        assert signals.motion_band(size * wave / np.abs(wave).max(), 0.01) == pytest.approx(band, rel=0.11)
    assert signals.motion_band(np.hstack([wave, wave, t**2]), 0.01) == pytest.approx(5.0, rel=0.11)


def test_the_kernel_of_decimation_passes_slow_signals():
    """Twelve samples to each side for each step; half the amplitude at 0.75 of the Nyquist frequency of what is kept."""
    for factor in (2, 5):
        kernel = signals.decimation_kernel(factor)
        assert len(kernel) == 12 * factor + 1
        k = np.arange(len(kernel)) - 6 * factor
        gains = [float((kernel * np.cos(np.pi * share / factor * k)).sum()) for share in (0.0, 0.75, 1.2)]
        assert gains == pytest.approx([1.0, 0.5, 0.0], abs=0.01)


def test_rows_in_pieces_with_more_columns(monkeypatch):
    """Regressor, added columns and forces pass one filter, also where a piece ends; the share that is done is reported."""
    robot, terms = appell.load("planar2r"), (Viscous(),)
    rng = np.random.default_rng(0)
    motions = []
    for count in (150, 90):
        q, qd, qdd, tau, raw = rng.normal(size=(5, count, 2))
        motions.append(RecordedMotion(0.01 * np.arange(count), q, qd, qdd, tau, raw, np.ones(count, dtype=bool)))
    base = base_parameters(robot, terms)
    seen = Observations(
        robot, terms, base, tuple(motions), 3, Holdout(), lambda q, qd, qdd: np.stack([q, qd * qdd], axis=-1), 2
    )
    monkeypatch.setattr(observations, "PIECE_SIZE", 2 * (len(base) + 2) * 3 * 7)
    monkeypatch.setattr(observations, "MAX_STORED", 0)
    shares: list[float] = []
    pieces = list(seen.pieces(shares.append))
    kernel = signals.decimation_kernel(3)
    K, tau = [], []
    for motion in motions:
        own = robot.regressor(*motion.states, terms=terms)[..., list(base.independent)]
        wide = np.concatenate([own, np.stack([motion.q, motion.qd * motion.qdd], axis=-1)], axis=-1)
        starts = range(0, len(motion.t) - len(kernel) + 1, 3)
        K += [np.tensordot(kernel, wide[k : k + len(kernel)], (0, 0)) for k in starts]
        tau += [np.tensordot(kernel, motion.tau[k : k + len(kernel)], (0, 0)) for k in starts]
    assert {len(each.K) for each in pieces[:-1]} <= {7, len(K) - 7 * (len(pieces) - 1), 38 % 7 or 7, 3}
    assert [each.first for each in pieces] == list(np.cumsum([0, *(len(each.K) for each in pieces[:-1])]))
    assert_close(np.concatenate([each.K for each in pieces]), np.array(K), tolerance=1e-12)
    assert_close(np.concatenate([each.tau for each in pieces]), np.array(tau), tolerance=1e-12)
    assert shares == pytest.approx([each.first / len(K) for each in pieces])
    assert seen.used.shape == (2, len(base) + 2)
    assert seen.used[:, -2:].all()
    short = replace(seen, motions=(RecordedMotion(*(x[:36] for x in motions[0][:-1])),))
    assert short.t.shape == (0,)
    assert short.forces.shape == (0, 2)
    monkeypatch.setattr(observations, "MAX_STORED", len(seen.t) * 2 * len(base))
    assert seen.pieces() is seen.pieces()
    monkeypatch.setattr(observations, "MAX_STORED", len(seen.t) * 2 * len(base) - 1)
    assert seen.pieces() is not seen.pieces()


def test_blocks_of_time_that_are_left_out():
    """Each third quarter of a second, from the start of each recording; times are exact in binary."""
    robot = appell.load("planar2r")
    zero = np.zeros((64, 2))

    def part(start, number):
        return RecordedMotion(start + np.arange(64) / 64.0, *[zero] * 5, np.ones(64, dtype=bool), number)

    motions = (part(3.0, 0), part(5.5, 0), part(9.0, 1))
    seen = Observations(robot, (), base_parameters(robot), motions, 1, Holdout(3, 0.25))
    blocks = [(each.t - start) // 0.25 for each, start in zip(motions, (3.0, 3.0, 9.0), strict=True)]
    assert (seen.holdout_mask == (np.concatenate(blocks) % 3 == 2)).all()
    assert RecordedMotion(*[zero] * 7).recording == 0


# --- recordings ---------------------------------------------------------------------------------------------------------------


def test_quantities_with_the_forces():
    """Measured forces of all joints before currents, and of some before fewer currents."""

    def chosen(tau, current):
        of = {name: {k: k for k in range(count)} for name, count in (("tau", tau), ("current", current)) if count}
        return recording._force(LogColumns(None, None, of), 3)

    assert [chosen(3, 3), chosen(2, 3), chosen(2, 2), chosen(0, 1), chosen(0, 0)] == [
        "tau", "current", "tau", "current", "tau"
    ]  # fmt: skip


def test_times_of_logs_in_seconds():
    columns = Columns.__new__(Columns)
    object.__setattr__(columns, "t", None)
    object.__setattr__(columns, "names", ["stamp", "time [ms]"])
    object.__setattr__(columns, "table", np.stack([1e18 + 8e6 * np.arange(30.0), 5.0 + 8.0 * np.arange(30)], axis=1))
    t, notes = recording._times(columns, LogColumns(0, None))
    assert_close(t, 0.008 * np.arange(30), tolerance=1e-9)
    assert notes == ("times of 'stamp' in units of 1e-09 s",)
    t, notes = recording._times(columns, LogColumns(1, 1e-3))
    assert_close(t, 0.008 * np.arange(30), tolerance=1e-12)
    seconds = np.stack([0.5 + 0.1 * np.arange(30)], axis=1)
    object.__setattr__(columns, "table", seconds)
    t, notes = recording._times(columns, LogColumns(0, None))
    assert_close(t, seconds[:, 0])
    assert notes == ()


def test_labels_of_one_joint_and_indices_beyond_the_robot():
    assert find_columns(["t", "q", "tau"], ["joint"]).quantities == {}
    assert find_columns(["t", "q0", "q1", "q2"], ["a", "b"]).quantities == {"q": {0: 1, 1: 2}}
    assert find_columns(["t", "q1", "q2", "q3"], ["a", "b"]).quantities == {"q": {0: 1, 1: 2}}
    assert find_columns(["t", "q1"], ["a"]).quantities == {"q": {0: 1}}
    assert find_columns(["q.a[0]", "position a"], ["a"]).quantities == {"q": {0: 1}}
    assert find_columns(["t", "motor_q1", "q1", "q2"], ["a", "b"]).quantities == {"q": {0: 2, 1: 3}}
    units_of = {"time_ns": 1e-9, "stamp (us)": 1e-6, "t_msec": 1e-3, "time [s]": 1.0, "%time": 1e-9, "sec": None}
    units_of |= {"time_nsec": 1e-9, "stamp [ms]": 1e-3, "time_sec": 1.0}
    for label, unit in units_of.items():
        found = find_columns(["x", label], ["a"])
        assert (found.time, found.time_unit) == (1, unit)
    assert find_columns(["header.stamp", "x"], ["a"]).time == 0
    assert find_columns(["x", "y"], ["a"]).time is None


def test_shapes_of_recordings():
    robot = appell.load("planar2r")
    t, q = np.arange(20.0), np.zeros((20, 2))
    assert len(recording.require_shapes(robot, Recording(t, q, q, q))) == 20
    with pytest.raises(appell.IdentificationError, match="has 19 samples, expected at least 20"):
        recording.require_shapes(robot, Recording(t[1:], q[1:], q[1:]))
    with pytest.raises(appell.IdentificationError, match=r"qd has shape \(20, 3\)"):
        recording.require_shapes(robot, Recording(t, q, q, np.zeros((20, 3))))
    with pytest.raises(appell.IdentificationError, match=r"tau has shape \(20,\)[^I]*$"):
        recording.require_shapes(robot, Recording(t, q, t))
    with pytest.raises(appell.IdentificationError, match="It is transposed"):
        recording.require_shapes(robot, Recording(t, q, q.T))
    assert recording.as_recordings((t, q, q))[0].qd is None
    assert recording.as_recordings((t, q.tolist(), q.tolist()))[0].q.shape == (20, 2)
    assert len(recording.as_recordings([(t, q, q), (t, q, q)])) == 2
    assert len(recording.as_recordings(((t, q, q), (t, q, q), (t, q, q)))) == 3


def test_coordinates_of_joints_behind_a_free_base():
    """The joint has velocity 6 and coordinate 7; its reach is its limit and one travel."""
    robot = (
        appell.RobotBuilder("free")
        .body("hull", mass=2.0, inertia=(0.3, 0.2, 0.4))
        .body("arm", mass=1.0, inertia=(0.3, 0.2, 0.4))
        .floating("base", parent="world", child="hull")
        .revolute("turn", parent="hull", child="arm", axis=(0, 1, 0), limits=(-1.0, 2.0))
        .build()
    )
    assert [corruption._reach(robot, "q", k) for k in (6, 7)] == [np.inf, 5.0]
    *others, turn = robot.joints
    small = replace(robot, joints=(*others, replace(turn, limits=Limits(-0.1, 0.2, 1.0, 1.0))))
    assert corruption._reach(small, "q", 7) == pytest.approx(0.5)
    fixed = replace(robot, joints=(*others, replace(turn, limits=Limits(0.0, 0.0, 1.0, 1.0))))
    assert corruption._reach(fixed, "q", 7) == np.inf
    t, q = 0.01 * np.arange(100), np.zeros((100, 8))
    q[:, 7] = 90.0
    with pytest.raises(appell.IdentificationError, match="'turn' reaches 90 rad, its limit is 2 rad"):
        units.require_radians(robot, t, q)
    q[:, 7], q[:, 6] = 1.0, 90.0
    units.require_radians(robot, t, q)


def test_degrees_are_looked_for_in_most_samples():
    """The reach is that of 99 %, the speed that of 95 % of the samples."""
    text = """<robot name="one"><link name="a"/><link name="b"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/>
    </inertial></link>
    <joint name="turn" type="TYPE"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/>LIMIT</joint></robot>"""
    limited = appell.load(
        text.replace("TYPE", "revolute").replace("LIMIT", '<limit lower="-2" upper="2" effort="1" velocity="1"/>')
    )
    t = 50.0 + 0.01 * np.arange(1000)
    for share, bad in ((0.98, True), (0.995, False)):
        q = np.where(np.arange(1000) < share * 1000, 1.0, 100.0)[:, None]
        if bad:
            with pytest.raises(appell.IdentificationError, match="reaches 100 rad"):
                units.require_radians(limited, t, q)
        else:
            units.require_radians(limited, t, q)
    free = appell.load(text.replace("TYPE", "continuous").replace("LIMIT", ""))
    for share, bad in ((0.93, True), (0.97, False)):
        steps = np.where(np.arange(1000) % 100 < share * 100, 0.0, 1.0)  # of 0.01 s: 100 rad/s
        q = np.cumsum(steps)[:, None]
        if bad:
            with pytest.raises(appell.IdentificationError, match="at up to"):
                units.require_radians(free, t, q)
        else:
            units.require_radians(free, t, q)


# --- bodies -------------------------------------------------------------------------------------------------------------------


def test_the_minimum_of_a_physical_fit_is_exact():
    """A step from it to the minimum of the squares is below 1e-6 of the coordinates."""
    rng = np.random.default_rng(0)
    body = np.array([2.0, 0.1, 0.2, 0.3, 0.5, 0.01, 0.6, 0.02, 0.03, 0.7])
    prior = PriorParameters(np.append(body, [2.0, 1.0]), 1, np.array([True, False]), np.array([2.0, 1.0]))
    A, B = 5.0 * rng.normal(size=(6, 6)), rng.normal(size=(6, 12))
    z = A @ B @ (prior.parameters * rng.uniform(0.3, 2.0, 12))
    found = physical_fit(A, z, B, prior, 0.5)
    weight = 1.0 / np.where(np.arange(12) < 10, 0.5, 10.0)
    theta = np.zeros(12)
    for _ in range(60):  # Gauss-Newton steps with a line search
        values, slopes = prior.at(theta)
        r = np.concatenate([A @ B @ values - z, weight * theta])
        J = np.concatenate([A @ B @ slopes, np.diag(weight)])
        step = np.linalg.lstsq(J, -r, rcond=None)[0]
        size = 1.0
        while size > 1e-6:
            trial = np.concatenate([A @ B @ prior.at(theta + size * step)[0] - z, weight * (theta + size * step)])
            if trial @ trial <= r @ r:
                theta = theta + size * step
                break
            size *= 0.5
    values, slopes = prior.at(theta)
    assert_close(found.parameters, values, tolerance=1e-6)
    J = np.concatenate([A @ B @ slopes, np.diag(weight)])
    inverse = np.linalg.inv(J.T @ J)
    assert_close(found.covariance, B @ slopes @ inverse @ slopes.T @ B.T, tolerance=1e-5)
    assert found.mass_errors == pytest.approx([np.sqrt(slopes[0] @ inverse @ slopes[0])], rel=1e-5)
    near = nearest_parameters(prior, B, B @ values)
    _, first = prior.at(np.zeros(12))
    expected = prior.parameters + first @ np.linalg.lstsq(B @ first, B @ (values - prior.parameters), rcond=None)[0]
    assert_close(near, expected, tolerance=1e-9)
