"""`appell identify ROBOT DATA`: parameters of a robot from recorded motion."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from appell.cli.common import Command, add_renamed_options, load_robot, parse_number, print_result, write_files
from appell.errors import ArgumentError

if TYPE_CHECKING:
    from appell.identification.result import Identification, RelativeError, Validation
    from appell.robot.regressor_terms import RegressorTerm
    from appell.robot.robot import Robot


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    files = "CSV files with a column for the time and a position and force (or current) of every joint, or .npz with t, q, tau"
    add("data", nargs="+", help=files)
    add("--validate", nargs="+", default=[], metavar="FILE", help="other recordings, predicted and not fitted")
    add("--report", metavar="OUT.html", help="write a page with tables and figures")
    add("--urdf", metavar="OUT.urdf", help="write the identified robot (with --physical)")
    add("--physical", action="store_true", help="physically consistent links; starts from the description")
    terms = "regressor terms besides the link inertias (default: rotor,viscous,coulomb,offset and what cross-validation adds)"
    add("--terms", metavar="LIST", help=terms)
    add("--coupling", metavar="A,B", help="two joints whose velocities add up at one motor")
    constants = "one per joint, separated by commas: tau = constant * recorded [N m/A]"
    add("--torque-constants", metavar="LIST", help=constants)
    width = "velocity over which Coulomb friction is smoothed [rad/s, m/s] (default: by cross-validation, about 0.01)"
    add("--width", type=float, help=width)
    add("--cutoff", type=float, help="cut-off of the zero-phase filter [Hz] (default: by cross-validation)")
    add("--decimation", type=int, metavar="N", help="keep one sample in N (default: from the cutoff)")
    add("--solver", default="qr", help="qr, svd, pinv or ridge (default: %(default)s)")
    add("--weights", default="iterated", help="equal, residual, iterated or robust (default: %(default)s)")
    add("--holdout-every", type=int, default=5, metavar="N", help="predict one half second in N (default: %(default)s)")
    former = {"--columns": "--terms", "--gains": "--torque-constants", "--hold-out": "--holdout-every"}
    add_renamed_options(parser, former)


def run(arguments: argparse.Namespace) -> None:
    """Identify, validate, print the tables, write the files."""
    import warnings

    import appell
    from appell.errors import IdentificationWarning
    from appell.identification import Estimator, Filtering, Holdout
    from appell.identification.recording import read_recording

    robot, notes = _recorded_robot(arguments)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IdentificationWarning)  # findings are printed
        fit = appell.identify(
            robot,
            [read_recording(path, robot) for path in arguments.data],
            terms=_terms(arguments, robot),
            transmission=_transmission(arguments),
            filtering=Filtering(arguments.cutoff or "auto", arguments.decimation),
            estimator=Estimator(arguments.solver, arguments.weights),
            physical=arguments.physical,
            holdout=Holdout(arguments.holdout_every),
        )
    validations = {path: fit.validate(read_recording(path, robot)) for path in arguments.validate}
    written = write_files(arguments, report=lambda path: fit.report(path, validations), urdf=fit.to_urdf)
    tables = [f"{path}: {validation}" for path, validation in validations.items()]
    text = "\n\n".join([*tables, str(fit), *notes, *(f"written: {path}" for path in written)])
    print_result(arguments, text, _data(fit, validations, written))


def _recorded_robot(arguments: argparse.Namespace) -> tuple[Robot, list[str]]:
    """The robot; joints without columns in the first recording, such as fingers, are locked."""
    from appell.identification.recording import recorded_joints

    robot = _load_described(arguments)
    if robot.nq != robot.nv:
        return robot, []
    recorded = recorded_joints(arguments.data[0], robot)
    missing = [name for name in robot.joint_names if name not in recorded]
    if not recorded or not missing or len(missing) >= len(recorded):
        return robot, []
    return robot.lock(dict.fromkeys(missing, 0.0)), [f"Not in the recording and locked at 0: {', '.join(missing)}."]


def _terms(arguments: argparse.Namespace, robot: Robot) -> list[str | RegressorTerm] | None:
    """Terms by name, Coulomb friction with its width, and the coupling of two joints; None for the default ones."""
    from appell.checks import require_choice
    from appell.identification import Coulomb, Coupling
    from appell.identification.selection import COULOMB_WIDTH

    if arguments.terms is None and arguments.width is None and not arguments.coupling:
        return None
    width = COULOMB_WIDTH if arguments.width is None else arguments.width
    names = [name for name in (arguments.terms or "rotor,viscous,coulomb,offset").split(",") if name]
    terms: list[str | RegressorTerm] = [Coulomb(width) if name == "coulomb" else name for name in names]
    if arguments.coupling:
        pair = arguments.coupling.split(",")
        indices = [robot.qd_names.index(require_choice("joint", name, robot.qd_names)) for name in pair]
        if len(indices) != 2:
            raise ArgumentError(f"--coupling is {arguments.coupling!r}, expected two joints: A,B.")
        terms.append(Coupling(indices[0], indices[1], width))
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


def _data(fit: Identification, validations: dict[str, Validation], written: list[str]) -> dict[str, Any]:
    return {
        "robot": fit.nominal_robot.name,
        "relative_error": _errors(fit.relative_error),
        "raw_error": _errors(fit.raw_error),
        "cross_validation": _errors(fit.cross_validation),
        "validation": {
            path: {"raw": _errors(each.raw), "filtered": _errors(each.filtered)} for path, each in validations.items()
        },
        "condition_number": fit.condition_number,
        "condition": fit.condition_number,  # former name
        "cutoff": fit.cutoff,
        "lag": fit.lag,
        "base_parameters": {
            name: {"value": float(value), "standard_error": float(error)}
            for name, value, error in zip(fit.base.base_names, fit.base_parameters, fit.standard_errors, strict=True)
        },
        "consistent": [bool(ok) for ok in fit.consistent],
        "steps": list(fit.steps),
        "findings": [vars(finding) for finding in fit.findings],
        "written": written,
    }


def _errors(error: RelativeError) -> dict[str, float]:
    return {"total": error.total, **error.joints}


COMMAND = Command("identify", "identify a robot's parameters from recorded motion", add_arguments, run, robot=True)
