"""A model that MuJoCo has compiled, with names for its parts."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from appell.errors import ModelError
from appell.names import unused_name

FREE, BALL, SLIDE, HINGE = range(4)  # mjtJoint
SITE = 6  # mjtObj


def import_mujoco() -> ModuleType:
    """The package mujoco."""
    try:
        import mujoco
    except ImportError:
        raise ModelError('MJCF needs MuJoCo, which is not installed. Run: pip install "appell[mjcf]"') from None
    return mujoco


def rotation(quaternion: Any) -> np.ndarray:
    """Rotation matrix of a quaternion w, x, y, z, as MuJoCo stores it."""
    return Rotation.from_quat(np.roll(quaternion, -1)).as_matrix()


class MujocoModel:
    """The compiled model with names for all bodies, joints and sites, generated where the file has none.

    Attributes:
        frames: names of the frames of named sites, by index.
    """

    def __init__(self, model: Any, lines: dict[tuple[str, str], int]) -> None:
        self.model, self.lines = model, lines
        self.robot = model.names.split(b"\0")[0].decode() or "robot"
        self.bodies = _unique([model.body(i).name for i in range(model.nbody)], "body")
        self.joints = _unique([model.joint(i).name for i in range(model.njnt)], "joint")
        sites = [(i, name) for i in range(model.nsite) if (name := model.site(i).name)]
        self.frames = {i: self.new(name if name not in self.bodies else f"{name}_site") for i, name in sites}

    def new(self, wanted: str) -> str:
        """An unused body name."""
        name = unused_name(wanted, self.bodies)
        self.bodies.append(name)
        return name

    def name(self, kind: str, i: int) -> str:
        """The name of an equality, tendon, actuator or key, or its number."""
        return getattr(self.model, kind)(i).name or f"{kind}{i}"

    def reference(self, joint: int) -> float:
        """The coordinate of a slide or hinge in the reference posture."""
        return float(self.model.qpos0[self.model.jnt_qposadr[joint]])

    def coordinates(self, joint: int, qpos: np.ndarray) -> tuple[float, ...]:
        """Coordinates of one joint, with quaternions as x y z w."""
        start, kind = int(self.model.jnt_qposadr[joint]), int(self.model.jnt_type[joint])
        own = qpos[start : start + {FREE: 7, BALL: 4}.get(kind, 1)].tolist()
        return tuple([*own[:-4], *own[-3:], own[-4]] if kind in (FREE, BALL) else own)

    def tendon_joints(self, tendon: int) -> dict[int, float] | None:
        """Coefficients of the joints of a fixed tendon; None for a spatial one."""
        first = int(self.model.tendon_adr[tendon])
        wraps = range(first, first + int(self.model.tendon_num[tendon]))
        if any(self.model.wrap_type[w] != import_mujoco().mjtWrap.mjWRAP_JOINT for w in wraps):
            return None
        coefficients: dict[int, float] = {}
        for w in wraps:
            joint = int(self.model.wrap_objid[w])
            coefficients[joint] = coefficients.get(joint, 0.0) + float(self.model.wrap_prm[w])
        return coefficients


def _unique(names: list[str], kind: str) -> list[str]:
    taken = [name for name in names if name]
    for i, name in enumerate(names):
        if not name:
            names[i] = unused_name(f"{kind}{i}", taken)
            taken.append(names[i])
    return names
