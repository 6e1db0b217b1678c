"""`appell check FILE`: all defects of a robot description."""

from __future__ import annotations

import argparse
from typing import Any

from appell.cli.common import FAILED, ROBOT_HELP, Command, add_xacro_arguments, print_result


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", help=ROBOT_HELP)
    parser.add_argument("--fix", metavar="OUT.urdf", help="write the nearest consistent description")
    density = (
        "with --fix: density of links without mass, which is then estimated from their shapes [kg/m³] (default: none)"
    )
    add_xacro_arguments(parser)
    parser.add_argument("--density", type=float, metavar="D", help=density)


def run(arguments: argparse.Namespace) -> int | None:
    """Print the report; the exit code is 1 if errors remain."""
    import appell

    macros = dict(arguments.xacro_arg) or None
    report = appell.check(arguments.file, xacro_args=macros)
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
    failure = None
    if arguments.fix:
        try:
            appell.check(arguments.file, fix=True, density=arguments.density, xacro_args=macros).to_urdf(arguments.fix)
            data["fixed"], text = arguments.fix, f"{text}\nwritten: {arguments.fix}"
        except appell.ModelError as error:  # after the report
            failure = error
    print_result(arguments, text, data)
    if failure is not None:
        raise failure
    return FAILED if report.errors and not arguments.fix else None


COMMAND = Command("check", "list all defects of a robot description, or repair it", add_arguments, run)
