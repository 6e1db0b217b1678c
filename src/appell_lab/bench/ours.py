"""Contenders of appell."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

import appell
from appell.robot.robot import Robot
from appell_lab.bench.timing import Contender


def batch(robot: Robot, function: str, states: Sequence[np.ndarray], threads: int = 1) -> tuple[Contender, np.ndarray]:
    """A call on all rows into a given array; the second value is the result."""
    call = getattr(appell.compile(robot, threads=threads), function)
    given = states[:1] if function == "mass_matrix" else states
    result = call(*given)
    out = np.concatenate(result, axis=-1) if isinstance(result, tuple) else result
    return Contender("appell, rows", lambda: call(*given, out=out), len(states[0])), out


def columns(robot: Robot, function: str, states: Sequence[np.ndarray]) -> Contender:
    """The same on columns."""
    call = getattr(appell.compile(robot, threads=1, layout="columns"), function)
    given = [np.ascontiguousarray(array.T) for array in (states[:1] if function == "mass_matrix" else states)]
    out = call(*given)
    return Contender("appell, columns", lambda: call(*given, out=out), len(states[0]))


def call(robot: Robot, function: str, states: Sequence[np.ndarray]) -> tuple[Contender, np.ndarray]:
    """One Python call on one state."""
    method = getattr(appell.compile(robot, threads=1), function)
    first, *rest = (array[0].copy() for array in states)
    if function == "mass_matrix":
        return Contender("appell", lambda: method(first)), method(first)
    second, third = rest
    result = method(first, second, third)
    matrices = np.concatenate(result, axis=-1) if isinstance(result, tuple) else result
    return Contender("appell", lambda: method(first, second, third)), matrices
