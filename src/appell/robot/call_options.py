"""The options of a call that are arrays, as functions over rows of states take them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from appell.errors import ArgumentError


@dataclass(frozen=True)
class CallOptions:
    """Gravity, external forces and inertial parameters of a call, where they are given."""

    gravity: Any
    external_forces: Mapping[str, Any]
    parameters: Any

    @property
    def values(self) -> list[Any]:
        """The arrays that are given."""
        return [*given(self.gravity), *self.external_forces.values(), *given(self.parameters)]

    @property
    def joined(self) -> list[Any]:
        """The arrays that are inputs of a function: wrenches side by side."""
        forces = [np.concatenate([*self.external_forces.values()], axis=-1)] if self.external_forces else []
        return [*given(self.gravity), *forces, *given(self.parameters)]

    def sizes(self, parameters: int) -> list[tuple[str, int]]:
        """Name and entries of each of `values`."""
        forces = [(f"external_forces[{name!r}]", 6) for name in self.external_forces]
        own = [("parameters", parameters) for _ in given(self.parameters)]
        return [*(("gravity", 3) for _ in given(self.gravity)), *forces, *own]

    def replaced(self, values: Sequence[Any]) -> CallOptions:
        """The same with other arrays as `values`."""
        left = iter(values)
        gravity = None if self.gravity is None else next(left)
        forces = {name: next(left) for name in self.external_forces}
        return CallOptions(gravity, forces, None if self.parameters is None else next(left))


def given(value: Any) -> list[Any]:
    """A list of the value, empty for None."""
    return [] if value is None else [value]


def require_tree(function: str, robot: Any) -> None:
    """Raise if a robot has closed loops."""
    described = getattr(robot, "robot", robot)
    if getattr(described, "system", described).kind:
        raise ArgumentError(f"{function} is of trees only; {described.name!r} has closed loops.")
