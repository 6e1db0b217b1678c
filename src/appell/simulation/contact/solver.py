"""Impulses of contacts with Coulomb friction, joint limits and joint friction: one solver for impacts, forces and time steps.

    w = G p + c,   G = J M^-1 J^T (Delassus matrix),   c: velocities without impulses

Each block of rows obeys its law. A cone has 0, 1 or 2 tangential rows, then the normal one:

    (1)  p_n >= 0,  w_n >= 0,  p_n w_n = 0              unilateral contact
    (2)  |p_t| <= μ p_n,  w_t = -s p_t with s >= 0, and s = 0 where |p_t| < μ p_n      Coulomb friction

A box is one row with |p| <= b: w = 0 where |p| < b, otherwise w is opposite to p. Together with De Saxcé's shift
s(w) = μ |w_t| of the normal velocity, (1) and (2) say that p is its own projection P on the cones,

    (3)  p = P(p - (w + s) / g),     residual: largest entry of g |p - P(p - (w + s) / g)|,

with g the mean of G's diagonal over all cones, of a box its own entry.

The solver is compiled (`src/appell/_native/contact.c`); docs/theory/contact.md explains it. The same with accelerations and
forces in place of velocities and impulses holds for lasting contact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from appell import _native
from appell.checks import require_finite, require_integer, require_positive, require_real_array
from appell.errors import ArgumentError

MAX_ITERATIONS = 2000
"""Default limit of sweeps, Newton steps and ADMM iterations together."""
SYMMETRY_TOL = 1e-9
"""Largest asymmetry of G, as part of its largest entry."""


@dataclass(frozen=True)
class ContactBlocks:
    """The laws of the rows of a contact problem, block by block; `+` appends the blocks of another.

    Attributes:
        rows: first row, number of rows, and 1 for a box or 0 for a cone, (k, 3).
        limits: coefficient of friction of a cone, bound of a box, (k,).

    Example:
        >>> from appell.simulation.contact.solver import ContactBlocks
        >>> blocks = ContactBlocks.points([0.6, 0.6]) + ContactBlocks.bounded([2.0])
        >>> blocks.size, blocks.rows.tolist()
        (7, [[0, 3, 0], [3, 3, 0], [6, 1, 1]])
    """

    rows: np.ndarray
    limits: np.ndarray

    @property
    def size(self) -> int:
        """Number of rows."""
        return int(self.rows[:, 1].sum())

    @classmethod
    def points(cls, friction: ArrayLike, tangents: int = 2) -> ContactBlocks:
        """Contact points with coefficients of friction (k,), each with 0, 1 or 2 tangential rows, then the normal one."""
        return _blocks(friction, require_integer("tangents", tangents, 0, 2) + 1, 0)

    @classmethod
    def unilateral(cls, count: int) -> ContactBlocks:
        """Scalars with p >= 0, w >= 0, p w = 0: joint limits, contact without friction."""
        return cls.points(np.zeros(count), 0)

    @classmethod
    def bounded(cls, bounds: ArrayLike) -> ContactBlocks:
        """Scalars with |p| <= bound: joint friction, bounds (k,). [N s]"""
        return _blocks(bounds, 1, 1)

    @classmethod
    def bilateral(cls, count: int) -> ContactBlocks:
        """Scalars with w = 0 and any p."""
        return cls.bounded(np.full(count, np.inf))

    def __add__(self, other: ContactBlocks) -> ContactBlocks:
        shifted = other.rows + np.array([self.size, 0, 0], dtype=np.int32)
        return ContactBlocks(np.concatenate([self.rows, shifted]), np.concatenate([self.limits, other.limits]))


def _blocks(limits: ArrayLike, size: int, box: int) -> ContactBlocks:
    values = require_real_array("limits of contact blocks", limits)
    if values.ndim != 1 or not (values >= 0.0).all() or not (box or np.isfinite(values).all()):
        raise ArgumentError(f"limits of contact blocks are {values.tolist()}, expected numbers >= 0, one per block.")
    rows = np.array([[size * k, size, box] for k in range(len(values))], dtype=np.int32).reshape(-1, 3)
    return ContactBlocks(rows, values)


@dataclass(frozen=True)
class ContactSolution:
    """Impulses and velocities of a contact problem.

    Attributes:
        impulses: p, in their cones and boxes, (n,). [N s]
        velocities: w = G p + c, (n,). [m/s]
        residual: error of the law (3). [m/s]
        iterations: sweeps, Newton steps and ADMM iterations.
        converged: whether the residual is within the tolerance, or acceptable.
    """

    impulses: np.ndarray
    velocities: np.ndarray
    residual: float
    iterations: int
    converged: bool


def solve_contacts(
    G: ArrayLike,
    c: ArrayLike,
    blocks: ContactBlocks | Sequence[float] | float,
    *,
    start: ArrayLike | None = None,
    tolerance: float = 1e-9,
    acceptable: float | None = None,
    max_iterations: int = MAX_ITERATIONS,
    check: bool = True,
) -> ContactSolution:
    """Impulses p and velocities w = G p + c that obey unilateral contact, Coulomb friction and bounds.

    The velocities are unique wherever the law is; among the impulses of redundant contacts, those of (nearly) least norm are
    found, so that equal contacts share their load equally. A problem without solution ends unconverged, with the best
    impulses found.

    Args:
        G: Delassus matrix, symmetric and positive semidefinite, (n, n). [1/kg]
        c: velocities without impulses, (n,). [m/s]
        blocks: the laws of the rows; coefficients of friction, (k,) or one for all, stand for points in space.
        start: impulses to start from, (n,), such as those of the step before; zero by default. [N s]
        tolerance: residual that is aimed at. [m/s]
        acceptable: residual that will do where more would take long: the largest of a converged solution, by default
            `tolerance`. [m/s]
        max_iterations: limit of the iterations.
        check: False skips the checks of the arguments, which must then be contiguous float64 arrays.

    Example:
        A block of 2 kg slides on the floor at 1 m/s and loses 0.6 times the normal impulse.

        >>> import numpy as np
        >>> from appell.simulation.contact.solver import solve_contacts
        >>> solution = solve_contacts(np.eye(3) / 2.0, [1.0, 0.0, -0.1], 0.6)
        >>> solution.impulses.round(9).tolist(), solution.velocities[0].round(9).item(), solution.converged
        ([-0.12, 0.0, 0.2], 0.94, True)
    """
    if not isinstance(blocks, ContactBlocks):
        blocks = ContactBlocks.points(np.full(np.size(c) // 3, blocks, dtype=float) if np.ndim(blocks) == 0 else blocks)
    if check:
        n = blocks.size
        G = require_finite("G", require_real_array("G", G, (n, n)))
        c = require_finite("c", require_real_array("c", c, (n,)))
        if np.abs(G - G.T).max(initial=0.0) > SYMMETRY_TOL * np.abs(G).max(initial=0.0):
            raise ArgumentError("G is not symmetric, expected the Delassus matrix J M^-1 J^T.")
        if (np.diag(G) < 0.0).any():
            k = int(np.argmin(np.diag(G)))
            raise ArgumentError(f"G[{k}, {k}] is {G[k, k]:g}, expected a positive semidefinite matrix J M^-1 J^T.")
        require_positive("tolerance", tolerance, "m/s")
        if acceptable is not None:
            require_positive("acceptable", acceptable, "m/s")
        require_integer("max_iterations", max_iterations)
        start = None if start is None else require_finite("start", require_real_array("start", start, (n,)))
    p = np.zeros(blocks.size) if start is None else np.array(start, dtype=float)
    w = np.empty(blocks.size)
    solve, enough = _native.solve_contacts or _solve_by_admm, max(tolerance, acceptable or 0.0)
    residual, iterations, _ = solve(G, c, blocks.rows, blocks.limits, p, w, tolerance, enough, max_iterations)  # type: ignore[arg-type]
    return ContactSolution(p, w, residual, iterations, residual <= enough)


def contact_residual(p: np.ndarray, w: np.ndarray, G: np.ndarray, blocks: ContactBlocks) -> float:
    """The residual of (3). [m/s]"""
    g = _scales(G, blocks)
    return float(np.abs(g * (p - project(p - (w + saxce_shift(w, blocks)) / g, blocks))).max(initial=0.0))


def _scales(G: np.ndarray, blocks: ContactBlocks) -> np.ndarray:
    """g of each row. [1/kg]"""
    diagonal, box = np.diag(G), np.repeat(blocks.rows[:, 2] > 0, blocks.rows[:, 1])
    mean = diagonal[~box].mean() if (~box).any() else 1.0
    return np.where(box & (diagonal > 0.0), diagonal, mean if mean > 0.0 else 1.0)


def saxce_shift(w: np.ndarray, blocks: ContactBlocks) -> np.ndarray:
    """De Saxcé's shift of the velocities: μ |w_t| in normal rows. [m/s]"""
    shift = np.zeros_like(w)
    for (first, size, _), limit in zip(blocks.rows.tolist(), blocks.limits.tolist(), strict=True):
        if size > 1:
            shift[first + size - 1] = limit * np.linalg.norm(w[first : first + size - 1])
    return shift


