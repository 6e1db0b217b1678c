"""Damping and dry friction of the joints."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from appell.compiler.arrays import as_batch

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from appell.model.robot import Robot


def passive_forces(robot: Robot, qd: ArrayLike, check: bool = True) -> np.ndarray:
    """-(damping qd + friction sign(qd)) at every joint, brought to the independent coordinates. [N m, N]"""
    (speeds,), lead = as_batch((("qd", robot.nv),), (qd,), check=check)
    forces = np.zeros_like(speeds)
    joints = {joint.name: joint for joint in robot.joints}
    for link in robot.tree.links:
        joint = joints[link.name]
        for k in range(link.v, link.v + link.kind.nv):
            own = link.multiplier * speeds[:, k]
            forces[:, k] -= link.multiplier * (joint.damping * own + joint.friction * np.sign(own))
    return forces.reshape(*lead, robot.nv)
