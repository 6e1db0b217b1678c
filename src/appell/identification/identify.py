"""`appell.identify`: parameters of a robot from recorded motion, with their uncertainty."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from appell.checks import require_finite, require_real_array
from appell.deprecation import grouped_arguments, renamed_arguments
from appell.errors import ArgumentError, IdentificationError, IdentificationWarning, warn_at_caller
from appell.identification import sanity
from appell.identification.base import base_parameters, base_regressor, nominal_parameters
from appell.identification.blas import one_blas_thread
from appell.identification.cleaning import Segment, clean_recording
from appell.identification.essential import essential_parameters
from appell.identification.findings import Finding
from appell.identification.fit import (
    MAX_UNEXCITED,
    Fit,
    QRFactors,
    correlation_times,
    fit_observations,
    require_excitation,
)
from appell.identification.instruments import instrument_fit, instrument_pairs
from appell.identification.lag import Lag, without_lag
from appell.identification.observations import Observations, ProgressCallback
from appell.identification.options import Estimator, Filtering, Holdout, Transmission, at_joints
from appell.identification.physical import nearest_parameters, physical_fit, prior_parameters
from appell.identification.recorded_motion import Decimation, default_decimation, filtered_motion, long_enough
from appell.identification.recording import Recording, as_recordings
from appell.identification.result import Identification
from appell.identification.selection import Choices, choose
from appell.identification.term_selection import DEFAULT_TERMS
from appell.identification.validation import RelativeError
from appell.model.tree import require_tree
from appell.progress import Progress
from appell.robot.protocol import AnyRobot
from appell.robot.regressor_terms import RegressorTerm, as_terms


@renamed_arguments(columns="terms")
@grouped_arguments("transmission", Transmission, gains="torque_constants")
@grouped_arguments("filtering", Filtering, cutoff="cutoff", decimation="decimation")
@grouped_arguments("estimator", Estimator, solver="solver", weights="weights", prior="prior", spread="prior_std")
@grouped_arguments("holdout", Holdout, hold_out="every", block="block")
@one_blas_thread()
def identify(
    robot: AnyRobot,
    t: ArrayLike | Recording | Sequence[Recording],
    q: ArrayLike | None = None,
    tau: ArrayLike | None = None,
    *,
    qd: ArrayLike | None = None,
    qdd: ArrayLike | None = None,
    terms: Sequence[str | RegressorTerm] | None = None,
    transmission: Transmission | None = None,
    filtering: Filtering = Filtering(),
    estimator: Estimator = Estimator(),
    physical: bool = False,
    holdout: Holdout = Holdout(),
) -> Identification:
    """Parameters of a robot from recorded positions and forces, with standard errors and a prediction of held-out samples.

    Recordings may be unevenly sampled and have gaps, missing and corrupt samples, and forces that are late: what was done about
    it is in `steps` of the result, what is doubtful in its `findings`, which are also warned of. The option types are in
    `appell.identification`.

    Args:
        t: times of the samples, (N,) [s]; or one or several `appell.identification.Recording` instead of t, q and tau.
        q, tau: coordinates (N, nq) and actuator forces (N, nv). [rad, m; N m, N]
        qd, qdd: velocities and accelerations; by default differences of the filtered `q`.
        terms: regressor terms besides the link inertias: names `"rotor"`, `"viscous"`, `"coulomb"`, `"offset"`, or objects
            such as `Coupling(4, 5)`. By default all four, Coulomb friction smoothed over 0.01 rad/s, and another width or more
            friction terms, and motor shafts that turn with two joints, where these reduce the prediction error in
            cross-validation.
        transmission: gears and torque constants, if `q` and `tau` were recorded at the motors.
        filtering: low-pass filter, `Filtering(cutoff, decimation)`.
        estimator: least squares, `Estimator(solver, weights, prior, prior_std, instruments, essential)`.
        physical: fit all links at once under the condition that each is physically consistent, starting from the prior; for
            trees only.
        holdout: samples left out of the fit, `Holdout(every, block)`.

    Raises:
        IdentificationError: a recording cannot be used (joint and sample are named), or the motion does not excite some
            parameters (named).

    Example:
        >>> import appell, numpy as np
        >>> arm = appell.load("planar2r")
        >>> t = np.arange(0.0, 10.0, 0.002)[:, None]
        >>> q = np.hstack([np.sin(2 * t) + 0.5 * np.sin(5 * t), np.cos(3 * t) + 0.3 * np.sin(7 * t)])
        >>> qd = np.hstack([2 * np.cos(2 * t) + 2.5 * np.cos(5 * t), -3 * np.sin(3 * t) + 2.1 * np.cos(7 * t)])
        >>> qdd = np.hstack([-4 * np.sin(2 * t) - 12.5 * np.sin(5 * t), -9 * np.cos(3 * t) - 14.7 * np.sin(7 * t)])
        >>> fit = appell.identify(arm, t[:, 0], q, arm.inverse_dynamics(q, qd, qdd), terms=())
        >>> fit.relative_error.total < 1e-4, len(fit.base_parameters)
        (True, 6)
    """
    if physical:
        require_tree("robot", robot, " Closed loops and spherical robots are identified with physical=False.")
        if estimator.instruments is not None or estimator.essential:
            raise ArgumentError("physical=True does not go together with instruments or essential of the estimator.")
    progress = Progress(robot.name, 100.0, what="identifying", unit="%")
    chosen = DEFAULT_TERMS if terms is None else as_terms(terms)
    prior, weights = estimator.prior_robot(robot), estimator.joint_weights(robot)
    recordings = [at_joints(robot, each, transmission) for each in as_recordings(t, q, tau)]
    cleaned = [clean_recording(robot, each, number) for number, each in enumerate(recordings)]
    segments = [segment for each in cleaned for segment in each.segments]
    rates = _rates(robot, recordings, segments, qd, qdd)
    base = base_parameters(robot, chosen)
    choices = _choices(robot, segments, base, chosen, filtering, terms is None, rates, progress.between(10.0, 40.0))
    if choices.terms != chosen:
        chosen, base = choices.terms, base_parameters(robot, choices.terms)
    segments = [without_lag(segment, choices.lag.seconds) for segment in segments]
    decimation = Decimation.of(int(filtering.decimation or default_decimation(choices.cutoff, segments)))
    usable = [each for each in segments if len(segments) == 1 or long_enough(each, choices.cutoff, sum(decimation))]
    if not usable:
        raise IdentificationError("no part of the recordings is long enough for the filter. Give a higher cutoff.")
    motions = tuple(filtered_motion(robot, each, choices.cutoff, decimation.stride, rates) for each in usable)
    rows = Observations(robot, chosen, base, motions, decimation.factor, holdout)
    speeds = np.max([np.abs(motion.qd).max(axis=0, initial=0.0) for motion in motions], axis=0)
    resting = [name for name, speed in zip(robot.qd_names, speeds, strict=True) if not speed]
    free = physical or terms is None  # parameters that the motion does not excite are findings
    solver = "svd" if free and estimator.solver == "qr" else estimator.solver
    data, least, cross = fit_observations(
        rows, solver, weights, None if free else resting, progress.between(40.0, 70.0)
    )
    fit = least
    if terms is None and not physical:
        require_excitation(data, base, resting, MAX_UNEXCITED)
    excluded, ignored = rows.holdout_mask, ~rows.trusted
    if estimator.instruments is not None:
        pairs = instrument_pairs(rows, usable, choices.cutoff, decimation.stride, estimator.instruments)
        fit = instrument_fit(pairs, data, least, excluded | ignored, isinstance(weights, str) and weights == "iterated")
    predicted = rows.predict(fit.values, progress.between(70.0, 95.0))
    correlation = correlation_times((rows.forces - predicted)[~excluded & ~ignored])
    names, nominal = robot.actuator_names, nominal_parameters(prior, chosen)
    start = prior_parameters(robot, chosen, base, fit.values, nominal)
    mass_errors = None
    A, z = data.stacked(1.0 / (fit.sigma**2 * correlation))
    if physical:
        Q, R = np.linalg.qr(A)
        parameters, covariance, mass_errors = physical_fit(R, Q.T @ z, base.B, start, estimator.prior_std)
        values = base.of(parameters)
        predicted = rows.predict(values)
    else:
        values, covariance = fit.values, fit.covariance(data, correlation)
        if estimator.essential:
            values, covariance, *_ = essential_parameters(values, covariance)
            predicted = rows.predict(values)
        parameters = nearest_parameters(start, base.B, values)
    errors, white_errors = (
        np.sqrt(np.maximum(np.diag(C), 0.0)) for C in (covariance, fit.covariance(data, np.ones(len(names))))
    )
    tested = (excluded if excluded.any() else ~excluded) & ~ignored
    validation, training = (
        RelativeError.of(names, rows.forces[mask], predicted[mask]) for mask in (tested, ~excluded & ~ignored)
    )
    measured, expected, held = rows.predict_raw(values)
    raw = held if held.any() else ~held
    check_order = validation.total > sanity.POOR and choices.products is not None
    found = [
        *sanity.check_currents(recordings, transmission and transmission.torque_constants),
        *(finding for each in cleaned for finding in each.findings),
        *choices.findings,
        *sanity.check_torque_constants(transmission and transmission.torque_constants, robot.actuator_names),
        *_check_fit(robot, base, chosen, data, least, values, errors, covariance, rows, choices, validation.total),
        *(sanity.check_positions(robot, segments, base, chosen, choices.cutoff) if check_order else ()),
        *(sanity.check_masses(*_masses(robot, parameters, mass_errors, nominal)) if mass_errors is not None else ()),
    ]
    result = Identification(
        robot, chosen, base, parameters, values, errors, white_errors, validation, training, fit.condition_number, fit.sigma,
        correlation, nominal, physical, choices.cutoff, rows.t, rows.forces, predicted, excluded,
        raw_error=RelativeError.of(names, measured[raw], expected[raw]),
        cross_validation=RelativeError.of_squares(names, *cross),
        covariance=covariance, information=A.T @ A, mass_errors=mass_errors, transmission=transmission, lag=choices.lag.seconds,
        steps=tuple(f"{each.name}: {note}" for each in cleaned for note in each.notes) + choices.notes,
        findings=tuple(found), recordings=tuple(each.name for each in cleaned), cutoff_curve=choices.curve,
        condition_by_joint=np.array([factor.condition_number for factor in data.factors]), estimator=estimator,
    )  # fmt: skip
    progress.finish()
    if found:
        warn_at_caller("\n".join(map(str, found)), IdentificationWarning)
    return result


def _choices(
    robot: AnyRobot,
    segments: Sequence[Segment],
    base: Any,
    terms: tuple[RegressorTerm, ...],
    filtering: Filtering,
    friction: bool,
    rates: tuple[np.ndarray | None, np.ndarray | None],
    report: ProgressCallback,
) -> Choices:
    """By cross-validation; with given velocities the cut-off only."""
    if rates[0] is None:
        return choose(robot, segments, base, terms, filtering.cutoff, friction, report)
    cutoff = filtering.cutoff
    if isinstance(cutoff, str):
        cutoff = 0.2 / max(segment.period for segment in segments)
    return Choices(cutoff, terms, Lag(0.0, 0.0, 0.0), (), (), ())


def _check_fit(
    robot: AnyRobot,
    base: Any,
    terms: Sequence[RegressorTerm],
    data: QRFactors,
    fit: Fit,
    values: np.ndarray,
    errors: np.ndarray,
    covariance: np.ndarray,
    rows: Observations,
    choices: Choices,
    error: float,
) -> list[Finding]:
    """Findings about the fit: signs, columns, values, excitation."""
    found = [
        *sanity.check_unexcited(data, base),
        *sanity.check_signs(data, fit, base, robot.actuator_names),
        *sanity.check_values(base, values, errors, data),
    ]
    if choices.products is not None:
        found += sanity.check_columns(choices.products, robot.actuator_names)
    rng = np.random.default_rng(0)
    q = robot.random_configurations(200, rng)
    samples = sum(len(motion.t) for motion in rows.motions)
    qd, qdd = (
        np.sqrt(sum(np.sum(getattr(motion, name) ** 2, axis=0) for motion in rows.motions) / samples)
        * rng.normal(size=(200, robot.nv))
        for name in ("qd", "qdd")
    )
    K = base_regressor(robot, base, terms, q, qd, qdd, check=False)
    fastest = np.max([np.abs(motion.qd).max(axis=0) for motion in rows.motions], axis=0)
    return [*found, *sanity.check_excitation(robot, base, K, values, covariance, data.count, error, fastest)]


def _masses(robot: AnyRobot, parameters: np.ndarray, errors: np.ndarray, nominal: np.ndarray) -> tuple:
    links = robot.spanning_tree.tree.links
    masses = (array[: 10 * len(links)].reshape(-1, 10)[:, 0] for array in (parameters, nominal))
    found, described = masses
    return [link.body for link in links], found, errors, described


def _rates(
    robot: AnyRobot,
    recordings: Sequence[Recording],
    segments: Sequence[Segment],
    qd: ArrayLike | None,
    qdd: ArrayLike | None,
) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Given velocities and accelerations, (N, nv) each or None."""
    given = []
    for name, values in (("qd", qd), ("qdd", qdd)):
        if values is None:
            given.append(None)
            continue
        rates, count = require_real_array(name, values), len(recordings[0])
        if rates.shape != (count, robot.nv):
            raise ArgumentError(
                f"{name} has shape {rates.shape}, expected ({count}, {robot.nv}): one row per sample of t, q and tau, one "
                "column per velocity."
            )
        if len(segments) != 1 or len(segments[0].t) != count:
            raise ArgumentError(
                f"{name} needs one recording without gaps. Leave it out, or pass an interval without one."
            )
        given.append(require_finite(name, rates))
    return given[0], given[1]
