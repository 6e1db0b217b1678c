"""Multibody systems as the compiler sees them: named functions over scalars, with everything they depend on.

A kinematic tree is the simplest system (`TreeSystem`). Closed loops, spherical robots, controllers and rates of states are
others: whatever the compiler does for a tree (interpreting first calls, native kernels, SIMD lanes, threads, precision,
layouts, the cache, the GPU, C export) it does for them as well. To make one:

1. Write the functions over scalars, `algorithm(system, *inputs)`, and list them as `Quantity(...)` with their methods.
2. Subclass `System` as a frozen dataclass with `quantities`, `sizes` and `fingerprint_data`.
3. Give the robot an attribute `system`, `functions = functions_of(self)` (a cached property), and inherit `Dynamics`.

Example:
    >>> from dataclasses import dataclass
    >>> from appell.algebra.scalar import sin
    >>> from appell.algorithms.registry import Quantity
    >>> from appell.compiler.evaluate import evaluator_of
    >>> def torque(pendulum, q, qdd):
    ...     return [qdd[0] + pendulum.stiffness * sin(q[0])]
    >>> @dataclass(frozen=True)
    ... class Pendulum(System):
    ...     stiffness: float = 9.81
    ...     quantities = {"torque": Quantity("torque", ("q", "qdd"), ("v",), "plain", methods={"plain": torque})}
    ...     sizes = {"q": 1, "qdd": 1, "v": 1}
    ...     @property
    ...     def fingerprint_data(self):
    ...         return self.stiffness
    >>> evaluator_of(Pendulum())["torque", None](([0.5], [0.0])).round(3).tolist()
    [4.703]
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from appell.algebra import Scalar, Vec3, Wrench
from appell.algorithms.coordinate_rates import QuasiVelocityJoint, coordinate_rates, quasi_velocity_joints
from appell.algorithms.function_spec import REFERENCE_FRAMES, FunctionSpec, Signature
from appell.algorithms.registry import QUANTITIES, Algorithm, Quantity, find, find_in, letters
from appell.checks import require_choice
from appell.errors import ArgumentError
from appell.model.joint_friction import JointFriction
from appell.model.parameters import lumped, parameter_count, parameters, with_parameters
from appell.model.tree import BASE, Frame, Tree

MAIN = (
    "inverse_dynamics", "forward_dynamics", "mass_matrix", "bias", "gravity", "coriolis_matrix", "kinetic_energy",
    "potential_energy", "center_of_mass",
)  # fmt: skip
"""The functions that a file of a compiled robot holds by default."""


class System(ABC):
    """A multibody system whose functions can be compiled. The module docstring says how to make one."""

    quantities: ClassVar[Mapping[str, Quantity]]
    """Its functions, with their algorithms in `methods`."""
    kind: ClassVar[str | None] = None
    """Its name in files of compiled robots, empty for trees; None where there are no such files."""
    sources: ClassVar[tuple[Path, ...]] = ()
    """Files and folders of code that decide its numbers, besides algebra, model, algorithms and compiler."""
    recursion: Tree | None = None
    """The tree that its algorithms take, whose recursions may be emitted as loops over links; None if they take the system."""
    main: tuple[str, ...] = MAIN
    """Functions that `save` writes by default."""
    friction: JointFriction | None = None
    """Damping and friction of the joints, where states can be rolled out."""
    frames: Mapping[str, Any] = MappingProxyType({})
    """Frames for poses, Jacobians and external forces, by name."""
    quaternions: tuple[tuple[str, int], ...] = ()
    """Joints with a unit quaternion, and where in the first input it begins."""
    angles: tuple[int, ...] = ()
    """Entries of q that are angles."""
    parameters: Sequence[Scalar] = ()
    """Inertial parameters, where its functions take them at run time."""
    parameter_bodies: tuple[tuple[str, int], ...] = ()
    """Bodies in the order of `parameters`, with the axis of each frame that is nearest to the joint's axis."""
    free: tuple[QuasiVelocityJoint, ...] = ()
    """Joints with q̇ = N(q) v, N not the identity."""
    parts: tuple[str, ...] = ()
    """Names of closures or legs, which index some results."""

    @property
    @abstractmethod
    def sizes(self) -> Mapping[str, int]:
        """Entries of every input by name, and of every letter in the shapes of its quantities."""

    @property
    @abstractmethod
    def fingerprint_data(self) -> object:
        """Everything that decides the results of its functions, as nested data: kernels are cached under its digest."""

    def with_inputs(self, spec: FunctionSpec, entries: Mapping[str, Sequence[Scalar]], lump: bool) -> System:
        """The system with the optional inputs of a spec: `gravity`, `external_forces`, `parameters`.

        `lump` allows another distribution of mass with the same equations of motion (`appell.model.parameters.lumped`).
        """
        if spec.gravity_input or spec.force_frames or spec.parameter_input:
            raise ArgumentError(f"{spec.function} of this robot takes no gravity, external_forces or parameters.")
        return self

    def moved(self, q: Sequence[Scalar], step: Sequence[Scalar]) -> list[Scalar]:
        """The configuration after a step along the generalized velocities, to first order."""
        return [a + b for a, b in zip(q, coordinate_rates(self.free, q, step), strict=True)]

    def raise_nonfinite_cause(self, function: str, inputs: Mapping[str, np.ndarray]) -> None:
        """Raise an error that names why finite inputs (..., size) gave a result that is not finite, if it is known."""
        return

    def find(self, function: str, method: str | None = None) -> tuple[Quantity, str, Algorithm]:
        """The quantity, the method's name and its algorithm. Unknown names raise an error that lists the valid ones."""
        if function in QUANTITIES and function not in self.quantities:
            raise ArgumentError(
                f"{function} is of trees only. With closed loops, `robot.spanning_tree` has it for the tree of all joints."
            )
        return find_in(self.quantities, function, method)

    def require_mass(self, function: str) -> None:
        """Raise if a function needs mass that the robot does not have."""
        return

    def signature(self, spec: FunctionSpec) -> Signature:
        """Inputs and shape of a function. Raises if the robot or the quantity does not have what is requested."""
        quantity, _, _ = self.find(spec.function, spec.method)
        if spec.gravity_input and not quantity.uses_gravity:
            raise ArgumentError(f"{quantity.name} does not depend on gravity; leave `gravity` out.")
        if spec.force_frames and not quantity.uses_external_forces:
            raise ArgumentError(f"{quantity.name} does not depend on external forces; leave `external_forces` out.")
        if spec.parameter_input and quantity.needs_frame:
            raise ArgumentError(f"{quantity.name} does not depend on inertial parameters; leave `parameters` out.")
        if quantity.needs_frame:
            require_choice("reference frame", spec.reference, REFERENCE_FRAMES)
        for name in (*spec.force_frames, *((spec.frame,) if quantity.needs_frame else ())):
            require_choice("frame", name, self.frames)
        if not spec.parameter_input:
            self.require_mass(spec.function)
        return signature_of(quantity, spec, self.sizes)


