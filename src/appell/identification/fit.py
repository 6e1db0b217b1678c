"""Least squares in the base parameters: weights of the speeds, solver, uncertainty."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from appell.errors import ArgumentError, IdentificationError, unknown_name_message
from appell.identification.base import BaseParameters
from appell.identification.solvers import SOLVERS
from appell.identification.triangles import Triangles

WEIGHTINGS = {"equal": 0, "residual": 1, "iterated": 30, "robust": 30}
"""How often the weights of the speeds are renewed from the residuals."""

HUBER, ROUNDS = 1.345, 12
"""Residuals beyond so many standard deviations count less in a robust fit, and how often it is repeated."""

UNSEEN = 1e-7
"""A direction of parameters that the motion excites this much less than its best one is not excited."""


@dataclass(frozen=True)
class Fit:
    """Base parameters that fit a recording.

    Attributes:
        values: (b,).
        weights: of the speeds, 1 / variance of their noise where they were found from it, (nv,).
        sigma: standard deviation of each speed's residual. [N m, N]
        operator: G with values = G z for the weighted stacked system.
        condition: condition number of that system, columns scaled to unit length.
    """

    values: np.ndarray
    weights: np.ndarray
    sigma: np.ndarray
    operator: np.ndarray
    condition: float

    def covariance(self, data: Triangles, correlation: np.ndarray) -> np.ndarray:
        """Covariance of the values for residuals with standard deviation sigma, each worth 1 / correlation samples."""
        noise = data.per_row(self.weights * self.sigma**2 * correlation)
        return (self.operator * noise) @ self.operator.T


def fit(
    data: Triangles, base: BaseParameters, solver: str, weights: str | np.ndarray, still: Sequence[str] | None = ()
) -> Fit:
    """Solve with fixed weights, or renew them from the residuals until they stay.

    `still` names the joints that do not move, for the message about parameters that are not excited; None allows such.
    """
    if solver not in SOLVERS:
        raise ArgumentError(unknown_name_message("solver", solver, SOLVERS))
    if still is not None:
        refuse_unexcited(data, base, still)
    if not isinstance(weights, str):
        return _solve(data, solver, np.asarray(weights, dtype=float))
    if weights not in WEIGHTINGS:
        raise ArgumentError(unknown_name_message("weights", weights, WEIGHTINGS))
    found = _solve(data, solver, np.ones(len(data.speeds)))
    for _ in range(WEIGHTINGS[weights]):
        before, found = found, _solve(data, solver, 1.0 / found.sigma**2)
        if np.allclose(found.sigma, before.sigma, rtol=1e-10, atol=0.0):
            break
    return found


def robust_weights(residuals: np.ndarray, held: np.ndarray) -> np.ndarray:
    """Weights of samples (n, nv) after P. Huber: 1 up to 1.345 standard deviations, then falling as 1 / |residual|.

    The standard deviation of each column is taken from the median of the fitted residuals, which outliers do not move.
    """
    scale = np.maximum(np.median(np.abs(residuals[~held]), axis=0) / 0.6745, np.finfo(float).tiny)
    return np.minimum(1.0, HUBER * scale / np.maximum(np.abs(residuals), np.finfo(float).tiny))


def _solve(data: Triangles, solver: str, weights: np.ndarray) -> Fit:
    A, z = data.stacked(weights)
    scale = np.linalg.norm(A, axis=0)
    scale[scale == 0.0] = 1.0
    rest = float(sum(w * each.rest for w, each in zip(weights, data.speeds, strict=True)))
    G = SOLVERS[solver](A / scale, z, rest, int(data.counts.sum())) / scale[:, None]
    values = G @ z
    singular = np.linalg.svd(A / scale, compute_uv=False)
    return Fit(values, weights, _sigma(data, A, G, values), G, float(singular[0] / max(singular[-1], 1e-300)))


def _sigma(data: Triangles, A: np.ndarray, G: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Root of residual / (samples - parameters spent on this speed); never below rounding."""
    spent = np.einsum("rb,br->r", A, G)
    edges = np.cumsum([0, *(len(each.R) for each in data.speeds)])
    per_speed = np.array([spent[a:b].sum() for a, b in pairwise(edges)])
    rounding = 1e-24 * max(each.power for each in data.speeds)
    return np.sqrt(np.maximum(data.residuals(values), rounding) / np.maximum(data.counts - per_speed, 1.0))


def refuse_unexcited(data: Triangles, base: BaseParameters, still: Sequence[str]) -> None:
    """Raise if the motion leaves parameters unknown, naming them."""
    unknown, combined = unexcited(data)
    if not unknown and not combined:
        return
    names = base.base_names
    alone = ", ".join(names[k] for k in unknown) or "none"
    mixed = ", ".join(names[k] for k in combined) or "none"
    stuck = f"Joints that stand still, or whose encoders are stuck: {', '.join(still)}. " if still else ""
    raise IdentificationError(
        f"the motion does not excite {len(unknown) + len(combined)} of {len(names)} base parameters. It says nothing about: "
        f"{alone}. It says only combinations of: {mixed}. {stuck}Record a motion of appell.excitation, in which every joint "
        "turns both ways and accelerates, or fit with physical=True, which keeps the prior where the motion says nothing."
    )


def unexcited(data: Triangles) -> tuple[list[int], list[int]]:
    """Base parameters without any effect on the motion, and those that only appear in combinations."""
    A, _ = data.stacked(np.ones(len(data.speeds)))
    scale = np.linalg.norm(A, axis=0)
    nothing = scale <= 1e-9 * scale.max(initial=0.0)
    seen = np.flatnonzero(~nothing)
    if not len(seen):
        return [int(k) for k in np.flatnonzero(nothing)], []
    _, S, Vt = np.linalg.svd(A[:, seen] / scale[seen])
    full = np.zeros(len(seen))
    full[: len(S)] = S
    blind = Vt[full <= UNSEEN * S[0]]
    mixed = seen[(np.abs(blind) > 1e-5).any(axis=0)] if len(blind) else seen[:0]
    return [int(k) for k in np.flatnonzero(nothing)], [int(k) for k in mixed]
