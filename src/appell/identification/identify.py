"""`appell.identify`: from recorded motion to parameters with their uncertainty."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from appell.deprecation import renamed_arguments
from appell.errors import ArgumentError
from appell.identification import arguments, signals
from appell.identification.accuracy import RelativeError, correlation_times
from appell.identification.base import base_parameters
from appell.identification.defects import refuse_defects, refuse_shapes
from appell.identification.fit import ROUNDS, Fit, fit, robust_weights
from appell.identification.naming import own_parameters
from appell.identification.observations import Observations, motion_of
from appell.identification.physical import nearest, physical_fit, prior_of
from appell.identification.result import Identification
from appell.identification.transmission import Transmission
from appell.identification.triangles import Triangles, triangles
from appell.robot.regressor_terms import Coulomb, Offset, RegressorTerm, Rotor, Viscous, as_terms

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from appell.robot.robot import Robot

DEFAULT_TERMS = (Rotor(), Viscous(), Coulomb(0.05), Offset())
"""Columns beside the inertial parameters unless others are asked for."""


@renamed_arguments(columns="terms")
def identify(
    robot: Robot,
    t: ArrayLike,
    q: ArrayLike,
    tau: ArrayLike,
    *,
    terms: Sequence[str | RegressorTerm] = DEFAULT_TERMS,
    transmission: Transmission | None = None,
    gains: ArrayLike | None = None,
    qd: ArrayLike | None = None,
    qdd: ArrayLike | None = None,
    cutoff: float | str | None = "auto",
    decimation: int | None = None,
    solver: str = "qr",
    weights: str | ArrayLike = "iterated",
    physical: bool = False,
    prior: Robot | None = None,
    spread: float = 1.0,
    hold_out: int = 5,
    block: float = 0.5,
) -> Identification:
    """Parameters of a robot from recorded positions and forces, with standard errors and a prediction of samples held out.

    Args:
        t: times of the samples, evenly spaced, (N,). [s]
        q, tau: coordinates (N, nq) and forces of the drives (N, nv). [rad, m; N m, N]
        columns: what acts beside the links: names `"rotor"`, `"viscous"`, `"coulomb"`, `"offset"`, or blocks of
            `appell.robot.regressor_terms`. By default all four, dry friction smoothed over 0.05 rad/s.
        transmission: gears and couplings between motors and joints, where `q` and `tau` were recorded at the motors.
        gains: of the drives, (nv,) or (nv, nv): tau is `gains` times what was recorded, as currents. [N m/A]
        qd, qdd: speeds and accelerations where they were recorded too; else they are differences of the filtered `q`.
        cutoff: of the zero-phase low-pass filter [Hz]; `"auto"` takes it from the spectrum of the speeds, None does not filter.
        decimation: keep every so-many-th sample, after regressor and forces passed the same filter. By default what leaves
            about five samples a period of the cut-off.
        solver: `"qr"`, `"svd"`, `"pinv"` or `"ridge"` (parameter by generalised cross-validation).
        weights: of the joints: `"equal"`, `"residual"` (1 / variance of a first fit's residuals), `"iterated"` (renewed
            until they stay, default), `"robust"` (also of the samples, by Huber's rule, for data with outliers), or
            numbers (nv,).
        physical: fit all links at once among the bodies that can exist, from the prior's values on.
        prior: a robot of the same structure whose parameters decide what the motion does not tell; `robot` by default.
        spread: relative uncertainty of the prior's links in a physical fit.
        hold_out: every so-many-th block of time is left out of the fit and predicted; 0 fits everything.
        block: length of these blocks. [s]

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
        >>> found = appell.identify(arm, t[:, 0], q, arm.inverse_dynamics(q, qd, qdd), terms=())
        >>> found.relative_error.total < 1e-4, len(found.base_parameters)
        (True, 6)
    """
    if not hasattr(robot, "random_configuration"):
        raise ArgumentError(
            f"identify takes plain robots, got {type(robot).__name__}. For closed loops `regressor` and "
            "`appell.base_parameters` give the rows and columns of the least squares."
        )
    added = as_terms(terms)
    arguments.refuse_split(hold_out, block)
    arguments.refuse_unless_positive("spread", spread, "the relative uncertainty of the prior's links")
    arguments.refuse_other_structure(robot, robot if prior is None else prior)
    given = weights if isinstance(weights, str) else arguments.numbers_of_speeds("weights", weights, robot)
    t, q, tau = at_joints(robot, t, q, tau, transmission, gains)
    refuse_defects(robot, t, q, tau)
    period = float((t[-1] - t[0]) / (len(t) - 1))
    frequency = _cutoff(cutoff, q, period)
    rates = (arguments.recorded_rates(name, x, robot, len(t)) for name, x in (("qd", qd), ("qdd", qdd)))
    motion = motion_of(robot, t, q, tau, frequency, *rates)
    base = base_parameters(robot, added)
    factor = _decimation(decimation, frequency, period)
    seen = Observations(robot, added, base, motion, factor, int(hold_out), block)
    own = own_parameters(prior or robot, added)
    still = [name for name, moves in zip(robot.qd_names, np.abs(motion.qd).max(axis=0), strict=True) if not moves]
    data, free = free_fit(seen, "svd" if physical else solver, given, None if physical else still)
    times = correlation_times((seen.forces - seen.predict(free.values))[~seen.held])
    before = prior_of(robot, added, base, free.values, own)
    if physical:
        A, z = data.stacked(1.0 / (free.sigma**2 * times))
        Q, R = np.linalg.qr(A)
        parameters, covariance = physical_fit(R, Q.T @ z, base.B, before, spread)
        values = base.of(parameters)
    else:
        values, covariance = free.values, free.covariance(data, times)
        parameters = nearest(before, base.B, values)
    return _result(seen, data, free, parameters, values, covariance, times, own, physical, frequency)


def free_fit(
    seen: Observations, solver: str, weights: str | np.ndarray, still: Sequence[str] | None
) -> tuple[Triangles, Fit]:
    """Least squares without demands on the parameters; a robust one is repeated with samples weighted by their residuals."""
    data = triangles(seen.pieces(), seen.base.used, seen.held)
    found = fit(data, seen.base, solver, weights, still)
    for _ in range(ROUNDS if isinstance(weights, str) and weights == "robust" else 0):
        samples = robust_weights(seen.forces - seen.predict(found.values), seen.held)
        data = triangles(seen.pieces(), seen.base.used, seen.held, samples)
        before, found = found, fit(data, seen.base, solver, weights, still)
        if np.allclose(found.values, before.values, rtol=1e-6, atol=1e-9):
            break
    return data, found


def at_joints(
    robot: Robot,
    t: ArrayLike,
    q: ArrayLike,
    tau: ArrayLike,
    transmission: Transmission | None = None,
    gains: ArrayLike | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What was recorded, as numbers at the joints."""
    try:
        times, coordinates, forces = (np.asarray(x, dtype=float) for x in (t, q, tau))
    except (TypeError, ValueError):
        raise ArgumentError("t, q and tau must be arrays of real numbers, a row a sample.") from None
    refuse_shapes(robot, times, coordinates, forces)
    if gains is not None:
        forces = forces @ arguments.drive_gains(gains, robot).T
    if transmission is not None:
        arguments.refuse_transmission(transmission, robot)
        coordinates, forces = transmission.coordinates(coordinates), transmission.torques(forces)
    return times, coordinates, forces


def _cutoff(cutoff: float | str | None, q: np.ndarray, period: float) -> float | None:
    if cutoff == "auto":
        return signals.natural_cutoff(q, period)
    if isinstance(cutoff, str):
        raise ArgumentError(f"cutoff is {cutoff!r}, expected a frequency [Hz], 'auto' or None.")
    return cutoff


def _decimation(decimation: int | None, cutoff: float | None, period: float) -> int:
    if decimation is None:
        return 1 if cutoff is None else max(1, int(0.2 / (cutoff * period)))
    if not isinstance(decimation, (int, np.integer)) or decimation < 1:
        raise ArgumentError(f"decimation is {decimation!r}, expected a whole number from 1.")
    return int(decimation)


def _result(
    seen: Observations, data: Triangles, found: Fit, parameters, values, covariance, times, own, physical, cutoff
) -> Identification:
    names, ones = seen.robot.qd_names, np.ones(len(data.speeds))
    errors, white = (np.sqrt(np.maximum(np.diag(C), 0.0)) for C in (covariance, found.covariance(data, ones)))
    predicted, held = seen.predict(values), seen.held
    training = RelativeError.of(names, seen.forces[~held], predicted[~held])
    outside = RelativeError.of(names, seen.forces[held], predicted[held]) if held.any() else training
    return Identification(
        seen.robot, tuple(seen.blocks), seen.base, parameters, values, errors, white, outside, training, found.condition,
        found.sigma, times, own, physical, cutoff, seen.t, seen.forces, predicted, held,
    )  # fmt: skip
