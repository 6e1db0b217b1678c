"""The rate of change of a robot's state under a control law, traced as one function.

    x = (q, v, signals, gains, inertial parameters if they are inputs)        v = (qd, memory of the law)
    y = (q̇, v̇, N(q) q̈)               q̇ = N(q) qd        M q̈ + bias = τ(x) - damping qd - friction sign(qd)

The last part lets a step use the new speeds for the old configuration: N(q) (qd + dt q̈) = q̇ + dt N(q) q̈.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from appell.algebra import Scalar
from appell.algorithms.coordinate_rates import coordinate_rates, quasi_velocity_joints
from appell.algorithms.laws import Law
from appell.algorithms.registry import find
from appell.algorithms.system import find_for
from appell.compiler.fingerprint import digest, tree_digest
from appell.compiler.listing import Listing, listing
from appell.compiler.simplify import simplify
from appell.model.joint_friction import JointFriction, joint_friction
from appell.model.parameters import lumped, parameter_count, with_parameters
from appell.model.tree import Tree

if TYPE_CHECKING:
    from appell.robot.robot import Robot


class TracedModel:
    """The robot's own equations over scalars."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree

    def inverse_dynamics(self, q: list[Scalar], qd: list[Scalar], qdd: list[Scalar]) -> list[Scalar]:
        return find("inverse_dynamics")[2](self.tree, q, qd, qdd)

    def gravity(self, q: list[Scalar]) -> list[Scalar]:
        return find("gravity")[2](self.tree, q)


def rate(robot: Robot, law: Law, passive: bool, runtime: bool = False) -> Listing:
    """Operations of y from x; the inputs are q, qd, each vector of memory, signals and gains, and maybe the parameters."""
    import casadi

    sizes = {"q": robot.nq, "qd": robot.nv}
    sizes |= {f"{part} {name}": robot.nv for part in ("memory", "signals", "gains") for name in getattr(law, part)}
    sizes |= {"parameters": parameter_count(robot.tree)} if runtime else {}
    symbols = {name: casadi.SX.sym(name, size) for name, size in sizes.items()}
    parts = {name: [symbol[i] for i in range(sizes[name])] for name, symbol in symbols.items()}
    memory, signals, gains = (
        {name: parts[f"{part} {name}"] for name in getattr(law, part)} for part in ("memory", "signals", "gains")
    )
    q, qd = parts["q"], parts["qd"]
    tree = with_parameters(robot.tree, parts["parameters"]) if runtime else lumped(robot.tree)
    tau = law.torque(TracedModel(tree), q, qd, signals, gains, memory)
    if passive:
        tau = [a + b for a, b in zip(tau, resistance(joint_friction(robot), qd), strict=True)]
    qdd = find_for(tree, "forward_dynamics", None)[2](tree, q, qd, tau)
    changes, free = law.rates(q, qd, signals), quasi_velocity_joints(robot.tree)
    result = [
        *coordinate_rates(free, q, qd), *qdd, *(x for name in law.memory for x in changes[name]),
        *coordinate_rates(free, q, qdd),
    ]  # fmt: skip
    output = casadi.densify(casadi.cse(casadi.vertcat(*(casadi.SX(x) for x in result))))
    return simplify(listing(casadi.Function("rate", list(symbols.values()), [output])))


def rate_digest(robot: Robot, law: Law, passive: bool, runtime: bool = False) -> str:
    """A name for what `rate` computes."""
    return digest(tree_digest(robot.tree), law.name, joint_friction(robot) if passive else (), runtime)


def resistance(lost: JointFriction, qd: list[Scalar]) -> list[Scalar]:
    """Damping and dry friction over scalars (`JointFriction.forces` over arrays)."""
    return [
        -(speed * damping + (speed.sign() * friction if friction else 0.0))
        for speed, damping, friction in zip(qd, lost.damping, lost.friction, strict=True)
    ]
