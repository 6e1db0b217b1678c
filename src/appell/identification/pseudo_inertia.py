"""Physically consistent inertial parameters: positive definite pseudo-inertias and their log-Cholesky coordinates.

A body's ten parameters belong to some distribution of mass exactly if P = ∫ [ρ; 1][ρ; 1]^T dm = [[J, γ], [γ^T, m]] is
positive semidefinite (P. Wensing, S. Kim, J.-J. Slotine, IEEE Robotics and Automation Letters 3 (2018)); J is Euler's tensor.
With U_0 of a known body, P_0 = U_0 U_0^T, and an upper triangle V,

    P = U_0 V V^T U_0^T        V = [[e^θ1, θ5, θ6, θ7], [0, e^θ2, θ8, θ9], [0, 0, e^θ3, θ10], [0, 0, 0, e^θ4]]

gives unconstrained coordinates θ of all such bodies: log-Cholesky (C. Rucker, P. Wensing, IEEE Robotics and Automation
Letters 7 (2022)) relative to the known body, θ = 0. The norm of θ is the distance from it.
"""

from __future__ import annotations

import numpy as np

ENTRIES = ((0, 0), (1, 1), (2, 2), (3, 3), (0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3))
"""Entries of V that hold the ten coordinates."""

_MAP = np.zeros((10, 4, 4))
_MAP[0, 3, 3] = 1.0
for _k in range(3):
    _MAP[1 + _k, _k, 3] = 1.0
for _row, (_a, _b) in {4: (1, 2), 6: (0, 2), 9: (0, 1)}.items():
    _MAP[_row, _a, _a] = _MAP[_row, _b, _b] = 1.0
for _row, _entry in {5: (0, 1), 7: (0, 2), 8: (1, 2)}.items():
    _MAP[(_row, *_entry)] = -1.0


def pseudo_inertia(parameters: np.ndarray) -> np.ndarray:
    """P (..., 4, 4) of the ten parameters (..., 10) of a body.

    Example:
        >>> P = pseudo_inertia(np.array([2.0, 0, 0, 0, 0.2, 0, 0.2, 0, 0, 0.2]))
        >>> bool((np.linalg.eigvalsh(P) > 0).all())
        True
    """
    m, mx, my, mz, xx, xy, yy, xz, yz, zz = np.moveaxis(np.asarray(parameters, dtype=float), -1, 0)
    half = (xx + yy + zz) / 2.0
    rows = [[half - xx, -xy, -xz, mx], [-xy, half - yy, -yz, my], [-xz, -yz, half - zz, mz], [mx, my, mz, m]]
    return np.moveaxis(np.array(rows), (0, 1), (-2, -1))


def parameters_of(P: np.ndarray) -> np.ndarray:
    """The ten parameters of a pseudo-inertia, the inverse of `pseudo_inertia`."""
    return np.tensordot(P, _MAP, axes=([-2, -1], [1, 2]))


def is_consistent(parameters: np.ndarray) -> np.ndarray:
    """Whether the pseudo-inertia of each body (..., 10) is positive definite."""
    return np.linalg.eigvalsh(pseudo_inertia(parameters)).min(axis=-1) > 0.0


def cholesky_factor(parameters: np.ndarray) -> np.ndarray:
    """The upper triangular U with P = U U^T."""
    P = pseudo_inertia(parameters)
    return np.linalg.cholesky(P[::-1, ::-1])[::-1, ::-1]


def from_log_cholesky(theta: np.ndarray, U: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Parameters (10,) of the coordinates θ relative to U, and their Jacobian (10, 10).

    Example:
        >>> known = np.array([2.0, 0.1, 0, 0, 0.2, 0, 0.2, 0, 0, 0.2])
        >>> parameters, _ = from_log_cholesky(np.zeros(10), cholesky_factor(known))
        >>> bool(abs(parameters - known).max() < 1e-15)
        True
    """
    V = np.zeros((4, 4))
    derivatives = np.zeros((10, 4, 4))
    for k, entry in enumerate(ENTRIES):
        V[entry] = np.exp(theta[k]) if k < 4 else theta[k]
        derivatives[(k, *entry)] = V[entry] if k < 4 else 1.0
    half = U @ (derivatives @ V.T) @ U.T
    return parameters_of(U @ (V @ V.T) @ U.T), parameters_of(half + np.swapaxes(half, 1, 2)).T


def with_minimum_inertia(parameters: np.ndarray, radius: float, min_mass: float) -> np.ndarray:
    """The nearest body with at least this mass [kg] and this radius of gyration in every direction [m]."""
    P = pseudo_inertia(parameters)
    mass = max(P[3, 3], min_mass)
    com = P[:3, 3] / P[3, 3] if P[3, 3] > min_mass else np.zeros(3)
    moments, axes = np.linalg.eigh(P[:3, :3] - P[3, 3] * np.outer(com, com))
    central = (axes * np.maximum(moments, mass * radius**2)) @ axes.T
    P = np.block([[central + mass * np.outer(com, com), mass * com[:, None]], [mass * com[None], np.array([[mass]])]])
    return parameters_of(P)
