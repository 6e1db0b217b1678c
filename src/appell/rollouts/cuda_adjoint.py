"""The adjoint of rollouts inside one kernel on a GPU: a thread takes a robot forward and back again.

On the way forward the points of all stages are kept in memory; on the way back every stage needs one product with the transposed
Jacobian of the rate (equations in `appell.rollouts.plain_derivatives`). Batches come in pieces whose points fit into memory.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from appell.compiler.differentiate import reverse
from appell.compiler.emit import literal
from appell.compiler.fingerprint import digest, source_digest
from appell.compiler.lowering import StraightLine
from appell.compiler.targets.cuda.arrays import cupy
from appell.compiler.targets.cuda.kernel import module
from appell.compiler.targets.cuda.source import common_text, state_text
from appell.robot.compiled import CompiledRobot
from appell.rollouts.cuda import BEGIN, TIDY, strided
from appell.rollouts.integrators import INTEGRATORS
from appell.rollouts.plan import RolloutPlan, RolloutWeights, join_columns, rate_of, signal_rows, state_rows

BLOCK = 32
"""Threads of a block: a few thousand robots are spread over all processors."""

POINTS = 1 / 4
"""Part of the free memory that the points of one piece of a batch may take."""

FEW_POINTS = 1 << 28
"""Bytes of points for which the free memory is not asked for, which takes longer than the kernel of a small batch."""

TEMPLATE = """
#define UNROLL _Pragma("unroll")
#define ROLL _Pragma("unroll 1")
enum {{
    NQ = {nq}, NV = {nv}, STATE = {state}, SIGNALS = {signals}, CONSTANTS = {constants}, STAGES = {stages},
    RATE = {rate}, GIVEN = STATE + SIGNALS + CONSTANTS
}};

static __device__ const real WEIGHTS[STAGES] = {{ {weights} }}, AHEAD[STAGES] = {{ {ahead} }};

/* Weights of a quaternion from those of the quaternion of unit length in its direction; p are its entries. */
static __device__ __forceinline__ void tidy_weights(const real *p, place n, real *weights)
{{
    real x[4], length = 0, along = 0;
    UNROLL
    for (int j = 0; j < 4; j++) x[j] = p[j * n];
    UNROLL
    for (int j = 0; j < 4; j++) length += x[j] * x[j];
    length = sqrt(length);
    UNROLL
    for (int j = 0; j < 4; j++) along += x[j] * weights[j];
    along /= length * length;
    UNROLL
    for (int j = 0; j < 4; j++) weights[j] = (weights[j] - along * x[j]) / length;
}}

