"""Robots that are no plain trees in files: what is known of them, and what is made of them.

A kind is the name of a `System`; its module has the `QUANTITIES`, and a class of a loaded robot has its methods.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from appell.compiler.archive.checks import field, items, require, text, whole
from appell.errors import ClosureError

if TYPE_CHECKING:
    import numpy as np

    from appell.algorithms.registry import Quantity

MOST = 10**6
"""Entries of an input or a dimension."""


class Kind(NamedTuple):
    """Modules of a kind's functions and of its loaded robot, and the name of that robot's class."""

    quantities: str
    module: str
    robot: str


SYSTEMS = {
    "closed_loop": Kind("appell.closed_loop.system", "appell.closed_loop.loaded", "LoadedClosedLoopRobot"),
    "spherical": Kind(
        "appell.closed_loop.spherical.system", "appell.closed_loop.spherical.loaded", "LoadedSphericalRobot"
    ),
}


@dataclass(frozen=True)
class SystemFacts:
    """What a compiled robot that is no plain tree knows beside `RobotFacts`.

    Attributes:
        kind: one of `SYSTEMS`.
        sizes: entries of every input by name, and of every letter in the shapes of its functions.
        parts: names of closures, or of legs.
        actuator_names: in the order of their forces.
    """

    kind: str
    sizes: Mapping[str, int]
    parts: tuple[str, ...]
    actuator_names: tuple[str, ...]

    @property
    def quantities(self) -> Mapping[str, Quantity]:
        """Its functions."""
        return import_module(SYSTEMS[self.kind].quantities).QUANTITIES

    @property
    def robot_class(self) -> Any:
        """The class of robots of this kind that come out of a file."""
        return getattr(import_module(SYSTEMS[self.kind].module), SYSTEMS[self.kind].robot)

    def explain(self, function: str, inputs: Mapping[str, np.ndarray]) -> None:
        """Say what a result that is not finite means; which leg or closure it is, only the robot's description tells."""
        raise ClosureError(
            f"{function} is not finite: the configuration does not close the loops, is out of reach, or is singular. "
            "The robot from which the file was saved says which, at the same configuration.",
            status="singular", where="robot", value=float("nan"), index=(),
        )  # fmt: skip


def read_system(data: Any, nq: int, nv: int, parameters: int) -> SystemFacts | None:
    """What a file says, checked; None for plain trees."""
    if data is None:
        return None
    kind = text(field(data, "kind"), "the kind of a robot")
    require(kind in SYSTEMS, f"robots of the kind {kind!r} are unknown")
    given = field(data, "sizes")
    require(isinstance(given, dict) and len(given) <= 100, "sizes are no table of sensible length")
    sizes = {text(name, "the name of a size"): whole(size, 0, MOST, "a size") for name, size in given.items()}
    parts, actuators = (
        items(field(data, name), lambda entry: text(entry, "a name"), name, most=MOST)
        for name in ("parts", "actuator_names")
    )
    facts = SystemFacts(kind, sizes, parts, actuators)
    needed = {"q", "v", "p"}
    for quantity in facts.quantities.values():
        needed |= {*quantity.inputs, *(size for size in quantity.shape if isinstance(size, str))}
    require(needed <= set(sizes), "a size is missing")
    fits = (sizes["q"], sizes["v"], sizes["p"]) == (nq, nv, parameters)
    require(fits, "sizes are not those of the coordinates, speeds and parameters")
    return facts
