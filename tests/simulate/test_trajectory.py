"""Trajectories: files and pictures."""

from __future__ import annotations

import numpy as np
import pytest
from impact_robots import ball

import appell


def bouncing(sample=None) -> appell.Trajectory:
    wall = appell.Plane(friction=0.2)
    return appell.simulate(ball(), [1.0], [0.0], 1.5, walls=[wall], restitution=0.5, sample=sample)


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
    for name in ("t", "q", "qd", "qdd", "tau", "energy"):
        assert getattr(again, name).tobytes() == getattr(motion, name).tobytes()
    assert (again.status, again.robot_name, again.joint_names) == (motion.status, "ball", ("z",))
    assert again.contacts == motion.contacts
    assert len(again.impacts) == len(motion.impacts)
    for mine, other in zip(again.impacts, motion.impacts, strict=True):
        assert (mine.time, mine.points, mine.walls) == (other.time, other.points, other.walls)
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


def test_foreign_files_are_refused(tmp_path):
    path = tmp_path / "other.npz"
    np.savez(path, t=np.zeros(3))
    with pytest.raises(appell.ArgumentError, match="is not a trajectory that appell wrote"):
        appell.Trajectory.load(path)
    path.write_text("nothing")
    with pytest.raises(appell.ArgumentError, match="is not a trajectory that appell wrote"):
        appell.Trajectory.load(path)


def test_repr_says_what_it_is():
    assert repr(bouncing(0.5)) == "Trajectory('ball', 4 samples to t = 1.5 s, 15 impacts, finished)"


def test_plot_draws_coordinates_speeds_and_energy(tmp_path):
    pytest.importorskip("matplotlib")
    motion = bouncing()
    figure = motion.plot(tmp_path / "motion.png")
    assert (tmp_path / "motion.png").stat().st_size > 5000
    q, qd, energy = figure.axes
    assert q.lines[0].get_ydata().tolist() == motion.q[:, 0].tolist()
    assert qd.lines[0].get_ydata().tolist() == motion.qd[:, 0].tolist()
    assert energy.lines[0].get_ydata().tolist() == motion.energy.tolist()
    assert energy.lines[1].get_ydata().tolist() == motion.work.walls.tolist()
    assert len(energy.lines) == 2 + len(motion.impacts)
    with pytest.raises(appell.ArgumentError, match="unknown joint 'w'"):
        motion.plot(joints=["w"])
