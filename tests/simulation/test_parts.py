"""Parts of simulation with known answers: Runge-Kutta steps against SciPy's, roots, reversals, samples of time stepping."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.integrate
from helpers.closeness import assert_close
from helpers.point_masses import PointMasses

import appell
from appell.robot.simulation_model import LimitViolation
from appell.simulation import joint_friction, roots, runge_kutta, time_stepping
from appell.simulation import phase as phases
from appell.simulation.actuation import SampledActuation, actuation_of
from appell.simulation.joint_friction import JointFrictionState
from appell.simulation.phase import Phase
from appell.simulation.plant import Plant
from appell.simulation.records import ContactInterval
from appell.simulation.runge_kutta import EmbeddedSolver, embedded_tableau, stages_by_rate

# --- Runge-Kutta --------------------------------------------------------------------------------------------------------------


class VanDerPol:
    def rate(self, t, y):
        return np.array([y[1], 3.0 * (1.0 - y[0] ** 2) * y[1] - y[0] + np.sin(t)])

    def stages(self, *arguments):
        return stages_by_rate(self.rate, *arguments)


@pytest.mark.parametrize("method", [scipy.integrate.RK23, scipy.integrate.RK45, scipy.integrate.DOP853])
def test_steps_and_interpolants_are_those_of_scipy(method):
    """The same tableaux, error norms and step sizes, with steps that are rejected; the interpolant between them."""
    equations, y = VanDerPol(), np.array([2.0, 0.0])
    options = {"rtol": 1e-6, "atol": 1e-8, "max_step": 0.4, "first_step": 0.3}
    mine = EmbeddedSolver(embedded_tableau(method), equations, 1.0, y, 7.0, **options)
    other = method(equations.rate, 1.0, y, 7.0, **options)
    count = 0
    while other.status == "running":
        other.step()
        assert mine.step() is None
        assert mine.t == pytest.approx(other.t, rel=1e-7)
        assert_close(mine.y, other.y, tolerance=1e-6)
        times = np.linspace(other.t_old, other.t, 5)
        assert_close(mine.dense_output()(times), other.dense_output()(times), tolerance=1e-6)
        count += 1
    assert mine.status == "finished"
    assert mine.t == 7.0
    assert count > 10


class Line:
    """y' = (1, 100) or what is given."""

    def __init__(self, rate):
        self.value = np.array(rate)

    def rate(self, t, y):
        return self.value

    def stages(self, *arguments):
        return stages_by_rate(self.rate, *arguments)


def rk45(model, y: np.ndarray, end: float, max_step: float, first_step: float | None) -> EmbeddedSolver:
    """From time 0, with tolerances 1e-3 and 1e-6."""
    steps = {"max_step": max_step, "first_step": first_step}
    return EmbeddedSolver(embedded_tableau(scipy.integrate.RK45), model, 0.0, y, end, rtol=1e-3, atol=1e-6, **steps)


@pytest.mark.parametrize(
    ("y", "rate", "expected"),
    [
        ([2.0, 2.0], [4.0, 4.0], 0.005),
        ([3.0, 0.0], [0.0, 6.0], 0.01 * 3.0 / (1e-6 + 3e-3) * 1e-6 / 6.0),
        ([0.0, 0.0], [4.0, 4.0], 1e-6),
        ([2.0, 2.0], [0.0, 0.0], 1e-6),
        ([2.0, 2.0], [np.inf, 0.0], 1e-6),
    ],
)
def test_the_first_step_changes_the_state_by_a_hundredth(y, rate, expected):
    """In the norm of the tolerances, 1e-6 + 1e-3 |y|."""
    solver = rk45(Line(rate), np.array(y), 1.0, max_step=1.0, first_step=None)
    assert solver.h == pytest.approx(expected, rel=1e-6)


def test_steps_grow_tenfold_and_end_at_the_end():
    solver = rk45(Line([1.0]), np.zeros(1), 5.0, max_step=2.0, first_step=0.01)
    times = []
    while solver.status == "running":
        solver.step()
        times.append(solver.t)
    assert_close(times, np.array([0.01, 0.11, 1.11, 3.11, 5.0]), tolerance=1e-12)
    assert_close(solver.y, np.array([5.0]), tolerance=1e-12)


