"""`appell identify ROBOT DATA`: parameters of a robot from recorded motion."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from appell.cli.common import OK, Command, add_json, add_robot, load_robot, print_result

if TYPE_CHECKING:
    from appell.identification.result import Identification
    from appell.robot.regressor_terms import RegressorTerm
    from appell.robot.robot import Robot


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_robot(parser)
    parser.add_argument(
        "data", help="CSV file with columns t, q_JOINT and tau_JOINT of every joint, or .npz with t, q, tau"
    )
    parser.add_argument("--report", metavar="OUT.html", help="write a page with tables and pictures")
    parser.add_argument(
        "--urdf", metavar="OUT.urdf", help="write the robot with the parameters found (with --physical)"
    )
    parser.add_argument("--physical", action="store_true", help="only links that can exist, from the description's on")
    parser.add_argument(
        "--columns", default="rotor,viscous,coulomb,offset", help="beside the links (default: %(default)s)"
    )
    parser.add_argument("--coupling", metavar="A,B", help="two joints whose speeds add up at one motor")
    parser.add_argument("--gains", help="of the drives, one for each joint, separated by commas: tau = gain * recorded")
    parser.add_argument(
        "--width", type=float, default=0.05, help="speed over which dry friction is smoothed [rad/s, m/s]"
    )
    parser.add_argument("--cutoff", type=float, help="of the zero-phase filter [Hz] (default: from the spectrum)")
    parser.add_argument("--decimation", type=int, help="keep every so-many-th sample")
    parser.add_argument("--solver", default="qr", help="qr, svd, pinv or ridge (default: %(default)s)")
    parser.add_argument("--weights", default="iterated", help="equal, residual or iterated (default: %(default)s)")
    parser.add_argument(
        "--hold-out", type=int, default=5, metavar="N", help="predict every N-th block of half a second"
    )
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Identify, print the tables, write what was asked for."""
    import appell
    from appell.identification.files import read_recording

    robot = _described(arguments)
    recording = read_recording(arguments.data, robot)
    found = appell.identify(
        robot, *recording,
        terms=_columns(arguments, robot), gains=_gains(arguments), cutoff=arguments.cutoff or "auto",
        decimation=arguments.decimation, solver=arguments.solver, weights=arguments.weights,
        physical=arguments.physical, hold_out=arguments.hold_out,
    )  # fmt: skip
    if arguments.report:
        found.report(arguments.report)
    if arguments.urdf:
        found.to_urdf(arguments.urdf)
    written = [path for path in (arguments.report, arguments.urdf) if path]
    print_result(arguments, "\n\n".join([str(found), *(f"written: {path}" for path in written)]), _data(found, written))
    return OK


def _columns(arguments: argparse.Namespace, robot: Robot) -> list[str | RegressorTerm]:
    """Blocks by name, dry friction with its width, and the coupling of two joints."""
    from appell.errors import ArgumentError, unknown_name_message
    from appell.robot.regressor_terms import Coulomb, Coupling

    names = [name for name in arguments.columns.split(",") if name]
    columns: list[str | RegressorTerm] = [Coulomb(arguments.width) if name == "coulomb" else name for name in names]
    if arguments.coupling:
        speeds = robot.qd_names
        pair = arguments.coupling.split(",")
        for name in pair:
            if name not in speeds:
                raise ArgumentError(unknown_name_message("joint", name, speeds))
        if len(pair) != 2:
            raise ArgumentError(f"--coupling is {arguments.coupling!r}, expected two joints: A,B.")
        columns.append(Coupling(speeds.index(pair[0]), speeds.index(pair[1]), arguments.width))
    return columns


def _gains(arguments: argparse.Namespace) -> list[float] | None:
    from appell.errors import ArgumentError

    try:
        return [float(x) for x in arguments.gains.split(",")] if arguments.gains else None
    except ValueError:
        raise ArgumentError(f"--gains is {arguments.gains!r}, expected numbers separated by commas.") from None


def _described(arguments: argparse.Namespace) -> Robot:
    """The robot; a description whose masses make no sense is repaired, since they are what is looked for."""
    import appell

    try:
        return load_robot(arguments)
    except appell.ModelError:
        if arguments.base != "fixed":
            raise
        return appell.check(arguments.robot, fix=True)


def _data(found: Identification, written: list[str]) -> dict[str, Any]:
    return {
        "robot": found.source.name,
        "relative_error": {"total": found.relative_error.total, **found.relative_error.joints},
        "condition": found.condition,
        "base_parameters": {
            name: {"value": float(value), "standard_error": float(error)}
            for name, value, error in zip(
                found.base.base_names, found.base_parameters, found.standard_errors, strict=True
            )
        },
        "consistent": [bool(ok) for ok in found.consistent],
        "written": written,
    }


COMMAND = Command("identify", "find a robot's parameters from recorded motion", add_arguments, run)
