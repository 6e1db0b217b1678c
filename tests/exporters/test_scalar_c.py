"""The generated C itself: no warnings, no undefined behaviour, no access out of bounds."""

from __future__ import annotations

import os
import subprocess

import numpy as np
import pytest
from helpers.closeness import assert_close
from helpers.random_trees import general_tree
from helpers.states import random_states

from appell.algorithms.function_spec import FunctionSpec
from appell.compiler.emit import emit, functions_text, scalar_dialect
from appell.compiler.operations import list_operations
from appell.compiler.options import Options
from appell.compiler.provider import TracedProvider
from appell.compiler.targets.c.build import Builder
from appell.compiler.targets.c.isa import supported
from appell.compiler.trace import trace

ROBOT = general_tree(5, 81, ("revolute", "prismatic", "fixed"))
WARNINGS = ("-Wall", "-Wextra", "-Werror", "-Wshadow", "-Wno-unused-function")
COUNTS = (1, 2, 7, 8, 9, 16, 33)


def run(command, cwd) -> subprocess.CompletedProcess:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("function", ["inverse_dynamics", "forward_dynamics", "mass_matrix", "kinetic_energy"])
def test_scalar_functions_are_strict_c99(function, dtype, tmp_path, compiler):
    found = list_operations(trace(ROBOT.system, FunctionSpec(function)).graph)
    dialect = scalar_dialect(dtype)
    text = functions_text(emit(found, dialect, part=200), dialect.type, "state")
    (tmp_path / "state.c").write_text(f"#include <math.h>\n{text}")
    options = ("-std=c99", "-pedantic", "-O2", "-Wdouble-promotion", "-Wno-unused-function", *WARNINGS)
    run([*compiler.command, *options, "-c", "state.c", "-o", "state.o"], tmp_path)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("isa", [each.name for each in supported()])
def test_kernels_compile_without_warnings(isa, dtype, tmp_path, compiler):
    builder = Builder(Options(dtype=dtype, isa=isa), compiler)
    for function in ("inverse_dynamics", "mass_matrix", "potential_energy"):
        (tmp_path / "kernel.c").write_text(builder.source(TracedProvider(ROBOT.system), FunctionSpec(function)))
        options = ("-std=gnu99", "-O1", "-fPIC", "-Wno-psabi", *builder.target.flags, *WARNINGS)
        run([*compiler.command, *options, "-c", "kernel.c", "-o", "kernel.o"], tmp_path)


MAIN = """
#include <stdio.h>
#include <stdlib.h>

/* Reads q, qd, qdd of $COUNT states and prints forces, from arrays that end where their last state ends. */
int main(void)
{
    const int count = atoi(getenv("COUNT")), size = NX / INPUTS;
    real *in[INPUTS], *out = malloc(count * NY * sizeof(real)), *single = malloc(NY * sizeof(real));
    ptrdiff_t step[INPUTS + 1], pitch[INPUTS + 1];
    void *work = NULL;
    if (posix_memalign(&work, 64, (size_t)appell_work)) return 1;
    for (int k = 0; k < INPUTS; k++) {
        in[k] = malloc(count * size * sizeof(real));
        for (int i = 0; i < count * size; i++) {
            double value;
            if (scanf("%lf", &value) != 1) return 2;
            in[k][i] = (real)value;
        }
    }
    for (int k = 0; k <= INPUTS; k++) {
        step[k] = COLUMNS ? 1 : (k < INPUTS ? size : NY);
        pitch[k] = COLUMNS ? count : 1;
    }
    const int status = appell_batch((const real *const *)in, step, pitch, out, count, work);
    for (int i = 0; i < count * NY; i++) printf("%.17g\\n", (double)out[i]);
    if (!COLUMNS && appell_one((const real *const *)in, single, work)) return 3;
    for (int k = 0; k < INPUTS; k++) free(in[k]);
    free(out), free(single), free(work);
    return status;
}
"""


@pytest.mark.parametrize("columns", [0, 1], ids=["rows", "columns"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_kernels_under_sanitizers(dtype, columns, tmp_path, compiler):
    builder = Builder(Options(dtype=dtype), compiler)
    source = builder.source(TracedProvider(ROBOT.system), FunctionSpec("inverse_dynamics"))
    (tmp_path / "kernel.c").write_text(source + MAIN)
    sanitizers = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer", "-g")
    options = ("-std=gnu99", "-O1", "-Wno-psabi", f"-DCOLUMNS={columns}", *builder.target.flags, *sanitizers)
    probe = [*compiler.command, *sanitizers, "-x", "c", "-", "-o", "probe"]
    probe = subprocess.run(probe, input="int main(void){return 0;}", cwd=tmp_path, text=True)
    if probe.returncode:
        pytest.skip("this compiler has no sanitizers")
    run([*compiler.command, *options, "kernel.c", "-o", "kernel", "-lm"], tmp_path)
    for count in COUNTS:
        states = [each.astype(dtype) for each in random_states(ROBOT, count)]
        if dtype == "float64" and count % 2:
            states[0][-1] *= 1e7  # the way through libm
        given = [each.T if columns else each for each in states]
        text = "\n".join(repr(float(value)) for each in given for value in each.ravel())
        environment = {**os.environ, "COUNT": str(count), "ASAN_OPTIONS": "detect_leaks=0"}
        done = subprocess.run(["./kernel"], input=text, cwd=tmp_path, capture_output=True, text=True, env=environment)
        assert done.returncode == 0, done.stderr
        result = np.array(done.stdout.split(), float)
        result = result.reshape(ROBOT.nv, count).T if columns else result.reshape(count, ROBOT.nv)
        expected = ROBOT.inverse_dynamics(*(each.astype(float) for each in states))
        assert_close(result, expected, tolerance=64 * ROBOT.nv * np.finfo(dtype).eps)
