"""Records of the controller: on disk as they come, whole after a kill, and no crash by a file that is damaged."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from helpers.control_rigs import LocalCard, StillCard, driven

import appell
from appell.control import Run, RunOptions

CHILD = """
import os, signal, sys
sys.path.insert(0, {tests!r})
from helpers.control_rigs import StillCard, driven
from appell.control import RunOptions

def end(cycle):
    print(repr(cycle.q.tolist()), flush=True)
    if cycle.time > 0.0295:
        os.kill(os.getpid(), {number})

driven(StillCard(), options=RunOptions(record={path!r}), callback=end)
"""


def killed(path: Path, number: int) -> list[np.ndarray]:
    """The angles of each period that a child has printed before it ended itself."""
    tests = str(Path(__file__).parents[1])
    child = subprocess.run(
        [sys.executable, "-c", CHILD.format(tests=tests, number=number, path=str(path))],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert child.returncode == -number
    return [np.array(eval(line)) for line in child.stdout.splitlines()]


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_a_killed_process_leaves_every_period(tmp_path):
    path = tmp_path / "run.record"
    printed = killed(path, signal.SIGKILL)
    run = Run.load(path)
    assert len(run.t) == len(printed) == 30
    assert (run.q == np.array(printed)).all()
    assert run.stop == ("killed", "the process ended without stopping the run.", pytest.approx(0.03))
    assert not run.shutdown.zero
    assert run.outputs.codes == tuple(run.codes[-1].astype(int))
    assert "OUTPUTS MAY NOT BE ZERO" in str(run.table())


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_a_terminated_process_leaves_the_reason(tmp_path):
    path = tmp_path / "run.record"
    killed(path, signal.SIGTERM)
    run = Run.load(path)
    assert run.stop.detail == "stopped by SIGTERM."
    assert run.shutdown.zero
    assert set(run.outputs.codes) == {2048}


def test_a_record_is_the_run(tmp_path):
    path = tmp_path / "run.record"
    recorded, in_memory = driven(LocalCard(), options=RunOptions(record=path)), driven(LocalCard())
    loaded = Run.load(path)
    for run in (recorded, loaded):
        assert run.ok
        assert run.joint_names == in_memory.joint_names
        for name in ("t", "stage", "q", "reference", "tau", "codes", "resolution"):
            values = getattr(run, name)
            assert values.dtype == getattr(in_memory, name).dtype
            assert (values == getattr(in_memory, name)).all(), name
        assert (run.homing.offset == in_memory.homing.offset).all()
    assert str(loaded.table()) == str(recorded.table())
    assert str(loaded.timing_table()) == str(recorded.timing_table())


def test_an_earlier_record_is_not_replaced(tmp_path):
    path = tmp_path / "run.record"
    path.write_text("thesis")
    card = StillCard()
    with pytest.raises(appell.ArgumentError, match="Name a new file"):
        driven(card, options=RunOptions(record=path))
    assert path.read_text() == "thesis"
    assert card.closed


def test_damaged_records_are_refused_or_read_up_to_the_damage(tmp_path):
    """Cut at every length and with bytes changed at random: a run, or an error of the library."""
    path, damaged = tmp_path / "run.record", tmp_path / "damaged"

    def interrupt(cycle):
        if cycle.time > 0.0045:
            raise KeyboardInterrupt

    driven(StillCard(), options=RunOptions(record=path), callback=interrupt)
    content, rng = path.read_bytes(), np.random.default_rng(17)
    assert len(Run.load(path).t) == 5
    header = content.index(b"\n") + 1
    for length in [*range(0, len(content), 7), len(content) - 1]:
        damaged.write_bytes(content[:length])
        if length < header:
            with pytest.raises(appell.ArgumentError, match="is not a record"):
                Run.load(damaged)
        else:
            run = Run.load(damaged)
            assert len(run.t) == min(5, (length - header) // 312)
            assert run.stop.reason == "killed"
    for _ in range(300):
        changed = bytearray(content)
        for place in rng.integers(0, len(content), 3):
            changed[place] = rng.integers(0, 256)
        damaged.write_bytes(changed)
        try:
            str(Run.load(damaged).table())
        except appell.AppellError:
            continue
