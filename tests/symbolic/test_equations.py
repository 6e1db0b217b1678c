"""Closed equations of motion: the textbook's arm, agreement with the numbers, and what is refused."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest
import sympy
from helpers.closeness import assert_close
from helpers.loop_robots import states
from helpers.random_trees import MOVING, general_tree, over, right_angled_tree
from helpers.states import random_states

import appell
from appell.algorithms.registry import find
from appell.model.joint import Limits, Mimic
from appell.symbolic.tree_equations import latex_name

m1, m2, l1, lc1, lc2, I1, I2, g = sympy.symbols("m1 m2 l1 lc1 lc2 I1 I2 g")
q1, q2, qd1, qd2 = sympy.symbols("q1 q2 qd1 qd2")


def same(actual: sympy.Expr, expected: sympy.Expr) -> bool:
    return sympy.simplify(actual - expected) == 0


@pytest.fixture(scope="module")
def textbook_arm():
    return appell.equations(appell.load("planar2r"), symbols=True)


def test_planar_arm_has_the_inertia_matrix_of_the_textbook(textbook_arm):
    M12 = I2 + m2 * (lc2**2 + l1 * lc2 * sympy.cos(q2))
    M11 = I1 + I2 + m1 * lc1**2 + m2 * (l1**2 + lc2**2 + 2 * l1 * lc2 * sympy.cos(q2))
    expected = sympy.Matrix([[M11, M12], [M12, I2 + m2 * lc2**2]])
    assert all(same(a, b) for a, b in zip(textbook_arm.M, expected, strict=True))


def test_planar_arm_has_the_velocity_forces_of_the_textbook(textbook_arm):
    h = -m2 * l1 * lc2 * sympy.sin(q2)
    expected = [h * (2 * qd1 * qd2 + qd2**2), -h * qd1**2]
    assert all(same(a, b) for a, b in zip(textbook_arm.velocity_forces, expected, strict=True))


def test_planar_arm_has_the_gravity_of_the_textbook(textbook_arm):
    outer = m2 * lc2 * g * sympy.cos(q1 + q2)
    expected = [(m1 * lc1 + m2 * l1) * g * sympy.cos(q1) + outer, outer]
    assert all(same(a, b) for a, b in zip(textbook_arm.gravity, expected, strict=True))


def test_no_other_symbols_enter_and_each_has_its_value(textbook_arm):
    terms = (textbook_arm.M, textbook_arm.velocity_forces, textbook_arm.gravity)
    free = set().union(*(term.free_symbols for term in terms))
    assert free == {m1, m2, l1, lc1, lc2, I1, I2, g, q1, q2, qd1, qd2}
    assert set(textbook_arm.values) == {m1, m2, l1, lc1, lc2, I1, I2, g}
    assert textbook_arm.values[l1] == 1.0
    assert textbook_arm.values[lc2] == 0.5
    assert textbook_arm.values[g] == 9.81


def first_joints(name: str, n: int):
    robot = appell.load(name)
    return replace(robot, name=f"{name}{n}", bodies=robot.bodies[: n + 1], joints=robot.joints[:n])


def with_mimic(robot, multiplier: float):
    leader = next(joint for joint in robot.joints if joint.kind != "prismatic")
    followers = [joint for joint in robot.joints if joint.kind != "prismatic" and joint is not leader]
    joints = tuple(
        replace(joint, mimic=Mimic(leader.name, multiplier, 0.25)) if joint is followers[0] else joint
        for joint in robot.joints
    )
    return replace(robot, name=f"{robot.name}_mimic", joints=joints)


ROBOTS = [
    appell.load("planar2r"),
    appell.load("mata_two_body"),
    first_joints("puma560", 3),
    general_tree(2, 1, ("prismatic",)),
    appell.robots.random_chain(3, seed=2),
    appell.robots.random_tree(3, seed=5, kinds=MOVING, branching=1.0),
    right_angled_tree(3, 1),
    with_mimic(appell.robots.random_chain(3, seed=4), -1.5),
]


@over(ROBOTS)
@pytest.mark.parametrize("symbols", [False, True], ids=["numbers", "symbols"])
def test_equations_give_the_numbers_of_the_robot(robot, symbols):
    closed = appell.equations(robot, symbols=symbols)
    states = random_states(robot, 4)
    terms = (closed.M, closed.velocity_forces, closed.gravity)
    evaluate = sympy.lambdify([*closed.q, *closed.qd, *closed.values], [list(term) for term in terms], "math")
    rest = robot.bias(states.q, states.qd) - robot.gravity(states.q)
    for k in range(4):
        M, forces, gravity = evaluate(*states.q[k], *states.qd[k], *closed.values.values())
        expected = robot.mass_matrix(states.q[k])
        assert_close(np.reshape(M, expected.shape).astype(float), expected, tolerance=1e-12, what="M")
        size = max(abs(robot.bias(states.q[k], states.qd[k])).max(), abs(rest).max(), 1e-3)
        assert_close(np.array(forces, float), rest[k], tolerance=1e-12, scale=size, what="C qd")
        assert_close(np.array(gravity, float), robot.gravity(states.q[k]), tolerance=1e-12, scale=size, what="g")


@pytest.mark.parametrize(
    ("function", "method"), [("mass_matrix", "gibbs_hessian"), ("mass_matrix", "composite"), ("gravity", "mata2002")]
)
def test_algorithms_run_on_sympy_symbols_themselves(function, method):
    robot = first_joints("puma560", 2)
    closed = appell.equations(robot)
    expected = {"mass_matrix": closed.M, "gravity": closed.gravity}[function]
    actual = sympy.Matrix(find(function, method)[2](robot.tree, list(closed.q)))
    difference = (actual - expected).subs({q1: sympy.Rational(3, 7), q2: sympy.Rational(-5, 3)})
    assert max(abs(entry) for entry in difference.evalf(30)) < 1e-14 * float(
        max(abs(x) for x in expected.subs({q1: 0, q2: 1}))
    )


def test_coriolis_forces_agree_with_the_derivatives_of_the_inertia_matrix(textbook_arm):
    """Lagrange's way to C qd, from M alone."""
    M, q, qd = textbook_arm.M, textbook_arm.q, textbook_arm.qd
    kinetic = (qd.T * M * qd)[0] / 2
    for i in range(2):
        expected = sum(M[i, j].diff(q[k]) * qd[j] * qd[k] for j in range(2) for k in range(2)) - kinetic.diff(q[i])
        assert same(textbook_arm.velocity_forces[i], expected)


