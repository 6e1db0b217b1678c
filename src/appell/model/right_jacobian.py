"""Derivatives of `integrate` and `difference` in tangent spaces.

The steps v of a floating, spherical or planar joint are twists in the child's frame, with the bracket ad_v S_k = v x S_k of its
unit twists S_k. With X = -ad_v,

    (1)  (q ⊕ δ) ⊕ v = (q ⊕ v) ⊕ exp(X) δ              to first order in δ
    (2)  q ⊕ (v + δ) = (q ⊕ v) ⊕ J δ,                  J = Σ X^k/(k+1)!, the right Jacobian
    (3)  exp(X) = 1 + X J
    (4)  X⁵ = -2 θ² X³ - θ⁴ X                          with the angle θ of v

so that J is a polynomial of degree four, whose coefficients are series in θ² for small angles and closed forms for others.
Steps of all other joints add to coordinates: there both matrices are the identity.

Source: T. D. Barfoot, State Estimation for Robotics, 2017, section 7.1.5 (left Jacobian of SE(3); J is its value at -v).
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from math import factorial
from typing import NamedTuple

import numpy as np

from appell.model.joints import KINDS, JointModel

SMALL, POWERS = 2.0, 24
"""Angles for which the series is used, and its powers of X: the next one is below 1e-17 of the sum."""


class IntegrateDerivatives(NamedTuple):
    """Derivatives of q ⊕ dv in its tangent space, by q in its tangent space and by dv, (..., nv, nv) each."""

    dq: np.ndarray
    ddv: np.ndarray


class DifferenceDerivatives(NamedTuple):
    """Derivatives of difference(q0, q1) by q0 and q1 in their tangent spaces, (..., nv, nv) each."""

    dq0: np.ndarray
    dq1: np.ndarray


def step_derivatives(slices: Iterable[tuple[JointModel, slice, slice]], dv: np.ndarray) -> IntegrateDerivatives:
    """exp(X) and J of all joints for steps (N, nv)."""
    exponential, J = np.zeros((2, *dv.shape, dv.shape[1]))
    for kind, _, own in slices:
        at = (slice(None), own, own)
        exponential[at], J[at] = (
            _of_joint(kind.name, dv[:, own]) if kind.has_quasi_velocities else [np.eye(kind.nv)] * 2
        )
    return IntegrateDerivatives(exponential, J)


def difference_derivatives(derivatives: IntegrateDerivatives) -> DifferenceDerivatives:
    """Those of v = difference(q0, q1), from those of q0 ⊕ v = q1."""
    by_end = np.linalg.inv(derivatives.ddv)
    return DifferenceDerivatives(-by_end @ derivatives.dq, by_end)


def adjoint(kind: str, v: np.ndarray) -> np.ndarray:
    """ad_v of velocities (N, nv) of a joint of this kind, (N, nv, nv)."""
    return np.einsum("ni,ikl->nkl", v, _brackets(kind)[0])


def _of_joint(kind: str, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    X, angular = -adjoint(kind, v), _brackets(kind)[1]
    squared = np.sum((v @ angular) ** 2, axis=1)
    power = one = np.broadcast_to(np.eye(v.shape[1]), X.shape)
    J = one
    for factor in _coefficients(squared):
        power = power @ X
        J = J + factor[:, None, None] * power
    return one + X @ J, J


@lru_cache
def _brackets(kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Matrices ad of the unit twists, and the angular part of each unit twist by rows."""
    unit = KINDS[kind].motion_subspace()
    S = np.array([[*map(float, (*twist.linear, *twist.angular))] for twist in unit])
    linear, angular = S[:, :3], S[:, 3:]
    turned = np.cross(angular[:, None], linear) + np.cross(linear[:, None], angular)
    products = np.concatenate([turned, np.cross(angular[:, None], angular)], axis=-1)  # of S_i and S_k, (i, k, 6)
    return np.swapaxes(products @ S.T, 1, 2), angular


def _coefficients(squared: np.ndarray) -> np.ndarray:
    """Factors of X, ..., X⁴ in J at angles of these squares, (4, N)."""
    small = squared < SMALL**2
    x = np.where(small, squared, 0.0)
    rows = np.zeros((4, *x.shape))
    power = np.array([1.0, 0.0, 0.0, 0.0])[:, None] * np.ones_like(x)  # of X^k in X, ..., X⁴
    for k in range(1, POWERS + 1):
        rows += power / factorial(k + 1)
        *lower, last = power
        power = np.array([-x * x * last, lower[0], lower[1] - 2.0 * x * last, lower[2]])
    t = np.sqrt(np.where(small, 1.0, squared))
    s, c = np.sin(t), np.cos(t)
    closed = [
        (4.0 - t * s - 4.0 * c) / (2.0 * t**2),
        (4.0 * t - 5.0 * s + t * c) / (2.0 * t**3),
        (2.0 - t * s - 2.0 * c) / (2.0 * t**4),
        (2.0 * t - 3.0 * s + t * c) / (2.0 * t**5),
    ]
    return np.where(small, rows, closed)
