"""One sample of a controller, over scalars: the law, its effort limits, and its memory.

    τ  = clip(law(q, q̇, signals, gains, memory) + D q̇, ±limit)        D = 0 unless damping is compensated
    m⁺ = m + T ṁ,  except for entries of saturated joints whose growth would increase the saturation

The second line is conditional integration (anti-windup). A torque falls with its integral (τ = ... - Ki ∫e), so growth
increases the saturation where ṁ and the cut-off part of τ have opposite signs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from appell.algebra import Scalar, is_zero
from appell.algorithms.actuated_joints import ActuatedJoints
from appell.algorithms.coordinate_rates import quasi_velocity_joints
from appell.algorithms.laws import Law, Vector
from appell.algorithms.registry import Quantity
from appell.algorithms.system import System
from appell.compiler.state_rate import TreeModel
from appell.model.parameters import lumped
from appell.model.tree import Tree

NO_EFFORT_LIMIT = 3.0e38
"""Value for joints without effort limit: finite, also in single precision. [N m, N]"""


def sampled_step(
    controlled: ControlledTree, q: Vector, qd: Vector, reference: Vector, gains: Vector, limit: Vector, *state: Vector
) -> list[Vector]:
    """Torques, then each vector of the memory at the next sample; `state` is the memory and the period, if any."""
    joints = controlled.joints
    law, n = joints.applied(controlled.law), joints.size(controlled.law)
    memory, (period,) = state if state else ([], [0.0])
    signals, law_gains, law_memory = (
        {name: values[k * n : (k + 1) * n] for k, name in enumerate(names)}
        for names, values in ((law.signals, reference), (law.gains, gains), (law.memory, memory))
    )
    desired = law.torque(TreeModel(lumped(controlled.tree)), q, qd, signals, law_gains, law_memory)
    for k in joints.v if controlled.damping else ():
        desired[k] = desired[k] + qd[k] * controlled.damping[k]
    tau = [clip(x, bound) for x, bound in zip(desired, limit, strict=True)]
    cut_off = [desired[k] - tau[k] for k in joints.v]
    rates = law.rates(q, qd, signals)
    next_memory = [
        [
            m + period * rate * integration_factor(beyond, rate)
            for m, rate, beyond in zip(law_memory[name], rates[name], cut_off, strict=True)
        ]
        for name in law.memory
    ]
    return [tau, *next_memory]


def integration_factor(cut_off: Scalar, rate: Scalar) -> Scalar:
    """0 where a joint is saturated and its integral would increase the saturation, else 1."""
    return 1.0 + minimum(sign(cut_off) * sign(rate), 0.0)


def clip(x: Scalar, bound: Scalar) -> Scalar:
    """x between -bound and bound."""
    return x if is_zero(x) else -minimum(-minimum(x, bound), bound)


def minimum(a: Scalar, b: Scalar) -> Scalar:
    """The lesser of two CasADi or NumPy scalars."""
    return a.fmin(b) if hasattr(a, "fmin") else np.minimum(a, b)


def sign(x: Scalar) -> Scalar:
    """-1, 0 or 1."""
    return x.sign() if hasattr(x, "fmin") else np.sign(x)


@dataclass(frozen=True)
class ControlledTree(System):
    """A tree with a control law, as one function `step` that includes the robot's dynamics.

    Inputs: the state `q` and `qd`; the signals in `reference` and the gains in `gains`, concatenated in the order of the law;
    the effort limits `limit`; and for laws with memory, `memory` and `period`. The result has the torques of all velocities, then
    each vector of the memory. Signals, gains and memory have entries for the joints with an actuator. `damping` (nv,) times qd is
    added to the torques, if it is given.
    """

    law: Law
    tree: Tree
    damping: tuple[float, ...] = ()
    sources = (Path(__file__),)

    @property
    def quantities(self) -> Mapping[str, Quantity]:
        state = ("memory", "period") if self.law.memory else ()
        names = ("q", "qd", "reference", "gains", "limit", *state)
        shape = ("+".join(["v", *["a"] * len(self.law.memory)]),)
        return {"step": Quantity("step", names, shape, "sampled", methods={"sampled": sampled_step})}

    @property
    def sizes(self) -> Mapping[str, int]:
        law, tree, n = self.law, self.tree, self.joints.size(self.law)
        vectors = {"reference": len(law.signals), "gains": len(law.gains), "memory": len(law.memory), "a": 1}
        return {
            **dict.fromkeys(("qd", "limit", "v"), tree.nv), **{k: n * m for k, m in vectors.items()}, "q": tree.nq, "period": 1,
        }  # fmt: skip

    @property
    def joints(self) -> ActuatedJoints:
        """The joints that the law acts on."""
        return ActuatedJoints.of(self.tree.nq, self.tree.nv, quasi_velocity_joints(self.tree))

    @property
    def fingerprint_data(self) -> object:
        return self.law.name, self.tree.links, self.tree.gravity, self.tree.base, self.tree.nv, self.damping