def test_results_are_frozen(textbook_arm):
    with pytest.raises(AttributeError):
        textbook_arm.M = None
    with pytest.raises(TypeError):
        textbook_arm.M[0, 0] = 0


def test_latex_names_the_terms_and_dots_the_speeds(textbook_arm):
    text = textbook_arm.latex()
    assert text.startswith(r"\begin{aligned}")
    assert text.endswith(r"\end{aligned}")
    for part in (
        r"\mathbf{M} &=",
        r"\mathbf{g} &=",
        r"\dot{q}_{2}",
        "l_{c2}",
        "m_{1}",
        r"\cos{\left(q_{1} + q_{2} \right)}",
    ):
        assert part in text
    assert textbook_arm._repr_latex_() == f"$\\displaystyle {text}$"


@pytest.mark.parametrize(
    ("name", "latex"),
    [("q1", "q_{1}"), ("qd12", r"\dot{q}_{12}"), ("lc2x", "l_{c2x}"), ("I1zz", "I_{1zz}"), ("g", "g")],
)
def test_latex_of_a_name(name, latex):
    assert latex_name(name) == latex


def test_large_robots_are_refused_unless_forced():
    with pytest.raises(appell.ArgumentError, match=r"puma560 has 6 degrees of freedom.*force=True"):
        appell.equations(appell.load("puma560"))
    planar = appell.load("planar2r")
    assert appell.equations(planar, force=True).M == appell.equations(planar).M


def evaluated(closed, expressions, q, qd):
    """Values of SymPy matrices at a state."""
    function = sympy.lambdify([*closed.q, *closed.qd, *closed.values], [sympy.Matrix(x) for x in expressions], "numpy")
    return [np.array(x, dtype=float) for x in function(*q, *qd, *closed.values.values())]


def one_of(kind: str):
    """A joint of a kind on a base; of most kinds behind a hinge."""
    robot = appell.robots.random_chain(2, seed=3, kinds=("revolute",))
    own = replace(robot.joints[1], kind=kind, limits=Limits(), pitch=0.13 if kind == "helical" else 0.0)
    if kind in ("spherical", "floating"):
        own = replace(own, parent="base")
        return replace(robot, name=kind, bodies=(robot.bodies[0], robot.bodies[2]), joints=(own,))
    return replace(robot, name=kind, joints=(robot.joints[0], own))


@pytest.mark.parametrize("symbols", [False, True], ids=["numbers", "symbols"])
@pytest.mark.parametrize(
    "kind", ["helical", "cylindrical", "universal", "planar", "translation", "spherical", "floating"]
)
def test_every_kind_of_joint(kind, symbols):
    robot = one_of(kind)
    closed = appell.equations(robot, symbols=symbols, force=True)
    assert (closed.q.shape, closed.qd.shape) == ((robot.nq, 1), (robot.nv, 1))
    given = random_states(robot, 3)
    for q, qd in zip(given.q, given.qd, strict=True):
        M, forces, gravity = evaluated(closed, (closed.M, closed.velocity_forces, closed.gravity), q, qd)
        bias = robot.bias(q, qd)
        assert_close(M, robot.mass_matrix(q), tolerance=1e-12)
        assert_close(forces[:, 0], bias - robot.gravity(q), tolerance=1e-12, scale=float(np.abs(bias).max()))
        assert_close(gravity[:, 0], robot.gravity(q), tolerance=1e-12, scale=float(np.abs(bias).max()))


