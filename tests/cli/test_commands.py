"""The command line: what commands print, as text and as JSON, and how they fail."""

from __future__ import annotations

import json
import subprocess
import sys
import warnings

import numpy as np
import pytest
from helpers.closeness import assert_close

import appell
from appell.cli import COMMANDS, main
from appell_lab.demo import QD, QDD, Q

BAD = """<robot name="bad">
  <link name="base"/>
  <link name="arm"><inertial><mass value="-1"/><inertia ixx="1" iyy="1" izz="1"/></inertial></link>
  <link name="tip"/>
  <joint name="shoulder" type="revolute">
    <parent link="base"/><child link="arm"/><axis xyz="0 0 2"/><limit lower="-1" upper="1" effort="1" velocity="1"/>
  </joint>
  <joint name="wrist" type="hinge"><parent link="arm"/><child link="tip"/></joint>
</robot>"""
CROOKED = """<robot name="crooked">
  <link name="base"/>
  <link name="arm"><inertial><mass value="1"/><inertia ixx="1" iyy="0.1" izz="0.1"/></inertial></link>
  <joint name="shoulder" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 0 2"/></joint>
</robot>"""


@pytest.fixture
def run(capsys, tmp_path, monkeypatch):
    """Runs a command in an empty folder and returns exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str):
        code = main(list(arguments))
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


@pytest.fixture
def file(tmp_path):
    def write(text: str, name: str = "robot.urdf") -> str:
        (tmp_path / name).write_text(text)
        return name

    return write


# --- the command line itself ----------------------------------------------------------------------------------------------


def test_help_lists_every_command(run):
    code, out, _ = run("--help")
    assert code == 0
    for command in COMMANDS:
        assert f"    {command.name}" in out


@pytest.mark.parametrize("arguments", [(), ("bogus",), ("check",), ("check", "a", "b"), ("demo", "--bogus")])
def test_wrong_usage_exits_with_2(run, arguments):
    code, out, err = run(*arguments)
    assert code == 2
    assert out == ""
    assert "usage:" in err


def test_process_returns_the_exit_code(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "appell", "info", "nothing.urdf"], capture_output=True, text=True, cwd=tmp_path
    )
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert "Traceback" not in done.stderr


def test_terminal_without_unicode_is_served(tmp_path):
    environment = {"PYTHONIOENCODING": "ascii", "PATH": ""}
    done = subprocess.run(
        [sys.executable, "-m", "appell", "info", "planar2r"], capture_output=True, cwd=tmp_path, env=environment
    )
    assert done.returncode == 0, done.stderr
    assert b"[kg m?]" in done.stdout


def test_reader_that_stops_early_sees_no_traceback(tmp_path):
    command = f"{sys.executable} -m appell info puma560 | head -n 1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, cwd=tmp_path)
    assert "Traceback" not in done.stderr
    assert "puma560: 7 bodies" in done.stdout


# --- demo -----------------------------------------------------------------------------------------------------------------


def test_demo_prints_numbers_of_the_puma_and_draws(run, tmp_path):
    code, out, err = run("demo", "--json")
    assert (code, err) == (0, "")
    data = json.loads(out)
    torques, inertia, costs = data["tables"]
    robot = appell.load("puma560")
    assert_close(np.array([row[4] for row in torques["rows"]]), robot.inverse_dynamics(Q, QD, QDD), tolerance=1e-15)
    assert_close(np.array([row[1:] for row in inertia["rows"]]), robot.mass_matrix(Q), tolerance=1e-15)
    assert costs["rows"][0][:2] == ["inverse_dynamics", " 475 / 404"]
    assert costs["rows"][3][:2] == ["forward_dynamics", "1042 / 905"]
    assert (tmp_path / "appell_demo.png").read_bytes().startswith(b"\x89PNG")


def test_demo_shows_that_methods_agree(run):
    code, out, _ = run("demo", "-o", "torques.svg")
    assert code == 0
    agreement, back = (line for line in out.splitlines() if line.startswith("  * "))
    assert float(agreement.split(" by ")[1].split()[0]) < 1e-12
    assert float(back.split(" within ")[1].split()[0]) < 1e-12


def test_demo_succeeds_without_matplotlib(run, tmp_path, monkeypatch):
    for module in ("matplotlib", "matplotlib.figure", "matplotlib.backends.backend_agg"):
        monkeypatch.setitem(sys.modules, module, None)
    code, out, _ = run("demo")
    assert code == 0
    assert "pip install 'appell[plot]'" in out
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("path", "message"),
    [("no/folder/a.png", "There is no folder no/folder: create it first"), ("a.xyz", "Name a .png")],
)
def test_demo_cannot_draw_there(run, path, message):
    code, _, err = run("demo", "-o", path)
    assert code == 1
    assert message in err
    assert err.count("\n") == 1


# --- info -----------------------------------------------------------------------------------------------------------------


def test_info_of_the_puma(run):
    code, out, err = run("info", "puma560")
    assert (code, err) == (0, "")
    assert "nq = 6, nv = 6, 37.524 kg, gravity 0 0 -9.81 m/s²" in out
    for name in ("joint6", "link3", "forward_dynamics"):
        assert name in out


def test_info_as_json_has_the_counts_of_the_library(run):
    code, out, _ = run("info", "planar2r", "--json")
    assert code == 0
    data = json.loads(out)
    assert (data["name"], data["nq"], data["nv"], data["mass"]) == ("planar2r", 2, 2, 2.0)
    counts = {row[0]: tuple(row[1:]) for row in data["tables"][2]["rows"]}
    assert counts["bias"] == appell.count_operations(appell.load("planar2r"), "bias", compiled=True)


def test_info_leaves_out_empty_columns_and_shows_mimic_joints(run, file):
    mass = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial>'
    text = f"""<robot name="pair"><link name="base"/><link name="a">{mass}</link><link name="b">{mass}</link>
      <joint name="lead" type="continuous"><parent link="base"/><child link="a"/><dynamics damping="0.25"/></joint>
      <joint name="follow" type="continuous"><parent link="base"/><child link="b"/>
        <mimic joint="lead" multiplier="-2" offset="0.5"/></joint></robot>"""
    _, out, _ = run("info", file(text), "--json")
    joints = json.loads(out)["tables"][1]
    assert joints["columns"] == ["q", "joint", "kind", "parent -> child", "axis", "damping", "mimics"]
    assert joints["rows"][1] == [None, "follow", "continuous", "base -> b", "1 0 0", None, "-2 lead +0.5"]
    _, out, _ = run("info", "robot.urdf", "--mimic", "ignore", "--json")
    assert json.loads(out)["nv"] == 2


def test_info_of_a_doubtful_robot_warns_in_one_line(run, file):
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        code, out, err = run("info", file(CROOKED))
    assert code == 0
    assert err == "appell: warning: 2 defects of the robot description. `appell check` lists them.\n"
    assert "crooked" in out


def test_info_of_a_broken_robot_names_one_defect_and_how_to_see_all(run, file):
    code, out, err = run("info", file(BAD))
    assert (code, out) == (1, "")
    assert err.startswith("appell: error: link 'arm' (robot.urdf:3): mass is -1 kg")
    assert "`appell check`" in err
    assert err.count("\n") == 1


# --- check ----------------------------------------------------------------------------------------------------------------


def test_check_lists_all_defects_and_fails(run, file):
    code, out, err = run("check", file(BAD))
    assert (code, err) == (1, "")
    for place in ("robot.urdf:3", "robot.urdf:5", "robot.urdf:8"):
        assert place in out
    assert out.startswith("robot.urdf: 2 errors, 1 warning")


def test_check_as_json(run, file):
    code, out, _ = run("check", file(BAD), "--json")
    assert code == 1
    data = json.loads(out)
    assert (data["errors"], data["warnings"]) == (2, 1)
    first = data["problems"][0]
    assert (first["severity"], first["kind"], first["place"]) == ("error", "negative-mass", "robot.urdf:3")
    assert first["fix"]


def test_check_of_a_sound_robot_succeeds(run):
    assert run("check", "puma560") == (0, "puma560: no defects found\n", "")


def test_check_warnings_do_not_fail(run, file):
    code, out, _ = run("check", file(CROOKED))
    assert code == 0
    assert "0 errors, 2 warnings" in out


def test_check_fix_writes_a_description_without_defects(run, file):
    code, out, err = run("check", file(CROOKED), "--fix", "fixed.urdf")
    assert code == 0
    assert out.endswith("written: fixed.urdf\n")
    assert "appell: warning:" in err
    assert appell.check("fixed.urdf").ok
    assert appell.load("fixed.urdf").joint_names == ("shoulder",)


def test_check_fix_of_what_cannot_be_repaired_fails_and_writes_nothing(run, file, tmp_path):
    code, out, err = run("check", file(BAD), "--fix", "fixed.urdf")
    assert code == 1
    assert out.startswith("robot.urdf: 2 errors, 1 warning")
    assert "appell: error:" in err
    assert not (tmp_path / "fixed.urdf").exists()


def test_check_fix_estimates_mass_from_shapes(run, file):
    box = "<link name='upper'><collision><geometry><box size='0.1 0.1 0.5'/></geometry></collision></link>"
    joint = "<joint name='shoulder' type='continuous'><parent link='base'/><child link='upper'/></joint>"
    bare = file(f"<robot name='r'><link name='base'/>{box}{joint}</robot>")
    code, out, _ = run("check", bare)
    assert (code, "1 error, 0 warnings" in out) == (1, True)
    code, _, _ = run("check", bare, "--fix", "fixed.urdf", "--density", "800")
    assert code == 0
    with pytest.warns(appell.ModelWarning, match="estimate: collision shapes at 800"):
        assert appell.load("fixed.urdf").body("upper").mass == pytest.approx(4.0)
    assert run("check", bare, "--density")[0] == run("check")[0] == run("check", bare, "--fx")[0] == 2
    assert run("check", bare, "--fix", "fixed.urdf", "--density", "-1")[0] == 1


def test_check_of_a_missing_file(run):
    code, out, err = run("check", "nothing.urdf")
    assert (code, out) == (1, "")
    assert "'nothing.urdf' does not exist" in err
    assert err.count("\n") == 1


# --- reproduce ------------------------------------------------------------------------------------------------------------


def test_reproduce_prints_tables(run):
    code, out, err = run("reproduce", "provenzano2002")
    assert (code, err) == (0, "")
    assert "Table 1." in out
    assert "Table 2." in out


def test_reproduce_as_json(run):
    code, out, _ = run("reproduce", "provenzano2002", "--json")
    assert code == 0
    data = json.loads(out)
    assert data["paper"] == "provenzano2002"
    assert data["tables"][1]["rows"][3][:4] == ["Mata et al. 2002", "GA", 1042, data["tables"][0]["rows"][7][3]]


def test_reproduce_of_an_unknown_paper_lists_the_known_ones(run):
    code, _, err = run("reproduce", "mata2003")
    assert code == 1
    assert "Did you mean 'mata2002'?" in err
    assert "valera2003" in err


def test_linearize_prints_the_matrices_and_poles(run) -> None:
    code, out, _ = run("linearize", "planar2r", "--q", "0.3,0.2", "--json")
    found = json.loads(out)
    robot = appell.load("planar2r")
    A, B = robot.linearize([0.3, 0.2], [0.0, 0.0], robot.gravity([0.3, 0.2]))
    assert code == 0
    assert_close(np.array(found["A"]), A, tolerance=1e-12)
    assert_close(np.array(found["B"]), B, tolerance=1e-12)
    assert_close(np.sort_complex([complex(*p) for p in found["poles"]]), np.sort_complex(np.linalg.eigvals(A)))
    code, out, _ = run("linearize", "four_bar")
    assert code == 0
    assert "Poles [1/s]" in out
    code, out, _ = run("linearize", "planar2r", "--q", "-.1,-2e-1", "--qd", "-1", "-2.5", "--json")
    assert code == 0
    assert json.loads(out)["q"] == [-0.1, -0.2]
    assert json.loads(out)["qd"] == [-1.0, -2.5]
    code, _, error = run("linearize", "four_bar", "--dt", "0.01")
    assert code == 1
    assert "closed loops" in error


def test_linearize_with_springs_is_about_an_equilibrium(run, tmp_path) -> None:
    (tmp_path / "spring.xml").write_text(
        """<mujoco><worldbody><body name="arm"><joint name="hinge" axis="0 1 0" stiffness="3" springref="0.4"/>
        <geom type="capsule" size="0.05" fromto="0 0 0 1 0 0" mass="1"/></body></worldbody></mujoco>"""
    )
    code, out, _ = run("linearize", "spring.xml", "--q", "-0.3", "--passive", "--json")
    robot, q, rest = appell.load(tmp_path / "spring.xml"), np.array([-0.3]), np.zeros(1)
    tau = np.array(json.loads(out)["tau"])
    assert code == 0
    assert_close(robot.forward_dynamics(q, rest, tau + robot.passive_forces(q, rest)), rest, tolerance=1e-12, scale=1.0)
