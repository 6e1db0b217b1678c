"""The rate of a state under a control law as a system, so that it and its derivatives are compiled like other functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from appell.algebra import Scalar
from appell.algorithms.actuated_joints import ActuatedJoints
from appell.algorithms.coordinate_rates import quasi_velocity_joints
from appell.algorithms.laws import Law
from appell.algorithms.registry import Algorithm, Quantity
from appell.algorithms.system import System
from appell.compiler.state_rate import rate_of_state
from appell.model.joint_friction import JointFriction
from appell.model.parameters import lumped, parameter_count, with_parameters
from appell.model.tree import Tree


@dataclass(frozen=True)
class RateSystem(System):
    """The rate of a state under a control law as a system whose inputs are the state, signals, gains and parameters."""

    tree: Tree
    law: Law
    runtime: bool
    new_speeds: bool
    friction: JointFriction | None = None

    @property
    def joints(self) -> ActuatedJoints:
        return ActuatedJoints.of(self.tree.nq, self.tree.nv, quasi_velocity_joints(self.tree))

    @property
    def sizes(self) -> Mapping[str, int]:
        n, law = self.joints.size(self.law), self.law
        state = self.tree.nq + self.tree.nv + n * len(law.memory)
        return {
            "state": state, "signals": n * len(law.signals), "gains": n * len(law.gains),
            "parameters": parameter_count(self.tree) if self.runtime else 0,
            "rate": state + (self.tree.nq if self.new_speeds else 0),
        }  # fmt: skip

    @property
    def fingerprint_data(self) -> object:
        tree, parts = self.tree, (self.law.name, self.friction, self.runtime, self.new_speeds)
        return tree.links, tree.gravity, tree.base, tree.nq, tree.nv, parts

    def find(self, function: str, method: str | None = None) -> tuple[Quantity, str, Algorithm]:
        inputs = tuple(name for name in ("state", "signals", "gains", "parameters") if self.sizes[name])
        return Quantity("rate", inputs, ("rate",), "traced"), "traced", rate


def rate(system: RateSystem, state: Sequence[Scalar], *given: Sequence[Scalar]) -> list[Scalar]:
    tree, joints = system.tree, system.joints
    inputs = dict(zip(system.find("rate")[0].inputs[1:], given, strict=True))
    q, qd, rest = list(state[: tree.nq]), list(state[tree.nq : tree.nq + tree.nv]), state[tree.nq + tree.nv :]
    n = joints.size(system.law)
    memory, signals, gains = (
        {name: list(values[k * n : k * n + n]) for k, name in enumerate(names)}
        for names, values in (
            (system.law.memory, rest),
            (system.law.signals, inputs.get("signals", ())),
            (system.law.gains, inputs.get("gains", ())),
        )
    )
    moved = with_parameters(tree, list(inputs["parameters"])) if system.runtime else lumped(tree)
    law = joints.applied(system.law)
    return rate_of_state(moved, law, system.friction, (q, qd), memory, signals, gains)[: system.sizes["rate"]]
