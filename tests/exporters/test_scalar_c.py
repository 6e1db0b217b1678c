"""Scalar C of every kind of function, cut into parts: strict C99 without warnings."""

from __future__ import annotations

import subprocess

import pytest
from helpers.exported_c import C99
from helpers.random_trees import general_tree

from appell.algorithms.function_spec import FunctionSpec
from appell.compiler.emit import emit, functions_text, scalar_dialect
from appell.compiler.operations import list_operations
from appell.compiler.trace import trace

ROBOT = general_tree(7, 21)


@pytest.mark.usefixtures("compiler")
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("function", ["inverse_dynamics", "forward_dynamics", "mass_matrix", "kinetic_energy"])
def test_scalar_functions_are_strict_c99(function, dtype, tmp_path):
    found = list_operations(trace(ROBOT.system, FunctionSpec(function)).graph)
    dialect = scalar_dialect(dtype)
    code = emit(found, dialect, part=40)
    assert len(code.parts) > 1
    (tmp_path / "state.c").write_text(f"#include <math.h>\n{functions_text(code, dialect.type, 'state')}")
    command = [*C99, "-O2", "-Wno-unused-function", "-c", "state.c", "-o", "state.o"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
