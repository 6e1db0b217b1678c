"""Friction when it is known which contacts push, stick and slide.

Then there are linear equations instead of inequalities:
    pushing contacts    normal velocity as wanted          b_n + G_nn f_n + G_nt f_t = 0
    sticking ones       no tangential velocity             u_t + G_nt^T f_n + G_tt f_t = 0
    sliding ones        f_t = μ f_n d                      d a unit vector against the sliding
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from appell.simulation.contact.complementarity import minimum_norm

if TYPE_CHECKING:
    from appell.simulation.contact.friction import Delassus

DIRECTIONS = 20
"""Most corrections of the directions of sliding."""
EXACT = 1e-12
AT_LIMIT = 1e-6
"""Relative distance to the bound μ f_n at which a contact is taken to slide."""


class Problem(NamedTuple):
    """What `appell.simulation.contact.friction.solve_with_friction` is asked: see there. `way` is zero where `known` is False."""

    G: Delassus
    b_n: np.ndarray
    u_t: np.ndarray
    mu: np.ndarray
    known: np.ndarray
    way: np.ndarray

    @property
    def scale(self) -> float:
        """Size of the velocities."""
        return max(float(np.abs(self.b_n).max()), float(np.abs(self.u_t).max()))

    def velocities(self, f_n: np.ndarray, f_t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Normal (less the wanted ones) and tangential velocities with impulses, (m,) and (m, 2)."""
        normal = self.b_n + self.G.nn @ f_n + self.G.nt @ f_t.ravel()
        return normal, self.u_t + (self.G.nt.T @ f_n + self.G.tt @ f_t.ravel()).reshape(-1, 2)


def exact_impulses(problem: Problem, f_n: np.ndarray, f_t: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Impulses that obey Coulomb's law exactly, if contacts push, stick and slide as in the estimate (f_n, f_t); else None."""
    length = np.linalg.norm(f_t, axis=-1)
    pushes = f_n > 0.0
    slides = pushes & (problem.known | (length >= problem.mu * f_n * (1.0 - AT_LIMIT)))
    against = np.where(problem.known[:, None], -problem.way, f_t / np.where(length > 0.0, length, 1.0)[:, None])
    for _ in range(DIRECTIONS):
        f_n, f_t = _solved(problem, pushes, slides, against)
        _, sliding = problem.velocities(f_n, f_t)
        speed = np.linalg.norm(sliding, axis=-1)
        moves = slides & ~problem.known & (speed > EXACT * problem.scale)
        turned = np.where(moves[:, None], -sliding / np.where(speed > 0.0, speed, 1.0)[:, None], against)
        if np.abs(turned - against).max() <= EXACT:
            return (f_n, f_t) if _obeys(problem, f_n, f_t, slides) else None
        against = turned
    return None


def _solved(
    problem: Problem, pushes: np.ndarray, slides: np.ndarray, against: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The linear equations, smallest solution."""
    m, sticks = len(pushes), np.repeat(pushes & ~slides, 2)
    normal = np.eye(m)[:, pushes]
    along = np.zeros((2 * m, m))
    for i in np.flatnonzero(slides):
        along[2 * i : 2 * i + 2, i] = problem.mu[i] * against[i]
    tangential = np.concatenate([along[:, pushes], np.eye(2 * m)[:, sticks]], axis=1)
    normal = np.concatenate([normal, np.zeros((m, int(sticks.sum())))], axis=1)
    G = problem.G
    rows = np.concatenate([
        (G.nn @ normal + G.nt @ tangential)[pushes], (G.nt.T @ normal + G.tt @ tangential)[sticks],
    ])  # fmt: skip
    x = minimum_norm(rows, -np.concatenate([problem.b_n[pushes], problem.u_t.ravel()[sticks]]))
    return normal @ x, (tangential @ x).reshape(-1, 2)


def _obeys(problem: Problem, f_n: np.ndarray, f_t: np.ndarray, slides: np.ndarray) -> bool:
    """Whether impulses push, stay within their bounds, and contacts move as the law says."""
    normal, sliding = problem.velocities(f_n, f_t)
    small = 1e3 * EXACT * problem.scale
    none = 1e3 * EXACT * float(np.abs(f_n).max(initial=0.0))
    pushes = f_n > 0.0
    return bool(
        (f_n >= 0.0).all()
        and (np.linalg.norm(f_t, axis=-1) <= problem.mu * f_n + none).all()
        and (normal >= -small).all()
        and (np.abs(normal[pushes]) <= small).all()
        and (np.abs(sliding[pushes & ~slides]) <= small).all()
        and (np.sum(sliding * f_t, axis=-1)[slides & ~problem.known] <= small * none).all()
    )
