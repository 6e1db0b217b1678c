"""What a command is, and how it answers."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

OK, FAILED, USAGE = 0, 1, 2
"""Exit codes: done, the work failed or found errors, the command line was wrong."""


@dataclass(frozen=True)
class Command:
    """One command of `appell`.

    Attributes:
        help: one line for the list of commands.
        add_arguments: declares its arguments.
        run: does the work and returns the exit code. Imports what it needs by itself, so that `appell --help` is fast.
    """

    name: str
    help: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]


def add_json(parser: argparse.ArgumentParser) -> None:
    """The option `--json`."""
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")


def answer(arguments: argparse.Namespace, text: object, data: dict[str, Any]) -> None:
    """Print the result as text, or as JSON where that is wanted."""
    print(json.dumps(data, indent=2) if arguments.json else text)
