"""Operations and statements: each one means what CasADi means by it."""

from __future__ import annotations

import casadi
import numpy as np
import pytest
from helpers.closeness import assert_close
from helpers.native_kernels import evaluate, kernel

from appell.compiler.emit import emit, scalar_dialect
from appell.compiler.operations import OPERATIONS, list_operations
from appell.errors import CompileError

EXPRESSIONS = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "div": lambda a, b: a / (3 + b),
    "neg": lambda a, b: -a, "sq": lambda a, b: a * a, "twice": lambda a, b: a + a, "inv": lambda a, b: 1 / (3 + a),
    "sqrt": lambda a, b: casadi.sqrt(2 + a), "sin": lambda a, b: casadi.sin(a), "cos": lambda a, b: casadi.cos(a),
    "tan": lambda a, b: casadi.tan(a / 2), "asin": lambda a, b: casadi.asin(a / 2), "acos": lambda a, b: casadi.acos(a / 2),
    "atan": lambda a, b: casadi.atan(a), "atan2": lambda a, b: casadi.atan2(a, b), "exp": lambda a, b: casadi.exp(a),
    "log": lambda a, b: casadi.log(2 + a), "pow": lambda a, b: (2 + a) ** b, "fabs": lambda a, b: casadi.fabs(a),
    "sign": lambda a, b: casadi.sign(a), "fmin": lambda a, b: casadi.fmin(a, b), "fmax": lambda a, b: casadi.fmax(a, 0.25),
}  # fmt: skip


def graph_of(expression):
    a, b = casadi.SX.sym("a"), casadi.SX.sym("b")
    return casadi.Function("f", [a, b], [casadi.vertcat(*(casadi.SX(each) for each in expression(a, b)))])


def expected(graph, a, b) -> np.ndarray:
    return np.asarray(graph(a[None], b[None]).full()).T


def states(count: int = 37) -> np.ndarray:
    return np.random.default_rng(4).uniform(-0.9, 0.9, (2, count))


def test_every_operation_has_an_expression_here():
    assert set(EXPRESSIONS) == set(OPERATIONS)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_every_operation(dtype):
    graph = graph_of(lambda a, b: [expression(a, b) for expression in EXPRESSIONS.values()])
    found = list_operations(graph)
    assert {operation.name for operation in found.operations} >= set(OPERATIONS)
    a, b = states().astype(dtype)
    result = evaluate(kernel(found, dtype), a[:, None], b[:, None], outputs=len(OPERATIONS), dtype=dtype)
    for name, ours, theirs in zip(OPERATIONS, result.T, expected(graph, a, b).T, strict=True):
        assert_close(ours, theirs.astype(dtype), tolerance=4 * np.finfo(dtype).eps, what=name)


def test_an_operation_without_translation_is_named():
    with pytest.raises(CompileError, match="OP_ERF"):
        list_operations(graph_of(lambda a, b: [casadi.erf(a)]))


def test_results_that_need_no_operation():
    graph = graph_of(lambda a, b: [a, 2.5, b, 0.0, casadi.sin(b), a])
    a, b = states(9)
    result = evaluate(kernel(list_operations(graph)), a[:, None], b[:, None], outputs=6)
    assert_close(result, expected(graph, a, b), tolerance=4e-16)


def test_sine_of_a_sine():
    graph = graph_of(lambda a, b: [casadi.sin(casadi.cos(a) + b), casadi.cos(casadi.sin(casadi.sin(b)))])
    a, b = states()
    result = evaluate(kernel(list_operations(graph)), a[:, None], b[:, None], outputs=2)
    assert_close(result, expected(graph, a, b), tolerance=4e-16)


def test_sine_and_cosine_of_one_angle_are_one_call():
    def shared(a, b):
        angle = a + b
        return [casadi.sin(angle), casadi.cos(angle), casadi.cos(a)]

    graph = graph_of(shared)
    assert emit(list_operations(graph), scalar_dialect("float64")).angle_count == 2
