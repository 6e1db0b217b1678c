"""Poses, Jacobians and Jacobian rates of frames."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.closeness import assert_close
from helpers.exact_derivatives import rate
from helpers.methods import REFERENCE_FRAMES
from helpers.random_trees import MEDIUM_TREES, SMALL_TREES, over
from helpers.states import random_states

from appell.robot.robot import Robot

TOLERANCE = 1e-11
EVERY = SMALL_TREES + MEDIUM_TREES


def frames_of(robot: Robot) -> tuple[str, ...]:
    """The base, a body in the middle and the last one."""
    names = robot.body_names
    return tuple(dict.fromkeys((names[0], names[len(names) // 2], names[-1])))


def axial(skew: np.ndarray) -> np.ndarray:
    return np.stack([skew[..., 2, 1], skew[..., 0, 2], skew[..., 1, 0]], axis=-1)


@over(EVERY)
def test_pose_is_a_rigid_placement(robot: Robot) -> None:
    q = random_states(robot).q
    for frame in frames_of(robot):
        T = robot.pose(q, frame)
        R = T[:, :3, :3]
        assert_close(R @ R.swapaxes(-1, -2), np.broadcast_to(np.eye(3), R.shape))
        assert_close(np.linalg.det(R), np.ones(len(q)))
        assert np.array_equal(T[:, 3], np.broadcast_to([0.0, 0.0, 0.0, 1.0], (len(q), 4)))


@over(EVERY)
def test_jacobian_is_the_derivative_of_the_pose(robot: Robot) -> None:
    """J qd = [ṗ; ω] with ω~ = Ṙ R^T, seen from each reference frame."""
    q, qd, _ = random_states(robot)
    for frame in frames_of(robot):
        T, Td = robot.pose(q, frame), rate(robot, "pose", frame=frame)(q, qd)
        R, p = T[:, :3, :3], T[:, :3, 3]
        v, omega = Td[:, :3, 3], axial(Td[:, :3, :3] @ R.swapaxes(-1, -2))
        expected = {
            "LOCAL_WORLD_ALIGNED": (v, omega),
            "WORLD": (v + np.cross(p, omega), omega),
            "LOCAL": (np.einsum("nji,nj->ni", R, v), np.einsum("nji,nj->ni", R, omega)),
        }
        for name in REFERENCE_FRAMES:
            twist = np.einsum("nij,nj->ni", robot.jacobian(q, frame, name), qd)
            assert_close(twist, np.concatenate(expected[name], axis=-1), tolerance=TOLERANCE, what=f"{frame} {name}")


@over(EVERY)
@pytest.mark.parametrize("reference", REFERENCE_FRAMES)
def test_jacobian_rate_is_the_derivative_of_the_jacobian(robot: Robot, reference: str) -> None:
    q, qd, _ = random_states(robot)
    for frame in frames_of(robot):
        expected = rate(robot, "jacobian", frame=frame, reference=reference)(q, qd)
        scale = float(np.abs(robot.jacobian(q, frame, reference)).max() * np.abs(qd).max())
        assert_close(
            robot.jacobian_rate(q, qd, frame, reference), expected, tolerance=TOLERANCE, scale=scale, what=frame
        )


@over(EVERY)
def test_pose_is_the_product_of_origins_and_joint_motions(robot: Robot) -> None:
    """Every frame, by multiplying origins and motions of the description from the root down."""
    q = random_states(robot, count=1).q
    assert_poses(robot, q, own_coordinates(robot, dict(zip(robot.joint_names, q[0].tolist(), strict=True))))


def own_coordinates(robot: Robot, leaders: dict[str, float]) -> dict[str, float]:
    """Each joint's own coordinate, followers resolved through q = multiplier q_leader + offset."""

    def own(name: str) -> float:
        mimic = robot.joint(name).mimic
        return leaders.get(name, 0.0) if mimic is None else mimic.multiplier * own(mimic.joint) + mimic.offset

    return {joint.name: own(joint.name) for joint in robot.joints}


def assert_poses(robot: Robot, q: np.ndarray, own: dict[str, float]) -> None:
    from scipy.spatial.transform import Rotation

    placed = {robot.bodies[0].name: np.eye(4)}
    for joint in robot.joints:  # of random robots: parents stand before their children
        step, motion = np.eye(4), np.eye(4)
        step[:3, :3], step[:3, 3] = Rotation.from_euler("xyz", joint.origin.rpy).as_matrix(), joint.origin.xyz
        axis = np.array(joint.axis)
        if joint.kind == "prismatic":
            motion[:3, 3] = axis * own[joint.name]
        elif joint.kind != "fixed":
            motion[:3, :3] = Rotation.from_rotvec(axis * own[joint.name]).as_matrix()
        placed[joint.child] = placed[joint.parent] @ step @ motion
    for name, expected in placed.items():
        assert_close(robot.pose(q, name)[0], expected, tolerance=1e-13, scale=10.0, what=name)


@over(SMALL_TREES)
@pytest.mark.parametrize("reference", REFERENCE_FRAMES)
def test_jacobian_derivatives_are_those_of_the_graph(robot: Robot, reference: str) -> None:
    q, qd, _ = random_states(robot, 3)
    frame = robot.body_names[-1]
    expected = rate(robot, "jacobian", frame=frame, reference=reference)(q, qd)
    found = robot.jacobian_derivatives(q, frame, reference)
    scale = float(np.abs(found).max() * np.abs(qd).max()) + 1.0
    assert_close(np.einsum("nijk,nk->nij", found, qd), expected, tolerance=TOLERANCE, scale=scale)
