"""Walls around a robot: what happens at an instant, and how the motion goes on after it.

At an instant at which points touch walls:
1. All points that approach a wall they touch, all that will touch one within the window of simultaneity, and all that
   rest on one are solved together (`appell.simulation.contact.law`). Points that this drives into a wall are an
   impact of their own, at the same instant.
2. An impact with e < 1 whose rebound would not rise above `FAINT` ends without rebound: this is how an endless sequence of
   ever smaller impacts comes to its end.
3. Points without velocity along the normal stay in contact if the wall would have to push them, and leave if not. Points
   that others push off so weakly that they would not rise above `RESOLVED` stay as well.
4. Where Coulomb's law has no forces for points that slide (Painlevé's paradox), they slide on with as much less friction,
   in steps of `YIELD`, as it needs for forces that push.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from appell.errors import SimulationError
from appell.simulation.contact.complementarity import minimum_norm
from appell.simulation.contact.contacts import ContactMotion, Contacts
from appell.simulation.contact.law import Outcome, impact
from appell.simulation.contact.reaction import FLIGHT, SPEED, STILL, Mode, next_mode, push, walls_on_speeds
from appell.simulation.contact.touching import SLACK, Touching, brought_to_wall
from appell.simulation.grip import Grip, corrected, grip_in_flight
from appell.simulation.phase import Settled
from appell.simulation.record import Impact

if TYPE_CHECKING:
    from appell.simulation.plant import Plant

CLOSED = 1e-9
"""A gap up to this, of either sign, is none. [m]"""
FAINT = 1e-9
"""A rebound that rises less than this is none, unless e = 1. [m]"""
RESOLVED = 1e-11
"""A separation that rises less than this cannot be told from contact. [m]"""
SOON = 10.0
"""Points within the window are taken to touch if they would arrive within so many seconds per metre of it. [s/m]"""
ROUNDS = 200
ELASTIC_ROUNDS = 100
"""Most impacts at one instant, and after how many of them they lose their rebound."""
YIELD, LEAST = 0.8, 0.01
"""Steps in which friction is reduced where it has no forces, and the share below which there is none."""
GRIPS = 50
"""Most corrections of which joints stick while points rest on walls."""


class Walls:
    """All walls and all points that may touch them.

    Attributes:
        window: gap up to which approaching points are taken to touch when another one does. [m]
    """

    def __init__(self, plant: Plant, pairs: Contacts, window: float) -> None:
        self.plant, self.pairs, self.window = plant, pairs, max(window, CLOSED)
        self.e = pairs.of_walls(pairs.restitution)
        self.mu = pairs.of_walls([wall.friction for wall in pairs.walls])

    def settle(self, t: float, q: np.ndarray, qd: np.ndarray) -> Settled:
        impacts: list[Impact] = []
        for round_ in range(ROUNDS):
            contacts = self.pairs.motion(q, qd)
            self._refuse_penetration(t, q, qd, contacts)
            if contacts.gap.min() < -SLACK:
                q = brought_to_wall(self.plant, self.pairs, q, FLIGHT.index)
                contacts = self.pairs.motion(q, qd)
            involved = self._involved(contacts)
            if not involved.any():
                phase = self._phase(t, q, qd, contacts)
                q, qd = phase.tidied(q, qd)
                if not self._involved(self.pairs.motion(q, qd)).any():
                    return Settled(q, qd, phase, tuple(impacts))
                qd = self._stilled(q, qd)
                continue
            e = self.e if round_ < ELASTIC_ROUNDS else np.zeros_like(self.e)
            outcome = self._collide(t, q, qd, contacts.some(involved), e[involved])
            impacts.append(self._record(t, q, qd, contacts.some(involved), outcome))
            qd = outcome.qd
        raise SimulationError(
            f"at t = {t:.12g} s impacts of {', '.join(sorted({p for each in impacts for p in each.points}))} follow each other "
            f"without end ({ROUNDS} at one instant). Give the walls room for the robot.",
            time=t, state=np.concatenate([q, qd]), quantity="impacts",
        )  # fmt: skip

    def _stilled(self, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """Speeds without the slowest normal velocities: those that points which stay in contact give each other."""
        contacts = self.pairs.motion(q, qd)
        slow = contacts.some((contacts.gap <= CLOSED) & (np.abs(contacts.rate) <= STILL))
        weighted = np.linalg.solve(self.plant.model.mass_matrix(q), slow.J_n.T)
        return qd - weighted @ minimum_norm(slow.J_n @ weighted, slow.rate)

    def _involved(self, contacts: ContactMotion) -> np.ndarray:
        """Mask of the contacts that take part in an impact now; none if no point hits a wall."""
        approaching = contacts.rate < -SPEED
        if not (approaching & (contacts.gap <= CLOSED)).any():
            return np.zeros_like(approaching)
        resting = (contacts.gap <= CLOSED) & (np.abs(contacts.rate) <= SPEED)
        soon = contacts.gap <= np.maximum(CLOSED, -contacts.rate * SOON * self.window)
        return (approaching & (contacts.gap <= self.window) & soon) | resting

    def _collide(self, t: float, q: np.ndarray, qd: np.ndarray, contacts: ContactMotion, e: np.ndarray) -> Outcome:
        """The impact, without rebounds that are too faint."""
        M = self.plant.model.mass_matrix(q)
        while True:
            outcome = impact(M, qd, contacts, e, self.mu[contacts.index])
            faint = (e > 0.0) & (e < 1.0) & (outcome.normal > 0.0) & self._faint(t, q, outcome.qd, contacts.index)
            if not faint.any():
                return outcome
            e = np.where(faint, 0.0, e)

    def _faint(self, t: float, q: np.ndarray, qd: np.ndarray, index: np.ndarray) -> np.ndarray:
        """Which contacts fall back before their gap is larger than FAINT."""
        every = self.pairs.motion(q, qd)
        qdd = self._phase(t, q, qd, every).motion(t, q, qd).qdd
        contacts = every.some(index)
        opening = contacts.J_n @ qdd + contacts.rate_bias
        return (opening < 0.0) & (contacts.rate**2 <= -2.0 * opening * FAINT)

    def _phase(self, t: float, q: np.ndarray, qd: np.ndarray, contacts: ContactMotion) -> Touching:
        """How the motion goes on, with less friction where there are no forces with all of it."""
        mode, grip = self._mode(t, q, qd, contacts, 1.0)
        share = 1.0
        while not mode.lawful:
            share = share * YIELD if share > LEAST else 0.0
            mode, _ = self._mode(t, q, qd, contacts, share)
            if mode.lawful:
                mode, grip = self._mode(t, q, qd, contacts, share * YIELD)
        return Touching(self.plant, self.pairs, mode, grip)

    def _mode(
        self, t: float, q: np.ndarray, qd: np.ndarray, contacts: ContactMotion, share: float
    ) -> tuple[Mode, Grip]:
        """The contacts that go on with a share of their friction, and the joints that stick: found in turn until they fit."""
        closed = contacts.some(np.abs(contacts.gap) <= CLOSED)
        resting = np.abs(closed.rate) <= SPEED
        grip = grip_in_flight(self.plant, t, q, qd)
        if not resting.any():
            return FLIGHT, grip
        M = self.plant.model.mass_matrix(q)
        mode = FLIGHT
        for _ in range(GRIPS):
            mode, qdd, walls = self._pushed(
                M, self.plant.motion(t, q, qd, grip).qdd, closed, resting.copy(), grip, share
            )
            forces = self.plant.holding(t, q, qd, grip, walls) if len(grip.stuck) else np.zeros(0)
            better = corrected(self.plant, grip, qd, qdd, forces)
            if better is grip:
                break
            grip = better
        return mode, grip

    def _pushed(
        self, M: np.ndarray, qdd: np.ndarray, closed: ContactMotion, resting: np.ndarray, grip: Grip, share: float
    ) -> tuple[Mode, np.ndarray, np.ndarray]:
        """The contacts that go on under a grip, with accelerations (nv,) and the walls' forces on the speeds (nv,)."""
        free = grip.free
        M_free = M if isinstance(free, slice) else M[np.ix_(free, free)]
        while True:
            chosen, mu = closed.some(resting), share * self.mu[closed.index[resting]]
            reaction = push(M_free, qdd[free], chosen.over(free), mu)
            after = np.zeros_like(qdd)
            after[free] = reaction.qdd
            opening = closed.J_n @ after + closed.rate_bias
            unresolved = ~resting & (opening < 0.0) & (closed.rate**2 <= -2.0 * opening * RESOLVED)
            if not unresolved.any():
                return next_mode(reaction, chosen, mu), after, walls_on_speeds(reaction, chosen)
            resting |= unresolved

    def _record(self, t: float, q: np.ndarray, qd: np.ndarray, contacts: ContactMotion, outcome: Outcome) -> Impact:
        hit = contacts.some(outcome.normal > 0.0)
        speed = np.linalg.norm(hit.velocity, axis=-1)
        numbers = hit.index.tolist()
        return Impact(
            time=t,
            points=tuple(self.pairs.point(i) for i in numbers),
            walls=tuple(self.pairs.wall(i) for i in numbers),
            impulses=outcome.normal[outcome.normal > 0.0],
            friction_impulses=outcome.friction[outcome.normal > 0.0],
            normal_velocity_change=hit.J_n @ outcome.qd - hit.rate,
            incidence=np.arccos(np.clip(np.abs(hit.rate) / np.where(speed > 0.0, speed, 1.0), 0.0, 1.0)),
            energy_before=float(self.plant.model.energy(q, qd)),
            energy_after=float(self.plant.model.energy(q, outcome.qd)),
            q=q, qd_before=qd, qd_after=outcome.qd,
        )  # fmt: skip

    def _refuse_penetration(self, t: float, q: np.ndarray, qd: np.ndarray, contacts: ContactMotion) -> None:
        deepest = int(np.argmin(contacts.gap))
        if contacts.gap[deepest] >= -CLOSED:
            return
        point, wall = self.pairs.point(deepest), self.pairs.walls[self.pairs.wall(deepest)]
        when = "at the start" if t == 0.0 else f"at t = {t:.12g} s"
        raise SimulationError(
            f"point {point!r} is {-contacts.gap[deepest]:.6g} m behind the wall {wall} {when}. "
            "Start with every point on the allowed side, or leave this one out of `points`.",
            time=t, state=np.concatenate([q, qd]), quantity=f"gap of {point}",
        )  # fmt: skip
