"""A fit in which every link is physically consistent, all links at once.

The unknowns are log-Cholesky coordinates of the links, logarithms of positive parameters, and the other
parameters themselves, so that the least squares have no constraints and an exact Jacobian. The objective is

    |A B Φ(θ) - z|² + |θ / prior_std|²

with A, z the data in units of their noise and θ the distance from the prior: relative to the size and shape of each link, in
logarithms or in units of their values for the others. The second term decides what the data do not determine.

A body's ten parameters belong to some distribution of mass exactly if P = ∫ [ρ; 1][ρ; 1]^T dm = [[J, γ], [γ^T, m]] is
positive semidefinite (P. Wensing, S. Kim, J.-J. Slotine, IEEE Robotics and Automation Letters 3 (2018)); J is Euler's tensor.
With U_0 of a known body, P_0 = U_0 U_0^T, and an upper triangle V,

    P = U_0 V V^T U_0^T        V = [[e^θ1, θ5, θ6, θ7], [0, e^θ2, θ8, θ9], [0, 0, e^θ3, θ10], [0, 0, 0, e^θ4]]

gives unconstrained coordinates θ of all such bodies: log-Cholesky (C. Rucker, P. Wensing, IEEE Robotics and Automation
Letters 7 (2022)) relative to the known body, θ = 0. The norm of θ is the distance from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from appell.errors import IdentificationError
from appell.identification.base import BaseParameters
from appell.robot.protocol import AnyRobot
from appell.robot.regressor_terms import RegressorTerm

MIN_RADIUS, MIN_MASS_SHARE = 0.02, 1e-3
"""Least radius of gyration [m] of the prior's links, and their least share of the robot's mass."""

TERM_STD = 10.0
"""Relative standard deviation of friction, rotors and other parameters of terms: their prior has little weight."""

ENTRIES = ((0, 0), (1, 1), (2, 2), (3, 3), (0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3))
"""Entries of V that hold the ten coordinates."""


def pseudo_inertia(parameters: np.ndarray) -> np.ndarray:
    """P (..., 4, 4) of the ten parameters (..., 10) of a body.

    Example:
        >>> P = pseudo_inertia(np.array([2.0, 0, 0, 0, 0.2, 0, 0.2, 0, 0, 0.2]))
        >>> bool((np.linalg.eigvalsh(P) > 0).all())
        True
    """
    m, mx, my, mz, xx, xy, yy, xz, yz, zz = np.moveaxis(np.asarray(parameters, dtype=float), -1, 0)
    half = (xx + yy + zz) / 2.0
    rows = [[half - xx, -xy, -xz, mx], [-xy, half - yy, -yz, my], [-xz, -yz, half - zz, mz], [mx, my, mz, m]]
    return np.moveaxis(np.array(rows), (0, 1), (-2, -1))


def parameters_of(P: np.ndarray) -> np.ndarray:
    """The ten parameters of a pseudo-inertia, the inverse of `pseudo_inertia`."""
    (xx, xy, xz, mx), (_, yy, yz, my), (_, _, zz, mz), (_, _, _, m) = np.moveaxis(P, (-2, -1), (0, 1))
    return np.stack([m, mx, my, mz, yy + zz, -xy, xx + zz, -xz, -yz, xx + yy], axis=-1)


def is_consistent(parameters: np.ndarray) -> np.ndarray:
    """Whether the pseudo-inertia of each body (..., 10) is positive definite."""
    return np.linalg.eigvalsh(pseudo_inertia(parameters)).min(axis=-1) > 0.0


def cholesky_factor(parameters: np.ndarray) -> np.ndarray:
    """The upper triangular U with P = U U^T."""
    P = pseudo_inertia(parameters)
    return np.linalg.cholesky(P[::-1, ::-1])[::-1, ::-1]


def from_log_cholesky(theta: np.ndarray, U: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Parameters (10,) of the coordinates θ relative to U, and their Jacobian (10, 10).

    Example:
        >>> known = np.array([2.0, 0.1, 0, 0, 0.2, 0, 0.2, 0, 0, 0.2])
        >>> parameters, _ = from_log_cholesky(np.zeros(10), cholesky_factor(known))
        >>> bool(abs(parameters - known).max() < 1e-15)
        True
    """
    V = np.zeros((4, 4))
    derivatives = np.zeros((10, 4, 4))
    for k, entry in enumerate(ENTRIES):
        V[entry] = np.exp(theta[k]) if k < 4 else theta[k]
        derivatives[(k, *entry)] = V[entry] if k < 4 else 1.0
    half = U @ (derivatives @ V.T) @ U.T
    return parameters_of(U @ (V @ V.T) @ U.T), parameters_of(half + np.swapaxes(half, 1, 2)).T


def with_minimum_inertia(parameters: np.ndarray, radius: float, min_mass: float) -> np.ndarray:
    """The nearest body with at least this mass [kg] and this radius of gyration in every direction [m]."""
    P = pseudo_inertia(parameters)
    mass = max(P[3, 3], min_mass)
    com = P[:3, 3] / P[3, 3] if P[3, 3] > min_mass else np.zeros(3)
    moments, axes = np.linalg.eigh(P[:3, :3] - P[3, 3] * np.outer(com, com))
    central = (axes * np.maximum(moments, mass * radius**2)) @ axes.T
    P = np.block([[central + mass * np.outer(com, com), mass * com[:, None]], [mass * com[None], np.array([[mass]])]])
    return parameters_of(P)


