"""Forward kinematics: orientations of the platform from the angles of the actuators.

With the actuators at θ_i the axes w_i are known, and eq. (30), w_i · R v_i* = cos α2, is a quadric x^T A_i x = 0 in the
quaternion x of R. Three legs give three quadrics, which meet in eight points of projective 3-space (Bézout), counted in complex
numbers; the real ones are the assembly modes. They are refined by Newton's method and kept if all residuals vanish. Other robots
use Newton's method from an initial guess.

All common points are found by the eigenvalues of one matrix. In affine coordinates x = (1, y) each quadric is a polynomial of
degree 2; their multiples by all monomials of degree up to 2 are 30 rows over the 35 monomials of degree up to 4, and the null
space of these rows has dimension eight: it is spanned by the monomials taken at the solutions. On it, multiplication by a linear
form is an 8x8 matrix, and its eigenvectors are the solutions (Macaulay, Stetter). A fixed rotation of x puts the plane at
infinity in no special place.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.transform import Rotation

from appell.arrays import as_batch
from appell.closed_loop.spherical.kinematics import DEPENDENT_JOINTS
from appell.closed_loop.spherical.leg import Leg
from appell.deprecation import renamed_fields
from appell.errors import ArgumentError, LoopClosureError

if TYPE_CHECKING:
    from appell.closed_loop.spherical.robot import SphericalRobot

RESIDUAL_TOL = 1e-12
"""Largest |w · v - cos α2| of a solution."""
IMAGINARY_TOL = 1e-4
"""Largest imaginary part of a solution before refinement."""
DUPLICATE_TOL = 1e-6
"""Solutions whose quaternions are closer than this are equal."""
ANGLE_TOL = 1e-10
"""Largest error of the angles of the actuators of a solution near a start. [rad]"""
MAX_STEP = 0.3
"""Of one coordinate per iteration. [rad]"""
MAX_ITERATIONS = 50
COUNT = 8
"""Solutions, real or complex."""


@renamed_fields(assembly="working_modes")
@dataclass(frozen=True)
class AssemblyModes:
    """All orientations of the platform at given angles of the actuators.

    Attributes:
        q: Euler angles, (k, 3), ordered by the rotation angle from q = 0.
        working_modes: for each, the root of eq. (34) of every leg, `"plus"` or `"minus"`.
        residual: largest |w · v - cos α2| of each, (k,).
    """

    q: np.ndarray
    working_modes: tuple[tuple[str, ...], ...]
    residual: np.ndarray

    def __len__(self) -> int:
        return len(self.q)

    def __iter__(self) -> Iterator[tuple[np.ndarray, tuple[str, ...]]]:
        return iter(zip(self.q, self.working_modes, strict=True))

    def nearest(self, start: ArrayLike) -> np.ndarray:
        """The Euler angles of the orientation with the smallest rotation angle from `start`, (3,)."""
        if not len(self):
            raise LoopClosureError(
                "no orientation of the platform is possible at these angles of the actuators.", status="unreachable"
            )
        return self.q[int(np.argmin((orientation(start).inv() * orientation(self.q)).magnitude()))]


def all_assembly_modes(robot: SphericalRobot, angles: ArrayLike) -> AssemblyModes:
    """Documented at `SphericalRobot.forward_kinematics`."""
    if not _has_closed_form(robot):
        raise ArgumentError(
            f"all assembly modes are computed for three legs of three joints, each actuated at the base; {robot.name} differs. "
            "Use forward_kinematics_near with a start."
        )
    (theta,), batch_shape = as_batch([("angles", 3)], [angles])
    if batch_shape:
        raise ArgumentError(f"angles has shape {np.shape(angles)}, expected (3,): one set of angles per call.")
    w = np.array([middle_axis(leg, angle) for leg, angle in zip(robot.legs, theta[0], strict=True)])
    v = np.array([leg.tip.direction for leg in robot.legs])
    c = np.cos([leg.arcs[1] for leg in robot.legs])
    quadrics = np.array([quadric(*leg) for leg in zip(w, v, c, strict=True)])
    solutions: list[np.ndarray] = []
    for x in common_points(quadrics):
        x = x * np.exp(-1j * np.angle(x[np.argmax(np.abs(x))]))  # projective: remove the complex phase
        if np.abs(x.imag).max() > IMAGINARY_TOL:
            continue
        polished = polish(quadrics, x.real)
        if polished is not None and all(1.0 - abs(polished @ other) > 0.5 * DUPLICATE_TOL**2 for other in solutions):
            solutions.append(polished)
    solutions.sort(key=lambda x: -abs(x[0]))
    if not solutions:
        return AssemblyModes(np.zeros((0, 3)), (), np.zeros(0))
    platform = Rotation.from_quat(np.roll(solutions, -1, axis=1))  # scalar last
    u = np.array([leg.base.direction for leg in robot.legs])
    moved = np.einsum("kij,lj->kli", platform.as_matrix(), v)
    residual = np.abs(np.einsum("kli,li->kl", moved, w) - c).max(axis=1, initial=0.0)
    h = np.einsum("kli,li->kl", np.cross(moved, w), u)  # (39); its sign is that of the root
    names = tuple(tuple("plus" if value >= 0.0 else "minus" for value in row) for row in h)
    return AssemblyModes(platform.as_euler("ZYX"), names, residual)


def _has_closed_form(robot: SphericalRobot) -> bool:
    """Whether the robot has three legs of three joints, each actuated at the base."""
    return len(robot.legs) == 3 and all(leg.joints == DEPENDENT_JOINTS and leg.actuated == (0,) for leg in robot.legs)


def middle_axis(leg: Leg, theta: float) -> np.ndarray:
    """w of eq. (29)."""
    rotation = np.array(list(leg.base.rotation.matrix())).reshape(3, 3)
    s = np.sin(leg.arcs[0])
    return rotation @ np.array([s * np.sin(theta), -s * np.cos(theta), np.cos(leg.arcs[0])])


def quadric(w: np.ndarray, v: np.ndarray, c: float) -> np.ndarray:
    """A with x^T A x = w · R(x) v - c for quaternions x = (scalar, vector) of length 1."""
    cross = np.cross(v, w)
    A = np.empty((4, 4))
    A[0, 0] = w @ v
    A[0, 1:] = A[1:, 0] = cross
    A[1:, 1:] = np.outer(w, v) + np.outer(v, w) - (w @ v) * np.eye(3)
    return A - c * np.eye(4)


def polish(quadrics: np.ndarray, x: np.ndarray) -> np.ndarray | None:
    """The common point near x, of any length, by Newton's method on the sphere of quaternions; None if it does not converge."""
    for _ in range(MAX_ITERATIONS):
        gradients = quadrics @ x
        value = gradients @ x
        step = np.linalg.lstsq(np.vstack([2.0 * gradients, x]), np.append(-value, 0.0), rcond=None)[0]
        x = x + step
        x = x / np.linalg.norm(x)
        if np.abs(step).max() < 1e-15:
            break
    return x if np.abs((quadrics @ x) @ x).max() <= RESIDUAL_TOL else None


