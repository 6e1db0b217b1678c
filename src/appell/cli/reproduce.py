"""`appell reproduce PAPER`: a paper's tables, printed and computed side by side, and its figures."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from appell.cli.command import OK, Command, add_json, answer

if TYPE_CHECKING:
    from appell.reproduce import Reproduction


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("paper", help="mata2002, valera2003, provenzano2002 or shafei2018")
    parser.add_argument(
        "--figures", metavar="FOLDER", default="appell_figures", help="where figures are written (default: %(default)s)"
    )
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    from appell.reproduce import reproduce

    result = reproduce(arguments.paper)
    figures = draw(result, arguments.figures)
    answer(arguments, "\n\n".join([str(result), *figures]), {**result.as_dict(), "figures": figures})
    return OK


def draw(result: Reproduction, folder: str) -> list[str]:
    """Write the figures, one line for all of them; or say what is missing."""
    from appell.errors import AppellError

    if not result.figures:
        return []
    try:
        paths = result.draw(folder)
    except AppellError as error:  # matplotlib is not there
        return [f"No figures: {error}"]
    return [f"Figures: {', '.join(map(str, paths))}"]


COMMAND = Command("reproduce", "regenerate the tables and figures of a paper", add_arguments, run)
