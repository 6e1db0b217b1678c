"""Stages of derivatives of forward dynamics: the factors of M, and solutions with them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from helpers.closeness import assert_close
from helpers.joint_trees import mixed_tree
from helpers.states import random_states

import appell
from appell.algorithms.function_spec import FunctionSpec
from appell.compiler.interpret import run_operations
from appell.compiler.provider import TracedProvider
from appell.compiler.stages import STAGED, Stages, before

ROBOTS = {
    "chain": appell.robots.random_chain(9, seed=3),
    "branches": appell.robots.random_tree(14, seed=5, branching=0.5),
    "every kind of joint": replace(mixed_tree(12, 116), coupled=False),
}


def stages_of(robot) -> Stages:
    found = Stages.of(robot.system.recursion)
    assert found is not None
    return found


@pytest.mark.parametrize("name", ROBOTS)
def test_solutions_are_those_of_linear_algebra(name):
    robot, stages = ROBOTS[name], stages_of(ROBOTS[name])
    q, right, _ = random_states(robot, 7)
    M = robot.mass_matrix(q)
    factors = np.broadcast_arrays(*run_operations(stages.factors, list(M.reshape(7, -1).T)))
    found = np.stack(run_operations(stages.solution, [*factors, *right.T]), axis=-1)
    assert_close(found, np.linalg.solve(M, right[..., None])[..., 0], tolerance=1e-9)


def test_zeros_between_branches_are_no_factors():
    robot, stages = ROBOTS["branches"], stages_of(ROBOTS["branches"])
    q, _, _ = random_states(robot, 20)
    related = (np.abs(robot.mass_matrix(q)) > 0.0).any(axis=0)
    assert len(stages.factors.outputs) >= np.triu(related).sum()
    assert len(stages.factors.outputs) < 0.8 * robot.nv * (robot.nv + 1) / 2


def test_only_what_is_solved_in_loops_has_stages():
    long, short = (TracedProvider(appell.robots.random_chain(n, seed=1).system) for n in (30, 7))
    assert long.stages(FunctionSpec(STAGED)) is not None
    assert short.stages(FunctionSpec(STAGED)) is None
    assert long.stages(FunctionSpec("inverse_dynamics_derivatives")) is None
    assert TracedProvider(appell.load("four_bar").system).stages(FunctionSpec(STAGED)) is None
    assert Stages.of(appell.robots.random_chain(45, seed=1).system.recursion) is None  # 1035 factors
    assert Stages.of(mixed_tree(12, 116).system.recursion) is None  # coupled joints


def test_the_functions_before():
    first, second = before(FunctionSpec(STAGED, "analytic"))
    assert (first.function, second.function) == ("forward_dynamics", "inverse_dynamics_derivatives")
    assert first.method is None
    assert second.method is None
