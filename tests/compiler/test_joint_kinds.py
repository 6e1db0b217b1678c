"""Native kernels of robots with joints of every kind, against CasADi's evaluator."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from helpers.closeness import assert_close
from helpers.joint_trees import MOVING_KINDS, mixed_tree, tree_of
from helpers.shared_data import shared
from helpers.states import random_states

import appell
from appell.algorithms.function_spec import FunctionSpec
from appell.algorithms.registry import QUANTITIES, find
from appell.compiler.interpret import GraphKernel, InterpretedKernel
from appell.compiler.lowering import lower_function
from appell.compiler.rolled import programs
from appell.compiler.rolled.form import Rolled
from appell.compiler.trace import trace
from appell.model.joint import Mimic
from appell.robot.robot import Robot

find("inverse_dynamics")
SHORT = [
    "inverse_dynamics", "forward_dynamics", "mass_matrix", "coriolis_matrix", "kinetic_energy", "gibbs_function", "pose",
    "jacobian", "jacobian_rate", "center_of_mass_jacobian", "centroidal_momentum", "centroidal_momentum_matrix",
]  # fmt: skip
LONG = {
    "inverse_dynamics": "mata2002", "bias": "mata2002", "gravity": "mata2002", "kinetic_energy": "gibbs",
    "gibbs_function": "gibbs", "forward_dynamics": "articulated",
    "mass_matrix": "composite", "coriolis_matrix": "gibbs", "regressor": "mata2002",
    "inverse_dynamics_derivatives": "analytic", "forward_dynamics_derivatives": "analytic",
    "inverse_dynamics_second_derivatives": "analytic", "jacobian_derivatives": "recursive",
}  # fmt: skip


@cache
def humanoid(name: str) -> Robot:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", appell.ModelWarning)
        return appell.load(shared(f"robots/{name}.urdf"), base="floating")


@cache
def every_kind() -> Robot:
    """All kinds of joints, and two screws of different pitch."""
    robot = replace(mixed_tree(12, 116), coupled=False)
    kinds = [joint.kind for joint in robot.joints]
    assert set(kinds) == set(MOVING_KINDS)
    assert kinds.count("helical") > 1
    return robot


def spec_of(robot: Robot, function: str, method: str | None = None) -> FunctionSpec:
    frame = (robot.body_names[-1], "LOCAL") if QUANTITIES[function].needs_frame else ()
    return FunctionSpec(function, method, False, (), *frame)


def compare(robot: Robot, function: str, method: str | None = None, count: int = 11) -> None:
    """A batch that fills no whole number of lanes, and one state, into poisoned results."""
    state = dict(zip(("q", "qd", "qdd"), random_states(robot, count), strict=True))
    values = tuple({**state, "tau": state["qdd"]}[name] for name in QUANTITIES[function].inputs)
    spec = spec_of(robot, function, method)
    traced = trace(robot.system, spec)
    expected = np.full((count, int(np.prod(traced.shape, dtype=int))), np.nan)
    assert GraphKernel(traced).run(values, expected)
    expected = expected.reshape(-1, *traced.shape)
    frame = (spec.frame, spec.reference) if spec.frame else ()
    native = appell.compile(robot).functions[(function, method, *frame)]
    out = np.full(expected.shape, np.nan)
    assert native(values, None, None, None, out, True) is out
    condition = float(np.linalg.cond(robot.mass_matrix(state["q"])).max()) if function == "forward_dynamics" else 1.0
    tolerance, scale = 1e-14 * robot.nv * condition, float(np.abs(expected).max())
    assert_close(out, expected, tolerance=tolerance, scale=scale, what=function)
    one = native(tuple(value[3] for value in values), None, None, None, None, True)
    assert_close(one, expected[3], tolerance=tolerance, scale=scale, what=function)


@pytest.mark.parametrize("function", SHORT)
def test_straight_line_code(function: str) -> None:
    robot = mixed_tree(6, 31)
    assert not isinstance(lower_function(robot.system, FunctionSpec(function, None, frame="base")), Rolled)
    compare(robot, function)


@pytest.mark.parametrize("function", LONG)
def test_rolled_code(function: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rolled form, which longer robots of these joints would get."""
    key = function, LONG[function]
    monkeypatch.setitem(programs.PROGRAMS, key, programs.PROGRAMS[key]._replace(limit=0, smallest=0))
    robot = every_kind()
    assert isinstance(lower_function(robot.system, spec_of(robot, function, LONG[function])), Rolled)
    compare(robot, function, LONG[function])


WITH_OPTIONS = ("inverse_dynamics", "forward_dynamics", "regressor", "forward_dynamics_derivatives")


