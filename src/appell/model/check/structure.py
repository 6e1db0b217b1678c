"""Is it one tree of bodies? Names, ends of joints, kinds, cycles, roots, mimic."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from typing import TYPE_CHECKING

from appell.errors import unknown_name_message
from appell.model.check.problem import Problem
from appell.model.joint import Joint
from appell.model.joints import KINDS

if TYPE_CHECKING:
    from appell.model.description import Description


def check_names(robot: Description) -> Iterator[Problem]:
    """Every link and joint has a name of its own."""
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
    """Every joint is of a known kind and joins two links that exist."""
    bodies = dict.fromkeys(body.name for body in robot.bodies)
    for joint in robot.joints:
        if joint.kind not in KINDS:
            what = _unknown("joint type", joint.kind, KINDS)
            yield _of(joint, "joint-type", what, "Use one of these, or several joints in a row.")
        for end, name in (("parent", joint.parent), ("child", joint.child)):
            if not name:
                yield _of(joint, "missing", f"the joint names no {end} link", "Name it.")
            elif name not in bodies:
                yield _of(joint, "link", _unknown(f"{end} link", name, bodies), "Correct the name.")


def check_tree(robot: Description) -> Iterator[Problem]:
    """Every link hangs on one joint, except the one root."""
    above: dict[str, Joint] = {}
    for joint in robot.joints:
        if joint.child in above:
            other = above[joint.child].name
            what = f"link {joint.child!r} is already the child of joint {other!r}, expected one parent"
            yield _of(joint, "two-parents", what, "Closed loops are not trees: remove one of the joints.")
        else:
            above[joint.child] = joint
    yield from _cycles(robot, above)
    roots = list({body.name: body for body in robot.bodies if body.name not in above}.values())
    if robot.bodies and len(roots) != 1:
        named = ", ".join(repr(body.name) for body in roots[:8]) + (", ..." if len(roots) > 8 else "")
        what = f"{len(roots)} links hang on no joint ({named or 'none'}), expected one root"
        line = roots[1].line if len(roots) > 1 else 0
        yield Problem("roots", "robot", what, "Join all links to one tree, where need be with fixed joints.", line)


def _cycles(robot: Description, above: dict[str, Joint]) -> Iterator[Problem]:
    """Follow the parents of every link; a link that is met again on its own way up is a cycle."""
    settled: set[str] = set()
    for body in robot.bodies:
        path: dict[str, None] = {}
        name = body.name
        while name in above and name not in settled and name not in path:
            path[name] = None
            name = above[name].parent
        if name in path:
            round_trip = [*list(path)[list(path).index(name) :], name]
            what = f"the links {' <- '.join(round_trip)} carry each other in a circle"
            yield _of(above[name], "cycle", what, "Remove one of the joints.")
        settled.update(path)


def check_mimic(robot: Description) -> Iterator[Problem]:
    """Every mimic joint follows a moving joint and in the end an independent one."""
    joints = {joint.name: joint for joint in robot.joints}
    for joint in robot.joints:
        if joint.mimic is None or _nv(joint) == 0:
            continue
        leader = joints.get(joint.mimic.joint)
        if leader is None:
            yield _of(joint, "mimic", "mimics an " + _unknown("joint", joint.mimic.joint, joints), "Correct the name.")
        elif _nv(leader) != 1 or _nv(joint) != 1:
            what = f"mimics the {leader.kind} joint {leader.name!r}, and is {joint.kind}"
            yield _of(joint, "mimic", what, "Both must move by one coordinate.")
        elif _goes_round(joint, joints):
            yield _of(joint, "mimic", "mimics itself, directly or through others", "One joint must be independent.")


def _goes_round(joint: Joint, joints: dict[str, Joint]) -> bool:
    seen = {joint.name}
    while joint.mimic is not None and joint.mimic.joint in joints:
        joint = joints[joint.mimic.joint]
        if joint.name in seen:
            return True
        seen.add(joint.name)
    return False


def _nv(joint: Joint) -> int:
    return KINDS[joint.kind].nv if joint.kind in KINDS else 1


def _unknown(kind: str, name: str, names: Iterable[str]) -> str:
    """The sentence for a name that does not exist, with the valid ones or, of many, those that look like it."""
    valid = list(names)
    near = get_close_matches(name, valid, n=5, cutoff=0.4) if 12 < len(valid) < 2000 else valid[:12]
    return unknown_name_message(kind, name, near).rstrip(".") + (", ..." if len(near) < len(valid) else "")


def _of(joint: Joint, kind: str, what: str, fix: str) -> Problem:
    return Problem(kind, f"joint {joint.name!r}", what, fix, joint.line)
