"""`appell.close_loops`: from a tree and closures to a robot with closed loops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from appell.closed_loop.choice import dependent_speeds, jacobian_at, rank, sines
from appell.closed_loop.closure import Closure
from appell.closed_loop.elimination import SINE
from appell.closed_loop.robot import ClosedLoopRobot
from appell.errors import ModelError
from appell.model.description import velocity_indices

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from appell.robot.robot import Robot

NEARBY = 0.2
"""How far joints are moved to see whether a configuration is singular. [rad, m]"""
TRIES = 20
"""Other starts from which the loops are closed, where the first one fails."""


def close_loops(
    robot: Robot,
    closures: Sequence[Closure],
    actuated: Sequence[str],
    *,
    speeds: Sequence[str] | None = None,
    q: ArrayLike | None = None,
) -> ClosedLoopRobot:
    """A robot with closed loops: a tree, closures that join its ends, and the joints that are driven.

    Closures may be redundant, as those of a planar loop in space: only their rank counts.

    Args:
        closures: as `appell.Closure`.
        actuated: names of the joints that have an actuator; the rest is passive. A joint of several degrees of freedom
            stands for all, `joint[k]` for one of them.
        speeds: names of the independent speeds, one a degree of freedom; the actuated ones by default, as far as they
            determine the motion. A parallel robot is computed fastest in the speeds of its platform.
        q: near a closed configuration, which becomes the reference (a regular one beside it, if it is singular); the tree's
            neutral one by default.

    Raises:
        ModelError: names or closures without meaning, speeds that do not determine the motion.
        ClosureError: the loops cannot be closed.

    Example:
        >>> import appell
        >>> rod = dict(mass=1.0, com=(0.5, 0, 0), inertia=(0.01, 0.1, 0.1))
        >>> builder = appell.RobotBuilder().body("crank", **rod).body("coupler", **rod).body("rocker", **rod)
        >>> builder = builder.continuous("a", parent="base", child="crank")
        >>> builder = builder.continuous("b", parent="crank", child="coupler", xyz=(1, 0, 0))
        >>> builder = builder.continuous("c", parent="base", child="rocker", xyz=(1.5, 0, 0))
        >>> end = appell.Pose((1.0, 0.0, 0.0))
        >>> knee = appell.Closure("knee", "revolute", "coupler", "rocker", end, end)
        >>> robot = appell.close_loops(builder.build(), [knee], actuated=["a"], q=[1.0, -0.5, 1.5])
        >>> robot.nv, robot.qd_names
        (1, ('a',))
    """
    if not closures:
        raise ModelError(f"{robot.name}: there are no closures. A robot without loops is a plain `Robot`.")
    bare = ClosedLoopRobot(robot, tuple(closures), tuple(actuated), (), ())
    reference = _regular(bare, _reference(bare, q))
    K = jacobian_at(bare.system, reference)
    kept, count = velocity_indices(robot, actuated), rank(K)
    if count == robot.nv:
        raise ModelError(f"{robot.name}: its closures leave nothing that moves. Check their kinds and frames.")
    if speeds is None:
        dependent = dependent_speeds(K, count, kept)
        independent = sorted(set(range(robot.nv)) - set(dependent or ()))
        trusted = dependent is not None
    else:
        independent = velocity_indices(robot, speeds)
        dependent = [k for k in range(robot.nv) if k not in independent]
        trusted = len(dependent) == count and min(sines(K, dependent), default=1.0) > SINE
    names = robot.qd_names
    if not trusted:
        given = ", ".join(names[k] for k in independent)
        raise ModelError(
            f"{robot.name}: {robot.nv - count} independent speeds determine its motion in the reference configuration, and "
            f"{given or 'none'} do not. Name others as `speeds`, or none to have them chosen."
        )
    return replace(bare, speeds=tuple(names[k] for k in independent), reference=tuple(map(float, reference)))


def _reference(bare: ClosedLoopRobot, q: ArrayLike | None) -> np.ndarray:
    """A closed configuration near the given one; where that fails, near others that are drawn around it."""
    start = bare.open_tree.neutral_configuration() if q is None else np.array(q, dtype=float)
    found = bare.close(start)
    rng = np.random.default_rng(0)
    for _ in range(TRIES):
        if found.closed:
            break
        again = bare.close(bare.open_tree.integrate(start, rng.uniform(-1.0, 1.0, bare.open_tree.nv)))
        found = again if again.closed else found
    return found.q


def _regular(bare: ClosedLoopRobot, q: np.ndarray) -> np.ndarray:
    """The same configuration, or a closed one beside it where closures are more: in a singular one some say the same."""
    K = jacobian_at(bare.system, q)
    free = np.linalg.svd(K)[2][rank(K) :].sum(axis=0)
    for step in (NEARBY, -NEARBY):
        near = bare.close(bare.open_tree.integrate(q, step * free))
        if near.closed and rank(jacobian_at(bare.system, near.q)) > rank(K):
            return near.q
    return q
