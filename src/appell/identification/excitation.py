"""`appell.excitation`: trajectories that excite the parameters of a robot.

The coefficients of a Fourier series are scaled so that each joint reaches its limits of position, velocity or acceleration,
and optimized for a criterion (`appell.identification.excitation_criteria`), with a penalty on forces beyond their limits.
Gradients are finite differences, evaluated in one batch. The series are those of J. Swevers et al., IEEE Trans. Robotics and
Automation 13 (1997),

    q(t) = c + Σ_l (a_l sin(l ω t) - b_l cos(l ω t)) / (l ω),   l = 1 ... L

with Σ a_l = 0 and Σ l b_l = 0, so that every period begins and ends at rest: qd = qdd = 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from appell.deprecation import grouped_arguments, renamed_arguments, renamed_fields
from appell.errors import ArgumentError, IdentificationError
from appell.identification.base import BaseParameters, base_parameters, base_regressor, nominal_parameters
from appell.identification.excitation_criteria import AddedInformation, ConditionNumber
from appell.identification.term_selection import DEFAULT_TERMS
from appell.robot.regressor_terms import RegressorTerm, as_terms
from appell.robot.robot import Robot
from appell.table import Table

if TYPE_CHECKING:
    from appell.identification.result import Identification

DEFAULT_VELOCITY, DEFAULT_ACCELERATION = 2.0, 10.0
"""Limits where neither the robot nor the caller has one. [rad/s, m/s; rad/s², m/s²]"""
DIFFERENCE_STEP = 1e-5
"""Step of the finite differences."""
EFFORT_PENALTY = 30.0


@renamed_fields(condition="condition_number")
@dataclass(frozen=True)
class FourierMotion:
    """A periodic reference trajectory: `motion(t)` gives q, qd, qdd; made by `appell.excitation`.

    Attributes:
        center: c, (n,). [rad, m]
        a, b: coefficients of the velocities, (n, L). [rad/s, m/s]
        duration: one period. [s]
        condition_number: condition number of the regressor along it.
        joint_names: names of the joints.
        uncertainty: of forces predicted at random states, relative to the recorded ones, before and after a fit with this
            motion added, if it was proposed for a fit.

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
    uncertainty: tuple[float, float] | None = None

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
        title = f"Fourier series of {self.duration:g} s, condition number {self.condition_number:.4g}"
        return Table(title, columns, rows)


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


@dataclass(frozen=True)
class MotionLimits:
    """Limits of a motion, one number for all joints or (nv,) each; None for those of the robot.

    Where the robot has none, the limits are ±π rad or ±0.5 m, 2 rad/s or m/s, 10 rad/s² or m/s², and no effort limit.

    Attributes:
        lower, upper: of the coordinates. [rad, m]
        velocity, acceleration: of their magnitudes. [rad/s, m/s; rad/s², m/s²]
        effort: of the magnitudes of the forces. [N m, N]
    """

    lower: ArrayLike | None = None
    upper: ArrayLike | None = None
    velocity: ArrayLike | None = None
    acceleration: ArrayLike | None = None
    effort: ArrayLike | None = None


