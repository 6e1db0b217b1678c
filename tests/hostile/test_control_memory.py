"""Memory does not grow with the length of a recorded run."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from helpers.control_rigs import PUMA, HomedCard, driven

import appell
from appell.control import Run, RunOptions, SafetyLimits
from appell.control.hardware import runtime

STATUS = Path("/proc/self/status")


def resident() -> int:
    """Memory of this process without its files. [kB]"""
    return int(next(line for line in STATUS.read_text().splitlines() if line.startswith("RssAnon")).split()[1])


@pytest.mark.skipif(not STATUS.exists(), reason="memory from /proc")
@pytest.mark.parametrize("periods", [20_000, pytest.param(1_200_000, marks=pytest.mark.slow)])
def test_a_long_run_needs_no_more_memory_than_a_short_one(tmp_path, monkeypatch, periods):
    """Samples of the reference, which moves, come in blocks; APPELL_PERIODS sets the length of the slow one."""
    if periods < runtime.MAX_TABLE_SIZE:
        monkeypatch.setattr(runtime, "MAX_TABLE_SIZE", 3000)
    else:
        periods = int(os.environ.get("APPELL_PERIODS", periods))
    goal = np.array(appell.control.Hold((0.0, -1.2, 2.9, 2.3, 1.0, -0.9)).q)

    def reference(t):
        angle = 0.01 * np.sin(np.asarray(t))[..., None] * np.ones(6)
        return goal + angle, 0.01 * np.cos(np.asarray(t))[..., None] * np.ones(6), -angle

    used = []

    def watch(cycle):
        if cycle.stage == "follow" and round(cycle.time / 1e-3) % (periods // 20) == 0:
            used.append(resident())

    path = tmp_path / "run.record"
    run = driven(
        HomedCard(),
        appell.control.ComputedTorque(PUMA, reference, kp=400.0, kd=40.0),
        duration=1e-3 * periods,
        limits=SafetyLimits(tracking_error=10.0, disagreement=10.0),
        callback=watch,
        options=RunOptions(record=path),
    )
    assert run.ok
    following = run.stage == "follow"
    assert np.count_nonzero(following) == periods
    assert (
        abs(
            run.reference[following][:: periods // 100] - reference(1e-3 * np.arange(0, periods, periods // 100))[0]
        ).max()
        < 1e-12
    )
    assert len(used) >= 19
    print(f"{periods} periods, resident [MB]:", [round(kb / 1024, 1) for kb in used])
    assert max(used) - used[len(used) // 4] < 1024
    assert len(Run.load(path).t) == len(run.t)
    path.unlink()  # some gigabytes after a day
