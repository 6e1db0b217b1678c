"""Every operation of the one table in every back end."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from helpers import cuda_as_cpp
from helpers.closeness import assert_close
from helpers.native_kernels import evaluate, kernel

from appell.compiler.archive.decode import read_lowered
from appell.compiler.archive.encode import lowered_data
from appell.compiler.emit import scalar_dialect
from appell.compiler.interpret import InterpretedKernel
from appell.compiler.lowering import StraightLine
from appell.compiler.operations import OPERATIONS, Operation, OperationList
from appell.compiler.targets.cuda.source import BLOCK, cuda_dialect, kernel_source

REFERENCE = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "div": lambda a, b: a / b,
    "neg": lambda a: -a, "sq": lambda a: a * a, "twice": lambda a: 2 * a, "inv": lambda a: 1 / a, "sqrt": math.sqrt,
    "sin": math.sin, "cos": math.cos, "tan": math.tan, "asin": math.asin, "acos": math.acos, "atan": math.atan,
    "atan2": math.atan2, "exp": math.exp, "log": math.log, "pow": math.pow, "fabs": abs, "fmin": min, "fmax": max,
    "sign": lambda a: (a > 0) - (a < 0),
}  # fmt: skip
ON_POSITIVE = ("div", "inv", "sqrt", "log", "pow")
A, B, POSITIVE = 0, 1, 2
"""Inputs: two within the range of asin, with zeros among them, and one above 0.5."""


def arguments(name: str) -> tuple[int, ...]:
    """The inputs that an operation is applied to."""
    if name in ON_POSITIVE:
        return (POSITIVE, POSITIVE)[: OPERATIONS[name].arity]
    return (A, B)[: OPERATIONS[name].arity]


def listed() -> OperationList:
    """One result for every operation."""
    operations = [Operation("input", (), k) for k in range(3)]
    operations += [Operation(name, arguments(name)) for name in OPERATIONS]
    return OperationList((1, 1, 1), tuple(operations), tuple(range(3, len(operations))))


def states(dtype: str) -> np.ndarray:
    """Inputs (3, N)."""
    random = np.random.default_rng(7)
    inputs = np.stack([*random.uniform(-0.9, 0.9, (2, 40)), random.uniform(0.5, 2.0, 40)])
    inputs[:2, :2] = 0.0, -0.0
    return inputs.astype(dtype)


def by_numpy(dtype, given, folder):
    return evaluate(InterpretedKernel(StraightLine(listed()), dtype), *given, outputs=len(OPERATIONS), dtype=dtype)


def from_a_file(dtype, given, folder):
    form = read_lowered(json.loads(json.dumps(lowered_data(StraightLine(listed())))))
    return evaluate(InterpretedKernel(form, dtype), *given, outputs=len(OPERATIONS), dtype=dtype)


def by_native_code(dtype, given, folder):
    return evaluate(kernel(listed(), dtype), *given, outputs=len(OPERATIONS), dtype=dtype)


def by_cuda(dtype, given, folder):
    if cuda_as_cpp.compiler() is None:
        pytest.skip("no C++ compiler")
    source = kernel_source(StraightLine(listed()), dtype, "test")
    return cuda_as_cpp.run(source, folder, dtype, BLOCK, list(given), len(OPERATIONS))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("back_end", [by_numpy, from_a_file, by_native_code, by_cuda])
def test_every_operation_in_every_back_end(tmp_path, back_end, dtype):
    inputs = states(dtype)
    result = back_end(dtype, [np.ascontiguousarray(row[:, None]) for row in inputs], tmp_path)
    for name, ours in zip(OPERATIONS, result.T, strict=True):
        given = inputs[list(arguments(name))].astype(float)
        expected = np.array([REFERENCE[name](*state) for state in given.T.tolist()])
        assert_close(ours, expected.astype(dtype), tolerance=4 * np.finfo(dtype).eps, what=name)


@pytest.mark.parametrize("dialect", [scalar_dialect("float64"), cuda_dialect("float64")], ids=["exported C", "CUDA"])
def test_every_operation_has_a_text(dialect):
    with_text = {name for name, kind in OPERATIONS.items() if kind.text is not None}
    own = {"keep", "fetch"}  # slots in shared memory, which no function of a robot has
    assert with_text | set(dialect.functions) | set(dialect.operators) - own == set(OPERATIONS)


def test_every_operation_has_a_reference_here():
    assert set(REFERENCE) == set(OPERATIONS)
