"""The picture of the packages shows today's imports."""

from __future__ import annotations

import runpy
from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / "docs"


def test_picture_of_the_layers_is_up_to_date():
    drawn = runpy.run_path(str(DOCS / "make_layers.py"))["svg"]()
    kept = (DOCS / "pictures" / "layers.svg").read_text(encoding="utf-8")
    assert kept == drawn, "run: python docs/make_layers.py"
