"""Impulses of impacts, and contact forces during lasting contact, from the same equations.

Source of the impact law: Shafei and Shafei 2018, section 4, for several contacts at once (docs/theory/shafei2018.md).

    (45)  M (qd⁺ - qd⁻) = Σ J_j^T (n_j f_j + t_j)     normal impulses f_j, tangential impulses t_j
    (46)  v_j⁺ = -e_j v_j⁻                            Newton's law for the normal velocities v_j = n_j^T J_j qd

As contact is unilateral, (46) holds for contacts with f_j > 0, and v_j⁺ >= -e_j v_j⁻ for those with f_j = 0. The energy then
changes by Σ (1 - e_j) f_j v_j⁻ / 2 <= 0. Friction dissipates energy; where Newton's law together with it would add energy
(possible with several contacts), only the largest part of friction is applied that does not.

Forces have accelerations in the place of velocities, and zero normal acceleration prescribed,

    M qdd = M qdd_free + Σ J_j^T (n_j f_j + t_j),     f_j >= 0,   g̈_j >= 0,   f_j g̈_j = 0,   |t_j| <= μ_j f_j.

`unilateral_forces` solves this, which determines the contacts that stay closed. `bilateral_forces` are the forces of contacts
known to stay closed, which stick or slip in a known direction; there f_j may have any sign and the equations are linear.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.optimize import nnls

from appell.simulation.contact.friction import Delassus, Impulses, minimum_norm, solve_with_friction
from appell.simulation.contact.pairs import ContactState

NORMAL_VELOCITY_TOL = 1e-9
"""Normal velocities below this count as zero. [m/s]"""
SLIP_TOL = 1e-6
"""Points that slip more slowly may come to stick, and slip, if at all, in the direction of their acceleration. [m/s]"""
FORCE_TOL = 1e-9
"""Normal accelerations and forces below this part of the largest (or of 1 m/s², 1 N) count as zero."""
SLIP_ACC_TOL = 1e-6
"""Tangential accelerations below this part of the largest (or of 1 m/s²) count as zero: the point sticks."""
PYRAMID_EDGES = 8
"""Edges of a pyramid inside a friction cone."""


class ImpactResult(NamedTuple):
    """qd after the impact, normal impulses (m,) and friction impulses (m, 3). [.., N s, N s]"""

    qd: np.ndarray
    normal: np.ndarray
    friction: np.ndarray


def solve_impact(M: np.ndarray, qd: np.ndarray, contacts: ContactState, e: np.ndarray, mu: np.ndarray) -> ImpactResult:
    """Solve (45) and (46) for contacts that approach their surface or rest on it."""
    axes = tangents(contacts.normal)
    J_n, J_t = contacts.J_n, jacobian_rows(axes, contacts.J)
    G = Delassus.of(J_n, J_t, M)
    approach, slip = J_n @ qd, (J_t @ qd).reshape(-1, 2)
    b_n = approach - e * np.maximum(-approach, 0.0)
    impulses = solve_with_friction(G, b_n, slip, np.zeros_like(mu))
    jump = _velocity_jump(M, J_n, J_t, impulses)
    if mu.any():
        with_friction = solve_with_friction(G, b_n, slip, mu)
        s = _largest_dissipative_part(M, qd, jump, _velocity_jump(M, J_n, J_t, with_friction))
        normal, tangential = ((1 - s) * a + s * b for a, b in zip(impulses[:2], with_friction[:2], strict=True))
        impulses = Impulses(normal, tangential)
        jump = _velocity_jump(M, J_n, J_t, impulses)
    return ImpactResult(qd + jump, impulses.normal, np.einsum("ct,cti->ci", impulses.tangential, axes))


def tangents(normal: np.ndarray) -> np.ndarray:
    """Two orthogonal unit tangents of each normal (m, 3), as (m, 2, 3)."""
    if not len(normal):
        return np.zeros((0, 2, 3))
    first = np.cross(normal, np.eye(3)[np.argmin(np.abs(normal), axis=-1)])
    first /= np.linalg.norm(first, axis=-1, keepdims=True)
    return np.stack([first, np.cross(normal, first)], axis=1)


def jacobian_rows(axes: np.ndarray, J: np.ndarray) -> np.ndarray:
    """Rows of the Jacobians (m, 3, nv) along the axes (m, k, 3), as (m k, nv)."""
    return np.einsum("cti,cij->ctj", axes, J).reshape(axes.shape[0] * axes.shape[1], J.shape[-1])


def _velocity_jump(M: np.ndarray, J_n: np.ndarray, J_t: np.ndarray, impulses: Impulses) -> np.ndarray:
    """qd⁺ - qd⁻ of (45)."""
    return np.linalg.solve(M, J_n.T @ impulses.normal + J_t.T @ impulses.tangential.ravel())


def _largest_dissipative_part(M: np.ndarray, qd: np.ndarray, smooth: np.ndarray, rough: np.ndarray) -> float:
    """The largest s in [0, 1] for which the jump (1 - s) smooth + s rough does not increase the energy."""
    difference = rough - smooth
    smooth_gain = min(float(smooth @ M @ (qd + 0.5 * smooth)), 0.0)
    slope, curvature = float(difference @ M @ (qd + smooth)), 0.5 * float(difference @ M @ difference)
    if smooth_gain + slope + curvature <= 0.0 or curvature == 0.0:
        return 1.0
    discriminant = max(slope * slope - 4.0 * curvature * smooth_gain, 0.0)
    return float(np.clip((-slope + np.sqrt(discriminant)) / (2.0 * curvature), 0.0, 1.0))


@dataclass(frozen=True)
class ContactMode:
    """Contacts that stay closed."""

    index: np.ndarray  # their numbers, (m,)
    sticking: np.ndarray  # mask of those that do not slip, (m,)
    starts_at_rest: np.ndarray  # mask of those that do not slip at the start of the mode, (m,)
    slip_direction: np.ndarray  # at the start; for contacts at rest the direction of their acceleration, (m, 3)
    mu: np.ndarray  # coefficients of friction, (m,)
    obeys_coulomb: bool = True  # whether Coulomb's law has a solution; it may have none for slipping points (Painlevé)


_EMPTY = np.zeros(0, dtype=bool)
NO_CONTACT = ContactMode(np.zeros(0, dtype=int), _EMPTY, _EMPTY, np.zeros((0, 3)), np.zeros(0))


class ContactForces(NamedTuple):
    """Contact forces and the motion under them."""

    qdd: np.ndarray  # accelerations, (nv,)
    normal: np.ndarray  # forces on the points, (m,) [N]
    friction: np.ndarray  # (m, 3) [N]
    gap_acceleration: np.ndarray  # g̈, (m,) [m/s²]
    slip_acceleration: np.ndarray  # tangential accelerations of the points, (m, 3) [m/s²]
    obeys_coulomb: bool  # whether the forces obey Coulomb's law


def unilateral_forces(M: np.ndarray, qdd: np.ndarray, contacts: ContactState, mu: np.ndarray) -> ContactForces:
    """Forces of unilateral contacts without normal velocity; qdd are the accelerations without them."""
    axes = tangents(contacts.normal)
    J_n, J_t = contacts.J_n, jacobian_rows(axes, contacts.J)
    a_n = J_n @ qdd + contacts.gap_acceleration_bias
    a_t = (J_t @ qdd).reshape(-1, 2) + np.einsum("cti,ci->ct", axes, contacts.acceleration_bias)
    direction = np.einsum("cti,ci->ct", axes, slip_direction(contacts, np.full((len(a_n), 3), np.nan)))
    forces = solve_with_friction(Delassus.of(J_n, J_t, M), a_n, a_t, mu, direction)
    qdd = qdd + np.linalg.solve(M, J_n.T @ forces.normal + J_t.T @ forces.tangential.ravel())
    friction = np.einsum("ct,cti->ci", forces.tangential, axes)
    return _contact_forces(qdd, forces.normal, friction, contacts, forces.obeys_coulomb)


def bilateral_forces(M: np.ndarray, qdd: np.ndarray, contacts: ContactState, mode: ContactMode) -> ContactForces:
    """Forces that keep the contacts of a mode closed, and its sticking contacts at rest."""
    J_n, sticking = contacts.J_n, mode.sticking
    direction = mode_slip_direction(contacts, mode)
    mu = np.where(sticking, 0.0, mode.mu)
    J_f = J_n - mu[:, None] * np.einsum("ci,cij->cj", direction, contacts.J)  # normal force with its friction
    axes = tangents(contacts.normal[sticking])
    J_s = jacobian_rows(axes, contacts.J[sticking])
    rows, columns = np.concatenate([J_n, J_s]), np.concatenate([J_f, J_s])
    bias = np.einsum("cti,ci->ct", axes, contacts.acceleration_bias[sticking]).ravel()
    response = np.linalg.solve(M, columns.T)
    f = minimum_norm(rows @ response, -(rows @ qdd) - np.concatenate([contacts.gap_acceleration_bias, bias]))
    m = len(J_n)
    friction = -(mu * f[:m])[:, None] * direction
    friction[sticking] = np.einsum("ct,cti->ci", f[m:].reshape(-1, 2), axes)
    return _contact_forces(qdd + response @ f, f[:m], friction, contacts)


def _contact_forces(
    qdd: np.ndarray, normal: np.ndarray, friction: np.ndarray, contacts: ContactState, obeys_coulomb: bool = True
) -> ContactForces:
    acceleration = contacts.J @ qdd + contacts.acceleration_bias
    a_n = np.sum(acceleration * contacts.normal, axis=-1)
    a_t = acceleration - a_n[:, None] * contacts.normal
    return ContactForces(qdd, normal, friction, a_n + contacts.curvature_acceleration, a_t, obeys_coulomb)


def generalized_contact_forces(forces: ContactForces, contacts: ContactState) -> np.ndarray:
    """J^T (n f + t), (nv,). [N m, N]"""
    return np.einsum("ci,cij->j", forces.normal[:, None] * contacts.normal + forces.friction, contacts.J)


def next_mode(forces: ContactForces, contacts: ContactState, mu: np.ndarray) -> ContactMode:
    """The contacts that do not separate, and whether they stick or slip.

    Accelerations of dependent contacts are less accurate; a contact with positive normal force is kept.
    """
    scale = max(1.0, float(np.abs(contacts.gap_acceleration_bias).max(initial=0.0)))
    active = forces.normal > FORCE_TOL * max(1.0, float(forces.normal.max(initial=0.0)))
    closed = forces.gap_acceleration <= np.where(active, SLIP_ACC_TOL, FORCE_TOL) * scale
    contacts, mu, slip_acceleration = contacts.select(closed), mu[closed], forces.slip_acceleration[closed]
    size = np.linalg.norm(slip_acceleration, axis=-1)
    at_rest = np.linalg.norm(contacts.slip_velocity, axis=-1) <= SLIP_TOL
    sticking = (mu > 0.0) & at_rest & (size <= SLIP_ACC_TOL * scale)
    direction = slip_direction(contacts, slip_acceleration / np.where(size > 0.0, size, 1.0)[:, None])
    return ContactMode(contacts.index, sticking, at_rest, direction, mu, forces.obeys_coulomb)


def mode_has_ended(M: np.ndarray, qdd: np.ndarray, contacts: ContactState, mode: ContactMode) -> bool:
    """Whether a contact of the mode would need a negative normal force, or more friction than it has.

    For dependent contacts this may hold for the forces of smallest norm and not for others: then `unilateral_forces` decides,
    whose accelerations are unique. The mode has also ended where it finds no forces.
    """
    forces, mu = bilateral_forces(M, qdd, contacts, mode), mode.mu
    tol = FORCE_TOL * max(1.0, float(np.abs(forces.normal).max(initial=0.0)))
    friction = np.linalg.norm(forces.friction[mode.sticking], axis=-1)
    if forces.normal.min(initial=0.0) >= -tol and (friction <= (mu * forces.normal)[mode.sticking] + tol).all():
        return False
    if _equivalent_forces_exist(forces, contacts, mode):
        return False
    kept = next_mode(unilateral_forces(M, qdd, contacts, mu), contacts, mu)
    return not kept.obeys_coulomb or len(kept.index) < len(mode.index) or bool((kept.sticking != mode.sticking).any())


def _equivalent_forces_exist(forces: ContactForces, contacts: ContactState, mode: ContactMode) -> bool:
    """Whether admissible forces (non-negative, within the friction cones) give the same generalized forces.

    Forces of sticking contacts are taken from a pyramid of `PYRAMID_EDGES` edges inside the friction cone.
    """
    direction, mu, sticking = mode_slip_direction(contacts, mode), mode.mu, mode.sticking
    edges = np.where(sticking[:, None], 0.0, -mu[:, None] * direction)[:, None] + contacts.normal[:, None]
    edges = np.repeat(edges, PYRAMID_EDGES, axis=1)
    angles = 2.0 * np.pi / PYRAMID_EDGES * np.arange(PYRAMID_EDGES)
    circle = np.stack([np.cos(angles), np.sin(angles)])
    edges[sticking] += mu[sticking, None, None] * np.einsum("ta,cti->cai", circle, tangents(contacts.normal[sticking]))
    columns = np.einsum("cai,cij->jca", edges, contacts.J).reshape(contacts.J.shape[-1], -1)
    target = generalized_contact_forces(forces, contacts)
    return bool(nnls(columns, target)[1] <= FORCE_TOL * max(1.0, float(np.linalg.norm(target))))


def mode_slip_direction(contacts: ContactState, mode: ContactMode) -> np.ndarray:
    """Unit vectors (m, 3) of slip in a mode; contacts that started at rest keep their first direction until they move."""
    return slip_direction(contacts, mode.slip_direction, np.where(mode.starts_at_rest, SLIP_TOL, NORMAL_VELOCITY_TOL))


def slip_direction(contacts: ContactState, at_rest: np.ndarray, tol: float | np.ndarray = SLIP_TOL) -> np.ndarray:
    """Unit vectors (m, 3) of slip; `at_rest` for points that slip more slowly than the tolerance."""
    speed = np.linalg.norm(contacts.slip_velocity, axis=-1)
    moves = speed > tol
    return np.where(moves[:, None], contacts.slip_velocity / np.where(moves, speed, 1.0)[:, None], at_rest)
