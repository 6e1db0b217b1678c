"""`appell.identify`: parameters of a robot from recorded motion, with their uncertainty."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from appell.checks import require_finite, require_real_array
from appell.deprecation import grouped_arguments, renamed_arguments
from appell.errors import ArgumentError
from appell.identification import signals
from appell.identification.base import base_parameters, nominal_parameters
from appell.identification.fit import correlation_times, fit_observations
from appell.identification.observations import Observations, default_decimation, filtered_motion
from appell.identification.options import Estimator, Filtering, Holdout, Transmission
from appell.identification.physical import nearest_parameters, physical_fit, prior_parameters
from appell.identification.recording import Recording, require_recording, require_usable
from appell.identification.result import Identification, RelativeError
from appell.model.tree import require_tree
from appell.robot.regressor_terms import Coulomb, Offset, RegressorTerm, Rotor, Viscous, as_terms
from appell.robot.robot import Robot

DEFAULT_TERMS = (Rotor(), Viscous(), Coulomb(0.05), Offset())
"""Regressor terms besides the link inertias, by default."""


@renamed_arguments(columns="terms")
@grouped_arguments("transmission", Transmission, gains="torque_constants")
@grouped_arguments("filtering", Filtering, cutoff="cutoff", decimation="decimation")
@grouped_arguments("estimator", Estimator, solver="solver", weights="weights", prior="prior", spread="prior_std")
@grouped_arguments("holdout", Holdout, hold_out="every", block="block")
def identify(
    robot: Robot,
    t: ArrayLike,
    q: ArrayLike,
    tau: ArrayLike,
    *,
    qd: ArrayLike | None = None,
    qdd: ArrayLike | None = None,
    terms: Sequence[str | RegressorTerm] = DEFAULT_TERMS,
    transmission: Transmission | None = None,
    filtering: Filtering = Filtering(),
    estimator: Estimator = Estimator(),
    physical: bool = False,
    holdout: Holdout = Holdout(),
) -> Identification:
    """Parameters of a robot from recorded positions and forces, with standard errors and a prediction of held-out samples.

    The option types are in `appell.identification`.

    Args:
        t: times of the samples, evenly spaced, (N,). [s]
        q, tau: coordinates (N, nq) and actuator forces (N, nv). [rad, m; N m, N]
        qd, qdd: recorded velocities and accelerations; by default differences of the filtered `q`.
        terms: regressor terms besides the link inertias: names `"rotor"`, `"viscous"`, `"coulomb"`, `"offset"`, or objects
            such as `Coupling(4, 5)`. By default all four names, Coulomb friction smoothed over 0.05 rad/s.
        transmission: gears and torque constants, if `q` and `tau` were recorded at the motors.
        filtering: low-pass filter, `Filtering(cutoff, decimation)`.
        estimator: least squares, `Estimator(solver, weights, prior, prior_std)`.
        physical: fit all links at once under the condition that each is physically consistent, starting from the prior.
        holdout: samples left out of the fit, `Holdout(every, block)`.

    Raises:
        IdentificationError: the recording has a defect (named with joint and sample), or the motion does not excite some
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
    remedy = " For closed loops `regressor` and `appell.base_parameters` give the least-squares problem."
    require_tree("robot", robot, remedy)
    terms = as_terms(terms)
    prior, weights = estimator.prior_robot(robot), estimator.joint_weights(robot)
    recording = require_recording(robot, t, q, tau)
    if transmission is not None:
        transmission.require_size(robot)
        joint_q, joint_tau = transmission.joint_coordinates(recording.q), transmission.joint_forces(recording.tau)
        recording = Recording(recording.t, joint_q, joint_tau)
    require_usable(robot, recording)
    cutoff = filtering.cutoff
    if isinstance(cutoff, str):
        cutoff = signals.automatic_cutoff(recording.q, recording.period)
    rates = (_rates(name, given, robot, len(recording.t)) for name, given in (("qd", qd), ("qdd", qdd)))
    motion = filtered_motion(robot, recording, cutoff, *rates)
    base = base_parameters(robot, terms)
    decimation = filtering.decimation or default_decimation(cutoff, recording.period)
    rows = Observations(robot, terms, base, motion, int(decimation), holdout)
    nominal = nominal_parameters(prior, terms)
    resting = [name for name, speed in zip(robot.qd_names, np.abs(motion.qd).max(axis=0), strict=True) if not speed]
    data, fit = fit_observations(rows, "svd" if physical else estimator.solver, weights, None if physical else resting)
    excluded = rows.holdout_mask
    correlation = correlation_times((rows.forces - rows.predict(fit.values))[~excluded])
    start = prior_parameters(robot, terms, base, fit.values, nominal)
    if physical:
        A, z = data.stacked(1.0 / (fit.sigma**2 * correlation))
        Q, R = np.linalg.qr(A)
        parameters, covariance = physical_fit(R, Q.T @ z, base.B, start, estimator.prior_std)
        values = base.of(parameters)
    else:
        values, covariance = fit.values, fit.covariance(data, correlation)
        parameters = nearest_parameters(start, base.B, values)
    white = fit.covariance(data, np.ones(robot.nv))
    errors, white_errors = (np.sqrt(np.maximum(np.diag(C), 0.0)) for C in (covariance, white))
    predicted = rows.predict(values)
    tested = excluded if excluded.any() else ~excluded
    masks, names = (tested, ~excluded), robot.qd_names
    validation, training = (RelativeError.of(names, rows.forces[mask], predicted[mask]) for mask in masks)
    return Identification(
        robot, terms, base, parameters, values, errors, white_errors, validation, training, fit.condition_number, fit.sigma,
        correlation, nominal, physical, cutoff, rows.t, rows.forces, predicted, excluded,
    )  # fmt: skip


def _rates(name: str, values: ArrayLike | None, robot: Robot, count: int) -> np.ndarray | None:
    """Recorded velocities or accelerations, (N, nv)."""
    if values is None:
        return None
    rates = require_real_array(name, values)
    if rates.shape != (count, robot.nv):
        raise ArgumentError(
            f"{name} has shape {rates.shape}, expected ({count}, {robot.nv}): one row per sample of t, q and tau, one column "
            "per velocity."
        )
    return require_finite(name, rates)
