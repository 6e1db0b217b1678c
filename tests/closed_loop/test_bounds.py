"""Bounds of closed loops on both sides: tolerances, limits of Newton's method, random starts, rounding of descriptions."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from helpers.closeness import assert_close
from helpers.loop_robots import built_in
from scipy.spatial.transform import Rotation

import appell
from appell.algebra import Mat3, Vec3
from appell.closed_loop import build, constraints, position_closure, simulation_model, singularity
from appell.closed_loop.closures import CLOSURE_MODELS, LoopClosure
from appell.closed_loop.elimination import Elimination, guarded_inverse, subtract_multiple
from appell.closed_loop.position_closure import ClosureSolution, newton_closure

# --- closures -----------------------------------------------------------------------------------------------------------------


def numbers(values) -> np.ndarray:
    return np.array([float(x) for x in values])


def by_hand(kind: str, d: np.ndarray, Q: np.ndarray) -> np.ndarray:
    """Distances, then 2 tan(θ/2) of angles; y of the second frame along x of the first."""
    turn = Rotation.from_matrix(Q).as_rotvec()
    angle = np.linalg.norm(turn)
    whole = turn * 2.0 * np.tan(0.5 * angle) / angle
    tilt = np.arccos(Q[2, 2])
    across = np.cross([0.0, 0.0, 1.0], Q[:, 2]) / np.sin(tilt) * 2.0 * np.tan(0.5 * tilt)
    return {
        "point": d, "spherical": d, "revolute": [*d, *across[:2]], "universal": [*d, Q[0, 1]], "prismatic": [*d[:2], *whole],
        "weld": [*d, *whole],
    }[kind]  # fmt: skip


@pytest.mark.parametrize("kind", CLOSURE_MODELS)
def test_residuals_of_closures_and_their_rates(kind):
    """Residuals by hand; the rows are their slope at a closed loop, and the rates of the rows their second differences."""
    model = CLOSURE_MODELS[kind]
    d, Q = np.array([0.3, -0.2, 0.5]), Rotation.from_rotvec([0.4, -0.7, 0.2]).as_matrix()
    residual = numbers(model.residual(Vec3(*d), Mat3(*Q.ravel())))
    assert len(residual) == model.count
    assert_close(residual, np.array(by_hand(kind, d, Q)), tolerance=1e-14)
    v, omega, Omega = np.array([0.5, 0.8, -0.3]), np.array([-0.6, 0.9, 0.7]), np.array([0.2, 0.5, -1.1])
    closed = np.eye(3) if kind != "universal" else Rotation.from_rotvec([0.0, 0.4, 0.0]).as_matrix()

    def at(t: float) -> np.ndarray:
        turned = Rotation.from_rotvec(t * omega).as_matrix() @ closed
        return numbers(model.residual(Vec3(*(t * v)), Mat3(*turned.ravel())))

    def rows(t: float) -> np.ndarray:
        turned = Rotation.from_rotvec(t * Omega).as_matrix() @ Q
        return numbers(model.rows(Mat3(*turned.ravel()), Vec3(*v), Vec3(*omega)))

    h = 1e-4
    found = numbers(model.rows(Mat3(*closed.ravel()), Vec3(*v), Vec3(*omega)))
    assert_close(found, (at(h) - at(-h)) / (2 * h), tolerance=1e-7)
    rates = numbers(model.row_rates(Mat3(*Q.ravel()), Vec3(*Omega), Vec3(*v), Vec3(*omega)))
    assert_close(rates, (rows(h) - rows(-h)) / (2 * h), tolerance=1e-7, scale=1.0)


def test_a_closure_by_default():
    closure = LoopClosure("knee", "revolute", "a", "b")
    assert closure.axis == (0.0, 0.0, 1.0)
    assert closure.pose1 == closure.pose2 == appell.Pose()


# --- Newton's method ----------------------------------------------------------------------------------------------------------


def robot_with(residual, jacobian, nv=1) -> Any:
    """A robot whose closures have these functions of q, (N, n) to (N, rows) and (N, rows, n)."""
    asked = []
    return SimpleNamespace(
        nq=nv,
        spanning_tree=SimpleNamespace(nv=nv, integrate=lambda q, v: q + v),
        system=SimpleNamespace(loops=(), rows=1),
        functions={
            ("closure_residual", None): lambda arguments, *_: (
                asked.append(arguments[0].copy()),
                residual(arguments[0]),
            )[1],
            ("closure_jacobian", None): lambda arguments, *_: jacobian(arguments[0]),
        },
        asked=asked,
    )


@pytest.mark.parametrize(("error", "closed"), [(0.9e-7, True), (1.1e-7, False)])
def test_loops_are_closed_to_1e_7(error, closed):
    solution = ClosureSolution(
        np.zeros((2, 1)), np.array([0.0, error]), 3, ("a", "b"), np.array([[0.0, 0.0], [1e-9, error]])
    )
    assert solution.closed.tolist() == [True, closed]
    assert solution.status == ("closed" if closed else "unreachable")
    if not closed:
        with pytest.raises(appell.errors.LoopClosureError, match=r"in state \(1,\): closure 'b' stays open"):
            solution.q  # noqa: B018


@pytest.mark.parametrize(
    ("start", "iterations"), [(0.5e-14, 0), (-0.5e-14, 0), (2e-14, 1), (-1e-11, 1), (0.4, 1), (1.3, 3)]
)
def test_newton_stops_at_1e_14_and_steps_by_half_a_radian(start, iterations):
    line = robot_with(lambda q: q.copy(), lambda q: np.ones((len(q), 1, 1)))
    found = newton_closure(line, np.array([start]), [])
    assert found.iterations == iterations
    assert float(found.error) == (abs(start) if not iterations else 0.0)
    if start == 1.3:
        assert_close([float(q[0, 0]) for q in line.asked], [1.3, 0.8, 0.3, 0.0], scale=1.0, tolerance=1e-15)


def test_newton_ends_after_100_steps_and_12_halvings():
    """A slope that is wrong by a factor of 20 gains 5 % in a step; residuals that always rise are tried 12 times."""
    slow = robot_with(lambda q: q.copy(), lambda q: np.full((len(q), 1, 1), 20.0))
    found = newton_closure(slow, np.array([0.1]), [])
    assert found.iterations == 100
    assert float(found.error) == pytest.approx(0.1 * 0.95**100)
    risen = robot_with(lambda q: 1.0 + np.abs(q), lambda q: np.ones((len(q), 1, 1)))
    found = newton_closure(risen, np.array([0.0]), [])
    assert found.iterations == 1
    tried = np.array([float(q[0, 0]) for q in risen.asked[1:]])
    assert_close(tried, -0.5 * 0.5 ** np.arange(12), tolerance=1e-15)
    assert found.best_q.tolist() == [0.0]


@pytest.mark.parametrize(("small", "kept"), [(0.9e-6, False), (1.1e-6, True)])
def test_slopes_below_1e_6_of_the_largest_are_rounding(small, kept):
    def residual(q):
        return np.stack([q[:, 0], small * (q[:, 1] - 0.25)], axis=-1)

    flat = robot_with(residual, lambda q: np.tile(np.diag([1.0, small]), (len(q), 1, 1)), nv=2)
    flat.system.rows = 2
    found = newton_closure(flat, np.array([0.1, 0.0]), [])
    assert_close(found.best_q, [0.0, 0.25 if kept else 0.0], scale=1.0, tolerance=1e-12)
    assert singularity.rank(np.diag([2.0, 2.0 * small])) == (2 if kept else 1)


def test_no_step_from_slopes_that_are_not_finite():
    spoiled = robot_with(lambda q: q.copy(), lambda q: np.where(q[..., None] > 0.3, np.nan, 1.0))
    found = newton_closure(spoiled, np.array([[0.4], [0.2]]), [])
    assert found.best_q.tolist() == [[0.4], [0.0]]
    assert found.closed.tolist() == [False, True]


def test_continuation_divides_the_way_evenly(monkeypatch):
    """No step of a fixed joint above 0.2 rad, also in batches; others of the tree stay to Newton's method."""
    for farthest, count in ((0.19, 1), (0.21, 2), (1.01, 6), (0.0, 1)):
        asked = []
        tree = SimpleNamespace(nv=2, difference=lambda a, b: b - a, integrate=lambda q, v: q + v)
        monkeypatch.setattr(
            position_closure,
            "newton_closure",
            lambda robot, q, fixed, asked=asked: (asked.append(q.copy()), SimpleNamespace(best_q=q))[1],
        )
        goal = np.array([[-farthest, 0.05], [0.5 * farthest, 0.0]])
        robot: Any = SimpleNamespace(spanning_tree=tree)
        position_closure.continuation(robot, np.zeros(2), goal, [0])
        assert len(asked) == count
        expected = np.arange(1, count + 1)[:, None] / count * goal[:, 0]
        assert_close(np.array(asked)[..., 0], expected, scale=1.0, tolerance=1e-15)
        assert (np.array(asked)[..., 1] == 0.0).all()


