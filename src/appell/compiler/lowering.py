"""Functions of a robot lowered to operations: straight-line code, or loops over the links (`rolled`) for long recursions.

Both write the two C functions that every driver calls, `<prefix>_angles` and `<prefix>_body` (see `emit`), in any dialect.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from math import inf

from appell.algorithms.function_spec import FunctionSpec
from appell.algorithms.system import System
from appell.compiler.emit import Dialect, EmissionPlan, functions_text, plan_emission, write
from appell.compiler.operations import OperationList, list_operations
from appell.compiler.rolled.form import Rolled
from appell.compiler.rolled.programs import rolled
from appell.compiler.simplify import simplify
from appell.compiler.trace import trace


@dataclass
class StraightLine:
    """Every operation is a statement, every number of the robot a constant: the fastest code for short recursions.

    Attributes:
        part: statements of a part of the body; by default of a measured size.
        sizes: entries of each input; they follow each other in x.
        size_out: entries of the result, y.
        angle_count: places of a, s and c.
        shared: places of w.
        cost: operations of one state, roughly; decides how batches are split over threads.
        functions_used: names of its operations.
    """

    listed: OperationList
    part: int | None = None

    def __post_init__(self) -> None:
        self.sizes, self.size_out = self.listed.sizes, len(self.listed.outputs)
        self.cost = len(self.listed.operations)

    @cached_property
    def planned(self) -> EmissionPlan:
        """What goes where in C and CUDA; other targets plan for themselves."""
        return plan_emission(self.listed, self.part)

    @property
    def angle_count(self) -> int:
        return len(self.planned.angles)

    @property
    def shared(self) -> int:
        return len(self.planned.shared)

    @property
    def functions_used(self) -> frozenset[str]:
        return frozenset(operation.name for operation in self.listed.operations)

    def data(self, dialect: Dialect) -> str:
        """Constants that the functions read, in scalars of the dialect."""
        return ""

    def functions(self, dialect: Dialect, prefix: str) -> str:
        """`<prefix>_angles` and `<prefix>_body`."""
        return functions_text(write(self.planned, dialect), dialect.type, prefix)


LoweredFunction = StraightLine | Rolled

LONGER: dict[str, dict[str | tuple[str, str], float]] = {
    "cuda": {
        "inverse_dynamics": 2.5,
        "bias": 2.5,
        "gravity": 6.0,
        "kinetic_energy": 2.5,
        "gibbs_function": 2.5,
        ("forward_dynamics", "float64"): 0.5,
        "forward_dynamics_derivatives": 0.5,
        "regressor": inf,
        "jacobian_derivatives": inf,
        "inverse_dynamics_second_derivatives": 2.5,
    }
}
"""How much longer straight-line code may be, by target and function, or function and precision: measured on a floating
humanoid (docs/decisions/0005)."""


def lower_function(
    system: System,
    spec: FunctionSpec,
    target: str = "cpu",
    dtype: str = "float64",
    kept: dict[Hashable, LoweredFunction | None] | None = None,
) -> LoweredFunction:
    """Loops over the links where the recursion is long (see `rolled`), else straight-line code.

    `kept` holds what was lowered before: the same form serves several targets.
    """
    known = {} if kept is None else kept
    loops = rolled_form(system, spec, target, dtype, known)
    return straight_line(system, spec, known) if loops is None else loops


def rolled_form(
    system: System, spec: FunctionSpec, target: str, dtype: str, known: dict[Hashable, LoweredFunction | None]
) -> LoweredFunction | None:
    """Loops over the links, kept in `known`; None where straight-line code is better."""
    scales, name = LONGER.get(target, {}), spec.function
    scale = scales.get(name, scales.get((name, dtype), 1.0))
    if (spec, scale) not in known:
        known[spec, scale] = None if system.recursion is None else rolled(system.recursion, spec, scale)
    return known[spec, scale]


def straight_line(system: System, spec: FunctionSpec, known: dict[Hashable, LoweredFunction | None]) -> StraightLine:
    """Straight-line code, kept in `known`."""
    if spec not in known:
        known[spec] = StraightLine(simplify(list_operations(trace(system, spec, share=False).graph)))
    return known[spec]  # type: ignore[return-value]
