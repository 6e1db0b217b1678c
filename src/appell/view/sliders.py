"""Sliders of a robot: one per coordinate, and roll, pitch and yaw for a quaternion."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from appell.model.joints import KINDS
from appell.model.joints.quaternion import of_roll_pitch_yaw, roll_pitch_yaw
from appell.robot.robot import Robot

ANGLES = ("roll", "pitch", "yaw")
AXES = ("x", "y", "z")
RANGE_DECIMALS = 3


@dataclass(frozen=True)
class Slider:
    """A number that the user sets.

    Attributes:
        label: joint, and its coordinate if it has several.
        unit: `"rad"` or `"m"`.
        lower, upper: its range.
    """

    label: str
    unit: str
    lower: float
    upper: float

    @property
    def step(self) -> float:
        """A thousandth of its range, rounded to a power of ten."""
        return float(10.0 ** np.floor(np.log10(max(self.upper - self.lower, 1e-9) / 400.0)))


def joint_sliders(robot: Robot, size: float) -> tuple[Slider, ...]:
    """Sliders of all moving joints; without limits the range is ±π or ±`size` [m]."""
    sliders: list[Slider] = []
    for joint in robot.moving_joints:
        kind = KINDS[joint.kind]
        for k, turning in enumerate(kind.is_rotational(joint)):
            reach, unit = (np.pi, "rad") if turning else (size, "m")
            limits = joint.limits
            lower, upper = (limits.lower, limits.upper) if kind.limited else (-np.inf, np.inf)
            low, high = (lower if np.isfinite(lower) else -reach), (upper if np.isfinite(upper) else reach)
            low, high = (round(float(end), RANGE_DECIMALS) for end in sorted((low, high)))
            sliders.append(Slider(_label(joint.name, kind, k), unit, low, high))
    return tuple(sliders)


def _label(joint: str, kind, k: int) -> str:
    if kind.nv == 1:
        return joint
    if kind.quaternion is None:
        return f"{joint} {k + 1}"
    return f"{joint} {AXES[k] if k < kind.quaternion else ANGLES[k - kind.quaternion]}"


def configuration(robot: Robot, values: np.ndarray) -> np.ndarray:
    """Configuration q (nq,) for the values of all sliders (nv,)."""
    parts = []
    for kind, _, v in _pieces(robot):
        own = np.asarray(values[v : v + kind.nv], dtype=float)
        start = kind.quaternion
        parts.append(own if start is None else np.concatenate([own[:start], of_roll_pitch_yaw(own[start:])]))
    return np.concatenate(parts) if parts else np.zeros(0)


def slider_values(robot: Robot, q: np.ndarray) -> np.ndarray:
    """Values of all sliders (nv,) at q (nq,): the inverse of `configuration`, angles of continuous joints within ±π."""
    parts = []
    for kind, i, _ in _pieces(robot):
        own = np.asarray(q[i : i + kind.nq], dtype=float)
        start = kind.quaternion
        if kind.name == "continuous":
            own = (own + np.pi) % (2 * np.pi) - np.pi
        parts.append(own if start is None else np.concatenate([own[:start], roll_pitch_yaw(own[start:])]))
    return np.concatenate(parts) if parts else np.zeros(0)


def _pieces(robot: Robot):
    for joint in robot.moving_joints:
        yield KINDS[joint.kind], *robot.first_coordinates[joint.name]
