"""Check that the mass properties of each link are physically consistent.

A body of density >= 0 has a pseudo-inertia P = ∫ [ρ; 1][ρ; 1]^T dm that is positive semidefinite. About the centre of
mass that is m >= 0 and Σ = trace(I)/2 1 - I >= 0, which are the triangle inequalities of the principal moments.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from appell.model.body import inertia_tensors
from appell.model.check.problem import Problem

if TYPE_CHECKING:
    from appell.model.description import Description

RELATIVE_TOL = 1e-6
"""Violations below this part of the trace are rounding: descriptions usually have six digits."""
LENGTH_TOL = 1e-6
"""Radii of gyration below this are rounding. [m]"""


def second_moments(inertias: np.ndarray) -> np.ndarray:
    """Σ = ∫ρρ^T dm = trace(I)/2 1 - I."""
    return np.trace(inertias, axis1=-2, axis2=-1)[..., None, None] / 2 * np.eye(3) - inertias


def check_mass_properties(robot: Description) -> Iterator[Problem]:
    """Mass and inertia of every link are those of a body with density >= 0."""
    finite = tuple(body for body in robot.bodies if np.isfinite([body.mass, *body.inertia]).all())
    inertias = inertia_tensors(finite)
    moments = np.linalg.eigvalsh(inertias)
    second = np.linalg.eigvalsh(second_moments(inertias))
    for body, principal, spread in zip(finite, moments, second, strict=True):
        tolerance = RELATIVE_TOL * np.abs(principal).max() + LENGTH_TOL**2 * abs(body.mass)
        if body.mass < 0.0:
            what = f"mass is {body.mass:g} kg, expected >= 0"
            yield Problem.of(body, "negative-mass", what, "Give a positive mass.")
        elif body.mass == 0.0 and principal.any():
            yield Problem.of(body, "massless", "the link has inertia but no mass", "Give it mass, or no inertia.")
        if body.estimated:
            what = f"the mass properties are an estimate: {body.estimated}"
            yield Problem.of(body, "estimated", what, "Replace them by measured or computed ones.")
        listed = f"principal moments {', '.join(f'{value:.4g}' for value in principal)} kg m²"
        indefinite = f"inertia is not positive definite: {listed}"
        if principal[0] < -tolerance:
            yield Problem.of(body, "inertia", indefinite, _REMEDY)
        elif spread[0] < -tolerance:
            what = f"{listed} violate the triangle inequality: pseudo-inertia not PSD"
            yield Problem.of(body, "triangle", what, _REMEDY)
        elif body.mass > 0.0 and principal[0] <= 0.0:
            remedy = "A point mass or a thin rod: give it an extent, or ignore this if intended."
            yield Problem.of(body, "inertia", indefinite, remedy)


_REMEDY = "Recompute it from the shape; check(..., fix=True) takes the nearest consistent one."
