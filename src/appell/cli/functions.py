"""Functions of a robot on a command line."""

from __future__ import annotations

import argparse


def add_functions(parser: argparse.ArgumentParser, default: str) -> None:
    """The option `--functions`."""
    parser.add_argument(
        "--functions", default=default, metavar="LIST",
        help="separated by commas; pose:FRAME and jacobian:FRAME for a frame, FUNCTION@METHOD for a method "
        "(default: %(default)s)",
    )  # fmt: skip


def functions_of(arguments: argparse.Namespace) -> list[str]:
    """The names that were given."""
    return [name.strip() for name in arguments.functions.split(",") if name.strip()]
