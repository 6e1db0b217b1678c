"""The phase of a motion with surfaces: some points in contact, or none."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from appell.simulation.contact.mode import (
    NORMAL_VELOCITY_TOL,
    SLIP_TOL,
    ContactMode,
    ModeRows,
    mode_rows,
    next_mode,
    slip_direction,
)
from appell.simulation.contact.pairs import ContactPairs, ContactState
from appell.simulation.phase import CHECKS_PER_STEP, IntegratorStep, Phase, Plant
from appell.simulation.roots import first_crossing, root

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

    @property
    def has_rows(self) -> bool:
        return bool(len(self.mode.index)) or super().has_rows

    def rows(self, q: np.ndarray, qd: np.ndarray) -> ModeRows:
        if not len(self.mode.index):
            return super().rows(q, qd)
        return mode_rows(self._closed(q, qd), self.mode, self.joints.sticking_indices)

    # --- events -------------------------------------------------------------------------------------------------------

    def first_event(self, step: IntegratorStep) -> float | None:
        open_ = np.ones(len(self.pairs), dtype=bool)
        open_[self.mode.index] = False

        def gaps(times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            q, qd = self.plant.split(step.states(times))
            return self.pairs.gaps(q.T, qd.T)

        events = [
            first_crossing(gaps, step.start, step.end, open_), super().first_event(step), self._first_slip_reversal(step),
        ]  # fmt: skip
        return min((time for time in events if time is not None), default=None)

    def _first_slip_reversal(self, step: IntegratorStep) -> float | None:
        """The first time at which the slip of a contact with friction has turned against its direction at the start."""
        slips = ~self.mode.sticking & (self.mode.mu > 0.0)
        if not slips.any():
            return None
        start = self._closed(*self.plant.split(step.state(step.start)))
        direction = slip_direction(start, self.mode)
        accelerates = self.mode.starts_at_rest & (np.linalg.norm(start.slip_velocity, axis=-1) <= SLIP_TOL)
        floor = np.where(accelerates, 0.5 * SLIP_TOL, NORMAL_VELOCITY_TOL)  # else residual slip of an earlier mode

        def least_speed(t: float) -> float:
            slip = self._closed(*self.plant.split(step.state(t))).slip_velocity
            return float((np.sum(slip * direction, axis=-1) + floor)[slips].min())

        for a, b in pairwise(np.linspace(step.start, step.end, CHECKS_PER_STEP + 1).tolist()):
            if least_speed(b) < 0.0:
                return root(least_speed, a, b)
        return None

    def _still_holds(self, t: float, q: np.ndarray, qd: np.ndarray) -> bool:
        joints, held = self.joints, self.joints.sticking_indices
        qdd = self.plant.derivative(t, q, qd, joints).qdd
        if not np.isfinite(qdd).all():
            return True
        M, friction = self.plant.model.mass_matrix(q), self.plant.friction[held]
        found = next_mode(M, qdd, self._closed(q, qd), self.mode.mu, held, friction)
        return found.mode.same_states(self.mode) and not found.joint_directions.any() and not found.jams.any()

    # --- constraints --------------------------------------------------------------------------------------------------

    def constraint_error(self, q: np.ndarray, qd: np.ndarray) -> float:
        gap = float(np.abs(self._closed(q, qd).gap).max()) if len(self.mode.index) else 0.0
        return max(gap, super().constraint_error(q, qd))

    def project_to_constraints(self, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        q, qd = super().project_to_constraints(q, qd)
        if not len(self.mode.index):
            return q, qd
        q = project_to_surfaces(self.plant, self.pairs, q, self.mode.index)
        rows, M = self.rows(q, qd).without_friction(), self.plant.model.mass_matrix(q)
        return q, rows.accelerations(M, M @ qd, np.zeros_like(rows.bias))[0]

    def _closed(self, q: np.ndarray, qd: np.ndarray) -> ContactState:
        return self.pairs.state(q, qd).select(self.mode.index)


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
        rows = ModeRows.of_scalars(contacts.J_n, contacts.gap)
        q = plant.model.integrate(q, rows.accelerations(plant.model.mass_matrix(q), at_rest)[0])
    return q
