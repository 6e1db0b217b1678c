"""Checks of a fit: signs and order of the forces, negative friction, excitation, masses. Each finding has its evidence."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from appell.identification.base import BaseParameters
from appell.identification.cleaning import Segment
from appell.identification.cross_validation import Products, products, windows
from appell.identification.findings import Finding
from appell.identification.fit import Fit, QRFactors, fit_base_parameters, unexcited_parameters
from appell.identification.recorded_motion import filtered_motion, long_enough
from appell.identification.recording import Recording
from appell.robot.protocol import AnyRobot
from appell.robot.regressor_terms import RegressorTerm

POSITIVE = {"fv": "viscous friction", "fc": "Coulomb friction", "Ia": "rotor inertia"}
"""Parameters that dissipate energy or have inertia, by their symbols."""
NEGATIVE_ERRORS = 3.0
"""Standard errors below zero from which a parameter counts as negative."""
EXPLAINED = 0.6
"""Ratio of the products of all joints' residuals below which another sign explains the data; its square for two columns."""
POOR = 0.2
"""Relative error from which exchanged positions are looked for."""
UNCERTAIN = 0.1
"""Uncertainty of predicted forces on other motions, relative to the forces, from which the excitation is too poor."""


def check_unexcited(data: QRFactors, base: BaseParameters) -> Iterator[Finding]:
    """Parameters that the motion does not determine at all."""
    without_effect, combined = unexcited_parameters(data)
    for indices, text in ((without_effect, "have no effect"), (combined, "appear in combinations only")):
        if indices:
            yield Finding(
                "excitation", ", ".join(base.base_names[k] for k in indices), f"they {text} on the recorded motion",
                "Do not use their values; add a recording of the motion that appell.excitation(robot, fit=fit) proposes.",
            )  # fmt: skip


def check_signs(data: QRFactors, fit: Fit, base: BaseParameters, names: Sequence[str]) -> Iterator[Finding]:
    """The force whose opposite fits the others best, if the product of all residuals shrinks."""
    now, ratios = np.log(data.residuals(fit.values)).sum(), []
    for j in range(len(names)):
        flipped = [replace(f, z=-f.z) if k == j else f for k, f in enumerate(data.factors)]
        other = replace(data, factors=tuple(flipped))
        then = np.log(other.residuals(fit_base_parameters(other, base, "svd", "iterated", None).values)).sum()
        ratios.append(float(np.exp(0.5 * (then - now))))
    j = int(np.argmin(ratios))
    if ratios[j] < EXPLAINED:
        yield Finding(
            "sign", names[j],
            f"with the opposite sign of its force the product of the joints' residuals is {ratios[j]:.2g} of this",
            "Check the sign of its current, torque constant or gear ratio.",
        )  # fmt: skip


def check_columns(products: Products, names: Sequence[str]) -> Iterator[Finding]:
    """Two forces that fit better when exchanged."""
    count = len(names)
    first = products.p.shape[-1] - count  # forces as recorded
    straight = list(range(first, first + count))

    def errors(pair: tuple[int, int] | None) -> float:
        order = straight.copy()
        if pair:
            order[pair[0]], order[pair[1]] = straight[pair[1]], straight[pair[0]]
        return _error_product(products, order)

    yield from _exchanged(errors, names, "forces")


def check_positions(
    robot: AnyRobot,
    segments: Sequence[Segment],
    base: BaseParameters,
    terms: Sequence[RegressorTerm],
    cutoff: float | None,
) -> Iterator[Finding]:
    """Two joints whose positions fit better when exchanged; one regressor for every pair."""
    parts = [part for part in windows(segments) if long_enough(part, cutoff)]

    def errors(pair: tuple[int, int] | None) -> float:
        order = list(range(robot.nq))
        if pair:
            order[pair[0]], order[pair[1]] = pair[1], pair[0]
        motions = [filtered_motion(robot, replace(part, q=part.q[:, order]), cutoff) for part in parts]
        return _error_product(products(robot, base, terms, (), motions), range(len(robot.actuator_names)))

    yield from _exchanged(errors, robot.qd_names, "positions")


def _exchanged(errors: Callable[[tuple[int, int] | None], float], names: Sequence[str], what: str) -> Iterator[Finding]:
    """The pair with the least product of errors, if it is much less than without an exchange."""
    now = errors(None)
    ratios = {pair: errors(pair) / now for pair in combinations(range(len(names)), 2)}
    pair = min(ratios, key=lambda pair: ratios[pair], default=None)
    if pair is not None and ratios[pair] < EXPLAINED**2:
        yield Finding(
            "columns", " and ".join(names[k] for k in pair),
            f"with their {what} exchanged the product of the joints' relative errors is {ratios[pair]:.2g} of this",
            "Check the order of the columns.",
        )  # fmt: skip