# --- invalid configurations ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("norm", "valid"), [(0.9e-4, True), (1.1e-4, False)])
def test_results_are_finite_up_to_an_opening_of_1e_4(norm, valid, monkeypatch):
    robot = built_in("four_bar")
    q = list(robot.reference_configuration)
    rows = robot.system.rows
    opened = (norm * np.array([0.6, 0.8] + [0.0] * (rows - 2))).tolist()
    for module in (constraints, singularity):
        monkeypatch.setattr(module, "closure_residual", lambda system, q: opened)
    velocities = constraints.VelocityReduction.at(robot.system, q).velocities([1.0])
    assert bool(np.isfinite(velocities).all()) == valid
    if valid:
        singularity.require_nonsingular(robot.system, "mass_matrix", np.array([q]))
    else:
        with pytest.raises(appell.errors.LoopClosureError, match="is open by"):
            singularity.require_nonsingular(robot.system, "mass_matrix", np.array([q]))


@pytest.mark.parametrize(("factor", "finite"), [(1.01, True), (0.99, False)])
def test_guarded_inverses_on_both_sides(factor, finite):
    """The square of a rest against 1e-10 of the square of its column, which is at least 1e-16."""
    for whole in (4.0, 0.0):
        square = factor * 1e-10 * (whole + 1e-16)
        expected = 1.0 / square if finite else np.inf
        assert guarded_inverse(square, whole) == pytest.approx(expected)
        with np.errstate(divide="ignore"):
            assert abs(guarded_inverse(np.array([square]), np.array([whole])).item()) == pytest.approx(expected)
    assert guarded_inverse(4.0, 4.0, 0.0) == np.inf


