"""Spherical parallel robots for tests: the agile wrist in its eight assemblies, and general ones with legs of every length."""

from __future__ import annotations

import math
from functools import cache
from itertools import product
from typing import NamedTuple

import numpy as np

import appell
from appell.closed_loop.spherical import Axis, Body, Leg, SphericalRobot
from appell.closed_loop.spherical.singularities import singularity_measures

EIGHT = tuple(product(("plus", "minus"), repeat=3))
"""All assemblies of three legs."""


@cache
def wrist(assembly: tuple[str, ...] | str = "plus", platform_com: tuple[float, float, float] = (0.0, 0.0, 0.0)):
    """The agile wrist, kept, so that its functions are traced once."""
    return appell.robots.agile_wrist(working_mode=assembly, platform_com=platform_com)


def body(name: str, rng: np.random.Generator) -> Body:
    """A body without symmetry: three point masses, and a little more."""
    points, masses = rng.uniform(-0.1, 0.1, (3, 3)), rng.uniform(0.1, 0.5, 3)
    mass = float(masses.sum())
    com = masses @ points / mass
    r = points - com
    inertia = 1e-4 * np.eye(3) + sum(m * (p @ p * np.eye(3) - np.outer(p, p)) for m, p in zip(masses, r, strict=True))
    entries = [float(inertia[i, j]) for i, j in zip(*np.triu_indices(3), strict=True)]
    return Body(name, mass, tuple(com.tolist()), tuple(entries))


def general_robot(
    joints: tuple[int, ...], seed: int, actuated: tuple[tuple[int, ...], ...] | None = None
) -> SphericalRobot:
    """Legs of so many joints with any directions and arcs, all bodies with mass, gravity in any direction."""
    rng = np.random.default_rng([seed, *joints])
    legs = []
    for i, count in enumerate(joints):
        around = 2.0 * math.pi * i / len(joints)
        legs.append(
            Leg(
                f"leg{i + 1}",
                Axis(around + rng.uniform(-0.2, 0.2), -2.2 + rng.uniform(-0.2, 0.2)),
                tuple((rng.uniform(1.2, 1.6, count - 1)).tolist()),
                Axis(around + rng.uniform(-0.2, 0.2), -0.6 + rng.uniform(-0.2, 0.2)),
                tuple(body(f"leg{i + 1}_link{j + 1}", rng) for j in range(count - 1)),
                rng.choice(["plus", "minus"]).item(),
                (0,) if actuated is None else actuated[i],
            )
        )
    gravity = tuple((6.0 * rng.normal(size=3)).tolist())
    return SphericalRobot(f"general{''.join(map(str, joints))}", tuple(legs), body("platform", rng), gravity)


ROBOTS = {
    "wrist": wrist("plus", (0.003, -0.004, 0.05)),
    "three legs": general_robot((3, 3, 3), 1),
    "four legs": general_robot((3, 3, 3, 3), 2),
    "long legs": general_robot((4, 3, 5), 3, ((0, 1), (0,), (0, 1, 2))),
    "driven anywhere": general_robot((3, 3, 3), 4, ((1,), (2,), (0,))),
    "five-bar": general_robot((2, 3), 5),
    "four-bar": general_robot((1, 3), 6, ((0,), ())),
    "guided, three legs": general_robot((3, 2, 4), 7, ((0,), (0,), (0,))),
}
"""Every kind: more actuators than needed, free joints, other joints driven, legs that guide the platform."""


class States(NamedTuple):
    """Coordinates, rates and accelerations, (N, nv) each."""

    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray


@cache
def regular_states(robot: SphericalRobot, count: int = 5, seed: int = 0, span: float = 1.5) -> States:
    """States well within the workspace, away from singularities."""
    rng = np.random.default_rng([seed, robot.nv])
    q = rng.uniform(-span, span, (2000, robot.nv))
    found = singularity_measures(robot.system, q)  # in plain arrays: nothing is compiled for it
    fit = (found.discriminant.min(axis=-1) > 0.02) & (found.actuators > 0.1) & (np.abs(found.euler) > 0.1)
    q = q[fit][:count]
    assert len(q) == count, f"{robot.name}: {len(q)} of {count} states"
    return States(q, rng.uniform(-2.0, 2.0, q.shape), rng.uniform(-3.0, 3.0, q.shape))
