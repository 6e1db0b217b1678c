"""Lowered functions as plain data for JSON."""

from __future__ import annotations

from typing import Any

from appell.algorithms.function_spec import FunctionSpec
from appell.compiler.lowering import LoweredFunction
from appell.compiler.operations import OperationList
from appell.compiler.rolled.form import Rolled
from appell.compiler.rolled.steps import TracedClimb, TracedStep
from appell.compiler.rolled.triple_steps import TracedTriples
from appell.compiler.stages import Stages


def spec_data(spec: FunctionSpec) -> dict[str, Any]:
    """The fields under their names of version 0.1."""
    return {
        "function": spec.function, "method": spec.method, "gravity": spec.gravity_input,
        "forces": list(spec.force_frames), "frame": spec.frame, "reference": spec.reference,
        "parameters": spec.parameter_input,
    }  # fmt: skip


def lowered_data(lowered: LoweredFunction) -> dict[str, Any]:
    """A lowered function under its kind."""
    if isinstance(lowered, Rolled):
        return {"kind": "rolled", **rolled_data(lowered)}
    return {"kind": "straight", **operations_data(lowered.listed)}


def stages_data(stages: Stages) -> dict[str, Any]:
    return {"factors": operations_data(stages.factors), "solution": operations_data(stages.solution)}


def operations_data(listed: OperationList) -> dict[str, Any]:
    """Operations as lists: name and arguments, or the index of an input, or a constant."""
    operations: list[list[Any]] = []
    for name, arguments, number in listed.operations:
        if name == "input":
            operations.append([name, int(number)])
        else:
            operations.append([name, number] if name == "const" else [name, *arguments])
    return {"sizes": list(listed.sizes), "operations": operations, "outputs": list(listed.outputs)}


def rolled_data(rolled: Rolled) -> dict[str, Any]:
    return {
        "inputs": list(rolled.inputs), "nq": rolled.nq, "nv": rolled.nv, "row": rolled.row,
        "matrices": rolled.matrices, "solves": rolled.solves, "by_link": rolled.by_link,
        "sums": rolled.sums,
        "links": [[*link[:-1], list(link.numbers)] for link in rolled.links],
        "sweeps": [
            {
                "inward": sweep.inward, "start": list(sweep.start), "alive": list(sweep.alive),
                "steps": [step_data(step) for step in sweep.steps],
            }
            for sweep in rolled.sweeps
        ],
        "climb": [climb_data(climb) for climb in rolled.climb],
        "masses": [climb_data(climb) for climb in rolled.masses], "solved_after": rolled.solved_after,
        "stacked": rolled.stacked, "forces": rolled.forces, "triples": [triples_data(triples) for triples in rolled.triples],
    }  # fmt: skip


def climb_data(climb: TracedClimb) -> dict[str, Any]:
    begin = [step_data(step) for step in climb.begin]
    return {"begin": begin, "carry": step_data(climb.carry), "meet": step_data(climb.meet)}


def triples_data(triples: TracedTriples) -> dict[str, Any]:
    of_degrees = ("begin", triples.begin), ("own", triples.own), ("pair", triples.pair)
    visits = ("within", triples.within), ("between", triples.between), ("above", triples.above)
    degrees = {name: [step_data(step) for step in steps] for name, steps in of_degrees}
    return {**degrees, **{name: step_data(step) for name, step in visits}}


def step_data(step: TracedStep) -> dict[str, Any]:
    return {
        "sources": [[source.origin, source.index] for source in step.sources],
        "listed": operations_data(step.listed),
        "targets": [list(target) for target in step.targets],
    }
