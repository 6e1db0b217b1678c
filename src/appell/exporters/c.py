"""C99: `<prefix>.h` and `<prefix>.c`, for a controller."""

from __future__ import annotations

from appell.compiler.c import REALS
from appell.exporters.c_body import definition, stack_bytes
from appell.exporters.counts import count_form
from appell.exporters.files import MARK
from appell.exporters.subject import Exported, Subject
from appell.exporters.words import comment, function_words, plain, robot_words
from appell.version import __version__


def texts(subject: Subject) -> dict[str, str]:
    """Names and contents of the files."""
    return {f"{subject.prefix}.h": header(subject), f"{subject.prefix}.c": source(subject)}


def header(subject: Subject) -> str:
    guard = f"{subject.prefix.upper()}_H"
    first = subject.functions[0]
    title = f"{plain(subject.robot.name)}: {MARK} {__version__}. C99, needs only <math.h>."
    words = [
        *robot_words(subject.robot),
        f"Build:  cc -std=c99 -O2 -c {subject.prefix}.c    and link with -lm",
        f"Use:    {usage(first, subject.dtype)}",
    ]
    lines = [comment([title, "", *words]), f"#ifndef {guard}", f"#define {guard}", "", *in_cpp('extern "C" {')]
    for function in subject.functions:
        counts, stack = count_form(function.form), stack_bytes(function, subject.dtype)
        lines += [comment(function_words(function, counts, stack)), f"{prototype(function, subject.dtype)};", ""]
    return "\n".join([*lines, *in_cpp("}"), f"#endif /* {guard} */", ""])


def source(subject: Subject) -> str:
    title = f"{plain(subject.robot.name)}: {MARK} {__version__}. What the functions do: {subject.prefix}.h"
    head = [comment([title]), f'#include "{subject.prefix}.h"', "", "#include <math.h>", ""]
    bodies = [definition(function, prototype(function, subject.dtype), subject.dtype) for function in subject.functions]
    if any("restrict" in body for body in bodies):
        head += in_cpp("#define restrict")
    return "\n".join([*head, *bodies])


def prototype(function: Exported, dtype: str) -> str:
    """The declaration without its semicolon."""
    real = REALS[dtype]
    given = [f"const {real} {name}[{size}]" for name, size in function.inputs]
    return f"void {function.name}({', '.join([*given, f'{real} {result(function)}'])})"


def usage(function: Exported, dtype: str) -> str:
    """A call, as one would write it."""
    given = [f"{name}[{size}] = {{0}}" for name, size in function.inputs]
    names = [*(name for name, _ in function.inputs), function.result.name]
    return f"{REALS[dtype]} {', '.join([*given, result(function)])}; {function.name}({', '.join(names)});"


def result(function: Exported) -> str:
    """The result as it is declared."""
    return f"{function.result.name}[{function.form.size_out}]"


def in_cpp(line: str) -> list[str]:
    """A line that only C++ sees."""
    return ["#ifdef __cplusplus", line, "#endif", ""]
