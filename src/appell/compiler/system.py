"""Mechanisms that are no plain tree, compiled as trees are.

A `System` has functions of its own; everything that the compiler does for a tree (interpreting first calls, native kernels,
SIMD lanes, threads, precision, layouts, the cache, the GPU, C export) it then does for the system. To make one:

1. Write the functions over scalars, `algorithm(system, *inputs)`, and list them as `Quantity(...)` with their methods.
2. Subclass `System` as a frozen dataclass and say its `quantities`, `sizes` and `content`.
3. Give the robot an attribute `tree` that holds the system, `functions = system_functions(self)` (a cached property), public
   methods that call `self.functions[function, method](inputs, gravity, external_forces, parameters, out, check)` (marked
   `appell.dynamics.direct` where they take nothing but arrays), and `compiled(options)` that returns a subclass of
   `appell.compiler.api.Compiled` with the same methods: `appell.compile` calls it.

Example:
    >>> from dataclasses import dataclass
    >>> from appell.algebra.scalar import sin
    >>> from appell.algorithms.registry import Quantity
    >>> from appell.compiler.evaluate import Evaluator
    >>> from appell.compiler.options import Options
    >>> def torque(pendulum, q, qdd):
    ...     return [qdd[0] + pendulum.stiffness * sin(q[0])]
    >>> @dataclass(frozen=True)
    ... class Pendulum(System):
    ...     stiffness: float = 9.81
    ...     quantities = {"torque": Quantity("torque", ("q", "qdd"), ("v",), "plain", methods={"plain": torque})}
    ...     sizes = {"q": 1, "qdd": 1, "v": 1}
    ...     @property
    ...     def content(self):
    ...         return self.stiffness
    >>> Evaluator(Pendulum(), Options(eager=False))["torque", None](([0.5], [0.0])).round(3).tolist()
    [4.703]
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from appell.algorithms.registry import Algorithm, Quantity
from appell.errors import ArgumentError, choices

if TYPE_CHECKING:
    import numpy as np

    from appell.algebra import Scalar
    from appell.algorithms.coordinate_rates import FreeJoint
    from appell.compiler.evaluate import Evaluator
    from appell.compiler.request import Request
    from appell.model.tree import Frame


class System(ABC):
    """A mechanism whose functions are compiled although it is no plain tree. The module says how one is made."""

    quantities: ClassVar[Mapping[str, Quantity]]
    """Its functions, with their algorithms in `methods`."""
    kind: ClassVar[str] = ""
    """Its name in `appell.compiler.archive.systems`, where compiled robots of this kind can be saved."""

    @property
    @abstractmethod
    def sizes(self) -> Mapping[str, int]:
        """Entries of every input by name, and of every letter in the shapes of its quantities."""

    @property
    @abstractmethod
    def content(self) -> object:
        """Everything that decides what its functions give, as nested data: kernels are kept under its digest."""

    @property
    def frames(self) -> Mapping[str, Frame]:
        """Frames for poses, Jacobians and external forces, by name."""
        return {}

    @property
    def quaternions(self) -> tuple[tuple[str, int], ...]:
        """Joints with a unit quaternion, and where in the first input it begins."""
        return ()

    @property
    def parameters(self) -> Sequence[Scalar]:
        """Inertial parameters, where its functions take them at run time."""
        return ()

    @property
    def free(self) -> tuple[FreeJoint, ...]:
        """Joints whose coordinates do not change at their speeds."""
        return ()

    @property
    def parts(self) -> tuple[str, ...]:
        """Names of what its results are of beside joints and bodies: closures, or legs."""
        return ()

    def given(self, request: Request, entries: Mapping[str, Sequence[Scalar]]) -> System:
        """The system with what a request makes an input: `gravity`, `external_forces`, `parameters`."""
        if request.gravity or request.forces or request.parameters:
            raise ArgumentError(f"{request.function} of this robot takes no gravity, external_forces or parameters.")
        return self

    def explain(self, function: str, inputs: Mapping[str, np.ndarray]) -> None:
        """Raise an error that names why finite inputs (..., size) gave a result that is not finite, if it is known."""
        return

    def find(self, function: str, method: str | None = None) -> tuple[Quantity, str, Algorithm]:
        """The quantity, the method's name and its algorithm; names that do not exist are answered with the valid ones."""
        if function not in self.quantities:
            raise ArgumentError(choices("function", function, self.quantities))
        quantity = self.quantities[function]
        name = method or quantity.default
        if name not in quantity.methods:
            raise ArgumentError(choices(f"method of {function}", name, quantity.methods))
        return quantity, name, quantity.methods[name]


def system_functions(robot: Any) -> Evaluator:
    """The functions of a robot whose `tree` is a system, compiled where that pays, as those of `Robot` are."""
    from appell.compiler.evaluate import Evaluator
    from appell.compiler.options import Options

    functions = Evaluator(robot.tree, Options(eager=False))
    functions.owner = robot
    return functions
