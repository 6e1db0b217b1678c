"""C text of a rolled kernel: a table of the links' numbers and loops over them.

The text defines `<prefix>_angles` and `<prefix>_body` with the same meaning as those of a straight-line kernel, so that the
drivers do not know the difference. Carried values live in b0, b1, ...; values kept for later sweeps in w, a row per link;
where the tree branches, carried values wait in slots of w behind those rows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from appell.compiler.emit import Dialect, emit
from appell.compiler.rolled.steps import OF_NO_LINK, PairPlace, TracedStep, TracedSweep
from appell.compiler.rolled.triples import indented, switch, triples_text

if TYPE_CHECKING:
    from appell.compiler.rolled.form import Rolled


PIVOTS, TILE = 4, 64
"""Pivots that are eliminated at a time, and columns that are changed in all rows before the next ones: what is read often stays
near the processor."""


def elimination_sizes(n: int) -> list[int]:
    """Numbers of pivots that are eliminated at a time in a matrix of n rows."""
    return [size for size, needed in ((PIVOTS, n >= PIVOTS), (1, n % PIVOTS)) if needed]


class Writer:
    """Writes one rolled function in one dialect."""

    def __init__(self, rolled: Rolled, dialect: Dialect, prefix: str) -> None:
        self.rolled, self.prefix, self.type = rolled, prefix, dialect.type
        self.dialect = replace(
            dialect,
            load="i{}".format,
            sine="s[i + {}]",
            cosine="c[i + {}]",
            store=f"const {dialect.type} o{{0}} = {{1}};",
        )
        offsets, total = {}, 0
        for name, size in zip(rolled.inputs, rolled.sizes, strict=True):
            offsets[name], total = total, total + size
        self.offsets = offsets

    def text(self) -> str:
        T = self.type
        given = f"const {T} *restrict x, const {T} *restrict s, const {T} *restrict c, {T} *restrict w, {T} *restrict y"
        parts = [self.angles()]
        for n, sweep in enumerate(self.rolled.sweeps):
            parts.append(self.function(f"{self.prefix}_sweep{n}({given})", self.sweep(sweep)))
        calls = [f"{self.prefix}_sweep{n}(x, s, c, w, y);" for n in range(len(self.rolled.sweeps))]
        if self.rolled.climb:
            parts.append(self.function(f"{self.prefix}_climb({given})", self.climb()))
            calls.append(f"{self.prefix}_climb(x, s, c, w, y);")
        if self.rolled.triples:
            parts.append(self.function(f"{self.prefix}_triples({given})", triples_text(self)))
            calls.append(f"{self.prefix}_triples(x, s, c, w, y);")
        if self.rolled.solves:
            for size in elimination_sizes(self.rolled.nv):
                head = f"{self.prefix}_eliminate{size}(int k, {T} *restrict w, {T} *restrict y)"
                parts.append(self.function(head, self.eliminate(size)))
            parts.append(self.function(f"{self.prefix}_solve({T} *restrict w, {T} *restrict y)", self.solve()))
            calls.append(f"{self.prefix}_solve(w, y);")
        zero = [f"for (int j = 0; j < {self.rolled.size_out}; j++) y[j] = 0;"]
        parts.append(
            self.function(f"{self.prefix}_body({given})", [*(zero if self.rolled.needs_zeros else ()), *calls])
        )
        return "\n".join(parts)

    def angles(self) -> str:
        lines = ["for (int i = 0; i < LINKS; i++, a++) {"]
        cases = []
        for step in self.rolled.sweeps[0].steps:
            code = emit(step.listed, self.dialect)
            cases.append([*self.loads(step, code.angles), *(code.angles or ("a[0] = 0;",))])
        lines += indented(switch("group_of[i]", cases))
        return self.function(
            f"{self.prefix}_angles(const {self.type} *restrict x, {self.type} *restrict a)", [*lines, "}"]
        )

    def sweep(self, sweep: TracedSweep) -> list[str]:
        start = [self.dialect.literal(x) for x in sweep.start]
        restart = [f"b{k} = {x};" for k, x in enumerate(start)]
        before, after = self.inward(sweep, restart) if sweep.inward else self.outward(sweep, restart)

        def entry(k: int) -> str:
            return f"y[{self.rolled.places[1]}[i] + {k * self.rolled.pitch}]"

        operator = "+=" if self.rolled.adds else "="
        inner = [
            *before,
            *switch("group_of[i]", [self.step(step, entry, operator) for step in sweep.steps]),
            *after,
        ]
        lines = ["(void)x; (void)s; (void)c; (void)w; (void)y;"]
        lines += [f"{self.type} {line}" for line in restart]
        if sweep.inward:
            waiting = len(self.rolled.branches) * len(sweep.alive)
            zero = f"for (int j = 0; j < {waiting}; j++) w[LINKS * ROW + j] = 0;"
            lines += [*([zero] if waiting else ()), "for (int i = LINKS - 1; i >= 0; i--) {"]
        else:
            lines.append("for (int i = 0; i < LINKS; i++) {")
        return [*lines, *indented(inner), "}"]

    def outward(self, sweep: TracedSweep, restart: list[str]) -> tuple[list[str], list[str]]:
        """Before a step: what the parent carried, unless that was the link before. After it: kept where children wait."""
        read, write = ([form.format(k) for k in range(len(sweep.alive))] for form in self.slot(sweep, "="))
        root = ["if (parent_of[i] < 0) {", *indented(restart), "}"]
        if not self.rolled.branches:
            return root, []
        read = ["const int slot = slot_of[parent_of[i]];", *read]
        other = ["else if (parent_of[i] != i - 1) {", *indented(read), "}"]
        return [*root, *other], ["if (slot_of[i] >= 0) {", "    const int slot = slot_of[i];", *indented(write), "}"]

    def inward(self, sweep: TracedSweep, restart: list[str]) -> tuple[list[str], list[str]]:
        """Before a step: what waits from other children is added. After it: handed to the parent."""
        read, write = ([form.format(k) for k in range(len(sweep.alive))] for form in self.slot(sweep, "+="))
        after = ["if (parent_of[i] != i - 1) {", *indented(restart), "}"]
        if not self.rolled.branches:
            return [], after
        before = ["if (slot_of[i] >= 0) {", "    const int slot = slot_of[i];", *indented(read), "}"]
        hand = ["if (parent_of[i] >= 0 && parent_of[i] != i - 1) {", "    const int slot = slot_of[parent_of[i]];"]
        return before, [*hand, *indented(write), "}", *after]

    def slot(self, sweep: TracedSweep, operator: str) -> tuple[str, str]:
        """How a carried value is read from and written to a slot."""
        place = f"w[LINKS * ROW + slot * {len(sweep.alive)} + {{0}}]"
        return f"b{{0}} {operator} {place};", f"{place} {operator} b{{0}};"

    def climb(self) -> list[str]:
        begins, carries, meets = zip(*self.rolled.climb, strict=True)
        width = sum(1 for kind, _ in carries[0].targets if kind == "carried")

        def element(k: int) -> str:
            degree, across, matrix = PairPlace.of(k, self.rolled.matrices)
            row, column = f"v_of[i] + {degree}", f"{self.rolled.places[0]}[j] + r"
            row, column = (column, row) if across else (row, column)
            return f"y[({row}) * {self.rolled.width} + {matrix * self.rolled.stride} + {column}]"

        starts = [self.step(step, element) for begin in begins for step in begin]
        walk = [
            "int i = j;",
            f"{self.type} {', '.join(f'b{k}' for k in range(width))};",
            *switch("begin_of[j] + r", starts),
            "while (parent_of[i] >= 0) {",
            *indented(switch("group_of[i]", [self.step(step, element) for step in carries])),
            "    i = parent_of[i];",
            *indented(switch("group_of[i]", [self.step(step, element) for step in meets])),
            "}",
        ]
        return [
            "(void)x; (void)s; (void)c; (void)w;",
            "for (int j = 0; j < LINKS; j++)",
            "    for (int r = 0; r < walks_of[j]; r++) {",
            *indented(indented(walk)),
            "    }",
        ]

    def solve(self) -> list[str]:
        """Eliminate all pivots from the tips inwards; matrices before the last one change their sign."""
        n, width = self.rolled.nv, self.rolled.nv * self.rolled.matrices
        rest = n % PIVOTS
        return [
            f"for (int k = {n - PIVOTS}; k >= {rest}; k -= {PIVOTS}) {self.prefix}_eliminate{PIVOTS}(k, w, y);",
            *([f"for (int k = {rest - 1}; k >= 0; k--) {self.prefix}_eliminate1(k, w, y);"] if rest else ()),
            f"for (int i = 0; i < {n}; i++)",
            f"    for (int j = 0; j < {width - n}; j++) y[i * {width} + j] = -y[i * {width} + j];",
        ]

    def eliminate(self, size: int) -> list[str]:
        """Gauss and Jordan's elimination of `size` pivots from k on: first among their own rows, then from all others.

        The inverse grows in the place of the matrix. Rows without an element in these columns stay as they are.
        """
        n, width, T = self.rolled.nv, self.rolled.nv * self.rolled.matrices, self.type
        one, zero = self.dialect.literal(1.0), self.dialect.literal(0.0)
        pivots, places = range(size), f"y + {width - n} + k"
        used = " && ".join(f"f{a} == {zero}" for a in pivots)
        change = " - ".join(f"f{a} * p[{a * width} + j]" for a in pivots)
        alone = [
            f"    for (int i = 0; i < {size}; i++) {{",
            f"        {T} *restrict r = p + i * {width};",
            f"        const {T} factor = r[{width - n} + k + a];",
            "        if (i == a) continue;",
            f"        r[{width - n} + k + a] = {zero};",
            f"        for (int j = 0; j < {width}; j++) r[j] -= factor * own[j];",
            "    }",
        ]
        return [
            f"{T} *restrict p = y + k * {width};",
            f"for (int a = 0; a < {size}; a++) {{",
            f"    {T} *restrict own = p + a * {width};",
            f"    const {T} inverse = {one} / own[{width - n} + k + a];",
            f"    own[{width - n} + k + a] = {one};",
            f"    for (int j = 0; j < {width}; j++) own[j] *= inverse;",
            *(alone if size > 1 else ()),
            "}",
            f"for (int i = 0; i < {n}; i++)",
            f"    for (int a = 0; a < {size}; a++) {{",
            f"        const int other = i < k || i >= k + {size};",
            f"        w[i * {size} + a] = other ? ({places})[i * {width} + a] : {zero};",
            f"        if (other) ({places})[i * {width} + a] = {zero};",
            "    }",
            f"for (int first = 0; first < {width}; first += {TILE}) {{",
            f"    const int last = first + {TILE} < {width} ? first + {TILE} : {width};",
            f"    for (int i = 0; i < {n}; i++) {{",
            f"        const {T} {', '.join(f'f{a} = w[i * {size} + {a}]' for a in pivots)};",
            f"        if ({used}) continue;",
            f"        {T} *restrict r = y + i * {width};",
            f"        for (int j = first; j < last; j++) r[j] = r[j] - {change};",
            "    }",
            "}",
        ]

    def step(
        self, step: TracedStep, result: Callable[[int], str], operator: str = "=", given: str = "b", handed: str = "b"
    ) -> list[str]:
        """Loads, operations and stores of one step for the link `i`; several links may add to one entry of a result.

        `given` and `handed` are the variables of carried values, before and after it.
        """
        code = emit(step.listed, self.dialect, part=1 << 30)
        (statements,) = code.parts
        lines = [*self.loads(step, statements, given), *statements]
        for n, (kind, k) in enumerate(step.targets):
            if kind == "carried":
                lines.append(f"{handed}{k} = o{n};")
            elif kind == "kept":
                lines.append(f"w[i * ROW + {k}] = o{n};")
            else:
                lines.append(f"{result(k)} {operator} o{n};")
        return lines

    def function(self, head: str, lines: Iterable[str]) -> str:
        body = "\n".join(indented(lines))
        return f"static void {head}\n{{\n{body}\n}}\n"

    def loads(self, step: TracedStep, statements: Iterable[str], given: str = "b") -> list[str]:
        """Declarations of the inputs that the statements use."""
        used = set(_names(statements))
        return [
            f"const {self.type} i{n} = {self.load(source.origin, source.index, given)};"
            for n, source in enumerate(step.sources)
            if f"i{n}" in used
        ]

    def load(self, origin: str, index: int, given: str) -> str:
        if origin == "table":
            return f"table[i][{index}]"
        if origin == "carried":
            return f"{given}{index}"
        if origin == "kept":
            return f"w[i * ROW + {index}]"
        if origin in OF_NO_LINK:
            return f"x[{self.offsets[origin] + index}]"
        return f"x[{self.offsets[origin]} + {'q' if origin == 'q' else 'v'}_of[i] + {index}]"


def _names(statements: Iterable[str]) -> Iterable[str]:
    """The inputs that statements mention."""
    for statement in statements:
        yield from re.findall(r"\bi\d+\b", statement)