def test_a_rate_that_is_not_finite_fails():
    class Wall(VanDerPol):
        def rate(self, t, y):
            return np.array([1.0]) if t <= 0.5 else np.array([np.nan])

    solver = rk45(Wall(), np.zeros(1), 5.0, max_step=2.0, first_step=0.1)
    while solver.status == "running":
        told = solver.step()
    assert solver.status == "failed"
    assert told == "the required step is below the spacing of numbers"
    assert solver.t == pytest.approx(0.5, abs=1e-9)


def test_the_factors_of_the_step_size():
    assert (runge_kutta.SAFETY, runge_kutta.MIN_FACTOR, runge_kutta.MAX_FACTOR) == (0.9, 0.2, 10.0)


# --- roots --------------------------------------------------------------------------------------------------------------------


def test_the_root_where_rounding_hides_the_sign():
    assert roots.root(lambda t: t - 0.3, 0.0, 1.0) == pytest.approx(0.3, abs=1e-14)
    assert roots.root(lambda t: t + 0.1, 0.0, 1.0) == 0.0
    assert roots.root(lambda t: 1.1 - t, 0.0, 1.0) == 1.0
    assert roots.root(lambda t: t, 0.0, 1.0) == 0.0


@pytest.mark.parametrize("threshold", [0.3, 7.0e5])
def test_the_first_time_a_test_holds(threshold):
    found = roots.first_true(lambda t: t >= threshold, 0.0, 1e6)
    assert found >= threshold
    assert found - threshold <= 1e-14 * max(1.0, threshold) * 2.0


def test_the_bound_below_a_gap_that_falls_and_rises():
    """The tangents of (t - 1)² + 0.5 at 0 and 2 meet at t = 1 and -0.5; half of the ends' height is subtracted."""
    gap, rate = np.array([[1.5], [1.5]]), np.array([[-2.0], [2.0]])
    times = np.array([0.0, 2.0])
    assert_close(roots._lower_bounds(gap, rate, times), np.array([[1.5 - 2.0 - 0.75]]))
    lopsided = np.array([[1.0], [0.25]]), np.array([[-1.0], [0.5]])
    meet = (0.25 - 1.0 - 0.5 * 2.0) / (-1.5)
    assert_close(roots._lower_bounds(*lopsided, times), np.array([[1.0 - meet - 0.5]]))
    later = [np.concatenate([[[9.0]], values]) for values in lopsided]
    found = roots._lower_bounds(*later, np.array([-3.0, 0.0, 2.0]))
    assert_close(found[1], np.array([1.0 - meet - 0.5]))
    for gap, rate, expected in (  # tangents that meet early, after the end, and before the start
        ([1.0, 0.5], [-4.0, 1.0], 1.0 - 4.0 * 0.3 - 0.5),
        ([1.0, 0.2], [-0.1, 0.5], 1.0 - 0.1 - 0.5),
        ([1.0, 3.0], [-1.0, 1.5], 1.0 - 1.5),
    ):
        found = roots._lower_bounds(np.array(gap)[:, None], np.array(rate)[:, None], np.array([0.0, 1.0]))
        assert_close(found, np.array([[expected]]), tolerance=1e-14, scale=1.0)
    flat = np.array([[0.4], [0.4]]), np.array([[0.0], [0.0]])
    assert_close(roots._lower_bounds(*flat, times), np.array([[0.2]]))


def gaps_of(*functions):
    """Gaps and their rates of functions with their derivatives."""

    def gaps(times):
        return np.stack([f(times) for f, _ in functions], axis=-1), np.stack(
            [df(times) for _, df in functions], axis=-1
        )

    return gaps


def test_crossings_of_candidates_alone():
    gaps = gaps_of((lambda t: 0.2 - t, lambda t: 0 * t - 1.0), (lambda t: 0.7 - t, lambda t: 0 * t - 1.0))
    assert roots.first_crossing(gaps, 0.0, 1.0, np.array([True, True])) == pytest.approx(0.2, abs=1e-12)
    assert roots.first_crossing(gaps, 0.0, 1.0, np.array([False, True])) == pytest.approx(0.7, abs=1e-12)
    assert roots.first_crossing(gaps, 0.0, 0.6, np.array([False, True])) is None


