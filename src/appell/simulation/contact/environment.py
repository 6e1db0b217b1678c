"""Contact surfaces around a robot: impacts at an instant, and the phase that follows.

At an instant at which points touch surfaces:
1. All points that approach a surface they touch, all that will touch one within the simultaneity gap, and all that rest on one
   are solved together (`appell.simulation.contact.forces`). Points that this drives into a surface are an impact of their
   own, at the same instant.
2. An impact with e < 1 whose rebound would be lower than `MIN_REBOUND` ends without rebound: this ends an infinite sequence of
   ever smaller impacts.
3. Points without normal velocity stay in contact if their normal force would be positive, and separate otherwise. Points that
   others push off so weakly that they would rise less than `MIN_SEPARATION` stay as well.
4. Where Coulomb's law has no solution for slipping points (Painlevé's paradox), they slip with friction reduced by factors of
   `MU_FACTOR` until it has one.
"""

from __future__ import annotations

import numpy as np

from appell.errors import SimulationError
from appell.simulation.contact.forces import (
    NO_CONTACT,
    NORMAL_VELOCITY_TOL,
    SLIP_TOL,
    ContactMode,
    ImpactResult,
    generalized_contact_forces,
    next_mode,
    solve_impact,
    unilateral_forces,
)
from appell.simulation.contact.friction import minimum_norm
from appell.simulation.contact.pairs import ContactPairs, ContactState
from appell.simulation.contact.phase import PROJECTION_TOL, ContactPhase, project_to_surfaces
from appell.simulation.joint_friction import JointFrictionState, corrected_friction_state, initial_friction_state
from appell.simulation.phase import Environment, InstantResult, Plant
from appell.simulation.records import Impact

CLOSED_GAP_TOL = 1e-9
"""Contacts with gaps up to this, of either sign, are closed. [m]"""
MIN_REBOUND = 1e-9
"""Rebounds lower than this are suppressed, unless e = 1. [m]"""
MIN_SEPARATION = 1e-11
"""Separations lower than this cannot be distinguished from contact. [m]"""
ARRIVAL_TIME = 10.0
"""Points within the simultaneity gap take part in an impact if they would arrive within so many seconds per metre of it. [s/m]"""
MAX_IMPACTS_PER_INSTANT = 200
MAX_ELASTIC_IMPACTS = 100
"""Number of impacts at one instant after which they lose their rebound."""
MU_FACTOR, MU_MIN = 0.8, 0.01
"""Factor by which friction is reduced where Coulomb's law has no solution, and the factor below which it is zero."""
MAX_FRICTION_CORRECTIONS = 50
"""Most corrections of the sticking joints while points are in contact."""