def test_elimination_of_sparse_and_tall_columns():
    """Factors: A = Q R with orthogonal columns, ones on the diagonal of R; sparse ones are left as they are."""
    A = np.array([[1.0, 2.0, 0.0], [0.0, 3.0, 0.0], [1.0, -1.0, 0.0], [0.0, 0.0, 2.0]])
    factors = Elimination.of(A.T.tolist())
    Q, R = np.array(factors.q).T, np.array(factors.R) + np.eye(3)
    assert_close(Q @ R, A, tolerance=1e-15)
    assert_close(Q.T @ Q, np.diag(1.0 / np.array(factors.inverses)), tolerance=1e-15, scale=1.0)
    assert R[0, 2] == R[1, 2] == 0.0
    assert_close(subtract_multiple([1.0, 2.0, 3.0], 2.0, [0.5, 0.0, -1.0]), [0.0, 2.0, 5.0])
    assert subtract_multiple([1.0, 2.0], 0.0, [np.inf, np.nan]) == [1.0, 2.0]


def test_singular_configurations_are_found_at_the_bound(monkeypatch):
    robot = built_in("five_bar")
    system, q = robot.system, np.array(robot.reference_configuration)
    monkeypatch.setattr(singularity, "column_sines", lambda K, columns: [0.3] * (len(list(columns)) - 1) + [0.1])
    assert singularity.singularity_at(system, q, bound=0.09) is None
    found = singularity.singularity_at(system, q, bound=0.1)
    assert found is not None
    assert (found.status, found.sine) == ("singular speeds", 0.1)
    model = robot.simulation_model()
    for sine, text in ((0.051, ""), (0.05, "can still move")):
        monkeypatch.setattr(singularity, "column_sines", lambda K, columns, sine=sine: [sine for _ in columns])
        assert text in model.nonfinite_reason(q)
        assert bool(model.nonfinite_reason(q)) == bool(text)


