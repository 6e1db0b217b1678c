"""C text of a rolled kernel: a table of the links' numbers and loops over them.

The text defines `<prefix>_angles` and `<prefix>_body` with the same meaning as those of a straight-line kernel, so that the
drivers do not know the difference. Carried values live in b0, b1, ...; values kept for later sweeps in w, a row per link;
where the tree branches, carried values wait in slots of w behind those rows.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from appell.compiler.emit import Dialect, emit
from appell.compiler.rolled.groups import Group, groups, numbers
from appell.compiler.rolled.steps import TracedClimb, TracedStep, TracedSweep, Tracer, table
from appell.compiler.rolled.sweep import Program
from appell.model.tree import BASE, Tree


@dataclass(frozen=True)
class Rolled:
    """A function of a robot in rolled form, ready to be written in any dialect.

    Attributes:
        sizes: entries of each input.
        size_out: entries of the result.
        angle_count: sines and cosines needed, one place a link.
        shared: values of scratch memory.
    """

    tree: Tree
    program: Program
    groups: tuple[Group, ...]
    sweeps: tuple[TracedSweep, ...]
    climb: tuple[TracedClimb, ...]
    row: int

    @classmethod
    def of(cls, tree: Tree, program: Program) -> Rolled:
        found = groups(tree)
        tracer = Tracer(tree, program, found)
        sweeps = tuple(tracer.sweep(sweep) for sweep in program.sweeps)
        climb = tuple(tracer.climb(program.climb)) if program.climb else ()
        return cls(tree, program, tuple(found), sweeps, climb, max(tracer.size))

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(self.tree.nq if name == "q" else self.tree.nv for name in self.program.inputs)

    @property
    def size_out(self) -> int:
        return self.tree.nv**2 if self.program.climb else self.tree.nv

    @property
    def angle_count(self) -> int:
        return len(self.tree.links)

    @property
    def shared(self) -> int:
        width = max((len(sweep.alive) for sweep in self.sweeps), default=0)
        return len(self.tree.links) * self.row + len(self.branches) * width

    @property
    def branches(self) -> dict[int, int]:
        """Links that do not hand on only to the next link in order, and the slot where carried values wait."""
        links = self.tree.links
        return {
            p: k
            for k, p in enumerate(
                sorted({link.parent for i, link in enumerate(links) if link.parent not in (BASE, i - 1)})
            )
        }

    @property
    def cost(self) -> int:
        """Operations of one state, roughly."""
        steps = [step for sweep in self.sweeps for step in sweep.steps[:1]]
        own = len(self.tree.links) * sum(len(step.listed.operations) for step in steps)
        pairs = sum(len(self.tree.ancestors(i)) for i in range(len(self.tree.links))) if self.climb else 0
        return own + 30 * pairs

    @property
    def functions_used(self) -> frozenset[str]:
        steps = [step for sweep in self.sweeps for step in sweep.steps]
        return frozenset(operation.name for step in steps for operation in step.listed.operations) - {"sin", "cos"}

    def data(self, dialect: Dialect) -> str:
        """The constants that the functions read."""
        text = self.functions(dialect, "any")
        links, branches = self.tree.links, self.branches
        rows_before = [sum(len(begin) for begin, _, _ in self.climb[:g]) for g in range(len(self.groups))]
        group = {i: g for g, each in enumerate(self.groups) for i in each.members}
        rows = ",\n".join("    {" + ", ".join(map(dialect.literal, row)) + "}" for row in table(self.tree))
        integers = {
            "group_of": [group[i] for i in range(len(links))],
            "begin_of": [rows_before[group[i]] for i in range(len(links))],
            "degrees_of": [link.kind.nv for link in links],
            "parent_of": [link.parent for link in links],
            "q_of": [link.q for link in links],
            "v_of": [link.v for link in links],
            "slot_of": [branches.get(i, -1) for i in range(len(links))],
        }
        return "\n".join((
            f"enum {{ LINKS = {len(links)}, ROW = {self.row} }};",
            f"static const real table[LINKS][{len(numbers(links[0]))}] = {{\n{rows}\n}};",
            *(
                f"static const int {name}[LINKS] = {{{', '.join(map(str, values))}}};"
                for name, values in integers.items()
                if name in text
            ),
            "",
        ))  # fmt: skip

    def functions(self, dialect: Dialect, prefix: str, attribute: str = "") -> str:
        """`<prefix>_angles` and `<prefix>_body`."""
        return _Writer(self, dialect, prefix, attribute).text()


class _Writer:
    """Writes one rolled function in one dialect."""

    def __init__(self, rolled: Rolled, dialect: Dialect, prefix: str, attribute: str) -> None:
        self.rolled, self.prefix, self.type, self.attribute = rolled, prefix, dialect.type, attribute
        self.dialect = replace(
            dialect,
            load="i{}".format,
            sine="s[i + {}]",
            cosine="c[i + {}]",
            store=f"const {dialect.type} o{{0}} = {{1}};",
        )
        self.splat = dialect.splat
        offsets, total = {}, 0
        for name, size in zip(rolled.program.inputs, rolled.sizes, strict=True):
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
        zero = [f"for (int j = 0; j < {self.rolled.size_out}; j++) y[j] = {self.splat.format('0')};"]
        parts.append(self.function(f"{self.prefix}_body({given})", [*(zero if self.accumulates else ()), *calls]))
        return "\n".join(parts)

    @property
    def accumulates(self) -> bool:
        """Whether several links write to one entry of the result, or not all entries are written."""
        return bool(self.rolled.climb) or not all(link.leads for link in self.rolled.tree.links)

    def angles(self) -> str:
        lines = ["for (int i = 0; i < LINKS; i++, a++) {", "    const real *restrict t = table[i];", "    (void)t;"]
        cases = []
        for step in self.rolled.sweeps[0].steps:
            code = emit(step.listed, self.dialect)
            cases.append([*self.loads(step, code.angles), *(code.angles or (f"a[0] = {self.splat.format('0')};",))])
        lines += _indented(_switch("group_of[i]", cases))
        return self.function(
            f"{self.prefix}_angles(const {self.type} *restrict x, {self.type} *restrict a)", [*lines, "}"]
        )

    def sweep(self, sweep: TracedSweep) -> list[str]:
        T, width = self.type, len(sweep.alive)
        every = range(width)
        start = [self.splat.format(self.dialect.literal(x)) for x in sweep.start]
        slot = f"w[LINKS * ROW + slot * {width} + {{}}]"
        lines = ["(void)x; (void)s; (void)c; (void)w; (void)y;"]
        lines += [f"{T} b{k} = {start[k]};" for k in every]
        if sweep.inward:
            count = len(self.rolled.branches)
            lines.append(f"for (int j = 0; j < {count * width}; j++) w[LINKS * ROW + j] = {self.splat.format('0')};")
            lines.append("for (int i = LINKS - 1; i >= 0; i--) {")
            before = ["const int slot = slot_of[i];", "if (slot >= 0) {"]
            before += [f"    b{k} += {slot.format(k)};" for k in every] + ["}"]
            after = [
                "if (parent_of[i] != i - 1) {",
                "    const int slot = parent_of[i] < 0 ? -1 : slot_of[parent_of[i]];",
            ]
            after += ["    if (slot >= 0) {", *(f"        {slot.format(k)} += b{k};" for k in every), "    }"]
            after += [f"    b{k} = {start[k]};" for k in every] + ["}"]
        else:
            lines.append("for (int i = 0; i < LINKS; i++) {")
            before = ["if (parent_of[i] != i - 1) {", "    if (parent_of[i] < 0) {"]
            before += [f"        b{k} = {start[k]};" for k in every]
            before += ["    } else {", "        const int slot = slot_of[parent_of[i]];"]
            before += [f"        b{k} = {slot.format(k)};" for k in every] + ["    }", "}"]
            after = ["const int slot = slot_of[i];", "if (slot >= 0) {"]
            after += [f"    {slot.format(k)} = b{k};" for k in every] + ["}"]
        cases = [self.step(step, "y[v_of[i] + {}]") for step in sweep.steps]
        inner = ["const real *restrict t = table[i];", "(void)t;", "{", *_indented(before), "}"]
        inner += [*_switch("group_of[i]", cases), "{", *_indented(after), "}"]
        return [*lines, *_indented(inner), "}"]

    def climb(self) -> list[str]:
        nv, (begins, carries, meets) = self.rolled.tree.nv, zip(*self.rolled.climb, strict=True)
        width = sum(1 for kind, _ in carries[0].targets if kind == "carried")
        element = f"y[(v_of[i] + {{0}}) * {nv} + v_of[j] + r] = y[(v_of[j] + r) * {nv} + v_of[i] + {{0}}]"
        starts = [self.step(step, element, adds=False) for begin in begins for step in begin]
        walk = [
            "int i = j;",
            "const real *restrict t = table[i];",
            "(void)t;",
            f"{self.type} {', '.join(f'b{k}' for k in range(width))};",
            *_switch("begin_of[j] + r", starts),
            "while (parent_of[i] >= 0) {",
            *_indented(_switch("group_of[i]", [self.step(step, element, adds=False) for step in carries])),
            "    i = parent_of[i];",
            "    t = table[i];",
            *_indented(_switch("group_of[i]", [self.step(step, element, adds=False) for step in meets])),
            "}",
        ]
        return [
            "(void)x; (void)s; (void)c; (void)w;",
            "for (int j = 0; j < LINKS; j++)",
            "    for (int r = 0; r < degrees_of[j]; r++) {",
            *_indented(_indented(walk)),
            "    }",
        ]

    def step(self, step: TracedStep, result: str, adds: bool = True) -> list[str]:
        """Loads, operations and stores of one step for the link `i`; several links may add to one entry of a result."""
        code = emit(step.listed, self.dialect, part=1 << 30)
        (statements,) = code.parts
        lines = [*self.loads(step, statements), *statements]
        for n, (kind, k) in enumerate(step.targets):
            if kind == "carried":
                lines.append(f"b{k} = o{n};")
            elif kind == "kept":
                lines.append(f"w[i * ROW + {k}] = o{n};")
            else:
                lines.append(f"{result.format(k)} {'+=' if self.accumulates and adds else '='} o{n};")
        return lines

    def function(self, head: str, lines: Iterable[str]) -> str:
        body = "\n".join(_indented(lines))
        return f"{self.attribute + ' ' if self.attribute else ''}static void {head}\n{{\n{body}\n}}\n"

    def loads(self, step: TracedStep, statements: Iterable[str]) -> list[str]:
        """Declarations of the inputs that the statements use."""
        used = set(_names(statements))
        return [
            f"const {self.type} i{n} = {self.load(source.origin, source.index)};"
            for n, source in enumerate(step.sources)
            if f"i{n}" in used
        ]

    def load(self, origin: str, index: int) -> str:
        if origin == "table":
            return self.splat.format(f"t[{index}]")
        if origin == "carried":
            return f"b{index}"
        if origin == "kept":
            return f"w[i * ROW + {index}]"
        return f"x[{self.offsets[origin]} + {'q' if origin == 'q' else 'v'}_of[i] + {index}]"


def _names(statements: Iterable[str]) -> Iterable[str]:
    """The inputs that statements mention."""
    for statement in statements:
        yield from re.findall(r"\bi\d+\b", statement)


def _switch(selector: str, cases: list[list[str]]) -> list[str]:
    """The statements of the case that the selector names; a single case needs no choice."""
    if len(cases) == 1:
        return ["{", *_indented(cases[0]), "}"]
    lines = [f"switch ({selector}) {{"]
    for n, case in enumerate(cases):
        label = f"case {n}" if n + 1 < len(cases) else "default"
        lines += [f"{label}: {{", *_indented(case), "    break;", "}"]
    return [*lines, "}"]


def _indented(lines: Iterable[str]) -> list[str]:
    return [f"    {line}" for line in lines]
