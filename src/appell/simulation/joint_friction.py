"""Coulomb friction in the joints: joints slide, with friction against their motion, or stick.

    slides    f_k = -F_k sign(qd_k), constant while the sign of qd_k is
    sticks    qdd_k = 0, with the f_k that this needs, |f_k| <= F_k

A joint that slides and comes to rest sticks if that is possible; a joint that sticks slides when it would need more than
F_k. Which joints at rest stick is decided for all of them together: their friction takes away as much acceleration as it
can, min f^T G f / 2 + a · f within |f_k| <= F_k, where a are their accelerations without it and G = (M⁻¹) of these joints.
So nothing chatters about zero speed and nothing creeps. While points of the robot rest on walls, friction is smoothed
instead (`appell.simulation.plant.CREEP`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import lsq_linear

from appell.impact.crossing import PIECES, root
from appell.simulation.phase import Settled
from appell.simulation.plant import Motion

if TYPE_CHECKING:
    from appell.simulation.phase import Environment, Phase, Step
    from appell.simulation.plant import Plant

STILL = 1e-12
"""A joint slower than this is at rest. [rad/s, m/s]"""
EXCESS = 1e-9
"""A joint sticks until it needs this share more than its friction."""


@dataclass(frozen=True)
class Grip:
    """Which joints stick, (nv,), and the direction (nv,) in which the others slide: 1, -1, or 0 without friction."""

    sticks: np.ndarray
    way: np.ndarray


class JointFriction:
    """An environment in which joints stick and slide as well."""

    def __init__(self, plant: Plant, around: Environment) -> None:
        self.plant, self.around = plant, around

    def settle(self, t: float, q: np.ndarray, qd: np.ndarray) -> Settled:
        q, qd, phase, impacts = self.around.settle(t, q, qd)
        if phase.contacts:
            return Settled(q, qd, phase, impacts)
        rough = self.plant.friction > 0.0
        rests = rough & (np.abs(qd) <= STILL)
        qd = np.where(rests, 0.0, qd)
        return Settled(q, qd, Sliding(self.plant, phase, self._grip(t, q, qd, rough, rests)), impacts)

    def _grip(self, t: float, q: np.ndarray, qd: np.ndarray, rough: np.ndarray, rests: np.ndarray) -> Grip:
        way = np.where(rough & ~rests, np.sign(qd), 0.0)
        if not rests.any():
            return Grip(rests, way)
        at = np.flatnonzero(rests)
        limit = self.plant.friction[at]
        free = self.plant.motion(t, q, qd, -self.plant.friction * way).qdd
        if not np.isfinite(free).all():
            return Grip(rests, way)
        G = np.linalg.solve(self.plant.mechanism.mass_matrix(q), np.eye(len(qd))[:, at])[at]
        f = _strongest(0.5 * (G + G.T), free[at], limit)
        full = np.abs(f) >= limit * (1.0 - 1e-12)
        way[at[full]] = -np.sign(f[full])
        sticks = rests.copy()
        sticks[at[full]] = False
        return Grip(sticks, way)


class Sliding:
    """A phase in which certain joints stick and the others slide one way.

    Attributes:
        flight: the phase without friction.
    """

    contacts: tuple[tuple[str, int], ...] = ()

    def __init__(self, plant: Plant, flight: Phase, grip: Grip) -> None:
        self.plant, self.flight, self.grip = plant, flight, grip
        self.stuck = np.flatnonzero(grip.sticks)

    @cached_property
    def _sliding_friction(self) -> np.ndarray:
        return -self.plant.friction * self.grip.way

    def motion(self, t: float, q: np.ndarray, qd: np.ndarray) -> Motion:
        motion = self.plant.motion(t, q, qd, self._sliding_friction)
        if not len(self.stuck) or not np.isfinite(motion.qdd).all():
            return motion
        response, f = self._holding(q, motion.qdd)
        qdd = motion.qdd + response @ f
        qdd[self.stuck] = 0.0
        return motion._replace(qdd=qdd)

    def first_event(self, step: Step) -> float | None:
        found = (self.flight.first_event(step), self._change(step))
        return min((time for time in found if time is not None), default=None)

    def tidied(self, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        q, qd = self.flight.tidied(q, qd)
        return q, np.where(self.grip.sticks, 0.0, qd)

    def drift(self, q: np.ndarray, qd: np.ndarray) -> float:
        return max(self.flight.drift(q, qd), float(np.abs(qd[self.stuck]).max(initial=0.0)))

    def _holding(self, q: np.ndarray, qdd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """M⁻¹ for forces on the joints that stick, (nv, k), and the forces (k,) that hold them."""
        M = self.plant.mechanism.mass_matrix(q)
        response = np.linalg.solve(M, np.eye(len(M))[:, self.stuck])
        return response, -np.linalg.solve(response[self.stuck], qdd[self.stuck])

    def _change(self, step: Step) -> float | None:
        """The first time at which a joint that slides comes to rest, or one that sticks needs more than its friction.

        A joint is at rest when its speed along its way falls below zero, or below where it was when the step began.
        """
        times = np.linspace(step.start, step.end, PIECES + 1)
        _, qd = self.plant.split(step.states(times))
        along = self.grip.way[:, None] * qd
        floor = np.minimum(along[:, 0], 0.0) - STILL
        slides = self.grip.way != 0.0
        for i, (a, b) in enumerate(pairwise(times.tolist())):
            turned = np.flatnonzero(slides & (along[:, i + 1] < floor))
            found = [self._at_rest(step, k, float(floor[k]), a, b) for k in turned.tolist()]
            if len(self.stuck) and self._slips(step, b) > 0.0:
                found.append(root(lambda t: self._slips(step, t), a, b))
            if found:
                return min(found)
        return None

    def _at_rest(self, step: Step, k: int, floor: float, a: float, b: float) -> float:
        def speed(t: float) -> float:
            return float(self.grip.way[k] * self.plant.split(step.state(t))[1][k])

        wanted = 0.0 if speed(a) > STILL else floor
        return root(lambda t: speed(t) - wanted, a, b)

    def _slips(self, step: Step, t: float) -> float:
        """How far the holding forces are above the friction, as a share of it; negative while all joints stick."""
        q, qd = self.plant.split(step.state(t))
        qdd = self.plant.motion(t, q, qd, self._sliding_friction).qdd
        if not np.isfinite(qdd).all():
            return -1.0
        _, f = self._holding(q, qdd)
        return float((np.abs(f) / self.plant.friction[self.stuck]).max()) - 1.0 - EXCESS


def _strongest(G: np.ndarray, a: np.ndarray, limit: np.ndarray) -> np.ndarray:
    """min f^T G f / 2 + a · f within |f| <= limit: least squares with G = R^T R."""
    R = cholesky(G)
    return lsq_linear(R, -solve_triangular(R, a, trans=1), (-limit, limit), method="bvls", tol=1e-14).x
