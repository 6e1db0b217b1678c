"""Periodic motions as finite Fourier series (J. Swevers et al., IEEE Trans. Robotics and Automation 13 (1997)).

    q(t) = c + Σ_l (a_l sin(l ω t) - b_l cos(l ω t)) / (l ω),   l = 1 ... L

with Σ a_l = 0 and Σ l b_l = 0, so that every period begins and ends at rest: qd = qdd = 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from appell.deprecation import renamed_attribute
from appell.table import Table


@dataclass(frozen=True)
class FourierMotion:
    """A periodic reference trajectory: `motion(t)` gives q, qd, qdd; made by `appell.excitation`.

    Attributes:
        center: c, (n,). [rad, m]
        a, b: coefficients of the velocities, (n, L). [rad/s, m/s]
        duration: one period. [s]
        condition_number: condition number of the regressor along it.
        joint_names: names of the joints.

    Example:
        >>> motion = FourierMotion(np.zeros(1), np.array([[1.0, -1.0]]), np.zeros((1, 2)), 2.0)
        >>> q, qd, qdd = motion(0.0)
        >>> q.shape, qd.tolist(), abs(motion([0.0, 2.0])[0][1] - q).max() < 1e-12
        ((1,), [0.0], np.True_)
    """

    center: np.ndarray
    a: np.ndarray
    b: np.ndarray
    duration: float
    condition_number: float = float("nan")
    joint_names: tuple[str, ...] = ()

    condition = renamed_attribute("condition", "condition_number")

    def __call__(self, t: ArrayLike) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        times = np.asarray(t, dtype=float)
        q, qd, qdd = fourier_series(self.center, self.a, self.b, self.duration, times.reshape(-1))
        return tuple(x[0] if times.ndim == 0 else x for x in (q, qd, qdd))  # type: ignore[return-value]

    def table(self) -> Table:
        """The coefficients, for a controller that evaluates the series itself."""
        names = self.joint_names or tuple(str(k) for k in range(len(self.center)))
        harmonics = range(1, self.a.shape[1] + 1)
        columns = ("joint", "c", *(f"a{k}" for k in harmonics), *(f"b{k}" for k in harmonics))
        rows = tuple(
            (name, float(c), *map(float, a), *map(float, b))
            for name, c, a, b in zip(names, self.center, self.a, self.b, strict=True)
        )
        return Table(
            f"Fourier series of {self.duration:g} s, condition number {self.condition_number:.4g}", columns, rows
        )


def fourier_series(
    center: np.ndarray, a: np.ndarray, b: np.ndarray, duration: float, t: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """q, qd, qdd (..., N, n) at times (N,) for coefficients (..., n, L)."""
    order = np.arange(1, a.shape[-1] + 1) * (2.0 * np.pi / duration)
    sine, cosine = np.sin(np.outer(order, t)), np.cos(np.outer(order, t))
    q = (a / order) @ sine - (b / order) @ cosine
    qd = a @ cosine + b @ sine
    qdd = (b * order) @ cosine - (a * order) @ sine
    return tuple(np.swapaxes(x, -1, -2) for x in (q + center[..., None], qd, qdd))  # type: ignore[return-value]


def starting_at_rest(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The nearest coefficients of a motion that begins at rest."""
    order = np.arange(1, a.shape[-1] + 1)
    a = a - a.mean(axis=-1, keepdims=True)
    return a, b - (b @ order)[..., None] * order / (order @ order)
