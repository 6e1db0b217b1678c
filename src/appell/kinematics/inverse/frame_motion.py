"""Ranges of coordinates, and differential kinematics of one frame: pose error, Jacobian, and the joint motion for a twist."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from appell.checks import require_choice
from appell.errors import ArgumentError
from appell.kinematics.inverse.rotation import rotation_vector
from appell.model.joints import KINDS
from appell.model.joints.joint_model import JointModel
from appell.model.tree import require_tree
from appell.robot.compiled import CompiledRobot
from appell.robot.robot import Robot
from appell.robot.simulation_model import native

LIMIT_TOL = 1e-12
"""Rounding allowed at a limit. [rad, m]"""
ERROR_FLOOR = 1e-15
"""Pose errors that no step can reduce further. [m, rad]"""
RANK_TOL = 1e-12
"""Ratio to the largest singular value below which singular values count as zero."""


class CoordinateBounds(NamedTuple):
    """Limits of all coordinates, infinite where there are none, and whether they are angles modulo 2π, (nq,) each."""

    lower: np.ndarray
    upper: np.ndarray
    periodic: np.ndarray

    def clip(self, q: np.ndarray) -> np.ndarray:
        """The nearest configuration within the limits."""
        return np.clip(q, self.lower, self.upper)

    def wrap_near(self, q: np.ndarray, q0: np.ndarray) -> np.ndarray:
        """Equivalent configurations, angles shifted by multiples of 2π as near to q0 as the limits allow."""
        period = 2.0 * np.pi
        q = np.where(self.periodic, q + period * np.round((q0 - q) / period), q)
        above, below = np.ceil((q - self.upper) / period), np.ceil((self.lower - q) / period)
        shift = np.where(above > 0.0, -above, np.where(below > 0.0, below, 0.0))
        return np.where(self.periodic & np.isfinite(shift), q + period * shift, q)

    def contains(self, q: np.ndarray) -> np.ndarray:
        """Whether all coordinates are within the limits, (...)."""
        return np.all((q >= self.lower - LIMIT_TOL) & (q <= self.upper + LIMIT_TOL), axis=-1)


def coordinate_bounds(robot: Robot) -> CoordinateBounds:
    """The ranges of a robot's coordinates."""
    bounds = CoordinateBounds(np.full(robot.nq, -np.inf), np.full(robot.nq, np.inf), np.zeros(robot.nq, dtype=bool))
    for joint in robot.moving_joints:
        kind, (first, _) = KINDS[joint.kind], robot.first_coordinates[joint.name]
        if kind.nq == 1:
            bounds.lower[first], bounds.upper[first] = joint.limits.lower, joint.limits.upper
            bounds.periodic[first] = joint.kind in ("revolute", "continuous")
    for link in robot.tree.links:
        if not link.is_independent and link.multiplier:
            limits = robot.joint(link.name).limits
            ends = sorted((end - link.mimic_offset) / link.multiplier for end in (limits.lower, limits.upper))
            bounds.lower[link.idx_q] = max(bounds.lower[link.idx_q], ends[0])
            bounds.upper[link.idx_q] = min(bounds.upper[link.idx_q], ends[1])
            bounds.periodic[link.idx_q] = bounds.periodic[link.idx_q] and float(link.multiplier).is_integer()
    return bounds


def velocity_coordinates(robot: Robot) -> tuple[np.ndarray, np.ndarray]:
    """For each velocity the index of the first coordinate of its joint, and whether that is its only one, (nv,) each."""
    index, single = np.zeros(robot.nv, dtype=int), np.zeros(robot.nv, dtype=bool)
    for joint in robot.moving_joints:
        kind, (q, v) = KINDS[joint.kind], robot.first_coordinates[joint.name]
        index[v : v + kind.nv], single[v : v + kind.nv] = q, kind.nq == 1
    return index, single


def pose_error(target: np.ndarray, actual: np.ndarray) -> np.ndarray:
    """The small twist from a pose to its target, along the world's axes: [p* - p; log(R* R^T)]. (..., 6)"""
    R = target[..., :3, :3] @ np.swapaxes(actual[..., :3, :3], -1, -2)
    return np.concatenate([target[..., :3, 3] - actual[..., :3, 3], rotation_vector(R)], axis=-1)


