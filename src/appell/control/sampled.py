"""One sample of a controller, over scalars: the law, its effort limits, and its memory.

    τ  = clip(law(q, q̇, signals, gains, memory), ±limit)
    m⁺ = m + T ṁ,  except for entries of saturated joints whose growth would increase the saturation

The second line is conditional integration (anti-windup). A torque falls with its integral (τ = ... - Ki ∫e), so growth
increases the saturation where ṁ and the cut-off part of τ have opposite signs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from appell.algebra import Scalar
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
    law, n = controlled.law, len(q)
    memory, (period,) = state if state else ([], [0.0])
    signals, law_gains, law_memory = (
        {name: values[k * n : (k + 1) * n] for k, name in enumerate(names)}
        for names, values in ((law.signals, reference), (law.gains, gains), (law.memory, memory))
    )
    desired = law.torque(TreeModel(lumped(controlled.tree)), q, qd, signals, law_gains, law_memory)
    tau = [clip(x, bound) for x, bound in zip(desired, limit, strict=True)]
    cut_off = [a - b for a, b in zip(desired, tau, strict=True)]
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
    return -minimum(-minimum(x, bound), bound)


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
    the effort limits `limit`; and for laws with memory, `memory` and `period`. The result has a row for the torques and one
    for each vector of the memory.
    """

    law: Law
    tree: Tree
    sources = (Path(__file__),)

    @property
    def quantities(self) -> Mapping[str, Quantity]:
        state = ("memory", "period") if self.law.memory else ()
        names = ("q", "qd", "reference", "gains", "limit", *state)
        shape = (1 + len(self.law.memory), "v")
        return {"step": Quantity("step", names, shape, "sampled", methods={"sampled": sampled_step})}

    @property
    def sizes(self) -> Mapping[str, int]:
        law, n = self.law, self.tree.nv
        vectors = {"reference": len(law.signals), "gains": len(law.gains), "memory": len(law.memory)}
        return {**dict.fromkeys(("q", "qd", "limit", "v"), n), **{k: n * m for k, m in vectors.items()}, "period": 1}

    @property
    def fingerprint_data(self) -> object:
        return self.law.name, self.tree.links, self.tree.gravity, self.tree.base, self.tree.nv
