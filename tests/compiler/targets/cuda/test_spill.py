"""Values that wait in shared memory: the same function, with few values in registers, and nothing lost or mixed up."""

from __future__ import annotations

import random

import numpy as np
import pytest
from helpers.liveness import most_alive
from hypothesis import given, settings
from hypothesis import strategies as st

import appell
from appell.algorithms.function_spec import FunctionSpec
from appell.compiler.interpret import InterpretedKernel
from appell.compiler.lowering import StraightLine, lower_function
from appell.compiler.operations import OPERATIONS, Operation, OperationList
from appell.compiler.targets.cuda import spill
from appell.compiler.targets.cuda.spill import AHEAD, BUDGETS, Spilled, placement, spilled

NOWHERE = 1 << 20


def run(spilled: Spilled, inputs: np.ndarray) -> np.ndarray:
    """Results of operations that read what is in a slot at this moment."""
    slots, values = np.full(spilled.slots, np.nan), list[np.float64]()
    for name, arguments, number in spilled.listed.operations:
        own = [values[a] for a in arguments]
        if name == "keep":
            slots[int(number)] = own[0]
            values.append(own[0])
        elif name == "fetch":
            values.append(slots[int(number)])
        elif name in ("input", "const"):
            values.append(inputs[int(number)] if name == "input" else np.float64(number))
        else:
            values.append(OPERATIONS[name].numpy(*own))
    return np.array([values[k] for k in spilled.listed.outputs])


def random_list(seed: int, length: int) -> OperationList:
    """Sums, products and sines of any values before, of three inputs; later values are more likely."""
    rng = random.Random(seed)
    operations = [*(Operation("input", (), k) for k in range(3)), Operation("const", (), 0.5)]
    for _ in range(length):
        name = rng.choice(["add", "sub", "mul", "neg", "sin"] if rng.random() < 0.1 else ["add", "sub", "mul"])
        near = range(max(0, len(operations) - rng.choice([5, 50, length])), len(operations))
        operations.append(Operation(name, tuple(rng.choice(near) for _ in range(OPERATIONS[name].arity))))
    outputs = [rng.randrange(len(operations)) for _ in range(5)]
    return OperationList((3,), tuple(operations), (*outputs, len(operations) - 1))


@settings(deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 300), st.integers(3, 40), st.sampled_from([0, 1, 7, NOWHERE]))
def test_the_function_stays_the_same(seed, length, registers, slots):
    listed, inputs = random_list(seed, length), np.array([0.3, -1.1, 0.7])
    found = spilled(listed, registers, slots)
    assert found.slots <= slots
    np.testing.assert_array_equal(run(found, inputs), run(Spilled(listed, 0), inputs))


@pytest.mark.parametrize("function", ["inverse_dynamics_derivatives", "forward_dynamics_derivatives"])
@pytest.mark.parametrize("registers", [60, 100])
def test_few_values_are_in_registers(monkeypatch, function, registers):
    """Without those that are fetched some operations before they are used."""
    monkeypatch.setattr(spill, "AHEAD", 0)
    listed = lower_function(appell.load("puma560").system, FunctionSpec(function)).listed
    found = spilled(listed, registers, NOWHERE)
    assert most_alive(listed) > 1.3 * registers
    assert most_alive(found.listed) <= registers + 2
    inputs = np.random.default_rng(0).normal(size=18)
    whole = np.empty((1, len(listed.outputs)))
    InterpretedKernel(StraightLine(listed), "float64").run(tuple(np.split(inputs[None], 3, axis=1)), whole)
    np.testing.assert_allclose(run(found, inputs), whole[0], rtol=1e-12, atol=1e-12)


def test_code_with_few_values_stays_as_it_is():
    listed = lower_function(appell.load("puma560").system, FunctionSpec("inverse_dynamics")).listed
    found = spilled(listed, 200, NOWHERE)
    assert found.slots == 0
    assert not any(operation.name in ("keep", "fetch") for operation in found.listed.operations)


def test_the_value_that_is_used_last_leaves(monkeypatch):
    """x0 x1 waits for the last sum while x0² and x1² take the two registers."""
    monkeypatch.setattr(spill, "AHEAD", 1)
    given = [Operation("input", (), k) for k in range(2)]
    body = [Operation("mul", (0, 1)), Operation("sq", (0,)), Operation("sq", (1,)), Operation("add", (3, 4))]
    found = spilled(OperationList((2,), (*given, *body, Operation("add", (5, 2))), (6,)), 2, NOWHERE)
    names = " ".join(operation.name for operation in found.listed.operations[2:])
    assert names == "mul keep sq sq fetch add add"
    assert run(found, np.array([2.0, 3.0])).tolist() == [19.0]


def test_values_come_back_in_time_but_not_too_early():
    listed = lower_function(appell.load("puma560").system, FunctionSpec("forward_dynamics_derivatives")).listed
    operations = spilled(listed, 100, NOWHERE).listed.operations
    first_use: dict[int, int] = {}
    for place, operation in enumerate(operations):
        for a in operation.arguments:
            if operation.name not in ("keep", "fetch"):
                first_use.setdefault(a, place)
    between = [first_use[place] - place for place, operation in enumerate(operations) if operation.name == "fetch"]
    own = [
        sum(each.name not in ("keep", "fetch") for each in operations[place : place + distance])
        for distance, place in zip(between, (k for k, o in enumerate(operations) if o.name == "fetch"), strict=True)
    ]
    assert max(own) <= AHEAD
    assert np.median(own) > 0.75 * AHEAD


def test_more_blocks_where_their_values_fit():
    listed = lower_function(appell.load("puma560").system, FunctionSpec("forward_dynamics_derivatives")).listed
    small, large = (placement([listed], "float32", 64, size) for size in (16 * 1024, 0))
    assert (small.blocks, large.blocks) == (BUDGETS["float32"][0].blocks,) * 2
    assert 0 < small.shared <= 16 * 1024
    assert large.shared == 0
    assert placement([listed, listed], "float32", 64, 1 << 20).blocks == 1
