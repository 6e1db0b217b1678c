"""Another order of the same operations."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from helpers.liveness import most_alive
from helpers.states import random_states

import appell
from appell.algorithms.function_spec import FunctionSpec
from appell.compiler import schedule
from appell.compiler.interpret import run_operations
from appell.compiler.operations import Operation, OperationList, list_operations
from appell.compiler.schedule import ordered
from appell.compiler.simplify import simplify
from appell.compiler.trace import trace

ROBOTS = {"puma560": appell.load("puma560"), "tree": appell.robots.random_tree(9, seed=4)}


def operations_of(name: str, function: str) -> OperationList:
    return simplify(list_operations(trace(ROBOTS[name].system, FunctionSpec(function)).graph))


@pytest.mark.parametrize("function", ["inverse_dynamics", "forward_dynamics"])
@pytest.mark.parametrize("name", list(ROBOTS))
def test_the_same_operations_give_the_same_bits(name, function):
    before = operations_of(name, function)
    after = ordered(before)
    assert after.operations != before.operations
    assert Counter(o.name for o in after.operations) == Counter(o.name for o in before.operations)
    assert all(a < k for k, o in enumerate(after.operations) for a in o.arguments)
    x = [column for array in random_states(ROBOTS[name], 5) for column in array.T]
    np.testing.assert_array_equal(run_operations(after, x), run_operations(before, x))
    assert ordered(after) == ordered(ordered(after))


def test_without_stalls_the_same_operations_give_the_same_bits():
    before = schedule.depth_first(operations_of("tree", "forward_dynamics"))
    after = schedule.without_stalls(before)
    assert after.operations != before.operations
    assert Counter(o.name for o in after.operations) == Counter(o.name for o in before.operations)
    assert all(a < k for k, o in enumerate(after.operations) for a in o.arguments)
    x = [column for array in random_states(ROBOTS["tree"], 5) for column in array.T]
    np.testing.assert_array_equal(run_operations(after, x), run_operations(before, x))
    inverse = schedule.depth_first(operations_of("tree", "inverse_dynamics"))
    assert schedule.without_stalls(inverse) is inverse  # nothing to wait for


def test_eager_operations_give_the_same_bits_with_fewer_values_alive(monkeypatch):
    before = schedule.depth_first(operations_of("tree", "inverse_dynamics"))
    assert schedule.eager(before) is before  # short
    monkeypatch.setattr(schedule, "SHORT", 0)
    after = schedule.eager(before)
    assert Counter(o.name for o in after.operations) == Counter(o.name for o in before.operations)
    assert all(a < k for k, o in enumerate(after.operations) for a in o.arguments)
    x = [column for array in random_states(ROBOTS["tree"], 5) for column in array.T]
    np.testing.assert_array_equal(run_operations(after, x), run_operations(before, x))
    assert most_alive(after) < most_alive(before)


def test_operations_that_end_values_come_early(monkeypatch):
    """a + b ends both at once; a + c, which is a value more as long as a is needed, stays where it is."""
    monkeypatch.setattr(schedule, "SHORT", 0)
    given = [Operation("input", (), k) for k in range(2)]
    values = [Operation("mul", (0, 1)), Operation("add", (0, 1)), Operation("sub", (0, 1)), Operation("sq", (4,))]
    listed = OperationList((2,), (*given, *values, Operation("add", (2, 3)), Operation("add", (5, 6))), (7,))
    assert [o.name for o in schedule.eager(listed).operations[2:]] == ["mul", "add", "add", "sub", "sq", "add"]


@pytest.mark.parametrize(
    ("window", "order"), [(400, "inv mul add add add"), (2, "inv mul add add add"), (0, "inv add add mul add")]
)
def test_what_waits_for_a_division_is_overtaken(monkeypatch, window, order):
    """1 / x0 is added to twice before x0 x1 comes: the product is computed meanwhile, if it is not too far ahead."""
    monkeypatch.setattr(schedule, "WINDOW", window)
    given = [Operation("input", (), k) for k in range(2)]
    chain = [Operation("inv", (0,)), Operation("add", (2, 1)), Operation("add", (3, 1)), Operation("mul", (0, 1))]
    after = schedule.without_stalls(OperationList((2,), (*given, *chain, Operation("add", (4, 5))), (6,)))
    assert " ".join(o.name for o in after.operations[2:]) == order


def test_long_chains_start_first():
    """a = x0 x1 is wanted at once, the chain behind b = x0 + x1 takes long: b comes first."""
    given = [Operation("input", (), k) for k in range(2)]
    listed = OperationList(
        (2,), (*given, Operation("mul", (0, 1)), Operation("add", (0, 1)), Operation("sqrt", (3,))), (2, 4)
    )
    assert [o.name for o in ordered(listed).operations] == ["input", "input", "add", "mul", "sqrt"]


def test_few_registers_keep_few_values_alive(monkeypatch):
    listed = operations_of("puma560", "inverse_dynamics")
    monkeypatch.setattr(schedule, "REGISTERS", 10**6)
    free = most_alive(ordered(listed))
    monkeypatch.setattr(schedule, "REGISTERS", 12)
    assert most_alive(ordered(listed)) < 0.8 * free


@pytest.mark.parametrize(("name", "function"), [("tree", "regressor"), ("puma560", "inverse_dynamics_derivatives")])
def test_matrices_are_computed_in_the_order_with_the_fewest_values_alive(name, function):
    before = operations_of(name, function)
    by_rows = schedule.depth_first(before)
    rows, columns = ROBOTS[name].system.signature(FunctionSpec(function)).shape
    after = schedule.depth_first(before, columns)
    assert most_alive(after) < 0.9 * most_alive(by_rows)
    assert len(before.outputs) == rows * columns
    assert Counter(o.name for o in after.operations) == Counter(o.name for o in by_rows.operations)
    assert all(a < k for k, o in enumerate(after.operations) for a in o.arguments)
    x = [column for array in random_states(ROBOTS[name], 5) for column in array.T]
    np.testing.assert_array_equal(run_operations(after, x), run_operations(before, x))


def test_values_alive():
    """x0 + x1 is needed for two products, of which the first is needed after the second: two values at most."""
    given = [Operation("input", (), k) for k in range(2)]
    body = [Operation("add", (0, 1)), Operation("mul", (2, 0)), Operation("mul", (2, 1)), Operation("sub", (3, 4))]
    assert most_alive(OperationList((2,), (*given, *body), (5,))) == 2
    assert most_alive(OperationList((2,), tuple(given), (1,))) == 0


def test_very_long_code_stays_as_it_is(monkeypatch):
    monkeypatch.setattr(schedule, "LONGEST", 10)
    listed = operations_of("puma560", "gravity")
    assert ordered(listed) is listed
