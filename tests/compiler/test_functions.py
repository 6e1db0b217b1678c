"""Every function and method, native against CasADi's evaluator."""

from __future__ import annotations

import gc

import numpy as np
import pytest
from helpers.closeness import assert_close
from helpers.methods import METHODS
from helpers.random_trees import general_tree, right_angled_tree
from helpers.states import random_states

import appell
from appell.algorithms.function_spec import FunctionSpec
from appell.algorithms.registry import QUANTITIES, find
from appell.compiler.interpret import GraphKernel
from appell.compiler.options import Options
from appell.compiler.targets.llvm.isa import supported
from appell.compiler.trace import trace
from appell.robot.compiled import CompiledRobot

ROBOTS = {"general": general_tree(7, 11), "right_angled": right_angled_tree(6, 12)}

find("inverse_dynamics")
CASES = [(name, method) for name, quantity in QUANTITIES.items() for method in quantity.methods]


def interpreted(robot, spec: FunctionSpec, values) -> np.ndarray:
    """Rows of results by CasADi."""
    traced = trace(robot.system, spec)
    out = np.full((len(values[0]), int(np.prod(traced.shape, dtype=int))), np.nan)
    assert GraphKernel(traced).run(tuple(np.asarray(value, dtype=float) for value in values), out)
    return out.reshape(-1, *traced.shape)


def arguments(robot, name: str, count: int = 11) -> list[np.ndarray]:
    state = dict(zip(("q", "qd", "qdd"), random_states(robot, count), strict=True))
    state["tau"] = state["qdd"]
    return [state[each] for each in QUANTITIES[name].inputs]


def sensitivity(robot, name: str, q: np.ndarray) -> float:
    """How much rounding is magnified: the condition of M where it is inverted."""
    return float(np.linalg.cond(robot.mass_matrix(q)).max()) if name.startswith("forward_dynamics") else 1.0


@pytest.mark.parametrize(
    ("key", "dtype"), [("general", "float64"), ("right_angled", "float64"), ("general", "float32")]
)
@pytest.mark.parametrize(("name", "method"), CASES)
def test_native_is_what_casadi_computes(name, method, key, dtype):
    robot = ROBOTS[key]
    values = [value.astype(dtype) for value in arguments(robot, name)]
    frame = (robot.body_names[-1], "LOCAL") if QUANTITIES[name].needs_frame else ()
    expected = interpreted(robot, FunctionSpec(name, method, False, (), *frame), values).astype(dtype)
    dyn = appell.compile(robot, dtype=dtype)
    out = np.full(expected.shape, np.nan, dtype)
    function = dyn.functions[(name, method, *frame)]
    result = function(tuple(values), None, None, None, out, True)
    assert result is out
    tolerance = 32 * np.finfo(dtype).eps * robot.nv * sensitivity(robot, name, values[0].astype(float))
    assert_close(result, expected, tolerance=tolerance)
    single = dyn.functions[(name, method, *frame)](tuple(value[3] for value in values), None, None, None, None, True)
    assert_close(single, expected[3], tolerance=tolerance, scale=float(np.abs(expected).max()))


def test_the_methods_of_the_class_reach_their_functions():
    robot = ROBOTS["general"]
    dyn = appell.compile(robot)
    q, qd, qdd = random_states(robot, 4)
    frame = robot.body_names[-1]
    for name, given in {
        "inverse_dynamics": (q, qd, qdd), "forward_dynamics": (q, qd, qdd), "mass_matrix": (q,), "bias": (q, qd),
        "gravity": (q,), "coriolis_matrix": (q, qd), "kinetic_energy": (q, qd), "potential_energy": (q,),
        "gibbs_function": (q, qd, qdd), "center_of_mass": (q,), "pose": (q, frame), "jacobian": (q, frame),
        "jacobian_rate": (q, qd, frame),
    }.items():  # fmt: skip
        expected = getattr(robot, name)(*given)
        assert_close(getattr(dyn, name)(*given), expected, tolerance=1e-11, what=name)
    for name, methods in METHODS.items():
        given = {"mass_matrix": (q,), "bias": (q, qd)}.get(name, (q, qd, qdd))
        for method in methods:
            expected = getattr(robot, name)(*given, method=method)
            assert_close(getattr(dyn, name)(*given, method=method), expected, tolerance=1e-11, what=f"{name} {method}")


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("isa", [each.name for each in supported()])
def test_every_instruction_set(isa, dtype):
    robot = ROBOTS["general"]
    values = [value.astype(dtype) for value in arguments(robot, "inverse_dynamics", 37)]
    dyn = CompiledRobot(robot, Options(dtype=dtype, isa=isa))
    expected = interpreted(robot, FunctionSpec("inverse_dynamics"), values).astype(dtype)
    assert_close(dyn.inverse_dynamics(*values), expected)
    assert_close(
        dyn.inverse_dynamics(*(value[5] for value in values)), expected[5], scale=float(np.abs(expected).max())
    )


