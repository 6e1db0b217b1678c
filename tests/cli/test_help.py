"""Help texts: what an option means, its unit and its default."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import pytest

from appell.cli import parser

UNITS = {
    "S": "[s]",
    "HZ": "[Hz]",
    "MS": "[ms]",
    "Q": "[rad, m]",
    "QD": "[rad/s, m/s]",
    "TAU": "[N m, N]",
    "F": "[N m, N]",
}
"""Unit that a help text must have, by what it calls the value."""


def options(top: argparse.ArgumentParser, command: str = "appell") -> Iterator[tuple[str, argparse.Action]]:
    """Every option of every command, without those that have gone."""
    for action in top._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, sub in action.choices.items():
                yield from options(sub, f"{command} {name}")
        elif action.option_strings and action.help != argparse.SUPPRESS:
            yield f"{command} {action.option_strings[-1]}", action


ALL = dict(options(parser()))


@pytest.mark.parametrize("name", ALL)
def test_an_option_has_a_meaning_a_unit_and_a_default(name: str) -> None:
    action = ALL[name]
    text = action.help or ""
    assert text
    assert not text.startswith(("(", "[")), "the meaning comes first"
    numeric = action.type in (int, float) or action.choices or action.metavar in UNITS
    if numeric and action.nargs != 0 and not action.required:
        assert "(default: " in text, f"{name}: {text}"
    if isinstance(action.metavar, str) and action.metavar in UNITS and action.nargs != 0:
        assert UNITS[action.metavar] in text, f"{name}: {text}"
