"""`appell.close_loops`: a robot with closed loops from a tree and loop closures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from appell.closed_loop.closures import LoopClosure
from appell.closed_loop.elimination import SINE_TOL
from appell.closed_loop.robot import ClosedLoopRobot
from appell.closed_loop.singularity import column_sines, dependent_velocities, jacobian_at, rank
from appell.deprecation import renamed_arguments
from appell.errors import ModelError
from appell.model.description import velocity_indices
from appell.robot.robot import Robot

PROBE_STEP = 0.2
"""Joint step for the test whether a configuration is singular. [rad, m]"""
MAX_RESTARTS = 20
"""Random initial guesses if the first one fails."""


@renamed_arguments(speeds="independent_velocities")
def close_loops(
    robot: Robot,
    closures: Sequence[LoopClosure],
    actuated: Sequence[str],
    *,
    independent_velocities: Sequence[str] | None = None,
    q: ArrayLike | None = None,
) -> ClosedLoopRobot:
    """Build a robot with closed loops from a tree, loop closures and the names of the actuated joints.

    Closures may be redundant, as those of a planar loop in space.

    Args:
        closures: at least one `appell.LoopClosure`.
        actuated: names of the joints with an actuator; the others are passive. The name of a joint with several degrees of
            freedom means all of them, `joint.wx` one.
        independent_velocities: names of the entries of qd, one per degree of freedom; the actuated joints by default, as far
            as they determine the motion. The velocities of the platform are the fastest choice for a parallel robot.
        q: initial guess of a closed configuration, which becomes the reference configuration (or a regular one nearby, if it
            is singular); the tree's neutral configuration by default.

    Raises:
        ModelError: unknown names, invalid closures, or velocities that are not independent.
        LoopClosureError: the loops do not close.

    Example:
        >>> import appell
        >>> rod = dict(mass=1.0, com=(0.5, 0, 0), inertia=(0.01, 0.1, 0.1))
        >>> builder = appell.RobotBuilder().body("crank", **rod).body("coupler", **rod).body("rocker", **rod)
        >>> builder = builder.continuous("a", parent="base", child="crank")
        >>> builder = builder.continuous("b", parent="crank", child="coupler", xyz=(1, 0, 0))
        >>> builder = builder.continuous("c", parent="base", child="rocker", xyz=(1.5, 0, 0))
        >>> end = appell.Pose((1.0, 0.0, 0.0))
        >>> knee = appell.LoopClosure("knee", "revolute", "coupler", "rocker", end, end)
        >>> robot = appell.close_loops(builder.build(), [knee], actuated=["a"], q=[1.0, -0.5, 1.5])
        >>> robot.nv, robot.qd_names
        (1, ('a',))
    """
    if not closures:
        raise ModelError(f"{robot.name}: there are no closures. Use the `Robot` itself.")
    bare = ClosedLoopRobot(robot, tuple(closures), tuple(actuated), (), ())
    reference = _regular(bare, _reference(bare, q))
    K = jacobian_at(bare.system, reference)
    kept, count = velocity_indices(robot, actuated), rank(K)
    if count == robot.nv:
        raise ModelError(f"{robot.name}: the closures leave no degree of freedom. Check their kinds and frames.")
    if independent_velocities is None:
        dependent = dependent_velocities(K, count, kept)
        independent = sorted(set(range(robot.nv)) - set(dependent or ()))
        valid = dependent is not None
    else:
        independent = velocity_indices(robot, independent_velocities)
        dependent = [k for k in range(robot.nv) if k not in independent]
        valid = len(dependent) == count and min(column_sines(K, dependent), default=1.0) > SINE_TOL
    names = robot.qd_names
    if not valid:
        given = ", ".join(names[k] for k in independent)
        raise ModelError(
            f"{robot.name}: {given or 'none'} are not independent velocities at the reference configuration, which has "
            f"{robot.nv - count} degrees of freedom. Give others as `independent_velocities`, or none to have them chosen."
        )
    return replace(
        bare,
        independent_velocities=tuple(names[k] for k in independent),
        reference_configuration=tuple(map(float, reference)),
    )


def _reference(bare: ClosedLoopRobot, q: ArrayLike | None) -> np.ndarray:
    """A closed configuration near the given one; if that fails, near random ones around it."""
    start = bare.spanning_tree.neutral_configuration() if q is None else np.array(q, dtype=float)
    solution = bare.solve_loop_closure(start)
    rng = np.random.default_rng(0)
    for _ in range(MAX_RESTARTS):
        if solution.closed:
            break
        retry = bare.solve_loop_closure(
            bare.spanning_tree.integrate(start, rng.uniform(-1.0, 1.0, bare.spanning_tree.nv))
        )
        solution = retry if retry.closed else solution
    return solution.q


def _regular(bare: ClosedLoopRobot, q: np.ndarray) -> np.ndarray:
    """The configuration itself, or a closed one nearby in which the closures have a higher rank."""
    K = jacobian_at(bare.system, q)
    free = np.linalg.svd(K)[2][rank(K) :].sum(axis=0)
    for step in (PROBE_STEP, -PROBE_STEP):
        near = bare.solve_loop_closure(bare.spanning_tree.integrate(q, step * free))
        if near.closed and rank(jacobian_at(bare.system, near.q)) > rank(K):
            return near.q
    return q
