"""Columns of logs of ROS, Universal Robots, Franka and others are found by their labels."""

from __future__ import annotations

import numpy as np
import pytest

import appell
from appell.identification import Recording
from appell.identification.log_columns import find_columns

TWO = ("joint1", "joint2")
LOGS = {
    "Universal Robots": (
        "timestamp actual_q_0 actual_q_1 actual_qd_0 actual_qd_1 target_q_0 target_q_1 actual_current_0 actual_current_1 "
        "target_moment_0 target_moment_1",
        {"q": {0: 1, 1: 2}, "qd": {0: 3, 1: 4}, "current": {0: 7, 1: 8}},
    ),
    "Franka": (
        "time success_rate state.q[0] state.q[1] state.q_d[0] state.q_d[1] state.dq[0] state.dq[1] state.tau_J[0] state.tau_J[1] "
        "state.tau_J_d[0] state.dtau_J[0] state.tau_ext_hat_filtered[0]",
        {"q": {0: 2, 1: 3}, "qd": {0: 6, 1: 7}, "tau": {0: 8, 1: 9}},
    ),
    "numbers from 1": ("t q1 q2 dq1 dq2 i1 i2", {"q": {0: 1, 1: 2}, "qd": {0: 3, 1: 4}, "current": {0: 5, 1: 6}}),
    "numbers in between": (
        "Time joint_1_pos joint_2_pos joint_1_torque joint_2_torque",
        {"q": {0: 1, 1: 2}, "tau": {0: 3, 1: 4}},
    ),
    "names": (
        "t position/joint2 position/joint1 effort/joint2 effort/joint1",
        {"q": {0: 2, 1: 1}, "tau": {0: 4, 1: 3}},
    ),
}


@pytest.mark.parametrize("name", LOGS)
def test_labels(name):
    header, expected = LOGS[name]
    found = find_columns(header.split(), TWO)
    assert found.time == 0
    assert found.quantities == expected


def test_units_in_labels():
    found = find_columns(["t [ms]", "q1 [rad]", "q2 [rad]", "tau1 [Nm]", "tau2 [Nm]"], TWO)
    assert found.time_unit == 1e-3
    assert found.quantities == {"q": {0: 1, 1: 2}, "tau": {0: 3, 1: 4}}


@pytest.mark.parametrize(("velocities", "read"), [("qd.joint1,qd.joint2", True), ("qd.joint1,note", False)])
def test_velocities_of_all_joints_are_read(tmp_path, velocities, read):
    (tmp_path / "log.csv").write_text(
        f"t,q.joint1,q.joint2,tau.joint1,tau.joint2,{velocities}\n0,1,2,3,4,5,6\n1,1,2,3,4,7,8\n"
    )
    recording = Recording.read(tmp_path / "log.csv", appell.load("planar2r"))
    assert (recording.qd is not None) == read
    assert not read or np.array_equal(recording.qd, [[5.0, 6.0], [7.0, 8.0]])
    assert not recording.currents
    assert recording.name == "log.csv"


@pytest.mark.parametrize(("delimiter", "unit"), [(",", 1.0), (" ", 1.0), (";", 1e-3), ("\t", 1e-9)])
def test_files_with_other_delimiters_and_units_of_time(tmp_path, delimiter, unit):
    t = np.arange(30) * 0.008
    times = t if unit == 1.0 else np.round(t / unit)
    table = np.column_stack([times, *(np.sin(t + k) for k in range(4))])
    header = ["timestamp", "actual_q_0", "actual_q_1", "actual_current_0", "actual_current_1"]
    np.savetxt(
        tmp_path / "log.csv", table, delimiter=delimiter, header=delimiter.join(header), comments="", fmt="%.12g"
    )
    recording = Recording.read(tmp_path / "log.csv", appell.load("planar2r"))
    assert recording.currents
    assert recording.t - recording.t[0] == pytest.approx(t, abs=1e-9)
    assert recording.tau[:, 1] == pytest.approx(np.sin(t + 3), abs=1e-9)
