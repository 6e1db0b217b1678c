"""A file system of a few pages, for disks that are full or cannot be written; only root may mount it."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest


def _run(*words: str) -> subprocess.CompletedProcess:
    return subprocess.run(words, capture_output=True, text=True)


@contextlib.contextmanager
def small_disk(folder: Path, size: str) -> Iterator[Path]:
    """A mounted folder with this much room; tests are skipped where nothing may be mounted."""
    folder.mkdir()
    try:
        mounted = _run("mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)).returncode == 0
    except FileNotFoundError:
        mounted = False
    if not mounted:
        pytest.skip("no file system can be mounted here")
    try:
        yield folder
    finally:
        _run("umount", str(folder))


def remount(folder: Path, options: str) -> None:
    """Change the options of a mounted folder."""
    done = _run("mount", "-o", f"remount,{options}", str(folder))
    assert done.returncode == 0, done.stderr
