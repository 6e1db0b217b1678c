"""Derivatives of inverse and forward dynamics: Pinocchio's analytic ones, differences where it has none, and both methods."""

from __future__ import annotations

import shutil
import warnings
from functools import partial

import numpy as np
import pytest
from helpers import exported_c
from helpers.closeness import assert_close
from helpers.joint_trees import KIND_TREES, mixed_tree, tree_of
from helpers.pinocchio_peer import Peer, model_of_file, model_of_robot, pin
from helpers.shared_data import shared
from helpers.states import random_states

import appell

TOLERANCE = 1e-11
STATES = 2
FILES = (("ur5", "fixed"), ("panda", "fixed"), ("go2", "floating"), ("g1", "floating"))
METHODS = ("analytic", "automatic")


def side_by_side(parts) -> np.ndarray:
    return np.concatenate(parts, axis=-1)


def require_same_derivatives(robot: appell.Robot, peer: Peer, methods=METHODS) -> None:
    q, qd, qdd = random_states(robot, STATES)
    states = list(zip(q, qd, qdd, strict=True))
    inverse = np.array([peer.inverse_dynamics_derivatives(*state) for state in states])
    forward = np.array([peer.forward_dynamics_derivatives(*state) for state in states])
    condition = float(np.linalg.cond(robot.mass_matrix(q)).max())
    for method in methods:
        found = robot.inverse_dynamics_derivatives(q, qd, qdd, method=method)
        assert_close(side_by_side(found), inverse, tolerance=TOLERANCE, what=f"inverse {method}")
        found = robot.forward_dynamics_derivatives(q, qd, qdd, method=method)
        assert_close(
            side_by_side(found), forward, tolerance=max(TOLERANCE, 1e-15 * condition), what=f"forward {method}"
        )


@pytest.mark.parametrize("robot", KIND_TREES, ids=lambda robot: robot.name)
def test_joints_of_every_kind_with_rotors(robot: appell.Robot) -> None:
    if "universal" in robot.name:
        pytest.skip("Pinocchio's derivatives take motion subspaces as constant; its universal joint's is not")
    require_same_derivatives(robot, Peer(robot, model_of_robot(robot)))


@pytest.mark.parametrize(("name", "base"), FILES)
def test_real_robots(name: str, base: str) -> None:
    path = shared(f"robots/{name}.urdf")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", appell.ModelWarning)
        robot = appell.load(path, base=base)
    methods = METHODS if robot.nv < 20 else METHODS[:1]
    require_same_derivatives(robot, Peer(robot, model_of_file(path, floating=base == "floating")), methods)


def differences(function, count: int, h: float = 1e-4) -> np.ndarray:
    """Columns of central differences of order four of function(step), at steps of zero."""
    columns = []
    for e in np.eye(count):
        near, far = ((function(k * h * e) - function(-k * h * e)) / (2 * k * h) for k in (1, 2))
        columns.append((4 * near - far) / 3)
    return np.stack(columns, axis=-1)


def by_differences(function, move, q, qd, last) -> list[np.ndarray]:
    """Derivatives of function(q, qd, last) by steps of q, `move(step)`, and by qd and the last input."""
    return [
        differences(lambda step: function(move(step), qd, last), len(qd)),
        differences(lambda step: function(q, qd + step, last), len(qd)),
        differences(lambda step: function(q, qd, last + step), len(last)),
    ]


@pytest.mark.parametrize("robot", [mixed_tree(5, 4), tree_of("universal")], ids=lambda robot: robot.name)
def test_differences_on_the_manifold_with_all_options(robot: appell.Robot) -> None:
    rng = np.random.default_rng(7)
    q, qd, qdd = (x[0] for x in random_states(robot, 1))
    options = {
        "gravity": rng.normal(size=3), "external_forces": {robot.body_names[-1]: rng.normal(size=6)},
        "parameters": robot.parameters * rng.uniform(0.9, 1.1, len(robot.parameters)),
    }  # fmt: skip
    for name in ("inverse_dynamics", "forward_dynamics"):
        expected = by_differences(partial(getattr(robot, name), **options), partial(robot.integrate, q), q, qd, qdd)
        for method in METHODS:
            found = getattr(robot, f"{name}_derivatives")(q, qd, qdd, method=method, **options)
            assert_close(np.array(found), np.array(expected), tolerance=1e-9, what=f"{name} {method}")


def test_forward_is_minus_the_inverse_of_m_times_inverse() -> None:
    robot = tree_of("planar")
    q, qd, tau = (x[0] for x in random_states(robot, 1))
    forward = robot.forward_dynamics_derivatives(q, qd, tau)
    inverse = robot.inverse_dynamics_derivatives(q, qd, robot.forward_dynamics(q, qd, tau))
    M = robot.mass_matrix(q)
    assert_close(M @ forward.dq, -inverse.dq, tolerance=1e-10)
    assert_close(M @ forward.dqd, -inverse.dqd, tolerance=1e-10)
    assert_close(M @ forward.dtau, np.eye(robot.nv), tolerance=1e-10)
    assert_close(inverse.dqdd, M, tolerance=1e-12)


