"""Sine and cosine of one angle in CUDA.

The same polynomials as the vector code (`appell.compiler.sincos`); the reduction subtracts k π/2 in three pieces
of full precision by fused multiply-add. Angles beyond its limit go to the library's own function.
"""

from __future__ import annotations

from appell.compiler.sincos import LARGEST_ANGLE, PRECISIONS, REDUCTIONS, horner

TEMPLATE = """\
/* Angles that are too large for sincos_one, or not a number. */
static __device__ __noinline__ {real}2 far_sincos(real x)
{{
    {real}2 both;
    sincos{f}(fabs{f}(x) <= {largest} ? x : nan{f}(""), &both.x, &both.y);
    return both;
}}

static __device__ __forceinline__ void sincos_one(real x, real &s, real &c)
{{
    if (!(fabs{f}(x) <= {limit})) {{
        const {real}2 both = far_sincos(x);
        s = both.x;
        c = both.y;
        return;
    }}
    const real k = rint{f}(x * {two_over_pi});
    const int quarter = (int)k;
    real r = fma{f}(-k, {A}, x);
    r = fma{f}(-k, {B}, r);
    r = fma{f}(-k, {C}, r);
    const real z = r * r;
    const real sine = fma{f}(r * z, {sine}, r);
    const real cosine = fma{f}(z, fma{f}(z, {cosine}, -{half}), {one});
    s = quarter & 1 ? cosine : sine;
    c = quarter & 1 ? sine : cosine;
    if (quarter & 2) s = -s;
    if ((quarter + 1) & 2) c = -c;
}}
"""


def sincos_text(dtype: str) -> str:
    """`sincos_one` for `real` of this precision."""
    numbers, reduction = PRECISIONS[dtype], REDUCTIONS[dtype]
    f = numbers.suffix
    A, B, C = (piece + f for piece in reduction.pieces)
    return TEMPLATE.format(
        real=numbers.real, f=f, limit=f"{reduction.limit!r}{f}", largest=f"{LARGEST_ANGLE[dtype]!r}{f}",
        two_over_pi=reduction.inverse + f, A=A, B=B, C=C,
        half=f"0.5{f}", one=f"1.0{f}", sine=f"({horner(numbers.sine, f)})", cosine=f"({horner(numbers.cosine, f)})",
    )  # fmt: skip
