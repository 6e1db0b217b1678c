"""Robots with wrong parameters, for robustness studies."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import numpy as np
from numpy.typing import ArrayLike

from appell.errors import ArgumentError
from appell.model.body import Six
from appell.robot.robot import Robot


def scaled_masses(robot: Robot, factor: float | ArrayLike) -> Robot:
    """The same robot with masses and inertias multiplied by a factor, one for all bodies or one per body.

    Use it as the model of a controller, with the true robot in the simulation.

    Example:
        >>> import appell
        >>> heavy = appell.control.scaled_masses(appell.load("puma560"), 1.2)
        >>> heavy.body("link2").mass
        18.9372
    """
    factors = np.broadcast_to(np.asarray(factor, dtype=float), (len(robot.bodies),))
    if not (np.isfinite(factors).all() and (factors > 0.0).all()):
        raise ArgumentError(f"factor is {factor!r}, expected positive numbers.")
    bodies = tuple(
        replace(body, mass=body.mass * f, inertia=cast("Six", tuple(x * f for x in body.inertia)))
        for body, f in zip(robot.bodies, factors.tolist(), strict=True)
    )
    return replace(robot, bodies=bodies)