class ContactEnvironment(Environment):
    """All surfaces and all points that may touch them.

    Attributes:
        simultaneity_gap: gap up to which approaching points take part in the impact of another point. [m]
    """

    def __init__(self, plant: Plant, pairs: ContactPairs, simultaneity_gap: float) -> None:
        super().__init__(plant)
        self.pairs, self.simultaneity_gap = pairs, max(simultaneity_gap, CLOSED_GAP_TOL)
        self.e = pairs.per_contact(pairs.restitution)
        self.mu = pairs.per_contact([surface.friction for surface in pairs.surfaces])

    def resolve_instant(self, t: float, q: np.ndarray, qd: np.ndarray) -> InstantResult:
        impacts: list[Impact] = []
        for count in range(MAX_IMPACTS_PER_INSTANT):
            contacts = self.pairs.state(q, qd)
            self._require_no_penetration(t, q, qd, contacts)
            if contacts.gap.min() < -PROJECTION_TOL:
                q = project_to_surfaces(self.plant, self.pairs, q, NO_CONTACT.index)
                contacts = self.pairs.state(q, qd)
            involved = self._involved(contacts)
            if not involved.any():
                phase = self._phase(t, q, qd, contacts)
                q, qd = phase.project_to_constraints(q, qd)
                if not self._involved(self.pairs.state(q, qd)).any():
                    return InstantResult(q, qd, phase, tuple(impacts))
                qd = self._without_residual_approach(q, qd)
                continue
            e = self.e if count < MAX_ELASTIC_IMPACTS else np.zeros_like(self.e)
            hit = contacts.select(involved)
            result = self._collide(t, q, qd, hit, e[involved])
            impacts.append(self._record(t, q, qd, hit, result))
            qd = result.qd
        names = ", ".join(sorted({name for impact in impacts for name in impact.points}))
        raise SimulationError(
            f"at t = {t:.12g} s impacts of {names} follow each other without end ({MAX_IMPACTS_PER_INSTANT} at one instant). "
            "Give the robot more room between the surfaces.",
            time=t, state=np.concatenate([q, qd]), quantity="impacts",
        )  # fmt: skip

    # --- impacts ------------------------------------------------------------------------------------------------------

    def _involved(self, contacts: ContactState) -> np.ndarray:
        """Mask of the contacts that take part in an impact now; empty if no point hits a surface."""
        approaching = contacts.gap_rate < -NORMAL_VELOCITY_TOL
        if not (approaching & (contacts.gap <= CLOSED_GAP_TOL)).any():
            return np.zeros_like(approaching)
        resting = (contacts.gap <= CLOSED_GAP_TOL) & (np.abs(contacts.gap_rate) <= NORMAL_VELOCITY_TOL)
        reach = np.maximum(CLOSED_GAP_TOL, -contacts.gap_rate * ARRIVAL_TIME * self.simultaneity_gap)
        return (approaching & (contacts.gap <= self.simultaneity_gap) & (contacts.gap <= reach)) | resting

    def _without_residual_approach(self, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """qd without the slow normal velocities that closed contacts give each other."""
        contacts = self.pairs.state(q, qd)
        slow = contacts.select((contacts.gap <= CLOSED_GAP_TOL) & (np.abs(contacts.gap_rate) <= SLIP_TOL))
        response = np.linalg.solve(self.plant.model.mass_matrix(q), slow.J_n.T)
        return qd - response @ minimum_norm(slow.J_n @ response, slow.gap_rate)

    def _collide(self, t: float, q: np.ndarray, qd: np.ndarray, contacts: ContactState, e: np.ndarray) -> ImpactResult:
        """The impact, without rebounds lower than MIN_REBOUND."""
        M = self.plant.model.mass_matrix(q)
        while True:
            result = solve_impact(M, qd, contacts, e, self.mu[contacts.index])
            low = (e > 0.0) & (e < 1.0) & (result.normal > 0.0) & self._low_rebound(t, q, result.qd, contacts.index)
            if not low.any():
                return result
            e = np.where(low, 0.0, e)

    def _low_rebound(self, t: float, q: np.ndarray, qd: np.ndarray, index: np.ndarray) -> np.ndarray:
        """Mask of the contacts that fall back before their gap exceeds MIN_REBOUND."""
        all_contacts = self.pairs.state(q, qd)
        qdd = self._phase(t, q, qd, all_contacts).derivative(t, q, qd).qdd
        return _stays_below(MIN_REBOUND, all_contacts.select(index), qdd)

    def _record(self, t: float, q: np.ndarray, qd: np.ndarray, contacts: ContactState, result: ImpactResult) -> Impact:
        active = result.normal > 0.0
        hit = contacts.select(active)
        speed = np.linalg.norm(hit.velocity, axis=-1)
        numbers = hit.index.tolist()
        return Impact(
            time=t,
            points=tuple(self.pairs.point_name(i) for i in numbers),
            surfaces=tuple(self.pairs.surface_index(i) for i in numbers),
            impulses=result.normal[active],
            friction_impulses=result.friction[active],
            normal_velocity_change=hit.J_n @ result.qd - hit.gap_rate,
            incidence=np.arccos(np.clip(np.abs(hit.gap_rate) / np.where(speed > 0.0, speed, 1.0), 0.0, 1.0)),
            energy_before=float(self.plant.model.energy(q, qd)),
            energy_after=float(self.plant.model.energy(q, result.qd)),
            q=q, qd_before=qd, qd_after=result.qd,
        )  # fmt: skip

    def _require_no_penetration(self, t: float, q: np.ndarray, qd: np.ndarray, contacts: ContactState) -> None:
        deepest = int(np.argmin(contacts.gap))
        if contacts.gap[deepest] >= -CLOSED_GAP_TOL:
            return
        point, surface = self.pairs.point_name(deepest), self.pairs.surfaces[self.pairs.surface_index(deepest)]
        when = "at the start" if t == 0.0 else f"at t = {t:.12g} s"
        raise SimulationError(
            f"point {point!r} is {-contacts.gap[deepest]:.6g} m behind the surface {surface} {when}. "
            "Start with every point on the allowed side, or leave this one out of the contact points.",
            time=t, state=np.concatenate([q, qd]), quantity=f"gap of {point}",
        )  # fmt: skip

    # --- the next phase -----------------------------------------------------------------------------------------------

    def _phase(self, t: float, q: np.ndarray, qd: np.ndarray, contacts: ContactState) -> ContactPhase:
        """The phase that follows, with reduced friction where Coulomb's law has no solution."""
        mode, joints = self._mode(t, q, qd, contacts, 1.0)
        factor = 1.0
        while not mode.obeys_coulomb:
            factor = factor * MU_FACTOR if factor > MU_MIN else 0.0
            mode, _ = self._mode(t, q, qd, contacts, factor)
            if mode.obeys_coulomb:
                mode, joints = self._mode(t, q, qd, contacts, factor * MU_FACTOR)
        return ContactPhase(self.plant, joints, self.pairs, mode)

    def _mode(
        self, t: float, q: np.ndarray, qd: np.ndarray, contacts: ContactState, mu_factor: float
    ) -> tuple[ContactMode, JointFrictionState]:
        """Contacts that stay closed and joints that stick, determined alternately until they are consistent."""
        closed = contacts.select(np.abs(contacts.gap) <= CLOSED_GAP_TOL)
        resting = np.abs(closed.gap_rate) <= NORMAL_VELOCITY_TOL
        joints = initial_friction_state(self.plant, t, q, qd)
        if not resting.any():
            return NO_CONTACT, joints
        M = self.plant.model.mass_matrix(q)
        mode = NO_CONTACT
        for _ in range(MAX_FRICTION_CORRECTIONS):
            qdd = self.plant.derivative(t, q, qd, joints).qdd
            mode, qdd, forces = self._kept_contacts(M, qdd, closed, resting.copy(), joints, mu_factor)
            sticking = (
                self.plant.sticking_forces(t, q, qd, joints, forces) if len(joints.sticking_indices) else np.zeros(0)
            )
            corrected = corrected_friction_state(self.plant, joints, qd, qdd, sticking)
            if corrected is joints:
                break
            joints = corrected
        return mode, joints

    def _kept_contacts(
        self,
        M: np.ndarray,
        qdd: np.ndarray,
        closed: ContactState,
        resting: np.ndarray,
        joints: JointFrictionState,
        mu_factor: float,
    ) -> tuple[ContactMode, np.ndarray, np.ndarray]:
        """Contacts that stay closed for given sticking joints, with accelerations and generalized contact forces (nv,)."""
        free, M_free = joints.free_indices, joints.free_block(M)
        while True:
            contacts, mu = closed.select(resting), mu_factor * self.mu[closed.index[resting]]
            forces = unilateral_forces(M_free, qdd[free], contacts.restricted_to(free), mu)
            qdd_contact = np.zeros_like(qdd)
            qdd_contact[free] = forces.qdd
            unresolved = ~resting & _stays_below(MIN_SEPARATION, closed, qdd_contact)
            if not unresolved.any():
                return next_mode(forces, contacts, mu), qdd_contact, generalized_contact_forces(forces, contacts)
            resting |= unresolved


def _stays_below(height: float, contacts: ContactState, qdd: np.ndarray) -> np.ndarray:
    """Mask of the contacts whose gap falls back before it exceeds a height [m]."""
    gap_acceleration = contacts.J_n @ qdd + contacts.gap_acceleration_bias
    return (gap_acceleration < 0.0) & (contacts.gap_rate**2 <= -2.0 * gap_acceleration * height)