def signature_of(quantity: Quantity, spec: FunctionSpec, sizes: Mapping[str, int]) -> Signature:
    """Inputs in order, with the optional ones behind, and the shape of one result."""
    inputs = [(name, sizes[name]) for name in quantity.inputs]
    inputs += [("gravity", 3)] * spec.gravity_input
    inputs += [("external_forces", 6 * len(spec.force_frames))] * bool(spec.force_frames)
    inputs += [("parameters", sizes.get("p", 0))] * spec.parameter_input
    shape = (sum(sizes[x] for x in letters(size)) if isinstance(size, str) else size for size in quantity.shape)
    return Signature(tuple(inputs), tuple(shape))


def tree_sizes(nq: int, nv: int, parameter_entries: int) -> dict[str, int]:
    """`System.sizes` of a tree."""
    return {"q": nq, **dict.fromkeys(("qd", "qdd", "tau", "v"), nv), "p": parameter_entries}


class SystemOnTree(System):
    """A system whose frames, coordinates and parameters are those of a tree."""

    tree: Tree

    @property
    def parameter_bodies(self) -> tuple[tuple[str, int], ...]:
        return self.tree.parameter_bodies

    @property
    def fingerprint_data(self) -> object:
        tree = self.tree
        return tree.links, tree.gravity, tree.base, tree.nq, tree.nv

    @property
    def frames(self) -> Mapping[str, Frame]:
        return self.tree.frames

    @property
    def quaternions(self) -> tuple[tuple[str, int], ...]:
        return self.tree.quaternions

    @property
    def angles(self) -> tuple[int, ...]:
        return self.tree.angles

    @property
    def parameters(self) -> Sequence[Scalar]:
        return parameters(self.tree)

    def require_mass(self, function: str) -> None:
        if self.find(function)[0].uses_mass:
            self.tree.require_mass(function)

    @property
    def free(self) -> tuple[QuasiVelocityJoint, ...]:
        return quasi_velocity_joints(self.tree)


