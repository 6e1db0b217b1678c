"""Writing of files: a file appears as a whole or not at all."""

from __future__ import annotations

import os
import uuid
from collections.abc import Mapping
from pathlib import Path


def write_text(path: str | os.PathLike, text: str) -> None:
    """Write a file through a new one in the same folder, so that no reader sees half of it."""
    write_texts({Path(path): text})


def write_texts(texts: Mapping[Path, str]) -> None:
    """Write several files: none is replaced before all are written."""
    temporary = {path: path.with_name(f".{path.name}.{uuid.uuid4().hex}") for path in texts}
    try:
        for path, text in texts.items():
            with temporary[path].open("x", encoding="utf-8", newline="\n") as file:
                file.write(text)
        for path in texts:
            os.replace(temporary[path], path)
    finally:
        for path in temporary.values():
            path.unlink(missing_ok=True)
