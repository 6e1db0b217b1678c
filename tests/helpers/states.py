"""Random states of a robot."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from appell.model.joints import KINDS
from appell.robot.robot import Robot


class State(NamedTuple):
    """Coordinates, speeds, and one more vector (accelerations or forces), each (N, n)."""

    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray


def random_states(robot: Robot, count: int = 3, seed: int = 0) -> State:
    """States of ordinary size, the same for the same seed; quaternions are of unit length."""
    rng = np.random.default_rng([seed, robot.nv])
    state = State(
        rng.uniform(-2.5, 2.5, (count, robot.nq)),
        rng.uniform(-2.0, 2.0, (count, robot.nv)),
        rng.uniform(-3.0, 3.0, (count, robot.nv)),
    )
    for joint in robot.moving_joints:
        if KINDS[joint.kind].nq > KINDS[joint.kind].nv:
            end = robot.first_coordinates[joint.name][0] + KINDS[joint.kind].nq
            state.q[:, end - 4 : end] /= np.linalg.norm(state.q[:, end - 4 : end], axis=1, keepdims=True)
    return state
