"""The impact: speeds after it from speeds before it.

Source: Shafei and Shafei 2018, section 4, for several contacts at once (docs/theory/shafei2018.md).

    (45)  M (qd⁺ - qd⁻) = Σ J_j^T (n_j f_j + t_j)     impulses f_j along the normal, t_j in the tangent
    (46)  v_j⁺ = -e_j v_j⁻                            Newton's law for the normal velocities v_j = n_j^T J_j qd

As walls only push, (46) holds for contacts with f_j > 0, and v_j⁺ >= -e_j v_j⁻ for those with f_j = 0. The energy then
changes by Σ (1 - e_j) f_j v_j⁻ / 2 <= 0. Friction takes energy away; where Newton's law together with it would add
energy (it may, for several contacts), only the share of friction is applied that keeps the energy.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from appell.simulation.contact.contacts import ContactMotion
from appell.simulation.contact.friction import Delassus, Impulses, solve_with_friction


class Outcome(NamedTuple):
    """Speeds after the impact, normal impulses (m,) and friction impulses (m, 3). [.., N s, N s]"""

    qd: np.ndarray
    normal: np.ndarray
    friction: np.ndarray


def impact(M: np.ndarray, qd: np.ndarray, contacts: ContactMotion, e: np.ndarray, mu: np.ndarray) -> Outcome:
    """Solve (45) and (46) for contacts that approach their wall or rest on it."""
    axes = tangents(contacts.normal)
    J_n, J_t = contacts.J_n, rows_along(axes, contacts.J)
    G = Delassus.of(J_n, J_t, M)
    before, sliding = J_n @ qd, (J_t @ qd).reshape(-1, 2)
    excess = before - e * np.maximum(-before, 0.0)
    impulses = solve_with_friction(G, excess, sliding, np.zeros_like(mu))
    jump = _jump(M, J_n, J_t, impulses)
    if mu.any():
        rough = solve_with_friction(G, excess, sliding, mu)
        share = _largest_share(M, qd, jump, _jump(M, J_n, J_t, rough))
        normal, tangential = ((1 - share) * a + share * b for a, b in zip(impulses[:2], rough[:2], strict=True))
        impulses = Impulses(normal, tangential)
        jump = _jump(M, J_n, J_t, impulses)
    return Outcome(qd + jump, impulses.normal, np.einsum("ct,cti->ci", impulses.tangential, axes))


def tangents(normal: np.ndarray) -> np.ndarray:
    """Two unit vectors at right angles to each normal (m, 3) and to each other, (m, 2, 3)."""
    if not len(normal):
        return np.zeros((0, 2, 3))
    first = np.cross(normal, np.eye(3)[np.argmin(np.abs(normal), axis=-1)])
    first /= np.linalg.norm(first, axis=-1, keepdims=True)
    return np.stack([first, np.cross(normal, first)], axis=1)


def rows_along(axes: np.ndarray, J: np.ndarray) -> np.ndarray:
    """Rows of the Jacobians (m, 3, nv) along the axes (m, k, 3), as (m k, nv)."""
    return np.einsum("cti,cij->ctj", axes, J).reshape(axes.shape[0] * axes.shape[1], J.shape[-1])


def _jump(M: np.ndarray, J_n: np.ndarray, J_t: np.ndarray, impulses: Impulses) -> np.ndarray:
    """qd⁺ - qd⁻ of (45)."""
    return np.linalg.solve(M, J_n.T @ impulses.normal + J_t.T @ impulses.tangential.ravel())


def _largest_share(M: np.ndarray, qd: np.ndarray, smooth: np.ndarray, rough: np.ndarray) -> float:
    """The largest s in [0, 1] for which the jump (1 - s) smooth + s rough does not raise the energy."""

    def gain(jump: np.ndarray) -> float:
        return float(jump @ M @ (qd + 0.5 * jump))

    way = rough - smooth
    slope, bend = float(way @ M @ (qd + smooth)), 0.5 * float(way @ M @ way)
    start = min(gain(smooth), 0.0)
    if start + slope + bend <= 0.0 or bend == 0.0:
        return 1.0
    return float(np.clip((-slope + np.sqrt(max(slope * slope - 4.0 * bend * start, 0.0))) / (2.0 * bend), 0.0, 1.0))
