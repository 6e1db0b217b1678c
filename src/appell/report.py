"""Reports as one self-contained HTML page each: tables, notes, pictures and versions, nothing fetched from elsewhere.

Example:
    >>> from appell.report import Report
    >>> from appell.table import Table
    >>> page = Report("Masses", tables=(Table("Links", ("link", "mass [kg]"), (("upper", 15.78),)),)).html()
    >>> page.startswith("<!doctype html>"), "15.78" in page
    (True, True)
"""

from __future__ import annotations

import base64
import datetime
import platform
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from importlib.metadata import PackageNotFoundError, version
from io import BytesIO
from os import PathLike
from pathlib import Path
from typing import Any

from appell.errors import ArgumentError
from appell.files import write_text
from appell.plotting import plain_names
from appell.table import Table, anchor, html_table
from appell.version import __version__

PRINTED = "printed"
"""Rows with this cell hold values of a paper; they are shaded."""
MEDIA_TYPES = {".png": "image/png", ".svg": "image/svg+xml", ".jpg": "image/jpeg", ".jpeg": "image/jpeg"}
RESOLUTION = 150
"""Pixels per inch of figures on a page."""
PACKAGES = ("numpy", "scipy", "casadi", "llvmlite", "lxml", "matplotlib", "sympy", "mujoco", "pin", "viser")


def versions() -> dict[str, str]:
    """Date, versions of this library, Python and the packages that are installed, and the processor.

    Example:
        >>> sorted(versions())[:2]
        ['Python', 'appell']
    """
    return {
        "appell": __version__,
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        "Python": platform.python_version(),
        **{name: installed for name in PACKAGES if (installed := package_version(name))},
        "processor": processor(),
        "system": f"{platform.system()} {platform.machine()}",
    }


def processor() -> str:
    """Model name of the processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def package_version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


@dataclass(frozen=True)
class Picture:
    """An image with a caption.

    Attributes:
        data: the bytes of the file.
        media_type: such as `"image/png"`.
        notes: remarks below it.

    Example:
        >>> Picture("a dot", b"<svg/>", "image/svg+xml").html()
        '<figure><img src="data:image/svg+xml;base64,PHN2Zy8+" alt="a dot"><figcaption>a dot</figcaption></figure>'
    """

    caption: str
    data: bytes = field(repr=False)
    media_type: str = "image/png"
    notes: tuple[str, ...] = ()

    @classmethod
    def from_file(cls, path: str | PathLike, caption: str, notes: tuple[str, ...] = ()) -> Picture:
        """A PNG, SVG or JPEG file."""
        media_type = MEDIA_TYPES.get(Path(path).suffix.lower())
        if media_type is None:
            remedy = f"Give a file that ends in {', '.join(MEDIA_TYPES)}."
            raise ArgumentError(f"picture {path}: unknown file type. {remedy}")
        return cls(caption, Path(path).read_bytes(), media_type, notes)

    @classmethod
    def from_drawing(cls, draw: Callable[[Path], Any], caption: str, notes: tuple[str, ...] = ()) -> Picture:
        """The PNG file that a function writes to the given path, such as a result's `plot`."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "picture.png")
            draw(path)
            return cls.from_file(path, caption, notes)

    @classmethod
    def from_figure(cls, figure: Any, caption: str) -> Picture:
        """A `matplotlib.figure.Figure`."""
        stream = BytesIO()
        plain_names(figure)
        figure.savefig(stream, format="png", dpi=RESOLUTION)
        return cls(caption, stream.getvalue())

    def html(self) -> str:
        """The picture as an element of a page."""
        text = base64.b64encode(self.data).decode("ascii")
        caption = escape(self.caption)
        image = f'<img src="data:{self.media_type};base64,{text}" alt="{caption}">'
        return f"<figure>{image}<figcaption>{caption}</figcaption>{html_notes(self.notes)}</figure>"


