"""Sine and cosine of a vector of angles as LLVM IR, by the method of `appell.compiler.sincos`."""

from __future__ import annotations

import math
import struct

from appell.compiler.sincos import LARGEST_ANGLE, PRECISIONS, REDUCTIONS
from appell.compiler.targets.llvm.ir import FunctionWriter, Real


def quarters_of(real: Real) -> int:
    """A power of two: `@sincos` takes angles of fewer quarter turns."""
    limit = (REDUCTIONS if real.fused else PRECISIONS)[real.dtype].limit
    return 1 << int(math.log2(limit / (math.pi / 2)))


def rounding_of(real: Real) -> tuple[float, int]:
    """A number that rounds to integers when it is added, and its bits: where k is small enough, adding k changes but the lowest.

    It is `quarters_of` more than a number without low bits, so that this holds for negative k, too.
    """
    number = float.fromhex(PRECISIONS[real.dtype].magic) + quarters_of(real)
    kinds = ("d", "q") if real.dtype == "float64" else ("f", "i")
    return number, struct.unpack(f">{kinds[1]}", struct.pack(f">{kinds[0]}", number))[0]


def quarter_turns(write: FunctionWriter, real: Real, x: str) -> tuple[str, str]:
    """Quarter turns k, rounded, plus `rounding_of`, and bits that are set beyond the lowest where |k| is too large."""
    T, (rounding, bits) = real.type, rounding_of(real)
    product = write.value(f"fmul contract {T} {x}, {real.literal(float.fromhex(REDUCTIONS['float64'].inverse))}")
    t = write.value(f"fadd contract {T} {product}, {real.literal(rounding)}")
    found = write.value(f"bitcast {T} {t} to {real.bits}")
    return t, write.value(f"xor {real.bits} {found}, {real.integers(bits - quarters_of(real))}")


def is_far(write: FunctionWriter, real: Real, bits: str) -> str:
    """Whether such bits, or several of them joined, are beyond the lowest."""
    high = write.value(f"and {real.bits} {bits}, {real.integers(-2 * quarters_of(real))}")
    return write.any_lane(real, write.value(f"icmp ne {real.bits} {high}, {real.integers(0)}"))


def sincos_text(real: Real) -> str:
    """Sines and cosines into memory; bits that `is_far` reads."""
    numbers, T, B = PRECISIONS[real.dtype], real.type, real.bits
    write = FunctionWriter(f"internal {B} @sincos({T} %x, ptr noalias %s, ptr noalias %c) alwaysinline")

    def real_value(operator: str, a: str, b: str) -> str:
        return write.value(f"{operator} contract {T} {a}, {b}")

    def bits_value(operator: str, a: str, b: str) -> str:
        return write.value(f"{operator} {B} {a}, {b}")

    def as_bits(value: str) -> str:
        return write.value(f"bitcast {T} {value} to {B}")

    def polynomial(coefficients: tuple[str, ...]) -> str:
        value = real.literal(float.fromhex(coefficients[-1]))
        for coefficient in reversed(coefficients[:-1]):
            value = real_value("fadd", real_value("fmul", z, value), real.literal(float.fromhex(coefficient)))
        return value

    sign = 1 << (8 * real.item - 1)
    t, bits = quarter_turns(write, real, "%x")
    k = real_value("fsub", t, real.literal(rounding_of(real)[0]))
    r, lost = "%x", None
    if real.fused:
        for piece in REDUCTIONS[real.dtype].pieces:
            given = f"{T} {k}, {T} {real.literal(-float.fromhex(piece))}, {T} {r}"
            r = write.value(f"call {T} @llvm.fma.{real.suffix}({given})")
    else:
        pieces = [real.literal(float.fromhex(piece)) for piece in numbers.pieces]
        for piece in pieces[:3]:
            shifted = real_value("fmul", k, piece)
            reduced = real_value("fsub", r, shifted)
            if r != "%x":  # what rounding lost in this subtraction
                more = real_value("fsub", shifted, real_value("fsub", r, reduced))
                lost = more if lost is None else real_value("fadd", lost, more)
            r = reduced
        lost = real_value("fadd", lost or "", real_value("fmul", k, pieces[3]))
        r = real_value("fsub", r, lost)
    z = real_value("fmul", r, r)
    cubic = real_value("fmul", real_value("fmul", r, z), polynomial(numbers.sine))
    sum_of_all = real_value("fadd", r, cubic)  # of -0 it is 0
    sine = as_bits(write.value(f"call {T} @llvm.copysign.{real.suffix}({T} {sum_of_all}, {T} {r})"))
    bend = real_value("fsub", real_value("fmul", z, polynomial(numbers.cosine)), real.literal(0.5))
    cosine = as_bits(real_value("fadd", real.literal(1.0), real_value("fmul", z, bend)))
    quarter = as_bits(t)
    odd = bits_value("and", quarter, real.integers(1))
    swap = write.value(f"icmp ne {B} {odd}, {real.integers(0)}")
    for pointer, a, b, turn in (("%s", sine, cosine, quarter), ("%c", cosine, sine, None)):
        turn = turn or bits_value("add", quarter, real.integers(1))
        flip = bits_value("and", bits_value("shl", turn, real.integers(numbers.sign_shift)), real.integers(-sign))
        chosen = write.value(f"select {real.mask} {swap}, {B} {b}, {B} {a}")
        result = write.value(f"bitcast {B} {bits_value('xor', chosen, flip)} to {T}")
        write.store(T, result, pointer, 0, real.item)
    write.line(f"ret {B} {bits}")
    return write.text()


def repair_text(real: Real) -> str:
    """Sines and cosines of far angles one by one, in arrays of numbers."""
    one = Real(real.dtype, fused=real.fused)
    T, suffix, nan = real.scalar, one.suffix, one.literal(float("nan"))
    write = FunctionWriter("internal void @repair(ptr %a, ptr %s, ptr %c, i64 %count) noinline cold")
    with write.loop("%count") as k:
        angle = write.load(T, "%a", k)
        with write.when(is_far(write, one, quarter_turns(write, one, angle)[1])):
            size = write.value(f"call {T} @llvm.fabs.{suffix}({T} {angle})")
            near = write.value(f"fcmp ole {T} {size}, {one.literal(LARGEST_ANGLE[real.dtype])}")
            angle = write.value(f"select i1 {near}, {T} {angle}, {T} {nan}")
            for name, pointer in (("sin", "%s"), ("cos", "%c")):
                write.store(T, write.value(f"call {T} @llvm.{name}.{suffix}({T} {angle})"), pointer, k)
    write.line("ret void")
    return write.text()
