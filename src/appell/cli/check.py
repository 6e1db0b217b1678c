"""`appell check FILE`: all defects of a robot description."""

from __future__ import annotations

import argparse
from typing import Any

from appell.cli.common import FAILED, Command, print_result


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", help="URDF or MJCF file, or the name of a built-in robot")
    parser.add_argument("--fix", metavar="OUT.urdf", help="write the nearest consistent description")


def run(arguments: argparse.Namespace) -> int | None:
    """Print the report; the exit code is 1 if errors remain."""
    import appell

    report = appell.check(arguments.file)
    data: dict[str, Any] = {
        "source": report.source,
        "errors": len(report.errors),
        "warnings": len(report.warnings),
        "problems": [
            {
                "severity": problem.severity, "kind": problem.kind, "place": problem.place, "where": problem.where,
                "what": problem.what, "fix": problem.fix,
            }
            for problem in report
        ],
    }  # fmt: skip
    text = str(report)
    if arguments.fix:
        appell.check(arguments.file, fix=True).to_urdf(arguments.fix)
        data["fixed"] = arguments.fix
        text += f"\nwritten: {arguments.fix}"
    print_result(arguments, text, data)
    return FAILED if report.errors and not arguments.fix else None


COMMAND = Command("check", "list all defects of a robot description, or repair it", add_arguments, run)
