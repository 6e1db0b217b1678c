"""Parts of closed loops with known answers: elimination, ranks, steps of Newton's method, statuses."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from helpers.closeness import assert_close
from helpers.loop_robots import built_in

import appell
from appell.closed_loop import elimination, position_closure, singularity
from appell.closed_loop.elimination import Elimination
from appell.closed_loop.spherical.robot import SphericalRobot
from appell.closed_loop.spherical.singularities import MIN_H, MIN_SINE, Singularities, split
from appell.closed_loop.spherical.system import QUANTITIES as OF_SPHERICAL_ROBOTS
from appell.closed_loop.system import QUANTITIES as OF_CLOSED_LOOPS

# --- elimination --------------------------------------------------------------------------------------------------------------


def test_solutions_are_those_of_least_squares():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(6, 4))
    A[:3, 1] = A[3:, 2] = 0.0
    A[:, 3] = [0.0, 1.0, 0.0, 0.0, 2.0, 0.0]
    factors = Elimination.of(A.T.tolist())
    b, t = rng.normal(size=6), rng.normal(size=4)
    assert_close(factors.solve(b.tolist()), np.linalg.lstsq(A, b, rcond=None)[0], tolerance=1e-12)
    assert_close(factors.solve_transposed(t.tolist()), np.linalg.lstsq(A.T, t, rcond=None)[0], tolerance=1e-12)
    assert_close(factors.solve([0.0] * 6), np.zeros(4), scale=1.0)
    invalid = Elimination.of(A.T.tolist(), 0.0)
    assert not np.isfinite(invalid.solve(b.tolist())).any()


@pytest.mark.parametrize(("sine", "regular"), [(2.0, True), (0.5, False)])
def test_columns_that_are_almost_dependent_have_no_solution(sine, regular):
    angle = sine * elimination.SINE_TOL
    factors = Elimination.of([[1.0, 0.0, 0.0], [3.0, 3.0 * angle, 0.0]])
    assert np.isfinite(factors.solve([1.0, 1.0, 0.0])).all() == regular
    tiny = 0.5 * elimination.SINE_TOL * elimination.LENGTH_TOL
    assert elimination.guarded_inverse(tiny**2, tiny**2) == float("inf")
    assert elimination.guarded_inverse(4.0, 4.0) == 0.25


@pytest.mark.parametrize("x", [-2.0, 0.0, 3.0])
def test_the_unit_step(x):
    import casadi

    assert elimination.unit_step(x) == float(x > 0)
    assert_close(elimination.unit_step(np.array([x, x])), np.full(2, float(x > 0)), scale=1.0)
    assert float(casadi.DM(casadi.evalf(elimination.unit_step(casadi.SX(x))))) == float(x > 0)


# --- ranks and choices --------------------------------------------------------------------------------------------------------


def test_ranks_and_sines_of_columns():
    K = np.array([[1.0, 1.0, 0.0, 2.0], [0.0, 1.0, 0.0, 1.0]])
    assert singularity.rank(K) == 2
    assert singularity.rank(K[:1]) == 1
    assert singularity.rank(np.zeros((0, 3))) == 0
    assert singularity.rank(np.diag([1.0, 1e-5])) == 2
    assert singularity.rank(np.diag([1.0, 1e-7])) == 1
    assert_close(singularity.column_sines(K, [0, 1, 3]), np.array([1.0, np.sqrt(0.5), 0.0]), tolerance=1e-12)
    assert_close(singularity.column_sines(K, [1, 2]), np.array([1.0, 0.0]), tolerance=1e-12)
    long = np.array([[3.0, 2.0], [0.0, 2.0]])
    assert_close(singularity.column_sines(long, [0, 1]), np.array([1.0, np.sqrt(0.5)]), tolerance=1e-12)
    short = singularity.LENGTH_TOL * np.array([[1.0], [0.0]])
    assert_close(singularity.column_sines(short, [0]), np.array([np.sqrt(0.5)]), tolerance=1e-12)


def test_velocities_that_closures_are_solved_for():
    K = np.array([[1.0, 0.0, 5.0, 0.0], [0.0, 2.0, 0.0, 0.0]])
    assert singularity.dependent_velocities(K, 2, []) == [2, 1]  # the longest first
    assert singularity.dependent_velocities(K, 2, [2]) == [1, 0]
    assert singularity.dependent_velocities(K, 2, [1]) == [2, 1]  # no other has this row
    assert singularity.dependent_velocities(K, 1, []) == [2]
    assert singularity.dependent_velocities(K, 3, []) is None
    close = np.array([[1.0, 1.0, 0.1], [0.0, 0.5 * singularity.PREFERRED_SINE, 0.05]])
    assert sorted(singularity.dependent_velocities(close, 2, [2]) or ()) == [0, 1]


# --- Newton's method ----------------------------------------------------------------------------------------------------------


class Curve:
    """A robot of one joint with the residual atan(5 q): full steps from afar are too long."""

    system = type("", (), {"loops": (), "rows": 1})
    nq = 1

    def __init__(self):
        self.spanning_tree = type("", (), {"nv": 1, "integrate": staticmethod(lambda q, v: q + v)})
        self.functions = {
            ("closure_residual", None): lambda arguments, *_: np.arctan(5.0 * arguments[0]),
            ("closure_jacobian", None): lambda arguments, *_: (5.0 / (1.0 + 25.0 * arguments[0] ** 2))[..., None],
        }


def test_steps_are_halved_until_the_residual_falls(monkeypatch):
    """From 1: the full step of 7.1 is cut to MAX_STEP, here 8, and halved twice."""
    monkeypatch.setattr(position_closure, "MAX_STEP", 8.0)
    robot, q = Curve(), np.array([[1.0], [0.01]])
    residual = position_closure.residuals(robot, q)  # type: ignore[arg-type]
    moved, better = position_closure._newton_step(robot, q, residual, np.array([0]))  # type: ignore[arg-type]
    full = -np.arctan(5.0 * q) * (1.0 + 25.0 * q**2) / 5.0
    assert_close(moved, q + full * [[0.25], [1.0]], tolerance=1e-12)
    assert_close(better, np.arctan(5.0 * moved), tolerance=1e-12)
    found = position_closure.newton_closure(robot, np.array([1.0]), [])  # type: ignore[arg-type]
    assert found.error < 1e-12
    assert found.iterations < 15


def test_residuals_that_are_not_finite_are_large():
    robot = Curve()
    robot.functions["closure_residual", None] = lambda arguments, *_: np.array([[np.nan], [np.inf], [-np.inf], [2.0]])
    assert position_closure.residuals(robot, np.zeros((4, 1))).ravel().tolist() == [1e6, 1e6, -1e6, 2.0]  # type: ignore[arg-type]


def test_continuation_goes_by_small_steps(monkeypatch):
    robot = built_in("four_bar")
    start = np.array(robot.reference_configuration)
    goal = start.copy()
    goal[0] += 1.0
    steps = []
    newton = position_closure.newton_closure

    def recorded(robot, q, fixed):
        steps.append(float(q[0] - start[0]))
        return newton(robot, q, fixed)

    monkeypatch.setattr(position_closure, "newton_closure", recorded)
    found = position_closure.continuation(robot, start, goal, [0])
    assert found.status == "closed"
    assert found.best_q[0] == pytest.approx(goal[0])
    count = int(np.ceil(1.0 / position_closure.CONTINUATION_STEP))
    assert_close(steps, np.arange(1, count + 1) / count, tolerance=1e-9)


# --- what functions take ------------------------------------------------------------------------------------------------------

FORCED = {"accelerations", "bias", "forward_dynamics", "forward_dynamics_derivatives", "generalized_forces", "inverse_dynamics",
          "inverse_dynamics_derivatives", "inverse_dynamics_second_derivatives"}  # fmt: skip
WEIGHED = FORCED | {"generalized_regressor", "gibbs_function", "gravity", "potential_energy", "regressor"}


@pytest.mark.parametrize(
    ("quantities", "more"), [(OF_CLOSED_LOOPS, {"constraint_forces"}), (OF_SPHERICAL_ROBOTS, set())]
)
def test_functions_with_external_forces_and_gravity(quantities, more):
    assert {name for name, each in quantities.items() if each.uses_external_forces} == FORCED | more
    assert {name for name, each in quantities.items() if each.uses_gravity} == WEIGHED | more
    assert {name for name, each in quantities.items() if each.needs_frame} == {"pose", "jacobian"}


def test_gravity_of_spherical_robots_is_downwards_by_default():
    default = inspect.signature(SphericalRobot).parameters["gravity_vector"].default
    assert tuple(default) == (0.0, 0.0, -9.81)
    assert tuple(appell.load("agile_wrist").gravity_vector) != (0.0, 0.0, 0.0)


# --- statuses of spherical robots ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({}, "regular"),
        ({"discriminant": -1e-9}, "unreachable"),
        ({"discriminant": 0.9 * MIN_H**2}, "leg singularity"),
        ({"discriminant": 1.1 * MIN_H**2}, "regular"),
        ({"actuators": 0.9 * MIN_SINE}, "actuator singularity"),
        ({"actuators": 1.1 * MIN_SINE}, "regular"),
        ({"actuators": np.nan}, "actuator singularity"),
        ({"euler": 0.9 * MIN_H}, "gimbal lock"),
        ({"euler": -1.1 * MIN_H}, "regular"),
    ],
)
def test_the_status_of_margins(changes, status):
    values = {"discriminant": 1.0, "actuators": 1.0, "euler": 1.0} | changes
    found = Singularities(
        np.array([[1.0, values["discriminant"], 1.0]]),
        np.ones((1, 3)),
        np.ones(1),
        np.array([values["euler"]]),
        np.array([values["actuators"]]),
    )
    assert found.status.tolist() == [status]
    if status == "regular" and changes:
        assert found.named(MIN_H**2 + MIN_SINE**2).tolist() != ["regular"]


def test_margins_by_parts():
    values = np.arange(1.0, 12.0)[None]
    found = split(values, 3)
    assert found.discriminant.tolist() == [[1.0, 2.0, 3.0]]
    assert found.h.tolist() == [[4.0, 5.0, 6.0]]
    assert (found.det[0], found.euler[0]) == (7.0, 8.0)
    assert found.actuators[0] == pytest.approx(3.0)


def test_spherical_robots_have_no_limits():
    limits = appell.load("agile_wrist").simulation_model().limits
    assert (limits[0] == -np.inf).all()
    assert all((values == np.inf).all() for values in limits[1:])


def test_the_error_of_a_configuration_is_the_largest_one():
    robot = built_in("four_bar")
    model = robot.simulation_model()
    q = np.array(robot.reference_configuration)
    open_ = q.copy()
    open_[0] += 1e-3
    expected = np.abs(position_closure.residuals(robot, open_[None])).max()
    assert expected > 1e-5
    assert model.constraint_error(open_, np.zeros(robot.nv)) == pytest.approx(expected)