def test_a_closed_gap_that_rises_first():
    """-1e-13 at the start, up and then down through zero at t = 0.5: the second zero counts, at the floor."""
    gaps = gaps_of((lambda t: t * (0.5 - t) - 1e-13, lambda t: 0.5 - 2.0 * t))
    assert roots.first_crossing(gaps, 0.0, 1.0, np.array([True])) == pytest.approx(0.5, abs=1e-9)


# --- joints with friction -----------------------------------------------------------------------------------------------------


def test_joints_that_move_and_that_are_at_rest():
    friction, qd = np.array([1.0, 1.0, 1.0, 0.0, 1.0]), np.array([2.0, -5e-10, -2e-9, 3.0, 0.0])
    moving, at_rest = joint_friction.moving_joints(friction, qd)
    assert moving.slip_direction.tolist() == [1.0, 0.0, -1.0, 0.0, 0.0]
    assert not moving.sticking.any()
    assert at_rest.tolist() == [1, 4]
    joined = joint_friction.with_joints_at_rest(moving, at_rest, np.array([0.0, -1.0]))
    assert joined.sticking.tolist() == [False, True, False, False, False]
    assert joined.slip_direction.tolist() == [1.0, 0.0, -1.0, 0.0, -1.0]
    assert joined.sticking_indices.tolist() == [1]
    assert joint_friction.with_joints_at_rest(moving, at_rest[:0], np.zeros(0)) is moving


def test_joints_that_friction_stops_within_a_microsecond():
    """Friction 2 N m at (M^-1)_00 = 2/3 1/(kg m²): 4/3e-6 rad/s; joints at rest and without friction do not stop."""
    M = np.array([[2.0, 1.0, 0.0, 0.0], [1.0, 2.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]])
    friction = np.array([2.0, 2.0, 2.0, 0.0])
    stops = joint_friction.stopping_joints(friction, np.array([1.3e-6, -1.4e-6, 9e-10, 1e-9]), M)
    assert stops.tolist() == [True, False, False, False]
    _, at_rest = joint_friction.moving_joints(friction, np.array([1.3e-6, -1.4e-6, 9e-10, 1e-9]), stops)
    assert at_rest.tolist() == [0, 2]


def reversal(*speeds, directions=None):
    """The first reversal of joints with these speeds as functions of time over [1, 2]."""
    directions = np.ones(len(speeds)) if directions is None else np.array(directions)
    step = SimpleNamespace(start=1.0, end=2.0, states=lambda times: np.array([f(times) for f in speeds]))
    joints = JointFrictionState(np.zeros(len(speeds), dtype=bool), directions)
    return joint_friction.first_reversal(joints, step, lambda states: states)  # type: ignore[arg-type]


def test_the_first_joint_that_comes_to_rest():
    assert reversal(lambda t: 1.75 - t, lambda t: 1.4 - t) == pytest.approx(1.4, abs=1e-12)
    assert reversal(lambda t: t - 1.4, lambda t: 1.6 - t, directions=[-1.0, 1.0]) == pytest.approx(1.4, abs=1e-12)
    assert reversal(lambda t: t - 1.4, lambda t: 1.6 - t, directions=[0.0, 1.0]) == pytest.approx(1.6, abs=1e-12)
    assert reversal(lambda t: 1.3 - t, lambda t: 1.26 - t, lambda t: 1.36 - t) == pytest.approx(1.26, abs=1e-12)
    dip = reversal(lambda t: (t - 1.24) * (t - 1.26))  # at the end of the second of eight parts of the step
    assert dip == pytest.approx(1.24, abs=1e-9)
    assert reversal(lambda t: 2.1 - t) is None
    assert reversal(lambda t: 1.4 - t, directions=[0.0]) is None


