"""Second derivatives of inverse dynamics: both methods, differences of first derivatives, symmetry, and all ways to call."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from helpers.closeness import assert_close
from helpers.joint_trees import KIND_TREES, mixed_tree, tree_of
from helpers.shared_data import shared
from helpers.states import random_states

import appell

BLOCKS = (("qq", "dq", 0), ("qqd", "dqd", 0), ("qqdd", "dqdd", 0), ("qdqd", "dqd", 1))
"""Second derivatives, and the first derivatives and input (q or qd) from whose change they follow."""


def differences(function, count: int, h: float = 1e-3) -> np.ndarray:
    """Central differences of order six of function(step), at steps of zero, with the step's entries first."""
    weights = {1: 3 / 4, 2: -3 / 20, 3: 1 / 60}
    return np.stack([
        sum(c * (function(k * h * e) - function(-k * h * e)) for k, c in weights.items()) / h for e in np.eye(count)
    ])  # fmt: skip


@pytest.mark.parametrize("robot", [*KIND_TREES, mixed_tree(5, 4)], ids=lambda robot: robot.name)
def test_both_methods_agree(robot: appell.Robot) -> None:
    states = random_states(robot, 2)
    analytic = robot.inverse_dynamics_second_derivatives(*states)
    automatic = robot.inverse_dynamics_second_derivatives(*states, method="automatic")
    for name, a, b in zip(analytic._fields, analytic, automatic, strict=True):
        assert_close(a, b, tolerance=1e-13, what=name)
    for part in (analytic.qq, analytic.qdqd):
        assert_close(part, part.swapaxes(-1, -2), tolerance=1e-14)


@pytest.mark.parametrize("robot", [mixed_tree(5, 4), tree_of("floating")], ids=lambda robot: robot.name)
def test_differences_of_first_derivatives_with_all_options(robot: appell.Robot) -> None:
    """On the manifold the symmetric part counts: the others are differences of the same first derivatives."""
    rng = np.random.default_rng(7)
    q, qd, qdd = (x[0] for x in random_states(robot, 1))
    options = {
        "gravity": rng.normal(size=3), "external_forces": {robot.body_names[-1]: rng.normal(size=6)},
        "parameters": robot.parameters * rng.uniform(0.9, 1.1, len(robot.parameters)),
    }  # fmt: skip
    found = robot.inverse_dynamics_second_derivatives(q, qd, qdd, **options)
    first = partial(robot.inverse_dynamics_derivatives, **options)
    changes = (lambda step: first(robot.integrate(q, step), qd, qdd)), (lambda step: first(q, qd + step, qdd))
    for name, block, moved in BLOCKS:
        change = partial(lambda change, block, step: getattr(change(step), block), changes[moved], block)
        expected = differences(change, robot.nv).transpose(1, 0, 2)
        if name == "qq":
            expected = (expected + expected.swapaxes(1, 2)) / 2
        assert_close(getattr(found, name), expected, tolerance=1e-10, what=name)


def test_taylor_series_in_exponential_coordinates() -> None:
    """The second derivative along a curve q ⊕ t δ, qd + t ν, qdd + t α."""
    robot = tree_of("floating")
    rng = np.random.default_rng(1)
    q, qd, qdd = (x[0] for x in random_states(robot, 1))
    d, v, a = rng.normal(size=(3, robot.nv))

    def along(t: float) -> np.ndarray:
        return robot.inverse_dynamics(robot.integrate(q, t * d), qd + t * v, qdd + t * a)

    h = 1e-2
    weights = {0: -49 / 18, 1: 3 / 2, 2: -3 / 20, 3: 1 / 90}
    expected = sum(c * (along(k * h) + along(-k * h)) / (2 if k == 0 else 1) for k, c in weights.items()) / h**2
    second = robot.inverse_dynamics_second_derivatives(q, qd, qdd)
    total = second.qq @ d @ d + second.qdqd @ v @ v + 2 * (second.qqd @ v @ d + second.qqdd @ a @ d)
    assert_close(total, expected, tolerance=1e-8)


