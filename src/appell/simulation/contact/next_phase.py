"""The phase that follows an instant without impacts: contacts that stay closed, stick or slip, and joints that stick."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from appell.simulation.contact.mode import NO_CONTACT, NORMAL_VELOCITY_TOL, next_mode
from appell.simulation.contact.pairs import ContactPairs, ContactState
from appell.simulation.contact.phase import CLOSED_GAP_TOL, UNLOADED_TOL, ContactPhase
from appell.simulation.joint_friction import moving_joints, stopping_joints, with_joints_at_rest
from appell.simulation.plant import Plant

MIN_SEPARATION = 1e-9
"""Separations lower than this cannot be distinguished from contact. [m]"""
MAX_TURNS = 4
"""Number of trials at one instant to find the mode with friction that acts against the slip that it leads to."""
SAME_DIRECTION = 1e-9
"""Difference of unit vectors up to which friction has not turned."""
SOLVED, STOPPED_SLIP = 1e-8, 1e-9
"""Relative residual up to which Coulomb's law has forces, and slip [m/s] that an impulse stops where it has none."""
FAST_SLIP, JAM_TIME = 1e-3, 1e-7
"""Slip above this [m/s] that forces of the mode would stop within such a time [s] is stopped by an impulse."""


class NextPhase(NamedTuple):
    """A phase, the numbers of slipping contacts that Coulomb's law stops at once, and the error of the law, as part of the
    accelerations."""

    phase: ContactPhase
    jams: np.ndarray
    residual: float


def next_phase(
    plant: Plant, pairs: ContactPairs, mu: np.ndarray, t: float, q: np.ndarray, qd: np.ndarray, contacts: ContactState
) -> NextPhase:
    """The phase that follows a state.

    Args:
        mu: coefficients of friction of all contacts.
        contacts: all of them, in that state.
    """
    closed = contacts.select(np.abs(contacts.gap) <= CLOSED_GAP_TOL)
    resting = np.abs(closed.gap_rate) <= NORMAL_VELOCITY_TOL
    M = plant.mass_matrix(q)
    stopping = stopping_joints(plant.friction, qd, M)
    moving, at_rest = moving_joints(plant.friction, qd, stopping)
    none = np.zeros(0, dtype=int)
    if not resting.any() and not len(at_rest):
        return NextPhase(ContactPhase(plant, moving, pairs, NO_CONTACT), none, 0.0)
    qdd = plant.derivative(t, q, qd, moving).qdd
    if not np.isfinite(qdd).all():
        return NextPhase(ContactPhase(plant, moving, pairs, NO_CONTACT), none, 0.0)
    y, opposed, turns = plant.join(q, qd, np.zeros(3)), np.array(contacts.slip_velocity), 0
    speed = np.linalg.norm(opposed, axis=-1, keepdims=True)
    opposed /= np.where(speed > 0.0, speed, 1.0)
    while True:
        kept = closed.select(resting)
        friction = plant.friction[at_rest]
        found = next_mode(M, qdd, kept, mu[kept.index], at_rest, friction, opposed[kept.index])
        driven = at_rest[(found.joint_directions != 0.0) & stopping[at_rest]]
        if len(driven):  # friction alone does not stop them
            stopping[driven] = False
            moving, at_rest = moving_joints(plant.friction, qd, stopping)
            qdd = plant.derivative(t, q, qd, moving).qdd
            continue
        joints = with_joints_at_rest(moving, at_rest, found.joint_directions)
        phase = ContactPhase(plant, joints, pairs, found.mode)
        unresolved = ~resting & (closed.gap_rate > 0.0)
        if unresolved.any():
            unresolved &= stays_below(MIN_SEPARATION, closed.gap_rate, gap_acceleration(closed, phase.qdd(t, q, qd)))
        if unresolved.any():
            resting |= unresolved
            continue
        jams, free = found.jams, gap_acceleration(kept, qdd)
        holds = phase.holds_at_start(t, y)
        if not holds and len(found.forces):  # dependent contacts that need other forces than those of least norm
            phase = phase.with_loads(t, q, qd, found.forces, kept, free)
            holds = phase.holds_at_start(t, y)
        turned = None if holds or turns == MAX_TURNS else phase.opposed_slip(t, q, qd)
        if turned is not None:
            index, slips = phase.mode.index, ~phase.mode.sticking
            changed = (np.abs(turned - opposed[index])[slips] > SAME_DIRECTION).any()
            turns, opposed[index] = turns + 1, turned
            if changed:
                continue
        if found.residual > SOLVED and not holds:
            jams = np.linalg.norm(kept.slip_velocity, axis=-1) > STOPPED_SLIP
        if holds and phase.has_rows:
            jams = jams | _stops_at_once(kept, phase.forces(t, q, qd)[0])
        obeyed = found.residual > SOLVED and holds and _stay_open(phase, kept, phase.qdd(t, q, qd), free)
        return NextPhase(phase, kept.index[jams], 0.0 if obeyed or jams.any() else found.residual)


def _stay_open(phase: ContactPhase, contacts: ContactState, qdd: np.ndarray, free: np.ndarray) -> bool:
    """Whether contacts that are not in the mode do not accelerate into their surface."""
    into = -gap_acceleration(contacts, qdd) > UNLOADED_TOL * np.maximum(1.0, np.abs(free))
    return not into[~np.isin(contacts.index, phase.mode.index)].any()


def _stops_at_once(contacts: ContactState, qdd: np.ndarray) -> np.ndarray:
    """Mask of the contacts whose fast slip would end within JAM_TIME: their forces grow without end."""
    slip = contacts.slip_velocity
    speed = np.linalg.norm(slip, axis=-1)
    deceleration = -np.sum(slip * (contacts.J @ qdd + contacts.acceleration_bias), axis=-1) / np.where(
        speed > 0.0, speed, 1.0
    )
    return (speed > FAST_SLIP) & (speed < JAM_TIME * deceleration)


def stays_below(height: float, rate: np.ndarray, acceleration: np.ndarray) -> np.ndarray:
    """Mask of the gaps, with these rates and accelerations, that fall back before they exceed a height [m]."""
    return (acceleration < 0.0) & (rate**2 <= -2.0 * acceleration * height)


def gap_acceleration(contacts: ContactState, qdd: np.ndarray) -> np.ndarray:
    return contacts.J_n @ qdd + contacts.gap_acceleration_bias
