"""MJCF: the format of MuJoCo, read by MuJoCo itself (extra `mjcf`), so that defaults, includes and units are its own.

Read are bodies, joints (free joints become floating, ball joints spherical), gravity and linear couplings of two joints (as
mimic). Coordinates are MuJoCo's: q is its qpos, reference angles included; `Robot.to_mujoco` converts the order of quaternion
entries and the axes of a free body's velocity. A body with several joints becomes a chain of massless bodies that ends in the
body; a joint that is not at the body's origin adds one more frame.
Equalities of type connect and weld are closures of loops, and the joints that actuators drive are then the actuated ones.
Contacts and tendons are not part of the model. Elements that are left out but change the motion (springs, gravity
compensation, other equalities) give a warning.
"""

from __future__ import annotations

import math
from dataclasses import replace
from types import ModuleType
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from appell.closed_loop.closures import LoopClosure
from appell.errors import ModelError
from appell.loading.loops import Loops
from appell.loading.source import ParsedRobot, Source
from appell.loading.xml import ProblemLog, local_name, parse, xml_error
from appell.model.body import Body, Geometry, Visual, rotated_inertia
from appell.model.joint import Joint, Limits, Mimic
from appell.model.pose import Pose, Triple, triple
from appell.names import unused_name
from appell.robot.robot import Robot

ORIGIN = np.zeros(3)
_FREE, _BALL, _SLIDE, _HINGE = range(4)  # mjtJoint
_CONNECT, _WELD = range(2)  # mjtEq
_SITE = 6  # mjtObj
FINITE = {
    "body": ("pos", "quat", "ipos", "iquat", "mass", "inertia"), "jnt": ("pos", "axis"), "dof": ("armature", "damping"),
    "geom": ("pos", "quat", "size"), "site": ("pos", "quat"), "eq": ("data",),
}  # fmt: skip
"""Arrays of a compiled model that are read."""


def read(source: Source) -> ParsedRobot:
    """The robot of the compiled model, with its root `world`."""
    notes = ProblemLog(source.label)
    lines = _lines(source)
    names = _Names(_compile(source), lines)
    _require_finite(names.model, source)
    bodies, joints, virtual = [], [], set()
    for i in range(names.model.nbody):
        row, body = _chain(names, i)
        virtual |= {joint.child for joint in row} - {body.name}
        joints += row
        bodies += [Body(joint.child) for joint in row if joint.child != body.name] + [body]
    mimics = _couplings(names, notes)
    joints = [replace(joint, mimic=mimics.get(joint.name)) for joint in joints]
    _left_out(names, notes)
    robot = Robot(names.robot, tuple(bodies), tuple(joints), _gravity(names), source=source.label)
    return ParsedRobot(robot, tuple(notes.problems), frozenset(virtual), _loops(names, source.label))


def _compile(source: Source) -> Any:
    mujoco = _mujoco()
    try:
        if source.path is not None:
            return mujoco.MjModel.from_xml_path(str(source.path))
        return mujoco.MjModel.from_xml_string(source.data.decode(source.encoding or "utf-8"))
    except (ValueError, RuntimeError, MemoryError) as error:
        what = f"MuJoCo cannot compile it: {str(error).strip().rstrip('.')}"
        raise xml_error(source.label, 0, what, "Correct the description.") from None


def _mujoco() -> ModuleType:
    try:
        import mujoco
    except ImportError:
        raise ModelError('MJCF needs MuJoCo, which is not installed. Run: pip install "appell[mjcf]"') from None
    return mujoco


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


class _Names:
    """The compiled model with names for all bodies and joints, generated where the file has none."""

    def __init__(self, model: Any, lines: dict[tuple[str, str], int]) -> None:
        self.model = model
        self.lines = lines
        self.robot = model.names.split(b"\0")[0].decode() or "robot"
        self.bodies = _unique([model.body(i).name for i in range(model.nbody)], "body")
        self.joints = _unique([model.joint(i).name for i in range(model.njnt)], "joint")

    def new(self, wanted: str) -> str:
        """An unused body name."""
        name = unused_name(wanted, self.bodies)
        self.bodies.append(name)
        return name


def _unique(names: list[str], kind: str) -> list[str]:
    taken = [name for name in names if name]
    for i, name in enumerate(names):
        if not name:
            names[i] = unused_name(f"{kind}{i}", taken)
            taken.append(names[i])
    return names


def _lines(source: Source) -> dict[tuple[str, str], int]:
    """Line numbers of named bodies and joints of this file, without included files.

    NaN, and empty attributes of equality constraints, which MuJoCo does not survive, raise an error.
    """
    root = parse(source.data, source.label, source.encoding)
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


