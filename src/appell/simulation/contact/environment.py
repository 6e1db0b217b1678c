"""Contact surfaces around a robot: impacts at an instant, and the phase that follows.

At an instant at which points touch surfaces:
1. All points that approach a surface they touch, all that will touch one within the simultaneity gap, and all that rest on one
   are solved together (`appell.simulation.contact.impact`). Points that this drives into a surface are an impact of their
   own, at the same instant.
2. An impact with e < 1 whose rebound would be lower than `MIN_REBOUND` ends without rebound: this ends an infinite sequence of
   ever smaller impacts.
3. Points without normal velocity stay in contact if their normal force would be positive, and separate otherwise
   (`appell.simulation.contact.mode`). Points that others push off so weakly that they would rise less than `MIN_SEPARATION` stay
   as well. Joints that their friction would stop within `STOP_TIME` stop at once.
4. Where Coulomb's law has no forces for slipping points (Painlevé's paradox), an impulse stops their slip.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from appell.errors import SimulationError
from appell.simulation.contact.compiled import CompiledPairs
from appell.simulation.contact.creep import CreepStep, creep_steps
from appell.simulation.contact.impact import ImpactResult, solve_impact
from appell.simulation.contact.mode import FORCE_TOL, NO_CONTACT, NORMAL_VELOCITY_TOL
from appell.simulation.contact.next_phase import gap_acceleration, next_phase, stays_below
from appell.simulation.contact.pairs import ContactPairs, ContactState
from appell.simulation.contact.phase import (
    CLOSED_GAP_TOL,
    PROJECTION_TOL,
    ContactPhase,
    closure_error,
    project_to_surfaces,
)
from appell.simulation.joint_friction import REST_VELOCITY_TOL, moving_joints
from appell.simulation.phase import Environment, InstantResult, Phase
from appell.simulation.plant import Plant
from appell.simulation.records import Impact

MIN_REBOUND = 1e-9
"""Rebounds lower than this are suppressed, unless e = 1. [m]"""
ARRIVAL_TIME = 10.0
"""Points within the simultaneity gap take part in an impact if they would arrive within so many seconds per metre of it. [s/m]"""
MAX_IMPACTS_PER_INSTANT = 200
MAX_STOPS_PER_INSTANT = 5
"""Number of impulses at one instant that stop slip without forces."""
MAX_ELASTIC_IMPACTS = 100
"""Number of impacts at one instant after which they lose their rebound."""
MAX_PENETRATION = 1e-6
"""Points that an event, or the start, leaves less deep behind a surface are moved to it. [m]"""
SHORTEST_FALLBACK = 1e-10
"""A step of time stepping is not shortened further. [s]"""
AT_ONCE = 1e-12
"""Events within such a time of each other make no progress. [s]"""
MAX_FORCE_TOL = 1e-2
"""Largest part of the largest force by which forces may leave their bounds, where the mode stays the same."""
RESOLVED_FORCE_TOL = 1e-6
"""Forces of a mode that repeats are beyond their bounds where they are so with this tolerance."""
RESIDUAL_TOL = 1e-6
"""Largest error of the contact law of a phase, as part of the accelerations."""
JAM_APPROACH = 1e-9
"""Approach velocity of an impact that stops slip without one, as part of the slip."""


class ContactEnvironment(Environment):
    """All surfaces and all points that may touch them.

    Attributes:
        simultaneity_gap: gap up to which approaching points take part in the impact of another point. [m]
    """

    def __init__(self, plant: Plant, pairs: ContactPairs, simultaneity_gap: float) -> None:
        super().__init__(plant)
        self.pairs, self.simultaneity_gap = pairs, max(simultaneity_gap, CLOSED_GAP_TOL)
        self.e = pairs.per_contact(pairs.restitution)
        self.elastic = bool((self.e == 1.0).any())
        self._last: tuple[float, ContactPhase | None] = (-np.inf, None)
        self.mu = pairs.per_contact([surface.friction for surface in pairs.surfaces])

    def resolve_instant(self, t: float, q: np.ndarray, qd: np.ndarray) -> InstantResult:
        impacts: list[Impact] = []
        work, stops, resolved = np.zeros(3), 0, True
        self.plant.follow_light_joints(q)
        for count in range(MAX_IMPACTS_PER_INSTANT):
            contacts = self.pairs.state(q, qd)
            self._require_no_penetration(t, q, qd, contacts)
            if closure_error(contacts.gap).min() < -PROJECTION_TOL:
                q = project_to_surfaces(self.plant, self.pairs, q, NO_CONTACT.index)
                contacts = self.pairs.state(q, qd)
            involved = self._involved(contacts)
            if not involved.any():
                phase, jams, residual = next_phase(self.plant, self.pairs, self.mu, t, q, qd, contacts)
                at_rest = self._at_rest(contacts)
                if len(jams) and at_rest.any() and stops < MAX_STOPS_PER_INSTANT:
                    stops += 1
                    hit = contacts.select(at_rest)
                    result = self._stop_slip(q, qd, hit)
                    resolved = _slows_down(contacts.select(jams), result.qd)
                    if resolved:
                        impacts.append(self._record(t, q, qd, hit, result))
                        qd = result.qd
                        continue
                joints_stop = (np.abs(qd[phase.joints.sticking]) > REST_VELOCITY_TOL).any()
                before, energy = qd, self.plant.model.energy(q, qd)
                q, qd = self._projected(phase, q, qd)
                change = float(self.plant.model.energy(q, qd) - energy)  # also of gaps that close
                work[1 if joints_stop else 2] += min(change, 0.0)
                joints_rest = (np.abs(qd) <= REST_VELOCITY_TOL) & (np.abs(before) > REST_VELOCITY_TOL)
                joints_rest &= phase.joints.slip_direction != 0.0
                if (joints_rest.any() or phase.slip_has_ended(q, qd)) and count < MAX_ELASTIC_IMPACTS:
                    continue  # others hold it
                phase = self._with_tolerance(t, phase)
                if phase.force_tol >= RESOLVED_FORCE_TOL:
                    resolved &= phase.holds_at_start(t, self.plant.join(q, qd, work))
                resolved &= residual <= RESIDUAL_TOL
                if resolved or not isinstance(self.pairs, CompiledPairs):  # otherwise a short step follows
                    self.residual = max(self.residual, residual)
                return InstantResult(q, qd, phase, tuple(impacts), work, resolved)
            e = self.e if count < MAX_ELASTIC_IMPACTS else np.zeros_like(self.e)
            hit = contacts.select(involved)
            result = self._collide(t, q, qd, hit, e[involved])
            impacts.append(self._record(t, q, qd, hit, result))
            qd = result.qd
        contacts = self.pairs.state(q, qd)
        numbers = contacts.index[self._involved(contacts)]
        points = {self.pairs.point_name(i) for i in numbers[numbers < self.pairs.count].tolist()}
        names = ", ".join(sorted(points)) or "joints on their stops"
        remedy = "Choose a lower friction, or give" if self.mu.any() else "Give"
        raise SimulationError(
            f"at t = {t:.12g} s impacts of {names} follow each other without end ({MAX_IMPACTS_PER_INSTANT} at one instant). "
            f"{remedy} the robot more room between the surfaces.",
            time=t, state=np.concatenate([q, qd]), quantity="impacts",
        )  # fmt: skip

    @property
    def steps_implicitly(self) -> bool:  # type: ignore[override]
        return isinstance(self.pairs, CompiledPairs)

    def implicit_steps(
        self, phase: Phase, t: float, y: np.ndarray, end: float, rtol: float, keeps_up: Callable[[int, float], bool]
    ) -> Iterator[CreepStep]:
        assert isinstance(self.pairs, CompiledPairs)
        return creep_steps(phase, self.pairs, self.mu, t, y, end, rtol, keeps_up)

    def _projected(self, phase: ContactPhase, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The state projected to a phase whose slow contacts are at rest; those that this drives into their surface lose their
        normal velocity, too."""
        slip = self.pairs.state(q, qd).slip_velocity[phase.mode.index]
        phase = replace(phase, mode=phase.mode.at_start(slip))
        while True:
            q, qd = phase.project_to_constraints(q, qd)
            contacts = self.pairs.state(q, qd)
            driven = (contacts.gap <= CLOSED_GAP_TOL) & (contacts.gap_rate < -NORMAL_VELOCITY_TOL)
            driven[phase.mode.index] = False
            if not driven.any():
                return q, qd
            phase = replace(phase, mode=phase.mode.with_slipping(contacts.index[driven]))

    def _with_tolerance(self, t: float, phase: ContactPhase) -> ContactPhase:
        """The phase, with a wider tolerance of its forces where an event has not changed anything, or follows another at once."""
        since, last = self._last
        if t - since < AT_ONCE or (
            last is not None
            and last.mode.same_states(phase.mode)
            and (last.joints.sticking == phase.joints.sticking).all()
        ):
            phase = replace(phase, force_tol=min(10.0 * (last.force_tol if last else FORCE_TOL), MAX_FORCE_TOL))
        self._last = t, phase
        return phase

    def short_step(
        self, t: float, q: np.ndarray, qd: np.ndarray, h: float
    ) -> tuple[float, np.ndarray, np.ndarray, np.ndarray] | None:
        """A step that ends before an open contact closes, and leaves no point behind its surface."""
        if not isinstance(self.pairs, CompiledPairs):
            return None
        gap, rate = (values[0] for values in self.pairs.gaps(q[None], qd[None]))
        falls = (gap > CLOSED_GAP_TOL) & (rate < 0.0)
        h = min(h, 0.5 * float((gap[falls] / -rate[falls]).min(initial=np.inf)))
        tau = self.plant.tau(t, q, qd)[0]
        while h > SHORTEST_FALLBACK:
            found = self.pairs.stepper.step(q, qd, tau, h)
            if found is not None and self.pairs.gaps(found.q[None], found.qd[None])[0].min() >= -CLOSED_GAP_TOL:
                return t + h, *found[:3]
            h *= 0.25
        return None

    # --- impacts ------------------------------------------------------------------------------------------------------

    def _involved(self, contacts: ContactState) -> np.ndarray:
        """Mask of the contacts that take part in an impact now; empty if no point hits a surface."""
        approaching = contacts.gap_rate < -NORMAL_VELOCITY_TOL
        if not (approaching & (contacts.gap <= CLOSED_GAP_TOL)).any():
            return np.zeros_like(approaching)
        resting = self._at_rest(contacts)
        reach = np.maximum(CLOSED_GAP_TOL, -contacts.gap_rate * ARRIVAL_TIME * self.simultaneity_gap)
        return (approaching & (contacts.gap <= self.simultaneity_gap) & (contacts.gap <= reach)) | resting

    def _at_rest(self, contacts: ContactState) -> np.ndarray:
        """Mask of the closed contacts without normal velocity."""
        return (contacts.gap <= CLOSED_GAP_TOL) & (np.abs(contacts.gap_rate) <= NORMAL_VELOCITY_TOL)

    def _collide(self, t: float, q: np.ndarray, qd: np.ndarray, contacts: ContactState, e: np.ndarray) -> ImpactResult:
        """The impact, without rebounds lower than MIN_REBOUND under the accelerations without contact."""
        mu = self.mu[contacts.index]
        rebounds = (e > 0.0) & (e < 1.0)
        if rebounds.any():
            qdd = self.plant.derivative(t, q, qd, moving_joints(self.plant.friction, qd)[0]).qdd
            acceleration = gap_acceleration(contacts, qdd)
            e = np.where(rebounds & stays_below(MIN_REBOUND, e * contacts.gap_rate, acceleration), 0.0, e)
        result = solve_impact(*self._damped(q, qd), contacts, e, mu)
        self.residual = max(self.residual, result.residual)
        return result

    def _stop_slip(self, q: np.ndarray, qd: np.ndarray, contacts: ContactState) -> ImpactResult:
        """The impulse that stops slipping points where Coulomb's law has no forces (Painlevé's paradox).

        It is that of an impact whose approach velocity goes to zero.
        """
        approach = JAM_APPROACH * float(np.linalg.norm(contacts.velocity, axis=-1).max())
        e = np.zeros(len(contacts.index))
        return solve_impact(*self._damped(q, qd), contacts, e, self.mu[contacts.index], approach)

    def _damped(self, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """M with the added inertia, and qd without what damping takes at once."""
        M, damped = self.plant.model.mass_matrix(q), self.plant.mass_matrix(q)
        return (damped, np.linalg.solve(damped, M @ qd)) if self.plant.added_inertia.any() else (M, qd)

    def _record(self, t: float, q: np.ndarray, qd: np.ndarray, contacts: ContactState, result: ImpactResult) -> Impact:
        active = (result.normal > 0.0) & (contacts.index < self.pairs.count)
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
        gap, start = contacts.gap[deepest], t == 0.0
        if gap >= -MAX_PENETRATION:
            return
        quantity, message, remedy = (self._behind if deepest < self.pairs.count else self._beyond)(deepest, -gap)
        if not np.isfinite(gap):
            message = f"{quantity} is not finite, with velocities up to {np.abs(qd).max():.6g},"
            remedy = "Check the initial state and the actuators."
        elif not start:
            remedy = "Choose a smaller dt or rtol."
        when = "at the start" if start else f"at t = {t:.12g} s"
        raise SimulationError(f"{message} {when}. {remedy}", time=t, state=np.concatenate([q, qd]), quantity=quantity)

    def _behind(self, contact: int, depth: float) -> tuple[str, str, str]:
        """Quantity, message and remedy where a point is behind a surface."""
        point, surface = self.pairs.point_name(contact), self.pairs.surfaces[self.pairs.surface_index(contact)]
        remedy = "Start with every point on the allowed side, or leave this one out of the contact points."
        return f"gap of {point}", f"point {point!r} is {depth:.6g} m behind the surface {surface}", remedy

    def _beyond(self, contact: int, depth: float) -> tuple[str, str, str]:
        """The same where a joint is beyond its stop."""
        assert isinstance(self.pairs, CompiledPairs)
        name, bound = self.pairs.stepper.stop(contact)
        remedy = "Start within the limits, or choose limits='report'."
        return name, f"joint {name!r} is {depth:.6g} beyond its {bound} limit", remedy


def _slows_down(contacts: ContactState, qd: np.ndarray) -> bool:
    """Whether the slip of a contact is slower at other velocities of the robot."""
    after = np.linalg.norm(contacts.J @ qd - contacts.normal * (contacts.J_n @ qd)[:, None], axis=-1)
    return bool((after < 0.99 * np.linalg.norm(contacts.slip_velocity, axis=-1)).any())
