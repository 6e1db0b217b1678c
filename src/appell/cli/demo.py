"""`appell demo`: torques, mass matrix, operation counts and a picture of the built-in PUMA."""

from __future__ import annotations

import argparse

from appell.cli.common import Command, print_result
from appell.errors import AppellError, ArgumentError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-o", "--output", default="appell_demo.png", help="file of the picture (default: %(default)s)")


def run(arguments: argparse.Namespace) -> None:
    import appell
    from appell_lab.demo import demo_tables, draw_motion

    robot = appell.load("puma560")
    tables = demo_tables(robot)
    try:
        draw_motion(robot, arguments.output)
        picture = f"Picture: {arguments.output}"
    except ArgumentError:
        raise
    except AppellError as error:  # matplotlib is not installed
        picture = f"No picture: {error}"
    head = f"PUMA 560 of Valera et al. 2003: {robot.nv} joints, {sum(body.mass for body in robot.bodies):.6g} kg"
    data = {"robot": robot.name, "tables": [table.as_dict() for table in tables], "picture": picture}
    print_result(arguments, "\n\n".join([head, *map(str, tables), picture]), data)


COMMAND = Command(
    "demo", "torques, mass matrix, operation counts and a picture of the built-in PUMA", add_arguments, run
)
