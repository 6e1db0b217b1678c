"""What is exported under which name, what the header says, and how files are written."""

from __future__ import annotations

import os
import re
from dataclasses import replace

import pytest

import appell
from appell.algorithms.function_spec import FunctionSpec, as_function_spec
from appell.cli import main
from appell.exporters import write_generated

PUMA = appell.load("puma560")


def header(folder, name="puma560") -> str:
    return (folder / f"{name}.h").read_text()


def declared(folder, name="puma560") -> list[str]:
    return re.findall(r"^void (\w+)\(", header(folder, name), re.MULTILINE)


def test_a_header_tells_what_an_engineer_asks(tmp_path):
    files = appell.export(PUMA, ["inverse_dynamics", "jacobian:link6:LOCAL"], tmp_path)
    assert [file.name for file in files] == ["puma560.h", "puma560.c"]
    text = header(tmp_path)
    declaration = (
        "void puma560_inverse_dynamics(const double q[6], const double qd[6], const double qdd[6], double tau[6]);"
    )
    assert declaration in text
    assert f"appell {appell.__version__}" in text
    assert "method: mata2002" in text
    assert "frame: link6, LOCAL" in text
    assert re.search(r"q\[5\] +joint6 +continuous +rad, rad/s, rad/s\^2, N m", text)
    assert "(0, 0, -9.81) m/s^2" in text
    assert max(map(len, text.splitlines())) <= 120


def test_counts_are_those_of_the_code(tmp_path):
    appell.export(PUMA, "inverse_dynamics", tmp_path)
    code = "\n".join(line for line in (tmp_path / "puma560.c").read_text().splitlines() if line.startswith("    "))
    code = re.sub(r"= -", "= ", re.sub(r"e-\d+", "", code))
    products, sums = len(re.findall(r" \* ", code)), len(re.findall(r" [+-] ", code))
    sines = len(re.findall(r"\b(?:sin|cos)\(", code))
    assert f"{products} products, {sums} sums, 0 divisions and square roots, {sines} sines" in header(tmp_path)


def test_no_calls_but_sine_cosine_and_root(tmp_path):
    appell.export(
        PUMA, ["inverse_dynamics", "forward_dynamics", "mass_matrix", "coriolis_matrix", "pose:link6"], tmp_path
    )
    called = set(re.findall(r"(\w+)\(", (tmp_path / "puma560.c").read_text()))
    assert {name for name in called if not name.startswith("puma560_")} <= {"sin", "cos", "sqrt"}


def test_single_precision_throughout(tmp_path):
    appell.export(PUMA, ["inverse_dynamics", "forward_dynamics"], tmp_path, dtype="float32")
    text = (tmp_path / "puma560.c").read_text()
    assert "double" not in text
    assert "sinf(" in text
    assert not re.search(r"\d\.\d+(?:e[-+]?\d+)?(?![\df])", text.split("#include <math.h>")[1])


def test_the_same_robot_gives_the_same_text(tmp_path):
    for name in ("one", "two"):
        appell.export(appell.load("puma560"), ["inverse_dynamics"], tmp_path / name)
    assert (tmp_path / "one/puma560.c").read_bytes() == (tmp_path / "two/puma560.c").read_bytes()


@pytest.mark.parametrize(
    ("text", "request_"),
    [
        ("inverse_dynamics", FunctionSpec("inverse_dynamics")),
        ("inverse_dynamics@newton_euler", FunctionSpec("inverse_dynamics", "newton_euler")),
        ("pose:tool0", FunctionSpec("pose", frame="tool0")),
        ("jacobian:tool0:LOCAL", FunctionSpec("jacobian", frame="tool0", reference="LOCAL")),
        ("pose:model::link", FunctionSpec("pose", frame="model::link")),
    ],
)
def test_functions_as_text(text, request_):
    assert as_function_spec(text) == request_


def test_names_become_identifiers(tmp_path):
    robot = replace(PUMA, name="2-arm rob*/ot\\")
    appell.export(robot, ["gravity", "pose:link6"], tmp_path)
    assert declared(tmp_path, "robot_2_arm_rob_ot") == ["robot_2_arm_rob_ot_gravity", "robot_2_arm_rob_ot_pose_link6"]
    assert header(tmp_path, "robot_2_arm_rob_ot").count("*/") == 4  # its own four comments


def test_names_of_ones_own(tmp_path):
    appell.export(PUMA, {"hold": "gravity", "tool": "pose:link6"}, tmp_path, prefix="arm")
    assert declared(tmp_path, "arm") == ["arm_hold", "arm_tool"]


@pytest.mark.parametrize(
    ("functions", "options", "message"),
    [
        ("inverse_dynamic", {}, r"unknown function 'inverse_dynamic'. Did you mean 'inverse_dynamics'"),
        ("inverse_dynamics@x", {}, r"unknown method of inverse_dynamics 'x'.*newton_euler"),
        ("pose:nowhere", {}, r"unknown frame 'nowhere'.*link6"),
        ("pose", {}, r"unknown frame"),
        ([], {}, "no functions to export"),
        ([3], {}, "got int"),
        (["pose:link6", FunctionSpec("pose", frame="link6")], {}, "'puma560_pose_link6'.*names of your own"),
        ({"my name": "gravity"}, {}, "'my name' is not a C identifier"),
        ("gravity", {"prefix": "7axis"}, "prefix '7axis' is not a C identifier"),
        ("gravity", {"language": "fortran"}, "unknown language 'fortran'.*Valid: c"),
        ("gravity", {"dtype": "float16"}, "unknown dtype 'float16'"),
    ],
)
def test_what_cannot_be_exported_is_refused_before_anything_is_written(functions, options, message, tmp_path):
    with pytest.raises(appell.ArgumentError, match=message):
        appell.export(PUMA, functions, tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()


def test_own_files_are_never_lost(tmp_path):
    own = tmp_path / "puma560.c"
    own.write_text("int main(void) { return 0; }\n")
    with pytest.raises(appell.ArgumentError, match=r"puma560\.c was not generated by appell"):
        appell.export(PUMA, "gravity", tmp_path)
    assert own.read_text().startswith("int main")
    assert [path.name for path in tmp_path.iterdir()] == ["puma560.c"]
    appell.export(PUMA, "gravity", tmp_path, force=True)
    appell.export(PUMA, "bias", tmp_path)  # generated files are replaced without being asked
    assert declared(tmp_path) == ["puma560_bias"]


def test_a_folder_that_is_a_file_is_refused(tmp_path):
    (tmp_path / "out").write_text("")
    with pytest.raises(appell.ArgumentError, match="is a file, expected a folder"):
        appell.export(PUMA, "gravity", tmp_path / "out")


def test_a_full_disk_leaves_the_old_files(tmp_path, monkeypatch):
    write_generated(tmp_path, {"a.h": "/* generated by appell, old */", "a.c": "/* generated by appell, old */"}, False)

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="No space left"):
        write_generated(tmp_path, {"a.h": "/* generated by appell, new */", "a.c": "new"}, False)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.c", "a.h"]
    assert "old" in (tmp_path / "a.h").read_text()


def test_command(tmp_path, capsys):
    line = [
        "export",
        "puma560",
        "--functions",
        "gravity, pose:link6",
        "--out",
        str(tmp_path),
        "--dtype",
        "float32",
        "--prefix",
        "arm",
    ]
    assert main(line) == 0
    assert "written: " in capsys.readouterr().out
    assert "const float q[6]" in header(tmp_path, "arm")
    assert main(["export", "puma560", "--functions", "nothing", "--out", str(tmp_path)]) == 1
    assert "unknown function 'nothing'" in capsys.readouterr().err
