"""Small robots for tests of impacts: a particle, a ball, rods that fly, and the walls' own check."""

from __future__ import annotations

import warnings
from functools import cache

import numpy as np

import appell
from appell.robot.robot import Robot
from appell.robot.simulation_model import SimulationModel
from appell.simulation.contact.compiled import contact_pairs
from appell.simulation.contact.pairs import (
    ContactOptions,
    ContactPairs,
    ContactPoints,
    contact_candidates,
    contact_points_of,
)
from appell.simulation.trajectory import Trajectory


def quietly_built(builder: appell.RobotBuilder) -> Robot:
    """The robot, without the warning that bodies between two sliding joints have no mass."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", appell.ModelWarning)
        return builder.build()


@cache
def ball() -> Robot:
    """2 kg that move along z."""
    builder = appell.RobotBuilder("ball").body("base").body("ball", mass=2.0, inertia=(0.01, 0.01, 0.01))
    return builder.prismatic("z", parent="base", child="ball", axis="z").build()


@cache
def particle() -> Robot:
    """1 kg that moves in the x-z plane."""
    builder = appell.RobotBuilder("particle").body("base").body("guide").body("p", mass=1.0, inertia=(0.01, 0.01, 0.01))
    builder.prismatic("x", parent="base", child="guide", axis="x").prismatic("z", parent="guide", child="p", axis="z")
    return quietly_built(builder)


@cache
def rod(points: int = 2, mass: float = 2.0) -> Robot:
    """A rod of 1 m along its x axis that flies freely, with points P0, P1, ... evenly from end to end."""
    builder = appell.RobotBuilder("rod").body("world")
    builder.body("rod", mass=mass, inertia=(1e-3, mass / 12, mass / 12)).joint(
        "floating", "free", parent="world", child="rod"
    )
    for i, x in enumerate(np.linspace(-0.5, 0.5, points)):
        builder.fixed(f"mark{i}", parent="rod", child=f"P{i}", xyz=(x, 0.0, 0.0))
    return builder.build()


@cache
def stacked_rod() -> Robot:
    """The same rod on three sliding and three turning joints instead of one floating joint; no gravity."""
    builder = appell.RobotBuilder("stacked_rod", gravity=(0.0, 0.0, 0.0)).body("s0")
    builder.body("rod", mass=2.0, inertia=(1e-3, 2 / 12, 2 / 12))
    kinds = ("prismatic",) * 3 + ("continuous",) * 3
    for i, (kind, axis) in enumerate(zip(kinds, "xyzxyz", strict=True)):
        builder.joint(kind, f"j{i}", f"s{i}", "rod" if i == 5 else f"s{i + 1}", axis=axis)
    for i, x in enumerate((-0.5, 0.5)):
        builder.fixed(f"mark{i}", parent="rod", child=f"P{i}", xyz=(x, 0.0, 0.0))
    return quietly_built(builder)


def pairs_of(model: SimulationModel, q, surfaces, options: ContactOptions) -> ContactPairs:
    """The pairs for arguments of `appell.simulate`."""
    points, e = contact_candidates(model, q, surfaces, options)
    return contact_pairs(model, points, surfaces, e, False)


def quaternion_about_y(angle: float) -> list[float]:
    return [0.0, np.sin(angle / 2), 0.0, np.cos(angle / 2)]


def smallest_gap(robot: Robot, motion: Trajectory, walls, points=None) -> float:
    """The deepest that any point is behind a wall in any sample. [m]"""
    p, _ = ContactPoints(robot, contact_points_of(robot, points)).positions_and_velocities(motion.q, motion.qd)
    return min(float(wall.gap(p).min()) for wall in walls)


def momentum_error(robot: Robot, impact, walls) -> float:
    """How far M (qd⁺ - qd⁻) is from the sum of the impulses on the points, relative to the momenta."""
    M = robot.mass_matrix(impact.q)
    given = np.zeros(robot.nv)
    for point, wall, normal, tangential in zip(
        impact.points, impact.surfaces, impact.impulses, impact.friction_impulses, strict=True
    ):
        J = robot.jacobian(impact.q, point)[:3]
        given += J.T @ (walls[wall].normal_at(robot.pose(impact.q, point)[:3, 3]) * normal + tangential)
    error = np.abs(M @ (impact.qd_after - impact.qd_before) - given).max()
    return float(error / max(np.abs(M @ impact.qd_before).max(), 1e-3))
