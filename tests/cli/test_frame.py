"""The frame of the command line: lists, completion, surfaces as words, the viewer's command, errors nobody foresaw."""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import time

import pytest

import appell
from appell.cli import COMMANDS, main, parser
from appell.cli.common import add_dtype, add_renamed_options
from appell.cli.completion import SCRIPTS, completions
from appell.cli.surfaces import parse_surface


def test_help_lists_all_commands_and_is_fast() -> None:
    begun = time.perf_counter()
    done = subprocess.run([sys.executable, "-m", "appell", "--help"], capture_output=True, text=True, check=True)
    seconds = time.perf_counter() - begun
    for command in COMMANDS:
        assert command.name in done.stdout
    assert seconds < 3.0, "half a second on an idle machine; this leaves room for a busy one"
    loaded = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "appell", "--help"], capture_output=True, text=True, check=True
    ).stderr
    for heavy in ("casadi", "scipy", "matplotlib", "viser", "numpy"):
        assert f" {heavy}\n" not in loaded, f"appell --help imports {heavy}"


def test_every_command_has_help(capsys: pytest.CaptureFixture[str]) -> None:
    for command in COMMANDS:
        assert main([command.name, "--help"]) == 0
        assert command.help in " ".join(capsys.readouterr().out.split())


def test_wrong_command_lines_say_so_and_exit_with_2(capsys: pytest.CaptureFixture[str]) -> None:
    for words in ([], ["nonsense"], ["info", "puma560", "--nonsense"], ["completion", "csh"]):
        assert main(words) == 2
        assert "usage: appell" in capsys.readouterr().err


def test_info_without_a_robot_lists_the_built_in_ones(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert tuple(row[0] for row in rows) == appell.robots.names()


@pytest.mark.parametrize("name", ["four_bar", "agile_wrist"])
def test_info_of_closed_loops(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", name]) == 0
    out = capsys.readouterr().out
    for actuator in appell.load(name).actuator_names:
        assert actuator in out


def test_an_unforeseen_error_is_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError("two\nlines")

    monkeypatch.setattr(appell, "check", fail, raising=False)
    monkeypatch.delenv("APPELL_TRACEBACK", raising=False)
    assert main(["check", "puma560"]) == 1
    err = capsys.readouterr().err
    assert err.startswith("appell: error: ZeroDivisionError: two lines")
    assert err.count("\n") == 1
    monkeypatch.setenv("APPELL_TRACEBACK", "1")
    with pytest.raises(ZeroDivisionError):
        main(["check", "puma560"])


# --- former options -------------------------------------------------------------------------------------------------------


def test_a_package_that_is_missing_is_named(monkeypatch, capsys: pytest.CaptureFixture[str]) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ModuleNotFoundError("No module named 'casadi'", name="casadi")

    monkeypatch.setattr(appell, "check", fail, raising=False)
    monkeypatch.delenv("APPELL_TRACEBACK", raising=False)
    assert main(["check", "puma560"]) == 1
    assert "the package 'casadi' is missing. Install appell again" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "values"),
    [
        (["--new", "2"], {"new": 2, "items": [], "flag": False, "dtype": "float64"}),
        (["--old", "2"], {"new": 2}),
        (["--item", "a", "--thing", "b", "c"], {"items": [["a"], ["b", "c"]]}),
        (["--switch"], {"flag": True}),
        (["--float"], {"dtype": "float32"}),
    ],
)
def test_former_options_act_as_the_new_ones(words, values, capsys: pytest.CaptureFixture[str]) -> None:
    options = argparse.ArgumentParser()
    group = options.add_argument_group("group")
    group.add_argument("--new", type=int)
    options.add_argument("--item", action="append", nargs="+", default=[], dest="items")
    options.add_argument("--flag", action="store_true")
    add_dtype(options)
    add_renamed_options(group, {"--old": "--new", "--thing": "--item", "--switch": "--flag"})
    parsed = vars(options.parse_args(words))
    assert {name: parsed[name] for name in values} == values
    former = [word for word in words if word in ("--old", "--thing", "--switch", "--float")]
    warning = capsys.readouterr().err
    assert warning.count("\n") == len(former)
    assert all(f"appell: warning: {word} is now --" in warning for word in former)
    assert not any(word in options.format_help() for word in ("--old", "--thing", "--switch", "--float"))


def test_former_options_are_not_completed() -> None:
    assert "--dtype" in completions(parser())["export"].options
    assert "--float" not in completions(parser())["export"].options


# --- surfaces ----------------------------------------------------------------------------------------------------------------


def test_surfaces_as_words() -> None:
    circle = parse_surface("circle:radius=2.5:restitution=0.5:side=outside")
    assert circle == appell.surfaces.Circle(radius=2.5, restitution=0.5, side="outside")
    assert parse_surface("plane") == appell.surfaces.Plane()
    assert parse_surface("Plane:normal=0,1,0:point=0,-1,0") == appell.surfaces.Plane((0, 1, 0), (0, -1, 0))
    assert parse_surface("ellipse:semi_axes=3,1") == appell.surfaces.Ellipse((3.0, 1.0))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cube:size=1", "unknown surface 'cube'"),
        ("circle:radios=1", "Did you mean 'radius'"),
        ("circle", "has no radius"),
        ("circle:radius=a1", "'a1' is not a number"),
        ("circle:radius=-1", "expected a positive number"),
    ],
)
def test_wrong_surfaces_say_what_is_wrong(text: str, message: str) -> None:
    with pytest.raises(appell.ArgumentError, match=message):
        parse_surface(text)


# --- completion ---------------------------------------------------------------------------------------------------------------


def completed(*words: str) -> list[str]:
    """What bash offers after these words."""
    script = SCRIPTS["bash"](completions(parser()))
    line = (
        f'{script}\nCOMP_WORDS=(appell {" ".join(words)}); COMP_CWORD={len(words)}; _appell; echo "${{COMPREPLY[@]}}"'
    )
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=True, cwd="/")
    return done.stdout.split()


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_bash_completes_commands_options_robots_and_papers() -> None:
    assert completed("re") == ["reproduce"]
    assert "puma560" in completed("info", "pum")
    assert completed("reproduce", "prov") == ["provenzano2002"]
    assert completed("check", "--f") == ["--fix"]
    assert completed("info", "puma560", "--base", "fl") == ["floating"]
    assert completed("completion", "z") == ["zsh"]


def test_scripts_of_all_shells_name_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    for shell in SCRIPTS:
        assert main(["completion", shell]) == 0
        script = capsys.readouterr().out
        for command in COMMANDS:
            assert command.name in script
    assert "complete -c appell" in script


# --- view --------------------------------------------------------------------------------------------------------------------


def test_view_serves_for_a_while_and_ends(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("viser")
    assert main(["view", "planar2r", "--port", "8531", "--seconds", "0.2", "--surface", "plane"]) == 0
    assert capsys.readouterr().out.startswith("planar2r: http://127.0.0.1:85")


def test_view_without_viser_says_how_to_install_it(monkeypatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "viser", None)
    assert main(["view", "planar2r"]) == 1
    assert "pip install 'appell[view]'" in capsys.readouterr().err


def test_view_of_a_motion_that_is_none(tmp_path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "motion.npz").write_text("nothing")
    assert main(["view", "planar2r", "--motion", str(tmp_path / "motion.npz")]) == 1
    assert "is not an archive of NumPy arrays" in capsys.readouterr().err
