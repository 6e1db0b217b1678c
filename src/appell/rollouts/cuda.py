"""Rollouts inside one kernel: the state stays in registers from the first step to the last."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from appell.checks import require_finite
from appell.compiler.fingerprint import digest, source_digest
from appell.compiler.lowering import StraightLine
from appell.compiler.targets.cuda.arrays import (
    any_bad,
    cupy,
    entered,
    kind_of,
    require_unit_quaternions,
    translate_gpu_errors,
)
from appell.compiler.targets.cuda.kernel import module
from appell.compiler.targets.cuda.source import BLOCK, common_text, launch_bounds, state_text
from appell.robot.compiled import CompiledRobot
from appell.rollouts.integrators import INTEGRATORS, Integrator
from appell.rollouts.plan import RolloutPlan, empty_states, join_columns, signal_rows, split_states, state_rows

TEMPLATE = """
#define UNROLL _Pragma("unroll")
#define ROLL _Pragma("unroll 1")
enum {{ NQ = {nq}, NV = {nv}, STATE = {state}, SIGNALS = {signals}, CONSTANTS = {constants} }};

static __device__ __forceinline__ void state_rate(const real *restrict x, real *restrict y)
{{
    thread_state(x, y);
}}

extern "C" __global__ void {bounds} appell_rollout(
    const real *restrict q0, place q0_step, place q0_pitch, const real *restrict v0, place v0_step, place v0_pitch,
    const real *restrict u, place u_step, place u_time, place u_pitch, const real *restrict g, place g_step, place g_pitch,
    real *restrict out, place out_step, place out_time, place out_pitch, place n, int steps, int every, int hold, real dt)
{{
    const place i = blockIdx.x * (place){block} + threadIdx.x;
    if (i >= n) return;
    real x[STATE + SIGNALS + CONSTANTS], y[STATE + NQ];
    {scratch}
{begin}    for (int k = 0; k < steps; k++) {{
        if (k % hold == 0) {{
            UNROLL
            for (int j = 0; j < SIGNALS; j++) x[STATE + j] = u[i * u_step + k / hold * u_time + j * u_pitch];
        }}
{integrator}
        {tidy}
        if ((k + 1) % every == 0) {{
            const place at = i * out_step + k / every * out_time;
            UNROLL
            for (int j = 0; j < NQ + NV; j++) out[at + j * out_pitch] = x[j];
        }}
    }}
}}
"""


BEGIN = """\
    UNROLL
    for (int j = 0; j < NQ; j++) x[j] = q0[i * q0_step + j * q0_pitch];
    UNROLL
    for (int j = 0; j < NV; j++) x[NQ + j] = v0[i * v0_step + j * v0_pitch];
    UNROLL
    for (int j = NQ + NV; j < STATE; j++) x[j] = 0;
    UNROLL
    for (int j = 0; j < CONSTANTS; j++) x[STATE + SIGNALS + j] = g[i * g_step + j * g_pitch];
"""
"""The state and the constants of a robot, at the start."""

TIDY = """
/* Unit length for the quaternion that begins at x. */
static __device__ __forceinline__ void tidy(real *x)
{
    const real length = sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2] + x[3] * x[3]);
    #pragma unroll
    for (int j = 0; j < 4; j++) x[j] /= length;
}
"""


def run(dyn: CompiledRobot, plan: RolloutPlan, check: bool) -> tuple[Any, Any]:
    """q and qd, (..., T, n), or (n, T, ...) in columns, as arrays of the caller's library."""
    cp, dtype = cupy(), dyn.options.dtype
    kind = kind_of((*plan.start, *plan.signals.values(), *plan.constants))
    with kind.stream() if kind else cp.cuda.Stream.null, translate_gpu_errors("rollout"):
        plan = plan.with_arrays(lambda name, value: entered(name, value, dtype))
        if check:
            _refuse_bad(plan)
        count = math.prod(plan.batch_shape)
        result, seen = empty_states(cp, plan, dtype)
        signals = join_columns(cp, [signal_rows(cp, x, plan) for x in plan.signals.values()], 3, dtype)
        constants = join_columns(cp, [state_rows(cp, x, plan) for x in plan.constants], 2, dtype)
        arrays = *(state_rows(cp, x, plan) for x in plan.start), signals, constants, seen
        arguments = [x for array in arrays for x in strided(array)]
        counts = plan.steps, plan.save_every, plan.hold
        arguments += [np.int64(count), *map(np.int32, counts)]
        if count:
            kernel = _kernel(dyn, plan)
            kernel((-(-count // BLOCK),), (BLOCK,), (*arguments, np.dtype(dtype).type(plan.dt)))
        q, qd = split_states(result, plan)
        return (kind.leave(q), kind.leave(qd)) if kind else (q.get(), qd.get())


def strided(array: Any) -> tuple[Any, ...]:
    """An array with the numbers between neighbours along each axis, 0 along an axis of one, for a kernel."""
    sizes = zip(array.shape, array.strides, strict=True)
    return array, *(np.int64(0 if size == 1 else stride // array.dtype.itemsize) for size, stride in sizes)


def source(dyn: CompiledRobot, plan: RolloutPlan, rule: Integrator) -> str:
    """CUDA source of a rollout."""
    _, listed = dyn.state_rate(plan.law, plan.passive_forces, plan.runtime_parameters)
    form, state = StraightLine(listed(), 1 << 30), plan.state_size
    places = plan.quaternions
    dtype = dyn.options.dtype
    texts = [common_text([form], dtype, f"rollout, {rule.name}"), state_text(form, dtype), TIDY if places else ""]
    return "\n".join(texts) + TEMPLATE.format(
        begin=BEGIN, nq=plan.nq, nv=plan.nv, state=state, signals=plan.signal_count, constants=plan.constant_count,
        block=BLOCK, bounds=launch_bounds(form), integrator=rule.text,
        scratch=f"real start[{state}], sum[{state}];" if "start" in rule.text else "",
        tidy=" ".join(f"tidy(x + {place});" for place in places),
    )  # fmt: skip


def _kernel(dyn: CompiledRobot, plan: RolloutPlan) -> Any:
    rule = INTEGRATORS[plan.integrator]
    rate = dyn.state_rate(plan.law, plan.passive_forces, plan.runtime_parameters)[0]
    name = "rollout", rate, rule.name, plan.quasi_velocity_joints

    def build() -> Any:
        key = digest(*name, source_digest(Path(__file__).parent))
        return module(key, lambda: source(dyn, plan, rule), dyn.options.dtype).get_function("appell_rollout")

    return dyn.functions.program((cupy().cuda.Device().id, name), build)


def _refuse_bad(plan: RolloutPlan) -> None:
    """Raise for numbers that are not finite and quaternions of other than unit length. Waits for the GPU."""
    arrays: list[Any] = []
    plan.with_arrays(lambda name, array: arrays.append(array))
    if any_bad(*arrays):
        plan.with_arrays(lambda name, array: require_finite(name, array.get()))
    plan.require_unit_quaternions(cupy(), require_unit_quaternions)
