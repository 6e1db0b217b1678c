"""Poses of all bodies of a robot, for one configuration or a batch."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from appell.algebra import Mat3, Vec3
from appell.algorithms.kinematics import world_motion
from appell.model.tree import BASE
from appell.robot.robot import Robot


def body_poses(robot: Robot, q: ArrayLike) -> dict[str, np.ndarray]:
    """Poses (..., 4, 4) of all bodies in the world, at q (..., nq). Plain NumPy arithmetic; nothing is compiled."""
    q = np.asarray(q, dtype=float)
    batch_shape = q.shape[:-1]
    tree = robot.tree
    motions = world_motion(tree, list(np.moveaxis(q, -1, 0)))
    poses = {}
    for body in robot.bodies:
        frame = tree.frames[body.name]
        if frame.link == BASE:
            rotation, position = tree.base.dot(frame.R), tree.base @ frame.p
        else:
            link = motions[frame.link]
            rotation, position = link.R.dot(frame.R), link.p + link.R @ frame.p
        poses[body.name] = _homogeneous(rotation, position, batch_shape)
    return poses


def _homogeneous(rotation: Mat3, position: Vec3, batch_shape: tuple[int, ...]) -> np.ndarray:
    """Entries that are scalars or arrays as transformations (..., 4, 4)."""
    pose = np.zeros((*batch_shape, 4, 4))
    for i, (row, offset) in enumerate(zip(rotation.rows, position, strict=True)):
        for j, entry in enumerate(row):
            pose[..., i, j] = entry
        pose[..., i, 3] = offset
    pose[..., 3, 3] = 1.0
    return pose
