"""Kernels for NEON, cross-compiled by LLVM and run under QEMU: the same numbers as the interpreter."""

from __future__ import annotations

import shutil
import subprocess

import llvmlite.binding as llvm
import numpy as np
import pytest
from helpers.closeness import assert_close
from helpers.states import random_states

import appell
from appell.algorithms.function_spec import FunctionSpec
from appell.compiler.interpret import interpret
from appell.compiler.lowering import lower_function
from appell.compiler.rolled.programs import rolled
from appell.compiler.targets.llvm import jit
from appell.compiler.targets.llvm.isa import INSTRUCTION_SETS
from appell.compiler.targets.llvm.kernel import kernel_text
from appell.compiler.targets.llvm.runtime import runtime_text

COMPILER, EMULATOR = shutil.which("aarch64-linux-gnu-gcc"), shutil.which("qemu-aarch64")
pytestmark = pytest.mark.skipif(
    not (COMPILER and EMULATOR), reason="no gcc-aarch64-linux-gnu and qemu-user on this machine"
)

STATES = 7
ROBOT = appell.robots.random_chain(5, seed=8)
FORMS = {
    "straight-line": lower_function(ROBOT.system, FunctionSpec("inverse_dynamics")),
    "rolled": rolled(ROBOT.system.recursion, FunctionSpec("inverse_dynamics"), 0.0),
}

MAIN = """
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
typedef {real} real;
extern const long appell_work;
int appell_one(const real *const *, real *, void *) __attribute__((weak));
int appell_batch(const real *const *, const ptrdiff_t *, const ptrdiff_t *, real *, ptrdiff_t, void *) __attribute__((weak));
static real x[] = {{{numbers}}}, y[{states} * {size}];
int main(void)
{{
    const real *in[{inputs}];
    ptrdiff_t step[{inputs} + 1], pitch[{inputs} + 1], n = {states};
    void *work = aligned_alloc(64, (appell_work / 64 + 2) * 64);
    for (int k = 0; k <= {inputs}; k++) step[k] = {size}, pitch[k] = 1;
    int bad = 0;
    if (appell_batch) {{
        for (int k = 0; k < {inputs}; k++) in[k] = x + k * n * {size};
        bad = appell_batch(in, step, pitch, y, n, work);
    }} else
        for (ptrdiff_t i = 0; i < n; i++) {{
            for (int k = 0; k < {inputs}; k++) in[k] = x + (k * n + i) * {size};
            bad |= appell_one(in, y + i * {size}, work);
        }}
    for (int i = 0; i < {states} * {size}; i++) printf("%a\\n", (double)y[i]);
    return bad;
}}
"""


@pytest.fixture(scope="module")
def machine():
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    target = llvm.Target.from_triple("aarch64-linux-gnu")
    return target.create_target_machine(INSTRUCTION_SETS["neon"].cpu, opt=2, reloc="pic")


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("half", ["one", "batch"])
@pytest.mark.parametrize("name", FORMS)
def test_numbers_on_neon(name, half, dtype, machine, tmp_path, monkeypatch):
    monkeypatch.setattr(jit, "machine", lambda cpu, features: machine)
    form, real = FORMS[name], INSTRUCTION_SETS["neon"].real(dtype)
    texts = {"kernel.o": kernel_text(form, real, half), "runtime.o": runtime_text(real)}
    for file, text in texts.items():
        (tmp_path / file).write_bytes(jit.compile_text(text, "", ""))
    states = [array.astype(dtype) for array in random_states(ROBOT, STATES)]
    states[0][0, 0] = 1e7 if dtype == "float64" else 5e4  # an angle for libm
    numbers = ", ".join(float(x).hex() for array in states for x in array.ravel())
    kind = "double" if dtype == "float64" else "float"
    (tmp_path / "main.c").write_text(
        MAIN.format(real=kind, numbers=numbers, states=STATES, size=ROBOT.nv, inputs=len(states))
    )
    subprocess.run([COMPILER, "-static", "main.c", *texts, "-o", "main", "-lm"], cwd=tmp_path, check=True)
    printed = subprocess.run([EMULATOR, "./main"], cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    actual = np.array([float.fromhex(line) for line in printed.split()], dtype).reshape(STATES, ROBOT.nv)
    columns = [column for array in states for column in array.T]
    assert_close(actual, np.stack(interpret(form, columns), axis=-1).astype(dtype))