def test_hessian_vector_products_are_directional_derivatives() -> None:
    robot = appell.load("puma560")
    states = random_states(robot, 5)
    directions = [np.random.default_rng(k).normal(size=(5, 6)) for k in range(3)]
    second = robot.inverse_dynamics_second_derivatives(*states)
    product = appell.jvp(robot, "inverse_dynamics_derivatives", states, directions)
    d, v, a = (x[:, None, :, None] for x in directions)
    by_q = (second.qq @ d + second.qqd @ v + second.qqdd @ a)[..., 0]
    assert_close(product[..., :6], by_q, tolerance=1e-12)


@pytest.mark.parametrize(("layout", "dtype"), [("rows", "float64"), ("columns", "float32")])
def test_compiled_saved_and_into_out(layout: str, dtype: str, tmp_path) -> None:
    robot = tree_of("planar")
    n, states = robot.nv, random_states(robot, 13)
    expected = robot.inverse_dynamics_second_derivatives(*states)
    compiled = appell.compile(robot, dtype=dtype, layout=layout)
    compiled.save(tmp_path / "robot.appell", functions=["inverse_dynamics_second_derivatives"])
    given = [np.ascontiguousarray(x.T if layout == "columns" else x, dtype) for x in states]
    out = np.empty((n, n, 4 * n, 13) if layout == "columns" else (13, n, n, 4 * n), dtype)
    for dyn in (compiled, appell.load_compiled(tmp_path / "robot.appell")):
        for _ in range(2):  # the second call goes straight to the kernel
            found = dyn.inverse_dynamics_second_derivatives(*given, out=out)
            for name, a, b in zip(found._fields, found, expected, strict=True):
                assert np.shares_memory(a, out)
                a = np.moveaxis(a, -1, 0) if layout == "columns" else a
                assert_close(a, b.astype(dtype), tolerance=1000 * np.finfo(dtype).eps, what=name)


@pytest.mark.parametrize("name", ["four_bar", "five_bar", "agile_wrist"])
def test_closed_loops_along_independent_velocities(name: str) -> None:
    """Differences of first derivatives, whose configurations are closed again after every step."""
    robot, rng = appell.load(name), np.random.default_rng(5)
    loops = name != "agile_wrist"
    q = np.array(robot.initial_state[0]) if loops else robot.random_configuration(3)
    qd, qdd = rng.normal(size=(2, robot.nv))

    def moved(step: np.ndarray) -> np.ndarray:
        if not loops:
            return q + step
        names = robot.qd_names  # of hinges
        place = [robot.spanning_tree.first_coordinates[name][0] for name in names]
        return robot.solve_loop_closure(dict(zip(names, q[place] + step, strict=True)), q0=q).q

    found = robot.inverse_dynamics_second_derivatives(q, qd, qdd)
    first = robot.inverse_dynamics_derivatives
    changes = (lambda step: first(moved(step), qd, qdd)), (lambda step: first(q, qd + step, qdd))
    for name_, block, input_ in BLOCKS:
        change = partial(lambda change, block, step: getattr(change(step), block), changes[input_], block)
        expected = differences(change, robot.nv).transpose(1, 0, 2)
        assert_close(getattr(found, name_), expected, tolerance=1e-8, scale=1 + np.abs(expected).max(), what=name_)
    assert_close(found.qq, found.qq.swapaxes(1, 2), tolerance=1e-14)


def test_derivatives_of_the_mass_matrix_of_a_humanoid() -> None:
    """qqdd from first derivatives at unit accelerations without velocity and gravity."""
    robot = appell.load(shared("robots/solo12.urdf"), base="floating")
    q = random_states(robot, 1).q[0]
    zero = np.zeros(robot.nv)
    second = robot.inverse_dynamics_second_derivatives(q, zero, zero, gravity=(0, 0, 0))
    for k in (2, 7, 15):
        by_q = robot.inverse_dynamics_derivatives(q, zero, np.eye(robot.nv)[k], gravity=(0, 0, 0)).dq
        assert_close(second.qqdd[:, :, k], by_q, tolerance=1e-13)
