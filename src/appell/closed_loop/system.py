"""Numerical model of a robot with closed loops, and the list of its functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from appell.algebra import Scalar
from appell.algorithms.function_spec import FunctionSpec
from appell.algorithms.registry import Algorithm, Quantity
from appell.algorithms.system import MAIN, SystemOnTree, tree_with_inputs
from appell.closed_loop import constraints, dynamics
from appell.closed_loop.closures import KinematicLoop, loops_of
from appell.closed_loop.singularity import elimination_order, require_nonsingular
from appell.model.description import velocity_indices
from appell.model.parameters import lumped, parameter_count
from appell.model.tree import Tree

if TYPE_CHECKING:
    from appell.closed_loop.robot import ClosedLoopRobot


KINEMATIC = frozenset((
    "regressor", "generalized_regressor", "actuator_jacobian", "joint_velocity_jacobian", "joint_velocities",
    "joint_accelerations", "closure_jacobian", "closure_residual", "pose", "jacobian",
))  # fmt: skip
"""Functions that do not depend on mass."""


def quantity_of(
    name: str, inputs: str, shape: tuple, forces: bool = False, gravity: bool = False, **methods: Algorithm
) -> Quantity:
    """A function and its methods, the first of which is the default."""
    return Quantity(
        name, tuple(inputs.split()), shape, next(iter(methods)), uses_external_forces=forces, uses_gravity=gravity,
        needs_frame=name in ("pose", "jacobian"), uses_mass=name not in KINEMATIC, methods=methods,
    )  # fmt: skip


def _gibbs(function: Algorithm, inputs: str, *shape: str | int, forces: bool = False, gravity: bool = True) -> Quantity:
    return quantity_of(function.__name__, inputs, shape, forces, gravity, gibbs=function)


QUANTITIES = {
    quantity.name: quantity
    for quantity in (
        _gibbs(dynamics.inverse_dynamics, "q qd qdd", "a", forces=True),
        _gibbs(dynamics.generalized_forces, "q qd qdd", "v", forces=True),
        _gibbs(dynamics.forward_dynamics, "q qd tau", "v", forces=True),
        quantity_of(
            "inverse_dynamics_derivatives",
            "q qd qdd",
            ("a", "v+v+v"),
            True,
            True,
            automatic=dynamics.inverse_dynamics_derivatives,
        ),
        quantity_of(
            "inverse_dynamics_second_derivatives",
            "q qd qdd",
            ("a", "v", "v+v+v+v"),
            True,
            True,
            automatic=dynamics.inverse_dynamics_second_derivatives,
        ),
        quantity_of(
            "forward_dynamics_derivatives",
            "q qd tau",
            ("v", "v+v+a"),
            True,
            True,
            automatic=dynamics.forward_dynamics_derivatives,
        ),
        _gibbs(dynamics.accelerations, "q qd forces", "v", forces=True),
        _gibbs(dynamics.constraint_forces, "q qd tau", "loops", 6, forces=True),
        _gibbs(dynamics.regressor, "q qd qdd", "a", "p"),
        _gibbs(dynamics.generalized_regressor, "q qd qdd", "v", "p"),
        _gibbs(dynamics.gibbs_function, "q qd qdd"),
        _gibbs(dynamics.bias, "q qd", "v", forces=True),
        _gibbs(dynamics.gravity, "q", "v"),
        _gibbs(dynamics.mass_matrix, "q", "v", "v", gravity=False),
        _gibbs(dynamics.coriolis_matrix, "q qd", "v", "v", gravity=False),
        _gibbs(dynamics.kinetic_energy, "q qd", gravity=False),
        _gibbs(dynamics.potential_energy, "q"),
        _gibbs(dynamics.center_of_mass, "q", 3, gravity=False),
        _gibbs(dynamics.actuator_jacobian, "q", "a", "v", gravity=False),
        _gibbs(dynamics.joint_velocity_jacobian, "q", "n", "v", gravity=False),
        _gibbs(dynamics.joint_velocities, "q qd", "n", gravity=False),
        _gibbs(dynamics.joint_accelerations, "q qd qdd", "n", gravity=False),
        _gibbs(dynamics.closure_jacobian, "q", "rows", "n", gravity=False),
        _gibbs(constraints.closure_residual, "q", "rows", gravity=False),
        _gibbs(dynamics.pose, "q", 4, 4, gravity=False),
        _gibbs(dynamics.jacobian, "q", 6, "v", gravity=False),
    )
}


@dataclass(frozen=True)
class LoopSystem(SystemOnTree):
    """A tree with loop closures and independent velocities."""

    tree: Tree  # with all joints free
    loops: tuple[KinematicLoop, ...]  # its closures
    independent: tuple[int, ...] = ()  # indices of the independent velocities of the tree, in the order of qd
    dependent: tuple[int, ...] = ()  # the others, in the order in which they are eliminated
    actuated: tuple[int, ...] = ()  # indices of the velocities of the tree with an actuator, in order
    lump: bool = True  # whether mass may be lumped (`appell.model.parameters`); run-time parameters forbid it
    quantities: ClassVar[Mapping[str, Quantity]] = QUANTITIES
    kind: ClassVar[str | None] = "closed_loop"
    sources: ClassVar[tuple[Path, ...]] = (Path(__file__).parent,)

    @property
    def main(self) -> tuple[str, ...]:
        driven = len(self.actuated) >= len(self.independent)
        main = MAIN if driven else tuple(name for name in MAIN if name != "inverse_dynamics")
        return (*main, "generalized_forces", "actuator_jacobian", "joint_velocities", "closure_residual")

    @property
    def sizes(self) -> Mapping[str, int]:
        v, a = len(self.independent), len(self.actuated)
        inputs = {"q": self.tree.nq, "qd": v, "qdd": v, "forces": v, "tau": a}
        letters = {"v": v, "a": a, "n": self.tree.nv, "rows": self.rows, "loops": len(self.loops)}
        return {**inputs, **letters, "p": parameter_count(self.tree)}

    @property
    def rows(self) -> int:
        """Equations of all closures."""
        return sum(loop.kind.count for loop in self.loops)

    @property
    def fingerprint_data(self) -> object:
        return super().fingerprint_data, self.loops, self.independent, self.dependent, self.actuated

    @property
    def parts(self) -> tuple[str, ...]:
        return tuple(loop.name for loop in self.loops)

    @cached_property
    def lumped(self) -> Tree:
        """The tree with fewer numbers and the same equations of motion."""
        return lumped(self.tree) if self.lump else self.tree

    def with_inputs(self, spec: FunctionSpec, entries: Mapping[str, Sequence[Scalar]], lump: bool) -> LoopSystem:
        return replace(self, tree=tree_with_inputs(self.tree, spec, entries, False), lump=not spec.parameter_input)

    def moved(self, q: Sequence[Scalar], step: Sequence[Scalar]) -> list[Scalar]:
        return dynamics.moved_closed(self, q, step)

    def raise_nonfinite_cause(self, function: str, inputs: Mapping[str, np.ndarray]) -> None:
        require_nonsingular(self, function, inputs["q"].reshape(-1, inputs["q"].shape[-1]))


MASS_RATIO = 1e-12
"""Eigenvalues of the mass matrix below this part of the largest are rounding."""


def system_of(robot: ClosedLoopRobot) -> LoopSystem:
    """The robot as the algorithms see it."""
    tree = robot.spanning_tree.tree
    bare = LoopSystem(tree, loops_of(robot.spanning_tree, robot.closures))
    independent = velocity_indices(robot.spanning_tree, robot.independent_velocities)
    dependent = [k for k in range(tree.nv) if k not in independent] if independent else ()
    actuated = velocity_indices(robot.spanning_tree, robot.actuated)
    system = replace(
        bare, independent=tuple(independent), dependent=elimination_order(bare, dependent), actuated=tuple(actuated)
    )
    if tree.mass_defects and independent and _moves_inertia(system, robot.reference_configuration):
        system = replace(system, tree=replace(tree, mass_defects={}))
    return system


def _moves_inertia(system: LoopSystem, q: Sequence[float]) -> bool:
    """Whether the mass matrix is positive definite at a configuration, although that of the tree is not."""
    values = np.linalg.eigvalsh(np.array(dynamics.mass_matrix(system, list(q)), dtype=float))
    return bool(values[0] > MASS_RATIO * values[-1])