def test_a_joint_that_starts_from_rest_does_not_reverse_at_once():
    """Rounding below zero at the start is no reversal; a speed that falls below it by 1e-12 is."""
    assert reversal(lambda t: t - 1.0) is None
    assert reversal(lambda t: 0.0 * t) is None
    assert reversal(lambda t: -1e-13 + 0.0 * t) is None
    found = reversal(lambda t: -1e-13 - (t - 1.0))
    assert found == pytest.approx(1.0 + 1e-12, abs=1e-14)


def test_samples_of_a_controller():
    calls = []
    controller = SimpleNamespace(
        initial_memory=lambda t, q, qd: "start",
        step=lambda t, q, qd, memory: (calls.append((t, memory)), (np.array([t]), "later"))[1],
    )
    actuation = SampledActuation(controller, 0.1, 1)  # type: ignore[arg-type]
    assert actuation.held
    assert actuation.next_sample == 0.0
    for k in range(3):
        actuation.sample(0.1 * k, np.zeros(1), np.zeros(1))
        assert actuation.next_sample == (k + 1) * 0.1
        assert actuation.desired_tau(9.0, np.zeros(1), np.zeros(1)).tolist() == [0.1 * k]
    assert [memory for _, memory in calls] == ["start", "later", "later"]


# --- time stepping ------------------------------------------------------------------------------------------------------------


def test_mean_accelerations():
    """Those of the step before; at the start those of the first step, on both sides of an impact those before it."""
    t, qd = np.array([0.0, 0.1, 0.3, 0.3, 0.4]), np.array([[0.0], [1.0], [2.0], [-2.0], [-1.0]])

    def accelerations(t, qd):
        return time_stepping._mean_accelerations(t, qd)[time_stepping._step_ends(t)]

    assert_close(accelerations(t, qd), np.array([[10.0], [10.0], [5.0], [5.0], [10.0]]), tolerance=1e-12)
    assert_close(accelerations(t[:1], qd[:1]), np.zeros((1, 1)), scale=1.0)
    t, qd = np.array([0.0, 0.0, 0.0, 0.2]), np.array([[7.0], [3.0], [1.0], [2.0]])
    assert_close(accelerations(t, qd), np.full((4, 1), 5.0), tolerance=1e-12)


STEPPER = SimpleNamespace(points=("a", "b"))


def test_forces_and_intervals_of_points():
    """Rows (sample, contact, force): contacts 0 to 3 are the points a and b on two surfaces."""
    rows = np.array([[1, 0, 1, 0, 0], [1, 2, 0, 2, 0], [2, 0, 3, 0, 0], [5, 0, 4, 0, 0], [2, 3, 0, 0, 5]], dtype=float)
    forces = time_stepping._forces(STEPPER, rows, 7)  # type: ignore[arg-type]
    assert set(forces) == {"a", "b"}
    assert forces["a"].tolist() == [[0, 0, 0], [1, 2, 0], [3, 0, 0], [0, 0, 0], [0, 0, 0], [4, 0, 0], [0, 0, 0]]
    assert forces["b"][2].tolist() == [0, 0, 5]
    t = 0.1 * np.arange(7)
    found = time_stepping._intervals(STEPPER, t, rows, 0.1)  # type: ignore[arg-type]
    assert [(each.point, each.surface) for each in found] == [("a", 0), ("a", 1), ("b", 1), ("a", 0)]
    assert_close([each.start for each in found], np.array([0.0, 0.0, 0.1, 0.4]), tolerance=1e-12)
    assert_close([each.end for each in found], np.array([0.2, 0.1, 0.2, 0.5]), tolerance=1e-12)
    for gap, pieces in ((1.4, 1), (1.6, 2)):
        times = np.array([0.0, 0.1, 0.1 + 0.1 * gap])
        two = np.array([[1, 0, 1, 0, 0], [2, 0, 1, 0, 0]], dtype=float)
        assert len(time_stepping._intervals(STEPPER, times, two, 0.1)) == pieces  # type: ignore[arg-type]


