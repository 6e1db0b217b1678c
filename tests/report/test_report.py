"""Reports: one HTML file that needs nothing else, and holds what it was made from."""

from __future__ import annotations

import base64
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

import appell
from appell.cli import main
from appell.plotting import new_figure
from appell.report import Picture, Report, versions
from appell.table import Table
from appell_lab.reproduce import reproduce
from appell_lab.reproduce.report import report_of, write_all
from appell_lab.reproduce.reproduction import Figure, Item, Reproduction

VOID = {"meta", "img", "br", "link", "input", "hr"}


class Reader(HTMLParser):
    """Reads a page; refuses tags that are not closed, and collects addresses, anchors and cells."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open, self.addresses, self.anchors, self.cells = [], [], [], []
        self.feed(text)
        self.close()
        assert not self.open, f"never closed: {self.open}"

    def handle_starttag(self, tag, attrs):
        named = dict(attrs)
        self.addresses += [named[key] for key in ("src", "href") if key in named]
        self.anchors += [named["id"]] if "id" in named else []
        if tag not in VOID:
            self.open.append(tag)
        if tag == "td":
            self.cells.append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] == "td":
            self.cells[-1] += data


TABLE = Table(
    "Masses & <sizes>",
    ("link", "from", "m [kg]"),
    (("upper", "printed", 1.5), ("", "computed", 1.25), ("x", None, None)),
)


def a_figure():
    figure = new_figure(2.0, 1.0)
    figure.subplots().plot([0, 1], [0, 1])
    return figure


def test_page_holds_everything_and_fetches_nothing(tmp_path: Path) -> None:
    picture = Picture.from_figure(a_figure(), "a line")
    report = Report("Title <1>", "Somewhere", ("note a", "note b"), (TABLE,), (picture, picture))
    text = report.write(tmp_path / "page.html").read_text(encoding="utf-8")
    page = Reader(text)
    assert page.cells[:6] == ["upper", "printed", "1.5", "", "computed", "1.25"]
    assert "Title &lt;1&gt;" in text
    assert "Masses &amp; &lt;sizes&gt;" in text
    images = [address for address in page.addresses if address.startswith("data:image/png;base64,")]
    assert base64.b64decode(images[0].partition(",")[2]) == picture.data
    inner = [address for address in page.addresses if address.startswith("#")]
    assert {address[1:] for address in inner} <= set(page.anchors)
    assert len(images) + len(inner) == len(page.addresses), "an address outside of the page"
    assert "url(" not in text
    assert "@import" not in text


def test_rows_of_the_paper_are_marked() -> None:
    text = Report("t", tables=(TABLE,)).html()
    assert text.count('<tr class="printed">') == 1
    assert text.count('<td class="number">') == 3


def test_versions_are_those_that_run() -> None:
    import numpy

    found = versions()
    assert (found["appell"], found["numpy"]) == (appell.__version__, numpy.__version__)
    assert f"<td>{numpy.__version__}</td>" in Report("t").html()


def test_a_picture_of_another_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(appell.ArgumentError, match=r"unknown file type.*\.png"):
        Picture.from_file(tmp_path / "movie.gif", "no")


def test_report_of_a_paper_has_its_tables_notes_and_figures() -> None:
    def draw(path: Path) -> None:
        a_figure().savefig(path)

    result = Reproduction("someone1999", "A paper", (TABLE,), ("why it differs",), (Figure("figure2_a_line", draw),))
    report = report_of(result)
    assert report.tables == (TABLE,)
    assert report.pictures[0].caption == "Figure 2: a line"
    assert report.pictures[0].data.startswith(b"\x89PNG")
    assert "why it differs" in report.html()


def test_without_matplotlib_the_report_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("matplotlib", "matplotlib.figure", "matplotlib.backends.backend_agg"):
        monkeypatch.setitem(sys.modules, module, None)
    result = Reproduction("someone1999", "A paper", (), (), (Figure("a", lambda path: a_figure().savefig(path)),))
    assert "appell[plot]" in report_of(result).html()


def test_all_reports_are_linked(tmp_path: Path) -> None:
    """From the index to every table and figure, and from every page to the others."""
    items = (
        Item("Table 1", "masses", "Masses"),
        Item("Figure 2", "a line", "figure2_a_line"),
        Item("Figure 3", "x", remark="no data"),
    )
    figures = (Figure("figure2_a_line", lambda path: a_figure().savefig(path), ("as printed: 1",)),)
    results = [Reproduction(name, f"Paper {name}", (TABLE,), figures=figures, items=items) for name in ("one", "two")]
    paths = write_all(results, tmp_path / "reports")
    pages = {path.name: Reader(path.read_text(encoding="utf-8")) for path in paths}
    index = pages["index.html"]
    assert [address for address in index.addresses if address.startswith("one.html")] == [
        "one.html", "one.html#masses-sizes", "one.html#figure-2-a-line",
    ]  # fmt: skip
    assert "no data" in index.cells
    for name, page in pages.items():
        for address in page.addresses:
            if not address.startswith("data:"):
                target, _, place = address.partition("#")
                assert not place or place in pages[target or name].anchors, address
    assert {"index.html", "two.html"} <= set(pages["one.html"].addresses)
    assert "as printed: 1" in paths[0].read_text(encoding="utf-8")


def test_command_writes_the_page_of_a_paper(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "paper.html"
    assert main(["reproduce", "provenzano2002", "--html", str(out)]) == 0
    assert capsys.readouterr().out == f"written: {out}\n"
    text = out.read_text(encoding="utf-8")
    Reader(text)
    for table in reproduce("provenzano2002").tables:
        assert table.title in text


def test_folders_of_single_files_are_not_made(tmp_path: Path) -> None:
    """As everywhere: a folder is made where a folder was named, not beside a file."""
    with pytest.raises(FileNotFoundError):
        Report("Title").write(tmp_path / "deep" / "page.html")
    assert write_all((), tmp_path / "new" / "folder")[-1].name == "index.html"