def _chain(names: _Names, i: int) -> tuple[list[Joint], Body]:
    """Body i and the joints from its parent to it."""
    model, name = names.model, names.bodies[i]
    visuals, collisions = _shapes(model, i)
    body = Body(
        name, float(model.body_mass[i]), triple(model.body_ipos[i]),
        rotated_inertia(_rotation(model.body_iquat[i]), np.diag(model.body_inertia[i])), visuals, collisions,
        line=names.lines.get(("body", name), 0),
    )  # fmt: skip
    if i == 0:
        return [], body
    parent = names.bodies[model.body_parentid[i]]
    place, turn = model.body_pos[i], _rotation(model.body_quat[i])
    own = range(model.body_jntadr[i], model.body_jntadr[i] + model.body_jntnum[i])
    row: list[Joint] = []
    anchor = ORIGIN
    for k in own:
        here = model.jnt_pos[k] if model.jnt_type[k] != _SLIDE else anchor
        origin = place + turn @ (here - anchor)
        last = k == own[-1] and not here.any()
        child = name if last else names.new(f"{name}_{names.joints[k]}")
        joint = _joint(names, k, parent, child)
        row.append(replace(joint, origin=_at_zero(model, k, joint.axis, origin, turn)))
        parent, place, turn, anchor = child, ORIGIN, np.eye(3), here
    if not row or row[-1].child != name:
        row.append(Joint(f"{name}_fixed", "fixed", parent, name, Pose.from_matrix(place + turn @ -anchor, turn)))
    return row, body


def _joint(names: _Names, k: int, parent: str, child: str) -> Joint:
    model, name = names.model, names.joints[k]
    limited = bool(model.jnt_limited[k]) and model.jnt_type[k] in (_SLIDE, _HINGE)
    kind = {_FREE: "floating", _BALL: "spherical", _SLIDE: "prismatic", _HINGE: "revolute" if limited else "continuous"}
    lower, upper = model.jnt_range[k].tolist() if limited else (-math.inf, math.inf)
    effort = float(abs(model.jnt_actfrcrange[k]).max()) if model.jnt_actfrclimited[k] else math.inf
    v = model.jnt_dofadr[k]
    return Joint(
        name, kind[int(model.jnt_type[k])], parent, child,
        axis=triple(model.jnt_axis[k]),
        limits=Limits(lower, upper, effort=effort),
        damping=float(model.dof_damping[v]),
        friction=float(model.dof_frictionloss[v]),
        rotor_inertia=float(model.dof_armature[v]),
        line=names.lines.get(("joint", name), 0),
    )  # fmt: skip


def _at_zero(model: Any, k: int, axis: Triple, place: np.ndarray, turn: np.ndarray) -> Pose:
    """Pose of the joint at q = 0. The model has it at the reference q = ref; the q of a free body is its whole pose."""
    if model.jnt_type[k] == _FREE:
        return Pose()
    reference = float(model.qpos0[model.jnt_qposadr[k]]) if model.jnt_type[k] in (_SLIDE, _HINGE) else 0.0
    if model.jnt_type[k] == _SLIDE:
        return Pose.from_matrix(place - turn @ np.array(axis) * reference, turn)
    half = -reference / 2
    return Pose.from_matrix(place, turn @ _rotation([math.cos(half), *(math.sin(half) * np.array(axis))]))


def _gravity(names: _Names) -> Triple:
    off = names.model.opt.disableflags & _mujoco().mjtDisableBit.mjDSBL_GRAVITY
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
    place, turn = model.geom_pos[g], _rotation(model.geom_quat[g])
    r, g_, b, a = (float(value) for value in model.geom_rgba[g])
    if kind in _SIZES:
        name, size = _SIZES[kind]
        return Visual(name, size(model.geom_size[g].tolist()), Pose.from_matrix(place, turn), rgba=(r, g_, b, a))
    if kind != _MESH:
        return None
    # MuJoCo transforms a mesh to its centre of mass and principal axes; this is the inverse, to the frame of its file.
    mesh = int(model.geom_dataid[g])
    turn = turn @ _rotation(model.mesh_quat[mesh]).T
    pose = Pose.from_matrix(place - turn @ model.mesh_pos[mesh], turn)
    return Visual("mesh", tuple(model.mesh_scale[mesh].tolist()), pose, _file(model, mesh), (r, g_, b, a))


def _file(model: Any, mesh: int) -> str:
    start = int(model.mesh_pathadr[mesh])
    return model.paths[start:].split(b"\0")[0].decode() if start >= 0 else model.mesh(mesh).name


