"""Fewer operations for the same values."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from appell.compiler.interpret import run_operations
from appell.compiler.operations import Operation, OperationList
from appell.compiler.simplify import simplify

X, Y = Operation("input", (), 0), Operation("input", (), 1)


def listed(*operations: tuple, outputs: tuple[int, ...]) -> OperationList:
    """Operations after the inputs x and y, which are 0 and 1."""
    return OperationList((2,), (X, Y, *(Operation(*each) for each in operations)), outputs)


def texts(found: OperationList) -> list[str]:
    """Each result as a text of its operations."""
    known: list[str] = []
    for name, arguments, number in found.operations:
        known.append(
            {"input": "xy"[int(number)], "const": f"{number:g}"}.get(name) or name + str([known[a] for a in arguments])
        )
    return [known[k].replace("'", "").replace('"', "").replace("\\", "") for k in found.outputs]


def test_sums_in_another_order_are_one():
    """(x + y)^2 and x^2 + 2 x y + y^2."""
    square = [("add", (0, 1)), ("sq", (2,))]
    terms = [("sq", (0,)), ("sq", (1,)), ("mul", (1, 0)), ("twice", (6,)), ("add", (4, 5)), ("add", (8, 7))]
    assert texts(simplify(listed(*square, *terms, outputs=(3, 9)))) == ["sq[add[x, y]]"] * 2


def test_sums_that_vanish_are_left_out():
    """x + (x y - y x) is x, and sin^2 + cos^2 is 1."""
    zero = [("mul", (0, 1)), ("mul", (1, 0)), ("sub", (2, 3)), ("add", (0, 4))]
    one = [("sin", (1,)), ("cos", (1,)), ("sq", (6,)), ("sq", (7,)), ("add", (8, 9))]
    assert texts(simplify(listed(*zero, *one, outputs=(4, 5, 10)))) == ["0", "x", "1"]


def test_opposite_values_are_negated():
    assert texts(simplify(listed(("sub", (0, 1)), ("sub", (1, 0)), outputs=(2, 3)))) == ["sub[x, y]", "neg[sub[x, y]]"]


@pytest.mark.parametrize(
    "other",
    [
        pytest.param([("const", (), 10.0), ("mul", (0, 2)), ("const", (), 0.1), ("mul", (3, 4))], id="0.1 is rounded"),
        pytest.param([("sq", (0,)), ("sqrt", (2,))], id="sqrt(x x) is |x|"),
        pytest.param([("fabs", (0,))], id="|x|"),
        pytest.param([("neg", (0,)), ("sin", (2,)), ("sin", (0,)), ("add", (3, 4))], id="sines are not looked into"),
    ],
)
def test_what_may_differ_stays(other):
    before = listed(*other, outputs=(0, len(other) + 1))
    assert len(simplify(before).operations) == len(before.operations) - 1  # y is not needed


def test_a_division_by_zero_stays_one():
    found = simplify(listed(("sub", (0, 0)), ("inv", (2,)), ("div", (1, 2)), outputs=(3, 4)))
    with np.errstate(divide="ignore", invalid="ignore"):
        assert not np.isfinite(run_operations(found, [np.array([1.0]), np.array([2.0])])).any()


@given(st.data())
def test_random_arithmetic_keeps_its_values(data):
    steps: list[tuple] = [("const", (), number) for number in (0.0, 1.0, -0.5)]
    steps += [("sin", (0,)), ("cos", (0,)), ("fmax", (0, 1))]
    for _ in range(data.draw(st.integers(1, 12))):
        name, count = data.draw(
            st.sampled_from([("add", 2), ("sub", 2), ("mul", 2), ("neg", 1), ("sq", 1), ("twice", 1)])
        )
        steps.append((name, tuple(data.draw(st.integers(0, len(steps) + 1)) for _ in range(count))))
    before = listed(*steps, outputs=tuple(range(len(steps) + 2)))
    after = simplify(before)
    x = list(np.random.default_rng(0).uniform(-1, 1, (2, 5)))
    expected, found = (np.array([value + 0 * x[0] for value in run_operations(each, x)]) for each in (before, after))
    assert len(after.operations) <= len(before.operations)
    largest = np.maximum(1, np.abs(expected).max())
    np.testing.assert_allclose(found / largest**2, expected / largest**2, rtol=0, atol=1e-13)
