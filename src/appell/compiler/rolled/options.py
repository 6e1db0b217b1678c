"""Programs with the gravity vector and external forces among their inputs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from appell.algebra import ZERO, Vec3
from appell.algorithms.function_spec import FunctionSpec
from appell.compiler.rolled.sweep import LinkPass, Program, StepInput, StepOutput, Value, pack, unpack
from appell.model.tree import BASE, Tree


def with_options(make: Callable[[Tree], Program], tree: Tree, spec: FunctionSpec) -> Program:
    """The program that is made of a tree, with the optional inputs of a spec."""
    program = with_gravity(make, tree) if spec.gravity_input else make(tree)
    if spec.force_frames:
        links = frozenset(tree.frames[name].link for name in spec.force_frames) - {BASE}
        inputs = (*program.inputs, "external_forces")
        program = replace(program, inputs=inputs, force_frames=spec.force_frames, forced=links)
    return program


def with_gravity(make: Callable[[Tree], Program], tree: Tree) -> Program:
    """Gravity is part of what the base carries: the links on the base add it to that."""

    def with_input(number: int, sweep: LinkPass) -> LinkPass:
        def carried_by_base(visit: StepInput, carried: Value) -> Value:
            gravity = tree.base.T @ Vec3(*visit.own["gravity"])
            start = make(replace(tree, gravity=gravity)).sweeps[number].start
            parts = zip(pack(carried), pack(start), pack(sweep.start), strict=True)
            return unpack(carried, [value + (own - without) for value, own, without in parts])

        def step(visit: StepInput, carried: Value) -> StepOutput:
            return sweep.step(visit, carried_by_base(visit, carried) if visit.at_base else carried)

        return sweep if sweep.inward else replace(sweep, step=step)

    program = make(replace(tree, gravity=ZERO))
    sweeps = tuple(with_input(number, sweep) for number, sweep in enumerate(program.sweeps))
    return replace(program, inputs=(*program.inputs, "gravity"), sweeps=sweeps)
