"""`appell reproduce PAPER`: a paper's tables, printed and computed side by side."""

from __future__ import annotations

import argparse

from appell.cli.command import OK, Command, add_json, answer


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("paper", help="mata2002, valera2003 or provenzano2002")
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    from appell.reproduce import reproduce

    result = reproduce(arguments.paper)
    answer(arguments, result, result.as_dict())
    return OK


COMMAND = Command("reproduce", "regenerate the tables of a paper", add_arguments, run)
