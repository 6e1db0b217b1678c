"""Rollouts on the CPU as one compiled loop: a SIMD lane is a robot, and its state stays in fast memory for all steps."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from appell.algorithms.coordinate_rates import quaternions
from appell.algorithms.function_spec import Signature
from appell.arrays import require_unit_quaternions
from appell.checks import require_finite
from appell.compiler.fingerprint import source_digest
from appell.compiler.lowering import StraightLine
from appell.compiler.targets.c.simd import rollout_source
from appell.compiler.targets.c.target import CpuTarget
from appell.errors import ArgumentError
from appell.rollouts import plain
from appell.rollouts.arrays import empty_states, join_columns, signal_rows, split_states, state_rows
from appell.rollouts.integrators import INTEGRATORS, Integrator

if TYPE_CHECKING:
    from appell.compiler.targets.c.library import Library
    from appell.robot.compiled import CompiledRobot
    from appell.rollouts.plan import RolloutPlan

LONGEST = 40_000
"""Operations of a rate beyond which a batch call for every step, whose kernels may be rolled, is as fast and sooner ready."""


def run(dyn: CompiledRobot, plan: RolloutPlan, check: bool) -> tuple[np.ndarray, np.ndarray]:
    """q and qd, (..., T, n), or (n, T, ...) in columns."""
    plan = plan.with_arrays(lambda name, value: _numbers(name, value, dyn.options.dtype))
    if check:
        plan.with_arrays(_finite)
        _require_unit_quaternions(plan)
    library = _library(dyn, plan)
    return plain.run(dyn, plan) if library is None else _in_one_call(dyn, plan, library)


def source(dyn: CompiledRobot, plan: RolloutPlan, rule: Integrator, lanes: int) -> str | None:
    """C source of a rollout, or None where straight-line code would be too long."""
    listed = dyn.state_rate(plan.law, plan.passive_forces, plan.runtime_parameters)[1]()
    if len(listed.operations) > LONGEST:
        return None
    sizes = {
        "NQ": plan.nq, "NV": plan.nv, "STATE": plan.nq + plan.nv + plan.memory,
        "SIGNALS": plan.nv * len(plan.law.signals), "CONSTANTS": plan.constant_count,
    }  # fmt: skip
    places = [begin for _, begin in quaternions(plan.quasi_velocity_joints)]
    title = f"rollout, {rule.name}"
    return rollout_source(StraightLine(listed), dyn.options.dtype, lanes, title, rule.text, sizes, places)


def _library(dyn: CompiledRobot, plan: RolloutPlan) -> Library | None:
    """The compiled loop, or None where there is no compiler, the robot is too long, or its file does not have the law."""
    builder = cast(CpuTarget, dyn.functions.target).builder
    if builder is None or not dyn.functions.provider.has_rate(plan.law, plan.runtime_parameters):
        return None
    rule = INTEGRATORS[plan.integrator]
    rate = dyn.state_rate(plan.law, plan.passive_forces, plan.runtime_parameters)[0]
    name = builder.name("rollout", rate, rule.name, plan.quasi_velocity_joints, source_digest(Path(__file__).parent))

    def build() -> Library | None:
        found = builder.cached(name)
        text = None if found else source(dyn, plan, rule, builder.target.lanes(dyn.options.dtype))
        return builder.compiled(name, text) if text else found

    return dyn.functions.program(name, build)


def _in_one_call(dyn: CompiledRobot, plan: RolloutPlan, library: Library) -> tuple[np.ndarray, np.ndarray]:
    dtype, threads = np.dtype(dyn.options.dtype), dyn.options.threads
    result, seen = empty_states(np, plan, dtype)
    signals = join_columns(np, [signal_rows(np, x, plan) for x in plan.signals.values()], 3, dtype)
    constants = join_columns(np, [state_rows(np, x, plan) for x in plan.constants], 2, dtype)
    settings = _settings(plan, signals.strides[1] // dtype.itemsize, seen.strides[1] // dtype.itemsize, dtype)
    given = [*(state_rows(np, x, plan) for x in plan.start), signals[:, 0], constants, settings]
    inputs = tuple(np.broadcast_to(array, (len(seen), array.shape[-1])) for array in given)
    named = tuple((str(k), array.shape[1]) for k, array in enumerate(inputs))
    times = plan.steps * INTEGRATORS[plan.integrator].stages
    kernel = library.kernel(Signature(named, (seen.shape[-1],)), dtype.name, threads, times)
    kernel.run(inputs, seen[:, 0])
    return split_states(result, plan)


def _settings(plan: RolloutPlan, signal_time: int, result_time: int, dtype: np.dtype) -> np.ndarray:
    """The struct `settings` of `rollout.h`, bit for bit, as numbers of the kernel's type."""
    whole = np.array(
        [plan.steps, plan.save_every, plan.control_every or plan.steps, signal_time, result_time], np.int64
    )
    return np.frombuffer(whole.tobytes() + np.float64(plan.dt).tobytes(), dtype)[None]


def _numbers(name: str, value: Any, dtype: str) -> np.ndarray:
    array = np.asarray(value)
    if array.dtype.kind not in "fiub":
        raise ArgumentError(f"{name} must be an array of real numbers, got {type(value).__name__}.")
    return np.require(array, dtype, ["ALIGNED"])


def _finite(name: str, array: np.ndarray) -> np.ndarray:
    require_finite(name, array)
    return array


def _require_unit_quaternions(plan: RolloutPlan) -> None:
    """Raise for the first quaternion of other than unit length."""
    q0 = np.moveaxis(plan.start[0], 0, -1) if plan.columns else plan.start[0]
    require_unit_quaternions("q0", q0.reshape(-1, plan.nq), q0.shape[:-1], quaternions(plan.quasi_velocity_joints))
