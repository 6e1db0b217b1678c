"""Actuators, keyframes, and what of an MJCF is left out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from appell.loading.mjcf_model import BALL, FREE, MujocoModel, import_mujoco
from appell.loading.xml import ProblemLog
from appell.model.actuator import NO_WRENCH, UNLIMITED, Actuator, Posture, transmission
from appell.model.joints import KINDS
from appell.model.pose import triple
from appell.robot.robot import Robot

MOST_NAMES = 5
"""Names in a message; of more the number is given."""


def actuators(names: MujocoModel, notes: ProblemLog) -> tuple[Actuator, ...]:
    """Actuators of joints, fixed tendons and sites; others are noted."""
    found = [(names.name("actuator", a), _actuator(names, a)) for a in range(names.model.nu)]
    _note(
        notes, "actuator", [name for name, actuator in found if actuator is None],
        "acts on a body, a spatial tendon, a slider-crank, a free joint or two sites, which is not part of the model",
    )  # fmt: skip
    return tuple(actuator for _, actuator in found if actuator is not None)


def _actuator(names: MujocoModel, a: int) -> Actuator | None:
    model, mujoco = names.model, import_mujoco()
    acts_on, target, gear = int(model.actuator_trntype[a]), int(model.actuator_trnid[a][0]), model.actuator_gear[a]
    frame, wrench, terms = "", NO_WRENCH, {}
    if acts_on in (mujoco.mjtTrn.mjTRN_JOINT, mujoco.mjtTrn.mjTRN_JOINTINPARENT):
        kind, joint = int(model.jnt_type[target]), names.joints[target]
        if kind == FREE or (kind == BALL and acts_on != mujoco.mjtTrn.mjTRN_JOINT):
            return None
        labels = [f"{joint}.{label}" for label in KINDS["spherical"].qd_labels] if kind == BALL else [joint]
        terms = {label: float(gear[k]) for k, label in enumerate(labels) if kind != BALL or gear[k]}
    elif acts_on == mujoco.mjtTrn.mjTRN_TENDON:
        joints = names.tendon_joints(target) or {}
        terms = {names.joints[joint]: float(gear[0]) * coefficient for joint, coefficient in joints.items()}
    elif acts_on == mujoco.mjtTrn.mjTRN_SITE and int(model.actuator_trnid[a][1]) < 0 and target in names.frames:
        fx, fy, fz, mx, my, mz = gear.tolist()
        frame, wrench = names.frames[target], (fx, fy, fz, mx, my, mz)
    if not terms and not frame:
        return None
    kind, gain, bias = _law(model, a)
    return Actuator(
        names.name("actuator", a), tuple(terms), tuple(terms.values()), kind,
        _range(model.actuator_forcerange[a], model.actuator_forcelimited[a]),
        _range(model.actuator_ctrlrange[a], model.actuator_ctrllimited[a]),
        gain, triple(bias), frame, wrench,
    )  # fmt: skip


def _law(model: Any, a: int) -> tuple[str, float, Sequence[float]]:
    """Kind, gain and bias; a general actuator has gains that depend on the state, or dynamics of its own, which are left out."""
    mujoco, gain = import_mujoco(), float(model.actuator_gainprm[a][0])
    bias = model.actuator_biasprm[a][:3].tolist()
    static = int(model.actuator_dyntype[a]) == mujoco.mjtDyn.mjDYN_NONE
    if int(model.actuator_gaintype[a]) != mujoco.mjtGain.mjGAIN_FIXED or not static:
        return "general", 1.0, (0.0, 0.0, 0.0)
    if int(model.actuator_biastype[a]) != mujoco.mjtBias.mjBIAS_AFFINE:
        plain = int(model.actuator_biastype[a]) == mujoco.mjtBias.mjBIAS_NONE
        return "motor" if plain else "general", gain, (0.0, 0.0, 0.0)
    kinds = {(True, False): "position", (False, True): "velocity"}
    return kinds.get((bias[1] == -gain != 0.0, bias[1] == 0.0 and bias[2] == -gain != 0.0), "general"), gain, bias


def _range(ends: Any, limited: Any) -> tuple[float, float]:
    low, high = (float(end) for end in ends)
    return (low, high) if limited else UNLIMITED


def with_effort_limits(robot: Robot) -> Robot:
    """The robot with effort limits of joints from the largest forces of their actuators, where these are smaller."""
    largest = np.array([actuator.largest_force() for actuator in robot.actuators])
    T = np.abs(transmission(robot))
    limits = {}
    for joint in robot.moving_joints:
        v = robot.first_coordinates[joint.name][1]
        if KINDS[joint.kind].nv == 1 and T[v].any():
            limits[joint.name] = min(joint.limits.effort, float(T[v][T[v] > 0.0] @ largest[T[v] > 0.0]))
    joints = tuple(
        replace(joint, limits=replace(joint.limits, effort=limits.get(joint.name, joint.limits.effort)))
        for joint in robot.joints
    )
    return replace(robot, joints=joints)


def postures(names: MujocoModel) -> tuple[Posture, ...]:
    """The keyframes."""
    model = names.model
    return tuple(
        Posture(
            names.name("key", i),
            tuple((name, names.coordinates(k, model.key_qpos[i])) for k, name in enumerate(names.joints)),
        )
        for i in range(model.nkey)
    )


def note_left_out(names: MujocoModel, notes: ProblemLog) -> None:
    """Note what changes the motion and is not part of the model, one line for each."""
    model = names.model
    for k in np.flatnonzero((model.jnt_stiffness != 0.0) & np.isin(model.jnt_type, (FREE, BALL))):
        what = f"the spring of {model.jnt_stiffness[k]:g} N m/rad (N/m) is not part of the model"
        notes.add("ignored", f"joint {names.joints[k]!r}", 0, what, "Add its force to tau.")
    compensated = [names.bodies[i] for i in np.flatnonzero(model.body_gravcomp)]
    _note(
        notes, "link", compensated, "has gravity compensation, which is not part of the model", "Add its force to tau."
    )
    _note(notes, "tendon", _forced_tendons(names), "has forces of its own, which are not part of the model")
    flex = import_mujoco().mjtObj.mjOBJ_FLEX
    elastic = [import_mujoco().mj_id2name(model, flex, i) or f"flex{i}" for i in range(model.nflex)]
    _note(notes, "flex", elastic, "has elastic forces, which are not part of the model", "Its points move freely.")
    if model.opt.density or model.opt.viscosity:
        notes.add(
            "ignored", "option", 0, "forces of the fluid are not part of the model", "Add them as external forces."
        )


def _forced_tendons(names: MujocoModel) -> list[str]:
    """Tendons with a spring, a damper, friction, limits or inertia."""
    model = names.model
    fields = ("stiffness", "damping", "frictionloss", "limited", "armature")
    forced = [i for i in range(model.ntendon) if any(np.any(getattr(model, f"tendon_{field}")[i]) for field in fields)]
    return [names.name("tendon", i) for i in forced]


def _note(
    notes: ProblemLog, kind: str, listed: Iterable[str], what: str, fix: str = "Its joints move without it."
) -> None:
    """One problem for all elements of a kind."""
    found = [repr(name) for name in listed]
    if found:
        more = f" and {len(found) - MOST_NAMES} more" if len(found) > MOST_NAMES else ""
        notes.add("ignored", f"{kind} {', '.join(found[:MOST_NAMES])}{more}", 0, what, fix)
