"""Checks of single links and joints, and of the tree that they form: names, joint types, cycles, roots, mimic, numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from typing import TYPE_CHECKING

from appell.errors import unknown_name_message
from appell.model.check.problem import Problem
from appell.model.joint import Joint
from appell.model.joints import KINDS

if TYPE_CHECKING:
    from appell.model.description import Description

MIN_AXIS_LENGTH = 1e-12
"""Axes shorter than this have no direction."""
AXIS_LENGTH_TOL = 1e-6
"""Deviation of an axis length from 1 without a warning: six digits, as descriptions have them."""


def check_names(robot: Description) -> Iterator[Problem]:
    """Names of links and joints are present and unique."""
    if not robot.bodies:
        yield Problem("roots", "robot", "there are no links, expected at least one", "Add a link.")
    for element, items in (("link", robot.bodies), ("joint", robot.joints)):
        seen: set[str] = set()
        for item in items:
            if not item.name:
                yield Problem("name", f"{element} ''", "the name is missing", f"Name the {element}.", item.line)
            elif item.name in seen:
                what, fix = "the name is used twice", f"Names of {element}s must differ."
                yield Problem("name", f"{element} {item.name!r}", what, fix, item.line)
            seen.add(item.name)


def check_joints(robot: Description) -> Iterator[Problem]:
    """Every joint has a known type and connects two existing links."""
    bodies = dict.fromkeys(body.name for body in robot.bodies)
    for joint in robot.joints:
        if joint.kind not in KINDS:
            what = _unknown("joint type", joint.kind, KINDS)
            yield Problem.of(joint, "joint-type", what, "Use one of these, or several joints in a row.")
        for end, name in (("parent", joint.parent), ("child", joint.child)):
            if not name:
                yield Problem.of(joint, "missing", f"the joint names no {end} link", "Name it.")
            elif name not in bodies:
                yield Problem.of(joint, "link", _unknown(f"{end} link", name, bodies), "Correct the name.")


def check_tree(robot: Description) -> Iterator[Problem]:
    """Every link but one root has exactly one parent joint."""
    above: dict[str, Joint] = {}
    for joint in robot.joints:
        if joint.child in above:
            other = above[joint.child].name
            what = f"link {joint.child!r} is already the child of joint {other!r}, expected one parent"
            yield Problem.of(joint, "two-parents", what, "Closed loops are not trees: remove one of the joints.")
        else:
            above[joint.child] = joint
    yield from _cycles(robot, above)
    roots = list({body.name: body for body in robot.bodies if body.name not in above}.values())
    if robot.bodies and len(roots) != 1:
        named = ", ".join(repr(body.name) for body in roots[:8]) + (", ..." if len(roots) > 8 else "")
        what = f"{len(roots)} links have no parent joint ({named or 'none'}), expected one root"
        line = roots[1].line if len(roots) > 1 else 0
        yield Problem("roots", "robot", what, "Connect all links to one tree, for instance with fixed joints.", line)


def _cycles(robot: Description, above: dict[str, Joint]) -> Iterator[Problem]:
    """Follow the parents of every link; a link that is its own ancestor is part of a cycle."""
    done: set[str] = set()
    for body in robot.bodies:
        path: dict[str, None] = {}
        name = body.name
        while name in above and name not in done and name not in path:
            path[name] = None
            name = above[name].parent
        if name in path:
            cycle = [*list(path)[list(path).index(name) :], name]
            what = f"the links {' <- '.join(cycle)} form a cycle"
            yield Problem.of(above[name], "cycle", what, "Remove one of the joints.")
        done.update(path)


def check_mimic(robot: Description) -> Iterator[Problem]:
    """Every mimic joint follows a moving joint and, through it, an independent one."""
    joints = {joint.name: joint for joint in robot.joints}
    nv = {joint.name: KINDS[joint.kind].nv if joint.kind in KINDS else 1 for joint in robot.joints}
    for joint in robot.joints:
        if not robot.coupled or joint.mimic is None or nv[joint.name] == 0:
            continue
        leader = joints.get(joint.mimic.joint)
        if leader is None:
            what = f"mimics an {_unknown('joint', joint.mimic.joint, joints)}"
            yield Problem.of(joint, "mimic", what, "Correct the name, or load the robot with mimic='ignore'.")
        elif nv[leader.name] != 1 or nv[joint.name] != 1:
            what = f"mimics the {leader.kind} joint {leader.name!r}, and is {joint.kind}"
            yield Problem.of(joint, "mimic", what, "Both must move by one coordinate.")
        elif _mimics_itself(joint, joints):
            what = "mimics itself, directly or through others"
            yield Problem.of(joint, "mimic", what, "One joint must be independent.")


def _mimics_itself(joint: Joint, joints: dict[str, Joint]) -> bool:
    seen = {joint.name}
    while joint.mimic is not None and joint.mimic.joint in joints:
        joint = joints[joint.mimic.joint]
        if joint.name in seen:
            return True
        seen.add(joint.name)
    return False


def _unknown(kind: str, name: str, names: Iterable[str]) -> str:
    """Message for an unknown name, with the valid ones or, if many, the most similar."""
    valid = list(names)
    near = get_close_matches(name, valid, n=5, cutoff=0.4) if 12 < len(valid) < 2000 else valid[:12]
    return unknown_name_message(kind, name, near).rstrip(".") + (", ..." if len(near) < len(valid) else "")


# --- numbers ------------------------------------------------------------------------------------------------------------


def check_finite(robot: Description) -> Iterator[Problem]:
    """No NaN, and no infinity except in limits."""
    fields: list[tuple[str, int, str, Iterable[float]]] = [("robot", 0, "gravity", robot.gravity_vector)]
    for body in robot.bodies:
        own = {"mass": (body.mass,), "com": body.com, "inertia": body.inertia}
        fields += [(f"link {body.name!r}", body.line, *field) for field in own.items()]
    for joint in robot.joints:
        dynamics = (joint.damping, joint.friction, joint.rotor_inertia, joint.gear_ratio, joint.pitch)
        own = {
            "origin": joint.origin.xyz + joint.origin.rpy, "axis": joint.axis, "damping, friction, rotor or pitch": dynamics,
            "spring": (joint.stiffness, joint.springref),
            "mimic": (joint.mimic.multiplier, joint.mimic.offset) if joint.mimic else (),
        }  # fmt: skip
        fields += [(f"joint {joint.name!r}", joint.line, *field) for field in own.items()]
    for where, line, what, values in fields:
        if not all(math.isfinite(value) for value in values):
            shown = f"{what} is {', '.join(str(value) for value in values)}, expected finite numbers"
            yield Problem("non-finite", where, shown, "Correct the value.", line)


def check_axes(robot: Description) -> Iterator[Problem]:
    """The axis of a moving joint is a unit vector."""
    for joint in robot.joints:
        length = math.hypot(*joint.axis)
        if not has_axis(joint) or not math.isfinite(length):
            continue
        if length < MIN_AXIS_LENGTH:
            yield Problem.of(joint, "axis-zero", f"axis has length {length:g}, expected 1", "Give a unit vector.")
        elif abs(length - 1.0) > AXIS_LENGTH_TOL:
            what = f"axis has length {length:.6g}, expected 1"
            yield Problem.of(joint, "axis-length", what, "Its direction is used.")


def check_limits(robot: Description) -> Iterator[Problem]:
    """Position limits are ordered and leave a range, other limits are not negative."""
    for joint in robot.joints:
        limits = joint.limits
        if joint.kind not in KINDS or not KINDS[joint.kind].limited:
            continue
        if math.isnan(sum(map(abs, (limits.lower, limits.upper, limits.velocity, limits.effort)))):
            yield Problem.of(joint, "non-finite", "a limit is NaN, expected a number", "Correct the value.")
        elif limits.lower > limits.upper:
            what = f"limits are reversed: lower {limits.lower:g} > upper {limits.upper:g}"
            yield Problem.of(joint, "limits", what, "Exchange them.")
        elif limits.lower == limits.upper:
            what = f"lower and upper limit are both {limits.lower:g}: the joint cannot move"
            yield Problem.of(joint, "limits", what, "Widen them, or make the joint fixed.")
        for name, value in (("velocity", limits.velocity), ("effort", limits.effort)):
            if value < 0.0:
                what = f"the {name} limit is {value:g}, expected >= 0"
                yield Problem.of(joint, "limits", what, "Give its magnitude.")


def check_friction(robot: Description) -> Iterator[Problem]:
    """Damping, friction, stiffness and rotor inertia are not negative."""
    for joint in robot.joints:
        for name, value in (("damping", joint.damping), ("friction", joint.friction), ("stiffness", joint.stiffness)):
            if value < 0.0:
                what = f"{name} is {value:g}, expected >= 0"
                yield Problem.of(joint, "friction", what, "Give its magnitude.")
        if joint.rotor_inertia < 0.0:
            what = f"rotor inertia is {joint.rotor_inertia:g} kg m², expected >= 0"
            yield Problem.of(joint, "negative-mass", what, "Give a positive value.")


def has_axis(joint: Joint) -> bool:
    """Whether the joint moves about or along its axis."""
    return joint.kind in KINDS and KINDS[joint.kind].nv > 0 and KINDS[joint.kind].axial
