"""LLVM IR as text: functions written instruction by instruction.

Values are names such as `%7` or constants. Counters of loops and other variables live in stack slots, which LLVM turns into
registers, so that no phi instruction has to be written.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import count

import numpy as np

SCALARS = {"float64": ("double", "i64", "f64", 8), "float32": ("float", "i32", "f32", 4)}
"""Types of numbers and of integers of their size, the suffix of intrinsic functions, and bytes."""


ATTRIBUTES = """\
attributes #0 = { noinline nounwind "prefer-vector-width"="512" "min-legal-vector-width"="512" "stackrealign" }
"""
"""Bodies are called from several places: one copy of each keeps compilation short. Vectors that do not fit into registers lie
on the stack, which has to be aligned for them: up to a third faster (docs/decisions/0018)."""
SCALAR_ATTRIBUTES = """\
attributes #0 = { noinline nounwind "frame-pointer"="all" }
"""
"""Of functions over one state: addresses relative to the frame pointer are a byte shorter than those relative to the stack's,
and the length of its code is what a long body takes its time for (docs/decisions/0020)."""


@dataclass(frozen=True)
class Real:
    """The type of one value of generated code: a number, or a vector with a number of every lane.

    Attributes:
        fused: whether the processor has an instruction for a product and a sum.
        scalar, integer: types of one lane.
        type, bits: types of all lanes.
        mask: the type of a comparison.
        suffix: of the names of intrinsic functions over this type.
        item: bytes of a number.
    """

    dtype: str
    lanes: int = 1
    fused: bool = False

    @cached_property
    def scalar(self) -> str:
        return SCALARS[self.dtype][0]

    @cached_property
    def integer(self) -> str:
        return SCALARS[self.dtype][1]

    @cached_property
    def item(self) -> int:
        return SCALARS[self.dtype][3]

    @cached_property
    def type(self) -> str:
        return self.of(self.scalar)

    @cached_property
    def bits(self) -> str:
        return self.of(self.integer)

    @cached_property
    def mask(self) -> str:
        return self.of("i1")

    @cached_property
    def suffix(self) -> str:
        return f"v{self.lanes}{SCALARS[self.dtype][2]}" if self.lanes > 1 else SCALARS[self.dtype][2]

    def of(self, element: str, lanes: int | None = None) -> str:
        """The type of lanes with this element."""
        lanes = lanes or self.lanes
        return f"<{lanes} x {element}>" if lanes > 1 else element

    def literal(self, number: float) -> str:
        """A number in every lane, exact."""
        rounded = float(np.float32(number)) if self.dtype == "float32" else float(number)
        exact = f"0x{struct.unpack('>Q', struct.pack('>d', rounded))[0]:016X}"
        return f"splat ({self.scalar} {exact})" if self.lanes > 1 else exact

    def integers(self, number: int) -> str:
        """An integer in every lane."""
        return f"splat ({self.integer} {number})" if self.lanes > 1 else str(number)


class FunctionWriter:
    """The body of one function."""

    def __init__(self, head: str) -> None:
        self.head, self.lines, self.slots, self.names = head, [], [], count()

    def text(self) -> str:
        return "\n".join((f"define {self.head} align 64 {{", "entry:", *self.slots, *self.lines, "}\n"))

    def line(self, text: str) -> None:
        self.lines.append(text)

    def value(self, text: str) -> str:
        """A new value."""
        name = f"%.{next(self.names)}"
        self.lines.append(f"{name} = {text}")
        return name

    def at(self, type_name: str, pointer: str, index: int | str) -> str:
        """The address of an element."""
        return self.value(f"getelementptr {type_name}, ptr {pointer}, i64 {index}") if index != 0 else pointer

    def load(self, type_name: str, pointer: str, index: int | str = 0, align: int = 0) -> str:
        place = self.at(type_name, pointer, index)
        return self.value(f"load {type_name}, ptr {place}" + (f", align {align}" if align else ""))

    def store(self, type_name: str, value: str, pointer: str, index: int | str = 0, align: int = 0) -> None:
        place = self.at(type_name, pointer, index)
        self.line(f"store {type_name} {value}, ptr {place}" + (f", align {align}" if align else ""))

    def clear(self, pointer: str, size: int) -> None:
        """Bytes that become zero."""
        self.line(f"call void @llvm.memset.p0.i64(ptr {pointer}, i8 0, i64 {size}, i1 false)")

    def slot(self, type_name: str, value: str | None = None) -> str:
        """A variable, with its first value."""
        name = f"%.{next(self.names)}"
        self.slots.append(f"{name} = alloca {type_name}")
        if value is not None:
            self.store(type_name, value, name)
        return name

    def integer(self, operator: str, *operands: int | str) -> str:
        """An operation on two 64-bit integers."""
        return self.value(f"{operator} i64 {operands[0]}, {operands[1]}")

    @contextmanager
    def loop(self, end: int | str, step: int = 1) -> Iterator[str]:
        """Repeat for the index 0, step, ... below the end."""
        counter, number = self.slot("i64", "0"), next(self.names)
        self.line(f"br label %test{number}\ntest{number}:")
        index = self.load("i64", counter)
        self.line(f"br i1 {self.integer('icmp slt', index, end)}, label %body{number}, label %end{number}")
        self.line(f"body{number}:")
        yield index
        self.store("i64", self.integer("add", index, step), counter)
        self.line(f"br label %test{number}\nend{number}:")

    @contextmanager
    def repeat_while(self, condition: Callable[[], str]) -> Iterator[None]:
        """Repeat as long as a condition, computed before every pass, holds."""
        number = next(self.names)
        self.line(f"br label %test{number}\ntest{number}:")
        self.line(f"br i1 {condition()}, label %body{number}, label %end{number}\nbody{number}:")
        yield
        self.line(f"br label %test{number}\nend{number}:")

    @contextmanager
    def when(self, condition: str) -> Iterator[None]:
        """Only if a condition holds."""
        number = next(self.names)
        self.line(f"br i1 {condition}, label %then{number}, label %end{number}\nthen{number}:")
        yield
        self.line(f"br label %end{number}\nend{number}:")

    def choose(self, selector: str, cases: Sequence[Callable[[], None]]) -> None:
        """The case with the number of a selector."""
        if len(cases) == 1:
            cases[0]()
            return
        number = next(self.names)
        labels = "\n".join(f"i64 {k}, label %case{number}.{k}" for k in range(1, len(cases)))
        self.line(f"switch i64 {selector}, label %case{number}.0 [ {labels} ]")
        for k, case in enumerate(cases):
            self.line(f"case{number}.{k}:")
            case()
            self.line(f"br label %end{number}")
        self.line(f"end{number}:")

    def splat(self, real: Real, number: str) -> str:
        """A number in every lane."""
        if real.lanes == 1:
            return number
        first = self.value(f"insertelement {real.type} poison, {real.scalar} {number}, i64 0")
        return self.value(
            f"shufflevector {real.type} {first}, {real.type} poison, <{real.lanes} x i32> zeroinitializer"
        )

    def any_lane(self, real: Real, mask: str) -> str:
        """Whether a comparison holds in any lane."""
        if real.lanes == 1:
            return mask
        bits = self.value(f"bitcast {real.mask} {mask} to i{real.lanes}")
        return self.value(f"icmp ne i{real.lanes} {bits}, 0")

    def shuffle(self, real: Real, a: str, b: str, width: int, lanes: Sequence[int]) -> str:
        """Some lanes of two vectors of a width."""
        kind, picked = real.of(real.scalar, width), ", ".join(f"i32 {lane}" for lane in lanes)
        return self.value(f"shufflevector {kind} {a}, {kind} {b}, <{len(lanes)} x i32> <{picked}>")
