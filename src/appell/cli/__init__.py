"""The command `appell`. Every command is a module with a `COMMAND`, listed in MODULES."""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Sequence

from appell.cli import (
    bench,
    check,
    completion,
    control,
    demo,
    export,
    identify,
    info,
    linearize,
    montecarlo,
    reproduce,
    simulate,
    sweep,
    view,
)
from appell.cli.common import FAILED, OK, add_commands
from appell.errors import AppellError
from appell.version import __version__

MODULES = (
    demo, info, check, simulate, view, control, identify, linearize, export, sweep, montecarlo, bench, reproduce, completion,
)  # fmt: skip
COMMANDS = tuple(module.COMMAND for module in MODULES)
TRACEBACK = "APPELL_TRACEBACK"
"""Environment variable for tracebacks of unexpected errors."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line; errors are printed as one line on stderr.

    Returns:
        0 for success, 1 if the command failed or found errors, 2 for a wrong command line.

    Example:
        >>> main(["check", "planar2r"])
        planar2r: no defects found
        0
    """
    _replace_unencodable_characters()
    try:
        arguments = parser().parse_args(argv)
    except SystemExit as stop:  # argparse has printed the reason
        return int(stop.code or 0)
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning
        return _run(arguments)


def parser() -> argparse.ArgumentParser:
    """All commands and their arguments."""
    top = argparse.ArgumentParser("appell", description="Robot dynamics by the Gibbs-Appell equations.")
    top.add_argument("--version", action="version", version=f"appell {__version__}")
    top.set_defaults(parser=top)
    add_commands(top, "commands", COMMANDS)
    return top


def _run(arguments: argparse.Namespace) -> int:
    try:
        return arguments.run(arguments) or OK
    except BrokenPipeError:  # as in `appell info panda.urdf | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except AppellError as error:
        return _fail(_one_line(error))
    except OSError as error:
        return _fail(f"{error.filename or 'file'}: {error.strerror or error}.{_missing_folder(error)}")
    except KeyboardInterrupt:
        return _fail("interrupted.")
    except Exception as error:  # a defect of this library, or of how it was installed
        if os.environ.get(TRACEBACK):
            raise
        if isinstance(error, ModuleNotFoundError) and not (error.name or "appell").startswith("appell"):
            return _fail(f"the package {error.name!r} is missing. Install appell again, with all that it needs.")
        return _fail(
            f"{type(error).__name__}: {_one_line(error)} This is a defect of appell; {TRACEBACK}=1 prints the traceback."
        )


def _fail(message: str) -> int:
    print(f"appell: error: {message}", file=sys.stderr)
    return FAILED


def _missing_folder(error: OSError) -> str:
    """A remedy if the folder of a file does not exist: folders are not created for single files."""
    folder = os.path.dirname(str(error.filename or ""))
    missing = isinstance(error, FileNotFoundError) and folder and not os.path.isdir(folder)
    return f" There is no folder {folder}: create it first." if missing else ""


def _one_line(error: Exception) -> str:
    """The message in one line; of several defects, the first."""
    problems = getattr(error, "problems", ())
    errors = [problem for problem in problems if problem.severity == "error"]
    if len(errors) > 1:
        return f"{errors[0]} ({len(errors) - 1} more: `appell check` lists all defects.)"
    return " ".join(str(error).split())


def _show_warning(message, category, filename, lineno, file=None, line=None) -> None:
    first, *others = str(message).splitlines()
    hint = " `appell check` lists them." if others else ""
    print(f"appell: warning: {first.rstrip(':')}{'.' if others else ''}{hint}", file=sys.stderr)


def _replace_unencodable_characters() -> None:
    """Print a replacement character where the encoding of the terminal lacks one, such as ² or ·."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # type: ignore[union-attr]
