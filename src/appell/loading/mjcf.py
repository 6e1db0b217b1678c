"""MJCF: the format of MuJoCo, read by MuJoCo itself (extra `mjcf`), so that defaults, includes and units are its own.

Read are bodies, joints (free joints become floating, ball joints spherical), gravity, sites (as frames), keyframes (as
postures), actuators, and linear couplings of joints (as mimic joints; a joint that an equality holds becomes fixed).
Coordinates are MuJoCo's: q is its qpos, reference angles included; `Robot.to_mujoco` converts the order of quaternion
entries and the axes of a free body's velocity. A body with several joints becomes a chain of massless bodies that ends in the
body; a joint that is not at the body's origin adds one more frame.
Equalities of type connect and weld are closures of loops, and the joints that actuators drive are then the actuated ones.
Fixed tendons are gears of actuators. Elements that are left out but change the motion (springs of ball and free joints, gravity
compensation, forces of tendons, other equalities and actuators) give one warning.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from appell.loading.mjcf_actuators import actuators, note_left_out, postures, with_effort_limits
from appell.loading.mjcf_equalities import couplings, loops
from appell.loading.mjcf_model import BALL, FREE, HINGE, SLIDE, MujocoModel, import_mujoco, rotation
from appell.loading.source import ParsedRobot, Source
from appell.loading.xml import ProblemLog, local_name, parse, xml_error
from appell.model.body import Body, Geometry, Visual, rotated_inertia
from appell.model.joint import Joint, Limits
from appell.model.pose import Pose, Triple, triple
from appell.names import unused_name
from appell.robot.robot import Robot

ORIGIN = np.zeros(3)
FINITE = {
    "body": ("pos", "quat", "ipos", "iquat", "mass", "inertia"), "jnt": ("pos", "axis", "stiffness"),
    "qpos": ("spring",), "dof": ("armature", "damping"),
    "geom": ("pos", "quat", "size"), "site": ("pos", "quat"), "eq": ("data",),
}  # fmt: skip
"""Arrays of a compiled model that are read."""


def read(source: Source) -> ParsedRobot:
    """The robot of the compiled model, with its root `world`."""
    notes = ProblemLog(source.label)
    lines = _lines(source)
    model = _compile(source)
    _require_utf8(model, source)
    _require_finite(model, source)
    names = MujocoModel(model, lines)
    bodies, joints, virtual = [], [], set()
    for i in range(names.model.nbody):
        row, body = _chain(names, i)
        virtual |= {joint.child for joint in row} - {body.name}
        joints += row
        bodies += [Body(joint.child) for joint in row if joint.child != body.name] + [body]
    for i, frame in names.frames.items():
        place = Pose.from_matrix(names.model.site_pos[i], rotation(names.model.site_quat[i]))
        fixed = unused_name(f"{frame}_fixed", [joint.name for joint in joints])
        joints.append(Joint(fixed, "fixed", names.bodies[names.model.site_bodyid[i]], frame, place))
        bodies.append(Body(frame))
    mimics, held = couplings(names, notes)
    joints = [replace(joint, mimic=mimics.get(joint.name)) for joint in joints]
    robot = Robot(
        names.robot, tuple(bodies), tuple(joints), _gravity(names), actuators=actuators(names, notes),
        named_postures=postures(names), source=source.label,
    )  # fmt: skip
    robot = with_effort_limits(robot).lock(held)
    note_left_out(names, notes)
    closures = loops(names, robot, notes)
    virtual |= set(names.frames.values())
    return ParsedRobot(robot, tuple(notes.problems), frozenset(virtual), closures)


def _compile(source: Source) -> Any:
    mujoco = import_mujoco()
    try:
        if source.path is not None:
            return mujoco.MjModel.from_xml_path(str(source.path))
        return mujoco.MjModel.from_xml_string(source.data.decode("utf-8"))
    except (ValueError, RuntimeError, MemoryError) as error:
        what = f"MuJoCo cannot compile it: {str(error).strip().rstrip('.')}"
        raise xml_error(source.label, 0, what, "Correct the description.") from None


def _require_utf8(model: Any, source: Source) -> None:
    """Raise for names of bytes that are not UTF-8, which MuJoCo reads as they are."""
    try:
        model.names.decode("utf-8")
    except UnicodeDecodeError as error:
        start = model.names.rfind(b"\0", 0, error.start) + 1
        shown = model.names[start:].split(b"\0")[0][:80]
        raise xml_error(source.label, 0, f"a name is not UTF-8: {shown!r}", "Save the description as UTF-8.") from None


def _require_finite(model: Any, source: Source) -> None:
    """Raise for numbers of bodies and joints that are not finite, as included files may have them, and for overflow."""
    for kind, fields in FINITE.items():
        for field in fields:
            array = getattr(model, f"{kind}_{field}")
            if not np.isfinite(array).all() or (
                field.endswith("quat") and (np.linalg.norm(array, axis=-1) < 0.5).any()
            ):
                raise xml_error(
                    source.label, 0, f"{field} of a {kind} is not finite or vanishes", "Correct the description."
                )


def _lines(source: Source) -> dict[tuple[str, str], int]:
    """Line numbers of named bodies and joints of this file, without included files.

    NaN, and empty attributes of equality constraints, which MuJoCo does not survive, raise an error.
    """
    root = parse(source.data, source.label)
    constraints = {child for equality in root.iter("equality") for child in equality}
    for element in root.iter():
        for name, value in element.attrib.items():
            if "nan" in value.lower().split() or (element in constraints and not value.strip()):
                what = f"{name}={value!r} of <{element.tag}> is {'not a number' if value.strip() else 'empty'}"
                raise xml_error(source.label, int(element.sourceline or 0), what, "Correct the value.")
    return {
        (local_name(str(element.tag)).removeprefix("free"), element.get("name", "")): int(element.sourceline or 0)
        for element in root.iter("body", "joint", "freejoint")
    }


# --- bodies -------------------------------------------------------------------------------------------------------------


def _chain(names: MujocoModel, i: int) -> tuple[list[Joint], Body]:
    """Body i and the joints from its parent to it."""
    model, name = names.model, names.bodies[i]
    visuals, collisions = _shapes(model, i)
    body = Body(
        name, float(model.body_mass[i]), triple(model.body_ipos[i]),
        rotated_inertia(rotation(model.body_iquat[i]), np.diag(model.body_inertia[i])), visuals, collisions,
        line=names.lines.get(("body", name), 0),
    )  # fmt: skip
    if i == 0:
        return [], body
    parent = names.bodies[model.body_parentid[i]]
    place, turn = model.body_pos[i], rotation(model.body_quat[i])
    own = range(model.body_jntadr[i], model.body_jntadr[i] + model.body_jntnum[i])
    row: list[Joint] = []
    anchor = ORIGIN
    for k in own:
        here = model.jnt_pos[k] if model.jnt_type[k] != SLIDE else anchor
        origin = place + turn @ (here - anchor)
        last = k == own[-1] and not here.any()
        child = name if last else names.new(f"{name}_{names.joints[k]}")
        joint = _joint(names, k, parent, child)
        row.append(replace(joint, origin=_at_zero(model, k, joint.axis, origin, turn)))
        parent, place, turn, anchor = child, ORIGIN, np.eye(3), here
    if not row or row[-1].child != name:
        row.append(Joint(f"{name}_fixed", "fixed", parent, name, Pose.from_matrix(place + turn @ -anchor, turn)))
    return row, body


def _joint(names: MujocoModel, k: int, parent: str, child: str) -> Joint:
    model, name = names.model, names.joints[k]
    limited = bool(model.jnt_limited[k]) and model.jnt_type[k] in (SLIDE, HINGE)
    kind = {FREE: "floating", BALL: "spherical", SLIDE: "prismatic", HINGE: "revolute" if limited else "continuous"}
    lower, upper = model.jnt_range[k].tolist() if limited else (-math.inf, math.inf)
    effort = float(abs(model.jnt_actfrcrange[k]).max()) if model.jnt_actfrclimited[k] else math.inf
    v = model.jnt_dofadr[k]
    spring = model.jnt_stiffness[k] != 0.0 and model.jnt_type[k] in (SLIDE, HINGE)
    return Joint(
        name, kind[int(model.jnt_type[k])], parent, child,
        axis=triple(model.jnt_axis[k]),
        limits=Limits(lower, upper, effort=effort),
        damping=float(model.dof_damping[v]),
        friction=float(model.dof_frictionloss[v]),
        rotor_inertia=float(model.dof_armature[v]),
        stiffness=float(model.jnt_stiffness[k]) if spring else 0.0,
        springref=float(model.qpos_spring[model.jnt_qposadr[k]]) if spring else 0.0,
        line=names.lines.get(("joint", name), 0),
    )  # fmt: skip


def _at_zero(model: Any, k: int, axis: Triple, place: np.ndarray, turn: np.ndarray) -> Pose:
    """Pose of the joint at q = 0. The model has it at the reference q = ref; the q of a free body is its whole pose."""
    if model.jnt_type[k] == FREE:
        return Pose()
    reference = float(model.qpos0[model.jnt_qposadr[k]]) if model.jnt_type[k] in (SLIDE, HINGE) else 0.0
    if model.jnt_type[k] == SLIDE:
        return Pose.from_matrix(place - turn @ np.array(axis) * reference, turn)
    half = -reference / 2
    return Pose.from_matrix(place, turn @ rotation([math.cos(half), *(math.sin(half) * np.array(axis))]))


def _gravity(names: MujocoModel) -> Triple:
    off = names.model.opt.disableflags & import_mujoco().mjtDisableBit.mjDSBL_GRAVITY
    return (0.0, 0.0, 0.0) if off else triple(names.model.opt.gravity)


# --- shapes -------------------------------------------------------------------------------------------------------------


_SIZES = {
    2: ("sphere", lambda s: (s[0],)),
    3: ("capsule", lambda s: (s[0], 2 * s[1])),
    5: ("cylinder", lambda s: (s[0], 2 * s[1])),
    6: ("box", lambda s: (2 * s[0], 2 * s[1], 2 * s[2])),
}  # mjtGeom; MuJoCo gives half lengths
_MESH = 7


def _shapes(model: Any, body: int) -> tuple[tuple[Visual, ...], tuple[Geometry, ...]]:
    """The geoms of a body, without planes, height fields and ellipsoids; all are drawn, those with contact touch surfaces."""
    geoms = range(model.body_geomadr[body], model.body_geomadr[body] + model.body_geomnum[body])
    found = [(g, visual) for g in geoms if (visual := _visual(model, g)) is not None]
    touching = (visual for g, visual in found if model.geom_contype[g] or model.geom_conaffinity[g])
    collisions = tuple(Geometry(visual.kind, visual.size, visual.pose, visual.mesh) for visual in touching)
    return tuple(visual for _, visual in found), collisions


def _visual(model: Any, g: int) -> Visual | None:
    kind = int(model.geom_type[g])
    place, turn = model.geom_pos[g], rotation(model.geom_quat[g])
    r, g_, b, a = (float(value) for value in model.geom_rgba[g])
    if kind in _SIZES:
        name, size = _SIZES[kind]
        return Visual(name, size(model.geom_size[g].tolist()), Pose.from_matrix(place, turn), rgba=(r, g_, b, a))
    if kind != _MESH:
        return None
    # MuJoCo transforms a mesh to its centre of mass and principal axes; this is the inverse, to the frame of its file.
    mesh = int(model.geom_dataid[g])
    turn = turn @ rotation(model.mesh_quat[mesh]).T
    pose = Pose.from_matrix(place - turn @ model.mesh_pos[mesh], turn)
    return Visual("mesh", tuple(model.mesh_scale[mesh].tolist()), pose, _file(model, mesh), (r, g_, b, a))


def _file(model: Any, mesh: int) -> str:
    start = int(model.mesh_pathadr[mesh])
    return model.paths[start:].split(b"\0")[0].decode() if start >= 0 else model.mesh(mesh).name
