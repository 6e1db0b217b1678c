"""The README promises commands, pictures, figures and links: they are there and they are true."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

import appell

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = [line for block in re.findall(r"```sh\n(.*?)```", README, re.DOTALL) for line in block.splitlines()]


def test_two_commands_make_an_environment_and_the_others_use_it():
    main_job, tests, *others = COMMANDS
    assert main_job.endswith("appell demo")
    assert "-m pytest" in tests
    for command in (main_job, tests):
        assert command.startswith("python3 -m venv .venv && .venv/bin/pip install '.[")
    assert len(others) == 3  # a robot of one's own: its motion, its picture, its C
    assert all(command.startswith(".venv/bin/appell ") for command in others)


def test_continuous_integration_runs_these_very_commands():
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    patterns = re.findall(r"readme_command '(.*?)'", script.read_text(encoding="utf-8"))
    matched = [[line for line in README.splitlines() if re.search(f"^python3 -m venv .*{p}", line)] for p in patterns]
    assert matched == [[command] for command in COMMANDS[:2]]


@pytest.mark.parametrize("target", re.findall(r"\]\(([^)#:]+)\)", README))
def test_linked_file_exists(target):
    assert (ROOT / target).exists()


@pytest.mark.parametrize(("function", "method"), [("inverse_dynamics", "mata2002"), ("forward_dynamics", "gibbs")])
def test_operation_counts_are_the_library_s(function, method):
    row = next(line for line in README.splitlines() if line.startswith(f"| {function.replace('_', ' ')} |"))
    _, general, puma = (tuple(map(int, cell.split(","))) for cell in row.strip("| ").split("|")[1:])
    assert general == appell.count_operations(appell.robots.random_chain(6), function, method)[:2]
    assert puma == appell.count_operations(appell.load("puma560"), function, method, compiled=True)[:2]


def test_every_command_is_in_the_table():
    from appell.cli import COMMANDS as registered

    for command in registered:
        assert f"`appell {command.name}" in README
