"""Torque constants of drives from recorded currents, with those of some drives, a payload, or the description known.

For currents i_j the forces are g_j i_j = K_j β + L_j φ with a known payload φ in loaded recordings. The noise is in the currents:

    Σ_j |i_j - (K_j β + L_j φ) / g_j|² / σ_j² + Σ_j (log g_j / g⁰_j)²

is minimized over β and the unknown g_j (M. Gautier, S. Briot, Global identification of joint drive gains and dynamic
parameters of robots, J. Dynamic Systems, Measurement and Control 136 (2014)). Without a known g_j and without φ all forces may
be multiplied by one factor; g⁰_j, with which the description predicts the currents best, decides it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from appell.errors import ArgumentError
from appell.identification.base import nominal_parameters
from appell.identification.findings import Finding
from appell.identification.fit import QRFactors, accumulate_qr
from appell.identification.identify import identify
from appell.identification.options import Transmission
from appell.identification.recording import Recording
from appell.robot.robot import Robot
from appell.table import Table


@dataclass(frozen=True)
class DriveGains:
    """Torque constants of all drives.

    Attributes:
        values: (nv,). [N m/A, N/A]
        standard_errors: of these, zero where they were given, (nv,).
        scale: what decides their common factor: `"known constants"`, `"payload"` or `"description"`.
        findings: constants that the recordings do not determine.
    """

    joints: tuple[str, ...]
    values: np.ndarray
    standard_errors: np.ndarray
    scale: str
    findings: tuple[Finding, ...] = ()

    @property
    def transmission(self) -> Transmission:
        """For `appell.identify`."""
        return Transmission(torque_constants=self.values)

    def table(self) -> Table:
        """Values and standard errors."""
        rows = tuple(
            (name, float(v), float(e))
            for name, v, e in zip(self.joints, self.values, self.standard_errors, strict=True)
        )
        notes = (f"Their common factor comes from: {self.scale}.", *map(str, self.findings))
        return Table("Torque constants [N m/A, N/A]", ("joint", "value", "standard error"), rows, notes)

    def __str__(self) -> str:
        return str(self.table())


def identify_gains(
    robot: Robot,
    recordings: Recording | Sequence[Recording],
    known: Mapping[str, float] | ArrayLike | None = None,
    loaded: Recording | None = None,
    payload: Robot | None = None,
) -> DriveGains:
    """Torque constants of the drives from recorded currents.

    Args:
        recordings: motions without payload, `tau` in ampere.
        known: constants of some drives by joint, or (nv,) with NaN for the others. [N m/A, N/A]
        loaded: a recording with a known payload, and
        payload: the robot with it, `robot.with_payload(...)`; the robot's own masses need not be right.

    Example:
        >>> import appell, numpy as np
        >>> arm = appell.load("planar2r")
        >>> t = np.arange(0.0, 10.0, 0.005)
        >>> q, qd, qdd = appell.excitation(arm, 5.0, 3, iterations=0)(t)
        >>> currents = arm.inverse_dynamics(q, qd, qdd) / [2.0, 4.0]
        >>> identify_gains(arm, Recording(t, q, currents), known={"joint1": 2.0}).values.round(2).tolist()
        [2.0, 4.0]
    """
    given = _known(robot, known)
    recordings = [recordings] if isinstance(recordings, Recording) else list(recordings)
    start = _from_description(robot, recordings, given)
    fit = identify(robot, recordings, transmission=Transmission(torque_constants=start))
    added = np.zeros(10 * len(robot.tree.links))
    if payload is not None:
        added = (payload.parameters - robot.parameters)[: len(added)]

    def carried(q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        return (robot.regressor(q, qd, qdd, check=False)[..., : len(added)] @ added)[..., None]

    def absent(q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        return np.zeros((*qd.shape, 1))

    observed = [fit.observe(each, absent, 1)[0] for each in recordings]
    if loaded is not None:
        if payload is None:
            raise ArgumentError(
                "payload is missing: the robot with the payload of the loaded recording, robot.with_payload(...)."
            )
        observed.append(fit.observe(loaded, carried, 1)[0])
    data = [accumulate_qr(rows.pieces(), rows.used, ~rows.trusted) for rows in observed]
    noise = [fit.sigma**2 * fit.correlation] * len(data)
    free = ~np.isfinite(given)
    _, _, rest = _solve(data, len(fit.base), fit.base_parameters, noise, free)
    noise = [own / part.count * fit.correlation for own, part in zip(rest, data, strict=True)]
    factors, errors, _ = _solve(data, len(fit.base), fit.base_parameters, noise, free)
    values = start * factors
    scale = "payload" if loaded is not None else "known constants" if np.isfinite(given).any() else "description"
    unknown = [
        name
        for name, error, own in zip(robot.actuator_names, errors, np.isfinite(given), strict=True)
        if not own and error > 0.5  # half of the prior's
    ]
    findings = []
    if unknown:
        findings.append(Finding("torque constant", ", ".join(unknown), "the recordings do not determine it",
                                "Give it, or record faster motions in which joints move together."))  # fmt: skip
    if scale == "description":
        findings.append(Finding("torque constant", "all", "their common factor is that of the description's masses",
                                "Give one constant, or a recording with a known payload."))  # fmt: skip
    return DriveGains(robot.actuator_names, values, values * errors, scale, tuple(findings))


def _known(robot: Robot, known: Mapping[str, float] | ArrayLike | None) -> np.ndarray:
    """Constants (nv,), NaN where they are not known."""
    values = np.full(robot.nv, np.nan)
    if isinstance(known, Mapping):
        for name, value in known.items():
            values[robot.actuator_names.index(name)] = value
    elif known is not None:
        values = np.broadcast_to(np.asarray(known, dtype=float), values.shape).copy()
    if (values <= 0).any():
        raise ArgumentError(f"known has {values[values <= 0].tolist()}, expected positive torque constants.")
    return values


def _from_description(robot: Robot, recordings: Sequence[Recording], given: np.ndarray) -> np.ndarray:
    """Constants with which the description predicts the currents best; those of most joints where it predicts none."""
    fit = identify(robot, recordings)
    nominal = nominal_parameters(robot, fit.terms)
    inertial = np.where(np.arange(len(nominal)) < 10 * len(robot.tree.links), nominal, 0.0)
    forces, currents = [], []
    for each in recordings:
        rows, _ = fit.observe(each)
        forces.append(rows.predict(fit.base.of(inertial)))
        friction = fit.base_parameters.copy()
        friction[[k for k, i in enumerate(fit.base.independent) if i < 10 * len(robot.tree.links)]] = 0.0
        currents.append(rows.forces - rows.predict(friction))
    tau, i = np.concatenate(forces), np.concatenate(currents)
    slopes = np.abs((tau * i).sum(axis=0)) / np.maximum((i * i).sum(axis=0), 1e-300)
    typical = float(np.median(slopes)) or 1.0
    return np.where(np.isfinite(given), given, np.where(slopes > 0.1 * typical, slopes, typical))


def _solve(
    data: Sequence[QRFactors], b: int, values: np.ndarray, noise: Sequence[np.ndarray], free: np.ndarray
) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
    """Factors of the constants (nv,), standard errors of their logarithms (zero where not free), squared residuals."""
    from scipy.optimize import least_squares

    n, blocks = len(free), []
    for part, own in zip(data, noise, strict=True):
        for j, factor in enumerate(part.factors):
            R = np.zeros((len(factor.R), b + 1))
            R[:, factor.columns] = factor.R
            blocks.append((j, R / np.sqrt(own[j]), factor.z / np.sqrt(own[j])))

    def residuals(x: np.ndarray) -> np.ndarray:
        slopes = np.ones(n)
        slopes[free] = np.exp(-x[b:])
        extended = np.append(x[:b], 1.0)
        return np.concatenate([*(slopes[j] * (R @ extended) - z for j, R, z in blocks), x[b:]])

    def jacobian(x: np.ndarray) -> np.ndarray:
        slopes, place = np.ones(n), np.cumsum(free) - 1
        slopes[free] = np.exp(-x[b:])
        extended = np.append(x[:b], 1.0)
        rows = []
        for j, R, _ in blocks:
            J = np.zeros((len(R), len(x)))
            J[:, :b] = slopes[j] * R[:, :b]
            if free[j]:
                J[:, b + place[j]] = -slopes[j] * (R @ extended)
            rows.append(J)
        prior = np.zeros((len(x) - b, len(x)))
        prior[:, b:] = np.eye(len(x) - b)
        return np.concatenate([*rows, prior])

    start = np.concatenate([values, np.zeros(int(free.sum()))])
    solution = least_squares(residuals, start, jacobian, x_scale="jac")  # pyright: ignore[reportArgumentType]
    J = solution.jac
    scale = np.maximum(np.linalg.norm(J, axis=0), 1e-150)
    covariance = np.linalg.pinv((J / scale).T @ (J / scale), rcond=1e-12) / np.outer(scale, scale)
    factors, errors = np.ones(n), np.zeros(n)
    factors[free] = np.exp(solution.x[b:])
    errors[free] = np.sqrt(np.diag(covariance)[b:])
    extended = np.append(solution.x[:b], 1.0)
    rest = []
    for part in data:
        scaled = [extended / factors[j] for j in range(n)]
        rest.append(np.array([factor.residual(own) for factor, own in zip(part.factors, scaled, strict=True)]))
    return factors, errors, rest