def test_parts_of_a_run_are_joined():
    def part(t, work, force):
        n = len(t)
        arrays = {name: np.full((n, 1), float(n)) for name in ("q", "qd", "qdd", "tau", "saturated")}
        return {
            **arrays,
            "t": np.array(t),
            "work": np.array(work),
            "impacts": (n,),
            "contacts": (),
            "limit_violations": (),
            "contact_forces": force,
        }

    first = part([0.0, 1.0], [[0.0, 0.0, 0.0], [1.0, 2.0, 3.0]], {"a": np.ones((2, 3))})
    second = part([1.0, 2.0, 3.0], [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [2.0, 0.0, 0.0]], {"b": np.ones((3, 3))})
    last = SimpleNamespace(t=1.0, work=np.array([1.0, 2.0, 3.0]))
    found = time_stepping.joined(first, second, last)  # type: ignore[arg-type]
    assert found["t"].tolist() == [0.0, 1.0, 2.0, 3.0]
    assert found["work"][1:].tolist() == [[1.0, 2.0, 3.0], [2.0, 2.0, 3.0], [3.0, 2.0, 3.0]]
    assert found["impacts"] == (2, 3)
    assert found["contact_forces"]["a"].sum(axis=1).tolist() == [3.0, 3.0, 0.0, 0.0]
    assert found["contact_forces"]["b"].sum(axis=1).tolist() == [0.0, 0.0, 3.0, 3.0]
    second["t"] = np.array([1.5, 2.0, 3.0])
    assert time_stepping.joined(first, second, last)["t"].tolist() == [0.0, 1.0, 1.5, 2.0, 3.0]  # type: ignore[arg-type]


def test_intervals_of_two_parts_that_meet_are_one():
    def interval(point, surface, start, end):
        return ContactInterval(point, surface, start, end)

    first = (
        interval("a", 0, 0.0, 0.5),
        interval("a", 0, 0.7, 1.0),
        interval("b", 0, 0.2, 1.0),
        interval("c", 0, 0.3, 0.9),
    )
    second = (
        interval("a", 0, 1.0, 2.0),
        interval("b", 1, 1.0, 3.0),
        interval("c", 0, 1.0, 1.5),
        interval("a", 0, 2.5, 3.0),
    )
    assert time_stepping._joined_intervals(first, second, 1.0) == (
        interval("a", 0, 0.0, 0.5), interval("b", 0, 0.2, 1.0), interval("c", 0, 0.3, 0.9), interval("a", 0, 0.7, 2.0),
        interval("b", 1, 1.0, 3.0), interval("c", 0, 1.0, 1.5), interval("a", 0, 2.5, 3.0),
    )  # fmt: skip
    limits = [LimitViolation("x", "position", "upper", *values) for values in ((0.5, 1.0, 0.2), (1.0, 2.0, 0.1))]
    (found,) = time_stepping._joined_intervals(limits[:1], limits[1:], 1.0)
    assert found == LimitViolation("x", "position", "upper", 0.5, 2.0, 0.2)


def sliders():
    builder = appell.RobotBuilder("sliders", gravity=(0.0, 0.0, 0.0)).body("base")
    for name, axis, limits in (("x", "x", (-1.0, 1.0)), ("y", "y", (-2.0, 0.5)), ("z", "z", (-0.3, 3.0))):
        builder.body(name, 1.0, inertia=(0.1, 0.1, 0.1))
        builder.prismatic(f"j{name}", {"x": "base", "y": "x", "z": "y"}[name], name, axis=axis, limits=limits)
    return builder.build()


@pytest.mark.parametrize(
    ("q", "name", "told"),
    [
        ([0.0, 0.7, 0.0], "jy", r"'jy' .*0\.2 beyond its upper limit"),
        ([0.0, 0.0, -0.4], "jz", r"'jz' .*0\.1 beyond its lower limit"),
        ([-1.5, 0.0, 0.0], "jx", r"'jx' .*0\.5 beyond its lower limit"),
    ],
)
@pytest.mark.parametrize("method", ["moreau", "DOP853", "rk4", "auto"])
def test_the_joint_and_the_limit_at_a_wrong_start_are_named(q, name, told, method):
    with pytest.raises(appell.SimulationError, match=told) as error:
        appell.simulate(sliders(), q, [0.0, 0.0, 0.0], 0.1, method=method, limits="stop")
    assert error.value.time == 0.0
    assert error.value.quantity == name
    appell.simulate(sliders(), [0.0, 0.5, -0.3], [0.0, 0.0, 0.0], 0.01, method=method, limits="stop")
    floor = appell.surfaces.Plane(point=(0.0, 0.0, -9.0))
    with pytest.raises(appell.SimulationError, match=told):
        appell.simulate(sliders(), q, [0.0, 0.0, 0.0], 0.1, method=method, limits="stop", surfaces=floor)


