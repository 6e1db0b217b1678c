"""The phase of a motion with surfaces: some points in contact, or none."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from appell.simulation.contact.compiled import CompiledPairs
from appell.simulation.contact.mode import (
    FORCE_TOL,
    NORMAL_VELOCITY_TOL,
    SLIP_TOL,
    TURNED,
    ContactMode,
    ModeRows,
    contact_frames,
    mode_rows,
    next_mode,
    slip_direction,
)
from appell.simulation.contact.pairs import ContactPairs, ContactState
from appell.simulation.joint_friction import REST_VELOCITY_TOL
from appell.simulation.phase import IntegratorStep, Phase
from appell.simulation.plant import Plant
from appell.simulation.roots import first_crossing, root

MAX_PROJECTION_STEPS = 8
CLOSED_GAP_TOL = 1e-9
"""Contacts with gaps up to this, of either sign, are closed. [m]"""
LEFT_GAPS = (-4e-10, 0.9e-9)
"""Gaps of closed contacts that are left: closing them would move points near each other, and with them the
robot, by many times as much. [m]"""
PROJECTION_TOL = 1e-10
"""Errors up to this are left, too. [m]"""
UNLOADED_TOL = 1e-9
"""Part of the accelerations, or of 1 m/s², up to which a contact without load stays closed by others: a tenth of that which ends
its mode (`motion.c`)."""


@dataclass(frozen=True)
class ContactPhase(Phase):
    """Motion in which the contacts of a mode, possibly none, stay closed and all others open."""

    pairs: ContactPairs
    mode: ContactMode
    force_tol: float = FORCE_TOL  # part of the largest force by which forces may leave their bounds

    @property
    def contacts(self) -> tuple[tuple[str, int], ...]:
        index = self.mode.index[self.mode.index < self.pairs.count].tolist()
        return tuple((self.pairs.point_name(i), self.pairs.surface_index(i)) for i in index)

    @property
    def has_rows(self) -> bool:
        return bool(len(self.mode.index)) or super().has_rows

    @property
    def slips(self) -> bool:
        return bool((~self.mode.sticking & (self.mode.mu > 0.0)).any())

    def rows(self, q: np.ndarray, qd: np.ndarray) -> ModeRows:
        if not len(self.mode.index):
            return super().rows(q, qd)
        return mode_rows(self._closed(q, qd), self._step_mode, self.joints.sticking_indices)

    @property
    def motion(self) -> Any:
        return self._motion

    @cached_property
    def _motion(self) -> Any:
        if not isinstance(self.pairs, CompiledPairs):
            return None
        return self.pairs.motion(self.mode, self.joints, self.plant)

    def forces(self, t: float, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Accelerations (nv,), and forces on the points of the mode along the world's axes (m, 3)."""
        if self.motion is None:
            contacts = self._closed(q, qd)
            _, qdd, f = self._constrained(q, qd, self.plant.derivative(t, q, qd, self.joints).qdd)
            return qdd, np.einsum("ct,cti->ci", f[: 3 * len(contacts.index)].reshape(-1, 3), contact_frames(contacts))
        return self._solved(t, q, qd)[:2]

    def qdd(self, t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """Accelerations (nv,)."""
        return self.forces(t, q, qd)[0] if self.has_rows else self.derivative(t, q, qd).qdd

    def opposed_slip(self, t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray | None:
        """Unit vectors (m, 3) that friction of the slipping contacts acts against, None where that is their slip."""
        return None if self.motion is None else self._solved(t, q, qd)[2]

    def _solved(self, t: float, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Accelerations, forces and opposed slip in compiled code."""
        qdd, f, d = np.empty(len(qd)), *np.zeros((2, len(self.mode.index), 3))
        if not self.motion.forces(self._vector(q, qd), self.plant.tau(t, q, qd)[0], qdd, f, d):
            qdd[:] = np.nan
        return qdd, f, d

    def _vector(self, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        return self.plant.join(q, qd, np.zeros(3))

    # --- events -------------------------------------------------------------------------------------------------------

    def first_event(self, step: IntegratorStep) -> float | None:
        candidates = self._may_close(step)
        times = [self._first_stop(step)]
        if candidates is not None:

            def gaps(times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
                q, qd = self.plant.split(step.states(times))
                return self.pairs.gaps(q.T, qd.T)

            times.append(first_crossing(gaps, step.start, step.end, candidates))
        if self.has_rows:
            times += [self._first_overload(step), self._first_slip_reversal(step)]
        return min((time for time in times if time is not None), default=None)

    def _may_close(self, step: IntegratorStep) -> np.ndarray | None:
        """Mask of the open contacts that may close within the step, None if there are none."""
        q, qd = self.plant.split(np.stack([step.initial, step.final], axis=1))
        gap, rate = self.pairs.gaps(q.T, qd.T)
        reach = 2.0 * (step.end - step.start) * np.abs(rate).max(axis=0)
        near = ~(gap.min(axis=0) > reach)
        near[self.mode.index] = False
        return near if near.any() else None

    def margin(self, t: float, y: np.ndarray) -> float:
        if self.motion is None:
            return super().margin(t, y)
        return self._margins(t, y)[0]

    def _margins(self, t: float, y: np.ndarray) -> tuple[float, float]:
        """Margins of the forces and of the slip in compiled code; those of the last state are kept until a step begins."""
        kept = self.__dict__.get("_kept_margins")
        if kept is None or kept[0] is not y or kept[1] != t:
            tau = self.plant.tau(t, *self.plant.split(y))[0]
            kept = y, t, self.motion.margins(np.ascontiguousarray(y), tau, self.force_tol)
            self.__dict__["_kept_margins"] = kept
        return kept[2]

    def holds_at_start(self, t: float, y: np.ndarray) -> bool:
        """Whether forces are within their bounds, and joints that begin to slip move in their direction."""
        if not self.has_rows:
            return True
        q, qd = self.plant.split(y)
        starts = (self.joints.slip_direction != 0.0) & (np.abs(qd) <= REST_VELOCITY_TOL)
        if starts.any() and (self.joints.slip_direction * self.forces(t, q, qd)[0])[starts].min() < 0.0:
            return False
        return self.margin(t, y) >= 0.0

    def with_loads(
        self, t: float, q: np.ndarray, qd: np.ndarray, loads: np.ndarray, contacts: ContactState, free: np.ndarray
    ) -> ContactPhase:
        """The phase with loads (m, 3) of its contacts; those without one that then move away from their surface are open.

        So are those that move into it by no more than errors of the contact problem: they close again later.

        Args:
            contacts, free: contacts at rest, among them those of the mode, and their gap accelerations without forces.
        """
        phase = replace(self, mode=replace(self.mode, loads=loads))
        place = np.searchsorted(contacts.index, phase.mode.index)
        contacts, free = contacts.select(place), free[place]
        loaded = replace(phase, mode=phase.mode.select(phase.mode.carries))
        acceleration = contacts.J_n @ loaded.qdd(t, q, qd) + contacts.gap_acceleration_bias
        part = acceleration / np.maximum(1.0, np.abs(free))
        opens = ~phase.mode.carries & ((part > UNLOADED_TOL) | ((part < -UNLOADED_TOL) & (part > -1e2 * UNLOADED_TOL)))
        return replace(phase, mode=phase.mode.select(~opens)) if opens.any() else phase

    def _least_slip(self, t: float, y: np.ndarray) -> float:
        """The least slip along its direction at the start of the step, of contacts with friction that slip. [m/s]"""
        if self.motion is not None:
            return self._margins(t, y)[1]
        contacts, mode = self._closed(*self.plant.split(y)), self._step_mode
        slack, speed = mode.slack, np.linalg.norm(contacts.slip_velocity, axis=-1)
        along = np.sum(contacts.slip_velocity * mode.slip_direction, axis=-1)
        turns = np.minimum(along + NORMAL_VELOCITY_TOL, np.maximum(along - TURNED * speed, speed + slack))
        along = np.where(slack >= 0.0, along + slack, turns)
        return float(along[~mode.sticking & (mode.mu > 0.0)].min(initial=np.inf))

    def _first_slip_reversal(self, step: IntegratorStep) -> float | None:
        """The first time at which the slip of a contact has turned against its direction at the start of the step."""
        if not self.slips:
            return None

        def least_slip(t: float) -> float:
            return self._least_slip(t, step.state(t))

        for a, b in pairwise(step.checks()):
            if least_slip(b) < 0.0:
                return root(least_slip, a, b)
        return None

    def begin_step(self, t: float, y: np.ndarray) -> None:
        if not self.slips:
            return
        if self.motion is not None:
            self.__dict__.pop("_kept_margins", None)
            self.motion.refer(np.ascontiguousarray(y), self.plant.tau(t, *self.plant.split(y))[0])
            return
        contacts, mode = self._closed(*self.plant.split(y)), self._step_mode
        rests = mode.starts_at_rest & (np.linalg.norm(contacts.slip_velocity, axis=-1) <= 4.0 * SLIP_TOL)
        direction = np.where(rests[:, None], mode.slip_direction, slip_direction(contacts, mode))
        self.__dict__["_step_mode"] = replace(mode, slip_direction=direction, starts_at_rest=rests)

    @cached_property
    def _step_mode(self) -> ContactMode:
        """The mode with the directions of slip at the start of the current step."""
        return self.mode

    def continues(self, t: float, y: np.ndarray) -> bool:
        return not self.has_rows or self.margin(t, y) >= 0.0

    def _still_holds(self, t: float, q: np.ndarray, qd: np.ndarray) -> bool:
        if self.motion is not None and self.slips:
            return False  # the motion depends on the forces
        joints, held = self.joints, self.joints.sticking_indices
        qdd = self.plant.derivative(t, q, qd, joints).qdd
        if not np.isfinite(qdd).all():
            return True
        M, friction = self.plant.mass_matrix(q), self.plant.friction[held]
        found = next_mode(M, qdd, self._closed(q, qd), self.mode.mu, held, friction, self.opposed_slip(t, q, qd))
        return found.mode.same_states(self.mode) and not found.joint_directions.any() and not found.jams.any()

    def slip_has_ended(self, q: np.ndarray, qd: np.ndarray) -> bool:
        """Whether a contact that slipped at the start of the mode does not slip in this state."""
        slips = ~self.mode.sticking & ~self.mode.starts_at_rest & (self.mode.mu > 0.0)
        if not slips.any():
            return False
        return bool((np.linalg.norm(self._closed(q, qd).slip_velocity[slips], axis=-1) <= SLIP_TOL).any())

    # --- constraints --------------------------------------------------------------------------------------------------

    def constraint_error(self, q: np.ndarray, qd: np.ndarray) -> float:
        gap = 0.0
        if len(self.mode.index):
            gap = float(np.abs(closure_error(self.pairs.gaps(q[None], qd[None])[0][0, self.mode.index])).max())
        return max(gap, super().constraint_error(q, qd))

    def project_to_constraints(self, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The nearest state that satisfies all constraints exactly; velocities in the metric of M, which adds no energy."""
        q, qd = self.plant.model.project_to_constraints(q, qd)
        if not self.has_rows:
            return q, qd
        if self.motion is not None:
            projected = np.array(qd)
            smallest, largest = self.motion.project(np.ascontiguousarray(q), projected)
            if max(LEFT_GAPS[0] - smallest, largest - LEFT_GAPS[1]) <= PROJECTION_TOL:
                return q, projected
        q = project_to_surfaces(self.plant, self.pairs, q, self.mode.index)
        if self.motion is not None:
            projected = np.array(qd)
            if np.isfinite(self.motion.project(np.ascontiguousarray(q), projected)).all():
                return q, projected
        rows, M = self.rows(q, qd).without_friction(), self.plant.model.mass_matrix(q)
        qd = rows.accelerations(M, M @ qd, np.zeros_like(rows.bias))[0]
        return q, np.where(self.joints.sticking, 0.0, qd)

    def _closed(self, q: np.ndarray, qd: np.ndarray) -> ContactState:
        return self.pairs.state(q, qd).select(self.mode.index)


def closure_error(gap: np.ndarray) -> np.ndarray:
    """How far gaps are from those of closed contacts. [m]"""
    return gap - np.clip(gap, *LEFT_GAPS)


def project_to_surfaces(plant: Plant, pairs: ContactPairs, q: np.ndarray, index: np.ndarray) -> np.ndarray:
    """The nearest configuration (in the metric of M) with these contacts closed and no penetration, to PROJECTION_TOL.

    Gaps of contacts that depend on each other may contradict each other: steps that do not halve the largest are not made.
    """
    at_rest, before, following = np.zeros(plant.model.nv), np.inf, q
    for _ in range(MAX_PROJECTION_STEPS):
        contacts = pairs.state(following, at_rest)
        closed = closure_error(contacts.gap) < -PROJECTION_TOL
        closed[index] = True
        contacts = contacts.select(closed)
        error = closure_error(contacts.gap)
        largest = float(np.abs(error).max(initial=0.0))
        if not largest < 0.5 * before:
            break
        q, before = following, largest
        if largest <= PROJECTION_TOL:
            break
        rows = ModeRows.of_scalars(contacts.J_n, error)
        step = rows.accelerations(plant.model.mass_matrix(q), at_rest)[0]
        if not np.isfinite(step).all():
            break
        following = plant.model.integrate(q, step)
    return q