def test_an_instruction_set_that_the_processor_lacks_is_refused():
    with pytest.raises(appell.CompileError, match="instruction set"):
        CompiledRobot(ROBOTS["general"], Options(isa="sve9")).gravity(np.zeros(ROBOTS["general"].nq))


def test_gravity_and_external_forces_are_inputs():
    robot = ROBOTS["general"]
    dyn = appell.compile(robot)
    q, qd, qdd = random_states(robot, 5)
    rng = np.random.default_rng(5)
    frames = robot.body_names[2], robot.body_names[-1]
    forces = {frames[0]: rng.normal(size=6), frames[1]: rng.normal(size=(5, 6))}
    for gravity in (rng.normal(size=3), rng.normal(size=(5, 3))):
        given = {"gravity": gravity, "external_forces": forces}
        assert_close(dyn.inverse_dynamics(q, qd, qdd, **given), robot.inverse_dynamics(q, qd, qdd, **given))
        expected = robot.forward_dynamics(q, qd, qdd, **given)
        tolerance = 1e-14 * sensitivity(robot, "forward_dynamics", q)
        assert_close(dyn.forward_dynamics(q, qd, qdd, **given), expected, tolerance=tolerance)
        assert_close(dyn.gravity(q, gravity=gravity), robot.gravity(q, gravity=gravity))


def test_a_robot_becomes_native_when_it_is_used_and_says_the_same():
    robot = appell.robots.random_chain(4, seed=21)
    q, qd, qdd = random_states(robot, 1)
    first = robot.inverse_dynamics(q[0], qd[0], qdd[0])
    spec = FunctionSpec("inverse_dynamics")
    assert isinstance(robot.functions.kernel(spec, [q[0]]).kernel, GraphKernel)
    for _ in range(40):
        last = robot.inverse_dynamics(q[0], qd[0], qdd[0])
    assert not isinstance(robot.functions.kernel(spec, [q[0]]).kernel, GraphKernel)
    assert_close(last, first)
    again = appell.robots.random_chain(4, seed=21)
    np.testing.assert_array_equal(again.inverse_dynamics(q[0], qd[0], qdd[0]), last)  # out of the cache at once


@pytest.mark.parametrize(("states", "calls"), [((), 32), ((100,), 10), ((1024,), 1), ((1025,), 0), ((5, 300), 0)])
def test_functions_are_interpreted_until_compiling_pays(states, calls, monkeypatch, tmp_path):
    """For 1024 states, of which a call counts as 32 at least; a call with more of them is not interpreted at all."""
    monkeypatch.setenv("APPELL_CACHE_DIR", str(tmp_path))
    robot, q = appell.robots.random_chain(3, seed=13), np.zeros((*states, 3))
    for k in range(calls + 1):
        robot.gravity(q)
        (active,) = robot.functions.ready.values()
        assert isinstance(active.kernel, GraphKernel) is (k < calls)


def test_loops_over_links_are_compiled_at_once(monkeypatch, tmp_path):
    """Tracing the graph of a long robot takes longer."""
    monkeypatch.setenv("APPELL_CACHE_DIR", str(tmp_path))
    robot = appell.robots.random_chain(40, seed=13)
    monkeypatch.setattr("appell.compiler.provider.trace", lambda *given: pytest.fail("a graph was traced"))
    q = np.zeros(40)
    assert_close(robot.inverse_dynamics_derivatives(q, q, q).dqdd, robot.mass_matrix(q), tolerance=1e-13)


@pytest.mark.parametrize("enabled", [True, False])
def test_python_searches_for_no_garbage_while_a_function_is_compiled(enabled, monkeypatch, tmp_path):
    monkeypatch.setenv("APPELL_CACHE_DIR", str(tmp_path))
    searches = []
    robot = appell.compile(general_tree(2, 3))
    provider, lowered = robot.functions.provider, robot.functions.provider.lowered
    monkeypatch.setattr(provider, "lowered", lambda *given: [searches.append(gc.isenabled()), lowered(*given)][1])
    (gc.enable if enabled else gc.disable)()
    try:
        robot.gravity(robot.robot.neutral_configuration())
        assert gc.isenabled() == enabled
    finally:
        gc.enable()
    assert searches == [False]
