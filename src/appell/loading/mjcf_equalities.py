"""Equalities of an MJCF: couplings of joints as mimic joints, `connect` (a point) and `weld` as loop closures.

A coupling is a linear equation of two joints, of a joint alone, or of a fixed tendon with these. Every equation eliminates
one joint; chains of couplings, and couplings in the other direction, end at one leader each.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from appell.closed_loop.closures import LoopClosure
from appell.loading.loops import Loops
from appell.loading.mjcf_model import SITE, MujocoModel, import_mujoco, rotation
from appell.loading.xml import ProblemLog
from appell.model.joint import Mimic
from appell.model.pose import Pose
from appell.robot.robot import Robot

CONNECT, WELD, JOINT, TENDON = range(4)  # mjtEq


class Affine(NamedTuple):
    """slope q_root + constant; the root is a joint, or None for a constant."""

    root: int | None
    slope: float
    constant: float


class Couplings(NamedTuple):
    """Mimic joints, and the coordinates of joints that an equality holds, by name."""

    mimics: dict[str, Mimic]
    held: dict[str, float]


def couplings(names: MujocoModel, notes: ProblemLog) -> Couplings:
    """The linear couplings of joints; equalities that are none are noted."""
    values: dict[int, Affine] = {}
    for e in range(names.model.neq):
        kind = int(names.model.eq_type[e])
        if not names.model.eq_active0[e] or kind in (CONNECT, WELD):
            continue
        equation = _equation(names, e)
        if equation is None or not _eliminate(values, *equation):
            what = (
                f"the equality of type {import_mujoco().mjtEq(kind).name.removeprefix('mjEQ_').lower()} is not part of the "
                "model: connect, weld and linear couplings of two joints are"
            )
            notes.add("ignored", f"equality {names.name('eq', e)!r}", 0, what, "Its joints move freely.")
    mimics, held = {}, {}
    for joint, (root, slope, constant) in values.items():
        if root is None:
            held[names.joints[joint]] = constant
        elif root != joint:
            mimics[names.joints[joint]] = Mimic(names.joints[root], slope, constant)
    return Couplings(mimics, held)


def _equation(names: MujocoModel, e: int) -> tuple[dict[int, float], float] | None:
    """Coefficients of joints and the right-hand side of a linear equation; None for another equality.

    MuJoCo has y - y0 = a0 + a1 (x - x0) + a2 (x - x0)² + ..., with joints or tendons y and x, or no x.
    """
    model, kind = names.model, int(names.model.eq_type[e])
    first, second = int(model.eq_obj1id[e]), int(model.eq_obj2id[e])
    a0, a1, *rest = model.eq_data[e][:5].tolist()
    if kind not in (JOINT, TENDON) or (second >= 0 and any(rest)):
        return None
    terms: dict[int, float] = {}
    right = a0
    for index, factor in ((first, 1.0), (second, -a1)):
        if index < 0:
            continue
        joints = {index: 1.0} if kind == JOINT else names.tendon_joints(index)
        if joints is None:
            return None
        for joint, coefficient in joints.items():
            terms[joint] = terms.get(joint, 0.0) + factor * coefficient
            right += factor * coefficient * names.reference(joint)
    return terms, right


def _eliminate(values: dict[int, Affine], terms: dict[int, float], right: float) -> bool:
    """Solve an equation for the leader of its first joint; False if more than two leaders are left, or none."""
    left: dict[int, float] = {}
    for joint, coefficient in terms.items():
        root, slope, constant = values.setdefault(joint, Affine(joint, 1.0, 0.0))
        right -= coefficient * constant
        if root is not None:
            left[root] = left.get(root, 0.0) + coefficient * slope
    left = {root: coefficient for root, coefficient in left.items() if coefficient}
    if not 1 <= len(left) <= 2:
        return False
    (gone, divisor), *others = left.items()
    new = Affine(None, 0.0, right / divisor)
    if others:
        ((leader, coefficient),) = others
        new = Affine(leader, -coefficient / divisor, right / divisor)
    for joint, (root, slope, constant) in values.items():
        if root == gone:
            values[joint] = Affine(new.root, slope * new.slope, slope * new.constant + constant)
    return True


def loops(names: MujocoModel, robot: Robot, notes: ProblemLog) -> Loops | None:
    """All loop closures, with the joints of actuators; the configuration is the first keyframe, or `qpos0`.

    Closures with a mocap body, which is moved from outside, are noted; those within one rigid body hold nothing.
    """
    model, closures = names.model, []
    for e in range(model.neq):
        if not model.eq_active0[e] or int(model.eq_type[e]) not in (CONNECT, WELD):
            continue
        closure = _closure(names, e)
        bodies = [names.bodies.index(name) for name in (closure.body1, closure.body2)]
        if any(model.body_mocapid[i] >= 0 for i in bodies):
            what = "the equality with a mocap body, which is moved from outside, is not part of the model"
            notes.add("ignored", f"equality {closure.name!r}", 0, what, "Its joints move freely.")
        elif robot.tree.frames[closure.body1].link != robot.tree.frames[closure.body2].link:
            closures.append(closure)
    if not closures:
        return None
    actuated = [joint for actuator in robot.actuators for joint in actuator.joints]
    qpos = model.key_qpos[0] if model.nkey else model.qpos0
    return Loops(
        tuple(closures),
        tuple(dict.fromkeys(actuated)),
        configuration={name: names.coordinates(k, qpos) for k, name in enumerate(names.joints)},
        label=notes.file,
    )


def _closure(names: MujocoModel, e: int) -> LoopClosure:
    """The frames of MuJoCo: anchors of both bodies, and the relative rotation of a weld."""
    model = names.model
    first, second = int(model.eq_obj1id[e]), int(model.eq_obj2id[e])
    data = np.array(model.eq_data[e])
    weld = int(model.eq_type[e]) == WELD
    relative = rotation(data[6:10]) if weld else np.eye(3)
    anchor1, anchor2 = (data[3:6], data[0:3]) if weld else (data[0:3], data[3:6])
    pose1, pose2 = Pose.from_matrix(anchor1, relative), Pose.from_matrix(anchor2, np.eye(3))
    if int(model.eq_objtype[e]) == SITE:
        pose1, pose2 = (Pose.from_matrix(model.site_pos[i], rotation(model.site_quat[i])) for i in (first, second))
        first, second = (int(model.site_bodyid[i]) for i in (first, second))
    kind = "weld" if weld else "point"
    return LoopClosure(names.name("eq", e), kind, names.bodies[first], names.bodies[second], pose1, pose2)
