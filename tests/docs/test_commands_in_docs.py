"""Every `appell ...` line in the README and the documentation is a command line that the program understands."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from appell.cli import parser

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^```sh\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)


def command_lines() -> list[tuple[str, str]]:
    found = []
    for page in PAGES:
        for match in FENCE.finditer(page.read_text(encoding="utf-8")):
            lines = match["code"].replace("\\\n", " ").splitlines()
            found += [(page.relative_to(ROOT).as_posix(), line.strip()) for line in lines]
    return [(page, line) for page, line in found if re.match(r"(\.venv/bin/)?appell ", line)]


LINES = command_lines()


@pytest.mark.parametrize(("page", "line"), LINES, ids=[line for _, line in LINES])
def test_command_is_understood(page: str, line: str) -> None:
    words = shlex.split(line.split("|")[0], comments=True)
    parser().parse_args(words[1:])


def test_there_are_commands() -> None:
    assert len(LINES) > 8
