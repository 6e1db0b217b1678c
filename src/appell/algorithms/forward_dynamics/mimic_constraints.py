"""Mimic joints, for a method that releases every joint.

A mimic joint is released and coupled to its leader by a constraint force. With one equation
    a_k · q̈ = q̈_k - multiplier q̈_leader = 0
each, the forces λ solve S λ = -a · q̈_released, where S_kl is a_k applied to the accelerations of a unit force l.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from appell.algebra import Scalar
from appell.algorithms.linear import solve

if TYPE_CHECKING:
    from appell.algorithms.forward_dynamics.articulated import ArticulatedFactors

Accelerations = list[list[Scalar]]
"""Per link, the accelerations of its joint."""


@dataclass(frozen=True)
class MimicConstraint:
    """A mimic joint, its leader, and their ratio."""

    follower: int
    leader: int
    multiplier: Scalar

    def residual(self, accelerations: Accelerations) -> Scalar:
        """q̈_follower - multiplier q̈_leader."""
        return accelerations[self.follower][0] - accelerations[self.leader][0] * self.multiplier


@dataclass(frozen=True)
class MimicConstraints:
    """All mimic constraints of a robot and the accelerations of a unit of each constraint force."""

    constraints: list[MimicConstraint]
    responses: list[Accelerations]

    @classmethod
    def of(cls, factors: ArticulatedFactors) -> MimicConstraints:
        links = factors.tree.links
        leader = {link.idx_v: i for i, link in enumerate(links) if link.is_independent}
        constraints = [
            MimicConstraint(i, leader[link.idx_v], link.multiplier)
            for i, link in enumerate(links)
            if not link.is_independent
        ]
        responses = []
        for constraint in constraints:
            forces: list[list[Scalar]] = [[0.0] * link.kind.nv for link in links]
            forces[constraint.follower][0] = 1.0
            forces[constraint.leader][0] = -constraint.multiplier
            responses.append(factors.response(forces))
        return cls(constraints, responses)

    def enforce(self, released: Accelerations) -> Accelerations:
        """The accelerations that satisfy the constraints."""
        S = [[constraint.residual(response) for response in self.responses] for constraint in self.constraints]
        forces = solve(S, [-constraint.residual(released) for constraint in self.constraints], range(len(S)))
        accelerations = [list(own) for own in released]
        for response, force in zip(self.responses, forces, strict=True):
            for own, change in zip(accelerations, response, strict=True):
                own[:] = [a + b * force for a, b in zip(own, change, strict=True)]
        return accelerations