@dataclass(frozen=True)
class TreeSystem(SystemOnTree):
    """A kinematic tree: the algorithms of `appell.algorithms` with their default methods by size."""

    tree: Tree
    friction: JointFriction | None = None
    quantities: ClassVar[Mapping[str, Quantity]] = QUANTITIES
    kind: ClassVar[str | None] = ""

    @property
    def recursion(self) -> Tree:
        return self.tree

    @property
    def sizes(self) -> Mapping[str, int]:
        return tree_sizes(self.tree.nq, self.tree.nv, parameter_count(self.tree))

    def find(self, function: str, method: str | None = None) -> tuple[Quantity, str, Algorithm]:
        return find_for(self.tree, function, method)

    def with_inputs(self, spec: FunctionSpec, entries: Mapping[str, Sequence[Scalar]], lump: bool) -> TreeSystem:
        return replace(self, tree=tree_with_inputs(self.tree, spec, entries, lump))


def find_for(tree: Tree, function: str, method: str | None = None) -> tuple[Quantity, str, Algorithm]:
    """`registry.find` with the default method for a tree: mimic joints make articulated bodies slow."""
    coupled = not all(link.is_independent for link in tree.links)
    return find(function, method, 0 if coupled else tree.nv)


def tree_with_inputs(tree: Tree, spec: FunctionSpec, entries: Mapping[str, Sequence[Scalar]], lump: bool) -> Tree:
    """The tree with the optional inputs of a spec; its mass is lumped where that is allowed and parameters are no input."""
    if spec.parameter_input:
        tree = with_parameters(tree, list(entries["parameters"]))
    elif lump:
        tree = lumped(tree)
    if spec.gravity_input:
        tree = replace(tree, gravity=tree.base.T @ Vec3(*entries["gravity"]))
    if spec.force_frames:
        tree = replace(tree, external=external_wrenches(tree, spec.force_frames, entries["external_forces"]))
    return tree


def external_wrenches(tree: Tree, names: tuple[str, ...], entries: Sequence[Scalar]) -> dict[int, Wrench]:
    """Wrenches given in named frames, summed at the origins of the links that carry those frames."""
    total: dict[int, Wrench] = {}
    for k, name in enumerate(names):
        frame = tree.frames[name]
        if frame.link == BASE:
            continue
        force = frame.R @ Vec3(*entries[6 * k : 6 * k + 3])
        moment = frame.R @ Vec3(*entries[6 * k + 3 : 6 * k + 6]) + frame.p.cross(force)
        wrench = Wrench(force, moment)
        total[frame.link] = total[frame.link].plus(wrench) if frame.link in total else wrench
    return total
