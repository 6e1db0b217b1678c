"""The benchmark's own machinery. No test here depends on a time."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from helpers.closeness import assert_close
from helpers.shared_data import shared

import appell
from appell.cli import main
from appell.table import Table
from appell_lab.bench import CASES, bench, run_case
from appell_lab.bench.cases import calls, derivatives
from appell_lab.bench.contest import Entry, Settings, contest, contest_table
from appell_lab.bench.peers.pinocchio import pinocchio
from appell_lab.bench.report import BenchReport, markdown_table
from appell_lab.bench.subjects import arms, bare, chain, humanoid, panda_arm, states
from appell_lab.bench.timing import Contender, Race, race

NOWHERE = Settings(Path("nowhere"), rounds=2, sample=1e-4, quick=True)


def test_ratios_are_taken_round_by_round():
    """A disturbance that hits both contenders of a round does not change the ratio."""
    timed = Race({"ours": np.array([1.0, 1.0, 10.0]), "theirs": np.array([3.0, 3.0, 30.0])})
    assert timed.ratio("ours", "theirs") == (3.0, 3.0, 3.0)
    assert timed.time("ours").median == 1.0


def test_contenders_take_turns():
    order = []
    contenders = [Contender(name, lambda name=name: order.append(name), states=2) for name in "ab"]
    timed = race(contenders, rounds=3, sample=1e-9, clock=iter(range(0, 10**12, 10)).__next__)
    calls = "".join(order[-6:])
    assert calls == "ababab"
    assert_close(timed.samples["a"], [5.0, 5.0, 5.0])  # ten ticks of the clock for two states


def test_goals_that_were_missed_are_named():
    work = lambda: sum(range(50))  # noqa: E731
    rows = contest("sums", Entry(Contender("ours", work)), [Entry(Contender("theirs", work), goal=1e9)], NOWHERE)
    table = contest_table("Sums", rows)
    assert [row[1] for row in table.rows] == ["ours", "theirs"]
    assert table.notes[-1].startswith("below the goal: sums, theirs")


def test_every_case_is_a_function():
    for name, module in CASES.items():
        assert callable(getattr(import_module(f"appell_lab.bench.cases.{module}"), f"{name}_case"))
    with pytest.raises(appell.ArgumentError, match="unknown benchmark 'sped'"):
        bench(NOWHERE, ["sped"])


def test_a_case_in_numbers():
    (table,) = run_case("single", NOWHERE)
    assert {row[0] for row in table.rows} == {
        f"puma560, {name}" for name in ("inverse_dynamics", "forward_dynamics", "mass_matrix")
    }
    assert all(row[2] > 0 for row in table.rows)
    assert all(row[-1] < 1e-12 for row in table.rows if row[1] == "appell" and row[-1] is not None)
    assert calls.SINGLE_GOAL == 5.0


def test_derivatives_are_those_of_pinocchio():
    table = derivatives.single(NOWHERE)
    ours = [row for row in table.rows if row[1] == "appell"]
    assert [row[0] for row in ours] == [f"puma560, {name}_derivatives" for name in derivatives.FUNCTIONS]
    assert all(row[-1] is None or row[-1] < 1e-12 for row in ours)
    rows = [row for row in derivatives.products(NOWHERE).rows if row[1].startswith("appell.")]
    assert [row[1] for row in rows] == ["appell.jvp", "appell.vjp"] * 2


def test_a_report_as_text_json_and_page():
    report = BenchReport(
        {"date": "today"}, [Table("Speed", ("work", "ns"), (("a | b", 1.5), ("c", None)), ("a note",))]
    )
    assert "Speed" in str(report)
    assert json.loads(json.dumps(report.as_dict()))["tables"][0]["rows"] == [["a | b", 1.5], ["c", None]]
    assert markdown_table(report.tables[0]).splitlines() == [
        "## Speed", "", "| work | ns |", "| --- | --- |", "| a / b | 1.5 |", "| c |  |", "", "- a note",
    ]  # fmt: skip
    assert "- date: today" in report.markdown()


def test_robots_without_files_and_with(tmp_path):
    assert [robot.name for robot in arms(tmp_path)] == ["puma560"]
    assert panda_arm(tmp_path) is None
    robot = chain(5)
    assert [array.shape for array in states(robot, 3)] == [(3, 5)] * 3
    assert {joint.kind for joint in bare(appell.load("puma560")).joints} == {"revolute"}


@pytest.mark.parametrize("function", ["inverse_dynamics", "forward_dynamics"])
def test_peers_compute_the_same(function):
    """What is timed is the same work: every contender's numbers agree."""
    pytest.importorskip("pinocchio")
    import casadi

    from appell_lab.bench.peers import spatial
    from appell_lab.bench.peers.mujoco import mujoco
    from appell_lab.bench.peers.pinocchio import pinocchio

    robot = chain(4)
    given = states(robot, 3)
    right = getattr(robot, function)(*given)
    peer, other = pinocchio(robot), mujoco(robot)
    assert peer is not None
    assert_close(peer.many(function, given), right, tolerance=1e-11)
    if other is not None:
        assert_close(other.many(function, given), right, tolerance=1e-9)
    symbols = [casadi.SX.sym(name, 4) for name in ("q", "qd", "x")]
    algorithm = {"inverse_dynamics": spatial.rnea, "forward_dynamics": spatial.aba}[function]
    traced = casadi.Function("f", symbols, [algorithm(peer.model, *symbols)])
    assert_close(np.array(traced(*(array.T for array in given))).T, right, tolerance=1e-11)


@pytest.mark.usefixtures("compiler")
@pytest.mark.parametrize("function", ["inverse_dynamics", "forward_dynamics"])
def test_scalar_code_of_ours_computes_the_same(function):
    from appell_lab.bench.peers import traced

    robot = chain(4)
    given = states(robot, 3)
    for make in (traced.kernel, traced.exported):
        contender, out = make(robot, function, given)
        out[:] = np.nan
        contender.call()
        assert_close(out, getattr(robot, function)(*given), tolerance=1e-11)


def test_command(capsys):
    assert main(["bench", "--list"]) == 0
    assert capsys.readouterr().out.split() == list(CASES)
    assert main(["bench", "speed"]) == 1
    assert "unknown benchmark 'speed'" in capsys.readouterr().err


def test_rollouts_agree_with_mujoco():
    pytest.importorskip("mujoco")
    (table,) = run_case("rollout", NOWHERE)
    assert {row[1] for row in table.rows} == {"appell, rows", "mujoco.rollout, one thread", "appell, columns"}
    assert table.columns[-1] == "difference from MuJoCo"
    assert table.rows[0][-1] < 1e-12


def test_floating_bases_agree_with_pinocchio():
    pytest.importorskip("pinocchio")
    robots = shared("robots/g1.urdf").parent
    peer = pinocchio(robot := humanoid("talos_reduced", robots))  # orders its joints differently
    given = states(robot, 5)
    assert_close(robot.inverse_dynamics(*given), peer.many("inverse_dynamics", given), tolerance=1e-12)
    assert_close(robot.mass_matrix(given[0]), peer.many("mass_matrix", given[:1]), tolerance=1e-12)
