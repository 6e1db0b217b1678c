"""`appell bench`: speed of appell and of other libraries on one core."""

from __future__ import annotations

import argparse
from pathlib import Path

from appell.cli.common import Command, print_result


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("cases", nargs="*", help="cases to measure (default: all; see --list)")
    parser.add_argument("--list", action="store_true", help="list the cases")
    parser.add_argument("--quick", action="store_true", help="fewer rounds and smaller batches")
    parser.add_argument(
        "--robots", type=Path, default=Path("."), metavar="DIR",
        help="folder of ur5.urdf and panda.urdf; without them only built-in robots are measured",
    )  # fmt: skip
    parser.add_argument("--docs", type=Path, metavar="FILE", help="also write the tables as a Markdown page")


def run(arguments: argparse.Namespace) -> None:
    from appell.files import write_text
    from appell_lab.bench import CASES, bench
    from appell_lab.bench.contest import Settings

    if arguments.list:
        print_result(arguments, "\n".join(CASES), {"cases": list(CASES)})
        return
    fewer = {"rounds": 5, "sample": 0.005} if arguments.quick else {}
    settings = Settings(arguments.robots, quick=arguments.quick, **fewer)
    report = bench(settings, arguments.cases or CASES)
    if arguments.docs:
        write_text(arguments.docs, report.markdown())
    print_result(arguments, report, report.as_dict())


COMMAND = Command("bench", "measure speed and memory, compared with Pinocchio and MuJoCo", add_arguments, run)
