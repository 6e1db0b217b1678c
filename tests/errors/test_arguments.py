"""Bad arguments get an error that says what, where, got and expected, and unusual good ones get right numbers."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from helpers.closeness import assert_close
from helpers.methods import METHODS
from helpers.random_trees import general_tree
from helpers.states import random_states

import appell
from appell.algorithms.function_spec import FunctionSpec
from appell.algorithms.registry import QUANTITIES
from appell.compiler.trace import trace
from appell.model.body import Body
from appell.model.joint import Joint, Mimic
from appell.robot.robot import Robot

N = 7  # degrees of freedom of the robot below


@pytest.fixture(scope="module")
def robot() -> Robot:
    return general_tree(9, 3)


def refused(match: str):
    """An ArgumentError whose text holds this."""
    return pytest.raises(appell.ArgumentError, match=re.escape(match))


def functions_of(robot: Robot) -> dict:
    """Every public function as a function of (q, qd, qdd)."""
    last = robot.body_names[-1]
    return {
        "inverse_dynamics": robot.inverse_dynamics,
        "forward_dynamics": robot.forward_dynamics,
        "bias": lambda q, qd, _: robot.bias(q, qd),
        "coriolis_matrix": lambda q, qd, _: robot.coriolis_matrix(q, qd),
        "mass_matrix": lambda q, *_: robot.mass_matrix(q),
        "gravity": lambda q, *_: robot.gravity(q),
        "kinetic_energy": lambda q, qd, _: robot.kinetic_energy(q, qd),
        "potential_energy": lambda q, *_: robot.potential_energy(q),
        "gibbs_function": robot.gibbs_function,
        "center_of_mass": lambda q, *_: robot.center_of_mass(q),
        "pose": lambda q, *_: robot.pose(q, last),
        "jacobian": lambda q, *_: robot.jacobian(q, last),
        "jacobian_rate": lambda q, qd, _: robot.jacobian_rate(q, qd, last),
    }


SHAPES = {
    "inverse_dynamics": (N,), "forward_dynamics": (N,), "bias": (N,), "gravity": (N,), "coriolis_matrix": (N, N),
    "mass_matrix": (N, N), "kinetic_energy": (), "potential_energy": (), "gibbs_function": (), "center_of_mass": (3,),
    "pose": (4, 4), "jacobian": (6, N), "jacobian_rate": (6, N),
}  # fmt: skip
every_function = pytest.mark.parametrize("function", SHAPES)


# --- wrong shapes and contents ----------------------------------------------------------------------------------------


@every_function
@pytest.mark.parametrize("shape", [(N - 1,), (N + 1,), (2, N + 1), (N, 2), (0,), ()])
def test_wrong_shape(robot: Robot, function: str, shape: tuple[int, ...]) -> None:
    good, bad = np.zeros(N), np.zeros(shape)
    with refused(f"q has shape {shape}, expected (..., {N})"):
        functions_of(robot)[function](bad, good, good)


def test_wrong_shape_names_the_argument(robot: Robot) -> None:
    good, bad = np.zeros(N), np.zeros(3)
    with refused("qd has shape (3,)"):
        robot.inverse_dynamics(good, bad, good)
    with refused("qdd has shape (3,)"):
        robot.inverse_dynamics(good, good, bad)
    with refused("tau has shape (3,)"):
        robot.forward_dynamics(good, good, bad)
    with refused("gravity has shape (2,), expected (..., 3)"):
        robot.gravity(good, gravity=(0.0, 1.0))
    with refused("qd has shape (3,)"):
        robot.passive_forces(bad)


@every_function
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_non_finite_numbers_are_named(robot: Robot, function: str, value: float) -> None:
    bad, good = np.zeros((4, N)), np.zeros(N)
    bad[2, 5] = value
    with refused(f"q[(2, 5)] is {value}, expected a finite number"):
        functions_of(robot)[function](bad, good, good)
    with refused(f"q[5] is {value}"):
        functions_of(robot)[function](bad[2], good, good)


def test_non_finite_gravity_and_wrench_are_named(robot: Robot) -> None:
    good = np.zeros(N)
    with refused("gravity[1] is nan"):
        robot.bias(good, good, gravity=(0.0, np.nan, 0.0))
    with refused("external_forces"):
        robot.bias(good, good, external_forces={"link3": [0, 0, np.inf, 0, 0, 0]})


def test_check_false_lets_nan_through_and_only_there(robot: Robot) -> None:
    q, qd, qdd = random_states(robot, count=3)
    expected = robot.inverse_dynamics(q, qd, qdd)
    q[1] = np.nan
    found = robot.inverse_dynamics(q, qd, qdd, check=False)
    assert np.isnan(found[1]).all()
    assert_close(found[[0, 2]], expected[[0, 2]])


@pytest.mark.parametrize(
    "bad",
    [
        np.zeros(N, dtype=complex),
        ["0"] * N,
        "0000000",
        np.array([None] * N, dtype=object),
        np.array([0.5] * N, dtype=object),
        [[0.0] * N, [0.0] * (N - 1)],
        None,
        {0.0},
        np.zeros(N, dtype="datetime64[s]"),
    ],
    ids=["complex", "strings", "text", "none objects", "objects", "ragged", "none", "set", "dates"],
)
def test_what_is_not_an_array_of_real_numbers(robot: Robot, bad) -> None:
    good = np.zeros(N)
    with refused("q must be an array of real numbers"):
        robot.mass_matrix(bad)
    with refused("qdd must be an array of real numbers"):
        robot.inverse_dynamics(good, good, bad)


def test_batches_that_do_not_fit(robot: Robot) -> None:
    with refused("batch dimensions do not fit together"):
        robot.inverse_dynamics(np.zeros((2, N)), np.zeros((3, N)), np.zeros(N))
    with refused("batch dimensions do not fit together"):
        robot.gravity(np.zeros((2, N)), gravity=np.zeros((3, 3)))
    with refused("batch dimensions do not fit together"):
        robot.bias(np.zeros((2, N)), np.zeros(N), external_forces={"link3": np.zeros((3, 6))})
    with refused("batch dimensions do not fit together"):
        robot.bias(np.zeros(N), np.zeros(N), external_forces={"link3": np.zeros((3, 6)), "link4": np.zeros((2, 6))})


# --- wrong names ------------------------------------------------------------------------------------------------------


def test_unknown_frame_lists_the_frames(robot: Robot) -> None:
    q = np.zeros(N)
    for call in (
        lambda: robot.pose(q, "lnk3"),
        lambda: robot.jacobian(q, "lnk3"),
        lambda: robot.jacobian_rate(q, q, "lnk3"),
        lambda: robot.bias(q, q, external_forces={"lnk3": np.zeros(6)}),
        lambda: robot.forward_dynamics(q, q, q, external_forces={"lnk3": np.zeros(6)}, method="articulated"),
    ):
        with refused("unknown frame 'lnk3'. Did you mean 'link3'? Valid: base, link1,"):
            call()


@pytest.mark.parametrize("function", METHODS)
def test_unknown_method_lists_the_methods(robot: Robot, function: str) -> None:
    q = [np.zeros(N)] * {"mass_matrix": 1, "bias": 2}.get(function, 3)
    with refused(f"unknown method of {function} 'lagrange'. Valid: ") as caught:
        getattr(robot, function)(*q, method="lagrange")
    listed = str(caught.value).partition("Valid: ")[2].rstrip(".").split(", ")
    assert sorted(listed) == sorted(METHODS[function])


def test_unknown_reference_frame_lists_them(robot: Robot) -> None:
    message = "unknown reference frame 'local'. Did you mean 'LOCAL'? Valid: LOCAL, WORLD, LOCAL_WORLD_ALIGNED"
    message = message.replace(" Did you mean 'LOCAL'?", "")
    with refused(message):
        robot.jacobian(np.zeros(N), "link3", "local")
    with refused("Valid: LOCAL, WORLD, LOCAL_WORLD_ALIGNED"):
        robot.jacobian_rate(np.zeros(N), np.zeros(N), "link3", "WORLDS")


def test_unknown_function_of_a_count(robot: Robot) -> None:
    with refused("unknown function 'inverse_dynamic'. Did you mean 'inverse_dynamics'?"):
        appell.count_operations(robot, "inverse_dynamic")


def test_unknown_body_or_joint(robot: Robot) -> None:
    with refused("unknown body 'link33'"):
        robot.body("link33")
    with refused("unknown joint 'elbow'. Valid: joint1,"):
        robot.joint("elbow")


# --- options where they mean nothing ----------------------------------------------------------------------------------


@pytest.mark.parametrize("function", ["mass_matrix", "coriolis_matrix", "kinetic_energy"])
def test_gravity_where_it_means_nothing(robot: Robot, function: str) -> None:
    q = [np.zeros(N)] * (1 if function == "mass_matrix" else 2)
    with pytest.raises(TypeError, match="gravity"):
        getattr(robot, function)(*q, gravity=(0, 0, 0))


@pytest.mark.parametrize("wrenches", [[0.0] * 6, np.zeros(6), "link3"])
def test_external_forces_without_frames(robot: Robot, wrenches) -> None:
    q = np.zeros(N)
    for call in (robot.bias, robot.inverse_dynamics_derivatives, robot.linearize):
        state = (q, q) if call == robot.bias else (q, q, q)
        with refused("external_forces is"):
            call(*state, external_forces=wrenches)


@pytest.mark.parametrize("function", ["mass_matrix", "gravity", "kinetic_energy", "potential_energy"])
def test_external_forces_where_they_mean_nothing(robot: Robot, function: str) -> None:
    q = [np.zeros(N)] * (2 if function == "kinetic_energy" else 1)
    with pytest.raises(TypeError, match="external_forces"):
        getattr(robot, function)(*q, external_forces={"link3": np.zeros(6)})


@pytest.mark.parametrize(
    ("options", "told"), [({"gravity_input": True}, "gravity"), ({"force_frames": ("link3",)}, "external forces")]
)
def test_requests_for_what_means_nothing(robot: Robot, options: dict, told: str) -> None:
    with refused(f"mass_matrix does not depend on {told}"):
        trace(robot.system, FunctionSpec("mass_matrix", **options))


def test_external_wrench_of_wrong_shape(robot: Robot) -> None:
    q = np.zeros(N)
    with refused("external_forces['link3'] has shape (3,), expected (..., 6)"):
        robot.bias(q, q, external_forces={"link3": np.zeros(3)})


# --- out= -------------------------------------------------------------------------------------------------------------


@every_function
def test_out_is_filled_and_returned(robot: Robot, function: str) -> None:
    """Poisoned first, so that an entry that is not written shows."""
    last = robot.body_names[-1]
    state = random_states(robot, count=3)
    expected = functions_of(robot)[function](*state)
    arguments = {
        "pose": (state.q, last), "jacobian": (state.q, last), "jacobian_rate": (state.q, state.qd, last),
    }.get(function)  # fmt: skip
    if arguments is None:
        count = len(appell.algorithms.registry.QUANTITIES[function].inputs)
        arguments = state[:count]
    out = np.full((3, *SHAPES[function]), np.nan)
    assert getattr(robot, function)(*arguments, out=out) is out
    assert_close(out, expected)
    strided = np.full((3, *SHAPES[function], 2), np.nan)[..., 0]
    assert getattr(robot, function)(*arguments, out=strided) is strided
    assert_close(strided, expected)


@pytest.mark.parametrize(
    ("out", "told"),
    [
        (np.zeros((2, N)), "out is (2, 7) float64, expected an array of shape (3, 7)"),
        (
            np.zeros((3, N), dtype=np.float32),
            "out is (3, 7) float32, expected an array of shape (3, 7) and dtype float64",
        ),
        ([[0.0] * N] * 3, "out is list, expected an array"),
    ],
    ids=["shape", "dtype", "list"],
)
def test_wrong_out(robot: Robot, out, told: str) -> None:
    q = np.zeros((3, N))
    with refused(told):
        robot.bias(q, q, out=out)


def test_read_only_out(robot: Robot) -> None:
    out = np.zeros(N)
    out.flags.writeable = False
    with refused("out is read-only"):
        robot.gravity(np.zeros(N), out=out)


def test_out_may_be_an_input(robot: Robot) -> None:
    q, qd, qdd = random_states(robot, count=3)
    expected = robot.inverse_dynamics(q, qd, qdd)
    assert_close(robot.inverse_dynamics(q, qd, qdd, out=qdd), expected)


# --- batches ----------------------------------------------------------------------------------------------------------


@every_function
def test_empty_batch(robot: Robot, function: str) -> None:
    none = np.zeros((0, N))
    found = functions_of(robot)[function](none, none, none)
    assert found.shape == (0, *SHAPES[function])
    assert found.dtype == np.float64


@every_function
def test_leading_dimensions_are_kept_and_broadcast(robot: Robot, function: str) -> None:
    call = functions_of(robot)[function]
    q, qd, qdd = random_states(robot, count=6)
    expected = call(q, qd, qdd).reshape(2, 3, *SHAPES[function])
    cube = tuple(array.reshape(2, 3, N) for array in (q, qd, qdd))
    assert_close(call(*cube), expected)
    one = call(q[4], qd[4], qdd[4])
    assert_close(np.asarray(one), expected[1, 1])
    rows = call(cube[0], qd[0], qdd[:3])
    single = call(cube[0][1, 2], qd[0], qdd[2])
    assert rows.shape == (2, 3, *SHAPES[function])
    assert_close(rows[1, 2], np.asarray(single))


def test_gravity_and_wrenches_are_broadcast_with_the_states(robot: Robot) -> None:
    q, qd, _ = random_states(robot, count=2)
    g = np.array([[[0.0, 0.0, -9.81]], [[0.0, 1.0, 0.0]], [[2.0, 0.0, 0.0]]])
    wrench = np.arange(6.0)
    found = robot.bias(q, qd, gravity=g, external_forces={"link4": wrench})
    assert found.shape == (3, 2, N)
    expected = robot.bias(q[1], qd[1], gravity=g[2, 0], external_forces={"link4": wrench})
    assert_close(found[2, 1], expected)


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.int8, np.uint16, bool])
def test_other_number_types_are_converted(robot: Robot, dtype) -> None:
    q = np.array([1, 0, 1, 1, 0, 1, 0])
    assert_close(robot.gravity(q.astype(dtype)), robot.gravity(q.astype(float)))
    assert robot.gravity(q.astype(dtype)).dtype == np.float64


def test_views_and_orders_are_read_right(robot: Robot) -> None:
    q = random_states(robot, count=6).q
    expected = robot.gravity(q)
    assert_close(robot.gravity(np.asfortranarray(q)), expected)
    assert_close(robot.gravity(np.repeat(q, 2, axis=0)[::2]), expected)
    assert_close(robot.gravity(q[::-1])[::-1], expected)
    assert_close(robot.gravity(q.astype(">f8")), expected)
    assert_close(robot.gravity(q.tolist()), expected)


def test_inputs_are_not_changed(robot: Robot) -> None:
    state = random_states(robot)
    before = [array.copy() for array in state]
    robot.forward_dynamics(*state)
    for now, then in zip(state, before, strict=True):
        assert np.array_equal(now, then)


def test_a_plain_number_serves_a_robot_of_one_joint() -> None:
    robot = general_tree(1, 0, ("revolute",))
    assert_close(robot.inverse_dynamics(0.3, 0.2, 0.1), robot.inverse_dynamics([0.3], [0.2], [0.1]))
    assert robot.mass_matrix(0.3).shape == (1, 1)
    assert_close(robot.gravity(np.array([[0.1], [0.2]])), np.array([robot.gravity(0.1), robot.gravity(0.2)]))


# --- robots at the edge -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def rigid() -> Robot:
    """Two bodies and no moving joint."""
    bodies = (Body("base"), Body("tool", 1.0, (0.1, 0.0, 0.0), (1.0, 0.0, 0.0, 1.0, 0.0, 1.0)))
    return Robot("rigid", bodies, (Joint("weld", "fixed", "base", "tool"),))


def test_robot_without_joints(rigid: Robot) -> None:
    assert (rigid.nq, rigid.nv, rigid.joint_names) == (0, 0, ())
    none = np.zeros((2, 0))
    for method in METHODS["inverse_dynamics"]:
        assert rigid.inverse_dynamics(none, none, none, method=method).shape == (2, 0)
    for method in METHODS["forward_dynamics"]:
        assert rigid.forward_dynamics(none, none, none, method=method).shape == (2, 0)
    for method in METHODS["mass_matrix"]:
        assert rigid.mass_matrix([], method=method).shape == (0, 0)
    assert rigid.coriolis_matrix([], []).shape == (0, 0)
    assert rigid.kinetic_energy([], []) == 0.0
    assert rigid.potential_energy([]) == 0.0
    assert rigid.jacobian([], "tool").shape == (6, 0)
    assert_close(rigid.pose(none, "tool"), np.tile(np.eye(4), (2, 1, 1)))
    assert rigid.passive_forces(none).shape == (2, 0)


FUNCTIONS = [name for name, each in QUANTITIES.items() if "center" not in name and "centroidal" not in name]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_compiled_robots_without_joints(rigid: Robot, name: str) -> None:
    quantity = QUANTITIES[name]
    key = (name, None, "tool", "LOCAL") if quantity.needs_frame else (name, None)
    expected = tuple(size if isinstance(size, int) else 0 for size in quantity.shape)
    for robot in (rigid, appell.compile(rigid)):
        assert robot.functions[key]((np.zeros((2, 0)),) * len(quantity.inputs)).shape == (2, *expected)


@pytest.mark.parametrize("dt", [None, 0.01])
def test_linear_models_without_joints(rigid: Robot, dt: float | None) -> None:
    for robot in (rigid, appell.compile(rigid)):
        assert [x.shape for x in robot.linearize([], [], [], dt)] == [(0, 0), (0, 0)]
        assert robot.forward_dynamics_parameter_derivatives([], [], []).shape == (0, 0)


def test_no_moving_mass_has_no_centre(rigid: Robot) -> None:
    with pytest.raises(appell.ModelError, match="no centre of mass"):
        rigid.center_of_mass([])


@pytest.mark.parametrize("method", METHODS["forward_dynamics"])
def test_singular_mass_matrix_is_an_error(method: str) -> None:
    """A last link without mass and rotor: its joint could accelerate by anything."""
    robot = general_tree(4, 2, ("revolute",), branching=0.0)
    robot = replace(
        robot,
        bodies=(*robot.bodies[:-1], Body(robot.bodies[-1].name)),
        joints=tuple(replace(joint, mimic=None, rotor_inertia=0.0) for joint in robot.joints),
    )
    with pytest.raises(appell.ModelError, match=rf"forward_dynamics needs mass, .*: '{robot.bodies[-1].name}'\."):
        robot.forward_dynamics([0.1] * 4, [0.2] * 4, [0.3] * 4, method=method)
    assert np.isfinite(robot.regressor([0.1] * 4, [0.2] * 4, [0.3] * 4)).all()


@pytest.mark.parametrize("method", METHODS["forward_dynamics"])
def test_mass_matrix_that_is_singular_at_some_states_only(method: str) -> None:
    """A point mass on the axis of the joint that carries it: nothing resists that joint at q2 = 0, much elsewhere."""
    point = Body("point", 1.0, (0.0, 0.0, 0.5))
    robot = Robot(
        "spinning_top",
        (Body("base"), Body("yoke"), point),
        (
            Joint("spin", "continuous", "base", "yoke"),
            Joint("lean", "continuous", "yoke", "point", axis=(1.0, 0.0, 0.0)),
        ),
    )
    with pytest.raises(appell.AppellError, match="singular"):
        robot.forward_dynamics([0.3, 0.0], [0.0, 0.0], [1.0, 0.0], method=method)
    assert_close(
        robot.forward_dynamics([0.3, np.pi / 2], [0.0, 0.0], [1.0, 0.0], method=method)[0], 4.0, tolerance=1e-12
    )


def test_follower_without_inertia() -> None:
    """The leader has enough for both, so M is regular; freeing the follower, as `articulated` does, is refused by name."""
    robot = general_tree(2, 2, ("revolute",), branching=0.0)
    first, last = (replace(joint, mimic=None, rotor_inertia=0.0) for joint in robot.joints)
    last = replace(last, mimic=Mimic(first.name, 2.0))
    robot = replace(robot, bodies=(*robot.bodies[:-1], Body(robot.bodies[-1].name)), joints=(first, last))
    state = [0.1], [0.2], [0.3]
    expected = (0.3 - robot.bias([0.1], [0.2])) / robot.mass_matrix([0.1])[0]
    for method in ("gibbs", "noc"):
        assert_close(robot.forward_dynamics(*state, method=method), expected, tolerance=1e-12)
    with pytest.raises(appell.ModelError, match=r"joint 'joint2' \(released from its leader; method 'gibbs'"):
        robot.forward_dynamics(*state, method="articulated")


def test_overflow_is_an_error(robot: Robot) -> None:
    with pytest.raises(
        appell.AppellError, match=r"inverse_dynamics: result\[.*\] is not finite although all inputs are"
    ):
        robot.inverse_dynamics(np.zeros(N), np.full(N, 1e200), np.zeros(N))