@pytest.mark.parametrize("function", WITH_OPTIONS)
def test_rolled_code_with_gravity_and_external_forces(function: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """On two links, of which one bears two forces, and on the base."""
    key = function, LONG[function]
    monkeypatch.setitem(programs.PROGRAMS, key, programs.PROGRAMS[key]._replace(limit=0, smallest=0))
    robot, rng = replace(mixed_tree(4, 29), coupled=False), np.random.default_rng(3)
    tip, middle = robot.body_names[-1], robot.body_names[2]
    frames = (tip, middle, robot.body_names[0]) if QUANTITIES[function].uses_external_forces else ()
    spec = FunctionSpec(function, LONG[function], gravity_input=True, force_frames=frames)
    gravity, wrenches = rng.normal(size=3), {name: rng.normal(size=6) for name in frames}
    values = random_states(robot, 5)[: len(QUANTITIES[function].inputs)]
    assert isinstance(lower_function(robot.system, spec), Rolled)
    dyn = appell.compile(robot)
    condition = float(np.linalg.cond(robot.mass_matrix(values[0])).max()) if "forward" in function else 1.0
    for state in (values, [x[1] for x in values]):
        expected = robot.functions[key](state, gravity, wrenches)
        found = dyn.functions[key](state, gravity, wrenches)
        tolerance, scale = 1e-14 * robot.nv * condition, float(np.abs(expected).max())
        assert_close(found, expected, tolerance=tolerance, scale=scale, what=function)


IN_COMMON_FRAME = [
    "coriolis_matrix", "regressor", *(name for name in LONG if "dynamics" in name and "derivatives" in name)
]  # fmt: skip


@pytest.mark.parametrize("function", IN_COMMON_FRAME)
def test_rolled_code_far_from_the_base(function: str) -> None:
    """Positions of links are seen from the first one: a million metres away nothing is rounded more."""
    robot = tree_of("floating")
    form = programs.rolled(robot.system.recursion, FunctionSpec(function, LONG[function]), 0.0)
    assert form is not None
    near = random_states(robot, 3)[: len(form.sizes)]
    far = near[0] + np.array([1e6] * 3 + [0.0] * (robot.nq - 3)), *near[1:]
    here, there = (np.full((3, form.size_out), np.nan) for _ in range(2))
    for state, out in ((near, here), (far, there)):
        assert InterpretedKernel(form, "float64").run(state, out)
    assert_close(there, here, tolerance=1e-14, what=function)


@pytest.mark.parametrize(
    ("name", "function"),
    [("g1", "inverse_dynamics"), ("g1", "forward_dynamics"), ("talos_reduced", "inverse_dynamics")],
)
def test_flying_humanoids(name: str, function: str) -> None:
    compare(humanoid(name), function)


@pytest.mark.parametrize("layout", ["rows", "columns"])
def test_quaternions_are_looked_at_before_a_call_goes_straight_to_the_kernel(layout):
    robot = mixed_tree(4, 29)
    dyn = appell.compile(robot, layout=layout)
    q = random_states(robot, 9).q
    wrong = q.copy()
    begin = robot.tree.quaternions[-1][1]
    wrong[4, begin : begin + 4] *= 1.01
    q, wrong = (np.ascontiguousarray(x.T if layout == "columns" else x) for x in (q, wrong))
    first = dyn.gravity(q)
    np.testing.assert_array_equal(dyn.gravity(q), first)
    with pytest.raises(appell.ArgumentError, match=rf"q\[4, {begin}:{begin + 4}\], the quaternion of joint"):
        dyn.gravity(wrong)
    assert np.isfinite(dyn.gravity(wrong, check=False)).all()


@cache
def coupled_tree() -> Robot:
    """A general tree in which some joints follow others, one of them through another, with factors and offsets."""
    robot = appell.robots.random_tree(9, seed=5, kinds=("revolute", "prismatic", "continuous"), branching=0.3)
    joints = list(robot.joints)
    for follower, leader, factor, offset in ((3, 1, -0.6, 0.2), (6, 3, 1.7, -0.1), (8, 0, 0.4, 0.3)):
        joints[follower] = replace(joints[follower], mimic=Mimic(joints[leader].name, factor, offset))
    coupled = replace(robot, joints=tuple(joints))
    assert coupled.nv == 6
    return coupled


@pytest.mark.parametrize("function", programs.ACROSS_COUPLINGS)
def test_rolled_code_of_coupled_robots(function: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Followers read the coordinate of their leader, with factor and offset, and add their forces to it."""
    key = function, LONG[function]
    monkeypatch.setitem(programs.PROGRAMS, key, programs.PROGRAMS[key]._replace(limit=0, smallest=0))
    robot = coupled_tree()
    assert isinstance(lower_function(robot.system, FunctionSpec(function, LONG[function])), Rolled)
    compare(robot, function, LONG[function])
