"""Shared by all commands: exit codes, options that several commands have, former options, printed results."""

from __future__ import annotations

import argparse
import contextlib
import errno
import json
import math
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from appell.errors import ArgumentError

if TYPE_CHECKING:
    import numpy as np

    from appell.robot.robot import Robot

OK, FAILED, USAGE = 0, 1, 2
"""Exit codes: success, failure or errors found, wrong command line."""
ROBOT_HELP = "URDF, xacro, SDF or MJCF file, or the name of a robot (`appell info` lists those that are built in)"
NEGATIVE_NUMBERS = re.compile(r"-\.?\d[\d.eE+,-]*$")
"""Arguments that begin with a minus sign and are no options: numbers, also separated by commas."""
LAWS = ("pd", "pd_gravity", "point_to_point", "computed_torque", "integral_tracking")
"""Control laws with gains."""


@dataclass(frozen=True)
class Command:
    """One command of `appell`.

    Attributes:
        help: one line for the list of commands.
        add_arguments: declares its arguments.
        run: does the work and returns the exit code, None for success. Heavy imports belong inside it, so that
            `appell --help` is fast.
        robot, json: whether it has the options of `add_robot` (before its own), and of `add_json`.
        actions: its own commands, instead of arguments and `run`.
    """

    name: str
    help: str
    add_arguments: Callable[[argparse.ArgumentParser], None] | None = None
    run: Callable[[argparse.Namespace], int | None] | None = None
    robot: bool = False
    json: bool = True
    actions: tuple[Command, ...] = ()


def add_commands(parser: argparse.ArgumentParser, title: str, commands: Sequence[Command]) -> None:
    """A parser for each command; the parsed arguments have the function of the chosen one as `run`."""
    parsers = parser.add_subparsers(title=title, metavar=title.upper().removesuffix("S"), required=True)
    for command in commands:
        own = parsers.add_parser(command.name, help=command.help, description=command.help)
        own._negative_number_matcher = NEGATIVE_NUMBERS
        if command.actions:
            add_commands(own, "actions", command.actions)
        if command.robot:
            add_robot(own)
        if command.add_arguments:
            command.add_arguments(own)
            own.set_defaults(run=command.run)
            if command.json:
                add_json(own)


# --- options --------------------------------------------------------------------------------------------------------------


def add_robot(parser: argparse.ArgumentParser, nargs: str | None = None) -> None:
    """The argument `robot` and the options `--base`, `--floating`, `--mimic` and `--xacro-arg`, as of `appell.load`."""
    add = parser.add_argument
    add("robot", nargs=nargs, help=ROBOT_HELP)
    add("--base", choices=("fixed", "floating"), default="fixed", help="base joint: fixed or floating (default: fixed)")
    add("--floating", action="store_const", const="floating", dest="base", help="the same as --base floating")
    add_xacro_arguments(parser)
    mimic = "mimic joints: coupled to their leaders, or independent (default: couple)"
    add("--mimic", choices=("couple", "ignore"), default="couple", help=mimic)


def add_xacro_arguments(parser: argparse.ArgumentParser) -> None:
    """The option `--xacro-arg`, a list of pairs."""
    text = "argument of a xacro file; may be repeated"
    parser.add_argument("--xacro-arg", action="append", default=[], type=assignment, metavar="NAME=VALUE", help=text)


def load_robot(arguments: argparse.Namespace) -> Robot:
    """The robot of `add_robot`."""
    import appell

    macros = dict(arguments.xacro_arg) or None
    return appell.load(arguments.robot, base=arguments.base, mimic=arguments.mimic, xacro_args=macros)


def assignment(text: str) -> tuple[str, str]:
    """`NAME=VALUE` as a pair."""
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise argparse.ArgumentTypeError(f"{text!r}, expected NAME=VALUE")
    return name, value


def robot_folder(arguments: argparse.Namespace) -> Path | None:
    """The folder of the robot's file, None for a built-in robot."""
    path = Path(arguments.robot)
    return path.parent if path.is_file() else None


