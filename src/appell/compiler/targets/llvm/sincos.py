"""Sine and cosine of a vector of angles as LLVM IR, by the method of `appell.compiler.sincos`."""

from __future__ import annotations

from appell.compiler.sincos import LARGEST_ANGLE, PRECISIONS, REDUCTIONS
from appell.compiler.targets.llvm.ir import FunctionWriter, Real


def limit_of(real: Real) -> float:
    """The largest angle of `@sincos`."""
    return (REDUCTIONS if real.fused else PRECISIONS)[real.dtype].limit


def far_text(real: Real) -> str:
    """Lanes whose angle is too large for `@sincos`, or not a number."""
    write = FunctionWriter(f"internal {real.mask} @far({real.type} %x) alwaysinline")
    size = write.value(f"call {real.type} @llvm.fabs.{real.suffix}({real.type} %x)")
    limit = real.literal(limit_of(real))
    write.line(f"ret {real.mask} {write.value(f'fcmp ugt {real.type} {size}, {limit}')}")
    return write.text()


def sincos_text(real: Real) -> str:
    """Sines and cosines into memory."""
    numbers, T, B = PRECISIONS[real.dtype], real.type, real.bits
    write = FunctionWriter(f"internal void @sincos({T} %x, ptr noalias %s, ptr noalias %c) alwaysinline")

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

    magic, sign = real.literal(float.fromhex(numbers.magic)), 1 << (8 * real.item - 1)
    t = real_value("fadd", real_value("fmul", "%x", real.literal(float.fromhex("0x1.45f306dc9c883p-1"))), magic)
    k = real_value("fsub", t, magic)
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
    negative_zero = write.value(f"icmp eq {B} {as_bits('%x')}, {real.integers(-sign)}")  # whose sign the sums lose
    signed = write.value(f"select {real.mask} {negative_zero}, {B} {real.integers(-sign)}, {B} {real.integers(0)}")
    sine = bits_value("or", as_bits(real_value("fadd", r, cubic)), signed)
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
    write.line("ret void")
    return write.text()


def repair_text(real: Real) -> str:
    """Sines and cosines of far angles one by one, in arrays of numbers."""
    one = Real(real.dtype)
    T, suffix, limit, nan = real.scalar, one.suffix, one.literal(limit_of(real)), one.literal(float("nan"))
    write = FunctionWriter("internal void @repair(ptr %a, ptr %s, ptr %c, i64 %count) noinline cold")
    with write.loop("%count") as k:
        angle = write.load(T, "%a", k)
        size = write.value(f"call {T} @llvm.fabs.{suffix}({T} {angle})")
        with write.when(write.value(f"fcmp ugt {T} {size}, {limit}")):
            near = write.value(f"fcmp ole {T} {size}, {one.literal(LARGEST_ANGLE[real.dtype])}")
            angle = write.value(f"select i1 {near}, {T} {angle}, {T} {nan}")
            for name, pointer in (("sin", "%s"), ("cos", "%c")):
                write.store(T, write.value(f"call {T} @llvm.{name}.{suffix}({T} {angle})"), pointer, k)
    write.line("ret void")
    return write.text()