@dataclass(frozen=True)
class Report:
    """The content of one page, from top to bottom.

    Attributes:
        title: the page's heading.
        source: one line below it: where the subject was published, or which data were used.
        notes: remarks that concern all tables.
        contents: a table in place of the list of tables and pictures at the top.
        links: other pages (address, text), above the heading.
        tables, pictures: in the order in which they are shown.
        versions: software and hardware that produced the numbers; the installed ones by default.

    Example:
        >>> Report("Masses", notes=("All in kilograms.",)).html().count("<li>All in kilograms.</li>")
        1
    """

    title: str
    source: str = ""
    notes: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    pictures: tuple[Picture, ...] = ()
    versions: Mapping[str, str] = field(default_factory=versions)
    contents: Table | None = None
    links: tuple[tuple[str, str], ...] = ()

    def html(self) -> str:
        """The whole page; it needs no other file and no network."""
        titles = [table.title for table in self.tables] + [picture.caption for picture in self.pictures]
        listed = _contents(titles) if len(titles) > 2 else ""
        body = [
            f"<header>{link_list(self.links)}</header>" if self.links else "",
            f"<h1>{escape(self.title)}</h1>",
            f'<p class="source">{escape(self.source)}</p>' if self.source else "",
            html_notes(self.notes),
            listed if self.contents is None else section(self.contents.title, _wide_table(self.contents)),
            *(section(table.title, _wide_table(table) + html_notes(table.notes)) for table in self.tables),
            *(f'<section id="{anchor(picture.caption)}">{picture.html()}</section>' for picture in self.pictures),
            section("Versions", f"<footer>{html_table((), tuple(self.versions.items()))}</footer>"),
        ]
        return page(self.title, body)

    def write(self, path: str | PathLike) -> Path:
        """Write the page to a file in an existing folder; returns the path."""
        path = Path(path)
        write_text(path, self.html())
        return path


def page(title: str, body: Sequence[str]) -> str:
    """A page of these elements, with the style sheet."""
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{escape(title)}</title>'
    content = "\n".join(part for part in body if part)
    return (
        f'<!doctype html>\n<html lang="en"><head>{head}<style>{CSS}</style></head>\n<body>\n{content}\n</body></html>\n'
    )


def link_list(links: Sequence[tuple[str, str]]) -> str:
    """Links (address, text), one below the other."""
    return "<ul>" + "".join(f'<li><a href="{escape(to)}">{escape(text)}</a></li>' for to, text in links) + "</ul>"


def section(title: str, content: str) -> str:
    """A part of a page under a heading."""
    return f'<section id="{anchor(title)}"><h2>{escape(title)}</h2>{content}</section>'


def _contents(titles: Sequence[str]) -> str:
    return f"<nav>{link_list([(f'#{anchor(title)}', title) for title in titles])}</nav>"


def html_notes(notes: Sequence[str]) -> str:
    """Remarks as a list; nothing for none."""
    if not notes:
        return ""
    return '<ul class="notes">' + "".join(f"<li>{escape(note)}</li>" for note in notes) + "</ul>"


def _wide_table(table: Table) -> str:
    return f'<div class="wide">{html_table(table.columns, table.rows, mark=PRINTED)}</div>'


CSS = """
:root { --ink: #1b1f24; --faint: #5b6570; --line: #d7dce1; --tint: #f3f6f9; --accent: #0072b2; }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 68rem; padding: 2rem 1.5rem 4rem; color: var(--ink); background: #fff;
       font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0 0 .4rem; }
h2 { font-size: 1.15rem; margin: 2.4rem 0 .6rem; padding-top: .8rem; border-top: 1px solid var(--line); }
p.source { color: var(--faint); margin: 0 0 1.2rem; max-width: 52rem; }
a { color: var(--accent); }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; }
th, td { padding: .28rem .8rem .28rem 0; text-align: left; vertical-align: top; white-space: pre-line; }
th { border-bottom: 2px solid var(--ink); font-weight: 600; }
td { border-bottom: 1px solid var(--line); }
td.number, th.number { text-align: right; }
tr.printed td { background: var(--tint); }
td:first-child, th:first-child { padding-left: .5rem; }
ul.notes { color: var(--faint); font-size: .9rem; padding-left: 1.2rem; max-width: 56rem; }
ul.notes li { margin: .25rem 0; }
figure { margin: 1.6rem 0; padding-top: 1.4rem; border-top: 1px solid var(--line); }
figure img { max-width: 100%; height: auto; display: block; }
figcaption { font-weight: 600; margin-top: .3rem; }
header ul { display: flex; flex-wrap: wrap; gap: .2rem 1.4rem; list-style: none; padding: 0; margin: 0 0 1.4rem;
            font-size: .92rem; }
nav ul { columns: 2; font-size: .92rem; padding-left: 1.2rem; }
footer table { font-size: .82rem; }
@media print { body { max-width: none; padding: 0; } h2, figure, tr { break-inside: avoid; } }
"""
