"""Explicit Runge-Kutta methods with error control: the tableaux of `scipy.integrate`, all stages of a step in one call.

Hairer, Nørsett and Wanner, Solving Ordinary Differential Equations I, sections II.4 (step size) and II.5 (DOP853).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol

import numpy as np

from appell.simulation.error_control import ErrorControlledSolver, StepFactors

SAFETY, MIN_FACTOR, MAX_FACTOR = 0.9, 0.2, 10.0
"""Factors of the step size control."""


class Equations(Protocol):
    """A differential equation ẏ = rate(t, y)."""

    def rate(self, t: float, y: np.ndarray) -> np.ndarray: ...
    def stages(
        self, t: float, y: np.ndarray, f: np.ndarray, h: float, A: np.ndarray, c: np.ndarray, done: int = 1
    ) -> np.ndarray:
        """Rates K (s, m) of all stages of a step, k_i = rate(t + c_i h, y + h Σ_j A_ij k_j).

        Args:
            f: rate at (t, y), k_0; or the rates of the first `done` stages.
        """
        ...


def stages_by_rate(
    rate: Callable[[float, np.ndarray], np.ndarray],
    t: float, y: np.ndarray, f: np.ndarray, h: float, A: np.ndarray, c: np.ndarray, done: int = 1,
) -> np.ndarray:  # fmt: skip
    """`Equations.stages` by calls of a rate."""
    K = np.empty((len(c), len(y)))
    K[:done] = f
    for i in range(done, len(c)):
        K[i] = rate(t + c[i] * h, y + (h * A[i, :i]) @ K[:i])
    return K


@dataclass(frozen=True, eq=False)
class EmbeddedTableau:
    """An explicit method; the last of its s stages is the rate at the end of the step.

    Attributes:
        A, c: coefficients (s, s) and times (s,) of the stages; the last row of A gives the new state.
        errors: coefficients of the error estimates, (1 or 2, s); of two, the second is the coarser one.
        exponent: of the error in the factor for the next step.
        interpolant: state vectors (m, N) at fractions x (N,) of a step, from y at its ends, K and h.
        more: coefficients of further stages for the interpolant.
    """

    A: np.ndarray
    c: np.ndarray
    errors: np.ndarray
    exponent: float
    interpolant: Callable[..., Callable[[np.ndarray], np.ndarray]]
    more: tuple[np.ndarray, np.ndarray] | None = None

    def error(self, K: np.ndarray, h: float, scale: np.ndarray) -> float:
        """Size of the local error; 1 is the tolerance."""
        sizes = np.square(self.errors @ (K / scale)).sum(axis=1).tolist()
        if len(sizes) == 1:
            return h * math.sqrt(sizes[0] / len(scale))
        fine, coarse = sizes
        return h * fine / math.sqrt((fine + 0.01 * coarse) * len(scale)) if fine or coarse else 0.0


@cache
def embedded_tableau(method: Any) -> EmbeddedTableau:
    """The tableau of `scipy.integrate.DOP853`, `RK45` or `RK23`."""
    s = method.n_stages
    A = np.zeros((s + 1, s + 1))
    A[:s, : method.A.shape[1]], A[s, :s] = method.A, method.B
    c = np.append(method.C, 1.0)
    exponent = -1.0 / (method.error_estimator_order + 1)
    if not hasattr(method, "E3"):
        return EmbeddedTableau(A, c, method.E[None], exponent, _polynomial(method.P))
    errors = np.stack([method.E5, method.E3])
    total = s + 1 + len(method.C_EXTRA)
    more = np.zeros((total, total))
    more[: s + 1, : s + 1], more[s + 1 :, : method.A_EXTRA.shape[1]] = A, method.A_EXTRA
    return EmbeddedTableau(A, c, errors, exponent, _nested(method.D), (more, np.append(c, method.C_EXTRA)))


def _polynomial(P: np.ndarray) -> Any:
    """y + h x Σ_k x^k (K^T P)_k."""

    def interpolant(y: np.ndarray, y_new: np.ndarray, K: np.ndarray, h: float) -> Callable[[np.ndarray], np.ndarray]:
        Q = h * (K.T @ P)
        return lambda x: (Q @ np.cumprod(np.broadcast_to(x, (P.shape[1], *np.shape(x))), axis=0)).T + y

    return interpolant


def _nested(D: np.ndarray) -> Any:
    """y + x (F_0 + (1 - x) (F_1 + x (F_2 + ...)))."""

    def interpolant(y: np.ndarray, y_new: np.ndarray, K: np.ndarray, h: float) -> Callable[[np.ndarray], np.ndarray]:
        change, first, last = y_new - y, K[0], K[len(K) - 4]
        F = np.vstack([change, h * first - change, 2.0 * change - h * (first + last), h * (D @ K)])

        def states(x: np.ndarray) -> np.ndarray:
            x = np.asarray(x)[..., None]
            factors = np.where(np.arange(len(F)) % 2, 1.0 - x, x)
            return y + np.cumprod(factors, axis=-1) @ F

        return states

    return interpolant


class EmbeddedSolver(ErrorControlledSolver):
    """A `Solver` with the steps of an `EmbeddedTableau`."""

    factors = StepFactors(SAFETY, MIN_FACTOR, MAX_FACTOR)

    def __init__(
        self, tableau: EmbeddedTableau, equations: Equations, t: float, y: np.ndarray, end: float, *,
        rtol: float, atol: float, max_step: float, first_step: float | None,
    ) -> None:  # fmt: skip
        super().__init__(t, y, end, max_step)
        self.tableau, self.equations, self.exponent = tableau, equations, tableau.exponent
        self.rtol, self.atol = max(rtol, 100.0 * np.finfo(float).eps), atol
        self.f = equations.rate(t, y)
        self.h = self._first_step() if first_step is None else first_step
        self._last: tuple[np.ndarray, np.ndarray, float] | None = None

    def _first_step(self) -> float:
        """The step after which an explicit Euler step changes the state by a hundredth of its size."""
        scale = self.atol + np.abs(self.y) * self.rtol
        size, rate = (float(np.sqrt(np.mean(np.square(x / scale)))) for x in (self.y, self.f))
        return 0.01 * size / rate if size > 1e-5 and 1e-5 < rate < math.inf else 1e-6

    def attempt(self, t: float, y: np.ndarray, h: float) -> tuple[np.ndarray, float, np.ndarray]:
        f = self.f if t == self.t or self._last is None else self._last[1][0]
        K = self.equations.stages(t, y, f, h, self.tableau.A, self.tableau.c)
        y_new = y + (h * self.tableau.A[-1]) @ K
        scale = self.atol + np.maximum(np.abs(y), np.abs(y_new)) * self.rtol
        return y_new, self.tableau.error(K, h, scale), K

    def accept(self, y: np.ndarray, h: float, found: np.ndarray) -> None:
        self._last, self.f = (y, found, h), found[-1]

    @property
    def end_rates(self) -> tuple[np.ndarray, np.ndarray]:
        """Rates at both ends of the last step."""
        assert self._last is not None
        return self._last[1][0], self.f

    def dense_output(self) -> Callable[[np.ndarray], np.ndarray]:
        assert self._last is not None
        y, K, h = self._last
        if self.tableau.more is not None:
            K = self.equations.stages(
                self.t - h if self.t_old is None else self.t_old, y, K, h, *self.tableau.more, len(K)
            )
        states, start = self.tableau.interpolant(y, self.y, K, h), self.t_old or 0.0
        return lambda t: states((np.asarray(t) - start) / h).T
