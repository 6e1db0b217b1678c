"""One period of a controller, over scalars: the law, its torque limits, and its memory.

    τ  = clip(law(q, q̇, signals, gains, memory), ±limit)
    m⁺ = m + T ṁ,  but not for an entry whose joint is at its limit and whose growth would push it further there

The second line is conditional integration: an integral does not wind up while its drive gives all it has. A torque falls
with its integral (τ = ... - Ki ∫e), so growth pushes further where ṁ and the cut-off part of τ have opposite signs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from appell.algebra import Scalar
from appell.algorithms.laws import Law, Vector
from appell.algorithms.registry import Quantity
from appell.algorithms.system import System, find_for
from appell.model.parameters import lumped

if TYPE_CHECKING:
    from appell.model.tree import Tree

UNLIMITED = 3.0e38
"""What stands for no torque limit: finite, also in single precision. [N m, N]"""


@dataclass(frozen=True)
class TreeModel:
    """The equations of a robot over scalars, for laws."""

    tree: Tree

    def inverse_dynamics(self, q: Vector, qd: Vector, qdd: Vector) -> Vector:
        return find_for(self.tree, "inverse_dynamics")[2](self.tree, q, qd, qdd)

    def gravity(self, q: Vector) -> Vector:
        return find_for(self.tree, "gravity")[2](self.tree, q)


def sampled_step(
    controlled: Controlled, q: Vector, qd: Vector, reference: Vector, gains: Vector, limit: Vector, *kept: Vector
) -> list[Vector]:
    """Torques, then each vector of the memory at the next period; `kept` is the memory now and the period, if any."""
    law, n = controlled.law, len(q)
    memory, (period,) = kept if kept else ([], [0.0])
    signals, strengths, stored = (
        {name: values[k * n : (k + 1) * n] for k, name in enumerate(names)}
        for names, values in ((law.signals, reference), (law.gains, gains), (law.memory, memory))
    )
    wanted = law.torque(TreeModel(lumped(controlled.tree)), q, qd, signals, strengths, stored)
    tau = [clipped(x, bound) for x, bound in zip(wanted, limit, strict=True)]
    excess = [a - b for a, b in zip(wanted, tau, strict=True)]
    rates = law.rates(q, qd, signals)
    grown = [
        [m + period * rate * allowed(beyond, rate) for m, rate, beyond in zip(stored[k], rates[k], excess, strict=True)]
        for k in law.memory
    ]
    return [tau, *grown]


def allowed(beyond: Scalar, rate: Scalar) -> Scalar:
    """0 where a torque is cut off and its integral would push it further, else 1."""
    return 1.0 + least(sign(beyond) * sign(rate), 0.0)


def clipped(x: Scalar, bound: Scalar) -> Scalar:
    """x between -bound and bound."""
    return -least(-least(x, bound), bound)


def least(a: Scalar, b: Scalar) -> Scalar:
    """The lesser of two scalars."""
    if hasattr(a, "fmin"):
        return a.fmin(b)
    import numpy

    return numpy.minimum(a, b)


def sign(x: Scalar) -> Scalar:
    """-1, 0 or 1."""
    if hasattr(x, "fmin"):
        return x.sign()
    import numpy

    return numpy.sign(x)


@dataclass(frozen=True)
class Controlled(System):
    """A robot under a law, as one function `step` with the robot's dynamics inside.

    Its inputs are the state `q` and `qd`; all signals in `reference` and all gains in `gains`, one after the other as the
    law lists them; `limit`; and for laws that have one, `memory` and `period`. The result has a row for the torques and one
    for each vector of the memory.
    """

    law: Law
    tree: Tree

    @property
    def quantities(self) -> Mapping[str, Quantity]:  # pyright: ignore[reportIncompatibleVariableOverride]
        kept = ("memory", "period") if self.law.memory else ()
        names = ("q", "qd", "reference", "gains", "limit", *kept)
        shape = (1 + len(self.law.memory), "v")
        return {"step": Quantity("step", names, shape, "sampled", methods={"sampled": sampled_step})}

    @property
    def sizes(self) -> Mapping[str, int]:
        law, n = self.law, self.tree.nv
        vectors = {"reference": len(law.signals), "gains": len(law.gains), "memory": len(law.memory)}
        return {**dict.fromkeys(("q", "qd", "limit", "v"), n), **{k: n * m for k, m in vectors.items()}, "period": 1}

    @property
    def content(self) -> object:
        return self.law.name, self.tree.links, self.tree.gravity, self.tree.base, self.tree.nv
