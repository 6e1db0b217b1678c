"""Derivatives along directions: against matrices of derivatives, against each other, for every function."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.closeness import assert_close
from helpers.joint_trees import mixed_tree, tree_of
from helpers.states import random_states

import appell
from appell.algorithms.function_spec import FunctionSpec
from appell.algorithms.registry import QUANTITIES, find
from appell.compiler.evaluate import Function
from appell.compiler.rolled.form import Rolled

find("inverse_dynamics")
FUNCTIONS = [name for name in QUANTITIES if "derivatives" not in name]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_forward_and_reverse_agree_and_match_differences(name: str) -> None:
    robot = tree_of("spherical")
    rng = np.random.default_rng(5)
    state = {**random_states(robot, 1)._asdict()}
    state["tau"] = state["qdd"]
    quantity = QUANTITIES[name]
    inputs = [state[each][0] for each in quantity.inputs]
    frame = (robot.body_names[-1],) if quantity.needs_frame else ()
    text = ":".join((name, *frame))
    tangents = [rng.normal(size=robot.nv) for _ in inputs]

    def moved(h: float) -> np.ndarray:
        q = robot.integrate(inputs[0], h * tangents[0])
        rest = [x + h * d for x, d in zip(inputs[1:], tangents[1:], strict=True)]
        return getattr(robot, name)(q, *rest, *frame)

    near, far = ((moved(h) - moved(-h)) / (2 * h) for h in (1e-4, 2e-4))
    found = appell.jvp(robot, text, inputs, tangents)
    expected = np.asarray((4 * near - far) / 3)
    assert_close(found, expected, tolerance=1e-8, scale=1.0 + float(np.abs(expected).max()))
    weights = rng.normal(size=found.shape)
    gradients = appell.vjp(robot, text, inputs, weights)
    assert [g.shape for g in gradients] == [(robot.nv,)] * len(inputs)
    total = sum(float(g @ d) for g, d in zip(gradients, tangents, strict=True))
    assert abs(total - float((weights * found).sum())) < 1e-10 * (1 + np.abs(weights * found).sum())


@pytest.mark.parametrize("layout", ["rows", "columns"])
def test_batches_compiled_with_options(layout: str) -> None:
    robot = appell.load("puma560")
    q, qd, tau = random_states(robot, 9)
    rng = np.random.default_rng(1)
    dq, weights = rng.normal(size=(2, 9, 6))
    gravity = (0.0, 1.0, -3.0)
    d = robot.forward_dynamics_derivatives(q, qd, tau, gravity=gravity)
    dyn = appell.compile(robot, layout=layout)
    turn = np.transpose if layout == "columns" else np.asarray
    state = [turn(x) for x in (q, qd, tau)]
    found = appell.jvp(dyn, "forward_dynamics", state, (turn(dq), None, None), gravity=gravity)
    assert_close(turn(found), np.einsum("nij,nj->ni", d.dq, dq), tolerance=1e-10)
    gradients = appell.vjp(dyn, "forward_dynamics", state, turn(weights), gravity=gravity)
    for gradient, block in zip(gradients, d, strict=True):
        assert_close(turn(gradient), np.einsum("nij,ni->nj", block, weights), tolerance=1e-10)


@pytest.mark.parametrize("layout", ["rows", "columns"])
def test_results_in_given_arrays(layout: str) -> None:
    """Vectors, matrices and numbers; gradients are views of the array."""
    dyn = appell.compile(appell.load("puma560"), layout=layout)
    turn = (lambda x: np.ascontiguousarray(x.T)) if layout == "columns" else np.asarray
    q, qd, qdd = (turn(x) for x in random_states(dyn.robot, 5))
    for function, inputs in (("inverse_dynamics", (q, qd, qdd)), ("mass_matrix", (q,)), ("potential_energy", (q,))):
        along = appell.jvp(dyn, function, inputs, inputs)
        out = np.full_like(along, np.nan)
        assert appell.jvp(dyn, function, inputs, inputs, out=out) is out
        assert_close(out, along, tolerance=0.0, scale=1.0)
        gradients, out = (
            appell.vjp(dyn, function, inputs, along),
            np.full(turn(np.zeros((5, 6 * len(inputs)))).shape, np.nan),
        )
        views = appell.vjp(dyn, function, inputs, along, out=out)
        assert all(view.base is out for view in views)
        for view, gradient in zip(views, gradients, strict=True):
            assert_close(view, gradient, tolerance=0.0, scale=1.0)
    with pytest.raises(appell.ArgumentError, match="out has shape"):
        appell.jvp(dyn, "mass_matrix", (q,), (q,), out=np.empty(3))
    matrices = np.empty((6, 6, 5) if layout == "columns" else (5, 6, 6)).swapaxes(0, -1).copy().swapaxes(0, -1)
    with pytest.raises(appell.ArgumentError, match="out is not contiguous"):
        appell.jvp(dyn, "mass_matrix", (q,), (q,), out=matrices)


def test_repeated_calls_pass_straight_to_the_kernels(monkeypatch) -> None:
    """One state and a batch, of a robot and of a file, and the adjoint of rollouts."""
    dyn = appell.compile(appell.load("planar2r"))
    one, batch = np.ones((3, 2)), np.ones((3, 5, 2))
    motion = appell.rollout(dyn, batch[0], batch[1], batch[2], steps=4, dt=0.01)

    def calls() -> list[np.ndarray]:
        by_states = [appell.jvp(dyn, "inverse_dynamics", x, x) for x in (one, batch)]
        gradients = [appell.vjp(dyn, "inverse_dynamics", x, x[0]) for x in (one, batch)]
        return [*by_states, *sum(gradients, ()), motion.vjp(motion.q).q0, motion.jvp(qd0=batch[0]).q]

    expected = calls()
    monkeypatch.setattr(Function, "__call__", lambda *given: pytest.fail("a call passed through Python code"))
    for found, right in zip(calls(), expected, strict=True):
        assert_close(found, right, tolerance=0.0, scale=1.0)


@pytest.mark.parametrize("name", ["five_bar", "agile_wrist"])
def test_closed_loops(name: str) -> None:
    robot = appell.load(name)
    q = robot.random_configuration(3) if name == "agile_wrist" else np.array(robot.initial_state[0])
    qd, tau = np.linspace(0.2, 0.5, robot.nv), np.linspace(-1.0, 1.0, len(robot.actuator_names))
    d = robot.forward_dynamics_derivatives(q, qd, tau)
    weights = np.linspace(1.0, 2.0, robot.nv)
    for gradient, block in zip(appell.vjp(robot, "forward_dynamics", (q, qd, tau), weights), d, strict=True):
        assert_close(gradient, block.T @ weights, tolerance=1e-10, scale=1.0 + float(np.abs(block).max()))


def test_errors(tmp_path) -> None:
    robot = appell.load("planar2r")
    with pytest.raises(appell.ArgumentError, match="tangents has 1 entries, expected 3: q, qd, qdd"):
        appell.jvp(robot, "inverse_dynamics", [[0, 0]] * 3, [[1, 0]])
    with pytest.raises(appell.ArgumentError, match="cotangents has shape"):
        appell.vjp(robot, "inverse_dynamics", [[0, 0]] * 3, [1, 0, 0])
    with pytest.raises(appell.AppellError, match="function"):
        appell.vjp(robot, "inverse_dynamic", [[0, 0]] * 3, [1, 0])
    loop = appell.load("four_bar")
    appell.compile(loop).save(tmp_path / "loop.appell", functions=["gravity"])
    with pytest.raises(appell.ArgumentError, match="closed loop that was loaded from a file"):
        appell.vjp(appell.load_compiled(tmp_path / "loop.appell"), "gravity", [loop.reference_configuration], [1.0])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"inputs": 3}, "inputs is int, expected 3: q, qd, qdd"),
        ({"inputs": {"q": [0, 0]}}, "inputs is dict, expected 3: q, qd, qdd"),
        ({"tangents": None}, "tangents is NoneType, expected 3"),
        ({"tangents": [{"joint3": 1.0}, None, None]}, "tangent of q: unknown name 'joint3'"),
        ({"out": [1, 2]}, "out is list, expected an array"),
        ({"function": None}, "a function must be a name or a FunctionSpec"),
        ({"robot": "planar2r"}, "robot is str, expected one that appell.load or appell.compile returned"),
        ({"external_forces": [0.0] * 6}, "external_forces is list, expected wrenches by name of a frame"),
    ],
)
def test_wrong_arguments_of_forward_differentiation(given, message) -> None:
    right = {"robot": appell.load("planar2r"), "function": "inverse_dynamics", "inputs": [[0, 0]] * 3}
    with pytest.raises(appell.ArgumentError, match=message):
        appell.jvp(**{**right, "tangents": [[1, 0]] * 3, **given})


@pytest.mark.parametrize("weights", [[[1.0], [1.0, 2.0]], [1j, 0], {"joint1": 1.0}, np.array([1j, 0])])
def test_wrong_weights(weights) -> None:
    with pytest.raises(appell.ArgumentError, match=r"cotangents? .*real numbers"):
        appell.vjp(appell.load("planar2r"), "inverse_dynamics", [[0, 0]] * 3, weights)


def test_values_by_name() -> None:
    robot = appell.load("planar2r")
    state = {"joint1": 0.3}, {"joint2": 2.0}, {"joint1": 1.0}
    arrays = [0.3, 0.0], [0.0, 2.0], [1.0, 0.0]
    for each in (robot, appell.compile(robot)):
        for function in ("inverse_dynamics", "forward_dynamics"):
            found = appell.jvp(each, function, state, state)
            assert_close(found, appell.jvp(each, function, arrays, arrays), tolerance=1e-14)
            gradients = appell.vjp(each, function, state, found)
            for one, other in zip(gradients, appell.vjp(each, function, arrays, found), strict=True):
                assert_close(one, other, tolerance=1e-14)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_numbers_are_of_the_type_of_the_function(dtype: str) -> None:
    robot = appell.compile(appell.load("planar2r"), dtype=dtype)
    q = [0.3, 0.2]
    assert type(appell.jvp(robot, "potential_energy", [q], [q])) is type(robot.potential_energy(q))


def test_gravity_external_forces_and_parameters_at_once() -> None:
    robot = appell.load("planar2r")
    state, force = ([0.3, 0.2], [1.0, -1.0], [0.5, 0.1]), np.arange(6.0)
    options = {"gravity": (0.0, -9.81, 0.0), "external_forces": {"link2": force}, "parameters": 1.1 * robot.parameters}
    d = robot.inverse_dynamics_derivatives(*state, **options)
    for each in (robot, appell.compile(robot)):
        found = appell.jvp(each, "inverse_dynamics", state, [[1.0, 0.0], None, None], **options)
        assert_close(found, d.dq[:, 0], tolerance=1e-13)


@pytest.mark.parametrize("layout", ["rows", "columns"])
@pytest.mark.parametrize("parameters", ["baked", "runtime"])
def test_functions_of_a_file_have_the_derivatives_of_the_robot(tmp_path, layout, parameters):
    """Floating, planar and spherical joints: directions of q are generalized velocities."""
    robot = mixed_tree(4, 29)
    dyn = appell.compile(robot, layout=layout, parameters=parameters)
    dyn.save(tmp_path / "robot.appell", functions=["inverse_dynamics", "mass_matrix"])
    loaded = appell.load_compiled(tmp_path / "robot.appell")
    turned = np.transpose if layout == "columns" else np.asarray
    q, qd, qdd = (turned(x) for x in random_states(robot, 5))
    rng = np.random.default_rng(0)
    for function, inputs in (("inverse_dynamics", [q, qd, qdd]), ("mass_matrix", [q])):
        tangents = [turned(rng.normal(size=(5, robot.nv))) for _ in inputs]
        along = appell.jvp(dyn, function, inputs, tangents)
        assert_close(appell.jvp(loaded, function, inputs, tangents), along, tolerance=1e-13)
        weights = rng.normal(size=along.shape)
        expected = appell.vjp(dyn, function, inputs, weights)
        for found, gradient in zip(appell.vjp(loaded, function, inputs, weights), expected, strict=True):
            assert_close(found, gradient, tolerance=1e-13)
    for each in (dyn, loaded):
        with pytest.raises(appell.ArgumentError, match=r"the quaternion of joint .* has length"):
            appell.jvp(each, "mass_matrix", [1.1 * q], [None])


def test_loops_over_links_of_a_file_are_differentiated_by_the_straight_line_form_for_gpus(tmp_path):
    chain = appell.robots.random_chain(31, seed=1)
    dyn = appell.compile(chain)
    dyn.save(tmp_path / "chain.appell", functions=["kinetic_energy"])
    loaded, states = appell.load_compiled(tmp_path / "chain.appell"), random_states(chain, 2)[:2]
    assert isinstance(loaded.functions.provider[FunctionSpec("kinetic_energy")].form, Rolled)
    along = appell.jvp(dyn, "kinetic_energy", states, states)
    assert_close(appell.jvp(loaded, "kinetic_energy", states, states), along, tolerance=1e-13)


def test_what_a_file_cannot_differentiate_is_named(tmp_path):
    long = appell.robots.random_chain(100, seed=1)
    appell.compile(long).save(tmp_path / "long.appell", functions=["inverse_dynamics"])
    loaded, q = appell.load_compiled(tmp_path / "long.appell"), np.zeros(100)
    with pytest.raises(appell.AppellError, match="loop over links"):
        appell.vjp(loaded, "inverse_dynamics", [q, q, q], q)
    with pytest.raises(appell.AppellError, match="no derivatives with `gravity`"):
        appell.vjp(loaded, "inverse_dynamics", [q, q, q], q, gravity=np.array([0.0, 0.0, -1.0]))
    with pytest.raises(appell.AppellError, match="does not hold mass_matrix"):
        appell.vjp(loaded, "mass_matrix", [q], q)
