"""Trajectories: files and pictures."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest
from helpers.contact_robots import ball

import appell


def bouncing(sample=None) -> appell.Trajectory:
    wall = appell.surfaces.Plane(friction=0.2)
    return appell.simulate(
        ball(), [1.0], [0.0], 1.5, surfaces=[wall], contact=appell.ContactOptions(restitution=0.5), t_eval=sample
    )


def test_both_sides_of_an_impact_are_samples():
    motion = bouncing()
    (before, after) = np.flatnonzero(motion.t == motion.impacts[0].time)
    assert after == before + 1
    assert motion.qd[before, 0] == motion.impacts[0].qd_before[0] < 0.0
    assert motion.qd[after, 0] == motion.impacts[0].qd_after[0] > 0.0
    assert (np.diff(motion.t) >= 0.0).all()


def test_a_sample_at_the_time_of_an_impact_is_the_state_after_it():
    time = bouncing().impacts[0].time
    motion = bouncing(sample=[0.0, time, 1.0])
    assert len(motion) == 3
    assert motion.qd[1, 0] == pytest.approx(motion.impacts[0].qd_after[0])


def test_a_file_holds_everything(tmp_path):
    motion = bouncing()
    assert motion.impacts
    assert motion.contacts
    motion.save(tmp_path / "motion.npz")
    again = appell.Trajectory.load(tmp_path / "motion.npz")
    for name in ("t", "q", "qd", "qdd", "tau", "energy", "saturated", "balance"):
        assert getattr(again, name).tobytes() == getattr(motion, name).tobytes()
    assert np.stack(again.work).tobytes() == np.stack(motion.work).tobytes()
    assert (again.q_names, again.qd_names) == (("z",), ("z",))
    assert (again.status, again.robot_name, again.joint_names) == (motion.status, "ball", ("z",))
    assert again.contacts == motion.contacts
    assert len(again.impacts) == len(motion.impacts)
    for mine, other in zip(again.impacts, motion.impacts, strict=True):
        assert (mine.time, mine.points, mine.surfaces) == (other.time, other.points, other.surfaces)
        assert (mine.energy_before, mine.energy_after) == (other.energy_before, other.energy_after)
        for name in (
            "impulses",
            "friction_impulses",
            "normal_velocity_change",
            "incidence",
            "q",
            "qd_before",
            "qd_after",
        ):
            assert getattr(mine, name).shape == getattr(other, name).shape
            assert getattr(mine, name).tobytes() == getattr(other, name).tobytes()


def test_a_file_without_impacts(tmp_path):
    robot = appell.load("planar2r")
    motion = appell.simulate(robot, [0.1, 0.2], [0.0, 0.0], 0.1)
    motion.save(tmp_path / "quiet.npz")
    assert appell.Trajectory.load(tmp_path / "quiet.npz").impacts == ()


def test_a_file_keeps_events_and_limits_that_are_passed(tmp_path):
    def low(t, q, qd):
        return q[1] - 0.1

    arm = appell.load("planar2r")
    limited = tuple(replace(joint, limits=replace(joint.limits, velocity=1.0)) for joint in arm.joints)
    motion = appell.simulate(
        replace(arm, joints=limited), [0.1, 0.2], [0.0, -2.0], 0.6, events=[low], tau=[9.0, 0.0], effort_limits=3.0
    )
    motion.save(tmp_path / "motion.npz")
    again = appell.Trajectory.load(tmp_path / "motion.npz")
    assert again.limit_violations == motion.limit_violations != ()
    assert again.saturated.any()
    event = again.events[0]
    assert (event.name, event.number, event.time) == ("low", 0, motion.events[0].time)
    assert event.q.tobytes() == motion.events[0].q.tobytes()
    assert event.qd.tobytes() == motion.events[0].qd.tobytes()


def test_columns_as_text(tmp_path):
    motion = bouncing(0.25)
    motion.to_csv(tmp_path / "motion.csv")
    head, *rows = (tmp_path / "motion.csv").read_text().splitlines()
    names = head.split(",")
    assert names[:4] == ["t", "q.z", "qd.z", "qdd.z"]
    numbers = np.array([[float(cell) for cell in row.split(",")] for row in rows])
    assert numbers[:, 0].tobytes() == motion.t.tobytes()
    assert numbers[:, names.index("qd.z")].tolist() == motion.qd[:, 0].tolist()
    assert numbers[:, names.index("work.contact")].tolist() == motion.work.contact.tolist()


def test_columns_as_a_table_of_pandas():
    motion = bouncing(0.25)
    table = motion.to_pandas()
    assert table.index.tolist() == motion.t.tolist()
    assert table["q.z"].tolist() == motion.q[:, 0].tolist()
    assert table["energy"].tolist() == motion.energy.tolist()


def test_pandas_is_asked_for_by_name(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(appell.AppellError, match="to_pandas needs pandas"):
        bouncing(0.5).to_pandas()


def test_foreign_files_are_refused(tmp_path):
    path = tmp_path / "other.npz"
    np.savez(path, t=np.zeros(3))
    with pytest.raises(appell.ArgumentError, match="is not a trajectory that appell wrote"):
        appell.Trajectory.load(path)
    path.write_text("nothing")
    with pytest.raises(appell.ArgumentError, match="is not an archive of NumPy arrays"):
        appell.Trajectory.load(path)


def test_repr_says_what_it_is():
    assert repr(bouncing(0.5)) == "Trajectory('ball', 4 samples to t = 1.5 s, 15 impacts, finished)"


def test_plot_draws_coordinates_speeds_and_energy(tmp_path):
    pytest.importorskip("matplotlib")
    motion = bouncing()
    figure = motion.plot(tmp_path / "motion.png")
    assert (tmp_path / "motion.png").stat().st_size > 5000
    q, qd, _forces, energy = figure.axes
    assert q.lines[0].get_ydata().tolist() == motion.q[:, 0].tolist()
    assert qd.lines[0].get_ydata().tolist() == motion.qd[:, 0].tolist()
    assert energy.lines[0].get_ydata().tolist() == motion.energy.tolist()
    assert energy.lines[1].get_ydata().tolist() == motion.work.contact.tolist()
    assert len(energy.lines) == 2 + len(motion.impacts)
    with pytest.raises(appell.ArgumentError, match="unknown joint 'w'"):
        motion.plot(joints=["w"])
    (joint,) = motion.joint_names
    assert motion.plot(joints=joint).axes[0].lines[0].get_ydata().tolist() == motion.q[:, 0].tolist()


def test_of_many_curves_those_that_move_most_are_named(tmp_path):
    pytest.importorskip("matplotlib")
    chain = appell.robots.random_chain(15, seed=1)
    motion = appell.simulate(chain, np.zeros(15), np.linspace(0, 1, 15), 0.05)
    panel = motion.plot().axes[0]
    assert len(panel.lines) == 15 + 1
    names = [text.get_text() for text in panel.get_legend().get_texts()]
    spans = np.ptp(motion.q, axis=0)
    busiest = [chain.joint_names[i] for i in sorted(np.argsort(spans)[-12:])]
    assert names == [*busiest, "3 others"]


def test_an_energy_balance_beyond_the_tolerance_is_a_warning_and_a_problem(tmp_path):
    """Steps of 0.1 s are far too long for a double pendulum at 10 rad/s, yet the motion stays finite."""
    arm, start = appell.load("planar2r"), ([0.5, 0.3], [10.0, -10.0])
    with pytest.warns(appell.SimulationWarning, match="energy balance is off by .* J. Choose a smaller dt"):
        motion = appell.simulate(arm, *start, 1.0, method=appell.Integration("rk4", dt=0.1))
    assert len(motion.problems) == 1
    motion.save(tmp_path / "motion.npz")
    assert appell.Trajectory.load(tmp_path / "motion.npz").problems == motion.problems
    assert appell.simulate(arm, *start, 1.0, method=appell.Integration("rk4", dt=0.001)).problems == ()