def test_a_slide_may_mimic_a_hinge():
    """A rack and pinion: the angle enters as a sine and as itself."""
    robot = appell.robots.random_chain(2, seed=1)
    slide = replace(robot.joints[1], kind="prismatic", mimic=Mimic("joint1", 0.1234567, 0.05))
    robot = replace(robot, joints=(robot.joints[0], slide))
    closed = appell.equations(robot)
    q, qd = np.array([0.7]), np.array([1.3])
    M, forces, gravity = evaluated(closed, (closed.M, closed.velocity_forces, closed.gravity), q, qd)
    assert_close(M, robot.mass_matrix(q), tolerance=1e-12)
    assert_close((forces + gravity)[:, 0], robot.bias(q, qd), tolerance=1e-12)


# --- closed loops -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("symbols", [False, True], ids=["numbers", "symbols"])
@pytest.mark.parametrize("name", ["four_bar", "five_bar"])
def test_closed_loops(name, symbols):
    """Residuals, Jacobian and its rate are those of the library; with multipliers the tree's equations give its motion."""
    robot = appell.load(name)
    closed = appell.equations(robot, symbols=symbols)
    state = states(robot, 2, seed=4)
    for q, u, ud in zip(*state, strict=True):
        v = robot.joint_velocities(q, u)
        vd = robot.joint_accelerations(q, u, ud)
        terms = (
            closed.closure,
            closed.K,
            closed.closure_bias,
            closed.tree.M,
            closed.tree.velocity_forces,
            closed.tree.gravity,
        )
        residual, K, bias, M, forces, gravity = evaluated(closed.tree, terms, q, v)
        assert np.abs(residual).max() < 1e-12
        assert_close(K @ v, np.zeros(len(K)), tolerance=1e-12, scale=1.0)
        assert_close(
            K @ vd + bias[:, 0], np.zeros(len(K)), tolerance=1e-10, scale=float(np.abs(K @ np.abs(vd)).max() + 1.0)
        )
        tau = robot.inverse_dynamics(q, u, ud)
        S = np.array(closed.S, dtype=float)
        left = M @ vd + forces[:, 0] + gravity[:, 0] - S.T @ tau
        multipliers = np.linalg.lstsq(K.T, left, rcond=1e-9)[0]
        assert_close(K.T @ multipliers, left, tolerance=1e-9, scale=float(np.abs(forces).max() + np.abs(gravity).max()))


def test_closed_loops_reduced_to_independent_velocities():
    """G^T M G and the rest, at a closed configuration: the library's mass matrix, bias and gravity of the four-bar linkage."""
    robot = appell.load("four_bar")
    closed = appell.equations(robot, symbols=True)
    reduced = closed.reduced()
    assert reduced.qd.shape == (1, 1)
    for q, u, _ in zip(*states(robot, 3, seed=2), strict=True):
        M, forces, gravity = evaluated(reduced, (reduced.M, reduced.velocity_forces, reduced.gravity), q, u)
        assert_close(M, robot.mass_matrix(q), tolerance=1e-11)
        assert_close(
            forces[:, 0],
            robot.bias(q, u) - robot.gravity(q),
            tolerance=1e-10,
            scale=float(np.abs(robot.bias(q, u)).max()),
        )
        assert_close(gravity[:, 0], robot.gravity(q), tolerance=1e-11)
        (G,) = evaluated(reduced, (closed.velocities(),), q, u)
        assert_close(G @ u, robot.joint_velocities(q, u), tolerance=1e-11)
    assert r"\mathbf{K} &=" in closed.latex()


def test_residuals_of_spatial_hinges_divide():
    """A ball joint that a hinge at its centre closes: 2 tan(θ/2) of the angle between the axes is a fraction of harmonics."""
    builder = (
        appell.RobotBuilder("hinged_ball")
        .body("base")
        .body("bar", mass=1.0, com=(0.1, 0.2, 0.3), inertia=(0.1, 0.2, 0.25))
    )
    tree = builder.joint("spherical", "ball", parent="base", child="bar").build()
    frame = appell.Pose((0.0, 0.0, 0.0), (0.3, -0.2, 0.0))
    robot = appell.close_loops(
        tree, [appell.LoopClosure("hinge", "revolute", "base", "bar", frame, frame)], actuated=["ball.wz"]
    )
    closed = appell.equations(robot)
    q = tree.integrate(np.array(robot.reference_configuration), [0.2, -0.1, 0.3])
    (residual,) = evaluated(closed.tree, (closed.closure,), q, np.zeros(3))
    expected = robot.functions["closure_residual", None]((q[None],), None, None, None, None, False)[0]
    assert np.abs(expected).max() > 0.1
    assert_close(residual[:, 0], expected, tolerance=1e-11)


def test_without_sympy_the_remedy_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "sympy", None)
    with pytest.raises(appell.AppellError, match=r"pip install 'appell\[symbolic\]'"):
        appell.equations(appell.load("planar2r"))
