"""Joints that mimic others, for a method that frees every joint.

A follower is cut free and held to its leader by a constraint force. With one equation
    a_k · q̈ = q̈_follower - multiplier q̈_leader = 0
for each, the forces λ solve S λ = -a · q̈_free, where S_kl is a_k applied to the accelerations that a unit of force l gives.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from appell.algebra import Scalar
from appell.algorithms.linear import solve

if TYPE_CHECKING:
    from appell.algorithms.forward_dynamics.articulated import ArticulatedFactors

Accelerations = list[list[Scalar]]
"""Per link, those of its joint."""


@dataclass(frozen=True)
class MimicConstraint:
    """One follower, its leader, and their ratio."""

    follower: int
    leader: int
    multiplier: Scalar

    def residual(self, accelerations: Accelerations) -> Scalar:
        """How far the follower's acceleration is from what it should be."""
        return accelerations[self.follower][0] - accelerations[self.leader][0] * self.multiplier


@dataclass(frozen=True)
class MimicConstraints:
    """All couplings of a robot and the accelerations that a unit of each constraint force gives."""

    couplings: list[MimicConstraint]
    responses: list[Accelerations]

    @classmethod
    def of(cls, factors: ArticulatedFactors) -> MimicConstraints:
        links = factors.tree.links
        leader = {link.idx_v: i for i, link in enumerate(links) if link.is_independent}
        couplings = [
            MimicConstraint(i, leader[link.idx_v], link.multiplier)
            for i, link in enumerate(links)
            if not link.is_independent
        ]
        responses = []
        for coupling in couplings:
            forces: list[list[Scalar]] = [[0.0] * link.kind.nv for link in links]
            forces[coupling.follower][0] = 1.0
            forces[coupling.leader][0] = -coupling.multiplier
            responses.append(factors.response(forces))
        return cls(couplings, responses)

    def enforce(self, free: Accelerations) -> Accelerations:
        """The accelerations with the couplings held."""
        S = [[coupling.residual(response) for response in self.responses] for coupling in self.couplings]
        forces = solve(S, [-coupling.residual(free) for coupling in self.couplings], range(len(S)))
        held = [list(own) for own in free]
        for response, force in zip(self.responses, forces, strict=True):
            for own, change in zip(held, response, strict=True):
                own[:] = [a + b * force for a, b in zip(own, change, strict=True)]
        return held
