"""`appell identify` and the files that it reads."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import numpy as np
import pytest
from helpers.recorded_motion import lossy_puma, puma_recording
from hypothesis import given
from hypothesis import strategies as st

import appell
from appell.cli import main
from appell.identification.recording import read_recording


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A robot and its recording as files."""
    monkeypatch.chdir(tmp_path)
    robot, record = lossy_puma(), puma_recording()
    robot.to_urdf("puma.urdf")
    names = [*(f"q_{name}" for name in robot.joint_names), *(f"tau_{name}" for name in robot.joint_names)]
    table = np.column_stack([record.t, record.q, record.tau])
    np.savetxt("data.csv", table, delimiter=",", header=",".join(["t", *names]), comments="", fmt="%.10g")
    return tmp_path


def test_from_files_to_a_report_and_a_robot(folder, capsys):
    code = main([
        "identify", "puma.urdf", "data.csv", "--report", "out.html", "--urdf", "found.urdf", "--physical", "--json",
    ])  # fmt: skip
    data = json.loads(capsys.readouterr().out)
    assert code == 0
    assert data["relative_error"]["total"] < 0.02
    assert data["written"] == ["out.html", "found.urdf"]
    assert len(data["base_parameters"]) == 58
    assert all(data["consistent"])
    assert "Measured and predicted forces" in (folder / "out.html").read_text()
    found = appell.load("found.urdf")
    assert found.joint("joint1").damping == pytest.approx(lossy_puma().joint("joint1").damping, rel=0.05)


def test_errors_are_one_line(folder, capsys):
    lines = (folder / "data.csv").read_text().splitlines()
    cells = lines[100].split(",")
    (folder / "gap.csv").write_text("\n".join([*lines[:100], ",".join([*cells[:3], "", *cells[4:]]), *lines[101:]]))
    assert main(["identify", "puma.urdf", "gap.csv", "--terms", "rotor,viscous,coulomb,offset"]) == 0
    assert "corrupt samples, joint3: gap.csv: 1 samples of q are missing" in capsys.readouterr().out
    (folder / "names.csv").write_text("\n".join([lines[0].replace("tau_joint6", "moment6"), *lines[1:50]]))
    assert main(["identify", "puma.urdf", "names.csv"]) == 1
    assert "no column 'tau.joint6' (or 'tau6')" in capsys.readouterr().err
    assert main(["identify", "puma.urdf", "data.csv", "--coupling", "joint5,joint9"]) == 1
    assert "unknown joint 'joint9'" in capsys.readouterr().err
    (folder / "short.csv").write_text("\n".join([lines[0], "1,2,3"]))
    assert main(["identify", "puma.urdf", "short.csv"]) == 1
    assert "rows have 3 numbers, the header 13 names" in capsys.readouterr().err


def test_arrays_in_one_file(folder):
    record = puma_recording()
    np.savez("data.npz", t=record.t, q=record.q, tau=record.tau)
    assert (read_recording("data.npz", lossy_puma()).q == record.q).all()
    np.savez("empty.npz", t=record.t)
    with pytest.raises(appell.IdentificationError, match="no array 'q', it has t"):
        read_recording("empty.npz", lossy_puma())


@given(st.permutations(["t", "q_joint1", "q2", "tau_joint1", "tau_2", "note"]), st.integers(2, 6))
def test_columns_are_found_in_any_order(names, rows):
    robot = appell.load("planar2r")
    table = np.arange(len(names) * rows, dtype=float).reshape(rows, -1)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "data.csv")
        np.savetxt(path, table, delimiter=",", header=",".join(names), comments="")
        record = read_recording(path, robot)
    assert (record.t == table[:, names.index("t")]).all()
    assert (record.q == table[:, [names.index("q_joint1"), names.index("q2")]]).all()
    assert (record.tau == table[:, [names.index("tau_joint1"), names.index("tau_2")]]).all()