@pytest.mark.parametrize("name", ["four_bar", "five_bar", "delta", "agile_wrist"])
def test_closed_loops_in_independent_velocities(name: str) -> None:
    robot = appell.load(name)
    rng = np.random.default_rng(3)
    q = robot.random_configuration(3) if name == "agile_wrist" else np.array(robot.initial_state[0])
    qd, qdd, tau = rng.normal(size=robot.nv), rng.normal(size=robot.nv), rng.normal(size=len(robot.actuator_names))
    loops = name != "agile_wrist"
    along = (
        robot.joint_velocity_jacobian(q) if loops else np.eye(robot.nv)
    )  # all joints are hinges: q̇ is their velocity
    for function, last in (("inverse_dynamics", qdd), ("forward_dynamics", tau)):
        expected = by_differences(getattr(robot, function), lambda step: q + along @ step, q, qd, last)
        found = getattr(robot, f"{function}_derivatives")(q, qd, last)
        for name_, a, b in zip(found._fields, found, expected, strict=True):
            assert_close(a, b, tolerance=1e-8, scale=1.0 + float(np.abs(b).max()), what=f"{function} {name_}")


@pytest.mark.parametrize(("layout", "dtype"), [("rows", "float64"), ("columns", "float32")])
def test_compiled_and_saved(layout: str, dtype: str, tmp_path) -> None:
    robot = tree_of("spherical")
    states = random_states(robot, 13)
    expected = robot.inverse_dynamics_derivatives(*states), robot.forward_dynamics_derivatives(*states)
    functions = ["inverse_dynamics_derivatives", "forward_dynamics_derivatives"]
    compiled = appell.compile(robot, dtype=dtype, layout=layout)
    compiled.save(tmp_path / "robot.appell", functions=functions)
    given = [np.ascontiguousarray(x.T if layout == "columns" else x, dtype) for x in states]
    condition = float(np.linalg.cond(robot.mass_matrix(states.q)).max())
    for dyn in (compiled, appell.load_compiled(tmp_path / "robot.appell")):
        for name, blocks in zip(functions, expected, strict=True):
            for _ in range(2):  # the second call goes straight to the kernel
                found = getattr(dyn, name)(*given)
                for field, a, b in zip(found._fields, found, blocks, strict=True):
                    a = np.moveaxis(a, -1, 0) if layout == "columns" else a
                    tolerance = 100 * np.finfo(dtype).eps * (condition if name[0] == "f" else 10)
                    assert_close(a, b.astype(dtype), tolerance=tolerance, what=f"{name} {field}")


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs a C compiler")
def test_exported_c(tmp_path) -> None:
    robot = tree_of("spherical")
    names = ["inverse_dynamics_derivatives", "forward_dynamics_derivatives"]
    appell.export(robot, names, tmp_path, prefix="arm")
    functions = exported_c.write_main(tmp_path, "arm", "double")
    program = exported_c.compiled(exported_c.C99, tmp_path, "arm.c", "main.c")
    states = random_states(robot, 3)
    found = exported_c.run(program, functions, [list(states)] * 2, "float64")
    for name, result in zip(names, found, strict=True):
        expected = side_by_side(getattr(robot, name)(*states))
        assert_close(result.reshape(expected.shape), expected, tolerance=1e-10, what=name)


def test_results_are_views_of_out() -> None:
    robot = appell.load("puma560")
    q, qd, qdd = random_states(robot, 5)
    dyn = appell.compile(robot)
    expected = dyn.inverse_dynamics_derivatives(q, qd, qdd)
    out = np.full((5, 6, 18), np.nan)
    found = dyn.inverse_dynamics_derivatives(q, qd, qdd, out=out)
    assert all(np.shares_memory(part, out) for part in found)
    assert_close(out, side_by_side(expected))
    one = dyn.inverse_dynamics_derivatives(q[0], qd[0], qdd[0], check=False)
    assert_close(one.dq, expected.dq[0])
    with pytest.raises(appell.AppellError, match="qd has shape"):
        dyn.inverse_dynamics_derivatives(q, qd[:, :3], qdd)


def test_branches_are_structural_zeros() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", appell.ModelWarning)
        robot = appell.load(shared("robots/go2.urdf"), base="floating")
    q, qd, qdd = (x[0] for x in random_states(robot, 1))
    dq = robot.inverse_dynamics_derivatives(q, qd, qdd).dq
    assert not dq[6:9, 9:12].any()
    assert not dq[:, :3].any()  # nothing depends on where the base is


def test_steps_of_a_floating_joint_and_differences() -> None:
    robot = appell.RobotBuilder("body").body("body", 1.0, inertia=(0.1, 0.1, 0.1)).body("world")
    robot = robot.floating("base", "world", "body").build()
    model, rng = model_of_robot(robot), np.random.default_rng(1)
    q, end = (robot.random_configuration(rng) for _ in range(2))
    step = rng.normal(size=6)
    for found, expected in (
        (robot.integrate_derivatives(q, step), pin.dIntegrate(model, q, step)),
        (robot.difference_derivatives(q, end), pin.dDifference(model, q, end)),
    ):
        for ours, theirs in zip(found, expected, strict=True):
            assert_close(ours, theirs, tolerance=1e-12)
