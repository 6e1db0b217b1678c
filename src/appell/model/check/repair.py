"""The nearest physically consistent robot.

Nearest means, for every link by itself, the smallest change of its pseudo-inertia in the Frobenius norm,

    P = ∫ [ρ; 1][ρ; 1]^T dm = [[Σ, 0], [0, m]] about the centre of mass,   Σ = trace(I)/2 1 - I,

that makes P positive definite: eigenvalues of Σ below a floor are raised to it, and a mass that is not positive becomes
`MIN_MASS`. The centre of mass stays. The floor is `MIN_GYRATION_RATIO` of the link's own size, or `MIN_GYRATION_RADIUS`
where it has none. Consistent values are not changed; massless frames fixed to other bodies stay massless.

Axes become unit vectors, reversed limits are exchanged, negative limits, damping and friction take their
magnitudes, and negative rotor inertias become zero.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from dataclasses import fields, replace
from typing import TYPE_CHECKING

import numpy as np

from appell.errors import ModelWarning, warn_at_caller
from appell.model.body import Body, inertia_entries, inertia_tensors
from appell.model.check import STRUCTURAL, inspect, raise_or_warn
from appell.model.check.mass import LENGTH_TOL, second_moments
from appell.model.check.problem import Problem
from appell.model.check.structure import has_axis
from appell.model.joint import Joint
from appell.model.joints import KINDS
from appell.model.pose import triple

if TYPE_CHECKING:
    from appell.model.description import Described

MASS_DEFECTS = frozenset(("mass-data", "negative-mass", "inertia", "triangle", "massless"))
"""Kinds of defect that a change of the link's mass properties repairs."""
MIN_GYRATION_RATIO = 1e-3
"""Smallest radius of gyration relative to the largest one of the link."""
MIN_GYRATION_RADIUS = 1e-3
"""Smallest radius of gyration of a link of zero size. [m]"""
MIN_MASS = 1e-3
"""Mass given to a link that needs one. [kg]"""


def repair(robot: Described, problems: Collection[Problem]) -> Described:
    """The robot without these problems; one warning lists the changes."""
    raise_or_warn([problem for problem in problems if problem.kind in STRUCTURAL | {"xml"}])
    repaired = _repair_once(robot, problems)
    changes = [*_changes("link", robot.bodies, repaired.bodies), *_changes("joint", robot.joints, repaired.joints)]
    if changes:
        warn_at_caller("\n  ".join(["repaired:", *changes]), ModelWarning)
    raise_or_warn([problem for problem in inspect(repaired) if problem.severity == "error"], allowed=())
    return repaired


def _repair_once(robot: Described, problems: Collection[Problem]) -> Described:
    faulty = {problem.where for problem in problems if problem.kind in MASS_DEFECTS}
    idle = {problem.where for problem in problems if problem.kind == "singular"}
    solid = {joint.child for joint in robot.joints if f"joint {joint.name!r}" in idle}
    bodies = tuple(
        nearest_body(body, solid=body.name in solid) if body.name in solid or f"link {body.name!r}" in faulty else body
        for body in robot.bodies
    )
    return replace(robot, bodies=bodies, joints=tuple(map(nearest_joint, robot.joints)))


def nearest_body(body: Body, solid: bool = False) -> Body:
    """The body with a positive mass and Σ >= floor; if `solid`, with at least `MIN_GYRATION_RADIUS` in every direction."""
    mass = body.mass if body.mass > 0.0 else MIN_MASS
    values, axes = np.linalg.eigh(second_moments(inertia_tensors((body,))[0]))
    size = max(float(values[-1]), 0.0)
    floor = MIN_GYRATION_RATIO**2 * size
    if solid or size <= mass * LENGTH_TOL**2:
        floor = max(floor, mass * MIN_GYRATION_RADIUS**2)
    second = (axes * np.maximum(values, floor)) @ axes.T
    inertia = np.trace(second) * np.eye(3) - (second + second.T) / 2
    return replace(body, mass=mass, inertia=inertia_entries(inertia), mass_defect="")


def nearest_joint(joint: Joint) -> Joint:
    """The joint with a unit axis, ordered limits and no negative friction."""
    joint = with_unit_axis(joint)
    limits = joint.limits
    if KINDS[joint.kind].limited:
        limits = replace(
            limits,
            lower=min(limits.lower, limits.upper), upper=max(limits.lower, limits.upper),
            velocity=abs(limits.velocity), effort=abs(limits.effort),
        )  # fmt: skip
    return replace(
        joint, limits=limits, damping=abs(joint.damping), friction=abs(joint.friction), stiffness=abs(joint.stiffness),
        rotor_inertia=max(joint.rotor_inertia, 0.0),
    )  # fmt: skip


def with_unit_axis(joint: Joint) -> Joint:
    """The joint with its axis divided by its length, unless that is 1 up to rounding."""
    length = math.hypot(*joint.axis)
    if abs(length - 1.0) <= 1e-12 or not has_axis(joint):
        return joint
    return replace(joint, axis=triple(value / length for value in joint.axis))


def _changes(element: str, before: tuple, after: tuple) -> Iterator[str]:
    for old, new in zip(before, after, strict=True):
        for field in fields(old):
            a, b = getattr(old, field.name), getattr(new, field.name)
            if a != b:
                yield f"{element} {old.name!r}: {field.name} {_shown(a)} -> {_shown(b)}"


def _shown(value: object) -> str:
    if isinstance(value, tuple):
        return f"({', '.join(_shown(entry) for entry in value)})"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
