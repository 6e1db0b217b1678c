"""The impact law: generalized velocities after an impact from those before it.

Source: Shafei and Shafei 2018, section 4, for several contacts at once (docs/theory/shafei2018.md).

    (45)  M (qd⁺ - qd⁻) = Σ J_j^T (n_j f_j + t_j)     normal impulses f_j, tangential impulses t_j
    (46)  v_j⁺ = -e_j v_j⁻                            Newton's law for the normal velocities v_j = n_j^T J_j qd

As contact is unilateral, (46) holds for contacts with f_j > 0, and v_j⁺ >= -e_j v_j⁻ for those with f_j = 0. The energy then
changes by Σ (1 - e_j) f_j v_j⁻ / 2 <= 0. Friction dissipates energy; where Newton's law together with it would add energy
(possible with several contacts), only the largest part of friction is applied that does not.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from appell.simulation.contact.friction import Delassus, Impulses, solve_with_friction
from appell.simulation.contact.pairs import ContactState


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
