"""Constants of the sine and cosine of a vector of angles.

The angle is brought to |r| <= π/4 by subtracting k π/2 in pieces that leave room for exact products with k (Cody and
Waite), and what rounding loses on the way is carried along; with fused multiply-add, in three pieces of full precision. Then

    sin r = r + r³ S(r²)        cos r = 1 - r²/2 + r⁴ C(r²)

with the polynomials of least relative error (Remez exchange in 40 digits). Errors stay below 2 ulp up to the limit; beyond
it libm is called lane by lane. Angles beyond `LARGEST_ANGLE` give NaN, which the check for finite numbers finds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

LARGEST_ANGLE = {"float64": 1e8, "float32": 1e5}
"""Angles [rad] up to this size are known to 1e-8 rad in float64 and to 4e-3 rad in float32: half the distance to the next."""


@dataclass(frozen=True)
class Constants:
    """Numbers of one precision.

    Attributes:
        limit: the largest |x| for which k times the first piece of π/2 is exact.
        magic: 1.5 times the power of two at which one ulp is 1: adding it rounds to an integer, kept in the low bits.
        pieces: of π/2; all but the last are short enough for exact products with k.
        sine, cosine: S and C, lowest power first.
        sign_shift: from bit 1, the sign of a quarter turn, to the sign bit.
    """

    real: str
    integer: str
    suffix: str
    limit: float
    magic: str
    pieces: tuple[str, str, str, str]
    sine: tuple[str, ...]
    cosine: tuple[str, ...]
    sign_shift: int


PRECISIONS = {
    "float64": Constants(
        real="double", integer="long long", suffix="", limit=1e6, magic="0x1.8p+52",
        pieces=("0x1.921fb544p+0", "0x1.0b4611a6p-34", "0x1.3198a2ep-69", "0x1.b839a252049c1p-104"),
        sine=(
            "-0x1.5555555555548p-3", "0x1.111111110f7d0p-7", "-0x1.a01a019bfdeb7p-13",
            "0x1.71de3567d0411p-19", "-0x1.ae5e5a8f155c8p-26", "0x1.5d8fd0f149a96p-33",
        ),
        cosine=(
            "0x1.555555555554bp-5", "-0x1.6c16c16c14f91p-10", "0x1.a01a019c844b3p-16",
            "-0x1.27e4f7eac19acp-22", "0x1.1ee9d7b2afdcdp-29", "-0x1.8fa498db48e5dp-37",
        ), sign_shift=62,
    ),
    "float32": Constants(
        real="float", integer="int", suffix="f", limit=3e3, magic="0x1.8p+23",
        pieces=("0x1.921p+0", "0x1.f6ap-13", "0x1.11p-26", "0x1.68c234p-39"),
        sine=("-0x1.555544p-3", "0x1.1107p-7", "-0x1.992f58p-13"),
        cosine=("0x1.55554ap-5", "-0x1.6c0bf2p-10", "0x1.99d8d6p-16"), sign_shift=30,
    ),
}  # fmt: skip


class Reduction(NamedTuple):
    """For fused multiply-add: 2/π, π/2 in pieces, and the largest angle for which k times the last of them is small enough.

    Pieces are rounded down: all are positive, so that -0 stays -0.
    """

    inverse: str
    pieces: tuple[str, str, str]
    limit: float


REDUCTIONS = {
    "float64": Reduction(
        "0x1.45f306dc9c883p-1", ("0x1.921fb54442d18p+0", "0x1.1a62633145c06p-54", "0x1.c1cd129024e08p-107"), 1e6
    ),
    "float32": Reduction("0x1.45f306p-1", ("0x1.921fb4p+0", "0x1.4442dp-24", "0x1.846988p-48"), 1e5),
}


def horner(coefficients: tuple[str, ...], f: str) -> str:
    """c0 + z (c1 + z (...)) as text."""
    text = coefficients[-1] + f
    for coefficient in reversed(coefficients[:-1]):
        text = f"{coefficient}{f} + z * ({text})"
    return text
