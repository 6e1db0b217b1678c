"""Base parameters improved by simulated motion: output error over short windows of a recording.

Each window is simulated from its first state with the recorded forces, and parameters and first states are changed until the
simulated positions are the recorded ones in the sense of least squares. Noise of the positions is then noise of the output and
not of the regressor, so that it causes no bias, and no acceleration is computed from data. With x = (q, qd) and
qdd = M⁻¹ (tau - K_b(q, qd, 0) β) the sensitivities S = dx/d(β, x_0) are integrated along with x (RK4),

    dS/dt = [0 1; ∂qdd/∂q ∂qdd/∂qd] S + [0; -M⁻¹ K_b(q, qd, qdd)]

and the first states of the windows are eliminated by QR decompositions before each Gauss-Newton step.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from appell.checks import require_positive
from appell.errors import IdentificationError
from appell.identification.base import base_regressor
from appell.identification.cleaning import clean_recording
from appell.identification.lag import without_lag
from appell.identification.options import at_joints
from appell.identification.recorded_motion import Decimation, default_decimation, filtered_motion, long_enough
from appell.identification.recording import Recording, as_recordings
from appell.identification.result import Identification
from appell.model.tree import require_tree
from appell.robot.compiled import CompiledRobot
from appell.robot.compiled import compile as compile_robot
from appell.robot.regressor_terms import RegressorTerm, Rotor

MAX_STEPS, TOLERANCE = 12, 1e-4
"""Most Gauss-Newton steps, and the relative reduction of the error below which they end."""
PRIOR_SHARE = 1e-3
"""Share of the information of the fit that is added, for parameters that the windows do not determine."""
MAX_STATES = 20_000
"""Simulated states of each segment without gaps; of a longer one, evenly spaced windows are simulated."""
VELOCITY_STEP = 1e-4
"""Step of the finite differences of friction. [rad/s, m/s]"""


class Windows(NamedTuple):
    """Evenly sampled windows: recorded positions q (w, T, n), first states (w, 2n), forces (w, T, n), period [s]."""

    q: np.ndarray
    start: np.ndarray
    tau: np.ndarray
    period: float


def polish(
    fit: Identification,
    recordings: Recording | Sequence[Recording] | tuple[ArrayLike, ArrayLike, ArrayLike],
    window: float = 0.2,
) -> Identification:
    """The fit with parameters for which simulated positions follow the recorded ones.

    It pays where the positions are noisy. Noise of the forces moves the simulated robot, and where it dominates, least squares
    predict forces better: compare both by `validate`.

    Args:
        fit: a fit of a tree, the start.
        recordings: those of the fit, or others of the same kind.
        window: length of the simulated motions. [s]

    Returns:
        The fit with other parameters, their covariance, and a note in `steps`. Its errors and residuals are those of the start;
        `validate` gives new ones.

    Example:
        >>> import appell, numpy as np
        >>> arm = appell.load("planar2r")
        >>> t = np.arange(0.0, 10.0, 0.005)
        >>> q, qd, qdd = appell.excitation(arm, 5.0, 3, iterations=0)(t)
        >>> recording = Recording(t, q, arm.inverse_dynamics(q, qd, qdd) + 0.3 * qd)
        >>> fit = appell.identify(arm, recording, terms=["viscous"])
        >>> bool(abs(polish(fit, recording).value("fv[joint1]")[0] - 0.3) < 1e-3)
        True
    """
    require_tree("fit", fit.nominal_robot, " Its motion is simulated; closed loops are not.")
    require_positive("window", window, "s")
    windows = [each for given in as_recordings(recordings) for each in recorded_windows(fit, given, window)]
    if not windows:
        raise IdentificationError(f"no recording has {window:g} s without gaps. Give a shorter window.")
    model = SimulatedModel.of(fit)
    prior = PRIOR_SHARE * fit.information
    values, starts, noise = fit.base_parameters, [each.start for each in windows], None
    errors: list[float] = []
    best, covariance = values, fit.covariance
    for _ in range(MAX_STEPS):
        passes = [model.simulate(values, start, each) for start, each in zip(starts, windows, strict=True)]
        if noise is None:
            noise = np.sqrt(np.mean([np.mean(_eliminated(*each)[0] ** 2, axis=(0, 1)) for each in passes], axis=0))
        reduced = [_eliminated(r / noise, S / noise[:, None]) for r, S in passes]
        errors.append(float(np.sqrt(np.mean(np.concatenate([r.ravel() for r, *_ in reduced]) ** 2))))
        if not np.isfinite(errors[-1]) or (len(errors) > 1 and errors[-1] > errors[-2]):
            break
        scores = np.concatenate([np.einsum("wtn,wtnb->wb", r, J) for r, J, _ in reduced])
        H = prior + sum(np.einsum("wtnb,wtnc->bc", J, J, optimize=True) for _, J, _ in reduced)
        inverse = _inverse(H)
        best, covariance = values, inverse @ (scores.T @ scores) @ inverse  # residuals of a window are correlated
        if len(errors) > 1 and errors[-1] > (1.0 - TOLERANCE) * errors[-2]:
            break
        step = -inverse @ (scores.sum(axis=0) + prior @ (values - fit.base_parameters))
        values = values + step
        starts = [start + each[2](step) for start, each in zip(starts, reduced, strict=True)]
    note = f"positions simulated over {window:g} s: error {min(errors):.3g} of that before"
    return replace(
        fit, base_parameters=best, parameters=model.parameters(best), covariance=covariance, steps=(*fit.steps, note),
        standard_errors=np.sqrt(np.maximum(np.diag(covariance), 0.0)),
    )  # fmt: skip


def recorded_windows(fit: Identification, recording: Recording, window: float) -> Iterator[Windows]:
    """Windows of a recording at the states at which the fit evaluates regressors; positions are not filtered."""
    robot = fit.nominal_robot
    cleaned = clean_recording(robot, at_joints(robot, recording, fit.transmission))
    segments = [without_lag(segment, fit.lag) for segment in cleaned.segments]
    stride = Decimation.of(default_decimation(fit.cutoff, segments)).stride
    for segment in segments:
        if not long_enough(segment, fit.cutoff, stride):
            continue
        motion = filtered_motion(robot, segment, fit.cutoff, stride)
        period = stride * segment.period
        first, size = round((motion.t[0] - segment.t[0]) / segment.period), max(3, round(window / period))
        q = segment.q[first : first + stride * len(motion.t) : stride]
        count = len(q) // size
        kept = motion.trusted[: count * size].reshape(count, size).all(axis=1)
        kept &= np.arange(count) % -(-count * size // MAX_STATES) == 0 if count else kept
        if kept.any():
            parts = [x[: count * size].reshape(count, size, -1)[kept] for x in (q, motion.q, motion.qd, motion.tau)]
            yield Windows(parts[0], np.concatenate([parts[1][:, 0], parts[2][:, 0]], axis=1), parts[3], period)


def _eliminated(r: np.ndarray, S: np.ndarray) -> tuple[np.ndarray, np.ndarray, Any]:
    """Residuals (w, T, n) and sensitivities to β (w, T, n, b), less what first states explain, and these after a step of β."""
    w, T, n, size = S.shape
    flat, states = S.reshape(w, T * n, size), 2 * n
    Jb, Jx, rest = flat[..., :-states], flat[..., -states:], r.reshape(w, T * n, 1)
    Q, R = np.linalg.qr(Jx)
    Qt = np.swapaxes(Q, 1, 2)

    def starts(step: np.ndarray) -> np.ndarray:
        return -np.linalg.solve(R, Qt @ (rest + Jb @ step[:, None]))[..., 0]

    return (rest - Q @ (Qt @ rest)).reshape(r.shape), (Jb - Q @ (Qt @ Jb)).reshape(w, T, n, -1), starts


def _inverse(H: np.ndarray) -> np.ndarray:
    """H⁻¹ with unit diagonal, zero in directions without information."""
    scale = np.sqrt(np.maximum(np.diag(H), 1e-300))
    return np.linalg.pinv(H / np.outer(scale, scale), rcond=1e-12, hermitian=True) / np.outer(scale, scale)


@dataclass(frozen=True)
class SimulatedModel:
    """Forward dynamics with base parameters as inputs, for batches of states.

    Attributes:
        fit: the start.
        dynamics: the robot with a rotor at every joint, inertial parameters as inputs.
        terms: each term with the indices of its parameters.
    """

    fit: Identification
    dynamics: CompiledRobot
    terms: tuple[tuple[RegressorTerm, slice], ...]

    @classmethod
    def of(cls, fit: Identification) -> SimulatedModel:
        """With the terms of the fit."""
        robot: Any = fit.nominal_robot
        joints = tuple(replace(j, rotor_inertia=1.0, gear_ratio=1.0) if j.mimic is None else j for j in robot.joints)
        first, terms = 10 * len(fit.link_names), []
        for term in fit.terms:
            terms.append((term, slice(first, first + len(term.names(robot)))))
            first = terms[-1][1].stop
        return cls(fit, compile_robot(replace(robot, joints=joints), parameters="runtime"), tuple(terms))

    def parameters(self, values: np.ndarray) -> np.ndarray:
        """All parameters of the fit with these base parameters."""
        parameters = self.fit.parameters.copy()
        parameters[list(self.fit.base.independent)] += values - self.fit.base_parameters
        return parameters

    def simulate(self, values: np.ndarray, start: np.ndarray, windows: Windows) -> tuple[np.ndarray, np.ndarray]:
        """Simulated less recorded positions (w, T, n), and their sensitivities to β and first states (w, T, n, b + 2n)."""
        w, T, n = windows.q.shape
        size, h = len(values) + 2 * n, windows.period
        x, S = start, np.zeros((w, 2 * n, size))
        S[:, :, len(values) :] = np.eye(2 * n)
        parameters = self.parameters(values)
        positions, slopes = [x[:, :n]], [S[:, :n]]
        for k in range(T - 1):
            before, after = windows.tau[:, k], windows.tau[:, k + 1]
            between = 0.5 * (before + after)
            rates = [self._rates(parameters, x, S, before)]
            for share, tau in ((0.5, between), (0.5, between), (1.0, after)):
                dx, dS = rates[-1]
                rates.append(self._rates(parameters, x + share * h * dx, S + share * h * dS, tau))
            x, S = (
                y + h / 6.0 * (rates[0][i] + 2.0 * rates[1][i] + 2.0 * rates[2][i] + rates[3][i])
                for i, y in enumerate((x, S))
            )
            positions.append(x[:, :n])
            slopes.append(S[:, :n])
        return np.stack(positions, axis=1) - windows.q, np.stack(slopes, axis=1)

    def _rates(
        self, parameters: np.ndarray, x: np.ndarray, S: np.ndarray, tau: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """dx/dt and dS/dt."""
        n = tau.shape[1]
        q, qd, dynamics, base = x[:, :n], x[:, n:], self.dynamics, self.fit.base
        inertial = self._inertial(parameters)
        tau = tau - self._friction(parameters, q, qd)
        qdd = dynamics.forward_dynamics(q, qd, tau, parameters=inertial, check=False)
        dq, dqd, inverse = dynamics.forward_dynamics_derivatives(q, qd, tau, parameters=inertial, check=False)
        for y, slope in ((q, dq), (qd, dqd)):
            for k in range(n):
                step = np.zeros(n)
                step[k] = VELOCITY_STEP
                low, high = (
                    self._friction(parameters, q + sign * step * (y is q), qd + sign * step * (y is qd))
                    for sign in (-1.0, 1.0)
                )
                slope[:, :, k] -= np.einsum("nij,nj->ni", inverse, (high - low) / (2.0 * VELOCITY_STEP))
        K = base_regressor(self.fit.nominal_robot, base, self.fit.terms, q, qd, qdd, check=False)
        rates = np.concatenate([S[:, n:], dq @ S[:, :n] + dqd @ S[:, n:]], axis=1)
        rates[:, n:, : len(base)] -= inverse @ K
        return np.concatenate([qd, qdd], axis=1), rates

    def _inertial(self, parameters: np.ndarray) -> np.ndarray:
        """Parameters of the links and rotor inertias, zero without such a term."""
        rotors = [parameters[own] for term, own in self.terms if isinstance(term, Rotor)]
        return np.concatenate(
            [parameters[: 10 * len(self.fit.link_names)], *(rotors or [np.zeros(self.fit.nominal_robot.nv)])]
        )

    def _friction(self, parameters: np.ndarray, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """Forces of the terms but rotors, (N, n)."""
        zero = np.zeros_like(qd)
        return sum((term.columns(q, qd, zero) @ parameters[own] for term, own in self.terms), zero)
