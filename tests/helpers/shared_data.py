"""Reference values and robot descriptions beside the checkout."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

SHARED = Path(__file__).resolve().parents[3] / "shared"
"""Reference values and robot descriptions beside the repository; tests that need them skip where it is absent."""


def shared(name: str) -> Path:
    """A file of the shared data; skips the test where there is none."""
    path = SHARED / name
    if not path.exists():
        pytest.skip(f"shared/{name} is not beside this checkout")
    return path


def reference(name: str) -> Any:
    """Reference values made without this library."""
    return json.loads(shared(f"reference/{name}.json").read_text())
