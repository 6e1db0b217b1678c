"""Filters, differences, decimation, and least squares in pieces."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from helpers.closeness import assert_close
from helpers.recorded_motion import TERMS, lossy_puma, puma_motion
from helpers.shared_data import shared

from appell.identification import Holdout, signals
from appell.identification.base import base_parameters
from appell.identification.fit import accumulate_qr
from appell.identification.observations import Observations
from appell.identification.recorded_motion import RecordedMotion


def test_differences_are_of_fourth_order():
    """Halving the period divides the error by sixteen."""
    errors = []
    for period in (0.02, 0.01):
        t = np.arange(0.0, 2.0, period)[:, None]
        first = signals.differentiate(np.sin(3 * t), period) - 3 * np.cos(3 * t)
        second = signals.differentiate(np.sin(3 * t), period, signals.SECOND_DIFFERENCE, 2) + 9 * np.sin(3 * t)
        errors.append([np.abs(x[2:-2]).max() for x in (first, second)])
    assert np.log2(np.array(errors[0]) / errors[1]) == pytest.approx([4.0, 4.0], abs=0.1)


def test_the_filter_does_not_delay():
    period = 1e-3
    t = np.arange(0.0, 4.0, period)[:, None]
    slow, fast = np.sin(2 * np.pi * 2 * t), np.sin(2 * np.pi * 120 * t)
    filtered = signals.low_pass(slow + fast, 20.0, period)
    inner = slice(300, -300)
    assert_close(filtered[inner], slow[inner], tolerance=2e-5)


def test_the_band_of_the_motion_ignores_spectral_lines():
    period = 1e-3
    t = np.arange(0.0, 20.0, period)[:, None]
    q = (
        np.sin(2 * np.pi * 0.5 * t)
        + 0.3 * np.sin(2 * np.pi * 2.0 * t)
        + 1e-3 * np.sin(2 * np.pi * 60.0 * t)
        + 1e-6 * np.random.default_rng(0).normal(size=t.shape)
    )
    assert signals.motion_band(q, period) == pytest.approx(2.0, abs=0.1)
    assert signals.motion_band(np.zeros((100, 2)), period) == pytest.approx(20.0)


@pytest.mark.parametrize("factor", [1, 3, 10])
def test_decimation_is_the_filter_at_every_so_many_samples(factor):
    rows = np.random.default_rng(0).normal(size=(907, 2, 3))
    kernel = signals.decimation_kernel(factor)
    half = len(kernel) // 2
    expected = [
        np.tensordot(kernel, rows[k - half : k + half + 1], axes=(0, 0)) for k in range(half, 907 - half, factor)
    ]
    assert_close(signals.decimate(rows, kernel, factor), np.array(expected), tolerance=1e-13)


def test_too_few_rows_for_the_filter_leave_none():
    kernel = signals.decimation_kernel(3)
    assert len(kernel) == 37
    assert signals.decimate(np.ones((36, 2)), kernel, 3).shape == (0, 2)
    assert signals.decimate(np.ones((37, 2)), kernel, 3).shape == (1, 2)


def test_the_filter_continues_the_ends():
    """By odd reflection over two periods of the cut-off frequency, and 15 samples at least: as SciPy does with these."""
    from scipy.signal import butter, sosfiltfilt

    rng = np.random.default_rng(0)
    for count, cutoff, padding in ((300, 20.0, 100), (300, 200.0, 15), (60, 20.0, 59)):
        x = rng.normal(size=(count, 1)).cumsum(axis=0)
        expected = sosfiltfilt(butter(4, 2.0 * cutoff * 1e-3, output="sos"), x, axis=0, padlen=padding)
        assert_close(signals.low_pass(x, cutoff, 1e-3), expected, tolerance=1e-12)


def test_the_band_of_the_motion_is_bounded():
    """By a tenth of the sampling rate; joints that hardly move do not count."""
    t = np.arange(0.0, 10.0, 1e-2)[:, None]
    assert signals.motion_band(np.sin(2 * np.pi * 30.0 * t), 1e-2) == pytest.approx(10.0)
    moving = np.hstack([np.sin(2 * np.pi * 3.0 * t), 4e-4 * np.sin(2 * np.pi * 8.0 * t)])
    assert signals.motion_band(moving, 1e-2) == pytest.approx(3.0, abs=0.15)
    weak = np.sin(2 * np.pi * 3.0 * t) + np.array([0.03, 0.04])[None, :] * np.sin(2 * np.pi * 8.0 * t)
    assert signals.motion_band(weak[:, :1], 1e-2) == pytest.approx(3.0, abs=0.15)  # 0.0009 of the power
    assert signals.motion_band(weak[:, 1:], 1e-2) == pytest.approx(8.0, abs=0.15)  # 0.0016


def observed(decimation: int = 1, count: int = 3000) -> Observations:
    robot = lossy_puma()
    t = np.arange(count) * 1e-3
    states = puma_motion()(t)
    tau = robot.inverse_dynamics(*states) + 0.1 * np.random.default_rng(0).normal(size=(count, 6))
    motion = RecordedMotion(t, *states, tau, tau, np.ones(count, dtype=bool))
    return Observations(robot, TERMS, base_parameters(robot, TERMS), (motion,), decimation, Holdout())


@pytest.mark.parametrize("decimation", [1, 7])
def test_pieces_give_the_triangles_of_the_whole(decimation, monkeypatch):
    """Against ordinary least squares on all rows at once."""
    seen = observed(decimation)
    rows = next(iter(seen.pieces()))
    assert len(rows.K) == len(seen.t)
    kept = ~seen.holdout_mask
    K, tau = rows.K[kept], rows.tau[kept]
    expected = np.linalg.lstsq(K.reshape(-1, K.shape[-1]), tau.reshape(-1), rcond=None)[0]
    monkeypatch.setattr("appell.identification.observations.MAX_STORED", 0)
    monkeypatch.setattr("appell.identification.observations.PIECE_SIZE", 200_000)
    assert len(list(seen.pieces())) > 3
    data = accumulate_qr(seen.pieces(), seen.base.used, seen.holdout_mask)
    A, z = data.stacked(np.ones(6))
    assert_close(np.linalg.lstsq(A, z, rcond=None)[0], expected, tolerance=1e-9)
    assert_close(data.residuals(expected), ((K @ expected - tau) ** 2).sum(axis=0), tolerance=1e-9)
    assert_close(seen.predict(expected), rows.K @ expected, tolerance=1e-12)
    assert data.count == kept.sum()


MILLION = """
import resource, sys, time, warnings
import numpy as np
import appell

