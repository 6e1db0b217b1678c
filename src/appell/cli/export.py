"""`appell export ROBOT`: functions of a robot as C source for a controller, or as CUDA functions."""

from __future__ import annotations

import argparse

from appell.cli.common import (
    OK,
    Command,
    add_dtype,
    add_functions,
    add_json,
    add_robot,
    function_names,
    load_robot,
    print_result,
)

FUNCTIONS = "inverse_dynamics,forward_dynamics,mass_matrix,gravity"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_robot(parser)
    add_functions(parser, FUNCTIONS)
    parser.add_argument("--out", default=".", metavar="DIR", help="folder of the files (default: the current one)")
    parser.add_argument("--language", default="c", help="c or cuda (default: %(default)s)")
    add_dtype(parser)
    parser.add_argument("--prefix", help="of all names and files (default: the robot's name)")
    parser.add_argument("--force", action="store_true", help="replace files that were not generated")
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    import appell

    robot = load_robot(arguments)
    files = appell.export(
        robot,
        function_names(arguments),
        arguments.out,
        language=arguments.language,
        dtype=arguments.dtype,
        prefix=arguments.prefix,
        force=arguments.force,
    )
    names = [str(file) for file in files]
    print_result(arguments, "\n".join(f"written: {name}" for name in names), {"robot": robot.name, "files": names})
    return OK


COMMAND = Command("export", "write functions of a robot as C source for a controller", add_arguments, run)
