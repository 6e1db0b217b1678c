"""The phase of a motion with surfaces: some points in contact, or none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from appell.simulation.contact import forces
from appell.simulation.contact.forces import (
    NORMAL_VELOCITY_TOL,
    SLIP_TOL,
    ContactForces,
    ContactMode,
    jacobian_rows,
    tangents,
)
from appell.simulation.contact.friction import minimum_norm
from appell.simulation.contact.pairs import ContactPairs, ContactState
from appell.simulation.phase import IntegratorStep, MotionDerivative, Phase, Plant
from appell.simulation.roots import TIME_TOL, first_crossing

CHECKS_PER_STEP = 4
"""Number of checks per step whether a contact has ended."""
MAX_PROJECTION_STEPS = 8
PROJECTION_TOL = 1e-10
"""Gaps of closed contacts up to this are left: removing them would change the energy. [m]"""


@dataclass(frozen=True)
class ContactPhase(Phase):
    """Motion in which the contacts of a mode, possibly none, stay closed and all others open."""

    pairs: ContactPairs
    mode: ContactMode

    @property
    def contacts(self) -> tuple[tuple[str, int], ...]:
        return tuple((self.pairs.point_name(i), self.pairs.surface_index(i)) for i in self.mode.index.tolist())

    def derivative(self, t: float, q: np.ndarray, qd: np.ndarray) -> MotionDerivative:
        free = super().derivative(t, q, qd)
        if not len(self.mode.index) or not np.isfinite(free.qdd).all():
            return free
        contacts = self._closed(q, qd)
        contact = self._forces(q, free.qdd, contacts)
        active, passive, _ = free.power
        qdd = np.zeros_like(qd)
        qdd[self.joints.free_indices] = contact.qdd
        return MotionDerivative(qdd, (active, passive, float(np.sum(contact.friction * contacts.slip_velocity))))

    def _forces(self, q: np.ndarray, qdd: np.ndarray, contacts: ContactState) -> ContactForces:
        """Contact forces, with the motion of the joints that do not stick."""
        free = self.joints.free_indices
        return forces.bilateral_forces(self._free_mass(q), qdd[free], contacts.restricted_to(free), self.mode)

    def sticking_forces(self, t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        if not len(self.mode.index):
            return super().sticking_forces(t, q, qd)
        contacts = self._closed(q, qd)
        contact = self._forces(q, self.plant.derivative(t, q, qd, self.joints).qdd, contacts)
        return self.plant.sticking_forces(t, q, qd, self.joints, forces.generalized_contact_forces(contact, contacts))

    # --- events -------------------------------------------------------------------------------------------------------

    def first_event(self, step: IntegratorStep) -> float | None:
        open_ = np.ones(len(self.pairs), dtype=bool)
        open_[self.mode.index] = False

        def gaps(times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            q, qd = self.plant.split(step.states(times))
            return self.pairs.gaps(q.T, qd.T)

        events = [first_crossing(gaps, step.start, step.end, open_), super().first_event(step)]
        if len(self.mode.index):
            events.append(self._mode_end(step))
        return min((time for time in events if time is not None), default=None)

    def _mode_end(self, step: IntegratorStep) -> float | None:
        """The first time at which a contact separates, or changes between sticking and slipping."""
        start = self._closed(*self._state(step, step.start))
        direction = forces.mode_slip_direction(start, self.mode)
        accelerates = self.mode.starts_at_rest & (np.linalg.norm(start.slip_velocity, axis=-1) <= SLIP_TOL)
        reversal = np.where(accelerates, 0.5 * SLIP_TOL, NORMAL_VELOCITY_TOL)  # else residual slip of an earlier mode

        def ended(t: float) -> bool:
            q, qd = self._state(step, t)
            contacts = self._closed(q, qd)
            reversed_ = np.sum(contacts.slip_velocity * direction, axis=-1) < -reversal
            if ((self.mode.mu > 0.0) & ~self.mode.sticking & reversed_).any():
                return True
            free, qdd = self.joints.free_indices, self.plant.derivative(t, q, qd, self.joints).qdd
            return forces.mode_has_ended(self._free_mass(q), qdd[free], contacts.restricted_to(free), self.mode)

        times = np.linspace(step.start, step.end, CHECKS_PER_STEP + 1).tolist()
        for a, b in pairwise(times):
            if ended(b):
                return _first_true(ended, a, b)
        return None

    # --- constraints --------------------------------------------------------------------------------------------------

    def constraint_error(self, q: np.ndarray, qd: np.ndarray) -> float:
        gap = float(np.abs(self._closed(q, qd).gap).max()) if len(self.mode.index) else 0.0
        return max(gap, super().constraint_error(q, qd))

    def project_to_constraints(self, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        q, qd = super().project_to_constraints(q, qd)
        if not len(self.mode.index):
            return q, qd
        q = project_to_surfaces(self.plant, self.pairs, q, self.mode.index)
        free, sticking = self.joints.free_indices, self.mode.sticking
        contacts = self._closed(q, qd).restricted_to(free)
        J_s = jacobian_rows(tangents(contacts.normal[sticking]), contacts.J[sticking])
        rows = np.concatenate([contacts.J_n, J_s])
        response = np.linalg.solve(self._free_mass(q), rows.T)
        qd[free] -= response @ minimum_norm(rows @ response, rows @ qd[free])
        return q, qd

    def _closed(self, q: np.ndarray, qd: np.ndarray) -> ContactState:
        return self.pairs.state(q, qd).select(self.mode.index)

    def _free_mass(self, q: np.ndarray) -> np.ndarray:
        return self.joints.free_block(self.plant.model.mass_matrix(q))

    def _state(self, step: IntegratorStep, t: float) -> tuple[np.ndarray, np.ndarray]:
        return self.plant.split(step.state(t))


def project_to_surfaces(plant: Plant, pairs: ContactPairs, q: np.ndarray, index: np.ndarray) -> np.ndarray:
    """The nearest configuration (in the metric of M) with these contacts closed and no penetration, to PROJECTION_TOL."""
    at_rest = np.zeros(plant.model.nv)
    for _ in range(MAX_PROJECTION_STEPS):
        contacts = pairs.state(q, at_rest)
        closed = contacts.gap < -PROJECTION_TOL
        closed[index] = True
        contacts = contacts.select(closed)
        if np.abs(contacts.gap).max(initial=0.0) <= PROJECTION_TOL:
            break
        rows = contacts.J_n
        response = np.linalg.solve(plant.model.mass_matrix(q), rows.T)
        q = plant.model.integrate(q, -response @ minimum_norm(rows @ response, contacts.gap))
    return q


def _first_true(test: Callable[[float], bool], a: float, b: float) -> float:
    """The time between a, where the test fails, and b, where it holds, from which on it holds."""
    while b - a > TIME_TOL * max(1.0, abs(b)):
        middle = 0.5 * (a + b)
        a, b = (a, middle) if test(middle) else (middle, b)
    return b
