"""Normal impulses of unilateral contact, and Coulomb friction: tangential impulses of at most μ times the normal impulse.

Without friction the impulses solve a linear complementarity problem with a positive semi-definite matrix G,

    f >= 0,   w = G f + b >= 0,   f · w = 0,

f are normal impulses (or forces), w the velocities (or accelerations) at which contacts separate faster than required. It is
the optimality condition of  min f^T G f / 2 + b · f  over f >= 0.

With friction, normal and tangential impulses are computed alternately: the normal ones from their complementarity problem with
fixed tangential ones, then the tangential ones, which dissipate as much energy as they can within the discs |f_t| <= μ f_n; until
the estimate shows which contacts are active, stick and slip. Then the equations are linear:

    active contacts     prescribed normal velocity         b_n + G_nn f_n + G_nt f_t = 0
    sticking ones       no tangential velocity             u_t + G_nt^T f_n + G_tt f_t = 0
    slipping ones       f_t = μ f_n d                      d a unit vector against the slip

Coulomb's law may have no solution for large μ and strong coupling: then the last tangential impulses are reduced, all by one
factor, until they satisfy their bounds.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import nnls

REGULARIZATION = 1e-9
"""Relative weight of |f|² that selects one of several equivalent solutions."""
RELATIVE_ZERO = 1e-12
"""Relative size below which a number counts as zero."""
MAX_ITERATIONS, UNDAMPED_ITERATIONS = 40, 10
"""Alternations between normal and tangential impulses; after the undamped ones each change is halved."""
MAX_GRADIENT_STEPS = 100
GRADIENT_TOL = 1e-12
"""Change, relative to the velocities, at which the gradient steps end."""
MAX_DIRECTION_UPDATES = 20
"""Most corrections of the slip directions."""
RELATIVE_TOL = 1e-12
SLIP_MARGIN = 1e-6
"""Relative distance to the bound μ f_n at which a contact is assumed to slip."""


def solve_complementarity(G: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The solution f of smallest norm, (m,).

    First all contacts are assumed active, G f = -b (Shafei 2018, eq. 47); if that needs a negative impulse, or has no solution
    because rows are dependent, the complementarity problem is solved for the active contacts.

    Args:
        G: (m, m), symmetric and positive semi-definite. b: (m,), such that some f >= 0 has G f + b >= 0.
    """
    f = minimum_norm(G, -b)
    if f.min(initial=0.0) >= 0.0 and _is_small(G @ f + b, b):
        return f
    active = _active_contacts(G, b)
    while True:
        f = np.zeros_like(b)
        f[active] = minimum_norm(G[np.ix_(active, active)], -b[active])
        if f.min(initial=0.0) >= 0.0:
            return f
        active = active[f[active] > 0.0]


