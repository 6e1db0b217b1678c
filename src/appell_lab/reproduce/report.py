"""Reports of reproduced papers: one page per paper, and an index of all."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from appell.errors import AppellError
from appell.files import write_text
from appell.report import Picture, Report, html_notes, page, section, versions
from appell.table import html_table
from appell_lab.reproduce.reproduction import caption

if TYPE_CHECKING:
    from appell_lab.reproduce.reproduction import Reproduction

TITLE = "Papers, printed and computed"
INTRODUCTION = (
    "Every table and figure of the papers that holds data is computed anew and shown beside the printed numbers. The tables "
    "below list all of them: a link leads to what is computed here; what has no link is no data, or cannot be computed for the "
    "reason given.",
    "Rows of printed numbers are shaded. Corrections of the papers' equations are in the documentation, one page per paper.",
    "Regenerate these pages with: appell reproduce all --html FOLDER",
)


def report_of(result: Reproduction, links: tuple[tuple[str, str], ...] = ()) -> Report:
    """The page of one paper. Figures need matplotlib; without it they are replaced by a note.

    Example:
        >>> from appell_lab.reproduce import reproduce
        >>> report_of(reproduce("provenzano2002")).title
        'provenzano2002: printed and computed'
    """
    notes = result.notes
    try:
        pictures = tuple(
            Picture.from_drawing(figure.draw, caption(figure.name), figure.notes) for figure in result.figures
        )
    except AppellError as error:  # matplotlib is not installed
        pictures, notes = (), (*notes, f"Figures are left out: {error}")
    return Report(
        f"{result.paper}: printed and computed", result.source, notes, result.tables, pictures,
        contents=result.contents(), links=links,
    )  # fmt: skip


def write_all(results: Iterable[Reproduction], folder: str | PathLike) -> list[Path]:
    """One page per paper in a folder, created if it does not exist, and an index; returns the paths, the index last."""
    results = list(results)
    Path(folder).mkdir(parents=True, exist_ok=True)
    links = (("index.html", "All papers"), *((f"{result.paper}.html", result.paper) for result in results))
    paths = [report_of(result, links).write(Path(folder, f"{result.paper}.html")) for result in results]
    index = Path(folder, "index.html")
    write_text(
        index, page(TITLE, [f"<h1>{escape(TITLE)}</h1>", html_notes(INTRODUCTION), *map(_summary, results), _footer()])
    )
    return [*paths, index]


def _summary(result: Reproduction) -> str:
    """A paper on the index: its source, and its tables and figures with links into its page."""
    address = f"{result.paper}.html"
    contents = result.contents(address)
    source = f'<p class="source">{escape(result.source)}. <a href="{address}">The page of this paper</a></p>'
    return section(result.paper, source + f'<div class="wide">{html_table(contents.columns, contents.rows)}</div>')


def _footer() -> str:
    return section("Versions", f"<footer>{html_table((), tuple(versions().items()))}</footer>")
