"""Second derivatives of inverse dynamics in rolled form."""

from __future__ import annotations

from dataclasses import replace

from appell.algebra import Wrench
from appell.algorithms.common_frame import GroupMomentum
from appell.algorithms.derivatives.second import (
    MovedBody,
    forces_beside,
    forces_between,
    forces_beyond,
    forces_within,
    pair_above,
    pair_within,
)
from appell.compiler.rolled.sweep import Program, StepInput, StepOutput, TriplePass, TripleStep


def second_derivatives(first: Program) -> Program:
    """From the program of first derivatives (`appell.algorithms.derivatives.second`)."""
    outward, inward = first.sweeps

    def subtrees(visit: StepInput, carried: tuple[GroupMomentum, Wrench]) -> StepOutput:
        left = inward.step(visit, carried)
        return left._replace(kept={**left.kept, "subtree": left.carried[0]})

    def bodies(visit: StepInput) -> list[MovedBody]:
        group, moved = visit.kept["subtree"], visit.kept["moved"]
        return [MovedBody.of(unit, group, by) for unit, by in zip(visit.kept["joint"], moved, strict=True)]

    def own(visit: StepInput, degree: int, a: MovedBody) -> TripleStep:
        pair = pair_within(a, bodies(visit)[degree])
        return TripleStep(pair, [forces_within(pair, c) for c in visit.kept["joint"]])

    def above(visit: StepInput, degree: int, a: MovedBody) -> TripleStep:
        joint = visit.kept["joint"]
        pairs = [pair_above(a, unit) for unit in joint]
        found = [forces_beside(pairs[degree], joint[degree], *each) for each in zip(pairs, joint, strict=True)]
        return TripleStep(pairs[degree], found)

    triples = TriplePass(
        begin=bodies,
        own=own,
        pair=above,
        within=lambda visit, pair: [forces_within(pair, c) for c in visit.kept["joint"]],
        between=lambda visit, pair: [forces_between(pair, c) for c in visit.kept["joint"]],
        above=lambda visit, pair: [forces_beyond(pair, c) for c in visit.kept["joint"]],
        matrices=4,
    )
    sweeps = outward, replace(inward, step=subtrees)
    return Program(first.inputs, sweeps, triples=triples, alone=first.alone)