def solve_near(robot: SphericalRobot, angles: ArrayLike, start: ArrayLike) -> np.ndarray:
    """Documented at `SphericalRobot.forward_kinematics_near`."""
    named = [("angles", len(robot.actuator_names)), ("start", robot.nq)]
    (theta, q), batch_shape = as_batch(named, [angles, start])
    if len(robot.actuator_names) != robot.nv:
        raise ArgumentError(
            f"{robot.name} has {robot.nv} degrees of freedom and {len(robot.actuator_names)} actuators."
        )
    q = q.copy()
    robot.joint_angles(q)  # raises for a start out of reach
    for _ in range(MAX_ITERATIONS):
        step = newton_step(robot, theta, q)
        longest = np.abs(step).max(axis=1, keepdims=True, initial=0.0)
        q += step * (MAX_STEP / np.maximum(longest, MAX_STEP))
        if (longest < 1e-13).all():
            break
    error = np.abs(actuator_residual(robot, theta, q)).max(axis=1, initial=0.0)
    missed = ~(error <= ANGLE_TOL)  # also where it is NaN
    if missed.any():
        k = int(np.argmax(missed))
        index = tuple(int(i) for i in np.unravel_index(k, batch_shape)) if batch_shape else ()
        place = f"start[{', '.join(map(str, index))}]" if index else "start"
        ended = f"still misses the angles by {error[k]:.3g} rad" if np.isfinite(error[k]) else "leaves the workspace"
        others = "; forward_kinematics gives all solutions" if _has_closed_form(robot) else ""
        raise LoopClosureError(
            f"forward_kinematics_near: no solution was found near {place}: Newton's method {ended}. There may be none at these "
            f"angles, or none in this assembly mode. Start nearer to the solution{others}.",
            status="unreachable", where="actuators", value=float(error[k]), index=index,
        )  # fmt: skip
    return q.reshape(*batch_shape, robot.nq)


