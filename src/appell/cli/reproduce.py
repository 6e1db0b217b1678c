"""`appell reproduce PAPER`: tables and figures of a paper, printed and computed side by side."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from appell.cli.common import Command, print_result
from appell.errors import AppellError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from appell_lab.reproduce import Reproduction

ALL = "all"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from appell_lab.reproduce import PAPERS

    parser.add_argument("paper", help=f"{', '.join(PAPERS)}, or all")
    parser.add_argument(
        "--html", metavar="OUT", help="write a self-contained HTML page; for all papers, a folder with one page each"
    )
    parser.add_argument(
        "--figures", metavar="FOLDER", default="appell_figures", help="folder of the figures (default: %(default)s)"
    )


def run(arguments: argparse.Namespace) -> None:
    from appell.progress import progress
    from appell_lab.reproduce import PAPERS, reproduce

    papers = PAPERS if arguments.paper == ALL else (arguments.paper,)
    results = (reproduce(paper) for paper in progress(papers, "reproducing"))
    if arguments.html:
        paths = [str(path) for path in write(results, arguments.paper, arguments.html)]
        print_result(arguments, "\n".join(f"written: {path}" for path in paths), {"files": paths})
        return
    texts, data = [], []
    for result in results:
        figures = draw(result, arguments.figures)
        texts.append("\n\n".join([str(result), *figures]))
        data.append({**result.as_dict(), "figures": figures})
    print_result(arguments, "\n\n\n".join(texts), {"papers": data} if arguments.paper == ALL else data[0])


def write(results: Iterable[Reproduction], paper: str, out: str) -> list[Path]:
    """Pages of the results: one file, or a folder for all papers."""
    from appell_lab.reproduce.report import report_of, write_all

    if paper == ALL:
        return write_all(results, out)
    return [report_of(result).write(out) for result in results]


def draw(result: Reproduction, folder: str) -> list[str]:
    """Write the figures; returns a line with their paths, or with the reason why there are none."""
    if not result.figures:
        return []
    try:
        paths = result.draw(folder)
    except AppellError as error:  # matplotlib is not installed
        return [f"No figures: {error}"]
    return [f"Figures: {', '.join(map(str, paths))}"]


COMMAND = Command("reproduce", "tables and figures of a paper, printed and computed", add_arguments, run)
