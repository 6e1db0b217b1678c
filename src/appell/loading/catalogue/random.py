"""Random robots, seeded, for tests and sweeps."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from appell.checks import require_choice, require_integer
from appell.model.body import Body, inertia_entries
from appell.model.joint import Joint, Limits
from appell.model.joints import KINDS as JOINT_KINDS
from appell.model.pose import Pose, triple
from appell.robot.robot import Robot

KINDS = ("revolute", "continuous", "prismatic", "fixed")
"""Joint types of most robots."""

ALL_KINDS = tuple(JOINT_KINDS)
"""All joint types."""


def random_chain(n: int, seed: int = 0, kinds: Sequence[str] = ("revolute",)) -> Robot:
    """A serial robot of n joints with general geometry and mass properties (no zero parameters).

    Args:
        n: number of joints.
        seed: of the random generator.
        kinds: joint types to draw from.

    Example:
        >>> from appell import robots
        >>> robots.random_chain(3, seed=1).nv
        3
    """
    return _random_robot(f"chain{n}", n, seed, kinds, branching=0.0)


def random_tree(n: int, seed: int = 0, kinds: Sequence[str] = KINDS, branching: float = 0.4) -> Robot:
    """A tree of n joints; a joint starts a new branch with probability `branching`.

    Args:
        n, seed: as for `random_chain`.
        kinds: joint types to draw from; `robots.ALL_KINDS` has all.

    Example:
        >>> from appell import robots
        >>> len(robots.random_tree(10, seed=2).joints)
        10
        >>> robots.random_tree(10, seed=2, kinds=robots.ALL_KINDS).nv
        26
    """
    return _random_robot(f"tree{n}", n, seed, kinds, branching)


def _random_robot(name: str, n: int, seed: int, kinds: Sequence[str], branching: float) -> Robot:
    require_integer("n", n)
    for kind in kinds:
        require_choice("joint kind", kind, ALL_KINDS)
    rng = np.random.default_rng([seed, n])
    bodies = [Body("base")]
    joints = []
    for i in range(1, n + 1):
        parent = int(rng.integers(0, i)) if rng.random() < branching else i - 1
        kind = str(rng.choice(list(kinds)))
        direction = rng.normal(size=3)
        axis = triple(direction / np.linalg.norm(direction))
        moves = kind != "fixed"
        joints.append(
            Joint(
                f"joint{i}", kind, bodies[parent].name, f"link{i}",
                origin=Pose(triple(rng.uniform(-0.5, 0.5, 3)), triple(rng.uniform(-math.pi, math.pi, 3))),
                axis=axis if moves else (0.0, 0.0, 1.0),
                limits=Limits(-3.0, 3.0, 10.0, 100.0) if kind in ("revolute", "prismatic") else Limits(),
                damping=float(rng.uniform(0.0, 0.5)) if moves else 0.0,
                friction=float(rng.uniform(0.0, 0.5)) if moves else 0.0,
                pitch=float(rng.uniform(0.05, 0.2)) if kind == "helical" else 0.0,
            )
        )  # fmt: skip
        bodies.append(_random_body(rng, f"link{i}"))
    return Robot(name, tuple(bodies), tuple(joints))


def _random_body(rng: np.random.Generator, name: str) -> Body:
    """A body whose inertia is that of a few point masses, so that it is physically consistent."""
    points = rng.uniform(-0.3, 0.3, (6, 3))
    masses = rng.uniform(0.1, 0.6, 6)
    mass = masses.sum()
    com = masses @ points / mass
    second = (points - com).T @ ((points - com) * masses[:, None])
    inertia = np.trace(second) * np.eye(3) - second
    return Body(name, float(mass), triple(com), inertia_entries(inertia))
