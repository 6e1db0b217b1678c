"""`appell identify ROBOT DATA`: parameters of a robot from recorded motion."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from appell.cli.common import Command, add_renamed_options, load_robot, parse_number, print_result, write_files
from appell.errors import ArgumentError

if TYPE_CHECKING:
    from appell.identification.result import Identification
    from appell.robot.regressor_terms import RegressorTerm
    from appell.robot.robot import Robot


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "data",
        help="CSV file with columns t, q.JOINT and tau.JOINT of every joint, an export of ROS, or .npz with t, q, tau",
    )
    add("--report", metavar="OUT.html", help="write a page with tables and figures")
    add("--urdf", metavar="OUT.urdf", help="write the identified robot (with --physical)")
    add("--physical", action="store_true", help="physically consistent links; starts from the description")
    terms = "regressor terms besides the link inertias (default: %(default)s)"
    add("--terms", default="rotor,viscous,coulomb,offset", metavar="LIST", help=terms)
    add("--coupling", metavar="A,B", help="two joints whose velocities add up at one motor")
    constants = "one per joint, separated by commas: tau = constant * recorded [N m/A]"
    add("--torque-constants", metavar="LIST", help=constants)
    add("--width", type=float, default=0.05, help="velocity over which Coulomb friction is smoothed [rad/s, m/s]")
    add("--cutoff", type=float, help="cut-off of the zero-phase filter [Hz] (default: from the spectrum)")
    add("--decimation", type=int, metavar="N", help="keep one sample in N")
    add("--solver", default="qr", help="qr, svd, pinv or ridge (default: %(default)s)")
    add("--weights", default="iterated", help="equal, residual, iterated or robust (default: %(default)s)")
    add("--holdout-every", type=int, default=5, metavar="N", help="predict one half second in N (default: %(default)s)")
    former = {"--columns": "--terms", "--gains": "--torque-constants", "--hold-out": "--holdout-every"}
    add_renamed_options(parser, former)


def run(arguments: argparse.Namespace) -> None:
    """Identify, print the tables, write the files."""
    import appell
    from appell.identification import Estimator, Filtering, Holdout
    from appell.identification.recording import read_recording

    robot = _load_described(arguments)
    fit = appell.identify(
        robot,
        *read_recording(arguments.data, robot),
        terms=_terms(arguments, robot),
        transmission=_transmission(arguments),
        filtering=Filtering(arguments.cutoff or "auto", arguments.decimation),
        estimator=Estimator(arguments.solver, arguments.weights),
        physical=arguments.physical,
        holdout=Holdout(arguments.holdout_every),
    )
    written = write_files(arguments, report=fit.report, urdf=fit.to_urdf)
    print_result(arguments, "\n\n".join([str(fit), *(f"written: {path}" for path in written)]), _data(fit, written))


def _terms(arguments: argparse.Namespace, robot: Robot) -> list[str | RegressorTerm]:
    """Terms by name, Coulomb friction with its width, and the coupling of two joints."""
    from appell.checks import require_choice
    from appell.identification import Coulomb, Coupling

    names = [name for name in arguments.terms.split(",") if name]
    terms: list[str | RegressorTerm] = [Coulomb(arguments.width) if name == "coulomb" else name for name in names]
    if arguments.coupling:
        pair = arguments.coupling.split(",")
        indices = [robot.qd_names.index(require_choice("joint", name, robot.qd_names)) for name in pair]
        if len(indices) != 2:
            raise ArgumentError(f"--coupling is {arguments.coupling!r}, expected two joints: A,B.")
        terms.append(Coupling(indices[0], indices[1], arguments.width))
    return terms


def _transmission(arguments: argparse.Namespace) -> Any:
    from appell.identification import Transmission

    texts = arguments.torque_constants.split(",") if arguments.torque_constants else []
    constants = [parse_number(text, "--torque-constants") for text in texts]
    return Transmission(torque_constants=constants) if constants else None


def _load_described(arguments: argparse.Namespace) -> Robot:
    """The robot; inconsistent masses of the description are repaired, since the fit replaces them."""
    import appell

    try:
        return load_robot(arguments)
    except appell.ModelError:
        if arguments.base != "fixed":
            raise
        return appell.check(arguments.robot, fix=True)


def _data(fit: Identification, written: list[str]) -> dict[str, Any]:
    return {
        "robot": fit.nominal_robot.name,
        "relative_error": {"total": fit.relative_error.total, **fit.relative_error.joints},
        "condition_number": fit.condition_number,
        "condition": fit.condition_number,  # former name
        "base_parameters": {
            name: {"value": float(value), "standard_error": float(error)}
            for name, value, error in zip(fit.base.base_names, fit.base_parameters, fit.standard_errors, strict=True)
        },
        "consistent": [bool(ok) for ok in fit.consistent],
        "written": written,
    }


COMMAND = Command("identify", "identify a robot's parameters from recorded motion", add_arguments, run, robot=True)
