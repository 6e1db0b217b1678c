"""Mechanisms that are no plain tree, compiled as trees are.

A `System` has functions of its own; everything that the compiler does for a tree (interpreting first calls, native kernels,
SIMD lanes, threads, precision, layouts, the cache, the GPU, C export) it then does for the system. To make one:

1. Write the functions over scalars, `algorithm(system, *inputs)`, and list them as `Quantity(...)` with their methods.
2. Subclass `System` as a frozen dataclass and say its `quantities`, `sizes` and `content`.
3. Give the robot an attribute `tree` that holds the system, `functions = system_functions(self)` (a cached property), public
   methods that call `self.functions[function, method](inputs, gravity, external_forces, parameters, out, check)` (marked
   `appell.robot.functions.direct` where they take nothing but arrays), and `compiled(options)` that returns a subclass of
   `appell.robot.compiled.Compiled` with the same methods: `appell.compile` calls it.

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
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from appell.algebra import Vec3, Wrench
from appell.algorithms.registry import Algorithm, Quantity, find
from appell.algorithms.request import REFERENCE_FRAMES, Request, Signature
from appell.errors import ArgumentError, unknown_name_message
from appell.model.parameters import lumped, parameter_count, with_parameters
from appell.model.tree import BASE, Tree

if TYPE_CHECKING:
    import numpy as np

    from appell.algebra import Scalar
    from appell.algorithms.coordinate_rates import QuasiVelocityJoint
    from appell.algorithms.request import Request
    from appell.model.tree import Frame

    pass


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
    def free(self) -> tuple[QuasiVelocityJoint, ...]:
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
            raise ArgumentError(unknown_name_message("function", function, self.quantities))
        quantity = self.quantities[function]
        name = method or quantity.default
        if name not in quantity.methods:
            raise ArgumentError(unknown_name_message(f"method of {function}", name, quantity.methods))
        return quantity, name, quantity.methods[name]


def signature(tree: Tree | System, request: Request) -> Signature:
    """What a request takes and gives, without tracing it. Refuses what the robot or the quantity does not have."""
    quantity, _, _ = find_for(tree, request.function, request.method)
    validate(tree, quantity, request)
    if isinstance(tree, System):
        sizes, parameters = tree.sizes, len(tree.parameters)
    else:
        parameters = parameter_count(tree)
        sizes = {name: tree.nq if name == "q" else tree.nv for name in (*quantity.inputs, "v")} | {"p": parameters}
    inputs = [(name, sizes[name]) for name in quantity.inputs]
    if request.gravity:
        inputs.append(("gravity", 3))
    if request.forces:
        inputs.append(("external_forces", 6 * len(request.forces)))
    if request.parameters:
        inputs.append(("parameters", parameters))
    return Signature(tuple(inputs), tuple(sizes[size] if isinstance(size, str) else size for size in quantity.shape))


def given(tree: Tree, request: Request, entries: Mapping[str, list[Any]], lump: bool) -> Tree:
    """The tree with what a request makes an input; otherwise its mass is lumped where that is allowed."""
    if request.parameters:
        tree = with_parameters(tree, entries["parameters"])
    elif lump:
        tree = lumped(tree)
    if request.gravity:
        tree = replace(tree, gravity=tree.base.T @ Vec3(*entries["gravity"]))
    if request.forces:
        tree = replace(tree, external=external_wrenches(tree, request.forces, entries["external_forces"]))
    return tree


def validate(tree: Tree | System, quantity: Quantity, request: Request) -> None:
    """Refuse what the quantity does not take, naming what it does."""
    if request.gravity and not quantity.gravity:
        raise ArgumentError(f"{quantity.name} does not depend on gravity; leave `gravity` out.")
    if request.forces and not quantity.forces:
        raise ArgumentError(f"{quantity.name} does not depend on external forces; leave `external_forces` out.")
    if request.parameters and quantity.frame:
        raise ArgumentError(f"{quantity.name} does not depend on inertial parameters; leave `parameters` out.")
    for name in (*request.forces, *((request.frame,) if quantity.frame else ())):
        if name not in tree.frames:
            raise ArgumentError(unknown_name_message("frame", name, tree.frames))
    if quantity.frame and request.reference not in REFERENCE_FRAMES:
        raise ArgumentError(unknown_name_message("reference frame", request.reference, REFERENCE_FRAMES))


def external_wrenches(tree: Tree, names: tuple[str, ...], entries: list[Any]) -> dict[int, Wrench]:
    """Wrenches given in named frames, summed at the origins of the links that carry those frames."""
    total: dict[int, Wrench] = {}
    for k, name in enumerate(names):
        frame = tree.frames[name]
        if frame.link == BASE:
            continue
        force = frame.R @ Vec3(*entries[6 * k : 6 * k + 3])
        moment = frame.R @ Vec3(*entries[6 * k + 3 : 6 * k + 6]) + frame.p.cross(force)
        before = total.get(frame.link)
        total[frame.link] = (
            Wrench(force, moment) if before is None else Wrench(before.force + force, before.moment + moment)
        )
    return total


def find_for(tree: Tree | System, quantity: str, method: str | None = None) -> tuple[Quantity, str, Algorithm]:
    """As `find`, with the default method for this robot: joints that mimic others make articulated bodies slow.

    A system that is no plain tree has functions of its own.
    """
    from appell.algorithms.system import System

    if isinstance(tree, System):
        return tree.find(quantity, method)
    coupled = not all(link.is_independent for link in tree.links)
    return find(quantity, method, 0 if coupled else tree.nv)
