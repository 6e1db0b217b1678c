"""C99 (`<prefix>.h` and `<prefix>.c`, for a controller) and CUDA (`<prefix>.cuh`, device functions for other kernels).

A function of moderate size is one block of statements over the names of its arguments. A longer one is written in parts
or in loops (`appell.compiler.lowering`); its static functions work on copies of the arguments. In both cases the result is
stored after the last argument was read, so that it may be written over an argument.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from appell.compiler.emit import REALS, EmissionPlan, scalar_dialect, write
from appell.compiler.lowering import StraightLine
from appell.exporters.comments import MARK, block_comment, function_comment, robot_comment, safe_text
from appell.exporters.functions import ExportedFunction, ExportedRobot
from appell.version import __version__

LIBM_SUFFIX = {"float64": "", "float32": "f"}
ROLLED_DATA = re.compile(r"\b(LINKS|ROW|table|[a-z]+_of)\b")
"""Data of a function in loops; here their names begin with the function's, as a file holds several functions."""

CUDA_SYNTAX = (
    (re.compile(r"^(static )?void ", re.MULTILINE), "static __device__ void "),
    (re.compile(r"^static const ", re.MULTILINE), "static __device__ const "),
    (re.compile(r"\brestrict\b"), "__restrict__"),
)
"""Differences between C99 and CUDA."""


# --- files ----------------------------------------------------------------------------------------------------------------


def c_files(exported: ExportedRobot) -> dict[str, str]:
    """Names and contents of the C files."""
    return {f"{exported.prefix}.h": c_header(exported), f"{exported.prefix}.c": c_source(exported)}


def c_header(exported: ExportedRobot) -> str:
    guard = f"{exported.prefix.upper()}_H"
    head = [
        f"{title(exported)}. C99, needs only <math.h>.",
        "",
        *robot_comment(exported.robot),
        f"Build:  cc -std=c99 -O2 -c {exported.prefix}.c    and link with -lm",
        f"Use:    {example_call(exported.functions[0], exported.dtype)}",
    ]
    lines = [block_comment(head), f"#ifndef {guard}", f"#define {guard}", "", *cpp_only('extern "C" {')]
    for function in exported.functions:
        lines += [described(function, exported.dtype), f"{prototype(function, exported.dtype)};", ""]
    return "\n".join([*lines, *cpp_only("}"), f"#endif /* {guard} */", ""])


def c_source(exported: ExportedRobot) -> str:
    comment = block_comment([f"{title(exported)}. What the functions do: {exported.prefix}.h"])
    head = [comment, f'#include "{exported.prefix}.h"', "", "#include <math.h>", ""]
    bodies = [definition(each, prototype(each, exported.dtype), exported.dtype) for each in exported.functions]
    if any("restrict" in body for body in bodies):
        head += cpp_only("#define restrict")
    return "\n".join([*head, *bodies])


def cuda_files(exported: ExportedRobot) -> dict[str, str]:
    """Name and content of the CUDA header."""
    guard = f"{exported.prefix.upper()}_CUH"
    head = [
        f"{title(exported)}. Device functions for CUDA kernels.",
        "",
        *robot_comment(exported.robot),
        "Use:    #include it and call its functions from a kernel, arrays in registers or local memory:",
        f"        {example_call(exported.functions[0], exported.dtype)}",
    ]
    lines = [block_comment(head), f"#ifndef {guard}", f"#define {guard}", ""]
    for function in exported.functions:
        text = definition(function, prototype(function, exported.dtype), exported.dtype)
        for pattern, replacement in CUDA_SYNTAX:
            text = pattern.sub(replacement, text)
        lines += [described(function, exported.dtype), text]
    return {f"{exported.prefix}.cuh": "\n".join([*lines, f"#endif /* {guard} */", ""])}


def title(exported: ExportedRobot) -> str:
    return f"{safe_text(exported.robot.name)}: {MARK} {__version__}"


def described(function: ExportedFunction, dtype: str) -> str:
    stack = stack_bound(definition(function, prototype(function, dtype), dtype))
    return block_comment(function_comment(function, stack))


def prototype(function: ExportedFunction, dtype: str) -> str:
    """The declaration without its semicolon."""
    real = REALS[dtype]
    inputs = [f"const {real} {name}[{size}]" for name, size in function.inputs]
    return f"void {function.name}({', '.join([*inputs, f'{real} {result_declaration(function)}'])})"


def example_call(function: ExportedFunction, dtype: str) -> str:
    inputs = [f"{name}[{size}] = {{0}}" for name, size in function.inputs]
    names = [*(name for name, _ in function.inputs), function.result.name]
    declared = ", ".join([*inputs, result_declaration(function)])
    return f"{REALS[dtype]} {declared}; {function.name}({', '.join(names)});"


def result_declaration(function: ExportedFunction) -> str:
    return f"{function.result.name}[{function.lowered.size_out}]"


def cpp_only(line: str) -> list[str]:
    """A line for C++ compilers only."""
    return ["#ifdef __cplusplus", line, "#endif", ""]


# --- definition of one function -------------------------------------------------------------------------------------------


def definition(function: ExportedFunction, head: str, dtype: str) -> str:
    """The whole text of a function; `head` is its prototype."""
    planned = single_block_plan(function)
    if planned is None:
        return static_parts(function, head, dtype)
    return single_block(function, numbered_by_coordinates(planned), head, dtype)


def single_block_plan(function: ExportedFunction) -> EmissionPlan | None:
    """The plan of a function that fits in one block."""
    lowered = function.lowered
    return lowered.planned if isinstance(lowered, StraightLine) and len(lowered.planned.pieces) == 1 else None


