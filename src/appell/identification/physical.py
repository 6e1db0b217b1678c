"""A fit in which every link is physically consistent, all links at once.

The unknowns are log-Cholesky coordinates of the links (`pseudo_inertia`), logarithms of positive parameters, and the other
parameters themselves, so that the least squares have no constraints and an exact Jacobian. The objective is

    |A B Φ(θ) - z|² + |θ / prior_std|²

with A, z the data in units of their noise and θ the distance from the prior: relative to the size and shape of each link, in
logarithms or in units of their values for the others. The second term decides what the data do not determine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from appell.errors import IdentificationError
from appell.identification.base import BaseParameters
from appell.identification.pseudo_inertia import cholesky_factor, from_log_cholesky, with_minimum_inertia
from appell.robot.regressor_terms import RegressorTerm
from appell.robot.robot import Robot

MIN_RADIUS, MIN_MASS_SHARE = 0.02, 1e-3
"""Least radius of gyration [m] of the prior's links, and their least share of the robot's mass."""

TERM_STD = 10.0
"""Relative standard deviation of friction, rotors and other parameters of terms: their prior has little weight."""


class PhysicalFit(NamedTuple):
    """All parameters Φ, (p,), and the covariance of the base parameters B Φ, (b, b)."""

    parameters: np.ndarray
    covariance: np.ndarray


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
    return PhysicalFit(parameters, base_slopes @ np.linalg.inv(solution.jac.T @ solution.jac) @ base_slopes.T)


def prior_parameters(
    robot: Robot, terms: Sequence[RegressorTerm], base: BaseParameters, values: np.ndarray, nominal: np.ndarray
) -> PriorParameters:
    """The prior with parameters `nominal`, where an unconstrained fit has the base parameters `values`.

    Links get a minimum inertia so that each is consistent. Parameters of terms start at the fitted values, else at the
    nominal ones; positive ones that neither gives start at the smallest positive value of their term.
    """
    links = len(robot.tree.links)
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
