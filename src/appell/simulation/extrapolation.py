"""Linearly implicit Euler steps, extrapolated: an integrator for joints that damping stops within microseconds.

    (1)  (M + h D) (qd⁺ - qd) = h F(q, qd),   q⁺ = q + h q̇(q, qd⁺)       D: damping, F: all forces with -D qd

Damping is implicit, so that h is not limited by M⁻¹ D; everything else is explicit. The error of n steps of h / n has an
expansion in 1/n. T_n1 is the state after n such steps, and

    (2)  T_n,k+1 = T_nk + (T_nk - T_n-1,k) (n - k) / k

eliminates one power after the other: T_KK is of order K. Errors that damping removes within a step are not counted: the error
estimate is T_KK - T_K,K-1 with its velocities multiplied by (M + h D)⁻¹ M.

Hairer and Wanner, Solving Ordinary Differential Equations II, section IV.9.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from scipy.interpolate import BarycentricInterpolator

from appell.simulation.error_control import ErrorControlledSolver, StepFactors

COLUMNS = 6
"""Order of the method."""
NODES = np.array([0.25, 0.5, 0.75])
"""Parts of a step at which states are computed for the interpolant."""


class LinearlyImplicitEquations(Protocol):
    """A differential equation with steps (1)."""

    def implicit_step(self, t: float, y: np.ndarray, h: float) -> np.ndarray: ...
    def damped(self, y: np.ndarray, change: np.ndarray, h: float) -> np.ndarray:
        """What damping leaves of a change of the state vector y after a time h."""
        ...


class ExtrapolationSolver(ErrorControlledSolver):
    """A `Solver` with steps (2) and error control."""

    factors, exponent = StepFactors(0.8, 0.1, 6.0), -1.0 / COLUMNS

    def __init__(
        self, equations: LinearlyImplicitEquations, t: float, y: np.ndarray, end: float, *,
        rtol: float, atol: float, max_step: float, first_step: float | None,
    ) -> None:  # fmt: skip
        super().__init__(t, y, end, max_step)
        self.equations, self.rtol, self.atol = equations, rtol, atol
        self.h = 1e-6 if first_step is None else first_step

    def attempt(self, t: float, y: np.ndarray, h: float) -> tuple[np.ndarray, float, None]:
        y_new, difference = self._extrapolated(t, y, h)
        scale = self.atol + np.maximum(np.abs(y), np.abs(y_new)) * self.rtol
        return y_new, float(np.sqrt(np.mean(np.square(self.equations.damped(y, difference, h) / scale)))), None

    def _extrapolated(self, t: float, y: np.ndarray, h: float) -> tuple[np.ndarray, np.ndarray]:
        """T_KK and its difference to T_K,K-1."""
        row: list[np.ndarray] = []
        for n in range(1, COLUMNS + 1):
            state, former = y, row
            for i in range(n):
                state = self.equations.implicit_step(t + i * h / n, state, h / n)
            row = [state]
            for k, before in enumerate(former, 1):
                row.append(row[-1] + (row[-1] - before) * (n - k) / k)
        return row[-1], row[-1] - row[-2]

    def dense_output(self) -> Callable[[np.ndarray], np.ndarray]:
        """The polynomial through the states at both ends and between."""
        start = float(self.t_old or 0.0)
        h, y = self.t - start, self.y_old
        between = [self._extrapolated(start, y, part * h)[0] for part in NODES]
        states = BarycentricInterpolator([0.0, *NODES, 1.0], np.array([y, *between, self.y]))
        return lambda t: np.asarray(states((np.asarray(t) - start) / h)).T