def test_singularities_of_the_actuators_matter_only_if_there_are_enough(monkeypatch):
    robot = built_in("five_bar")
    system, q = robot.system, np.array(robot.reference_configuration)
    sines = iter([1.0, 1.0, 0.0] * 10)
    monkeypatch.setattr(singularity, "column_sines", lambda K, columns: [next(sines) for _ in columns])
    count = len(system.dependent)
    sines = iter([1.0] * count + [1.0, 0.0])
    found = singularity.singularity_at(system, q)
    assert found is not None
    assert found.status == "singular actuators"
    sines = iter([1.0] * count)
    assert singularity.singularity_at(system, q, actuators=False) is None


# --- starts -------------------------------------------------------------------------------------------------------------------


class Starts:
    """Loops that close at the n-th start; starts are recorded as steps from the first one."""

    def __init__(self, n: int) -> None:
        self.n, self.steps = n, []
        self.spanning_tree = SimpleNamespace(
            nv=3, neutral_configuration=lambda: np.zeros(3), integrate=lambda q, v: q + v
        )

    def solve_loop_closure(self, q):
        self.steps.append(q)
        closed = len(self.steps) == self.n
        return SimpleNamespace(closed=closed, q=q.copy() if closed else None)


def test_twenty_random_starts_within_one_radian():
    found = Starts(21)
    assert build._reference(found, None) is not None  # type: ignore[arg-type]
    steps = np.array(found.steps)
    assert steps.shape == (21, 3)
    assert (steps[0] == 0.0).all()
    assert -1.0 <= steps.min() < -0.9 < 0.9 < steps.max() <= 1.0
    failed = Starts(22)
    assert build._reference(failed, [1.0, 2.0, 3.0]) is None  # type: ignore[arg-type]
    assert len(failed.steps) == 21
    assert failed.steps[0].tolist() == [1.0, 2.0, 3.0]
    first = Starts(1)
    build._reference(first, None)  # type: ignore[arg-type]
    assert len(first.steps) == 1


def test_a_singular_start_is_left_by_a_fifth_of_a_radian_to_either_side(monkeypatch):
    """Along the motion that the closures allow; only to a closed configuration of higher rank."""
    K = np.array([[1.0, 0.0], [2.0, 0.0]])
    for good, expected in ((1, 0.2), (2, -0.2), (3, 0.0)):
        asked = []

        def solve(q, asked=asked, good=good):
            asked.append(q)
            return SimpleNamespace(closed=len(asked) == good, q=q)

        monkeypatch.setattr(build, "jacobian_at", lambda system, q: K if not q.any() else np.diag([1.0, 2.0]))
        bare = SimpleNamespace(
            system=None, solve_loop_closure=solve, spanning_tree=SimpleNamespace(integrate=lambda q, v: q + v)
        )
        found = build._regular(bare, np.zeros(2))  # type: ignore[arg-type]
        sign = 1.0 if asked[0][1] > 0 else -1.0
        assert_close(found * sign, [0.0, expected], scale=1.0, tolerance=1e-12)
    monkeypatch.setattr(build, "jacobian_at", lambda system, q: K)
    bare.solve_loop_closure = lambda q: SimpleNamespace(closed=True, q=q)
    assert not build._regular(bare, np.zeros(2)).any()  # type: ignore[arg-type]


def test_random_configurations_are_drawn_around_the_reference(monkeypatch):
    robot = built_in("four_bar")
    drawn = []

    def solve(self, q):
        drawn.append(q - np.array(robot.reference_configuration))
        return SimpleNamespace(best_q=q, closed=np.arange(len(q)) % 3 == 0)

    monkeypatch.setattr(type(robot), "solve_loop_closure", solve)
    assert robot.random_configurations(30, np.random.default_rng(0)).shape == (30, robot.nq)
    assert [len(each) for each in drawn] == [60, 60]
    whole = np.concatenate(drawn)
    assert -0.4 <= whole.min() < -0.38
    assert 0.38 < whole.max() <= 0.4
    drawn.clear()
    assert len(robot.random_configurations(3, np.random.default_rng(0))) == 3
    assert len(drawn) == 2
    drawn.clear()
    open_ = SimpleNamespace(best_q=np.zeros((6, robot.nq)), closed=np.zeros(6, dtype=bool))
    monkeypatch.setattr(type(robot), "solve_loop_closure", lambda self, q: (drawn.append(q), open_)[1])
    with pytest.raises(appell.errors.LoopClosureError, match="0 of 300 configurations"):
        robot.random_configurations(3, np.random.default_rng(0))
    assert len(drawn) == 50