def actuator_residual(robot: SphericalRobot, theta: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Errors of the actuator angles at coordinates (N, nq), NaN out of reach. [rad]"""
    return angle_difference(theta, robot.joint_angles(q, check=False)[:, list(robot.actuated)])


def newton_step(robot: SphericalRobot, theta: np.ndarray, q: np.ndarray) -> np.ndarray:
    """The step of Newton's method, (N, nq); NaN where it is undefined."""
    step = np.full_like(q, np.nan)
    J, left = robot.actuator_jacobian(q, check=False), actuator_residual(robot, theta, q)
    fit = np.flatnonzero(np.isfinite(J).all(axis=(1, 2)) & np.isfinite(left).all(axis=1))
    fit = fit[np.linalg.det(J[fit]) != 0.0]
    step[fit] = np.linalg.solve(J[fit], left[fit][..., None])[..., 0]
    return step


def angle_difference(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a - b, wrapped to [-π, π]."""
    return np.remainder(a - b + np.pi, 2 * np.pi) - np.pi


def orientation(q: ArrayLike) -> Rotation:
    """R_ee of (25) for the 321 Euler angles (..., 3)."""
    return Rotation.from_euler("ZYX", q)


def _sum(a: Sequence[int], b: Sequence[int]) -> tuple[int, ...]:
    return tuple(x + y for x, y in zip(a, b, strict=True))


MONOMIALS = sorted((m for m in product(range(5), repeat=3) if sum(m) <= 4), key=lambda m: (sum(m), m))
"""Powers of y up to degree 4; the arrays below are places in this list."""
QUADRATIC, CUBIC = ([m for m in MONOMIALS if sum(m) <= degree] for degree in (2, 3))
UNITS = [(1, 0, 0), (0, 1, 0), (0, 0, 1)]
PLACES_TIMES_Y = np.array([[MONOMIALS.index(_sum(m, unit)) for m in CUBIC] for unit in UNITS])
"""Of the monomials of degree up to 3 times each coordinate."""
PLACES_TIMES_QUADRATIC = np.array([[MONOMIALS.index(_sum(m, other)) for m in QUADRATIC] for other in QUADRATIC])
PLACES_OF_LINEAR = np.array([MONOMIALS.index(m) for m in ((0, 0, 0), *UNITS)])
FACTORS = [[0, 0, *(k + 1 for k in range(3) for _ in range(m[k]))][-2:] for m in QUADRATIC]
"""Which two entries of (1, y) make each monomial of degree up to 2."""


def common_points(quadrics: np.ndarray) -> np.ndarray:
    """Solutions x (8, 4), complex, of length 1, of x^T A_i x = 0 for symmetric A (3, 4, 4)."""
    turned = GENERIC @ quadrics @ GENERIC.T
    rows = np.zeros((3, len(QUADRATIC), len(MONOMIALS)))
    for i, A in enumerate(turned):
        coefficients = np.array([A[a, b] if a == b else 2.0 * A[a, b] for a, b in FACTORS])
        for row, shift in zip(rows[i], PLACES_TIMES_QUADRATIC, strict=True):
            row[shift] = coefficients
    null = np.linalg.svd(rows.reshape(-1, len(MONOMIALS)))[2][-COUNT:].T
    form = np.tensordot(FORM, null[PLACES_TIMES_Y], axes=1)  # the null space times a linear form
    values = np.linalg.lstsq(null[: len(CUBIC)], form, rcond=None)[0]
    vectors = np.linalg.eig(values)[1]
    x = (null[PLACES_OF_LINEAR] @ vectors).T
    x = x @ GENERIC  # back from the rotation
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def _generic() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(2014)
    return np.linalg.qr(rng.normal(size=(4, 4)))[0], rng.normal(size=3)


GENERIC, FORM = _generic()
"""A rotation of space and a linear form without special directions; fixed, so that results repeat."""
