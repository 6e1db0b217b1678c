"""Groups of columns: together they are the whole matrix, and they are made where that pays."""

from __future__ import annotations

import numpy as np
import pytest

import appell
from appell.algorithms.function_spec import FunctionSpec
from appell.compiler.interpret import InterpretedKernel
from appell.compiler.lowering import StraightLine, lower_function
from appell.compiler.targets.cuda import groups
from appell.compiler.targets.cuda.groups import LONGEST, column_groups


@pytest.mark.parametrize("dtype", LONGEST)
@pytest.mark.parametrize("function", ["inverse_dynamics_derivatives", "regressor"])
def test_groups_cover_the_matrix(function, dtype):
    robot = appell.robots.random_tree(16, seed=6)
    spec = FunctionSpec(function)
    rows, width = robot.system.signature(spec).shape
    listed = lower_function(robot.system, spec, "cuda", dtype).listed
    groups = column_groups(listed, width, dtype)
    assert len(groups) > 1
    assert [group.first for group in groups] == [0, *(group.last for group in groups[:-1])]
    assert groups[-1].last == width
    inputs = tuple(np.random.default_rng(1).normal(size=(3, robot.nv)))
    whole = np.full(rows * width, np.nan)
    InterpretedKernel(StraightLine(listed), "float64").run(inputs, whole)
    for group in groups:
        part = np.full(len(group.listed.outputs), np.nan)
        InterpretedKernel(StraightLine(group.listed), "float64").run(inputs, part)
        columns = whole.reshape(rows, width)[:, group.first : group.last]
        np.testing.assert_array_equal(part.reshape(rows, -1), columns)
        place = group.store.split("]")[0].removeprefix("y[").format(group.last - group.first).replace("/", "//")
        assert eval(place) == width + group.first  # the first entry of the second row


def test_short_code_stays_whole():
    robot = appell.load("puma560")
    listed = lower_function(robot.system, FunctionSpec("mass_matrix")).listed
    assert [group.listed for group in column_groups(listed, 6, "float32")] == [listed]


@pytest.mark.parametrize(("longest", "count"), [(7500, 1), (1000, 2)])
def test_code_that_is_too_long_is_split(monkeypatch, longest, count):
    robot = appell.load("puma560")
    listed = lower_function(robot.system, FunctionSpec("inverse_dynamics_derivatives")).listed
    monkeypatch.setattr(groups, "SHORTEST", 1900)
    monkeypatch.setitem(LONGEST, "float32", longest)
    assert len(column_groups(listed, 18, "float32")) == count
