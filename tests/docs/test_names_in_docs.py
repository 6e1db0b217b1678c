"""Files and public names that the documentation mentions exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import appell

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(ROOT.glob("docs/**/*.md"))]
FOLDERS = ("benchmarks", "docs", "examples", "src", "tests", "tools")
FILES = [f"/{path.relative_to(ROOT).as_posix()}" for folder in FOLDERS for path in (ROOT / folder).rglob("*.*")]


@pytest.mark.parametrize("page", PAGES, ids=[page.relative_to(ROOT).as_posix() for page in PAGES])
def test_files_and_public_names_exist(page):
    text = page.read_text(encoding="utf-8")
    files = set(re.findall(r"`([\w./-]+/[\w.-]+\.(?:py|md|h))`", text))
    assert not {file for file in files if not any(path.endswith(f"/{file}") for path in FILES)}
    names = set(re.findall(r"\bappell\.([A-Za-z_]+)\b(?![\w.]*\.(?:com|org))", text)) - {"urdf", "h", "c"}
    packages = {path.stem for path in (ROOT / "src" / "appell").iterdir()}
    assert not names - packages - set(appell.__all__) - {"__version__"}
