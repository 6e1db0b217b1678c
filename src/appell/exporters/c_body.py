"""The C definition of one function.

A function of moderate size is one block of statements over the names of its arguments. A longer one is written in parts
or in loops (`appell.compiler.forms`); its static functions work on copies of the arguments. Either way the result is
stored after the last argument was read, so that it may be written over an argument.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from appell.compiler.c import REALS, scalar_dialect
from appell.compiler.emit import Plan, write
from appell.compiler.forms import StraightLine
from appell.exporters.subject import Exported

BYTES = {"float64": 8, "float32": 4}
SUFFIX = {"float64": "", "float32": "f"}
"""What libm's functions end with."""

DATA = re.compile(r"\b(LINKS|ROW|table|[a-z]+_of)\b")
"""What a function in loops calls its data; here they carry the function's name, as a file holds several functions."""


def definition(function: Exported, head: str, dtype: str) -> str:
    """The whole text of a function; `head` is its prototype."""
    planned = short_plan(function)
    if planned is None:
        return in_parts(function, head, dtype)
    return in_one_block(function, numbered_by_coordinates(planned), head, dtype)


def short_plan(function: Exported) -> Plan | None:
    """The plan of a function that fits in one block."""
    form = function.form
    return form.planned if isinstance(form, StraightLine) and len(form.planned.pieces) == 1 else None


def in_one_block(function: Exported, planned: Plan, head: str, dtype: str) -> str:
    """Sines and cosines, then all other statements, then the stores."""
    used = used_sines(planned)
    entries = [f"{name}[{i}]" for name, size in function.inputs for i in range(size)]
    result = function.result.name

    def sines(index: int, angle: str) -> str:
        names = [name for name in ("sin", "cos") if (name, index) in used]
        return " ".join(f"{name[0]}[{index}] = {name}{SUFFIX[dtype]}({angle});" for name in names)

    dialect = replace(scalar_dialect(dtype), load=entries.__getitem__, angle=sines, store=f"{result}[{{0}}] = {{1}};")
    code = write(planned, dialect)
    stores = [line for part in code.parts for line in part if line.startswith(f"{result}[")]
    others = [line for part in code.parts for line in part if not line.startswith(f"{result}[")]
    size = max(planned.angles.values(), default=0) + 1
    arrays = [f"{name[0]}[{size}]" for name in ("sin", "cos") if any(kind == name for kind, _ in used)]
    lines = [f"{REALS[dtype]} {', '.join(arrays)};"] if arrays else []
    lines += [*code.angles, *others, *stores]
    return block(head, [*unused(function, lines), *lines])


def in_parts(function: Exported, head: str, dtype: str) -> str:
    """Static functions on copies of the arguments, and one that calls them."""
    form, real, name = function.form, REALS[dtype], function.name
    dialect = scalar_dialect(dtype)
    helpers = f"{form.data(dialect)}\n{form.functions(dialect, name)}".lstrip()
    helpers = DATA.sub(rf"{name}_\1", re.sub(r"\breal\b", real, helpers))
    sizes = {"x": sum(form.sizes), "y": form.size_out, **dict.fromkeys("asc", form.angle_count), "w": form.shared}
    lines = [f"{real} {', '.join(f'{array}[{max(size, 1)}]' for array, size in sizes.items())};"]
    first = 0
    for argument, size in function.inputs:
        lines.append(f"for (int i = 0; i < {size}; i++) x[{first} + i] = {argument}[i];")
        first += size
    lines += [
        f"{name}_angles(x, a);",
        f"for (int i = 0; i < {form.angle_count}; i++) {{",
        f"    s[i] = sin{SUFFIX[dtype]}(a[i]);",
        f"    c[i] = cos{SUFFIX[dtype]}(a[i]);",
        "}",
        f"{name}_body(x, s, c, w, y);",
        f"for (int i = 0; i < {form.size_out}; i++) {function.result.name}[i] = y[i];",
    ]
    return f"{helpers}\n{block(head, lines)}"


def stack_bytes(function: Exported, dtype: str) -> int:
    """Memory of the arrays that a function declares; what the compiler keeps in between comes on top."""
    form = function.form
    places = 2 * form.angle_count
    if short_plan(function) is None:
        places = sum(form.sizes) + form.size_out + 3 * form.angle_count + form.shared
    return places * BYTES[dtype]


def numbered_by_coordinates(planned: Plan) -> Plan:
    """The plan with s[i] and c[i] for the coordinate q[i], where every angle has a coordinate of its own."""
    behind: list[frozenset[int]] = []
    for name, arguments, number in planned.listed.operations:
        own = frozenset({int(number)}) if name == "input" else frozenset()
        behind.append(own.union(*(behind[k] for k in arguments)))
    coordinates = [behind[value] for value in planned.angles]
    if any(len(each) != 1 for each in coordinates) or len(set(coordinates)) < len(coordinates):
        return planned
    return replace(planned, angles={value: min(behind[value]) for value in planned.angles})


def used_sines(planned: Plan) -> set[tuple[str, int]]:
    """Which sines and cosines of the hoisted angles occur."""
    return {
        (name, planned.angles[arguments[0]])
        for name, arguments, _ in planned.listed.operations
        if name in ("sin", "cos") and arguments[0] in planned.angles
    }


def unused(function: Exported, lines: Iterable[str]) -> list[str]:
    """Statements that say that a result does not depend on an argument."""
    text = "\n".join(lines)
    return [f"(void){name};" for name, _ in function.inputs if not re.search(rf"\b{name}\[", text)]


def block(head: str, lines: Iterable[str]) -> str:
    body = "\n".join(f"    {line}" for line in lines)
    return f"{head}\n{{\n{body}\n}}\n"
