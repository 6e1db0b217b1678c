"""Where all bodies of a robot stand, for one state or along a motion."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from appell.algebra import Mat3, Vec3
from appell.algorithms.world import world_motion
from appell.model.tree import BASE

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from appell.robot.robot import Robot


def body_poses(robot: Robot, q: ArrayLike) -> dict[str, np.ndarray]:
    """Poses (..., 4, 4) of all bodies in the world, at coordinates (..., nq).

    Plain arithmetic over arrays, nothing is compiled: a viewer wants all bodies at once.

    Example:
        >>> import appell, numpy as np
        >>> arm = appell.load("planar2r")
        >>> poses = body_poses(arm, [0.3, -0.2])
        >>> bool(np.allclose(poses["link2"], arm.pose([0.3, -0.2], "link2")))
        True
    """
    q = np.asarray(q, dtype=float)
    lead = q.shape[:-1]
    tree = robot.tree
    motions = world_motion(tree, list(np.moveaxis(q, -1, 0)))
    poses = {}
    for body in robot.bodies:
        frame = tree.frames[body.name]
        if frame.link == BASE:
            rotation, place = tree.base.dot(frame.R), tree.base @ frame.p
        else:
            link = motions[frame.link]
            rotation, place = link.R.dot(frame.R), link.p + link.R @ frame.p
        poses[body.name] = _homogeneous(rotation, place, lead)
    return poses


def _homogeneous(rotation: Mat3, place: Vec3, lead: tuple[int, ...]) -> np.ndarray:
    """Entries that are scalars or arrays as transformations (..., 4, 4)."""
    pose = np.zeros((*lead, 4, 4))
    for i, (row, offset) in enumerate(zip(rotation.rows, place, strict=True)):
        for j, entry in enumerate(row):
            pose[..., i, j] = entry
        pose[..., i, 3] = offset
    pose[..., 3, 3] = 1.0
    return pose


def quaternion_of(rotation: np.ndarray) -> np.ndarray:
    """The unit quaternion (w, x, y, z) of a rotation matrix (3, 3), by the largest of its four numbers.

    Example:
        >>> import numpy as np
        >>> quaternion_of(np.diag([1.0, -1.0, -1.0])).tolist()  # half a turn about x
        [0.0, 1.0, 0.0, 0.0]
    """
    R = rotation
    K = np.array([
        [R[0, 0] + R[1, 1] + R[2, 2], R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]],
        [R[2, 1] - R[1, 2], R[0, 0] - R[1, 1] - R[2, 2], R[0, 1] + R[1, 0], R[0, 2] + R[2, 0]],
        [R[0, 2] - R[2, 0], R[0, 1] + R[1, 0], R[1, 1] - R[0, 0] - R[2, 2], R[1, 2] + R[2, 1]],
        [R[1, 0] - R[0, 1], R[0, 2] + R[2, 0], R[1, 2] + R[2, 1], R[2, 2] - R[0, 0] - R[1, 1]],
    ])  # fmt: skip
    largest = int(np.diag(K).argmax())
    row = K[largest] + np.eye(4)[largest]  # 4 x_k times the quaternion
    return row / np.linalg.norm(row)
