"""`appell simulate`: one command from a robot's file to its motion."""

from __future__ import annotations

import json

import numpy as np
import pytest
from helpers.closeness import assert_close

import appell
from appell.cli import main
from appell.cli.common import parse_vector
from appell.cli.simulate import METHODS as METHOD_NAMES
from appell.simulation.integrators import AUTO, METHODS

ARM = """<robot name="mine">
  <link name="base"/>
  <link name="upper"><inertial><origin xyz="0.2 0 0"/><mass value="2"/>
    <inertia ixx="0.01" iyy="0.03" izz="0.03" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="fore"><inertial><origin xyz="0.15 0 0"/><mass value="1"/>
    <inertia ixx="0.002" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 1 0"/>
    <limit lower="-2" upper="2" effort="30" velocity="5"/><dynamics damping="0.1" friction="0.5"/></joint>
  <joint name="elbow" type="revolute"><parent link="upper"/><child link="fore"/><origin xyz="0.4 0 0"/><axis xyz="0 1 0"/>
    <limit lower="-2.5" upper="2.5" effort="10" velocity="8"/><dynamics damping="0.05" friction="0.2"/></joint>
</robot>"""


@pytest.fixture
def run(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.urdf").write_text(ARM)

    def call(*arguments: str):
        code = main(["simulate", *arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


def test_a_robot_of_ones_own_to_numbers_files_and_a_picture(run, tmp_path):
    pytest.importorskip("matplotlib")
    code, out, err = run("mine.urdf", "--q0", "elbow=0.5", "--plot", "a.png", "--csv", "a.csv", "--out", "a.npz")
    assert (code, err) == (0, "")
    assert "mine: 2 s of motion, finished" in out
    assert "Files: a.npz, a.csv, a.png" in out
    assert "Limit violations" in out
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    motion = appell.Trajectory.load(tmp_path / "a.npz")
    assert len(motion) == 501
    assert motion.q[0].tolist() == [0.0, 0.5]
    exact = appell.simulate(appell.load("mine.urdf"), [0.0, 0.5], [0.0, 0.0], 2.0)
    assert_close(motion.q[-1], exact.q[-1], tolerance=1e-8)
    assert len((tmp_path / "a.csv").read_text().splitlines()) == 502


def test_robots_with_a_start_of_their_own_use_it(run):
    code, out, _ = run("shafei_tree", "--duration", "0.6", "--surface", "circle:2.5", "--json")
    assert code == 0
    data = json.loads(out)
    assert data["status"] == "finished"
    impacts = next(table for table in data["tables"] if table["title"] == "Impacts: 2")
    assert [row[:2] for row in impacts["rows"]] == [["0.385192", "O1 O5"], ["0.569731", "O2 O4"]]


def test_joint_limits_are_reported_or_stops(run):
    start = ("mine.urdf", "--q0", "elbow=2.4", "--qd0", "elbow=3", "--duration", "0.1", "--json")
    for limits in ("report", "stop"):
        code, out, _ = run(*start, "--joint-limits", limits)
        assert code == 0
        violations = [table["title"] for table in json.loads(out)["tables"] if "Limit violations: " in table["title"]]
        assert len(violations) == (limits == "report")
        assert (json.loads(out)["q"][1] > 2.5 + 1e-9) == (limits == "report")


def test_auto_takes_the_step_of_its_time_stepping(run):
    assert appell.Integration("auto", dt=5e-4).dt == 5e-4
    assert run("mine.urdf", "--method", "Auto", "--dt", "5e-4", "--duration", "0.01")[0] == 0
    with pytest.raises(appell.ArgumentError, match=r"RK45 chooses its steps itself.* midpoint, moreau, auto"):
        appell.Integration("RK45", dt=5e-4)


def test_the_note_on_limits_says_what_is_enforced(run):
    start = ("mine.urdf", "--q0", "elbow=2.4", "--qd0", "elbow=9", "--duration", "0.1")
    for limits, what in (("report", "position and velocity"), ("stop", "velocity")):
        _, out, _ = run(*start, "--joint-limits", limits)
        assert f"Limits of {what} are reported, not enforced." in out


@pytest.mark.parametrize("option", ["--out", "--csv", "--plot"])
def test_a_folder_that_does_not_exist_is_an_error_before_the_run(run, monkeypatch, option):
    monkeypatch.setattr(appell, "simulate", None)
    code, _, error = run("mine.urdf", option, "nowhere/file.npz")
    assert code == 1
    assert "There is no folder nowhere: create it first." in error


def test_a_motion_is_viewed_with_its_surfaces_unless_others_are_given(run, monkeypatch):
    code, _, _ = run("mine.urdf", "--duration", "0.1", "--surface", "plane:0,0,1:0,0,-3", "--out", "motion.npz")
    assert code == 0
    drawn = []
    monkeypatch.setattr(appell, "draw", lambda *_, motion, surfaces, **__: drawn.append((motion.surfaces, surfaces)))
    for more in ((), ("--surface", "plane:1,0,0:-9,0,0")):
        assert main(["view", "mine.urdf", "--motion", "motion.npz", "--picture", "p.png", *more]) == 0
    floor, wall = appell.surfaces.Plane(point=(0, 0, -3)), appell.surfaces.Plane((1, 0, 0), (-9, 0, 0))
    assert drawn == [((floor,), None), ((floor,), (wall,))]


def test_a_motion_of_another_robot_or_base_is_named(run, capsys):
    run("mine.urdf", "--duration", "0.1", "--out", "motion.npz")
    capsys.readouterr()
    assert main(["view", "mine.urdf", "--floating", "--motion", "motion.npz", "--picture", "p.png"]) == 1
    assert "Show it with its own robot, 'mine', and the same base, fixed or floating." in capsys.readouterr().err


def test_steps_and_contact_forces_are_shown(run, tmp_path):
    """A ball that bounces ever lower comes to rest by time stepping."""
    ball = """<robot name="ball"><link name="ball"><inertial><mass value="1"/>
      <inertia ixx="0.004" iyy="0.004" izz="0.004" ixy="0" ixz="0" iyz="0"/></inertial>
      <collision><geometry><sphere radius="0.1"/></geometry></collision></link></robot>"""
    (tmp_path / "ball.urdf").write_text(ball)
    start = ("ball.urdf", "--floating", "--q0", "root_joint.z=0.2", "--surface", "plane:0,0,1", "--restitution", "0.5")
    options = (*start, "--method", "auto", "--sample-period", "0.01")
    code, text, _ = run(*options)
    assert code == 0
    assert "Contact forces [N]: 1" in text
    code, out, _ = run(*options, "--json")
    data = json.loads(out)
    assert ("time stepping from" in text) == bool(data["stepped_from"])
    assert data["fallback_steps"] == data["implicit_intervals"] == []
    row = next(table["rows"][0] for table in data["tables"] if table["title"].startswith("Contact forces"))
    assert row[0] == "ball"
    assert row[2] == pytest.approx(9.81, abs=1e-6)


@pytest.mark.parametrize("method", ["DOP853", "moreau"])
def test_the_default_start_is_within_the_stops(run, tmp_path, method):
    (tmp_path / "bent.urdf").write_text(ARM.replace('lower="-2.5" upper="2.5"', 'lower="0.5" upper="2.5"'))
    options = ("bent.urdf", "--duration", "0.1", "--joint-limits", "stop", "--method", method)
    code, *_ = run(*options, "--out", "a.npz", "--json")
    assert code == 0
    assert appell.Trajectory.load(tmp_path / "a.npz").q[0].tolist() == [0.0, 0.5]
    code, _, err = run(*options, "--q0", "elbow=0.4")
    assert code == 1
    assert "'elbow'" in err and "0.1 beyond its lower limit" in err  # noqa: PT018


def test_numbers_of_a_contact_point_are_named(run):
    code, _, err = run("mine.urdf", "--surface", "plane:0,0,1", "--contact-points", "fore:0,0")
    assert code == 1
    assert "'0,0' after 'fore'" in err


def test_the_help_names_every_method():
    for name in (*METHODS, AUTO):
        assert name in METHOD_NAMES


def test_a_controller_leads_the_robot_to_its_target(run):
    code, out, _ = run(
        "mine.urdf", "--control", "computed_torque", "--target", "0.3", "0.8", "--kp", "900", "--kd", "60", "--limits",
        "--duration", "0.5", "--method", "rk4", "--json",
    )  # fmt: skip
    assert code == 0
    assert json.loads(out)["q"] == pytest.approx([0.3, 0.8], abs=0.02)


def test_a_base_that_flies(run, tmp_path):
    heavy = ARM.replace(
        '<link name="base"/>', '<link name="base"><inertial><mass value="3"/><inertia ixx="0.1" iyy="0.1" izz="0.1" '
        'ixy="0" ixz="0" iyz="0"/></inertial></link>',
    )  # fmt: skip
    (tmp_path / "flying.urdf").write_text(heavy)
    code, out, _ = run("flying.urdf", "--floating", "--duration", "0.2", "--json")
    assert code == 0
    end = json.loads(out)["q"]
    assert end[2] == pytest.approx(-0.5 * 9.81 * 0.2**2), "all of it falls"
    assert end[7:] == [0.0, 0.0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing.urdf"], "nothing.urdf"),
        (["mine.urdf", "--q0", "1", "2", "3"], "--q0 has 3 numbers, expected 2: shoulder elbow"),
        (["mine.urdf", "--q0", "wrist=1"], "unknown name 'wrist'"),
        (["mine.urdf", "--q0", "elbow=1", "2"], "mixes numbers and NAME=NUMBER"),
        (["mine.urdf", "--tau", "a", "b"], "'a' is not a number"),
        (["mine.urdf", "--target", "1", "1"], "--target needs a --law"),
        (["mine.urdf", "--surface", "cube:1"], "unknown surface 'cube'"),
        (["mine.urdf", "--method", "euler"], "unknown method 'euler'"),
        (["mine.urdf", "--plot", "a.xyz"], "Name a .png"),
        (["mine.urdf", "--duration", "-1"], "duration is -1.0"),
    ],
)  # fmt: skip
def test_errors_are_one_line(run, arguments, message):
    code, _, err = run(*arguments)
    assert code == 1
    assert message in err
    assert err.count("\n") == 1


def test_numbers_in_order_by_comma_and_by_name():
    names, zeros = ("a", "b"), np.zeros(2)
    assert parse_vector(["1", "-2"], names, zeros, "--q0").tolist() == [1.0, -2.0]
    assert parse_vector(["1,-2"], names, zeros, "--q0").tolist() == [1.0, -2.0]
    assert parse_vector(["b=3"], names, zeros, "--q0").tolist() == [0.0, 3.0]


def test_a_run_that_is_not_reliable_fails_with_the_reason(run):
    code, out, err = run("mine.urdf", "--q0", "elbow=0.5", "--method", "semi_implicit_euler", "--dt", "0.1", "--json")
    assert code == 1
    assert err.startswith("appell: warning: the motion of 'mine' is not reliable: its energy balance is off by")
    assert len(json.loads(out)["problems"]) == 1
