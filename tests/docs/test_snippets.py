"""Every Python snippet of the README and of the documentation runs, and every link between pages leads somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^(?P<indent> *)```python\n(?P<code>.*?)^ *```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]+\]\((?P<target>[^)\s]+)\)")


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def snippets(page: Path) -> list[str]:
    """The Python snippets of a page, each on the lines where it stands, so that errors point there."""
    text = page.read_text(encoding="utf-8")
    found = []
    for match in FENCE.finditer(text):
        indent = len(match["indent"])
        code = "".join(line[indent:] for line in match["code"].splitlines(keepends=True))
        found.append("\n" * text.count("\n", 0, match.start("code")) + code)
    return found


WITH_CODE = [page for page in PAGES if snippets(page)]


@pytest.mark.parametrize("page", WITH_CODE, ids=[name_of(page) for page in WITH_CODE])
def test_snippets_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One after the other in one namespace, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    namespace: dict = {"__name__": "__main__"}
    for code in snippets(page):
        exec(compile(code, str(page), "exec"), namespace)


@pytest.mark.parametrize("page", PAGES, ids=[name_of(page) for page in PAGES])
def test_links_lead_to_files(page: Path) -> None:
    for match in LINK.finditer(page.read_text(encoding="utf-8")):
        target = match["target"].partition("#")[0]
        if target and "://" not in target and not target.startswith("mailto:"):
            assert (page.parent / target).exists(), f"{name_of(page)} links to {target}"


def test_there_are_snippets_to_run() -> None:
    assert ROOT / "README.md" in WITH_CODE
    assert ROOT / "docs" / "conventions.md" in WITH_CODE
