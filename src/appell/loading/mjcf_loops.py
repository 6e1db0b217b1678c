"""Loop closures of a compiled MuJoCo model: equalities of type `connect` (a point) and `weld`."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from appell.closed_loop.closure import LoopClosure
from appell.loading.loops import Loops
from appell.model.pose import Pose

_CONNECT, _WELD = 0, 1  # mjtEq
_SITE = 6  # mjtObj
_FREE, _BALL = 0, 1  # mjtJoint


def closes_loop(model: Any, e: int) -> bool:
    """Whether equality e is a loop closure."""
    return bool(model.eq_active0[e]) and int(model.eq_type[e]) in (_CONNECT, _WELD)


def loops_of(model: Any, bodies: list[str], joints: list[str], label: str) -> Loops | None:
    """All loop closures and actuated joints; the configuration is the first keyframe, or `qpos0`."""
    closures = tuple(_closure(model, e, bodies) for e in range(model.neq) if closes_loop(model, e))
    if not closures:
        return None
    driven = [int(model.actuator_trnid[a][0]) for a in range(model.nu) if int(model.actuator_trntype[a]) in (0, 1)]
    qpos = model.key_qpos[0] if model.nkey else model.qpos0
    configuration = {joints[k]: _coordinates(model, k, qpos) for k in range(model.njnt)}
    return Loops(closures, tuple(dict.fromkeys(joints[k] for k in driven)), None, configuration, label)


def _closure(model: Any, e: int, bodies: list[str]) -> LoopClosure:
    """The frames of MuJoCo: anchors of both bodies, and the relative rotation of a weld."""
    first, second = int(model.eq_obj1id[e]), int(model.eq_obj2id[e])
    data = np.array(model.eq_data[e])
    weld = int(model.eq_type[e]) == _WELD
    relative = rotation(data[6:10]) if weld else np.eye(3)
    anchor1, anchor2 = (data[3:6], data[0:3]) if weld else (data[0:3], data[3:6])
    frames = [Pose.from_matrix(anchor1, relative), Pose.from_matrix(anchor2, np.eye(3))]
    if int(model.eq_objtype[e]) == _SITE:
        frames = [Pose.from_matrix(model.site_pos[i], rotation(model.site_quat[i])) for i in (first, second)]
        first, second = (int(model.site_bodyid[i]) for i in (first, second))
    name = model.eq(e).name or f"equality{e}"
    return LoopClosure(name, "weld" if weld else "point", bodies[first], bodies[second], frames[0], frames[1])


def _coordinates(model: Any, k: int, qpos: np.ndarray) -> tuple[float, ...]:
    """Coordinates of one joint, with quaternions as x y z w."""
    start, kind = int(model.jnt_qposadr[k]), int(model.jnt_type[k])
    own = qpos[start : start + {_FREE: 7, _BALL: 4}.get(kind, 1)].tolist()
    return tuple([*own[:-4], *own[-3:], own[-4]] if kind in (_FREE, _BALL) else own)


def rotation(quaternion: Any) -> np.ndarray:
    """Rotation matrix of a quaternion w, x, y, z, as MuJoCo stores it."""
    return Rotation.from_quat(np.roll(quaternion, -1)).as_matrix()
