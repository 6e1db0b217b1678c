"""Numbers of single links and joints: finite, of the right sign, in the right order."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from appell.model.check.problem import Problem
from appell.model.joint import Joint
from appell.model.joints import KINDS

if TYPE_CHECKING:
    from appell.model.description import Description

AXIS_LENGTH_TOL = 1e-6
"""How far from 1 the length of an axis may be without a warning: six digits, as descriptions have them."""


def check_finite(robot: Description) -> Iterator[Problem]:
    """No NaN, and no infinity except in limits."""
    fields: list[tuple[str, int, str, Iterable[float]]] = [("robot", 0, "gravity", robot.gravity_vector)]
    for body in robot.bodies:
        where = f"link {body.name!r}"
        fields += [(where, body.line, "mass", (body.mass,)), (where, body.line, "com", body.com)]
        fields += [(where, body.line, "inertia", body.inertia)]
    for joint in robot.joints:
        where = f"joint {joint.name!r}"
        fields += [(where, joint.line, "origin", joint.origin.xyz + joint.origin.rpy)]
        fields += [(where, joint.line, "axis", joint.axis)]
        dynamics = (joint.damping, joint.friction, joint.rotor_inertia, joint.gear_ratio, joint.pitch)
        fields += [(where, joint.line, "damping, friction, rotor or pitch", dynamics)]
        if joint.mimic is not None:
            fields += [(where, joint.line, "mimic", (joint.mimic.multiplier, joint.mimic.offset))]
    for where, line, what, values in fields:
        if not all(math.isfinite(value) for value in values):
            found = f"{what} is {', '.join(str(value) for value in values)}, expected finite numbers"
            yield Problem("non-finite", where, found, "Correct the value.", line)


def check_axes(robot: Description) -> Iterator[Problem]:
    """The axis of a moving joint is a unit vector."""
    for joint in robot.joints:
        length = math.hypot(*joint.axis)
        if not has_axis(joint) or not math.isfinite(length):
            continue
        if length == 0.0:
            yield _of(joint, "axis-zero", "axis has length 0, expected 1", "Give a unit vector.")
        elif abs(length - 1.0) > AXIS_LENGTH_TOL:
            yield _of(joint, "axis-length", f"axis has length {length:.6g}, expected 1", "Its direction is used.")


def check_limits(robot: Description) -> Iterator[Problem]:
    """Limits leave room to move."""
    for joint in robot.joints:
        limits = joint.limits
        if joint.kind not in KINDS or not KINDS[joint.kind].limited:
            continue
        if math.isnan(sum(map(abs, (limits.lower, limits.upper, limits.velocity, limits.effort)))):
            yield _of(joint, "non-finite", "a limit is NaN, expected a number", "Correct the value.")
        elif limits.lower > limits.upper:
            what = f"limits are reversed: lower {limits.lower:g} > upper {limits.upper:g}"
            yield _of(joint, "limits", what, "Exchange them.")
        elif limits.lower == limits.upper:
            what = f"lower and upper limit are both {limits.lower:g}: the joint has no room to move"
            yield _of(joint, "limits", what, "Widen them, or make the joint fixed.")
        for name, value in (("velocity", limits.velocity), ("effort", limits.effort)):
            if value < 0.0:
                yield _of(joint, "limits", f"the {name} limit is {value:g}, expected >= 0", "Give its magnitude.")


def check_friction(robot: Description) -> Iterator[Problem]:
    """Damping and friction take energy away, rotors have inertia."""
    for joint in robot.joints:
        for name, value in (("damping", joint.damping), ("friction", joint.friction)):
            if value < 0.0:
                what = f"{name} is {value:g}, expected >= 0: it would drive the joint"
                yield _of(joint, "friction", what, "Give its magnitude.")
        if joint.rotor_inertia < 0.0:
            what = f"rotor inertia is {joint.rotor_inertia:g} kg m², expected >= 0"
            yield _of(joint, "negative-mass", what, "Give a positive value.")


def has_axis(joint: Joint) -> bool:
    """Whether the joint moves about or along its axis."""
    return joint.kind in KINDS and KINDS[joint.kind].nv > 0 and KINDS[joint.kind].axial


def _of(joint: Joint, kind: str, what: str, fix: str) -> Problem:
    return Problem(kind, f"joint {joint.name!r}", what, fix, joint.line)