def add_functions(parser: argparse.ArgumentParser, default: str) -> None:
    """The option `--functions`, read by `function_names`."""
    parser.add_argument(
        "--functions", default=default, metavar="LIST",
        help="separated by commas; pose:FRAME and jacobian:FRAME for a frame, FUNCTION@METHOD for a method "
        "(default: %(default)s)",
    )  # fmt: skip


def function_names(arguments: argparse.Namespace) -> list[str]:
    """The names in `--functions`."""
    return [name.strip() for name in arguments.functions.split(",") if name.strip()]


def add_dtype(parser: argparse.ArgumentParser) -> None:
    """The option `--dtype`."""
    types = ("float64", "float32")
    parser.add_argument("--dtype", choices=types, default="float64", help="number type (default: %(default)s)")
    add_renamed_options(parser, {"--float": "--dtype float32"})


def add_store(parser: argparse.ArgumentParser, what: str) -> None:
    """The options `--store`, `--scheduler`, `--chunk` and `--threads` of long studies."""
    add = parser.add_argument
    add("--store", metavar="FOLDER", help="Zarr store for the results; the same command goes on where it was ended")
    add(
        "--scheduler",
        metavar="ADDRESS",
        help="Dask scheduler whose workers do the work (default: threads of this process)",
    )
    add("--chunk", type=int, metavar="N", help=f"{what} per task (default: by size)")
    add("--threads", type=int, metavar="N", help="number of threads without a scheduler (default: all cores)")


@contextlib.contextmanager
def dask_client(arguments: argparse.Namespace) -> Iterator[Any]:
    """The client of `--scheduler`, with a link to its dashboard on stderr; None without one."""
    if not arguments.scheduler:
        yield None
        return
    import logging

    from appell.sweeps.executors import connected

    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # a lost scheduler is an error of the command
    with connected(arguments.scheduler) as client:
        print(f"appell: Dask's dashboard: {client.dashboard_link}", file=sys.stderr)
        if not client.nthreads():
            print(f"appell: waiting for workers: dask worker {arguments.scheduler}", file=sys.stderr)
        yield client


@contextlib.contextmanager
def show_share(count: int, what: str) -> Iterator[Callable[[float], None]]:
    """A function of the completed share that shows it with rate and remaining time on a terminal."""
    import time

    from appell.progress import finish, show

    begin, first = time.perf_counter(), []

    def progress(share: float) -> None:
        seconds = time.perf_counter() - begin
        first[:] = first or [(share, seconds)]
        gained, taken = share - first[0][0], seconds - first[0][1]
        rate = f", {gained * count / taken:.3g}/s, {(1.0 - share) * taken / gained:.0f} s left" if gained > 0 else ""
        show(share, f"{share * count:.4g} of {count:.4g} {what}{rate}", seconds)

    try:
        yield progress
    finally:
        finish()


def add_json(parser: argparse.ArgumentParser) -> None:
    """The option `--json`, read by `print_result`."""
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")


def print_result(arguments: argparse.Namespace, text: object, data: dict[str, Any]) -> None:
    """Print the result as text, or as JSON with `--json`."""
    print(json.dumps(data, indent=2) if arguments.json else text)


def require_folders(arguments: argparse.Namespace, *options: str) -> None:
    """Raise, before a long run, where a file of these options could not be written: its folder does not exist."""
    for path in filter(None, (getattr(arguments, option) for option in options)):
        if not os.path.isdir(os.path.dirname(path) or "."):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)


def write_files(arguments: argparse.Namespace, **writers: Callable[[str], Any]) -> list[str]:
    """Write the files of the options that are given, each by its function; returns their names."""
    files = {option: path for option in writers if (path := getattr(arguments, option))}
    for option, path in files.items():
        writers[option](path)
    return list(files.values())


# --- former options -------------------------------------------------------------------------------------------------------