@renamed_arguments(columns="terms")
@grouped_arguments("limits", MotionLimits, **{field.name: field.name for field in fields(MotionLimits)})
def excitation(
    robot: Robot,
    duration: float = 10.0,
    harmonics: int = 5,
    *,
    terms: Sequence[str | RegressorTerm] = DEFAULT_TERMS,
    limits: MotionLimits = MotionLimits(),
    iterations: int = 30,
    seed: int = 0,
    fit: Identification | None = None,
) -> FourierMotion:
    """A periodic trajectory within the robot's limits that excites its base parameters, or those that a fit determines worst.

    Args:
        duration: one period. [s]
        harmonics: number of harmonics of the Fourier series, at least 2.
        terms: regressor terms besides the link inertias, as in `appell.identify`.
        limits: limits that replace those of the robot, `appell.identification.MotionLimits`.
        iterations: maximum number of optimization steps; 0 returns the best of a few random trajectories.
        seed: seed of these.
        fit: a result of `appell.identify`, whose recordings the motion is to complement; its terms are used.

    Returns:
        A reference trajectory: `motion(t)` gives q, qd and qdd; `motion.duration` is its period. It begins and ends at rest.

    Raises:
        IdentificationError: no trajectory within the effort limits was found.

    Example:
        >>> import appell, numpy as np
        >>> from appell.identification import MotionLimits
        >>> arm = appell.load("planar2r")
        >>> motion = appell.excitation(arm, duration=5.0, limits=MotionLimits(velocity=3.0), iterations=3)
        >>> q, qd, qdd = motion(np.linspace(0.0, motion.duration, 100))
        >>> bool(abs(qd).max() <= 3.0), motion.condition_number < 100
        (True, True)
        >>> fit = appell.identify(arm, np.arange(100) * 0.05, q, arm.inverse_dynamics(q, qd, qdd))
        >>> more = appell.excitation(arm, duration=5.0, iterations=0, fit=fit)
        >>> more.uncertainty[1] < more.uncertainty[0]
        True
    """
    if robot.nq != robot.nv:
        raise ArgumentError("excitation needs joints of one coordinate each. Fix the base and let the arm move.")
    if harmonics < 2 or duration <= 0:
        raise ArgumentError(f"harmonics is {harmonics} and duration {duration} s, expected at least 2 and more than 0.")
    terms = as_terms(terms) if fit is None else fit.terms
    base = base_parameters(robot, terms)
    bounds = _joint_limits(robot, limits)
    criterion = ConditionNumber() if fit is None else AddedInformation.of(robot, bounds, fit, float(duration))
    search = _Search(robot, terms, base, bounds, float(duration), harmonics, criterion)
    starts = np.random.default_rng(seed).normal(size=(12, search.size))
    best = starts[int(np.argmin(search.costs(starts)))]
    if iterations:
        from scipy.optimize import minimize

        best = minimize(search.cost_and_gradient, best, jac=True, method="L-BFGS-B", options={"maxiter": iterations}).x
    return search.motion(best)


def _joint_limits(robot: Robot, given: MotionLimits) -> MotionLimits:
    """Limits of the caller, of the robot, or the default ones, as arrays (n,)."""
    joints = robot.moving_joints
    reach = np.array([0.5 if joint.kind == "prismatic" else np.pi for joint in joints])
    own = np.array([[j.limits.lower, j.limits.upper, j.limits.velocity, j.limits.effort] for j in joints]).T
    limits: Any = MotionLimits(
        _limit("lower", given.lower, np.where(np.isfinite(own[0]), own[0], -reach)),
        _limit("upper", given.upper, np.where(np.isfinite(own[1]), own[1], reach)),
        _limit("velocity", given.velocity, np.where(np.isfinite(own[2]), own[2], DEFAULT_VELOCITY)),
        _limit("acceleration", given.acceleration, np.full(len(joints), DEFAULT_ACCELERATION)),
        _limit("effort", given.effort, own[3]),
    )
    magnitudes = np.minimum.reduce([limits.velocity, limits.acceleration, limits.effort])
    for k, joint in enumerate(joints):
        if not limits.lower[k] < limits.upper[k] or magnitudes[k] <= 0:
            raise ArgumentError(f"joint {joint.name!r} has no room to move between its limits. Give other limits.")
    return limits


def _limit(name: str, given: ArrayLike | None, default: np.ndarray) -> np.ndarray:
    if given is None:
        return default
    try:
        return np.broadcast_to(np.asarray(given, dtype=float), default.shape).copy()
    except ValueError:
        raise ArgumentError(f"{name} has shape {np.shape(given)}, expected a number or ({len(default)},).") from None


