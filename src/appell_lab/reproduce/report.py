"""Reports of reproduced papers."""

from __future__ import annotations

import re
from collections.abc import Iterable
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from appell.errors import AppellError
from appell.files import write_text
from appell.report import Picture, Report, link_list, page

if TYPE_CHECKING:
    from appell_lab.reproduce.reproduction import Reproduction


def report_of(result: Reproduction) -> Report:
    """The page of one paper. Figures need matplotlib; without it they are replaced by a note.

    Example:
        >>> from appell_lab.reproduce import reproduce
        >>> report_of(reproduce("provenzano2002")).title
        'provenzano2002: printed and computed'
    """
    notes = result.notes
    try:
        pictures = tuple(Picture.from_drawing(figure.draw, caption(figure.name)) for figure in result.figures)
    except AppellError as error:  # matplotlib is not installed
        pictures, notes = (), (*notes, f"Figures are left out: {error}")
    return Report(f"{result.paper}: printed and computed", result.source, notes, result.tables, pictures)


def caption(name: str) -> str:
    """A figure's file name as words.

    Example:
        >>> caption("figure14_positions_X1")
        'Figure 14: positions X1'
    """
    words = name.replace("_", " ")
    number = re.match(r"figure ?(\d+\w?)\b *", words)
    return f"Figure {number[1]}: {words[number.end() :]}".rstrip(": ") if number else words[:1].upper() + words[1:]


def write_all(results: Iterable[Reproduction], folder: str | PathLike) -> list[Path]:
    """One page per paper in a folder, created if it does not exist, and an index; returns the paths, the index last."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    paths, links = [], []
    for result in results:
        paths.append(report_of(result).write(Path(folder, f"{result.paper}.html")))
        links.append((paths[-1].name, f"{result.paper}: {result.source}"))
    title = "Papers, printed and computed"
    index = Path(folder, "index.html")
    write_text(index, page(title, [f"<h1>{title}</h1>", link_list(links)]))
    return [*paths, index]
