"""Random configurations of a spherical parallel robot, within its workspace and away from singularities."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from appell.closed_loop.spherical.singularities import singularity_measures
from appell.errors import ModelError

if TYPE_CHECKING:
    from appell.closed_loop.spherical.robot import SphericalRobot

LEAST_DISCRIMINANT, LEAST_SINE, LEAST_COSINE = 0.02, 0.1, 0.1
"""How far from stretched legs, from singularities of the actuators and from gimbal lock they are."""
DRAWS, BATCH = 200, 1000


def random_configurations(robot: SphericalRobot, count: int, rng: np.random.Generator) -> np.ndarray:
    """So many configurations (count, nq) that are evenly spread over what is regular. [rad]"""
    found = np.zeros((0, robot.nq))
    for _ in range(DRAWS):
        q = rng.uniform(-np.pi, np.pi, (BATCH, robot.nq))
        at = singularity_measures(robot.system, q)
        fit = (at.discriminant.min(axis=-1) > LEAST_DISCRIMINANT) & (np.abs(at.euler) > LEAST_COSINE)
        if len(robot.actuator_names) >= robot.nv:
            fit &= at.actuators > LEAST_SINE
        found = np.concatenate([found, q[fit]])
        if len(found) >= count:
            return found[:count]
    raise ModelError(
        f"{robot.name}: {len(found)} of {DRAWS * BATCH} random configurations are within the workspace and regular, expected "
        f"{count}. Give the legs longer arcs, or other axes."
    )
