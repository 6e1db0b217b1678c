"""The forms in which a function can be written, and which one a robot gets.

A form knows the two C functions that every driver calls, `<prefix>_angles` and `<prefix>_body` (see `emit`), in any dialect.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from appell.algorithms.system import System
from appell.compiler.c import functions_text
from appell.compiler.emit import Dialect, EmissionPlan, plan_emission, write
from appell.compiler.operations import list_operations
from appell.compiler.rolled.programs import rolled
from appell.compiler.simplify import simplify
from appell.compiler.trace import trace

if TYPE_CHECKING:
    from appell.algorithms.function_spec import FunctionSpec


class LoweredFunction(Protocol):
    """A function of a robot, ready to be written.

    Attributes:
        sizes: entries of each input; they follow each other in x.
        size_out: entries of the result, y.
        angle_count: places of a, s and c.
        shared: places of w.
        cost: operations of one state, roughly; decides how batches are split over threads.
        functions_used: names of operations that are no operators.
    """

    @property
    def sizes(self) -> tuple[int, ...]: ...
    @property
    def size_out(self) -> int: ...
    @property
    def angle_count(self) -> int: ...
    @property
    def shared(self) -> int: ...
    @property
    def cost(self) -> int: ...
    @property
    def functions_used(self) -> frozenset[str]: ...

    def data(self, dialect: Dialect) -> str:
        """Constants that the functions read, in scalars of the dialect."""
        ...

    def functions(self, dialect: Dialect, prefix: str, attribute: str = "") -> str:
        """`<prefix>_angles` and `<prefix>_body`."""
        ...


@dataclass(frozen=True)
class StraightLine:
    """Every operation is a statement, every number of the robot a constant: the fastest code for short recursions."""

    planned: EmissionPlan

    @property
    def sizes(self) -> tuple[int, ...]:
        return self.planned.listed.sizes

    @property
    def size_out(self) -> int:
        return len(self.planned.listed.outputs)

    @property
    def angle_count(self) -> int:
        return len(self.planned.angles)

    @property
    def shared(self) -> int:
        return len(self.planned.shared)

    @property
    def cost(self) -> int:
        return len(self.planned.listed.operations)

    @property
    def functions_used(self) -> frozenset[str]:
        return frozenset(operation.name for operation in self.planned.listed.operations)

    def data(self, dialect: Dialect) -> str:
        return ""

    def functions(self, dialect: Dialect, prefix: str, attribute: str = "") -> str:
        return functions_text(write(self.planned, dialect), dialect.type, prefix, attribute)


LONGER: dict[str, dict[str | tuple[str, str], float]] = {
    "cuda": {"inverse_dynamics": 2.5, "bias": 2.5, "gravity": 2.5, ("forward_dynamics", "float64"): 0.5}
}
"""How much longer straight-line code may be, by target and function, or function and precision: measured on a floating
humanoid (docs/decisions/0005)."""


def lower_function(system: System, spec: FunctionSpec, target: str = "cpu", dtype: str = "float64") -> LoweredFunction:
    """The form of a function: rolled where the recursion is long (see `rolled`), else straight-line."""
    scales, name = LONGER.get(target, {}), spec.function
    scale = scales.get(name, scales.get((name, dtype), 1.0))
    long = None if system.recursion is None else rolled(system.recursion, spec, scale)
    return long or StraightLine(plan_emission(simplify(list_operations(trace(system, spec).graph))))