def test_velocities_given_as_independent_must_be_so(monkeypatch):
    """The sine of the dependent columns must be above the bound of the elimination, and their number the rank."""
    robot = built_in("five_bar")
    arguments = robot.spanning_tree, robot.closures, robot.actuated
    names = robot.spanning_tree.qd_names
    options = {"q": np.array(robot.reference_configuration)}
    for sine, good in ((1.1e-5, True), (1e-5, False)):
        monkeypatch.setattr(build, "column_sines", lambda K, columns, sine=sine: [1.0, sine])
        if good:
            found = appell.close_loops(*arguments, independent_velocities=robot.independent_velocities, **options)
            assert found.independent_velocities == robot.independent_velocities
        else:
            with pytest.raises(appell.ModelError, match="2 degrees of freedom"):
                appell.close_loops(*arguments, independent_velocities=robot.independent_velocities, **options)
    with pytest.raises(appell.ModelError, match="are not independent velocities"):
        appell.close_loops(*arguments, independent_velocities=names[:1], **options)


# --- simulation ---------------------------------------------------------------------------------------------------------------


def test_drift_is_removed_by_at_most_eight_steps(monkeypatch):
    model = built_in("four_bar").simulation_model()
    q = np.array(built_in("four_bar").reference_configuration)
    rows, asked = np.eye(built_in("four_bar").system.rows)[0], []
    monkeypatch.setattr(model, "_residual", lambda q: (asked.append(q), rows * 2.0 ** -len(asked))[1])
    model._closed(q)
    assert len(asked) == 9
    asked.clear()
    monkeypatch.setattr(model, "_residual", lambda q: (asked.append(q), 0.5 * rows)[1])
    assert (model._closed(q) == q).all()  # no better: not taken
    assert len(asked) == 2
    for size, steps in ((0.9e-14, 1), (1.1e-14, 2)):
        asked.clear()
        monkeypatch.setattr(model, "_residual", lambda q, size=size: (asked.append(q), -size * rows)[1])
        model._closed(q)
        assert len(asked) == steps


def test_steps_across_singular_configurations(monkeypatch):
    """Determinants of the dependent columns of neighbouring states have one sign; the state after the change is given."""
    robot = built_in("four_bar")
    model = robot.simulation_model()
    n = len(robot.system.dependent)
    signs = np.array([1.0, 1.0, -1.0, -1.0])
    columns = np.zeros((4, n + 1, robot.spanning_tree.nv))  # one row is redundant
    columns[:, :n, list(robot.system.dependent)] = np.eye(n)
    columns[:, 0] *= signs[:, None]
    model.dynamics = SimpleNamespace(closure_jacobian=lambda q, check: columns[np.asarray(q[:, 0], dtype=int)])
    q = np.zeros((4, robot.nq))
    q[:, 0] = np.arange(4)
    rates = np.arange(4.0)[:, None]
    with pytest.raises(appell.SimulationError, match="passed a singular") as caught:
        model.require_regular(q, rates)
    assert caught.value.state.tolist() == [*q[2], 2.0]
    assert_close(model.require_regular(q[:2], rates[:2]), columns[1][:, list(robot.system.dependent)])
    with pytest.raises(appell.SimulationError) as caught:
        model.require_regular(q[2:], rates[2:], columns[0][:, list(robot.system.dependent)])
    assert caught.value.state.tolist() == [*q[2], 2.0]
    assert model.require_regular(q[2:], rates[2:]) is not None
    columns[3] = np.nan
    assert model.require_regular(q[2:], rates[2:]) is None


def test_models_of_spherical_robots_are_free():
    model = appell.load("agile_wrist").simulation_model()
    q, qd = np.array([0.1, 0.2, 0.3]), np.array([1.0, -2.0, 3.0])
    assert model.damping_forces(q, qd).tolist() == [0.0] * 3
    assert model.coordinate_rates(q, qd) is qd
    assert_close(model.integrate(q, qd), q + qd)
    assert model.constraint_error(q, qd) == 0.0
    assert model.joint_friction.damping == model.joint_friction.friction == (0.0,) * 3
    assert simulation_model.NEAR_SINGULAR == 0.05