class _FormerOption(argparse.Action):
    """A hidden option that warns and acts as another one."""

    def __init__(self, option_strings: Sequence[str], dest: str, *, renamed: argparse.Action, value: Any) -> None:
        self.renamed, self.value = renamed, value
        super().__init__(
            option_strings, dest, nargs=renamed.nargs if value is None else 0, type=renamed.type,  # type: ignore[arg-type]
            choices=renamed.choices,
            default=argparse.SUPPRESS, help=argparse.SUPPRESS,
        )  # fmt: skip

    def __call__(self, parser, namespace, values, option_string=None) -> None:
        new = self.renamed.option_strings[0] + ("" if self.value is None else f" {self.value}")
        warning = f"{option_string} is now {new}; the former option goes with the next release."
        print(f"appell: warning: {warning}", file=sys.stderr)
        self.renamed(parser, namespace, values if self.value is None else self.value, option_string)


def add_renamed_options(parser: argparse._ActionsContainer, new_names: Mapping[str, str]) -> None:
    """Accept former options, without showing them in help texts, each with one line of warning on stderr.

    Args:
        parser: a parser, or a group of it, to which the present options have been added before.
        new_names: the present option of each former one; with a value where the former one was a flag for that.
    """
    for old, new in new_names.items():
        option, _, value = new.partition(" ")
        action = parser._option_string_actions[option]
        parser.add_argument(old, dest=action.dest, action=_FormerOption, renamed=action, value=value or None)


# --- values ---------------------------------------------------------------------------------------------------------------


def parse_vector(texts: Sequence[str], names: Sequence[str], default: np.ndarray, option: str) -> np.ndarray:
    """One number per name: all of them in order, or NAME=NUMBER for some, the others as in `default`.

    Example:
        >>> import numpy as np
        >>> parse_vector(["elbow=0.5"], ("shoulder", "elbow"), np.zeros(2), "--q0").tolist()
        [0.0, 0.5]
        >>> parse_vector(["0.1,0.2"], ("shoulder", "elbow"), np.zeros(2), "--q0").tolist()
        [0.1, 0.2]
    """
    from appell.names import as_vector

    if any("=" in text for text in texts):
        return as_vector(option, parse_named(texts, option), names, default)
    items = [item for text in texts for item in text.replace(",", " ").split()]
    result = default.astype(float).copy()
    if len(items) != len(names):
        raise ArgumentError(
            f"{option} has {len(items)} numbers, expected {len(names)}: {' '.join(names)}. "
            f"Or give some by name, as in {option} {names[0] if names else 'joint'}=0.5."
        )
    result[:] = [parse_number(item, option) for item in items]
    return result


def add_effort_limit(parser: argparse._ActionsContainer) -> None:
    """The option `--effort-limit`, read by `parse_effort_limit`."""
    parser.add_argument(
        "--effort-limit", nargs="+", metavar="F",
        help="largest forces [N m, N]: one for all joints, one each, NAME=NUMBER for some of them, or `robot` for those of the "
        "description (default: none)",
    )  # fmt: skip


def parse_effort_limit(texts: Sequence[str] | None) -> Any:
    """The argument `effort_limit` of a controller or of `appell.simulate`; None without the option.

    Example:
        >>> parse_effort_limit(["elbow=5", "wrist=2"]), parse_effort_limit(["20"]), parse_effort_limit(["3,4"])
        ({'elbow': 5.0, 'wrist': 2.0}, 20.0, [3.0, 4.0])
    """
    if texts is None or list(texts) == ["robot"]:
        return texts and "robot"
    if any("=" in text for text in texts):
        return parse_named(texts, "--effort-limit")
    numbers = [parse_number(item, "--effort-limit") for text in texts for item in text.replace(",", " ").split()]
    return numbers[0] if len(numbers) == 1 else numbers


def parse_named(texts: Sequence[str], option: str) -> dict[str, float]:
    """Numbers by name, from NAME=NUMBER."""
    values = {}
    for item in (item for text in texts for item in text.replace(",", " ").split()):
        name, equals, value = item.partition("=")
        if not equals:
            raise ArgumentError(f"{option} mixes numbers and NAME=NUMBER: {item!r}. Write all of them one way.")
        values[name] = parse_number(value, option)
    return values


def parse_number(text: str, option: str) -> float:
    """A finite number."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ArgumentError(f"{option}: {text!r} is not a number.")
    return value