warnings.simplefilter("ignore")
robot = appell.load({path!r})
rng = np.random.default_rng(0)
t = np.arange(1_000_000) * 1e-3
omega, phase = rng.uniform(0.5, 3.0, 7), rng.uniform(0.0, 6.0, 7)
q = np.sin(t[:, None] * omega + phase)
qd, qdd = omega * np.cos(t[:, None] * omega + phase), -(omega**2) * q
tau = robot.inverse_dynamics(q, qd, qdd)
for k in range(7):
    tau[:, k] += 2.0 * qd[:, k] + 3.0 * np.tanh(qd[:, k] / 0.01) + 0.1 * rng.normal(size=len(t))
del qd, qdd
appell.base_parameters(robot)
start = time.process_time()
found = appell.identify(robot, t, q, tau)
seconds = time.process_time() - start
truth = found.base.of(np.concatenate([robot.parameters[:70], np.zeros(len(found.base.names) - 70)]))[:43]
off = np.abs(found.base_parameters[:43] - truth).max() / np.abs(truth).max()
print(seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6, off)
"""


@pytest.mark.slow
def test_a_million_samples_of_seven_joints():
    """From the recording to the result in less than 12 s of one core, within 0.6 GB, in a process of its own."""
    one = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    code = MILLION.format(path=str(shared("robots/iiwa14.urdf")))
    told = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **one}, capture_output=True, check=True, text=True
    )
    seconds, gigabytes, error = map(float, told.stdout.split())
    assert seconds < 12.0
    assert gigabytes < 0.6
    assert error < 1e-3
