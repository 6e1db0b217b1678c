"""A controller for tests: exported C with a small main that runs every function on states from a file."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

WARNINGS = ("-Wall", "-Wextra", "-Werror", "-pedantic", "-Wconversion", "-Wshadow", "-Wdouble-promotion")
C99 = ("gcc", "-std=c99", *WARNINGS)
SANITIZED = (*C99, "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")

NAMES = {"float64": "double", "float32": "float"}

MAIN = """\
#include <stdio.h>
#include <stdlib.h>
#include "{prefix}.h"

/* Arguments and results lie in blocks of exactly their size, so that the sanitizer sees every access beyond them. */
static void run({real} *const *in, const int *sizes, int count, void (*call)({real} *const *, {real} *), int entries)
{{
    {real} *out = ({real} *)malloc((size_t)entries * sizeof *out);
    for (int k = 0; k < count; k++)
        if (fread(in[k], sizeof **in, (size_t)sizes[k], stdin) != (size_t)sizes[k]) exit(2);
    for (int j = 0; j < entries; j++) out[j] = ({real})12345;
    call(in, out);
    if (fwrite(out, sizeof *out, (size_t)entries, stdout) != (size_t)entries) exit(3);
    free(out);
}}

{wrappers}

int main(int argc, char **argv)
{{
    const long states = argc > 1 ? atol(argv[1]) : 0;
    for (long n = 0; n < states; n++) {{
{calls}
    }}
    return 0;
}}
"""


def require(command: str) -> None:
    """Skip the test where there is no such compiler."""
    if shutil.which(command) is None:
        pytest.skip(f"{command} is not installed")


def write_main(folder: Path, prefix: str, real: str) -> list[tuple[str, list[int], int]]:
    """`main.c` for the functions that the header declares: name, sizes of the inputs, entries of the result of each."""
    declared = re.findall(r"^void (\w+)\((.*)\);$", (folder / f"{prefix}.h").read_text(), re.MULTILINE)
    wrappers, calls, functions = [], [], []
    for name, parameters in declared:
        *sizes, entries = [int(size) for size in re.findall(r"\[(\d+)\]", parameters)]
        functions.append((name, sizes, entries))
        given = ", ".join([*(f"in[{k}]" for k in range(len(sizes))), "out"])
        wrappers.append(f"static void call_{name}({real} *const *in, {real} *out)\n{{\n    {name}({given});\n}}\n")
        blocks = ", ".join(f"({real} *)malloc({size} * sizeof({real}))" for size in sizes)
        calls.append(
            f"        {{\n            {real} *in[] = {{{blocks}}};\n"
            f"            const int sizes[] = {{{', '.join(map(str, sizes))}}};\n"
            f"            run(in, sizes, {len(sizes)}, call_{name}, {entries});\n"
            f"            for (int k = 0; k < {len(sizes)}; k++) free(in[k]);\n        }}"
        )
    text = MAIN.format(prefix=prefix, real=real, wrappers="\n".join(wrappers), calls="\n".join(calls))
    (folder / "main.c").write_text(text)
    return functions


def compiled(command: tuple[str, ...], folder: Path, *sources: str, name: str = "controller") -> Path:
    """The program made of these sources."""
    require(command[0])
    program = folder / name
    done = subprocess.run([*command, *sources, "-o", program.name, "-lm"], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return program


def run(program: Path, functions, arguments: list[list[np.ndarray]], dtype: str) -> list[np.ndarray]:
    """Results of every function, (N, entries), from its arguments, each (N, size)."""
    states = len(arguments[0][0])
    rows = [np.concatenate([array[n] for given in arguments for array in given]) for n in range(states)]
    content = np.concatenate(rows).astype(dtype).tobytes()
    done = subprocess.run([program, str(states)], input=content, capture_output=True)
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    table = np.frombuffer(done.stdout, dtype).reshape(states, -1)
    ends = np.cumsum([entries for _, _, entries in functions])
    assert table.shape[1] == ends[-1]
    return np.split(table, ends[:-1], axis=1)
