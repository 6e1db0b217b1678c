"""Check that the mass properties of each link are physically consistent.

A body of density >= 0 has a pseudo-inertia P = ∫ [ρ; 1][ρ; 1]^T dm that is positive semidefinite. About the centre of
mass that is m >= 0 and Σ = trace(I)/2 1 - I >= 0, which are the triangle inequalities of the principal moments.
"""

from __future__ import annotations

import math
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
        if body.mass_defect:
            yield Problem.of(body, "mass-data", f"the mass properties cannot be read: {body.mass_defect}", _DATA_REMEDY)
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


MAX_LENGTH = 100.0
"""Distances between joints beyond this are probably in other units. [m]"""
MAX_ANGLE = 6.4
"""Angles of origins beyond this, a turn, are probably in degrees. [rad]"""
MAX_GYRATION_RADIUS = 10.0
"""Radii of gyration beyond this, and beyond the size of the robot, are probably in other units. [m]"""


def check_units(robot: Description) -> Iterator[Problem]:
    """Lengths are those of robots, and radii of gyration are not beyond the sum of the distances between joints."""
    lengths = [math.hypot(*joint.origin.xyz) for joint in robot.joints]
    largest = max(MAX_GYRATION_RADIUS, sum(lengths))
    for joint, length in zip(robot.joints, lengths, strict=True):
        if MAX_LENGTH < length < math.inf:
            what = f"the origin is {length:.4g} m from that of the parent"
            yield Problem.of(joint, "units", what, "Lengths are in metres: divide millimetres by 1000.")
        angle = max(map(abs, joint.origin.rpy))
        if MAX_ANGLE < angle < math.inf:
            what = f"the origin is turned by {angle:.4g} rad"
            yield Problem.of(joint, "units", what, "Angles are in radians: multiply degrees by pi/180.")
    for body in robot.bodies:
        radius = math.sqrt(max(map(abs, body.inertia)) / body.mass) if body.mass > 0.0 else 0.0
        if largest < radius < math.inf:
            what = f"a mass of {body.mass:.4g} kg with a radius of gyration of {radius:.4g} m"
            yield Problem.of(body, "units", what, "Inertias are in kg m²: correct mass or inertia.")


_DATA_REMEDY = "Correct them, or give others with robot.with_inertia."
_REMEDY = "Recompute it from the shape; check(..., fix=True) takes the nearest consistent one."
