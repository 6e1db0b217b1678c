"""What a frame of a robot does, in the rows that a task asks for: all six, or only the three of its position."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from appell.errors import ArgumentError, unknown_name_message
from appell.kinematics.inverse.rotation import rotation_vector
from appell.model.joints import KINDS
from appell.model.joints.joint_model import JointModel

if TYPE_CHECKING:
    from appell.robot.compiled import CompiledRobot
    from appell.robot.robot import Robot


def pose_error(target: np.ndarray, actual: np.ndarray) -> np.ndarray:
    """The small twist that takes a pose to its target, along the world's axes: [p* - p; log(R* R^T)]. (..., 6)"""
    turn = target[..., :3, :3] @ np.swapaxes(actual[..., :3, :3], -1, -2)
    return np.concatenate([target[..., :3, 3] - actual[..., :3, 3], rotation_vector(turn)], axis=-1)


@dataclass(frozen=True)
class FrameMotion:
    """A frame of a robot, followed in `rows` rows: 6 (position and attitude) or 3 (position only)."""

    robot: Robot
    frame: str
    rows: int = 6

    @cached_property
    def dynamics(self) -> CompiledRobot:
        """The robot's functions as native code from the first call on, so that equal questions have equal answers."""
        from appell.robot.simulation_model import native

        return native(self.robot)

    @cached_property
    def straight(self) -> bool:
        """Whether configurations are added like numbers: no joint turns freely in space."""
        return all(type(KINDS[joint.kind]).integrate is JointModel.integrate for joint in self.robot.moving_joints)

    @cached_property
    def rank(self) -> int:
        """In how many directions the frame can move at once, nearly everywhere: fewer than the rows for planar arms."""
        drawn = np.array([self.robot.random_configuration(seed) for seed in range(3)])
        return int(np.linalg.matrix_rank(self.jacobian(drawn), tol=RANK).max(initial=0))

    def moved(self, q: np.ndarray, step: np.ndarray) -> np.ndarray:
        """q ⊕ step, (..., nq)."""
        return q + step if self.straight else self.robot.integrate(q, step)

    def difference(self, q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
        """The step from q0 to q1, (..., nv)."""
        return q1 - q0 if self.straight else self.robot.difference(q0, q1)

    def error(self, q: np.ndarray, target: np.ndarray) -> np.ndarray:
        """What is missing to the target pose, (..., rows)."""
        actual = self.dynamics.pose(q, self.frame, check=False)
        if self.rows == 3:
            return target[..., :3, 3] - actual[..., :3, 3]
        return pose_error(target, actual)

    def jacobian(self, q: np.ndarray) -> np.ndarray:
        """J with ẋ = J qd, (..., rows, nv)."""
        return self.dynamics.jacobian(q, self.frame, check=False)[..., : self.rows, :]

    def jacobian_rate(self, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """J̇ with ẍ = J qdd + J̇ qd, (..., rows, nv)."""
        return self.dynamics.jacobian_rate(q, qd, self.frame, check=False)[..., : self.rows, :]

    def speeds(self, q: np.ndarray, twist: np.ndarray) -> np.ndarray:
        """The least speeds that move the frame with this twist, qd = J⁺ ẋ. (..., nv)"""
        return self.least(self.jacobian(q), twist)

    def least(self, J: np.ndarray, x: np.ndarray) -> np.ndarray:
        """J⁺ x, the shortest solution of J y = x. (..., nv)"""
        if J.shape[-1] == J.shape[-2] == self.rank:
            try:
                return np.linalg.solve(J, x[..., None])[..., 0]
            except np.linalg.LinAlgError:
                pass  # exactly singular: the least-squares solution below
        return _times(np.linalg.pinv(J, RANK), x)

    def speeds_and_accelerations(
        self, q: np.ndarray, twist: np.ndarray, rate: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Speeds qd = J⁺ ẋ and their rates along the motion, (..., nv) each.

        With qd = J^T λ, qdd = J̇^T λ + J^T λ̇ and J qdd = ẍ - J̇ qd:

            qdd = J⁺ (ẍ - J̇ qd) + (1 - J⁺ J) J̇^T λ,    λ = J⁺^T qd

        The second term is there for robots with more joints than rows; without it qdd would not be the rate of qd.
        """
        J = self.jacobian(q)
        qd = self.least(J, twist)
        Jd = self.jacobian_rate(q, qd)
        qdd = self.least(J, rate - _times(Jd, qd))
        if self.robot.nv == self.rank:
            return qd, qdd
        inverse = np.linalg.pinv(J, RANK)
        own = _times(np.swapaxes(Jd, -1, -2), _times(np.swapaxes(inverse, -1, -2), qd))
        return qd, qdd + own - _times(inverse, _times(J, own))

    def steadiness(self, q: np.ndarray) -> np.ndarray:
        """Smallest singular value of J (of its `rank` ones) over the largest, 0 where the robot is singular. (...)"""
        values = np.linalg.svd(self.jacobian(q), compute_uv=False)
        return values[..., max(self.rank, 1) - 1] / np.maximum(values[..., 0], np.finfo(float).tiny)

    def newton(self, q: np.ndarray, target: np.ndarray, iterations: int = 8) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates near q (N, nq) that reach the targets (N, 4, 4), and the errors (N, rows) that are left.

        A step that does not bring a state nearer is not made.
        """
        error = self.error(q, target)
        for _ in range(iterations):
            if np.abs(error).max(initial=0.0) < ROUNDING:
                break
            moved = self.moved(q, self.least(self.jacobian(q), error))
            left = self.error(moved, target)
            nearer = np.abs(left).max(axis=-1) < np.abs(error).max(axis=-1)
            if not nearer.any():
                break
            q, error = np.where(nearer[:, None], moved, q), np.where(nearer[:, None], left, error)
        return q, error


ROUNDING = 1e-15
"""Errors that no step can make smaller. [m, rad]"""


RANK = 1e-12
"""Part of the largest singular value below which others are taken as zero."""


def chosen_frame(robot: Robot, frame: str | None) -> str:
    """The frame of this name; without one, the only tip of the robot. Robots that are no trees are refused."""
    refuse_other_robots(robot)
    if frame is not None:
        if frame not in robot.body_names:
            raise ArgumentError(unknown_name_message("frame", frame, robot.body_names))
        return frame
    parents = {joint.parent for joint in robot.joints}
    tips = [body for body in robot.body_names if body not in parents]
    if len(tips) != 1:
        raise ArgumentError(
            f"robot {robot.name!r} has {len(tips)} tips ({', '.join(tips)}). Say which frame is meant, as frame={tips[0]!r}."
        )
    return tips[0]


REMEDIES = {
    "SphericalRobot": "Its coordinates are the attitude of the platform, and joint_angles(q) are the angles of all joints.",
    "ClosedLoopRobot": "Its close({joint: value}) finds configurations with closed loops.",
}
"""What there is instead, by the kind of robot."""


def refuse_other_robots(robot: object) -> None:
    """Raise for what is no tree of joints."""
    from appell.robot.robot import Robot

    if isinstance(robot, Robot):
        return
    name, kind = getattr(robot, "name", None), type(robot).__name__
    remedy = REMEDIES.get(kind, "Pass a robot as appell.load returns it; a compiled one has it as `robot`.")
    raise ArgumentError(
        f"inverse kinematics are for trees of joints, got {kind}{f' {name!r}' if name else ''}. {remedy}"
    )


def _times(matrix: np.ndarray, vector: np.ndarray) -> np.ndarray:
    return (matrix @ vector[..., None])[..., 0]
