"""The rate of change of a robot's state under a control law, traced as one function.

x = (q, qd, signals, gains)        ẋ = (q̇, q̈)        M q̈ + bias = τ(q, qd) - damping qd - friction sign(qd)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from appell.algebra import Scalar
from appell.algorithms.passive_forces import Losses, losses
from appell.algorithms.registry import find
from appell.compiler.fingerprint import digest, tree_digest
from appell.compiler.listing import Listing, listing
from appell.compiler.simplify import simplify
from appell.errors import ArgumentError
from appell.model.lumping import lumped
from appell.model.tree import Tree
from appell.control.laws import Law

if TYPE_CHECKING:
    from appell.model.robot import Robot


class TracedModel:
    """The robot's own equations over scalars."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree

    def inverse_dynamics(self, q: list[Scalar], qd: list[Scalar], qdd: list[Scalar]) -> list[Scalar]:
        return find("inverse_dynamics")[2](self.tree, q, qd, qdd)

    def gravity(self, q: list[Scalar]) -> list[Scalar]:
        return find("gravity")[2](self.tree, q)


def rate(robot: Robot, law: Law, passive: bool) -> Listing:
    """Operations of ẋ; inputs are q, qd, all signals and all gains."""
    import casadi

    if robot.nq != robot.nv:
        raise ArgumentError(
            f"rollouts need joints whose coordinates change at their speeds; {robot.name!r} has joints that turn freely in "
            "space (nq > nv). Step it with forward_dynamics and robot.integrate instead."
        )
    tree, n = lumped(robot.tree), robot.nv
    names = ["q", "qd", *(f"signal_{name}" for name in law.signals), *(f"gain_{name}" for name in law.gains)]
    symbols = {name: casadi.SX.sym(name, n) for name in names}
    parts = {name: [symbol[i] for i in range(n)] for name, symbol in symbols.items()}
    signals = {name: parts[f"signal_{name}"] for name in law.signals}
    gains = {name: parts[f"gain_{name}"] for name in law.gains}
    tau = law.torque(TracedModel(tree), parts["q"], parts["qd"], signals, gains)
    if passive:
        tau = [a + b for a, b in zip(tau, resistance(losses(robot), parts["qd"]), strict=True)]
    qdd = find("forward_dynamics", None, n)[2](tree, parts["q"], parts["qd"], tau)
    result = casadi.cse(casadi.vertcat(*parts["qd"], *(casadi.SX(x) for x in qdd)))
    return simplify(listing(casadi.Function("rate", list(symbols.values()), [casadi.densify(result)])))


def rate_digest(robot: Robot, law: Law, passive: bool) -> str:
    """A name for what `rate` computes."""
    return digest(tree_digest(robot.tree), law.name, losses(robot) if passive else ())


def resistance(lost: Losses, qd: list[Scalar]) -> list[Scalar]:
    """Damping and dry friction over scalars (`Losses.forces` over arrays)."""
    return [
        -(speed * damping + (speed.sign() * friction if friction else 0.0))
        for speed, damping, friction in zip(qd, lost.damping, lost.friction, strict=True)
    ]
