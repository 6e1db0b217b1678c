"""Derivatives of rollouts on the CPU, each in one compiled loop.

Forward sensitivities are rollouts of states together with their directions. The adjoint takes all steps forward and back.
"""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np

from appell.compiler.differentiate import forward_by_parts, reverse
from appell.compiler.fingerprint import source_digest
from appell.compiler.lowering import StraightLine
from appell.compiler.operations import OperationList
from appell.compiler.targets.llvm.adjoint import adjoint_text, kept_states, states_of_step
from appell.compiler.targets.llvm.build import Builder
from appell.compiler.targets.llvm.ir import Real
from appell.compiler.targets.llvm.library import Library
from appell.compiler.targets.llvm.rollout import rollout_text
from appell.compiler.targets.llvm.step import Sizes
from appell.robot.compiled import CompiledRobot
from appell.rollouts.native import MAX_LANES, run_at_once, settings_of, sizes_of, with_numbers
from appell.rollouts.plan import (
    RolloutPlan,
    RolloutWeights,
    empty_states,
    join_columns,
    rate_of,
    signal_rows,
    state_rows,
)

SEGMENT = 1 << 16
"""Bytes of states that a segment of the adjoint may have in any case, for each robot up to MAX_LANES: steps of a single segment
are not taken again. For few robots that takes less time than memory that is new to the process."""


def forward_source(rate: OperationList, plan: RolloutPlan, real: Real) -> str:
    """LLVM IR of states and their directions."""
    moving = plan.nq, plan.nv, plan.memory
    inputs = *moving, plan.signal_count, plan.constant_count
    both = forward_by_parts(rate, inputs, (*moving, plan.nq) if plan.tableau.new_speeds else moving)
    doubled = Sizes(*(2 * size for size in sizes_of(plan)))
    return rollout_text(StraightLine(both), real, plan.tableau, doubled, plan.quaternions, directions=True)


def adjoint_source(rate: OperationList, plan: RolloutPlan, real: Real) -> str:
    """LLVM IR of the adjoint."""
    forms = StraightLine(rate), StraightLine(reverse(rate))
    return adjoint_text(*forms, real, plan.tableau, sizes_of(plan), plan.quaternions)


SOURCES = {"forward": forward_source, "adjoint": adjoint_source}


def compiled(dyn: CompiledRobot, plan: RolloutPlan, builder: Builder, kind: str) -> Library:
    """A loop, out of the cache where possible."""
    key, rate = rate_of(dyn, plan)
    content = key, plan.integrator, plan.quasi_velocity_joints, source_digest(Path(__file__).parent)
    name = builder.name(kind, *content)

    def build() -> Library:
        found = builder.cached(name, "batch")
        return found or builder.compiled(name, "batch", SOURCES[kind](rate(), plan, builder.real))

    return dyn.functions.program(name, build)


def forward(dyn: CompiledRobot, plan: RolloutPlan, builder: Builder, along: RolloutPlan) -> np.ndarray:
    """Directions of the saved states, as `empty_states`, from those of the arguments, which are in place of these in `along`."""
    dtype = builder.real.dtype
    plan, along = with_numbers(plan, dtype), with_numbers(along, dtype)
    q, qd = (
        join_columns(np, [state_rows(np, x, plan) for x in pair], 2, dtype)
        for pair in zip(plan.start, along.start, strict=True)
    )
    both = [x for each in (plan, along) for x in each.signals.values()]
    signals = join_columns(np, [signal_rows(np, x, plan) for x in both], 3, dtype)
    constants = join_columns(np, [state_rows(np, x, plan) for x in (*plan.constants, *along.constants)], 2, dtype)
    result, seen = empty_states(np, plan, dtype)
    settings = settings_of((plan.last, plan.save_every, plan.hold), (signals, seen), plan.dt, dtype)
    library = compiled(dyn, plan, builder, "forward")
    run_at_once(dyn, plan, library, (q, qd, signals[:, 0], constants, settings), seen[:, 0])
    return result


def backward(
    dyn: CompiledRobot, plan: RolloutPlan, builder: Builder, q: np.ndarray, qd: np.ndarray
) -> tuple[RolloutWeights, int | None]:
    """Gradients from the weights of saved states, (N, T, n), and a step where they are not finite, or None."""
    real, count, plan = builder.real, math.prod(plan.batch_shape), with_numbers(plan, builder.real.dtype)
    q, qd = (np.require(weights, real.dtype, ["ALIGNED"]) for weights in (q, qd))
    signals = join_columns(np, [signal_rows(np, x, plan) for x in plan.signals.values()], 3, real.dtype)
    constants = join_columns(np, [state_rows(np, x, plan) for x in plan.constants], 2, real.dtype)
    of_step, bytes_of_state = states_of_step(plan.tableau, plan.quaternions), plan.state_size * real.lanes * real.item
    segment = SEGMENT * min(count, MAX_LANES) // max(of_step * bytes_of_state, 1)
    length = max(math.isqrt(plan.last - 1) + 1, segment)
    settings = settings_of((plan.last, plan.save_every, plan.hold, length), (signals, q, qd), plan.dt, real.dtype)
    starts = (state_rows(np, x, plan) for x in plan.start)
    inputs = *starts, signals[:, 0], constants, q[:, 0], qd[:, 0], settings

    times, ends = -(-plan.steps // plan.hold), np.cumsum([plan.state_size, constants.shape[-1], 1])
    shape = count, int(ends[-1]) + times * plan.signal_count
    out = np.zeros(shape[::-1], real.dtype).T if plan.columns else np.zeros(shape, real.dtype)
    library, kept = compiled(dyn, plan, builder, "adjoint"), kept_states(of_step, plan.last, length)
    run_at_once(dyn, plan, replace(library, work=library.work + kept * bytes_of_state), inputs, out)
    state, by_constants, failed, by_signals = np.split(out, ends, axis=1)
    found = RolloutWeights(state, by_signals.reshape(count, times, plan.signal_count), by_constants)
    return found, int(failed.max()) if (failed >= 0).any() else None
