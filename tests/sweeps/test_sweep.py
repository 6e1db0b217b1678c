"""Sweeps: every result equals the library's own, states come from where they should, files hold all of it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from helpers.closeness import assert_close
from helpers.random_trees import general_tree

import appell
from appell.algorithms.registry import QUANTITIES
from appell.cli import main
from appell.sweeps import Execution, States, grid_states, random_states, read_states


def test_results_are_those_of_the_library_in_any_batch() -> None:
    robot = appell.load("puma560")
    states = random_states(robot, 1000, seed=3)
    found = appell.sweep(
        robot,
        ["inverse_dynamics", "forward_dynamics", "pose:link6", "kinetic_energy"],
        states,
        execution=Execution(300),
    )
    assert_close(found.results["inverse_dynamics"], robot.inverse_dynamics(states.q, states.qd, states.qdd_or_tau))
    assert_close(
        found.results["forward_dynamics"],
        robot.forward_dynamics(states.q, states.qd, states.qdd_or_tau),
        tolerance=1e-12,
    )
    assert_close(found.results["pose:link6"], robot.pose(states.q, "link6"))
    assert found.results["kinetic_energy"].shape == (1000,)
    assert np.isfinite(found.results["inverse_dynamics"]).all()


@pytest.mark.parametrize("name", [name for name in QUANTITIES if hasattr(appell.Robot, name)])
def test_every_function_with_every_method(name: str) -> None:
    robot = appell.load("planar2r")
    states = random_states(robot, 3)
    quantity = QUANTITIES[name]
    inputs = [{"q": states.q, "qd": states.qd}.get(each, states.qdd_or_tau) for each in quantity.inputs]
    frames = ["", ":LOCAL", ":WORLD"] if quantity.needs_frame and name != "pose" else [""]
    names = (
        [f"{name}:link2{frame}" for frame in frames]
        if quantity.needs_frame
        else [f"{name}@{m}" for m in quantity.methods]
    )
    found = appell.sweep(robot, [*names], states)
    for text, values in found.results.items():
        frame = text.split(":")[1:]
        expected = getattr(robot, name)(*inputs, *frame)
        assert_close(
            values, np.concatenate(expected, -1) if type(expected) is not np.ndarray else expected, tolerance=1e-11
        )


def test_former_names(tmp_path: Path) -> None:
    robot = appell.load("planar2r")
    with pytest.warns(DeprecationWarning, match="max_"):
        states = random_states(robot, 5, speed=2.0, drive=3.0)
    assert np.array_equal(states.qd, random_states(robot, 5, max_velocity=2.0, max_qdd_or_tau=3.0).qd)
    with pytest.warns(DeprecationWarning, match="qdd_or_tau"):
        assert np.array_equal(states.drive, states.qdd_or_tau)
    np.savez(tmp_path / "former.npz", q=states.q, qd=states.qd, drive=states.qdd_or_tau)
    assert np.array_equal(read_states(robot, tmp_path / "former.npz").qdd_or_tau, states.qdd_or_tau)


def test_random_states_lie_within_limits_and_quaternions_are_unit() -> None:
    robot = general_tree(9, 3)
    states = random_states(robot, 500, seed=1)
    assert np.array_equal(states.q, random_states(robot, 500, seed=1).q)
    assert not np.array_equal(states.q, random_states(robot, 500, seed=2).q)
    builder = appell.RobotBuilder().body("a", mass=1, inertia=(1, 1, 1))
    drone = builder.floating("free", parent="world", child="a").build()
    q = random_states(drone, 100).q
    assert_close(np.linalg.norm(q[:, 3:], axis=1), np.ones(100), tolerance=1e-14)
    with pytest.raises(appell.ArgumentError, match="a grid is not defined"):
        grid_states(drone, 3)


def test_a_grid_has_every_corner() -> None:
    states = grid_states(appell.load("planar2r"), 3)
    assert states.q.shape == (9, 2)
    assert_close(np.unique(states.q[:, 0]), np.array([-np.pi, 0.0, np.pi]))
    with pytest.raises(appell.ArgumentError, match="has 1e\\+24 states"):
        grid_states(appell.load("puma560"), 10_000)


@pytest.mark.parametrize("columns", [2, 4, 6])
@pytest.mark.parametrize("head", ["", "a,b\n"])
def test_states_from_text(tmp_path: Path, columns: int, head: str) -> None:
    table = np.arange(3 * columns, dtype=float).reshape(3, columns)
    path = tmp_path / "states.csv"
    path.write_text(head + "\n".join(",".join(map(str, row)) for row in table))
    states = read_states(appell.load("planar2r"), path)
    full = np.concatenate([states.q, states.qd, states.qdd_or_tau], axis=1)
    assert_close(full[:, :columns], table)
    assert not full[:, columns:].any()


@pytest.mark.parametrize(
    ("text", "message"),
    [("1,2,3\n", "has 3 columns, expected 2"), ("a\nb,c\n", "not a table"), ("", "not a table"), ("q\n", "no rows")],
)
def test_states_that_cannot_be_read(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "states.csv"
    path.write_text(text)
    with pytest.raises(appell.ArgumentError, match=message):
        read_states(appell.load("planar2r"), path)


def test_results_survive_a_round_through_files(tmp_path: Path) -> None:
    robot = appell.load("planar2r")
    found = appell.sweep(robot, ["mass_matrix@composite", "gravity"], grid_states(robot, 4))
    found.save(tmp_path / "out.npz")
    with np.load(tmp_path / "out.npz") as file:
        assert_close(file["mass_matrix_composite"], robot.mass_matrix(file["q"]))
    again = read_states(robot, tmp_path / "out.npz")
    assert_close(again.q, found.states.q)
    found.save(tmp_path / "out.csv")
    table = np.loadtxt(tmp_path / "out.csv", delimiter=",", skiprows=1)
    assert_close(table[:, -2:], found.results["gravity"])
    header = (tmp_path / "out.csv").read_text().splitlines()[0].split(",")
    assert header[:2] == ["q.joint1", "q.joint2"]
    assert header[-5:] == [
        "mass_matrix@composite.joint1.joint2", "mass_matrix@composite.joint2.joint1", "mass_matrix@composite.joint2.joint2",
        "gravity.joint1", "gravity.joint2",
    ]  # fmt: skip
    assert_close(read_states(robot, tmp_path / "out.csv").q, found.states.q)
    with pytest.raises(appell.ArgumentError, match=r"Valid: \.npz, \.csv, \.parquet"):
        found.save(tmp_path / "out.txt")


def test_what_cannot_be_swept() -> None:
    robot = appell.load("planar2r")
    states = States(*np.zeros((3, 1, 2)))
    for functions, message in (([], "no functions"), (["nothing"], "unknown function"), (["pose"], "pose:FRAME")):
        with pytest.raises(appell.ArgumentError, match=message):
            appell.sweep(robot, functions, states)


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, picture = tmp_path / "s.npz", tmp_path / "s.png"
    words = ["sweep", "planar2r", "--random", "50", "--out", str(out), "--plot", str(picture), "--json"]
    assert main(words) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["states"], data["files"]) == (50, [str(out), str(picture)])
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert main(["sweep", "planar2r", "--states", str(out), "--functions", "gravity"]) == 0
    assert "50 states" in capsys.readouterr().out


def test_robots_with_closed_loops_raise_an_error() -> None:
    with pytest.raises(appell.ArgumentError, match="robot is a ClosedLoopRobot"):
        random_states(appell.load("four_bar"), 10)
