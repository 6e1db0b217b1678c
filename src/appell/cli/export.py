"""`appell export ROBOT`: functions of a robot as C source for a controller, or as CUDA functions."""

from __future__ import annotations

import argparse

from appell.cli.command import OK, Command, add_json, answer
from appell.cli.robot import add_robot, load_robot

FUNCTIONS = "inverse_dynamics,forward_dynamics,mass_matrix,gravity"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_robot(parser)
    parser.add_argument(
        "--functions", default=FUNCTIONS, metavar="LIST",
        help="separated by commas; pose:FRAME and jacobian:FRAME for a frame, FUNCTION@METHOD for a method "
        "(default: %(default)s)",
    )  # fmt: skip
    parser.add_argument("--out", default=".", metavar="DIR", help="folder of the files (default: the current one)")
    parser.add_argument("--language", default="c", help="c or cuda (default: %(default)s)")
    parser.add_argument("--float", action="store_true", help="single precision instead of double")
    parser.add_argument("--prefix", help="of all names and files (default: the robot's name)")
    parser.add_argument("--force", action="store_true", help="replace files that were not generated")
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    import appell

    robot = load_robot(arguments)
    files = appell.export(
        robot,
        [name.strip() for name in arguments.functions.split(",") if name.strip()],
        arguments.out,
        language=arguments.language,
        dtype="float32" if arguments.float else "float64",
        prefix=arguments.prefix,
        force=arguments.force,
    )
    names = [str(file) for file in files]
    answer(arguments, "\n".join(f"written: {name}" for name in names), {"robot": robot.name, "files": names})
    return OK


COMMAND = Command("export", "write functions of a robot as C source for a controller", add_arguments, run)
