"""`appell.excitation`: motions along which the parameters of a robot show best.

The coefficients of a Fourier series are scaled so that each joint fills its limits of position, speed and acceleration, and
then changed so that the condition number of the regressor of the base parameters falls, with a penalty on forces beyond
their limits. Slopes are differences, all taken in one batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from appell.deprecation import renamed_arguments
from appell.errors import ArgumentError, IdentificationError
from appell.identification.base import BaseParameters, base_parameters
from appell.identification.fourier import FourierMotion, from_rest, series
from appell.identification.identify import DEFAULT_TERMS
from appell.identification.naming import of_links, own_parameters
from appell.robot.regressor_terms import RegressorTerm, append_terms, as_terms

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from appell.robot.robot import Robot

SPEED, ACCELERATION = 2.0, 10.0
"""Limits where neither the robot nor the caller has one. [rad/s, m/s; rad/s², m/s²]"""
STEP = 1e-5
"""Of the differences that are taken for slopes."""
PENALTY = 30.0


class Limits(NamedTuple):
    """Of every joint: position from and to, speed, acceleration, force, (n,) each."""

    lower: np.ndarray
    upper: np.ndarray
    velocity: np.ndarray
    acceleration: np.ndarray
    effort: np.ndarray


@renamed_arguments(columns="terms")
def excitation(
    robot: Robot,
    duration: float = 10.0,
    harmonics: int = 5,
    *,
    terms: Sequence[str | RegressorTerm] = DEFAULT_TERMS,
    lower: ArrayLike | None = None,
    upper: ArrayLike | None = None,
    velocity: ArrayLike | None = None,
    acceleration: ArrayLike | None = None,
    effort: ArrayLike | None = None,
    iterations: int = 30,
    seed: int = 0,
) -> FourierMotion:
    """A periodic motion within the robot's limits along which its base parameters show best.

    Args:
        duration: of one period. [s]
        harmonics: of the Fourier series, from 2.
        columns: what acts beside the links, as in `appell.identify`.
        lower, upper, velocity, acceleration, effort: limits, one for all joints or (nv,). Those of the robot by default; where
            it has none, ±π for angles and ±0.5 m, 2 rad/s or m/s, 10 rad/s² or m/s², and no limit of force.
        iterations: of the search; 0 gives the best of a few random motions.
        seed: of these.

    Returns:
        A reference: `motion(t)` gives q, qd and qdd; `motion.duration` is its period. It begins and ends at rest.

    Raises:
        IdentificationError: no motion was found that keeps to the limits of force.

    Example:
        >>> import appell, numpy as np
        >>> arm = appell.load("planar2r")
        >>> motion = appell.excitation(arm, duration=5.0, velocity=3.0, iterations=3)
        >>> q, qd, qdd = motion(np.linspace(0.0, motion.duration, 100))
        >>> bool(abs(qd).max() <= 3.0), motion.condition < 100
        (True, True)
    """
    if robot.nq != robot.nv:
        raise ArgumentError("excitation needs joints of one coordinate each; fix the base and let the arm move.")
    if harmonics < 2 or duration <= 0:
        raise ArgumentError(f"harmonics is {harmonics} and duration {duration} s, expected at least 2 and more than 0.")
    added = as_terms(terms)
    base = base_parameters(robot, added)
    limits = limits_of(robot, lower, upper, velocity, acceleration, effort)
    search = Search(robot, added, base, limits, float(duration), harmonics)
    rng = np.random.default_rng(seed)
    starts = rng.normal(size=(12, search.size))
    best = starts[int(np.argmin(search.costs(starts)))]
    if iterations:
        from scipy.optimize import minimize

        best = minimize(search.cost_and_slope, best, jac=True, method="L-BFGS-B", options={"maxiter": iterations}).x
    return search.motion(best)


def limits_of(robot: Robot, lower, upper, velocity, acceleration, effort) -> Limits:
    """Limits of the caller, of the robot, or usual ones."""
    joints = robot.moving_joints
    reach = np.array([0.5 if joint.kind == "prismatic" else np.pi for joint in joints])
    own = np.array([[j.limits.lower, j.limits.upper, j.limits.velocity, j.limits.effort] for j in joints]).T
    found = Limits(
        _limit("lower", lower, np.where(np.isfinite(own[0]), own[0], -reach)),
        _limit("upper", upper, np.where(np.isfinite(own[1]), own[1], reach)),
        _limit("velocity", velocity, np.where(np.isfinite(own[2]), own[2], SPEED)),
        _limit("acceleration", acceleration, np.full(len(joints), ACCELERATION)),
        _limit("effort", effort, own[3]),
    )
    for k, joint in enumerate(joints):
        if not found.lower[k] < found.upper[k] or min(x[k] for x in found[2:]) <= 0:
            raise ArgumentError(f"joint {joint.name!r} has no room to move between its limits. Give other limits.")
    return found


def _limit(name: str, given, own: np.ndarray) -> np.ndarray:
    if given is None:
        return own
    try:
        return np.broadcast_to(np.asarray(given, dtype=float), own.shape).copy()
    except ValueError:
        raise ArgumentError(f"{name} has shape {np.shape(given)}, expected a number or ({len(own)},).") from None


@dataclass(frozen=True)
class Search:
    """The condition number as a function of plain numbers x: coefficients, and where each joint's centre lies."""

    robot: Robot
    blocks: Sequence[RegressorTerm]
    base: BaseParameters
    limits: Limits
    duration: float
    harmonics: int

    @property
    def size(self) -> int:
        return self.robot.nv * (2 * self.harmonics + 1)

    @property
    def samples(self) -> np.ndarray:
        """Times at which the limits and the regressor are looked at."""
        return np.arange(16 * self.harmonics) * (self.duration / (16 * self.harmonics))

    def coefficients(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Centre (m, n), a and b (m, n, L) within the limits of position, speed and acceleration, for x (m, size)."""
        n, L = self.robot.nv, self.harmonics
        a, b = from_rest(x[:, : n * L].reshape(-1, n, L), x[:, n * L : 2 * n * L].reshape(-1, n, L))
        times = np.linspace(0.0, self.duration, 64 * L)
        q, qd, qdd = series(np.zeros(a.shape[:2]), a, b, self.duration, times)
        room = self.limits.upper - self.limits.lower
        factors = [room / np.ptp(q, axis=1), self.limits.velocity / _peak(qd), self.limits.acceleration / _peak(qdd)]
        factor = 0.98 * np.minimum.reduce(factors)
        low, high = factor * q.min(axis=1), factor * q.max(axis=1)
        share = 0.5 + 0.5 * np.tanh(x[:, 2 * n * L :])
        margin = 0.01 * room
        first, last = self.limits.lower + margin - low, self.limits.upper - margin - high
        return first + share * np.maximum(last - first, 0.0), factor[..., None] * a, factor[..., None] * b

    def regressor(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray, check: bool = True) -> np.ndarray:
        """K_b of the base parameters, (..., nv, b)."""
        K = of_links(self.robot, self.robot.regressor(q, qd, qdd, check=check))
        return append_terms(K, self.blocks, q, qd, qdd)[..., list(self.base.independent)]

    def costs(self, x: np.ndarray) -> np.ndarray:
        """Logarithm of the condition number, and the penalty on forces, for x (m, size)."""
        states = series(*self.coefficients(x), self.duration, self.samples)
        flat = [each.reshape(-1, self.robot.nv) for each in states]
        K = self.regressor(*flat, check=False)
        rows = K.reshape(len(x), -1, len(self.base))
        scale = np.maximum(np.linalg.norm(rows, axis=1), 1e-12)
        gram = np.swapaxes(rows, 1, 2) @ rows / (scale[:, :, None] * scale[:, None, :])
        values = np.linalg.eigvalsh(gram)
        condition = 0.5 * np.log(values[:, -1] / np.maximum(values[:, 0], 1e-14))
        return condition + PENALTY * self.excess(K).reshape(len(x), -1).max(axis=1) ** 2

    def excess(self, K: np.ndarray) -> np.ndarray:
        """How far forces are beyond their limits, relative, (N, n)."""
        tau = K @ self.base.of(own_parameters(self.robot, self.blocks))
        return np.maximum(np.abs(tau) / self.limits.effort - 0.97, 0.0)

    def cost_and_slope(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """Cost and its gradient by differences, in pieces of a few dozen motions."""
        steps = np.concatenate([x[None], x + STEP * np.eye(self.size)])
        costs = np.concatenate([self.costs(part) for part in np.array_split(steps, -(-len(steps) // 24))])
        return float(costs[0]), (costs[1:] - costs[0]) / STEP

    def motion(self, x: np.ndarray) -> FourierMotion:
        """The motion, its swing made smaller until the forces keep to their limits."""
        center, a, b = (each[0] for each in self.coefficients(x[None]))
        times = np.linspace(0.0, self.duration, 256 * self.harmonics)
        for factor in (1.0, 0.95, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2):
            states = series(center, factor * a, factor * b, self.duration, times)
            K = self.regressor(*states)
            if self.excess(K).max() <= 0.03:
                rows = K.reshape(-1, len(self.base))
                singular = np.linalg.svd(rows / np.linalg.norm(rows, axis=0), compute_uv=False)
                condition = float(singular[0] / max(singular[-1], 1e-300))
                return FourierMotion(center, factor * a, factor * b, self.duration, condition, self.robot.joint_names)
        raise IdentificationError(
            "no motion was found that keeps to the limits of force: holding the robot still takes more than its drives have "
            "in the middle of its range. Give other limits lower=, upper= or effort=, or another seed."
        )


def _peak(x: np.ndarray) -> np.ndarray:
    return np.maximum(np.abs(x).max(axis=1), 1e-12)