def single_block(function: ExportedFunction, planned: EmissionPlan, head: str, dtype: str) -> str:
    """Sines and cosines, then all other statements, then the stores."""
    used = used_sines(planned)
    entries = [f"{name}[{i}]" for name, size in function.inputs for i in range(size)]
    result = function.result.name

    def sines(index: int, angle: str) -> str:
        names = [name for name in ("sin", "cos") if (name, index) in used]
        return " ".join(f"{name[0]}[{index}] = {name}{LIBM_SUFFIX[dtype]}({angle});" for name in names)

    dialect = replace(scalar_dialect(dtype), load=entries.__getitem__, angle=sines, store=f"{result}[{{0}}] = {{1}};")
    code = write(planned, dialect)
    statements = [line for part in code.parts for line in part]
    stores = [line for line in statements if line.startswith(f"{result}[")]
    others = [line for line in statements if not line.startswith(f"{result}[") and line not in code.angles]
    size = max(planned.angles.values(), default=0) + 1
    arrays = [f"{name[0]}[{size}]" for name in ("sin", "cos") if any(kind == name for kind, _ in used)]
    lines = [f"{REALS[dtype]} {', '.join(arrays)};"] if arrays else []
    lines += [*code.angles, *others, *stores]
    text = "\n".join(lines)
    unused = [f"(void){name};" for name, _ in function.inputs if not re.search(rf"\b{name}\[", text)]
    return braced(head, [*unused, *lines])


def static_parts(function: ExportedFunction, head: str, dtype: str) -> str:
    """Static functions on copies of the arguments, and one that calls them."""
    lowered, real, name = function.lowered, REALS[dtype], function.name
    dialect = scalar_dialect(dtype)
    helpers = f"{lowered.data(dialect)}\n{lowered.functions(dialect, name)}".lstrip()
    helpers = ROLLED_DATA.sub(rf"{name}_\1", re.sub(r"\breal\b", real, helpers))
    angles = lowered.angle_count
    sizes = {"x": sum(lowered.sizes), "y": lowered.size_out, **dict.fromkeys("asc", angles), "w": lowered.shared}
    lines = [f"{real} {', '.join(f'{array}[{max(size, 1)}]' for array, size in sizes.items())};"]
    first = 0
    for argument, size in function.inputs:
        lines.append(f"for (int i = 0; i < {size}; i++) x[{first} + i] = {argument}[i];")
        first += size
    lines += [
        f"{name}_angles(x, a);",
        f"for (int i = 0; i < {angles}; i++) {{",
        f"    s[i] = sin{LIBM_SUFFIX[dtype]}(a[i]);",
        f"    c[i] = cos{LIBM_SUFFIX[dtype]}(a[i]);",
        "}",
        f"{name}_body(x, s, c, w, y);",
        f"for (int i = 0; i < {lowered.size_out}; i++) {function.result.name}[i] = y[i];",
    ]
    return f"{helpers}\n{braced(head, lines)}"


FUNCTION = re.compile(r"^(?:static )?void (\w+)\(([^)]*)\)\n\{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
DECLARATION = re.compile(r"\b(double|float|int)\b ([^=;()]*)[=;]")
FRAME_OVERHEAD = 128
"""Bytes of a function's frame besides its variables: return address, saved registers, alignment."""


def stack_bound(text: str) -> int:
    """Largest stack of the last function of a text with those that it calls, whatever the optimization of the compiler.

    Every variable takes a place of its own, as it does without optimization. The first function of a text calls none, and at
    most one function calls others (`appell.compiler.lowering`). What sine and cosine take is not included.
    """
    frames = {name: frame_bytes(arguments, body) for name, arguments, body in FUNCTION.findall(text)}
    *callees, last = frames.values()
    callers = [size for name, size in frames.items() if name.endswith("_body")]
    return last + sum(callers) + max((size for size in callees if size not in callers), default=0)


def frame_bytes(arguments: str, body: str) -> int:
    """Bytes of the variables and arguments of a function, and of its frame."""
    total = FRAME_OVERHEAD + 8 * (arguments.count(",") + 1)
    for kind, names in DECLARATION.findall(body):
        for name in names.split(","):
            size = re.search(r"\[(\d+)\]", name)
            width = 4 if kind == "float" and "*" not in name else 8
            total += width * (int(size[1]) if size else 1)
    return total


def numbered_by_coordinates(planned: EmissionPlan) -> EmissionPlan:
    """The plan with s[i] and c[i] for the coordinate q[i], where every angle depends on exactly one coordinate."""
    sources: list[frozenset[int]] = []
    for name, arguments, number in planned.listed.operations:
        own = frozenset({int(number)}) if name == "input" else frozenset()
        sources.append(own.union(*(sources[k] for k in arguments)))
    coordinates = [sources[value] for value in planned.angles]
    if any(len(indices) != 1 for indices in coordinates) or len(set(coordinates)) < len(coordinates):
        return planned
    return replace(planned, angles={value: min(sources[value]) for value in planned.angles})


def used_sines(planned: EmissionPlan) -> set[tuple[str, int]]:
    """The sines and cosines of the hoisted angles that occur."""
    return {
        (name, planned.angles[arguments[0]])
        for name, arguments, _ in planned.listed.operations
        if name in ("sin", "cos") and arguments[0] in planned.angles
    }


def braced(head: str, lines: Iterable[str]) -> str:
    body = "\n".join(f"    {line}" for line in lines)
    return f"{head}\n{{\n{body}\n}}\n"
