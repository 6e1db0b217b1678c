"""`appell identify ROBOT DATA`: parameters of a robot from recorded motion."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from appell.cli.common import (
    Command,
    add_renamed_options,
    load_robot,
    parse_number,
    print_result,
    require_folders,
    write_files,
)
from appell.errors import ArgumentError

if TYPE_CHECKING:
    from appell.identification import DriveGains, PayloadEstimate, Recording, Transmission
    from appell.identification.result import Identification
    from appell.identification.validation import RelativeError, Validation
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
    constants = "one per joint, separated by commas, ? where it is to be identified: tau = constant * recorded [N m/A]"
    add("--torque-constants", metavar="LIST", help=constants)
    add("--payload", metavar="FILE", help="a recording with a payload at the last body, which is identified")
    load = "mass and centre of mass of the payload in the frame of the last body, if known, to identify torque constants [kg, m]"
    add("--known-payload", metavar="M,X,Y,Z", help=load)
    width = "velocity over which Coulomb friction is smoothed [rad/s, m/s] (default: by cross-validation, about 0.01)"
    add("--width", type=float, help=width)
    add("--cutoff", type=float, help="cut-off of the zero-phase filter [Hz] (default: by cross-validation)")
    add("--decimation", type=int, metavar="N", help="keep one sample in N (default: from the cutoff)")
    add("--solver", default="qr", help="qr, svd, pinv or ridge (default: %(default)s)")
    add("--weights", default="iterated", help="equal, residual, iterated or robust (default: %(default)s)")
    instruments = "instrumental variables, against bias from noisy positions: interleaved"
    add("--instruments", metavar="KIND", help=instruments)
    add("--essential", action="store_true", help="set parameters to zero that the data do not tell from it")
    add(
        "--polish",
        action="store_true",
        help="improve the parameters until simulated positions follow the recorded ones",
    )
    add("--holdout-every", type=int, default=5, metavar="N", help="predict one half second in N (default: %(default)s)")
    former = {"--columns": "--terms", "--gains": "--torque-constants", "--hold-out": "--holdout-every"}
    add_renamed_options(parser, former)


def run(arguments: argparse.Namespace) -> None:
    """Identify, validate, print the tables, write the files."""
    import warnings

    import appell
    from appell.errors import IdentificationWarning
    from appell.identification import Estimator, Filtering, Holdout, identify_payload, polish
    from appell.identification.recording import read_recording

    require_folders(arguments, "report", "urdf")
    robot, notes = _recorded_robot(arguments)
    recordings = [read_recording(path, robot) for path in arguments.data]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IdentificationWarning)  # findings are printed
        transmission, gains = _transmission(arguments, robot, recordings)
        options: dict[str, Any] = {
            "terms": _terms(arguments, robot),
            "transmission": transmission,
            "filtering": Filtering(arguments.cutoff or "auto", arguments.decimation),
            "estimator": Estimator(
                arguments.solver, arguments.weights, instruments=arguments.instruments, essential=arguments.essential
            ),
            "physical": arguments.physical,
            "holdout": Holdout(arguments.holdout_every),
        }
        if arguments.payload and not arguments.known_payload:
            load = identify_payload(robot, recordings, read_recording(arguments.payload, robot), **options)
            fit, payload = load.fit, [load]
        else:
            fit, payload = appell.identify(robot, recordings, **options), []
        fit = polish(fit, recordings) if arguments.polish else fit
    validations = {path: fit.validate(read_recording(path, robot)) for path in arguments.validate}
    written = write_files(arguments, report=lambda path: fit.report(path, validations), urdf=fit.to_urdf)
    tables = [f"{path}: {validation}" for path, validation in validations.items()]
    tables += [str(each) for each in (*gains, *payload)]
    text = "\n\n".join([*tables, str(fit), *notes, *(f"written: {path}" for path in written)])
    print_result(arguments, text, _data(fit, validations, written, payload))


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
    from appell.identification.term_selection import COULOMB_WIDTH

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


def _transmission(
    arguments: argparse.Namespace, robot: Robot, recordings: Sequence[Recording]
) -> tuple[Transmission | None, list[DriveGains]]:
    """The given torque constants; those marked by ?, or all for currents with a known payload, are identified."""
    from appell.identification import Transmission, identify_gains
    from appell.identification.recording import read_recording

    texts = arguments.torque_constants.split(",") if arguments.torque_constants else []
    given = [float("nan") if text.strip() == "?" else parse_number(text, "--torque-constants") for text in texts]
    if all(number == number for number in given) and not arguments.known_payload:
        return Transmission(torque_constants=given) if given else None, []
    loaded, payload = None, None
    if arguments.known_payload:
        mass, *com = (parse_number(text, "--known-payload") for text in arguments.known_payload.split(","))
        if not arguments.payload:
            raise ArgumentError("--known-payload needs a recording with the payload: --payload FILE.")
        loaded = read_recording(arguments.payload, robot)
        payload = robot.with_payload(mass, com or (0.0, 0.0, 0.0), at=robot.tree.links[-1].body)
    gains = identify_gains(robot, recordings, given or None, loaded, payload)
    return gains.transmission, [gains]


def _load_described(arguments: argparse.Namespace) -> Robot:
    """The robot; inconsistent masses of the description are repaired, since the fit replaces them."""
    import appell

    try:
        return load_robot(arguments)
    except appell.ModelError:
        if arguments.base != "fixed":
            raise
        return appell.check(arguments.robot, fix=True)


def _data(
    fit: Identification, validations: dict[str, Validation], written: list[str], payload: Sequence[PayloadEstimate]
) -> dict[str, Any]:
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
        "torque_constants": None if fit.transmission is None else _numbers(fit.transmission.torque_constants),
        "payload": [
            {"parameters": _numbers(x.parameters), "standard_errors": _numbers(x.standard_errors)} for x in payload
        ],
        "written": written,
    }


def _numbers(values: Any) -> Any:
    import numpy as np

    return None if values is None else np.asarray(values).tolist()


def _errors(error: RelativeError) -> dict[str, float]:
    return {"total": error.total, **error.joints}


COMMAND = Command("identify", "identify a robot's parameters from recorded motion", add_arguments, run, robot=True)