extern "C" __global__ void __launch_bounds__({block}, 1) appell_adjoint(
    const real *restrict q0, place q0_step, place q0_pitch, const real *restrict v0, place v0_step, place v0_pitch,
    const real *restrict u, place u_step, place u_time, place u_pitch, const real *restrict g, place g_step, place g_pitch,
    const real *restrict w, place w_step, place w_time, place w_pitch,
    real *points, real *restrict by_state, real *restrict by_signals, real *restrict by_constants,
    place n, int steps, int every, int hold, real dt)
{{
    const place i = blockIdx.x * (place){block} + threadIdx.x;
    if (i >= n) return;
    real x[GIVEN + RATE], y[GIVEN + RATE], start[STATE], sum[STATE], total[GIVEN];
    points += i;
{begin}    ROLL
    for (int k = 0; k < steps; k++) {{
        if (k % hold == 0) {{
            UNROLL
            for (int j = 0; j < SIGNALS; j++) x[STATE + j] = u[i * u_step + k / hold * u_time + j * u_pitch];
        }}
        ROLL
        for (int stage = 0; stage < STAGES; stage++) {{
            const place at = ((place)k * STAGES + stage) * STATE;
            UNROLL
            for (int j = 0; j < STATE; j++) points[(at + j) * n] = x[j];
            if (stage == 0) {{
                if (k) {{ {tidy} }}
                UNROLL
                for (int j = 0; j < STATE; j++) start[j] = sum[j] = x[j];
            }}
            rate_state(x, y);
            const real weight = dt * WEIGHTS[stage], ahead = dt * AHEAD[stage];
            UNROLL
            for (int j = 0; j < STATE; j++) {{
                sum[j] += weight * y[j];
                x[j] = start[j] + ahead * y[j];
            }}
            UNROLL
            for (int j = STATE; j < RATE; j++) sum[j - STATE] += dt * weight * y[j];
        }}
        UNROLL
        for (int j = 0; j < STATE; j++) x[j] = sum[j];
    }}
    UNROLL
    for (int j = 0; j < STATE; j++) points[((place)steps * STAGES * STATE + j) * n] = x[j];
    UNROLL
    for (int j = 0; j < GIVEN; j++) total[j] = 0;
    ROLL
    for (int k = steps - 1; k >= 0; k--) {{
        if ((k + 1) % every == 0) {{
            const place at = i * w_step + k / every * w_time;
            UNROLL
            for (int j = 0; j < NQ + NV; j++) total[j] += w[at + j * w_pitch];
        }}
        {tidy_weights}
        if (k == steps - 1 || (k + 1) % hold == 0) {{
            UNROLL
            for (int j = 0; j < SIGNALS; j++) x[STATE + j] = u[i * u_step + k / hold * u_time + j * u_pitch];
        }}
        UNROLL
        for (int j = 0; j < STATE; j++) {{
            start[j] = total[j];
            sum[j] = 0;
        }}
        ROLL
        for (int stage = STAGES - 1; stage >= 0; stage--) {{
            const place at = ((place)k * STAGES + stage) * STATE;
            UNROLL
            for (int j = 0; j < STATE; j++) x[j] = points[(at + j) * n];
            if (stage == 0 && k) {{ {tidy} }}
            const real weight = dt * WEIGHTS[stage], ahead = dt * AHEAD[stage > 0 ? stage - 1 : 0];
            UNROLL
            for (int j = 0; j < STATE; j++) x[GIVEN + j] = weight * start[j] + sum[j];
            UNROLL
            for (int j = STATE; j < RATE; j++) x[GIVEN + j] = dt * weight * start[j - STATE];
            reverse_state(x, y);
            UNROLL
            for (int j = 0; j < GIVEN; j++) total[j] += y[j];
            UNROLL
            for (int j = 0; j < STATE; j++) sum[j] = ahead * y[j];
        }}
        if (k % hold == 0) {{
            UNROLL
            for (int j = 0; j < SIGNALS; j++) {{
                by_signals[((place)(k / hold) * SIGNALS + j) * n + i] = total[STATE + j];
                total[STATE + j] = 0;
            }}
        }}
    }}
    UNROLL
    for (int j = 0; j < STATE; j++) by_state[j * n + i] = total[j];
    UNROLL
    for (int j = 0; j < CONSTANTS; j++) by_constants[j * n + i] = total[STATE + SIGNALS + j];
}}
"""


def source(dyn: CompiledRobot, plan: RolloutPlan) -> str:
    """CUDA source of the adjoint of a rollout."""
    wanted, dtype, tableau, state = rate_of(dyn, plan)[1](), dyn.options.dtype, plan.tableau, plan.state_size
    forms = {"rate": StraightLine(wanted, 1 << 30), "reverse": StraightLine(reverse(wanted), 1 << 30)}
    places = plan.quaternions
    end = "points + ((place)(k + 1) * STAGES * STATE + {0}) * n"
    texts = [common_text(forms.values(), dtype, f"adjoint of a rollout, {plan.integrator}")]
    texts += [state_text(form, dtype, name) for name, form in forms.items()]
    texts += [TIDY] if places else []
    numbers = {"weights": tableau.weights, "ahead": (*tableau.ahead, 0.0)}
    return "\n".join(texts) + TEMPLATE.format(
        begin=BEGIN, nq=plan.nq, nv=plan.nv, state=state, signals=plan.signal_count, rate=len(wanted.outputs),
        stages=len(tableau.weights), constants=wanted.size_in - state - plan.signal_count, block=BLOCK,
        tidy=" ".join(f"tidy(x + {place});" for place in places),
        tidy_weights=" ".join(f"tidy_weights({end.format(place)}, n, total + {place});" for place in places),
        **{name: ", ".join(literal(x, dtype) for x in values) for name, values in numbers.items()},
    )  # fmt: skip


def run(dyn: CompiledRobot, plan: RolloutPlan, weights: Any) -> RolloutWeights:
    """Gradients from the weights of saved states, (N, T, nq + nv); all arrays are CuPy's."""
    cp, dtype, count = cupy(), np.dtype(dyn.options.dtype), math.prod(plan.batch_shape)
    steps, every, hold = plan.last, plan.save_every, plan.hold
    state, stages = plan.state_size, INTEGRATORS[plan.integrator].stages
    signals = join_columns(cp, [signal_rows(cp, x, plan) for x in plan.signals.values()], 3, dtype)
    constants = join_columns(cp, [state_rows(cp, x, plan) for x in plan.constants], 2, dtype)
    given = *(state_rows(cp, x, plan) for x in plan.start), signals, constants, weights
    times = -(-plan.steps // hold)
    found = RolloutWeights(
        cp.empty((state, count), dtype),
        cp.zeros((times, signals.shape[-1], count), dtype),
        cp.empty((constants.shape[-1], count), dtype),
    )
    kernel, numbers = _kernel(dyn, plan), (steps * stages + 1) * state
    bytes_of_robot = numbers * dtype.itemsize
    few = count * bytes_of_robot <= FEW_POINTS
    piece = max(count if few else int(cp.cuda.Device().mem_info[0] * POINTS) // bytes_of_robot, BLOCK)
    for first in range(0, count, piece):
        part = slice(first, first + piece)
        size = min(piece, count - first)
        arrays = [array if len(array) == 1 else array[part] for array in given]
        # signals after the last saved state have no effect: their gradients stay zero
        results = [cp.zeros((*array.shape[:-1], size), dtype) if size < count else array for array in found]
        arguments = [x for array in arrays for x in strided(array)] + [cp.empty(numbers * size, dtype), *results]
        whole = (np.int64(size), np.int32(steps), np.int32(every), np.int32(hold), dtype.type(plan.dt))
        kernel((-(-size // BLOCK),), (BLOCK,), (*arguments, *whole))
        if size < count:
            for array, result in zip(found, results, strict=True):
                array[..., part] = result
    return RolloutWeights(found.state.T, found.signals.transpose(2, 0, 1), found.constants.T)


def _kernel(dyn: CompiledRobot, plan: RolloutPlan) -> Any:
    rate = dyn.state_rate(plan.law, plan.passive_forces, plan.runtime_parameters)[0]
    name = "adjoint", rate, plan.integrator, plan.quasi_velocity_joints

    def build() -> Any:
        key = digest(*name, source_digest(Path(__file__).parent))
        return module(key, lambda: source(dyn, plan), dyn.options.dtype).get_function("appell_adjoint")

    return dyn.functions.program((cupy().cuda.Device().id, name), build)
