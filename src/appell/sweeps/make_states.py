"""Descriptions of states for a robot: random, along a Sobol sequence, on a grid, or a Dask array."""

from __future__ import annotations

import math
from typing import Any

from appell.checks import require_in_range, require_integer
from appell.deprecation import renamed_arguments
from appell.errors import ArgumentError
from appell.model.joints import KINDS
from appell.model.tree import require_tree
from appell.robot.robot import Robot
from appell.sweeps.states import (
    SOBOL_BITS,
    DaskStates,
    GridStates,
    LazyStates,
    RandomStates,
    SobolStates,
    States,
    StateSource,
)

NO_TREE = " Call the functions of robots with closed loops with batches."


def as_states(robot: Robot, states: Any) -> StateSource:
    """States, or a Dask array as states."""
    if isinstance(states, (States, LazyStates)):
        return states
    width = robot.nq + 2 * robot.nv
    if not hasattr(states, "__dask_graph__"):
        raise ArgumentError(
            f"states are {type(states).__name__}, expected those of random_states, grid_states, sobol_states or read_states "
            f"of appell.sweeps, States, or a Dask array (N, {width})."
        )
    if states.ndim != 2 or states.shape[1] != width or not len(states) >= 0:  # an unknown length is NaN
        raise ArgumentError(f"the Dask array has shape {states.shape}, expected (N, {width}): q, qd, and qdd or tau.")
    return DaskStates(states, robot.nq, robot.nv)


@renamed_arguments(speed="max_velocity", drive="max_qdd_or_tau")
def random_states(
    robot: Robot, count: int, seed: int = 0, max_velocity: float = 1.0, max_qdd_or_tau: float = 1.0
) -> RandomStates:
    """Uniformly distributed states: coordinates within the limits (±π rad or ±1 m without), the rest within ± its maximum.

    State k depends on the seed and k only. Quaternions are uniformly distributed rotations.

    Example:
        >>> import appell
        >>> states = random_states(appell.load("puma560"), 10**12, seed=3)
        >>> states[10**11 : 10**11 + 5].q.shape
        (5, 6)
    """
    low, high = _state_ranges(robot, max_velocity, max_qdd_or_tau)
    quaternions = tuple(start for _, start in robot.tree.quaternions)
    count, seed = require_integer("count", count, 1), require_integer("seed", seed)
    return RandomStates(count, seed, robot.nq, robot.nv, low, high, quaternions)


def sobol_states(
    robot: Robot, count: int, seed: int = 0, max_velocity: float = 1.0, max_qdd_or_tau: float = 1.0
) -> SobolStates:
    """States of a scrambled Sobol sequence, which fill the ranges of `random_states` more evenly than random numbers.

    Averages over 2^k states converge almost as 1/N instead of 1/sqrt(N) (Owen, SIAM J. Numer. Anal. 34, 1997).

    Example:
        >>> import appell
        >>> abs(sobol_states(appell.load("planar2r"), 1024).q.mean()).item() < 1e-3
        True
    """
    low, high = _state_ranges(robot, max_velocity, max_qdd_or_tau)
    _require_no_quaternions(robot, "a Sobol sequence")
    count, seed = require_integer("count", count, 1, 2**SOBOL_BITS), require_integer("seed", seed)
    return SobolStates(count, seed, robot.nq, robot.nv, low, high)


def grid_states(robot: Robot, points: int) -> GridStates:
    """A grid with this many points per coordinate between its limits, at rest.

    Example:
        >>> import appell
        >>> grid_states(appell.load("planar2r"), 5).q.shape
        (25, 2)
    """
    require_tree("robot", robot, NO_TREE)
    _require_no_quaternions(robot, "a grid")
    if require_integer("points", points, 2) ** robot.nq >= 2**63:
        raise ArgumentError(
            f"a grid of {points} points in {robot.nq} coordinates has {float(points) ** robot.nq:.3g} states, expected at "
            "most 9.2e18. Use random states."
        )
    low, high = _coordinate_ranges(robot)
    return GridStates(points, robot.nq, robot.nv, low, high)


def _require_no_quaternions(robot: Robot, what: str) -> None:
    if robot.tree.quaternions:
        raise ArgumentError(f"{robot.name} has quaternions, for which {what} is not defined. Use random states.")


def _state_ranges(
    robot: Robot, max_velocity: float, max_qdd_or_tau: float
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Lower and upper limit of every entry of q, qd and qdd_or_tau."""
    require_tree("robot", robot, NO_TREE)
    low, high = _coordinate_ranges(robot)
    limits = [require_in_range("max_velocity", max_velocity), require_in_range("max_qdd_or_tau", max_qdd_or_tau)]
    rest = tuple(limit for limit in limits for _ in range(robot.nv))
    return (*low, *(-limit for limit in rest)), (*high, *rest)


def _coordinate_ranges(robot: Robot) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Lower and upper limit of every coordinate; 0 and 1 for quaternions."""
    ends = []
    for joint in robot.moving_joints:
        kind = KINDS[joint.kind]
        rotational = kind.is_rotational(joint)
        for k in range(kind.nq):
            if kind.quaternion is not None and k >= kind.quaternion:
                ends.append((0.0, 1.0))
                continue
            reach = math.pi if rotational[min(k, kind.nv - 1)] else 1.0
            low, high = (joint.limits.lower, joint.limits.upper) if kind.limited else (-math.inf, math.inf)
            ends.append((low if math.isfinite(low) else -reach, high if math.isfinite(high) else reach))
    return tuple(float(end[0]) for end in ends), tuple(float(end[1]) for end in ends)
