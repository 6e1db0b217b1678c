"""Impulses of impacts.

Source: Shafei and Shafei 2018, section 4, for several contacts at once (docs/theory/shafei2018.md).

    (45)  M (qd⁺ - qd⁻) = Σ J_j^T (n_j f_j + t_j)     normal impulses f_j, tangential impulses t_j
    (46)  v_j⁺ = -e_j v_j⁻                            Newton's law for the normal velocities v_j = n_j^T J_j qd

As contact is unilateral, (46) holds for contacts with f_j > 0, and v_j⁺ >= -e_j v_j⁻ for those with f_j = 0. The energy then
changes by Σ (1 - e_j) f_j v_j⁻ / 2 <= 0. Friction obeys Coulomb's law with the velocities after the impact; where Newton's law
together with it would add energy (possible with several contacts), only the largest part of friction is applied that does not.
Where the solver finds no impulses that end the approach, as with very large friction, those of a part of the friction are taken;
the residual is that of the whole.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from appell.simulation.contact.mode import (
    NORMAL_VELOCITY_TOL,
    OPEN,
    SLIP,
    STICK,
    ContactProblem,
    ModeRows,
    contact_frames,
    force_margin,
    frame_rows,
)
from appell.simulation.contact.pairs import ContactState
from appell.simulation.contact.solver import ContactBlocks

RESIDUAL_TOL = 1e-13
"""Residual of the contact law at which an impact is solved, as part of the velocities."""


SOLVED = 1e-6
"""Residual, as part of the velocities, beyond which less friction is tried."""
PARTS = (1.0, 0.25, 0.0625, 0.0)
"""Parts of the friction that are tried, the last of which always has impulses."""


class ImpactResult(NamedTuple):
    """qd after the impact, normal impulses (m,), friction impulses (m, 3) and the relative residual of the contact law."""

    qd: np.ndarray
    normal: np.ndarray
    friction: np.ndarray
    residual: float


def solve_impact(
    M: np.ndarray, qd: np.ndarray, contacts: ContactState, e: np.ndarray, mu: np.ndarray, approach: float = 0.0
) -> ImpactResult:
    """Solve (45) and (46) for contacts that approach their surface, with an additional velocity, or rest on it."""
    frames = contact_frames(contacts)
    J, _ = frame_rows(contacts, frames)
    columns = np.linalg.solve(M, J.T)
    G, c = J @ columns, J @ qd
    normal = c.reshape(-1, 3)[:, 2]
    normal -= e * np.maximum(-normal, 0.0) + approach
    scale = max(float(np.abs(c).max(initial=0.0)), np.finfo(float).tiny)

    def impulses(mu: np.ndarray) -> tuple[np.ndarray, float]:
        problem = ContactProblem.of(G, c, mu, np.zeros(0))
        solution = problem.solve(None, RESIDUAL_TOL * scale)
        return problem.expand(solution.impulses), solution.residual / scale

    p, residual = impulses(mu)
    whole, solved = mu, residual
    for part in PARTS[1:]:
        if solved <= SOLVED and (c + G @ p)[2::3].min(initial=0.0) >= -0.5 * NORMAL_VELOCITY_TOL:
            break
        mu = part * whole
        p, solved = impulses(mu)
    p = _polished(M, qd, J, c, mu, p, c + G @ p, max(10.0 * solved, 1e-12) * scale)
    jump = columns @ p
    if mu.any() and _energy_change(M, qd, jump) > 0.0:
        smooth, _ = impulses(np.zeros_like(mu))
        part = _largest_dissipative_part(M, qd, columns @ smooth, jump)
        p, jump = ((1.0 - part) * without + part * whole for without, whole in ((smooth, p), (columns @ smooth, jump)))
    parts = p.reshape(-1, 3)
    return ImpactResult(qd + jump, parts[:, 2], np.einsum("ct,cti->ci", parts[:, :2], frames[:, :2]), residual)


def _polished(
    M: np.ndarray,
    qd: np.ndarray,
    J: np.ndarray,
    c: np.ndarray,
    mu: np.ndarray,
    p: np.ndarray,
    w: np.ndarray,
    tol: float,
) -> np.ndarray:
    """The impulses of least norm for the contacts that stick, slip and separate as in the solution p, w, to rounding."""
    impulses, velocities = p.reshape(-1, 3), w.reshape(-1, 3)
    moves = np.linalg.norm(velocities[:, :2], axis=-1) > tol
    states = np.where(velocities[:, 2] > tol, OPEN, np.where(moves | (mu == 0.0), SLIP, STICK)).astype(np.int32)
    length = np.linalg.norm(impulses[:, :2], axis=-1, keepdims=True)
    direction = impulses[:, :2] / np.where(length > 0.0, length, 1.0)
    rows = ModeRows(J, c - J @ qd, ContactBlocks.points(mu), states, direction)
    qd_next, exact = rows.accelerations(M, M @ qd)
    same = np.abs(J @ qd_next + rows.bias - w).max(initial=0.0) <= 1e3 * tol
    return exact if same and force_margin(rows, exact, np.zeros(0), 0.0) >= 0.0 else p


def _energy_change(M: np.ndarray, qd: np.ndarray, jump: np.ndarray) -> float:
    return float(jump @ M @ (qd + 0.5 * jump))


def _largest_dissipative_part(M: np.ndarray, qd: np.ndarray, smooth: np.ndarray, rough: np.ndarray) -> float:
    """The largest s in [0, 1] for which the jump (1 - s) smooth + s rough does not increase the energy."""
    difference = rough - smooth
    smooth_gain = min(_energy_change(M, qd, smooth), 0.0)
    slope, curvature = float(difference @ M @ (qd + smooth)), 0.5 * float(difference @ M @ difference)
    if smooth_gain + slope + curvature <= 0.0 or curvature == 0.0:
        return 1.0
    discriminant = max(slope * slope - 4.0 * curvature * smooth_gain, 0.0)
    return float(np.clip((-slope + np.sqrt(discriminant)) / (2.0 * curvature), 0.0, 1.0))
