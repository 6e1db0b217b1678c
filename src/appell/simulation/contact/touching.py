"""A phase with walls around: free flight, or motion with some points in contact."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from appell.simulation.contact.complementarity import minimum_norm
from appell.simulation.contact.contacts import ContactMotion, Contacts
from appell.simulation.contact.law import rows_along, tangents
from appell.simulation.contact.reaction import (
    SPEED,
    STILL,
    Mode,
    Reaction,
    has_ended,
    hold,
    mode_direction,
    walls_on_speeds,
)
from appell.simulation.grip import Grip, first_change
from appell.simulation.plant import Motion
from appell.simulation.roots import TIME, first_crossing

if TYPE_CHECKING:
    from appell.simulation.phase import Step
    from appell.simulation.plant import Plant

LOOKS = 4
"""So many times in a step it is asked whether a contact has ended."""
ITERATIONS = 8
SLACK = 1e-10
"""Gaps of closed contacts up to this are left as they are: to take them out would change the energy for nothing. [m]"""


class Touching:
    """Motion in which the contacts of a mode stay closed and all others open.

    Attributes:
        mode: the contacts that stay closed; none in free flight.
        grip: the joints that stick.
    """

    def __init__(self, plant: Plant, pairs: Contacts, mode: Mode, grip: Grip) -> None:
        self.plant, self.pairs, self.mode, self.grip = plant, pairs, mode, grip

    @property
    def contacts(self) -> tuple[tuple[str, int], ...]:
        return tuple((self.pairs.point(i), self.pairs.wall(i)) for i in self.mode.index.tolist())

    def motion(self, t: float, q: np.ndarray, qd: np.ndarray) -> Motion:
        free = self.plant.motion(t, q, qd, self.grip)
        if not len(self.mode.index) or not np.isfinite(free.qdd).all():
            return free
        contacts = self._closed(q, qd)
        held = self._held(q, free.qdd, contacts)
        drives, joints, _ = free.power
        qdd = np.zeros_like(qd)
        qdd[self.grip.free] = held.qdd
        return Motion(qdd, (drives, joints, float(np.sum(held.friction * contacts.sliding))))

    def _held(self, q: np.ndarray, qdd: np.ndarray, contacts: ContactMotion) -> Reaction:
        """Forces of the walls, the joints that stick left out of the motion."""
        free = self.grip.free
        return hold(self._mass(q), qdd[free], contacts.over(free), self.mode)

    def _holding(self, t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """Forces on the joints that stick."""
        if not len(self.mode.index):
            return self.plant.holding(t, q, qd, self.grip)
        contacts = self._closed(q, qd)
        held = self._held(q, self.plant.motion(t, q, qd, self.grip).qdd, contacts)
        return self.plant.holding(t, q, qd, self.grip, walls_on_speeds(held, contacts))

    # --- when it ends -------------------------------------------------------------------------------------------------

    def first_event(self, step: Step) -> float | None:
        watched = np.ones(len(self.pairs), dtype=bool)
        watched[self.mode.index] = False

        def gaps(times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            q, qd = self.plant.split(step.states(times))
            return self.pairs.gaps(q.T, qd.T)

        crossing = first_crossing(gaps, step.start, step.end, watched)
        release = self._release(step) if len(self.mode.index) else None
        grip = first_change(self.plant, self.grip, step, self._holding) if self.plant.friction.any() else None
        return min((time for time in (crossing, release, grip) if time is not None), default=None)

    def _release(self, step: Step) -> float | None:
        """The first time at which a contact opens, or changes between sticking and sliding."""
        start = self._closed(*self._state(step, step.start))
        way = mode_direction(start, self.mode)
        starts = self.mode.still & (np.linalg.norm(start.sliding, axis=-1) <= STILL)
        back = np.where(starts, 0.5 * STILL, SPEED)  # what is left of an older motion does not count

        def ended(t: float) -> bool:
            q, qd = self._state(step, t)
            contacts = self._closed(q, qd)
            turned = np.sum(contacts.sliding * way, axis=-1) < -back
            if ((self.mode.mu > 0.0) & ~self.mode.sticks & turned).any():
                return True
            free, qdd = self.grip.free, self.plant.motion(t, q, qd, self.grip).qdd
            return has_ended(self._mass(q), qdd[free], contacts.over(free), self.mode)

        times = np.linspace(step.start, step.end, LOOKS + 1).tolist()
        for a, b in pairwise(times):
            if ended(b):
                return _first_true(ended, a, b)
        return None

    # --- errors of the integrator -------------------------------------------------------------------------------------

    def drift(self, q: np.ndarray, qd: np.ndarray) -> float:
        apart = float(np.abs(self._closed(q, qd).gap).max()) if len(self.mode.index) else 0.0
        return max(apart, self.plant.model.constraint_error(q, qd))

    def tidied(self, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        q, qd = self.plant.model.project_to_constraints(q, qd)
        if len(self.grip.stuck):
            qd = np.where(self.grip.sticks, 0.0, qd)
        if not len(self.mode.index):
            return q, qd
        q = brought_to_wall(self.plant, self.pairs, q, self.mode.index)
        free, qd = self.grip.free, qd.copy()
        contacts = self._closed(q, qd).over(free)
        stuck = rows_along(tangents(contacts.normal[self.mode.sticks]), contacts.J[self.mode.sticks])
        rows = np.concatenate([contacts.J_n, stuck])
        weighted = np.linalg.solve(self._mass(q), rows.T)
        qd[free] -= weighted @ minimum_norm(rows @ weighted, rows @ qd[free])
        return q, qd

    # --- in short -----------------------------------------------------------------------------------------------------

    def _closed(self, q: np.ndarray, qd: np.ndarray) -> ContactMotion:
        return self.pairs.motion(q, qd).some(self.mode.index)

    def _mass(self, q: np.ndarray) -> np.ndarray:
        """M of the speeds that are not held."""
        M, free = self.plant.model.mass_matrix(q), self.grip.free
        return M if isinstance(free, slice) else M[np.ix_(free, free)]

    def _state(self, step: Step, t: float) -> tuple[np.ndarray, np.ndarray]:
        return self.plant.split(step.state(t))


def brought_to_wall(plant: Plant, pairs: Contacts, q: np.ndarray, index: np.ndarray) -> np.ndarray:
    """The nearest configuration (in the measure of M) with these contacts closed and no point behind a wall, within SLACK."""
    rest = np.zeros(plant.model.nv)
    for _ in range(ITERATIONS):
        contacts = pairs.motion(q, rest)
        closed = contacts.gap < -SLACK
        closed[index] = True
        contacts = contacts.some(closed)
        if np.abs(contacts.gap).max(initial=0.0) <= SLACK:
            break
        rows = contacts.J_n
        weighted = np.linalg.solve(plant.model.mass_matrix(q), rows.T)
        q = plant.model.integrate(q, -weighted @ minimum_norm(rows @ weighted, contacts.gap))
    return q


def _first_true(test, a: float, b: float) -> float:
    """The time between a, where the test fails, and b, where it holds, from which on it holds."""
    while b - a > TIME * max(1.0, abs(b)):
        middle = 0.5 * (a + b)
        if test(middle):
            b = middle
        else:
            a = middle
    return b
