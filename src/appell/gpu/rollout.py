"""Rollouts inside one kernel: the state stays in registers from the first step to the last."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from appell.compiler.emit import plan
from appell.compiler.fingerprint import digest
from appell.compiler.forms import StraightLine
from appell.gpu.arrays import entered, kind_of
from appell.gpu.device import cupy, telling
from appell.gpu.kernel import module
from appell.gpu.source import BLOCK, state_text
from appell.rollouts.integrators import INTEGRATORS, Integrator

if TYPE_CHECKING:
    from appell.compiler.api import CompiledRobot
    from appell.rollouts.plan import Plan


TEMPLATE = """
enum {{ N = {n}, U = {u}, G = {g} }};

static __device__ __forceinline__ void state_rate(const real *restrict x, real *restrict y)
{{
    thread_state(x, y);
}}

extern "C" __global__ void __launch_bounds__({block}) appell_rollout(
    const real *restrict q0, place q0_step, place q0_pitch, const real *restrict v0, place v0_step, place v0_pitch,
    const real *restrict u, place u_step, place u_time, place u_pitch, const real *restrict g, place g_step, place g_pitch,
    real *restrict q1, real *restrict v1, place out_step, place out_time, place out_pitch,
    place n, int steps, int every, int hold, real dt)
{{
    const place i = blockIdx.x * (place){block} + threadIdx.x;
    if (i >= n) return;
    real q[N], v[N], x[2 * N + U + G], y[2 * N];
    {scratch}
    #pragma unroll
    for (int j = 0; j < N; j++) {{
        x[j] = q[j] = q0[i * q0_step + j * q0_pitch];
        x[N + j] = v[j] = v0[i * v0_step + j * v0_pitch];
    }}
    #pragma unroll
    for (int j = 0; j < G; j++) x[2 * N + U + j] = g[i * g_step + j * g_pitch];
    for (int k = 0; k < steps; k++) {{
        if (k % hold == 0) {{
            #pragma unroll
            for (int j = 0; j < U; j++) x[2 * N + j] = u[i * u_step + k / hold * u_time + j * u_pitch];
        }}
{integrator}
        if ((k + 1) % every == 0) {{
            const place at = i * out_step + ((k + 1) / every - 1) * out_time;
            #pragma unroll
            for (int j = 0; j < N; j++) {{
                q1[at + j * out_pitch] = q[j];
                v1[at + j * out_pitch] = v[j];
            }}
        }}
    }}
}}
"""


class Strided(NamedTuple):
    """An array (N, n) or (N, T, n) with the numbers between neighbours along each axis."""

    array: Any
    strides: tuple[np.int64, ...]

    @classmethod
    def of(cls, array: Any) -> Strided:
        sizes = zip(array.shape, array.strides, strict=True)
        return cls(array, tuple(np.int64(0 if size == 1 else stride // array.dtype.itemsize) for size, stride in sizes))


def run(dyn: CompiledRobot, plan_: Plan) -> tuple[Any, Any]:
    """Coordinates and speeds, (..., T, n), or (n, T, ...) in columns, as arrays of the caller's kind."""
    cp, options = cupy(), dyn.options
    given = (plan_.q0, plan_.qd0, *plan_.signals.values(), *plan_.gains.values())
    kind = kind_of(given)
    with kind.stream() if kind else cp.cuda.Stream.null, telling("rollout"):
        q0, qd0 = (_rows(entered(name, x, options.dtype), plan_) for name, x in (("q0", plan_.q0), ("qd0", plan_.qd0)))
        count, n = math.prod(plan_.lead), plan_.n
        signals = _stacked([_timed(entered(k, x, options.dtype), plan_) for k, x in plan_.signals.items()], (1, 1, 0))
        gains = _stacked([_rows(entered(k, x, options.dtype), plan_) for k, x in plan_.gains.items()], (1, 0))
        columns = options.layout == "columns"
        shape = (n, plan_.kept, count) if columns else (count, plan_.kept, n)
        q1, v1 = cp.empty(shape, options.dtype), cp.empty(shape, options.dtype)
        seen = Strided.of(q1.transpose(2, 1, 0) if columns else q1)
        kernel = _kernel(dyn, plan_)
        arguments = [
            x
            for part in (Strided.of(q0), Strided.of(qd0), Strided.of(signals), Strided.of(gains))
            for x in (part.array, *part.strides)
        ]
        arguments += [q1, v1, *seen.strides, np.int64(count), np.int32(plan_.steps), np.int32(plan_.every)]
        arguments += [np.int32(plan_.hold or plan_.steps), np.dtype(options.dtype).type(plan_.dt)]
        if count:
            kernel((-(-count // BLOCK),), (BLOCK,), tuple(arguments))
        final = (n, plan_.kept, *plan_.lead) if columns else (*plan_.lead, plan_.kept, n)
        q1, v1 = q1.reshape(final), v1.reshape(final)
        return (kind.leave(q1), kind.leave(v1)) if kind else (q1.get(), v1.get())


def source(dyn: CompiledRobot, plan_: Plan, rule: Integrator) -> str:
    """CUDA source of a rollout."""
    _, listed = dyn.state_rate(plan_.law, plan_.passive)
    n = plan_.n
    scratch = f"real sum_q[{n}], sum_v[{n}];" if "sum_q" in rule.text else ""
    return state_text(
        StraightLine(plan(listed(), 1 << 30)), dyn.options.dtype, f"rollout, {rule.name}"
    ) + TEMPLATE.format(
        n=n,
        u=n * len(plan_.law.signals),
        g=n * len(plan_.law.gains),
        block=BLOCK,
        scratch=scratch,
        integrator=rule.text,
    )


def _kernel(dyn: CompiledRobot, plan_: Plan) -> Any:
    rule = INTEGRATORS[plan_.integrator]
    key = digest("rollout", dyn.state_rate(plan_.law, plan_.passive)[0], rule.name)
    kernels = dyn.__dict__.setdefault("_rollouts", {})
    place = (cupy().cuda.Device().id, key)
    if place not in kernels:
        built = module(key, lambda: source(dyn, plan_, rule), dyn.options.dtype)
        kernels[place] = built.get_function("appell_rollout")
    return kernels[place]


def _rows(array: Any, plan_: Plan) -> Any:
    """An array (N, n), or (1, n) where all states share it."""
    array = cupy().moveaxis(array, 0, -1) if plan_.columns else array
    if math.prod(array.shape[:-1]) == 1:
        return array.reshape(1, plan_.n)
    return cupy().broadcast_to(array, (*plan_.lead, plan_.n)).reshape(-1, plan_.n)


def _timed(array: Any, plan_: Plan) -> Any:
    """A signal (N, K, n); K is 1 where it does not change, N is 1 where all states share it."""
    array = cupy().moveaxis(array, 0, -1) if plan_.columns else array
    if plan_.hold is None:
        return _rows(cupy().moveaxis(array, -1, 0) if plan_.columns else array, plan_)[:, None, :]
    if plan_.columns:
        array = cupy().moveaxis(array, 0, -2)
    times = array.shape[-2]
    if math.prod(array.shape[:-2]) == 1:
        return array.reshape(1, times, plan_.n)
    return cupy().broadcast_to(array, (*plan_.lead, times, plan_.n)).reshape(-1, times, plan_.n)


def _stacked(parts: list[Any], empty: tuple[int, ...]) -> Any:
    """Vectors side by side; a single one stays where it is."""
    cp = cupy()
    if not parts:
        return cp.empty(empty)
    if len(parts) == 1:
        return parts[0]
    lead = np.broadcast_shapes(*(part.shape[:-1] for part in parts))
    return cp.concatenate([cp.broadcast_to(part, (*lead, part.shape[-1])) for part in parts], axis=-1)
