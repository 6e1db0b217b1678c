"""Checks of a fit: signs and order of the forces, negative friction, excitation, masses. Each finding has its evidence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from appell.identification.base import BaseParameters
from appell.identification.findings import Finding
from appell.identification.fit import Fit, QRFactors, solve_factors
from appell.identification.selection import Products
from appell.robot.protocol import AnyRobot

POSITIVE = {"fv": "viscous friction", "fc": "Coulomb friction", "Ia": "rotor inertia"}
"""Parameters that dissipate energy or have inertia, by their symbols."""
NEGATIVE_ERRORS = 3.0
"""Standard errors below zero from which a parameter counts as negative."""
SIGN_GAIN, SWAP_GAIN = 0.8, 0.6
"""Ratio of the residuals below which another sign, or other columns, explain the data better."""
UNCERTAIN = 0.1
"""Uncertainty of predicted forces on other motions, relative to the forces, from which the excitation is too poor."""


def check_signs(data: QRFactors, fit: Fit, names: Sequence[str]) -> Iterator[Finding]:
    """Forces whose opposite fits the others better: the residuals of all forces shrink."""
    weights = fit.weights
    now = weights @ data.residuals(fit.values)
    for j, name in enumerate(names):
        flipped = [replace(f, z=-f.z) if k == j else f for k, f in enumerate(data.factors)]
        other = replace(data, factors=tuple(flipped))
        then = weights @ other.residuals(solve_factors(other, "svd", weights).values)
        if then < SIGN_GAIN**2 * now:
            yield Finding(
                "sign", name, f"with the opposite sign of its force the residuals are {np.sqrt(then / now):.2g} of these",
                "Check the sign of its current, torque constant or gear ratio.",
            )  # fmt: skip


def check_columns(products: Products, base: BaseParameters, names: Sequence[str]) -> Iterator[Finding]:
    """Two forces that fit better when exchanged."""
    count = len(names)
    active = np.arange(products.size) < len(base)
    first = products.h[0][0].shape[1] - count  # forces as recorded
    straight = list(range(first, first + count))
    now = _mean_error(products, active, straight)
    best, pair = 1.0, None
    for i, j in combinations(range(count), 2):
        swapped = straight.copy()
        swapped[i], swapped[j] = straight[j], straight[i]
        ratio = _mean_error(products, active, swapped) / now
        if ratio < best:
            best, pair = ratio, (i, j)
    if pair is not None and best < SWAP_GAIN:
        yield Finding(
            "columns", " and ".join(names[k] for k in pair),
            f"with their forces exchanged the relative errors are {best:.2g} of these in the mean",
            "Check the order of the columns.",
        )  # fmt: skip


def _mean_error(products: Products, active: np.ndarray, rhs: Sequence[int]) -> float:
    """Geometric mean of the relative errors of the forces, fitted."""
    rest = products.residuals(active, rhs, cross=False).sum(axis=0)
    power = np.array([sum(fold[j][r] for fold in products.p) for j, r in enumerate(rhs)])
    seen = power > 0
    return float(np.exp(0.5 * np.mean(np.log(np.maximum(rest[seen] / power[seen], 1e-12)))))


def check_values(base: BaseParameters, values: np.ndarray, errors: np.ndarray) -> Iterator[Finding]:
    """Friction and rotor inertia below zero."""
    found: dict[str, dict[str, str]] = {}
    for k, index in enumerate(base.independent):
        symbol, _, joint = base.names[index].partition("[")
        if symbol in POSITIVE and values[k] < -NEGATIVE_ERRORS * errors[k]:
            text = f"{base.names[index]} = {values[k]:.4g} +- {errors[k]:.2g}"
            found.setdefault(POSITIVE[symbol], {})[joint.removesuffix("]")] = text
    for kind, joints in found.items():
        yield Finding(
            f"negative {kind}", ", ".join(joints), ", ".join(joints.values()),
            "Check the signs of the forces, the lag of the forces and the cut-off frequency; physical=True keeps it positive.",
        )  # fmt: skip


def check_excitation(
    robot: AnyRobot,
    base: BaseParameters,
    K: np.ndarray,
    values: np.ndarray,
    covariance: np.ndarray,
    samples: int,
    error: float,
) -> Iterator[Finding]:
    """Parameters that the motion determines poorly: they make predictions of other motions, with regressors K, uncertain.

    K is (n, forces, b) at states within the joints' limits, as fast as the recorded ones; `error` is the relative error of the
    fit.
    """
    forces = np.sqrt(np.mean((K @ values) ** 2, axis=0))
    spread = np.sqrt(np.einsum("njb,bc,njc->j", K, covariance, K) / len(K))
    total = float(np.linalg.norm(spread) / max(np.linalg.norm(forces), 1e-300))
    if total < max(UNCERTAIN, 2.0 * error):
        return
    share = np.einsum("njb,b->b", K**2, np.diag(covariance))
    order = np.argsort(-share)[:5]
    worst = ", ".join(base.base_names[k] for k in order)
    joints = ", ".join(robot.actuator_names[j] for j in np.argsort(-spread / np.maximum(forces, 1e-300))[:3])
    yield Finding(
        "excitation", worst,
        f"the parameters' uncertainty alone is {100 * total:.3g} % of the forces on motions of the same speeds elsewhere in the "
        f"workspace; {samples} samples were fitted",
        f"Move {joints} farther, faster and in both directions: appell.excitation proposes a motion.",
    )  # fmt: skip


def check_masses(names: Sequence[str], found: np.ndarray, errors: np.ndarray, nominal: np.ndarray) -> Iterator[Finding]:
    """Masses that are well determined and far from the description's."""
    for name, mass, error, described in zip(names, found, errors, nominal, strict=True):
        if described > 0 and not 1.0 / 3.0 < mass / described < 3.0 and abs(mass - described) > 3.0 * error:
            yield Finding(
                "mass", name, f"{mass:.4g} +- {error:.2g} kg, the description has {described:.4g} kg",
                "Check units and signs of the forces, the torque constants, and the description.",
            )  # fmt: skip