def _rotation(quaternion: Any) -> np.ndarray:
    """Rotation matrix of a quaternion w, x, y, z, as MuJoCo stores it."""
    return Rotation.from_quat(np.roll(quaternion, -1)).as_matrix()


# --- loop closures: equalities of type `connect` (a point) and `weld` -------------------------------------------------------


def _loops(names: _Names, label: str) -> Loops | None:
    """All loop closures and actuated joints; the configuration is the first keyframe, or `qpos0`."""
    model = names.model
    active = [e for e in range(model.neq) if model.eq_active0[e] and int(model.eq_type[e]) in (_CONNECT, _WELD)]
    if not active:
        return None
    driven = [int(model.actuator_trnid[a][0]) for a in range(model.nu) if int(model.actuator_trntype[a]) in (0, 1)]
    qpos = model.key_qpos[0] if model.nkey else model.qpos0
    return Loops(
        tuple(_closure(names, e) for e in active),
        tuple(dict.fromkeys(names.joints[k] for k in driven)),
        configuration={name: _coordinates(model, k, qpos) for k, name in enumerate(names.joints)},
        label=label,
    )


def _closure(names: _Names, e: int) -> LoopClosure:
    """The frames of MuJoCo: anchors of both bodies, and the relative rotation of a weld."""
    model = names.model
    first, second = int(model.eq_obj1id[e]), int(model.eq_obj2id[e])
    data = np.array(model.eq_data[e])
    weld = int(model.eq_type[e]) == _WELD
    relative = _rotation(data[6:10]) if weld else np.eye(3)
    anchor1, anchor2 = (data[3:6], data[0:3]) if weld else (data[0:3], data[3:6])
    pose1, pose2 = Pose.from_matrix(anchor1, relative), Pose.from_matrix(anchor2, np.eye(3))
    if int(model.eq_objtype[e]) == _SITE:
        pose1, pose2 = (Pose.from_matrix(model.site_pos[i], _rotation(model.site_quat[i])) for i in (first, second))
        first, second = (int(model.site_bodyid[i]) for i in (first, second))
    name, kind = model.eq(e).name or f"equality{e}", "weld" if weld else "point"
    return LoopClosure(name, kind, names.bodies[first], names.bodies[second], pose1, pose2)


def _coordinates(model: Any, k: int, qpos: np.ndarray) -> tuple[float, ...]:
    """Coordinates of one joint, with quaternions as x y z w."""
    start, kind = int(model.jnt_qposadr[k]), int(model.jnt_type[k])
    own = qpos[start : start + {_FREE: 7, _BALL: 4}.get(kind, 1)].tolist()
    return tuple([*own[:-4], *own[-3:], own[-4]] if kind in (_FREE, _BALL) else own)


# --- couplings of joints, and elements that are left out --------------------------------------------------------------------


def _couplings(names: _Names, notes: ProblemLog) -> dict[str, Mimic]:
    """Linear couplings y - y0 = a0 + a1 (x - x0), by the joint y; other equalities are noted."""
    model, mujoco = names.model, _mujoco()
    mimics: dict[str, Mimic] = {}
    for e in range(model.neq):
        if not model.eq_active0[e] or int(model.eq_type[e]) in (_CONNECT, _WELD):
            continue
        first, second = int(model.eq_obj1id[e]), int(model.eq_obj2id[e])
        is_joint = model.eq_type[e] == mujoco.mjtEq.mjEQ_JOINT
        if not is_joint or second < 0 or model.eq_data[e][2:5].any() or names.joints[first] in mimics:
            kind = mujoco.mjtEq(int(model.eq_type[e])).name.removeprefix("mjEQ_").lower()
            name = model.eq(e).name or f"number {e}"
            what = f"the equality of type {kind} is not part of the model: connect, weld and linear couplings of two joints are"
            notes.add("ignored", f"equality {name!r}", 0, what, "Its joints move freely.")
            continue
        a0, a1 = model.eq_data[e][:2].tolist()
        y0, x0 = (float(model.qpos0[model.jnt_qposadr[joint]]) for joint in (first, second))
        mimics[names.joints[first]] = Mimic(names.joints[second], a1, y0 + a0 - a1 * x0)
    return mimics


def _left_out(names: _Names, notes: ProblemLog) -> None:
    model = names.model
    for k in np.flatnonzero(model.jnt_stiffness):
        what = f"the spring of {model.jnt_stiffness[k]:g} N m/rad (N/m) is not part of the model"
        notes.add("ignored", f"joint {names.joints[k]!r}", 0, what, "Add its force to tau.")
    for i in np.flatnonzero(model.body_gravcomp):
        what = "gravity compensation is not part of the model"
        notes.add("ignored", f"link {names.bodies[i]!r}", 0, what, "Add its force to tau.")