class PhysicalFit(NamedTuple):
    """All parameters Φ (p,), covariance of the base parameters B Φ (b, b), standard errors of the links' masses (links,)."""

    parameters: np.ndarray
    covariance: np.ndarray
    mass_errors: np.ndarray


@dataclass(frozen=True)
class PriorParameters:
    """Parameters Φ (p,) at θ = 0, ten for each of the `links` first, and the map from θ to parameters.

    The θ of `positive` parameters of terms is logarithmic, that of the others in units of `scale`.
    """

    parameters: np.ndarray
    links: int
    positive: np.ndarray
    scale: np.ndarray

    @cached_property
    def factors(self) -> list[np.ndarray]:
        """U of every link."""
        return [cholesky_factor(own) for own in self.parameters[: 10 * self.links].reshape(-1, 10)]

    def at(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Φ(θ) and its Jacobian (p, p)."""
        values, jacobian = np.zeros(len(theta)), np.zeros((len(theta), len(theta)))
        for i, U in enumerate(self.factors):
            own = slice(10 * i, 10 * i + 10)
            values[own], jacobian[own, own] = from_log_cholesky(theta[own], U)
        first, steps = self.parameters[10 * self.links :], theta[10 * self.links :]
        scaled = first * np.exp(np.where(self.positive, steps, 0.0))
        values[10 * self.links :] = np.where(self.positive, scaled, first + self.scale * steps)
        others = np.arange(10 * self.links, len(theta))
        jacobian[others, others] = np.where(self.positive, scaled, self.scale)
        return values, jacobian


def physical_fit(A: np.ndarray, z: np.ndarray, B: np.ndarray, prior: PriorParameters, prior_std: float) -> PhysicalFit:
    """The minimum of the objective for data A (b, b), z (b,) and base parameters B (b, p), starting from the prior."""
    from scipy.optimize import least_squares

    data = A @ B
    size = len(prior.parameters)
    weight = 1.0 / np.where(np.arange(size) < 10 * prior.links, prior_std, TERM_STD)

    def residuals(theta: np.ndarray) -> np.ndarray:
        return np.concatenate([data @ prior.at(theta)[0] - z, weight * theta])

    def jacobian(theta: np.ndarray) -> np.ndarray:
        return np.concatenate([data @ prior.at(theta)[1], np.diag(weight)])

    options = {"method": "dogbox", "max_nfev": 1000, "xtol": 1e-9, "ftol": 1e-10}
    solution = least_squares(residuals, np.zeros(size), jacobian, **options)  # pyright: ignore[reportArgumentType]
    if solution.status <= 0:
        raise IdentificationError(
            f"the physically consistent fit did not converge in {solution.nfev} steps. Give Estimator a better prior, or a "
            "smaller prior_std."
        )
    parameters, slopes = prior.at(solution.x)
    base_slopes = B @ slopes
    inverse = np.linalg.inv(solution.jac.T @ solution.jac)
    masses = slopes[: 10 * prior.links : 10]
    mass_errors = np.sqrt(np.einsum("ip,pr,ir->i", masses, inverse, masses))
    return PhysicalFit(parameters, base_slopes @ inverse @ base_slopes.T, mass_errors)


def prior_parameters(
    robot: AnyRobot, terms: Sequence[RegressorTerm], base: BaseParameters, values: np.ndarray, nominal: np.ndarray
) -> PriorParameters:
    """The prior with parameters `nominal`, where an unconstrained fit has the base parameters `values`.

    Links get a minimum inertia so that each is consistent. Parameters of terms start at the fitted values, else at the
    nominal ones; positive ones that neither gives start at the smallest positive value of their term.
    """
    links = len(robot.system.parameter_bodies)
    bodies = nominal[: 10 * links].reshape(-1, 10)
    total = float(np.maximum(bodies[:, 0], 0.0).sum())
    min_mass = MIN_MASS_SHARE * total if total > 0 else 1.0
    consistent = [with_minimum_inertia(body, MIN_RADIUS, min_mass) for body in bodies]
    fitted = dict(zip(base.independent, values, strict=True))
    others, positive, k = [], [], 10 * links
    for term in terms:
        count = len(term.names(robot))
        start = np.array([fitted.get(k + i, nominal[k + i]) for i in range(count)])
        if term.positive:
            known = start[start > 0]
            start = np.where(start > 0, start, np.min(known) if len(known) else 1e-3)
        others.append(start)
        positive += [term.positive] * count
        k += count
    rest = np.concatenate([np.zeros(0), *others])
    scale = np.where(rest != 0, np.abs(rest), 1.0)
    return PriorParameters(np.concatenate([*consistent, rest]), links, np.array(positive, dtype=bool), scale)


def nearest_parameters(prior: PriorParameters, B: np.ndarray, values: np.ndarray) -> np.ndarray:
    """All parameters with these base parameters, nearest to the prior in θ (to first order)."""
    _, slopes = prior.at(np.zeros(len(prior.parameters)))
    base_slopes = B @ slopes
    step = slopes @ base_slopes.T @ np.linalg.solve(base_slopes @ base_slopes.T, values - B @ prior.parameters)
    return prior.parameters + step