def _error_product(data: Products, rhs: Sequence[int]) -> float:
    """Product of the relative errors of the forces, fitted."""
    rest = data.residuals(data.base_columns, rhs, cross=False).sum(axis=0)
    power = data.powers(rhs).sum(axis=0)
    seen = power > 0
    return float(np.exp(0.5 * np.sum(np.log(np.maximum(rest[seen] / power[seen], 1e-12)))))


def check_currents(recordings: Sequence[Recording], constants: ArrayLike | None) -> Iterator[Finding]:
    """Currents without torque constants."""
    names = [each.name for each in recordings if each.currents]
    if names and constants is None:
        yield Finding(
            "currents", ", ".join(names), "the forces are currents and no torque constants are given: parameters that several "
            "joints share are wrong", "Give torque constants, or identify them with appell.identification.identify_gains.",
        )  # fmt: skip


def check_torque_constants(constants: ArrayLike | None, names: Sequence[str]) -> Iterator[Finding]:
    """Torque constants that are zero or negative."""
    values = np.zeros(0) if constants is None else np.asarray(constants, dtype=float)
    diagonal = np.diag(values) if values.ndim == 2 else np.broadcast_to(values, len(names)) if values.size else values
    bad = [(name, value) for name, value in zip(names, diagonal, strict=False) if value <= 0]
    if bad:
        yield Finding(
            "torque constant", ", ".join(name for name, _ in bad), ", ".join(f"{value:g}" for _, value in bad),
            "Torque constants are positive unless motor and joint count in opposite directions.",
        )  # fmt: skip


def check_values(base: BaseParameters, values: np.ndarray, errors: np.ndarray, data: QRFactors) -> Iterator[Finding]:
    """Friction and rotor inertia below zero, where the motion determines them."""
    found: dict[str, dict[str, str]] = {}
    unknown = {k for indices in unexcited_parameters(data) for k in indices}
    for k, index in enumerate(base.independent):
        symbol, _, joint = base.names[index].partition("[")
        if symbol in POSITIVE and k not in unknown and values[k] < -NEGATIVE_ERRORS * errors[k]:
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
    fastest: np.ndarray,
) -> Iterator[Finding]:
    """Parameters that the motion determines poorly: they make predictions of other motions, with regressors K, uncertain.

    K is (n, forces, b) at states within the joints' limits, as fast as the recorded ones; `error` is the relative error of the
    fit, `fastest` the largest recorded velocity of each joint.
    """
    forces = np.sqrt(np.mean((K @ values) ** 2, axis=0))
    spread = np.sqrt(np.einsum("njb,bc,njc->j", K, covariance, K) / len(K))
    total = float(np.linalg.norm(spread) / max(np.linalg.norm(forces), 1e-300))
    if total < max(UNCERTAIN, 2.0 * error):
        return
    share = np.einsum("njb,b->b", K**2, np.diag(covariance))
    order = np.argsort(-share)[:5]
    worst = ", ".join(base.base_names[k] for k in order)
    poor = [int(j) for j in np.argsort(-spread / np.maximum(forces, 1e-300))[:3]]
    joints = ", ".join(robot.actuator_names[j] for j in poor)
    speeds = ", ".join(f"{fastest[j]:.2g}" for j in poor if len(fastest) == len(forces)) or f"{fastest.max():.2g}"
    yield Finding(
        "excitation", worst,
        f"the parameters' uncertainty alone is {100 * total:.3g} % of the forces on motions of the same speeds elsewhere in the "
        f"workspace; {samples} samples were fitted, velocities up to {speeds} rad/s",
        f"Add a recording in which {joints} move farther, faster and in both directions: appell.excitation(robot, fit=fit) "
        "proposes it.",
    )  # fmt: skip


def check_masses(names: Sequence[str], found: np.ndarray, errors: np.ndarray, nominal: np.ndarray) -> Iterator[Finding]:
    """Masses that are well determined and far from the description's."""
    for name, mass, error, described in zip(names, found, errors, nominal, strict=True):
        if described > 0 and not 1.0 / 3.0 < mass / described < 3.0 and abs(mass - described) > 3.0 * error:
            yield Finding(
                "mass", name, f"{mass:.4g} +- {error:.2g} kg, the description has {described:.4g} kg",
                "Check units and signs of the forces, the torque constants, and the description.",
            )  # fmt: skip
