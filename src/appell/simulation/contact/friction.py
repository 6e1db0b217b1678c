"""Coulomb friction: impulses in the tangent that resist sliding, at most μ times the normal impulse.

Normal and tangential impulses depend on each other. They are found in turn: the normal ones from their complementarity
problem with the tangential ones held, then the tangential ones, which take away as much energy as they can within the
discs |f_t| <= μ f_n, with the normal ones held; until it is clear which contacts push, stick and slide, for which the rest
is linear (`appell.simulation.contact.stick_slip`). Coulomb's law may have no solution for large μ and strong coupling: then the
last tangential impulses are reduced, all by one factor, until they obey their bounds.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from appell.simulation.contact.complementarity import solve_complementarity
from appell.simulation.contact.stick_slip import Problem, exact_impulses

TURNS, EAGER_TURNS = 40, 10
SWEEPS = 100
SETTLED = 1e-12
"""Most repetitions (after the eager ones with half of every change), and the change, relative to the velocities, at which
the inner ones end."""


class Impulses(NamedTuple):
    """Normal impulses (m,) and tangential ones (m, 2), along the tangents the problem was given in. [N s]

    `lawful` is False where no impulses were found that obey Coulomb's law, and friction was reduced.
    """

    normal: np.ndarray
    tangential: np.ndarray
    lawful: bool = True


class Delassus(NamedTuple):
    """How impulses change the velocities of the points: normal and tangential blocks of J M⁻¹ J^T."""

    nn: np.ndarray
    nt: np.ndarray
    tt: np.ndarray

    @classmethod
    def of(cls, rows_n: np.ndarray, rows_t: np.ndarray, M: np.ndarray) -> Delassus:
        """From J_n (m, nv) and J_t (2m, nv)."""
        weighted = np.linalg.solve(M, np.concatenate([rows_n, rows_t]).T)
        m = len(rows_n)
        nn, tt = rows_n @ weighted[:, :m], rows_t @ weighted[:, m:]
        return cls(0.5 * (nn + nn.T), rows_n @ weighted[:, m:], 0.5 * (tt + tt.T))


def solve_with_friction(
    G: Delassus, b_n: np.ndarray, u_t: np.ndarray, mu: np.ndarray, direction: np.ndarray | None = None
) -> Impulses:
    """Impulses (or forces) for velocities (or accelerations) without them.

    Args:
        b_n: normal velocity less the one that is wanted, (m,).
        u_t: tangential velocity, (m, 2).
        mu: coefficients of friction, (m,).
        direction: where a contact is known to slide, a unit vector (m, 2): its friction is -μ f_n direction; NaN where it
            is not known.
    """
    known = np.zeros(len(mu), dtype=bool) if direction is None else np.atleast_1d(np.isfinite(direction).all(axis=-1))
    way = np.zeros((len(mu), 2)) if direction is None else np.where(known[:, None], direction, 0.0)
    problem = Problem(G, b_n, u_t, mu, known, way)
    f_t = np.zeros((len(mu), 2))
    f_n = solve_complementarity(G.nn, b_n)
    if not mu.any() or not f_n.any():
        return Impulses(f_n, f_t)
    sticking = exact_impulses(problem, f_n, f_t)  # where friction is strong all that pushes sticks
    if sticking is not None:
        return Impulses(*sticking)
    for turn in range(TURNS):
        wanted = _resisting(G.tt, u_t + (G.nt.T @ f_n).reshape(-1, 2), mu * f_n, f_t, ~known, problem.scale)
        wanted[known] = -(mu * f_n)[known, None] * way[known]
        f_t = wanted if turn < EAGER_TURNS else 0.5 * (f_t + wanted)
        f_n = solve_complementarity(G.nn, b_n + G.nt @ f_t.ravel())
        exact = exact_impulses(problem, f_n, f_t)
        if exact is not None:
            return Impulses(*exact)
    return _bounded(G, b_n, f_t, mu)


def _bounded(G: Delassus, b_n: np.ndarray, f_t: np.ndarray, mu: np.ndarray) -> Impulses:
    """The largest share of tangential impulses that obeys |f_t| <= μ f_n, with the normal impulses that belong to it."""

    def normal(share: float) -> np.ndarray:
        return solve_complementarity(G.nn, b_n + share * (G.nt @ f_t.ravel()))

    def obeys(share: float) -> bool:
        return bool((share * np.linalg.norm(f_t, axis=-1) <= mu * normal(share) * (1.0 + 1e-12)).all())

    low, high = 0.0, 1.0
    if obeys(high):
        return Impulses(normal(high), f_t, lawful=False)
    while high - low > 1e-9:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if obeys(middle) else (low, middle)
    return Impulses(normal(low), low * f_t, lawful=False)


def _resisting(
    G: np.ndarray, u: np.ndarray, radius: np.ndarray, f: np.ndarray, which: np.ndarray, scale: float
) -> np.ndarray:
    """min f^T G f / 2 + u · f over |f_i| <= radius_i, for the chosen contacts, from the values f.

    Projected gradients with momentum, which is dropped whenever it points uphill (O'Donoghue and Candès 2015).
    """
    stiffness = float(np.linalg.eigvalsh(G)[-1])
    if stiffness <= 0.0:
        return f.copy()
    at, age = f, 1.0
    for _ in range(SWEEPS):
        velocity = u + (G @ at.ravel()).reshape(-1, 2)
        better = np.where(which[:, None], _within(at - velocity / stiffness, radius), f)
        change = better - at
        if np.abs(change).max() * stiffness <= SETTLED * scale:
            return better
        older = 0.5 + np.sqrt(0.25 + age * age)
        uphill = float(np.sum(change * (better - f))) < 0.0
        at = better if uphill else better + (age - 1.0) / older * (better - f)
        f, age = better, 1.0 if uphill else older
    return f


def _within(f: np.ndarray, radius: np.ndarray) -> np.ndarray:
    """The nearest vectors inside the discs."""
    length = np.linalg.norm(f, axis=-1)
    return f * np.where(length > radius, radius / np.where(length > 0.0, length, 1.0), 1.0)[:, None]
