"""The README promises two commands, a picture, figures and links: they are there and they are true."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

import appell

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = [line for block in re.findall(r"```sh\n(.*?)```", README, re.DOTALL) for line in block.splitlines()]


def test_there_are_exactly_two_commands_and_each_makes_its_own_environment():
    assert len(COMMANDS) == 2
    main_job, tests = COMMANDS
    assert main_job.endswith("appell demo")
    assert "-m pytest" in tests
    for command in COMMANDS:
        assert command.startswith("python3 -m venv .venv && .venv/bin/pip install '.[")


def test_continuous_integration_runs_these_very_commands():
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    patterns = re.findall(r"readme_command '(.*?)'", script.read_text(encoding="utf-8"))
    matched = [[line for line in README.splitlines() if re.search(f"^python3 -m venv .*{p}", line)] for p in patterns]
    assert matched == [[command] for command in COMMANDS]


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