def project(p: np.ndarray, blocks: ContactBlocks) -> np.ndarray:
    """The nearest impulses in the cones and boxes."""
    result = np.array(p)
    for (first, size, box), limit in zip(blocks.rows.tolist(), blocks.limits.tolist(), strict=True):
        normal = first + size - 1
        if box:
            result[normal] = np.clip(p[normal], -limit, limit)
            continue
        tangential = p[first:normal]
        length = float(np.linalg.norm(tangential))
        if length > limit * p[normal] or p[normal] < 0.0:
            result[normal] = max((limit * length + p[normal]) / (1.0 + limit**2), 0.0)
            result[first:normal] = tangential * (limit * result[normal] / length if length > 0.0 else 0.0)
    return result


def _solve_by_admm(
    G: np.ndarray,
    c: np.ndarray,
    rows: np.ndarray,
    limits: np.ndarray,
    p: np.ndarray,
    w: np.ndarray,
    tolerance: float,
    acceptable: float,
    most: int,
) -> tuple[float, int, int]:
    """The same in NumPy, where the extension was not built: ADMM on the eigenvectors of G with adaptive penalty ρ."""
    blocks = ContactBlocks(rows, limits)
    g = float(np.trace(G)) / max(len(c), 1) or 1.0
    values, vectors = np.linalg.eigh(G)
    rho, z, y = g, project(p, blocks), np.zeros_like(p)
    w[:] = G @ z + c
    iterations, residual = 0, contact_residual(z, w, G, blocks)
    p[:] = z
    while residual > max(tolerance, acceptable) and iterations < most:
        iterations += 1
        shift = saxce_shift(w, blocks)
        x = vectors @ ((vectors.T @ (rho * z - y - c - shift)) / (values + rho))
        w[:] = G @ x + c
        former, z = z, project(x + y / rho, blocks)
        y += rho * (x - z)
        now = contact_residual(z, G @ z + c, G, blocks)
        if now < residual:
            residual, p[:] = now, z
        if iterations % 10 == 0:
            primal, dual = g * np.abs(x - z).max(), rho * np.abs(z - former).max()
            rho *= 2.0 if primal > 5.0 * dual else 0.5 if dual > 5.0 * primal else 1.0
    w[:] = G @ p + c
    return residual, iterations, 0
