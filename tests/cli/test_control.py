"""`appell control`: a run with its summary, a stop as exit code 1, the table on a terminal, C files, refusals."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pytest

from appell.cli import main
from appell.cli.control import Display
from appell.control.hardware.record_file import Cycle


def test_run_says_what_happened(capsys, tmp_path):
    picture = tmp_path / "run.png"
    record = str(tmp_path / "run.record")
    arguments = ["--virtual-time", "--rate", "250", "--duration", "0.2", "--json", "--record", record]
    assert main(["control", "run", *arguments]) == 0
    said = json.loads(capsys.readouterr().out)
    assert main(["control", "show", record, "--json", "--plot", str(picture)]) == 0
    assert json.loads(capsys.readouterr().out) == said | {"picture": str(picture)}
    assert said["stop"] is None
    assert said["law"] == "computed_torque"
    assert set(said["outputs"]) == {2048}
    assert max(said["error_counts"]) < 3.0
    assert set(said["timing_s"]) == {"compute_time", "io_time"}
    assert picture.exists()


def test_a_stop_is_a_failure_with_a_reason(capsys):
    arguments = ["--virtual-time", "--rate", "250", "--fault", "overheat:4@0.2", "--law", "integral_tracking"]
    assert main(["control", "run", *arguments]) == 1
    assert "over-temperature at 0.2" in capsys.readouterr().out


def test_export_writes_c(capsys, tmp_path):
    arguments = ["planar2r", "--law", "pd", "--kp", "3", "--dtype", "float32", "--out", str(tmp_path), "--json"]
    assert main(["control", "export", *arguments]) == 0
    header, source = json.loads(capsys.readouterr().out)["files"]
    assert "float kp[2];" in Path(header).read_text()
    assert "{3.0f, 3.0f}," in Path(source).read_text()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["plant", "--start", "1,x"], "expected angles separated by commas"),
        (["plant", "--start", "1,2"], "has 2 angles, expected 6"),
        (["plant", "--fault", "rust@1"], "unknown fault 'rust'"),
        (["export", "planar2r", "--rate", "0"], "--rate is 0"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments, words, capsys):
    assert main(["control", *arguments]) == 1
    assert words in capsys.readouterr().err


def test_the_live_table_is_drawn_over_itself(monkeypatch):
    out = io.StringIO()
    monkeypatch.setattr("sys.stdout", out)
    display = Display(rate=20.0)
    six = np.linspace(0.1, 0.6, 6)
    for k in range(4):
        display(Cycle(0.05 * k, "follow", six, 0 * six, six - 1e-3, 10 * six, np.full(6, 2048), 0.0, 1e-5, 2e-6, 1e-4))
    text = out.getvalue()
    assert text.count("follow") == 2
    assert "\x1b[8A" in text
    assert "1.0000" in text
    assert "0.10000" in text
