"""The rate of change of a robot's state under a control law, traced as one function.

    x = (q, v, signals, gains, inertial parameters if they are inputs)        v = (qd, memory of the law)
    y = (q̇, v̇, N(q) q̈)               q̇ = N(q) qd        M q̈ + bias = τ(x) + passive forces

The last part lets a step use the new speeds for the old configuration: N(q) (qd + dt q̈) = q̇ + dt N(q) q̈.
"""

from __future__ import annotations

from dataclasses import dataclass

from appell.algebra import Scalar
from appell.algorithms.actuated_joints import ActuatedJoints
from appell.algorithms.coordinate_rates import coordinate_rates, quasi_velocity_joints
from appell.algorithms.laws import Law, Signals, Vector
from appell.algorithms.system import System, find_for
from appell.compiler.operations import OperationList, list_operations
from appell.compiler.simplify import simplify
from appell.model.joint_friction import JointFriction
from appell.model.parameters import lumped, parameter_count, with_parameters
from appell.model.tree import Tree


@dataclass(frozen=True)
class TreeModel:
    """The equations of a tree over scalars, for control laws."""

    tree: Tree

    def inverse_dynamics(self, q: Vector, qd: Vector, qdd: Vector) -> Vector:
        self.tree.require_mass("inverse_dynamics")
        return find_for(self.tree, "inverse_dynamics")[2](self.tree, q, qd, qdd)

    def gravity(self, q: Vector) -> Vector:
        self.tree.require_mass("gravity")
        return find_for(self.tree, "gravity")[2](self.tree, q)

    def mass_matrix(self, q: Vector) -> list[Vector]:
        return find_for(self.tree, "mass_matrix")[2](self.tree, q)


def state_rate(system: System, law: Law, friction: JointFriction | None, runtime: bool = False) -> OperationList:
    """Operations of y from x; the inputs are q, qd, each vector of memory, signals and gains, and maybe the parameters."""
    import casadi

    from appell.compiler import symbols

    tree = system.recursion
    if tree is None:
        raise TypeError("rates of states are traced from trees")
    joints = ActuatedJoints.of(tree.nq, tree.nv, quasi_velocity_joints(tree))
    sizes, n = {"q": tree.nq, "qd": tree.nv}, joints.size(law)
    sizes |= {f"{part} {name}": n for part in ("memory", "signals", "gains") for name in getattr(law, part)}
    sizes |= {"parameters": parameter_count(tree)} if runtime else {}
    vectors, parts = symbols.inputs(sizes.items())
    memory, signals, gains = (
        {name: parts[f"{part} {name}"] for name in getattr(law, part)} for part in ("memory", "signals", "gains")
    )
    tree = with_parameters(tree, parts["parameters"]) if runtime else lumped(tree)
    result = rate_of_state(tree, joints.applied(law), friction, (parts["q"], parts["qd"]), memory, signals, gains)
    return simplify(list_operations(casadi.Function("rate", vectors, [symbols.column(result)])))


def rate_of_state(
    tree: Tree,
    law: Law,
    friction: JointFriction | None,
    state: tuple[Vector, Vector],
    memory: Signals,
    signals: Signals,
    gains: Signals,
) -> Vector:
    """y from the parts of x."""
    (q, qd), free = state, quasi_velocity_joints(tree)
    tau = law.torque(TreeModel(tree), q, qd, signals, gains, memory)
    if friction is not None:
        tau = [a + b for a, b in zip(tau, passive_forces(friction, q, qd), strict=True)]
    tree.require_mass("forward_dynamics")
    qdd = find_for(tree, "forward_dynamics", None)[2](tree, q, qd, tau)
    changes = law.rates(q, qd, signals)
    memory_rates = [x for name in law.memory for x in changes[name]]
    return [*coordinate_rates(free, q, qd), *qdd, *memory_rates, *coordinate_rates(free, q, qdd)]


def passive_forces(passive: JointFriction, q: list[Scalar], qd: list[Scalar]) -> list[Scalar]:
    """Damping, dry friction and springs over scalars (`JointFriction.forces` over arrays)."""
    forces = [
        -(speed * damping + (speed.sign() * friction if friction else 0.0))
        for speed, damping, friction in zip(qd, passive.damping, passive.friction, strict=True)
    ]
    for spring in passive.springs:
        forces[spring.idx_v] = forces[spring.idx_v] + spring.force(q)
    return forces