def minimum_norm(A: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The least-squares solution of A x = b of smallest norm: dependent rows share the load.

    NaN where A or b are not finite, as in a trial step of an integrator that is far too long.
    """
    if not len(b):
        return np.zeros(A.shape[1])
    if not (np.isfinite(A).all() and np.isfinite(b).all()):
        return np.full(A.shape[1], np.nan)
    return np.linalg.lstsq(A, b, rcond=RELATIVE_ZERO)[0]


def _active_contacts(G: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Contacts with a positive impulse: non-negative least squares on G + ε = R^T R."""
    weight = REGULARIZATION * max(float(np.trace(G)) / len(b), np.finfo(float).tiny)
    R = cholesky(G + weight * np.eye(len(b)))
    f, _ = nnls(R, -solve_triangular(R, b, trans=1))
    return np.flatnonzero(f > 0.0)


def _is_small(residual: np.ndarray, b: np.ndarray) -> bool:
    return bool(np.abs(residual).max(initial=0.0) <= 1e3 * RELATIVE_ZERO * np.abs(b).max(initial=0.0))


class Impulses(NamedTuple):
    """Normal impulses (m,) and tangential ones (m, 2), along the tangents of the problem. [N s]

    `obeys_coulomb` is False where no impulses were found that obey Coulomb's law, and friction was reduced.
    """

    normal: np.ndarray
    tangential: np.ndarray
    obeys_coulomb: bool = True


class Delassus(NamedTuple):
    """The Delassus operator J M⁻¹ J^T, from impulses to velocities of the points, in normal and tangential blocks."""

    nn: np.ndarray
    nt: np.ndarray
    tt: np.ndarray

    @classmethod
    def of(cls, J_n: np.ndarray, J_t: np.ndarray, M: np.ndarray) -> Delassus:
        """From J_n (m, nv) and J_t (2m, nv)."""
        columns = np.linalg.solve(M, np.concatenate([J_n, J_t]).T)
        m = len(J_n)
        nn, tt = J_n @ columns[:, :m], J_t @ columns[:, m:]
        return cls(0.5 * (nn + nn.T), J_n @ columns[:, m:], 0.5 * (tt + tt.T))


class FrictionProblem(NamedTuple):
    """Arguments of `solve_with_friction`; `slip_direction` is zero where `slip_known` is False."""

    G: Delassus
    b_n: np.ndarray
    u_t: np.ndarray
    mu: np.ndarray
    slip_known: np.ndarray
    slip_direction: np.ndarray

    @property
    def scale(self) -> float:
        """Size of the velocities."""
        return max(float(np.abs(self.b_n).max()), float(np.abs(self.u_t).max()))

    def velocities(self, f_n: np.ndarray, f_t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Normal (less the prescribed ones) and tangential velocities under impulses, (m,) and (m, 2)."""
        normal = self.b_n + self.G.nn @ f_n + self.G.nt @ f_t.ravel()
        return normal, self.u_t + (self.G.nt.T @ f_n + self.G.tt @ f_t.ravel()).reshape(-1, 2)


def solve_with_friction(
    G: Delassus, b_n: np.ndarray, u_t: np.ndarray, mu: np.ndarray, slip_direction: np.ndarray | None = None
) -> Impulses:
    """Impulses (or forces) from velocities (or accelerations) without them.

    Args:
        b_n: normal velocity less the prescribed one, (m,).
        u_t: tangential velocity, (m, 2).
        mu: coefficients of friction, (m,).
        slip_direction: unit vectors (m, 2) of contacts that are known to slip, with friction -μ f_n slip_direction; NaN for
            the others.
    """
    if slip_direction is None:
        slip_direction = np.full((len(mu), 2), np.nan)
    known = np.atleast_1d(np.isfinite(slip_direction).all(axis=-1))
    direction = np.where(known[:, None], slip_direction, 0.0)
    problem = FrictionProblem(G, b_n, u_t, mu, known, direction)
    f_t = np.zeros((len(mu), 2))
    f_n = solve_complementarity(G.nn, b_n)
    if not mu.any() or not f_n.any():
        return Impulses(f_n, f_t)
    all_sticking = _exact_impulses(problem, f_n, f_t)
    if all_sticking is not None:
        return Impulses(*all_sticking)
    for iteration in range(MAX_ITERATIONS):
        update = _max_dissipation(G.tt, u_t + (G.nt.T @ f_n).reshape(-1, 2), mu * f_n, f_t, ~known, problem.scale)
        update[known] = -(mu * f_n)[known, None] * direction[known]
        f_t = update if iteration < UNDAMPED_ITERATIONS else 0.5 * (f_t + update)
        f_n = solve_complementarity(G.nn, b_n + G.nt @ f_t.ravel())
        exact = _exact_impulses(problem, f_n, f_t)
        if exact is not None:
            return Impulses(*exact)
    return _reduced_friction(G, b_n, f_t, mu)


def _reduced_friction(G: Delassus, b_n: np.ndarray, f_t: np.ndarray, mu: np.ndarray) -> Impulses:
    """The largest factor on tangential impulses for which |f_t| <= μ f_n, with the normal impulses that belong to it."""

    def normal(factor: float) -> np.ndarray:
        return solve_complementarity(G.nn, b_n + factor * (G.nt @ f_t.ravel()))

    def feasible(factor: float) -> bool:
        return bool((factor * np.linalg.norm(f_t, axis=-1) <= mu * normal(factor) * (1.0 + 1e-12)).all())

    low, high = 0.0, 1.0
    if feasible(high):
        return Impulses(normal(high), f_t, obeys_coulomb=False)
    while high - low > 1e-9:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if feasible(middle) else (low, middle)
    return Impulses(normal(low), low * f_t, obeys_coulomb=False)


def _max_dissipation(
    G: np.ndarray, u: np.ndarray, radius: np.ndarray, f: np.ndarray, selected: np.ndarray, scale: float
) -> np.ndarray:
    """min f^T G f / 2 + u · f over |f_i| <= radius_i, for the selected contacts, from the start f.

    Projected gradient with momentum, restarted whenever it points uphill (O'Donoghue and Candès 2015).
    """
    stiffness = float(np.linalg.eigvalsh(G)[-1])
    if stiffness <= 0.0:
        return f.copy()
    point, weight = f, 1.0
    for _ in range(MAX_GRADIENT_STEPS):
        velocity = u + (G @ point.ravel()).reshape(-1, 2)
        f_next = np.where(selected[:, None], _project_to_discs(point - velocity / stiffness, radius), f)
        change = f_next - point
        if np.abs(change).max() * stiffness <= GRADIENT_TOL * scale:
            return f_next
        weight_next = 0.5 + np.sqrt(0.25 + weight * weight)
        uphill = float(np.sum(change * (f_next - f))) < 0.0
        point = f_next if uphill else f_next + (weight - 1.0) / weight_next * (f_next - f)
        f, weight = f_next, 1.0 if uphill else weight_next
    return f


def _project_to_discs(f: np.ndarray, radius: np.ndarray) -> np.ndarray:
    length = np.linalg.norm(f, axis=-1)
    return f * np.where(length > radius, radius / np.where(length > 0.0, length, 1.0), 1.0)[:, None]


def _exact_impulses(problem: FrictionProblem, f_n: np.ndarray, f_t: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Impulses that obey Coulomb's law, if contacts are active, stick and slip as in the estimate (f_n, f_t); else None."""
    known = problem.slip_known
    length = np.linalg.norm(f_t, axis=-1)
    active = f_n > 0.0
    slips = active & (known | (length >= problem.mu * f_n * (1.0 - SLIP_MARGIN)))
    against = np.where(known[:, None], -problem.slip_direction, f_t / np.where(length > 0.0, length, 1.0)[:, None])
    for _ in range(MAX_DIRECTION_UPDATES):
        f_n, f_t = _solve_linear(problem, active, slips, against)
        _, slip = problem.velocities(f_n, f_t)
        speed = np.linalg.norm(slip, axis=-1)
        moves = slips & ~known & (speed > RELATIVE_TOL * problem.scale)
        update = np.where(moves[:, None], -slip / np.where(speed > 0.0, speed, 1.0)[:, None], against)
        if np.abs(update - against).max() <= RELATIVE_TOL:
            return (f_n, f_t) if _obeys_coulomb(problem, f_n, f_t, slips) else None
        against = update
    return None


def _solve_linear(
    problem: FrictionProblem, active: np.ndarray, slips: np.ndarray, against: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The solution of smallest norm for known active, sticking and slipping contacts."""
    m, sticks = len(active), np.repeat(active & ~slips, 2)
    normal = np.eye(m)[:, active]
    along = np.zeros((2 * m, m))
    for i in np.flatnonzero(slips):
        along[2 * i : 2 * i + 2, i] = problem.mu[i] * against[i]
    tangential = np.concatenate([along[:, active], np.eye(2 * m)[:, sticks]], axis=1)
    normal = np.concatenate([normal, np.zeros((m, int(sticks.sum())))], axis=1)
    G = problem.G
    rows = np.concatenate([
        (G.nn @ normal + G.nt @ tangential)[active], (G.nt.T @ normal + G.tt @ tangential)[sticks],
    ])  # fmt: skip
    x = minimum_norm(rows, -np.concatenate([problem.b_n[active], problem.u_t.ravel()[sticks]]))
    return normal @ x, (tangential @ x).reshape(-1, 2)


def _obeys_coulomb(problem: FrictionProblem, f_n: np.ndarray, f_t: np.ndarray, slips: np.ndarray) -> bool:
    """Whether normal impulses are not negative, friction is within its bounds, and the velocities agree with both."""
    normal, slip = problem.velocities(f_n, f_t)
    velocity_tol = 1e3 * RELATIVE_TOL * problem.scale
    impulse_tol = 1e3 * RELATIVE_TOL * float(np.abs(f_n).max(initial=0.0))
    active = f_n > 0.0
    return bool(
        (f_n >= 0.0).all()
        and (np.linalg.norm(f_t, axis=-1) <= problem.mu * f_n + impulse_tol).all()
        and (normal >= -velocity_tol).all()
        and (np.abs(normal[active]) <= velocity_tol).all()
        and (np.abs(slip[active & ~slips]) <= velocity_tol).all()
        and (np.sum(slip * f_t, axis=-1)[slips & ~problem.slip_known] <= velocity_tol * impulse_tol).all()
    )
