"""Coulomb friction in the joints: joints slide, with friction against their motion, or stick.

    slides    f_k = -F_k sign(qd_k), constant while the sign of qd_k is
    sticks    qdd_k = 0, with the f_k that this needs, |f_k| <= F_k

A joint that slides and comes to rest sticks if that is possible; a joint that sticks slides when it would need more than
F_k. So nothing chatters about zero speed and nothing creeps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import lsq_linear

from appell.simulation.roots import PIECES, root

if TYPE_CHECKING:
    from appell.simulation.phase import Step
    from appell.simulation.plant import Plant

STILL = 1e-9
"""A joint slower than this is at rest. [rad/s, m/s]"""
EXCESS = 1e-9
"""A joint sticks until it needs this share more than its friction."""


@dataclass(frozen=True)
class Grip:
    """Which joints stick, (nv,), and the direction (nv,) in which the others slide: 1, -1, or 0 without friction."""

    sticks: np.ndarray
    way: np.ndarray

    @cached_property
    def stuck(self) -> np.ndarray:
        """Numbers of the speeds that are held."""
        return np.flatnonzero(self.sticks)

    @cached_property
    def free(self) -> np.ndarray | slice:
        """Numbers of the others; all of them as a slice, which costs no copy."""
        return np.flatnonzero(~self.sticks) if self.sticks.any() else slice(None)

    def released(self, k: int, way: float) -> Grip:
        """The same with joint k sliding this way."""
        sticks, ways = self.sticks.copy(), self.way.copy()
        sticks[k], ways[k] = False, way
        return Grip(sticks, ways)

    def held(self, k: int) -> Grip:
        """The same with joint k stuck."""
        sticks, ways = self.sticks.copy(), self.way.copy()
        sticks[k], ways[k] = True, 0.0
        return Grip(sticks, ways)


def loose(size: int) -> Grip:
    """No friction."""
    return Grip(np.zeros(size, dtype=bool), np.zeros(size))


def grip_in_flight(plant: Plant, t: float, q: np.ndarray, qd: np.ndarray) -> Grip:
    """Which joints stick in a state without walls.

    This is decided for all joints at rest together: their friction takes away as much acceleration as it can,
    min f^T G f / 2 + a · f within |f_k| <= F_k, where a are their accelerations without it and G is their part of M⁻¹.
    """
    rough = plant.friction > 0.0
    rests = rough & (np.abs(qd) <= STILL)
    grip = Grip(np.zeros_like(rests), np.where(rough & ~rests, np.sign(qd), 0.0))
    if not rests.any():
        return grip
    at, limit = np.flatnonzero(rests), plant.friction[rests]
    a = plant.motion(t, q, qd, grip).qdd[at]
    if not np.isfinite(a).all():
        return Grip(rests, grip.way)
    f = _strongest(plant.response(q, at)[at], a, limit)
    full = np.abs(f) >= limit * (1.0 - 1e-12)
    way, sticks = grip.way.copy(), rests.copy()
    way[at[full]], sticks[at[full]] = -np.sign(f[full]), False
    return Grip(sticks, way)


def corrected(plant: Plant, grip: Grip, qd: np.ndarray, qdd: np.ndarray, forces: np.ndarray) -> Grip:
    """The grip with its worst error mended; itself if there is none.

    Args:
        qdd: accelerations under this grip, (nv,).
        forces: what holds the joints that stick. [N m, N]
    """
    share = np.abs(forces) / plant.friction[grip.stuck]
    if len(share) and share.max() > 1.0 + EXCESS:
        worst = int(np.argmax(share))
        return grip.released(int(grip.stuck[worst]), -float(np.sign(forces[worst])))
    back = np.flatnonzero((grip.way * qdd < -EXCESS * max(1.0, np.abs(qdd).max())) & (np.abs(qd) <= STILL))
    return grip.held(int(back[0])) if len(back) else grip


def first_change(
    plant: Plant, grip: Grip, step: Step, holding: Callable[[float, np.ndarray, np.ndarray], np.ndarray]
) -> float | None:
    """The first time in a step at which a joint that slides comes to rest, or one that sticks needs more than its friction.

    A joint is at rest when its speed along its way falls below zero, or below where it was when the step began.

    Args:
        holding: forces on the joints that stick, from time and state.
    """
    times = np.linspace(step.start, step.end, PIECES + 1)
    along = grip.way[:, None] * plant.split(step.states(times))[1]
    floor = np.minimum(along[:, 0], 0.0) - 1e-3 * STILL
    slides = grip.way != 0.0

    def speed(t: float, k: int) -> float:
        return float(grip.way[k] * plant.split(step.state(t))[1][k])

    def slips(t: float) -> float:
        forces = holding(t, *plant.split(step.state(t)))
        return float((np.abs(forces) / plant.friction[grip.stuck]).max()) - 1.0 - EXCESS

    for i, (a, b) in enumerate(pairwise(times.tolist())):
        found = []
        for k in np.flatnonzero(slides & (along[:, i + 1] < floor)).tolist():
            wanted = 0.0 if along[k, i] > STILL else float(floor[k])
            found.append(root(lambda t, k=k, wanted=wanted: speed(t, k) - wanted, a, b))
        if len(grip.stuck) and slips(b) > 0.0:
            found.append(root(slips, a, b))
        if found:
            return min(found)
    return None


def _strongest(G: np.ndarray, a: np.ndarray, limit: np.ndarray) -> np.ndarray:
    """min f^T G f / 2 + a · f within |f| <= limit: least squares with G = R^T R."""
    R = cholesky(0.5 * (G + G.T))
    return lsq_linear(R, -solve_triangular(R, a, trans=1), (-limit, limit), method="bvls", tol=1e-14).x
