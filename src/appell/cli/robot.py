"""The robot of a command: any file or built-in name, with the options of `appell.load`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from appell.robot.robot import Robot

ROBOT_HELP = "URDF or MJCF file, or the name of a built-in robot (`appell info` lists them)"


def add_robot(parser: argparse.ArgumentParser, nargs: str | None = None) -> None:
    """The argument `robot` and the options `--base` and `--mimic`."""
    parser.add_argument("robot", help=ROBOT_HELP, nargs=nargs)
    parser.add_argument(
        "--base",
        choices=("fixed", "floating"),
        default="fixed",
        help="what holds the first link (default: %(default)s)",
    )
    parser.add_argument(
        "--mimic", choices=("couple", "ignore"), default="couple", help="what mimic joints do (default: %(default)s)"
    )


def load_robot(arguments: argparse.Namespace) -> Robot:
    """The robot that was asked for."""
    import appell

    return appell.load(arguments.robot, base=arguments.base, mimic=arguments.mimic)


def folder_of(arguments: argparse.Namespace) -> Path | None:
    """The folder of the robot's file, None for a built-in robot."""
    path = Path(arguments.robot)
    return path.parent if path.is_file() else None
