"""Measure appell beside its peers: `python benchmarks/run.py [CASE ...] [--quick] [--json] [--docs]`.

The cases are in `appell_lab.bench.cases`, so that an installed package has them too (`appell bench`). This
script adds what a checkout has: robot descriptions beside the repository and the page `docs/benchmarks.md`.
"""

from __future__ import annotations

import sys
from pathlib import Path

from appell.cli import main

ROOT = Path(__file__).resolve().parents[1]


def command_line(given: list[str]) -> list[str]:
    """The arguments of `appell bench`; `--docs` needs no file name here."""
    robots = ROOT.parent / "shared" / "robots"
    line = ["bench"]
    if "--robots" not in given and robots.is_dir():
        line += ["--robots", str(robots)]
    for word in given:
        line += ["--docs", str(ROOT / "docs" / "benchmarks.md")] if word == "--docs" else [word]
    return line


if __name__ == "__main__":
    sys.exit(main(command_line(sys.argv[1:])))
