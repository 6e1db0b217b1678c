"""A fit in which every link is a body that can exist, all links at once.

The unknowns are log-Cholesky coordinates of the links (`pseudo_inertia`), logarithms of what is positive by its meaning, and
the rest as it is, so that least squares has no constraints and an exact Jacobian. Minimised is

    |A B Φ(θ) - z|² + |θ / spread|²

with A, z the data in units of their noise and θ the distance from the prior: of a link in its own size and shape, of the
others in logarithms or in units of their values. The second term decides what the motion does not tell, and only that
where there is much data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from appell.errors import IdentificationError
from appell.identification import pseudo_inertia as pseudo
from appell.robot.regressor_terms import RegressorTerm

if TYPE_CHECKING:
    from appell.identification.base import BaseParameters
    from appell.robot.robot import Robot

RADIUS, SHARE = 0.02, 1e-3
"""Links of the prior are at least this thick [m] and have at least this share of the robot's mass."""

LOOSE = 10.0
"""Spread of friction, rotors and other parameters that belong to no link: they have no prior worth the name."""


class PhysicalFit(NamedTuple):
    """All parameters Φ, (p,), and the covariance of the base parameters B Φ, (b, b)."""

    parameters: np.ndarray
    covariance: np.ndarray


@dataclass(frozen=True)
class Prior:
    """What is known before: θ = 0.

    Attributes:
        parameters: Φ, (p,), its links with mass in every direction.
        links: how many bodies come first, ten parameters each.
        positive: which of the others are positive; those are known by their logarithms.
        scale: unit of the others' θ.
    """

    parameters: np.ndarray
    links: int
    positive: np.ndarray
    scale: np.ndarray

    @cached_property
    def factors(self) -> list[np.ndarray]:
        """U of every link."""
        return [pseudo.factor(own) for own in self.parameters[: 10 * self.links].reshape(-1, 10)]

    def at(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Φ(θ) and its Jacobian (p, p)."""
        values, slopes = np.zeros(len(theta)), np.zeros((len(theta), len(theta)))
        for i, U in enumerate(self.factors):
            own = slice(10 * i, 10 * i + 10)
            values[own], slopes[own, own] = pseudo.body(theta[own], U)
        first, steps = self.parameters[10 * self.links :], theta[10 * self.links :]
        grown = first * np.exp(np.where(self.positive, steps, 0.0))
        values[10 * self.links :] = np.where(self.positive, grown, first + self.scale * steps)
        places = np.arange(10 * self.links, len(theta))
        slopes[places, places] = np.where(self.positive, grown, self.scale)
        return values, slopes


def physical_fit(A: np.ndarray, z: np.ndarray, B: np.ndarray, prior: Prior, spread: float) -> PhysicalFit:
    """The least residuals, from the prior on.

    Args:
        A, z: the data's triangle in units of its noise, (b, b) and (b,).
        B: base parameters of all parameters, (b, p).
        spread: of the prior's links.
    """
    from scipy.optimize import least_squares

    data = A @ B
    size = len(prior.parameters)
    weight = 1.0 / np.where(np.arange(size) < 10 * prior.links, spread, LOOSE)

    def residuals(theta: np.ndarray) -> np.ndarray:
        return np.concatenate([data @ prior.at(theta)[0] - z, weight * theta])

    def jacobian(theta: np.ndarray) -> np.ndarray:
        return np.concatenate([data @ prior.at(theta)[1], np.diag(weight)])

    options = {"method": "dogbox", "max_nfev": 1000, "xtol": 1e-9, "ftol": 1e-10}
    found = least_squares(residuals, np.zeros(size), jacobian, **options)  # pyright: ignore[reportArgumentType]
    if found.status <= 0:
        raise IdentificationError(
            f"the physically consistent fit did not settle in {found.nfev} steps. Give a better prior=, or a smaller spread=."
        )
    parameters, slopes = prior.at(found.x)
    seen = B @ slopes
    return PhysicalFit(parameters, seen @ np.linalg.inv(found.jac.T @ found.jac) @ seen.T)


def prior_of(
    robot: Robot, blocks: Sequence[RegressorTerm], base: BaseParameters, values: np.ndarray, own: np.ndarray
) -> Prior:
    """The prior of a description with parameters `own`, where a fit without demands found the base parameters `values`.

    Links are thickened so that each can exist. What the fit tells of the others is where they begin; what neither tells
    begins at a typical value of its kind.
    """
    links = len(robot.tree.links)
    bodies = own[: 10 * links].reshape(-1, 10)
    total = float(np.maximum(bodies[:, 0], 0.0).sum())
    least = SHARE * total if total > 0 else 1.0
    thick = [pseudo.thickened(each, RADIUS, least) for each in bodies]
    told = dict(zip(base.independent, values, strict=True))
    others, positive, k = [], [], 10 * links
    for block in blocks:
        count = len(block.names(robot))
        start = np.array([told.get(k + i, own[k + i]) for i in range(count)])
        if block.positive:
            known = start[start > 0]
            start = np.where(start > 0, start, np.min(known) if len(known) else 1e-3)
        others.append(start)
        positive += [block.positive] * count
        k += count
    rest = np.concatenate([np.zeros(0), *others])
    scale = np.where(rest != 0, np.abs(rest), 1.0)
    return Prior(np.concatenate([*thick, rest]), links, np.array(positive, dtype=bool), scale)


def nearest(prior: Prior, B: np.ndarray, values: np.ndarray) -> np.ndarray:
    """All parameters with these base parameters, as near to the prior as its own links measure it (to first order)."""
    _, slopes = prior.at(np.zeros(len(prior.parameters)))
    seen = B @ slopes
    step = slopes @ seen.T @ np.linalg.solve(seen @ seen.T, values - B @ prior.parameters)
    return prior.parameters + step
