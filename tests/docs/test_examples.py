"""Every example runs, is short, says what it shows, and stands in the list of examples."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
FILES = sorted(EXAMPLES.glob("*.py"))
LONGEST = 60


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_example_runs(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.setattr(sys, "argv", [str(file)])
    runpy.run_path(str(file), run_name="__main__")
    assert capsys.readouterr().out, "an example shows something"


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_example_is_short_and_explained(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    assert len(text.splitlines()) < LONGEST
    assert text.startswith('"""'), "the first line says what it shows"
    assert f"({file.name})" in (EXAMPLES / "README.md").read_text(encoding="utf-8"), "not in examples/README.md"