@dataclass(frozen=True)
class FrameMotion:
    """A frame of a robot, of `dimension` 6 (position and orientation) or 3 (position only)."""

    robot: Robot
    frame: str
    dimension: int = 6

    @cached_property
    def dynamics(self) -> CompiledRobot:
        """The robot's functions, compiled before the first call so that equal inputs always give equal results."""
        return native(self.robot)

    @cached_property
    def is_vector_space(self) -> bool:
        """Whether configurations are added like numbers (no spherical or floating joints)."""
        return all(type(KINDS[joint.kind]).integrate is JointModel.integrate for joint in self.robot.moving_joints)

    @cached_property
    def rank(self) -> int:
        """Rank of the Jacobian at regular configurations: less than the dimension for planar arms."""
        q = np.array([self.robot.random_configuration(seed) for seed in range(3)])
        return int(np.linalg.matrix_rank(self.jacobian(q), tol=RANK_TOL).max(initial=0))

    def integrate(self, q: np.ndarray, step: np.ndarray) -> np.ndarray:
        """q ⊕ step, (..., nq)."""
        return q + step if self.is_vector_space else self.robot.integrate(q, step)

    def difference(self, q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
        """The step from q0 to q1, (..., nv)."""
        return q1 - q0 if self.is_vector_space else self.robot.difference(q0, q1)

    def error(self, q: np.ndarray, target: np.ndarray) -> np.ndarray:
        """Pose error to the target, (..., dimension)."""
        actual = self.dynamics.pose(q, self.frame, check=False)
        if self.dimension == 3:
            return target[..., :3, 3] - actual[..., :3, 3]
        return pose_error(target, actual)

    def jacobian(self, q: np.ndarray) -> np.ndarray:
        """J with ẋ = J qd, (..., dimension, nv)."""
        return self.dynamics.jacobian(q, self.frame, check=False)[..., : self.dimension, :]

    def min_norm(self, J: np.ndarray, x: np.ndarray) -> np.ndarray:
        """J⁺ x, the minimum-norm solution of J y = x. (..., nv)"""
        if J.shape[-1] == J.shape[-2] == self.rank:
            try:
                return np.linalg.solve(J, x[..., None])[..., 0]
            except np.linalg.LinAlgError:
                pass  # exactly singular: the least-squares solution below
        return _times(np.linalg.pinv(J, RANK_TOL), x)

    def velocities(self, q: np.ndarray, twist: np.ndarray) -> np.ndarray:
        """The minimum-norm velocities for a twist of the frame, qd = J⁺ ẋ. (..., nv)"""
        return self.min_norm(self.jacobian(q), twist)

    def velocities_and_accelerations(
        self, q: np.ndarray, twist: np.ndarray, rate: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """qd = J⁺ ẋ and its time derivative along the motion, (..., nv) each.

        With qd = J^T λ, qdd = J̇^T λ + J^T λ̇ and J qdd = ẍ - J̇ qd:

            qdd = J⁺ (ẍ - J̇ qd) + (1 - J⁺ J) J̇^T λ,    λ = J⁺^T qd

        The second term is needed for redundant robots; without it qdd would not be the derivative of qd.
        """
        J = self.jacobian(q)
        qd = self.min_norm(J, twist)
        Jd = self.dynamics.jacobian_rate(q, qd, self.frame, check=False)[..., : self.dimension, :]
        qdd = self.min_norm(J, rate - _times(Jd, qd))
        if self.robot.nv == self.rank:
            return qd, qdd
        J_pinv = np.linalg.pinv(J, RANK_TOL)
        null_motion = _times(np.swapaxes(Jd, -1, -2), _times(np.swapaxes(J_pinv, -1, -2), qd))
        return qd, qdd + null_motion - _times(J_pinv, _times(J, null_motion))

    def inverse_condition(self, q: np.ndarray) -> np.ndarray:
        """Smallest of the `rank` singular values of J over the largest, 0 where the robot is singular. (...)"""
        values = np.linalg.svd(self.jacobian(q), compute_uv=False)
        return values[..., max(self.rank, 1) - 1] / np.maximum(values[..., 0], np.finfo(float).tiny)

    def newton(self, q: np.ndarray, target: np.ndarray, iterations: int = 8) -> tuple[np.ndarray, np.ndarray]:
        """Configurations near q (N, nq) that reach the targets (N, 4, 4), and the remaining errors (N, dimension).

        A step that does not reduce the error of a pose is not taken.
        """
        error = self.error(q, target)
        for _ in range(iterations):
            if np.abs(error).max(initial=0.0) < ERROR_FLOOR:
                break
            q_next = self.integrate(q, self.min_norm(self.jacobian(q), error))
            error_next = self.error(q_next, target)
            better = np.abs(error_next).max(axis=-1) < np.abs(error).max(axis=-1)
            if not better.any():
                break
            q, error = np.where(better[:, None], q_next, q), np.where(better[:, None], error_next, error)
        return q, error


def resolve_frame(robot: Robot, frame: str | None) -> str:
    """The name of a frame, by default of the only tip of the robot; raises for robots that are not trees."""
    require_tree(
        "robot", robot,
        " Closed loops have `solve_loop_closure`, spherical robots `joint_angles`; a compiled robot has its robot as `robot`.",
    )  # fmt: skip
    if frame is not None:
        return require_choice("frame", frame, robot.body_names)
    parents = {joint.parent for joint in robot.joints}
    tips = [body for body in robot.body_names if body not in parents]
    if len(tips) != 1:
        raise ArgumentError(
            f"robot {robot.name!r} has {len(tips)} tips ({', '.join(tips)}). Name the frame, such as frame={tips[0]!r}."
        )
    return tips[0]


def _times(matrix: np.ndarray, vector: np.ndarray) -> np.ndarray:
    return (matrix @ vector[..., None])[..., 0]
