"""Moving links have inertia: of their own, or at least through what they carry."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from appell.model.check.pivots import pivots
from appell.model.check.problem import Problem
from appell.model.joint import Joint
from appell.model.joints import KINDS

if TYPE_CHECKING:
    from appell.model.description import Description


def check_moving_links(robot: Description) -> Iterator[Problem]:
    """Every independent joint meets inertia, or M is singular; a moving link without mass of its own is a warning.

    Asks for a robot without structural errors.
    """
    found = pivots(robot)
    own = _own_mass(robot)
    for leader, joints in _groups(robot).items():
        for each in zip(*(found[joint.name] for joint, _ in joints), strict=True):
            value = sum(factor**2 * pivot.value for pivot, (_, factor) in zip(each, joints, strict=True))
            rounding = sum(factor**2 * pivot.rounding for pivot, (_, factor) in zip(each, joints, strict=True))
            if value <= rounding:
                yield _singular(leader, value, rounding)
                break
        else:
            yield from (_massless(joint) for joint, _ in joints if not own[joint.child] and not joint.armature)


def _singular(joint: Joint, value: float, rounding: float) -> Problem:
    meets = f"a negative inertia of {value:.3g}" if value < -rounding else "no inertia"
    what = f"link {joint.child!r} moves, but its motion meets {meets}: the inertia matrix is not positive definite"
    fix = "Give the link mass and inertia, or the joint a rotor inertia, or make the joint fixed."
    return Problem("singular", f"joint {joint.name!r}", what, fix, joint.line)


def _massless(joint: Joint) -> Problem:
    what = f"the link moves with joint {joint.name!r} but has no mass"
    return Problem("massless", f"link {joint.child!r}", what, "Give it mass and inertia.", joint.line)


def _groups(robot: Description) -> dict[Joint, list[tuple[Joint, float]]]:
    """The independent joints, each with all joints that move with it and their ratios of speed."""
    joints = {joint.name: joint for joint in robot.joints}
    groups: dict[Joint, list[tuple[Joint, float]]] = {joint: [] for joint in robot.moving_joints}
    for joint in (joint for joint in robot.joints if KINDS[joint.kind].nv):
        leader, factor = joint, 1.0
        while robot.coupled and leader.mimic is not None:
            factor *= leader.mimic.multiplier
            leader = joints[leader.mimic.joint]
        groups[leader].append((joint, factor))
    return groups


def _own_mass(robot: Description) -> dict[str, float]:
    """Mass and inertia of every body and the bodies fixed to it: zero only if there is nothing at all."""
    above = {joint.child: joint for joint in robot.joints}
    own = {body.name: abs(body.mass) + sum(map(abs, body.inertia)) for body in robot.bodies}
    carrier: dict[str, str] = {}
    for body in robot.bodies:
        path, name = [], body.name
        while name not in carrier and name in above and KINDS[above[name].kind].nv == 0:
            path.append(name)
            name = above[name].parent
        first = carrier.setdefault(name, name)
        carrier.update(dict.fromkeys(path, first))
        if first != body.name:
            own[first] += own[body.name]
    return own