def test_held_forces_and_samples_of_time_stepping():
    """A constant force in steps of 0.03 s to 0.1 s: the last step ends there; velocities are those of constant acceleration."""
    motion = appell.simulate(
        sliders(),
        [0.0, 0.0, 0.0],
        [0.0, 0.0, 0.0],
        0.1,
        tau=[3.0, 0.0, 0.0],
        method=appell.Integration("moreau", dt=0.03),
    )
    assert motion.t[0] == 0.0
    assert motion.t[-1] == pytest.approx(0.1, abs=1e-15)
    assert len(motion.t) == 5
    assert_close(motion.qd[:, 0], motion.t, tolerance=1e-9)
    assert_close(motion.qdd[:, 0], np.ones(5), tolerance=1e-9)
    assert_close(motion.tau, np.tile([3.0, 0.0, 0.0], (5, 1)))
    assert motion.work.actuators[-1] == pytest.approx(0.5 * 3.0 * 0.01, rel=1e-9)
    given = appell.simulate(
        sliders(),
        [0.0, 0.0, 0.0],
        [0.0, 0.0, 0.0],
        0.1,
        tau=[3.0, 0.0, 0.0],
        method=appell.Integration("moreau", dt=0.03),
        t_eval=[0.0, 0.04, 0.09, 0.1],
    )
    assert given.t.tolist() == [0.0, 0.04, 0.09, 0.1]
    assert_close(given.qd[:, 0], given.t, tolerance=1e-9)


def test_limits_that_samples_pass():
    motion = appell.simulate(
        sliders(), [0.99, 0.0, 0.0], [1.0, 0.0, 0.0], 0.1, method=appell.Integration("moreau", dt=0.01)
    )
    (violation,) = motion.limit_violations
    assert violation.name == "jx"
    assert violation.start == pytest.approx(0.02, abs=0.011)
    assert violation.end == pytest.approx(0.1)


def test_fixed_steps_are_whole_to_the_end():
    """Short steps, also where the duration is none of their multiples."""
    for duration, count in ((3e-3, 30), (3.05e-3, 31)):
        motion = appell.simulate(
            sliders(), [0.0] * 3, [1.0, 0.0, 0.0], duration, method=appell.Integration("rk4", dt=1e-4)
        )
        assert len(motion.t) == count + 1
        assert_close(motion.t[:-1], 1e-4 * np.arange(count), tolerance=1e-9)
        assert motion.t[-1] == duration


@pytest.mark.parametrize(
    ("speed", "rate", "found"), [(4.2, 2.0, None), (3.8, 2.0, 1.0), (-4.2, 2.0, 1.0), (4.2, 2.2, 1.0)]
)
def test_the_interpolant_is_used_where_a_joint_may_stop_within_a_step(monkeypatch, speed, rate, found):
    """Twice the larger of both accelerations would stop it; step of 1 s. Joints without friction do not matter."""
    plant = Plant(
        PointMasses([1.0, 1.0], [0.0, 0.0]), actuation_of(2, None, None, np.zeros(2), np.zeros(2)), None, False
    )
    monkeypatch.setattr(phases, "first_reversal", lambda *_: 1.0)
    y = np.array([0.0, 0.0, 0.0, speed])
    step = SimpleNamespace(start=1.0, end=2.0, initial=y, final=2.0 * y)
    step.end_rates = np.array([0.0, 0.0, 9.0, 0.5]), np.array([0.0, 0.0, 9.0, -rate])
    phase = Phase(plant, JointFrictionState(np.zeros(2, dtype=bool), np.array([0.0, 1.0])))
    assert phase._first_stop(step) == found
    step.end_rates = None
    assert phase._first_stop(step) == 1.0
