"""Forces of walls on points that stay in contact, from the same equations as impulses.

With accelerations in the place of velocities, and zero wanted of those along the normal,

    M qdd = M qdd_free + Σ J_j^T (n_j f_j + t_j),     f_j >= 0,   g̈_j >= 0,   f_j g̈_j = 0,   |t_j| <= μ_j f_j.

`push` solves this; it says which contacts go on. `hold` gives the forces of contacts that are known to go on, which
stick or slide in a known direction; there f_j may have any sign and the equations are linear.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.optimize import nnls

from appell.simulation.contact.complementarity import minimum_norm
from appell.simulation.contact.contacts import ContactMotion
from appell.simulation.contact.friction import Delassus, solve_with_friction
from appell.simulation.contact.law import rows_along, tangents

SPEED = 1e-9
"""Normal speeds below this are none. [m/s]"""
STILL = 1e-6
"""Points that slide more slowly may come to stick, and slide, if at all, in the direction in which they accelerate. [m/s]"""
SMALL = 1e-9
"""Normal accelerations and forces below this share of the greatest (or of 1 m/s², 1 N) are none."""
CREEP = 1e-6
"""Tangential accelerations below this share of the greatest (or of 1 m/s²) are none: the point sticks."""

SIDES = 8
"""Edges of a pyramid inside a cone of friction."""


@dataclass(frozen=True)
class Mode:
    """Contacts that go on.

    Attributes:
        index: their numbers, (m,).
        sticks: those that do not slide, (m,).
        still: those that do not slide yet when the mode begins, (m,).
        direction: of sliding when it begins; of those that are still, the one in which they accelerate, (m, 3).
        mu: coefficients of friction, (m,).
        lawful: whether Coulomb's law has forces for them; where points slide it may have none (Painlevé's paradox).
    """

    index: np.ndarray
    sticks: np.ndarray
    still: np.ndarray
    direction: np.ndarray
    mu: np.ndarray
    lawful: bool = True


_NONE = np.zeros(0, dtype=bool)
FLIGHT = Mode(np.zeros(0, dtype=int), _NONE, _NONE, np.zeros((0, 3)), np.zeros(0))
"""No contact."""


class Reaction(NamedTuple):
    """What walls do to the motion.

    Attributes:
        qdd: accelerations with the walls, (nv,).
        normal, friction: their forces on the points, (m,) and (m, 3). [N]
        opening, slipping: accelerations of the points, g̈ (m,) and in the tangent (m, 3). [m/s²]
        lawful: whether the forces obey Coulomb's law.
    """

    qdd: np.ndarray
    normal: np.ndarray
    friction: np.ndarray
    opening: np.ndarray
    slipping: np.ndarray
    lawful: bool


def push(M: np.ndarray, qdd: np.ndarray, contacts: ContactMotion, mu: np.ndarray) -> Reaction:
    """Forces of walls that only push, on points at rest along the normal; qdd are the accelerations without them."""
    axes = tangents(contacts.normal)
    J_n, J_t = contacts.J_n, rows_along(axes, contacts.J)
    free = J_n @ qdd + contacts.rate_bias
    free_t = (J_t @ qdd).reshape(-1, 2) + np.einsum("cti,ci->ct", axes, contacts.acceleration)
    way = np.einsum("cti,ci->ct", axes, slide_direction(contacts, np.full((len(free), 3), np.nan)))
    forces = solve_with_friction(Delassus.of(J_n, J_t, M), free, free_t, mu, way)
    after = qdd + np.linalg.solve(M, J_n.T @ forces.normal + J_t.T @ forces.tangential.ravel())
    return _reaction(after, forces.normal, np.einsum("ct,cti->ci", forces.tangential, axes), contacts, forces.lawful)


def hold(M: np.ndarray, qdd: np.ndarray, contacts: ContactMotion, mode: Mode) -> Reaction:
    """Forces that keep the contacts of a mode closed, and those that stick in their place."""
    J_n, mu = contacts.J_n, mode.mu
    way = mode_direction(contacts, mode)
    slides = np.where(mode.sticks, 0.0, mu)
    pushes = J_n - slides[:, None] * np.einsum("ci,cij->cj", way, contacts.J)  # a unit of f_n brings its friction along
    axes = tangents(contacts.normal[mode.sticks])
    J_s = rows_along(axes, contacts.J[mode.sticks])
    rows, columns = np.concatenate([J_n, J_s]), np.concatenate([pushes, J_s])
    rest = np.einsum("cti,ci->ct", axes, contacts.acceleration[mode.sticks]).ravel()
    weighted = np.linalg.solve(M, columns.T)
    f = minimum_norm(rows @ weighted, -(rows @ qdd) - np.concatenate([contacts.rate_bias, rest]))
    m = len(J_n)
    friction = -(slides * f[:m])[:, None] * way
    friction[mode.sticks] = np.einsum("ct,cti->ci", f[m:].reshape(-1, 2), axes)
    return _reaction(qdd + weighted @ f, f[:m], friction, contacts)


def _reaction(
    qdd: np.ndarray, normal: np.ndarray, friction: np.ndarray, contacts: ContactMotion, lawful: bool = True
) -> Reaction:
    acceleration = contacts.J @ qdd + contacts.acceleration
    along = np.sum(acceleration * contacts.normal, axis=-1)
    slipping = acceleration - along[:, None] * contacts.normal
    return Reaction(qdd, normal, friction, along + contacts.bend, slipping, lawful)


def walls_on_speeds(reaction: Reaction, contacts: ContactMotion) -> np.ndarray:
    """Forces of the walls brought to the speeds, J^T (n f + t), (nv,). [N m, N]"""
    forces = reaction.normal[:, None] * contacts.normal + reaction.friction
    return np.einsum("ci,cij->j", forces, contacts.J)


def next_mode(reaction: Reaction, contacts: ContactMotion, mu: np.ndarray) -> Mode:
    """The contacts that do not open, and whether they stick or slide.

    Where contacts depend on each other their accelerations are less exact; one that pushes stays.
    """
    greatest = max(1.0, float(np.abs(contacts.rate_bias).max(initial=0.0)))
    pushes = reaction.normal > SMALL * max(1.0, float(reaction.normal.max(initial=0.0)))
    stays = reaction.opening <= np.where(pushes, CREEP, SMALL) * greatest
    contacts, slipping = contacts.some(stays), reaction.slipping[stays]
    starts = np.linalg.norm(slipping, axis=-1)
    still = np.linalg.norm(contacts.sliding, axis=-1) <= STILL
    sticks = (mu[stays] > 0.0) & still & (starts <= CREEP * greatest)
    direction = slide_direction(contacts, slipping / np.where(starts > 0.0, starts, 1.0)[:, None])
    return Mode(contacts.index, sticks, still, direction, mu[stays], reaction.lawful)


def has_ended(M: np.ndarray, qdd: np.ndarray, contacts: ContactMotion, mode: Mode) -> bool:
    """Whether a contact of the mode would have to pull, or to hold with more friction than it has.

    Where contacts depend on each other this may be so for the forces of smallest norm and not for others: then `push`
    decides, whose accelerations are the same for all of them. Where it finds no forces either the mode has ended.
    """
    forces, mu = hold(M, qdd, contacts, mode), mode.mu
    limit = SMALL * max(1.0, float(np.abs(forces.normal).max(initial=0.0)))
    grip = np.linalg.norm(forces.friction[mode.sticks], axis=-1)
    if forces.normal.min(initial=0.0) >= -limit and (grip <= (mu * forces.normal)[mode.sticks] + limit).all():
        return False
    if _can_be_shared(forces, contacts, mode):
        return False
    kept = next_mode(push(M, qdd, contacts, mu), contacts, mu)
    return not kept.lawful or len(kept.index) < len(mode.index) or bool((kept.sticks != mode.sticks).any())


def _can_be_shared(forces: Reaction, contacts: ContactMotion, mode: Mode) -> bool:
    """Whether other forces that push, and hold with the friction they have, do the same to the motion.

    Those of a contact that sticks are taken from a pyramid of `SIDES` edges inside its cone.
    """
    way, mu = mode_direction(contacts, mode), mode.mu
    edges = np.where(mode.sticks[:, None], 0.0, -mu[:, None] * way)[:, None] + contacts.normal[:, None]
    edges = np.repeat(edges, SIDES, axis=1)
    angles = 2.0 * np.pi / SIDES * np.arange(SIDES)
    turns = np.stack([np.cos(angles), np.sin(angles)])
    around = np.einsum("ta,cti->cai", turns, tangents(contacts.normal[mode.sticks]))
    edges[mode.sticks] += mu[mode.sticks, None, None] * around
    columns = np.einsum("cai,cij->jca", edges, contacts.J).reshape(contacts.J.shape[-1], -1)
    wanted = walls_on_speeds(forces, contacts)
    return bool(nnls(columns, wanted)[1] <= SMALL * max(1.0, float(np.linalg.norm(wanted))))


def mode_direction(contacts: ContactMotion, mode: Mode) -> np.ndarray:
    """Unit vectors (m, 3) of sliding in a mode; those of points that were still when it began come from their speed later."""
    return slide_direction(contacts, mode.direction, np.where(mode.still, STILL, SPEED))


def slide_direction(contacts: ContactMotion, at_rest: np.ndarray, least: float | np.ndarray = STILL) -> np.ndarray:
    """Unit vectors (m, 3) of sliding; `at_rest` for points that slide more slowly than the least speed."""
    speed = np.linalg.norm(contacts.sliding, axis=-1)
    moves = speed > least
    return np.where(moves[:, None], contacts.sliding / np.where(moves, speed, 1.0)[:, None], at_rest)