@dataclass(frozen=True)
class _Search:
    """The criterion as a function of unconstrained numbers x: coefficients, and the centres of the joints' motions."""

    robot: Robot
    terms: Sequence[RegressorTerm]
    base: BaseParameters
    limits: Any
    duration: float
    harmonics: int
    criterion: ConditionNumber | AddedInformation = field(default_factory=ConditionNumber)

    @property
    def size(self) -> int:
        return self.robot.nv * (2 * self.harmonics + 1)

    def coefficients(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Centre (m, n), a and b (m, n, L) within the limits of position, velocity and acceleration, for x (m, size)."""
        n, L = self.robot.nv, self.harmonics
        a, b = starting_at_rest(x[:, : n * L].reshape(-1, n, L), x[:, n * L : 2 * n * L].reshape(-1, n, L))
        times = np.linspace(0.0, self.duration, 64 * L)
        q, qd, qdd = fourier_series(np.zeros(a.shape[:2]), a, b, self.duration, times)
        room = self.limits.upper - self.limits.lower
        peaks = [np.abs(x).max(axis=1) for x in (qd, qdd)]
        factors = [room / np.ptp(q, axis=1), self.limits.velocity / peaks[0], self.limits.acceleration / peaks[1]]
        factor = 0.98 * np.minimum.reduce(factors)
        low, high = factor * q.min(axis=1), factor * q.max(axis=1)
        share = 0.5 + 0.5 * np.tanh(x[:, 2 * n * L :])
        margin = 0.01 * room
        first, last = self.limits.lower + margin - low, self.limits.upper - margin - high
        return first + share * np.maximum(last - first, 0.0), factor[..., None] * a, factor[..., None] * b

    def costs(self, x: np.ndarray) -> np.ndarray:
        """The criterion plus the penalty on forces, for x (m, size)."""
        times = np.arange(16 * self.harmonics) * (self.duration / (16 * self.harmonics))
        states = fourier_series(*self.coefficients(x), self.duration, times)
        flat = (array.reshape(-1, self.robot.nv) for array in states)
        K = base_regressor(self.robot, self.base, self.terms, *flat, check=False)
        violation = self.effort_violation(K).reshape(len(x), -1).max(axis=1)
        return self.criterion.costs(K.reshape(len(x), -1, *K.shape[1:])) + EFFORT_PENALTY * violation**2

    def effort_violation(self, K: np.ndarray) -> np.ndarray:
        """Relative violation of the effort limits, with a margin of 3 %, (N, n)."""
        tau = K @ self.base.of(nominal_parameters(self.robot, self.terms))
        return np.maximum(np.abs(tau) / self.limits.effort - 0.97, 0.0)

    def cost_and_gradient(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """Cost and its gradient by finite differences, in pieces of a few dozen trajectories."""
        steps = np.concatenate([x[None], x + DIFFERENCE_STEP * np.eye(self.size)])
        costs = np.concatenate([self.costs(part) for part in np.array_split(steps, -(-len(steps) // 24))])
        return float(costs[0]), (costs[1:] - costs[0]) / DIFFERENCE_STEP

    def motion(self, x: np.ndarray) -> FourierMotion:
        """The trajectory, its amplitude reduced until the forces are within their limits."""
        center, a, b = (array[0] for array in self.coefficients(x[None]))
        times = np.linspace(0.0, self.duration, 256 * self.harmonics)
        for factor in (1.0, 0.95, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2):
            states = fourier_series(center, factor * a, factor * b, self.duration, times)
            K = base_regressor(self.robot, self.base, self.terms, *states)
            if self.effort_violation(K).max() <= 0.03:
                rows = K.reshape(-1, len(self.base))
                singular = np.linalg.svd(rows / np.linalg.norm(rows, axis=0), compute_uv=False)
                condition = float(singular[0] / max(singular[-1], 1e-300))
                return FourierMotion(
                    center, factor * a, factor * b, self.duration, condition, self.robot.joint_names,
                    self.criterion.uncertainty(K),
                )  # fmt: skip
        raise IdentificationError(
            "no trajectory within the effort limits was found: holding the robot at rest in the middle of its range exceeds "
            "them. Give other limits lower, upper or effort, or another seed."
        )
