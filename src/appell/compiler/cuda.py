"""CUDA: one thread is one robot state.

The source of a kernel exports

    appell_batch(in0, step0, pitch0, ..., out, step, pitch, n)      n states

where entry j of state i of input k is `in_k[i * step_k + j * pitch_k]`: columns (step 1) are read and written by neighbouring
threads side by side; rows (pitch 1) go through shared memory so that they are, too; a value for all states is step 0.
"""

from __future__ import annotations

from appell.compiler.c import FUNCTIONS, literal
from appell.compiler.emit import Dialect, emit
from appell.compiler.listing import Listing
from appell.compiler.sincos import PRECISIONS
from appell.compiler.sincos import _horner as horner

BLOCK = 128
"""Threads of a block."""

HEADER = """\
typedef {real} real;
typedef long long place;

/* Sine and cosine of one angle; far ones and NaN are left to the library. */
static __device__ __noinline__ {real}2 far_sincos(real x)
{{
    {real}2 both;
    {library}(x, &both.x, &both.y);
    return both;
}}

static __device__ __forceinline__ void sincos_one(real x, real &s, real &c)
{{
    if (!({fabs}(x) <= {limit})) {{
        const {real}2 both = far_sincos(x);
        s = both.x;
        c = both.y;
        return;
    }}
    const real k = {rint}(x * {two_over_pi});
    const int quarter = (int)k;
    real r = {fma}(-k, {A}, x);
    r = {fma}(-k, {B}, r);
    r = {fma}(-k, {C}, r);
    const real z = r * r;
    const real sine = {fma}(r * z, {sine}, r);
    const real cosine = {fma}(z, {fma}(z, {cosine}, -{half}), {one});
    s = quarter & 1 ? cosine : sine;
    c = quarter & 1 ? sine : cosine;
    if (quarter & 2) s = -s;
    if ((quarter + 1) & 2) c = -c;
}}
"""

PIECES = {
    "float64": ("0x1.921fb54442d18p+0", "0x1.1a62633145c07p-54", "-0x1.f1976b7ed8fbcp-110"),
    "float32": ("0x1.921fb6p+0", "-0x1.777a5cp-25", "-0x1.ee59dap-50"),
}
"""π/2 in three numbers of full precision: with fused multiply-add no bit of k times a piece is lost before the sum."""

LIMITS = {"float64": "1e6", "float32": "1e5f"}
"""Largest angle for which the reduction by three pieces is exact enough."""


def header_text(dtype: str) -> str:
    """Types and the sine and cosine of one angle."""
    numbers = PRECISIONS[dtype]
    f = numbers.suffix
    A, B, C = (piece + f for piece in PIECES[dtype])
    return HEADER.format(
        real=numbers.real, library=f"sincos{f}", fabs=f"fabs{f}", limit=LIMITS[dtype], rint=f"rint{f}", fma=f"fma{f}",
        two_over_pi=f"0x1.45f306dc9c883p-1{f}", A=A, B=B, C=C, half=f"0.5{f}", one=f"1.0{f}",
        sine=f"({horner(numbers.sine, f)})", cosine=f"({horner(numbers.cosine, f)})",
    )  # fmt: skip


def cuda_dialect(dtype: str) -> Dialect:
    """Scalars of a thread."""
    suffix = PRECISIONS[dtype].suffix
    return Dialect(
        type="real",
        literal=lambda number: literal(number, dtype),
        functions={name: name + suffix for name in FUNCTIONS},
    )


def kernel_source(listed: Listing, dtype: str, title: str) -> str:
    """CUDA source of one kernel."""
    code = emit(listed, cuda_dialect(dtype), part=1 << 30)
    (body,) = code.parts
    count = len(listed.sizes)
    parameters = [f"const real *__restrict__ in{k}, place step{k}, place pitch{k}" for k in range(count)]
    parameters += [f"real *__restrict__ out, place step{count}, place pitch{count}", "place n"]
    lines = ["const place i = blockIdx.x * (place)blockDim.x + threadIdx.x;", "if (i >= n) return;"]
    lines += [f"real x[{max(listed.size_in, 1)}], y[{len(listed.outputs)}];"]
    first = 0
    for k, size in enumerate(listed.sizes):
        lines.append(f"in{k} += i * step{k};")
        lines += [f"x[{first + j}] = in{k}[{j} * pitch{k}];" for j in range(size)]
        first += size
    lines += [f"real a[{max(code.angle_count, 1)}], s[{max(code.angle_count, 1)}], c[{max(code.angle_count, 1)}];"]
    lines += code.angles
    lines += [f"sincos_one(a[{k}], s[{k}], c[{k}]);" for k in range(code.angle_count)]
    lines += body
    lines += [f"out += i * step{count};"]
    lines += [f"out[{j} * pitch{count}] = y[{j}];" for j in range(len(listed.outputs))]
    text = "\n".join(f"    {line}" for line in lines)
    return (
        f"/* {title} */\n{header_text(dtype)}\n"
        f'extern "C" __global__ void __launch_bounds__({BLOCK}) appell_batch(\n    '
        + ",\n    ".join(parameters)
        + f")\n{{\n{text}\n}}\n"
    )
