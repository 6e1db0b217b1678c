"""Pinocchio (PyPI `pin`): Python calls in a loop, and its own batch calls with one thread."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from appell.model.joints import KINDS
from appell_lab.bench.timing import Contender

if TYPE_CHECKING:
    from appell.robot.robot import Robot

BATCH = {"inverse_dynamics": "pin.rneaInParallel", "forward_dynamics": "pin.abaInParallel"}
CALL = {
    "inverse_dynamics": "pin.rnea", "forward_dynamics": "pin.aba", "mass_matrix": "pin.crba",
    "inverse_dynamics_derivatives": "pin.computeRNEADerivatives",
    "forward_dynamics_derivatives": "pin.computeABADerivatives",
}  # fmt: skip
MATRICES = {"mass_matrix": 1, "inverse_dynamics_derivatives": 3, "forward_dynamics_derivatives": 3}
"""Square matrices side by side in a result."""


def available() -> bool:
    return find_spec("pinocchio") is not None


class Pinocchio:
    """One robot in Pinocchio, read from the URDF text that appell writes."""

    def __init__(self, robot: Robot) -> None:
        self.pin: Any = import_module("pinocchio")
        self.model = self.pin.buildModelFromXML(robot.to_urdf())
        self.order = _order(robot, tuple(self.model.names)[1:])
        if (self.model.nq, self.model.nv) != (robot.nq, robot.nv):
            raise RuntimeError(f"Pinocchio counts the coordinates of {robot.name} differently.")
        self.model.gravity.linear = np.array(robot.gravity_vector)
        armature = [joint.armature for joint in robot.moving_joints for _ in range(KINDS[joint.kind].nv)]
        self.model.armature = np.array(armature)[self.order[1]]
        self.data = self.model.createData()
        self.pool = self.pin.ModelPool(self.model, 1)

    def one(self, function: str, state: Sequence[np.ndarray]) -> np.ndarray:
        """The result of one state."""
        if function == "mass_matrix":
            M = self.pin.crba(self.model, self.data, state[0])
            return np.triu(M) + np.triu(M, 1).T
        result = getattr(self.pin, CALL[function].removeprefix("pin."))(self.model, self.data, *state)
        return np.hstack(result) if isinstance(result, tuple) else result.copy()

    def many(self, function: str, states: Sequence[np.ndarray]) -> np.ndarray:
        """Results of all states, one by one, in our order."""
        result = np.array([self.one(function, state) for state in zip(*self.ordered(states), strict=True)])
        back, count = np.argsort(self.order[1]), MATRICES.get(function)
        if count is None:
            return result[:, back]
        blocks = result.reshape(len(result), len(back), count, len(back))
        return blocks[:, back][..., back].reshape(result.shape)

    def ordered(self, states: Sequence[np.ndarray]) -> list[np.ndarray]:
        """States (N, n) in the order of Pinocchio's joints."""
        q, v = self.order
        return [np.ascontiguousarray(array[:, v if k else q]) for k, array in enumerate(states)]

    def batch(self, function: str, states: Sequence[np.ndarray]) -> Contender:
        """The library's own batch call with one thread, on columns as it wants them, into a given array."""
        columns = [np.asfortranarray(array.T) for array in self.ordered(states)]
        out = np.zeros_like(columns[-1])
        call = {"inverse_dynamics": self.pin.rneaInParallel, "forward_dynamics": self.pin.abaInParallel}[function]
        return Contender(BATCH[function], lambda: call(1, self.pool, *columns, out), len(states[0]))

    def loop(self, function: str, states: Sequence[np.ndarray]) -> Contender:
        """A Python loop over the states."""
        call = getattr(self.pin, CALL[function].removeprefix("pin."))
        model, data = self.model, self.data
        given = self.ordered(states[:1] if function == "mass_matrix" else states)
        rows = list(zip(*given, strict=True))

        def run() -> None:
            for row in rows:
                call(model, data, *row)

        return Contender(f"{CALL[function]}, Python loop", run, len(rows))

    def call(self, function: str, states: Sequence[np.ndarray]) -> Contender:
        """One Python call on one state."""
        call = getattr(self.pin, CALL[function].removeprefix("pin."))
        model, data = self.model, self.data
        first, *rest = (array[0].copy() for array in self.ordered(states))
        if function == "mass_matrix":
            return Contender(CALL[function], lambda: call(model, data, first))
        second, third = rest
        return Contender(CALL[function], lambda: call(model, data, first, second, third))


def _order(robot: Robot, names: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Indices of the coordinates and velocities of Pinocchio's joints in ours."""
    kinds = {joint.name: KINDS[joint.kind] for joint in robot.moving_joints}
    if sorted(kinds) != sorted(names):
        raise RuntimeError(f"Pinocchio finds other joints in {robot.name}.")
    q = [robot.first_coordinates[name][0] + i for name in names for i in range(kinds[name].nq)]
    v = [robot.first_coordinates[name][1] + i for name in names for i in range(kinds[name].nv)]
    return np.array(q), np.array(v)


@cache
def pinocchio(robot: Robot) -> Pinocchio | None:
    """The robot in Pinocchio, or None where that is not installed."""
    return Pinocchio(robot) if available() else None
