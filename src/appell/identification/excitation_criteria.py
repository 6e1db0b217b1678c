"""What makes a motion good for identification.

Without data it is the condition number of the regressor of the base parameters. After a fit it is what the motion adds to it:
with the information matrix F of the fit and F' = Σ_j K_j^T K_j / σ_j² of the motion, the variance of forces that are predicted at
random states is the trace of P (F + F')⁻¹, P the mean of K^T K there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from appell.identification.base import base_regressor
from appell.robot.robot import Robot

if TYPE_CHECKING:
    from appell.identification.result import Identification

RANDOM_STATES = 300
"""States at which forces are predicted, to compare motions after a fit."""
NO_INFORMATION = 1e-9
"""Information on directions without any, relative to that on single parameters."""


@dataclass(frozen=True)
class ConditionNumber:
    """The condition number of the regressor with unit columns."""

    def costs(self, K: np.ndarray) -> np.ndarray:
        """Its logarithm, (m,), for regressors (m, N, nv, b)."""
        rows = K.reshape(len(K), -1, K.shape[-1])
        scale = np.maximum(np.linalg.norm(rows, axis=1), 1e-12)
        gram = np.swapaxes(rows, 1, 2) @ rows / (scale[:, :, None] * scale[:, None, :])
        values = np.linalg.eigvalsh(gram)
        return 0.5 * np.log(values[:, -1] / np.maximum(values[:, 0], 1e-14))

    def uncertainty(self, K: np.ndarray) -> tuple[float, float] | None:
        """None: there is no fit."""
        return None


@dataclass(frozen=True)
class AddedInformation:
    """Uncertainty of predicted forces when a motion is fitted together with the recordings of a fit.

    Attributes:
        information: F of the fit, (b, b).
        weights: 1 / σ² of independent samples of each force, times those of the motion, (nv,).
        P: mean of K^T K at random states, relative to the squared recorded forces, (b, b).
    """

    information: np.ndarray
    weights: np.ndarray
    P: np.ndarray

    @classmethod
    def of(cls, robot: Robot, limits: Any, fit: Identification, duration: float) -> AddedInformation:
        """Random states within the limits, as fast as these allow."""
        rng = np.random.default_rng(0)
        q = rng.uniform(limits.lower, limits.upper, (RANDOM_STATES, robot.nv))
        qd, qdd = (rng.uniform(-x, x, q.shape) for x in (limits.velocity, limits.acceleration))
        K = base_regressor(robot, fit.base, fit.terms, q, qd, qdd, check=False)
        samples = duration / float(np.median(np.diff(fit.t)))
        P = np.einsum("njb,njc->bc", K, K) / (len(K) * np.sum(np.mean(fit.measured**2, axis=0)))
        return cls(fit.information, samples / (fit.sigma**2 * fit.correlation), P)

    def costs(self, K: np.ndarray) -> np.ndarray:
        """Logarithm of the uncertainty, (m,), for regressors (m, N, nv, b)."""
        added = np.einsum("mnjb,j,mnjc->mbc", K, self.weights / K.shape[1], K, optimize=True)
        return np.log([self._relative(self.information + each) for each in added])

    def uncertainty(self, K: np.ndarray) -> tuple[float, float] | None:
        """Before and after a motion with this regressor (N, nv, b)."""
        return self._relative(self.information), float(np.exp(self.costs(K[None])[0]))

    def _relative(self, information: np.ndarray) -> float:
        """Root of the trace of P F⁻¹, with unit diagonal of F; directions without information are very uncertain."""
        scale = np.sqrt(np.maximum(np.diag(information), 1e-12 * np.diag(information).max()))
        unit = information / np.outer(scale, scale) + NO_INFORMATION * np.eye(len(scale))
        return float(np.sqrt(np.trace(np.linalg.solve(unit, self.P / np.outer(scale, scale)))))
