"""Rules of one step, the division of fixed steps, and Runge-Kutta solvers at their limits, against formulas."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.integrate
from helpers.closeness import assert_close
from helpers.point_masses import PointMasses

from appell.algorithms.runge_kutta import rk4_step
from appell.simulation import integrators, roots
from appell.simulation.actuation import actuation_of
from appell.simulation.integrators import METHODS, FixedStepSolver, Integration, NotConverged, PhaseEquations
from appell.simulation.joint_friction import frictionless
from appell.simulation.phase import Phase
from appell.simulation.plant import Plant
from appell.simulation.runge_kutta import EmbeddedSolver, embedded_tableau, stages_by_rate

START = np.array([0.3, 0.7, 1.0, 2.0, 3.0])


def equations_of(force, mass=2.0, tracks_work=True):
    """Of one mass under a force of (t, q, qd)."""
    plant = Plant(PointMasses([mass]), actuation_of(1, force, None, np.zeros(1), np.zeros(1)), None, tracks_work)
    return PhaseEquations(plant, Phase(plant, frictionless(1)))


def spring(t, q, qd):
    return [np.sin(3.0 * t) - 4.0 * q[0] - 0.5 * qd[0] * abs(qd[0])]


def one_step(name, equations, t=0.5, y=START, h=0.1):
    return METHODS[name].rule(equations, t, y, h, lambda: equations.rate(t, y))


# --- rules --------------------------------------------------------------------------------------------------------------------


def test_the_classical_rule():
    equations = equations_of(spring)
    expected = rk4_step(lambda x, y: equations.rate(0.5 + 0.1 * x, y), START, 0.1)
    assert_close(one_step("rk4", equations), expected, tolerance=1e-15)


def test_the_semi_implicit_rule():
    """qd⁺ = qd + h a, q⁺ = q + h qd⁺; the works of the force from the rates at the start."""
    force = spring(0.5, START[:1], START[1:2])[0]
    qd = 0.7 + 0.1 * force / 2.0
    expected = np.array([0.3 + 0.1 * qd, qd, 1.0 + 0.1 * force * 0.7, 2.0, 3.0])
    assert_close(one_step("semi_implicit_euler", equations_of(spring)), expected, tolerance=1e-15)


def test_the_midpoint_rule():
    """qd⁺ = qd + h a(t + h/2, q_m, v) and q⁺ = q + h v with the means q_m and v of both ends."""
    y = one_step("midpoint", equations_of(spring))
    v, q = 0.5 * (0.7 + y[1]), 0.3 + 0.05 * 0.5 * (0.7 + y[1])
    force = spring(0.55, [q], [v])[0]
    assert_close(
        y, np.array([0.3 + 0.1 * v, 0.7 + 0.1 * force / 2.0, 1.0 + 0.1 * force * v, 2.0, 3.0]), tolerance=1e-14
    )


def test_the_iterations_of_the_midpoint_rule():
    """A damper of 2 r m/h changes v by the factor -r: 1e-13 takes 30/ln(1/r) iterations, of which there are 60."""
    for r, converges in ((0.55, True), (0.67, False)):
        equations = equations_of(lambda t, q, qd, r=r: -40.0 * r * qd)
        if converges:
            y = one_step("midpoint", equations)
            assert y[1] == pytest.approx(0.7 * (1.0 - r) / (1.0 + r), rel=1e-12)
        else:
            with pytest.raises(NotConverged, match=r"the implicit step of 0\.1 s does not converge"):
                one_step("midpoint", equations)
    still = one_step("midpoint", equations_of(lambda t, q, qd: [0.0]), y=np.zeros(5))
    assert still.tolist() == [0.0] * 5
    bad = one_step("midpoint", equations_of(lambda t, q, qd: [np.nan]))
    assert not np.isfinite(bad).all()


def test_compiled_motions_are_used_where_they_succeed():
    equations = equations_of([6.0])
    y, A = np.zeros(5), np.zeros((3, 3))

    def equations_with(works):
        motion = SimpleNamespace(
            rate=lambda y, tau, out: (out.__setitem__(slice(None), 10.0 * tau[0]), works)[1],
            stages=lambda y, tau, A, K, h, done: (K.__setitem__(slice(done, None), h * tau[0]), works)[1],
        )
        phase = SimpleNamespace(motion=motion, derivative=equations.phase.derivative)
        return PhaseEquations(equations.plant, phase)

    assert equations_with(True).rate(0.0, y).tolist() == [60.0] * 5
    assert equations_with(False).rate(0.0, y).tolist() == [0.0, 3.0, 0.0, 0.0, 0.0]
    for done in (1, 2):
        good = equations_with(True).stages(0.0, y, np.ones(5), 0.5, A, np.zeros(3), done)
        assert good[:, 0].tolist() == [1.0] * done + [3.0] * (3 - done)
        bad = equations_with(False).stages(0.0, y, np.ones(5), 0.5, A, np.zeros(3), done)
        assert np.isnan(bad[:, 0]).tolist() == [False] * done + [True] * (3 - done)
    default = equations_with(True).stages(0.0, y, np.ones(5), 0.5, A, np.zeros(3))
    assert default[:, 0].tolist() == [1.0, 3.0, 3.0]
    free = equations_of([6.0], tracks_work=False)
    assert free.rate(0.0, np.zeros(2)).tolist() == [0.0, 3.0]
    assert stages_by_rate(
        lambda t, y: np.array([t + y[0]]), 1.0, np.ones(1), np.full(1, 5.0), 0.5, np.tri(3, k=-1), np.array([0, 0.5, 1])
    ).ravel().tolist() == [5.0, 1.25 + 3.5, 1.5 + 1.0 + 0.5 * 9.75]


# --- fixed steps --------------------------------------------------------------------------------------------------------------


def fixed(rule, equations, t=0.0, end=1.0, dt=0.25, tol=1e-3, h=9.0, y=START):
    return FixedStepSolver(rule, equations, t, y, end, dt, tol, h)


@pytest.mark.parametrize(
    ("t", "end", "following", "status"),
    [
        (0.0, 1.0, 0.25, "running"),
        (0.25, 1.0, 0.5, "running"),
        (0.3, 1.0, 0.5, "running"),
        (0.25 * (1.0 - 1e-7), 1.0, 0.5, "running"),
        (0.25 * (1.0 - 1e-3), 1.0, 0.25, "running"),
        (0.75, 1.0, 1.0, "finished"),
        (0.75, 1.0 + 1e-8, 1.0 + 1e-8, "finished"),
        (0.75, 1.0 + 1e-3, 1.0, "running"),
        (0.75, 0.9, 0.9, "finished"),
    ],
)
def test_fixed_steps_end_at_multiples_and_at_the_end(t, end, following, status):
    solver = fixed(None, None, t, end)
    assert solver.h == 0.25
    assert solver._next_time() == pytest.approx(following, abs=1e-15)
    assert solver.status == status


@pytest.mark.parametrize(
    ("h", "following"), [(0.1, 0.4), (0.2 * (1.0 - 1e-7), 0.5), (0.2 * (1.0 - 1e-3), 0.4998), (9.0, 0.5)]
)
def test_divided_steps_end_at_multiples(h, following):
    assert fixed(None, None, 0.3, h=h)._next_time() == pytest.approx(following, abs=1e-12)


class Dividing(FixedStepSolver):
    """Steps with these errors, one after the other."""

    errors: list

    def _error(self):
        return self.errors.pop(0)


def divided(*errors, h=9.0, fails=0):
    """Time and next length after a step of 1 s with these errors, the first of which fail altogether."""
    left = [fails]

    def rule(equations, t, y, h, start):
        left[0] -= 1
        if left[0] >= 0:
            raise NotConverged("reason")
        return y + h

    equations = SimpleNamespace(phase=SimpleNamespace(slips=True))
    solver = Dividing(rule, equations, 3.0, np.zeros(1), 9.0, 1.0, 1e-3, h)
    solver.errors = list(errors)
    message = solver.step()
    assert solver.y.tolist() == [solver.t - 3.0]
    assert not solver.errors
    return solver.t - 3.0, solver.h, message


def test_steps_are_divided_until_their_error_is_small():
    assert divided(1.0) == (1.0, 1.0, None)
    assert divided(1.01, 1.0) == (0.5, 0.5, None)
    assert divided(9.0, 9.0, 0.5) == (0.25, 0.25, None)
    assert divided(0.03, h=0.25) == (0.25, 0.5, None)  # below 1/32 it grows
    assert divided(1.0 / 32.0, h=0.25) == (0.25, 0.25, None)
    assert divided(0.0, h=0.75) == (0.75, 1.0, None)
    assert divided(0.5, fails=2) == (0.25, 0.25, None)
    assert divided(*[9.0] * 15) == (2.0**-14, 2.0**-14, None)  # the first below 1e-4 of the step


def cubic_solver(wrong=0.0, tol=1e-3, work=0.0, y=(0.0, 0.2, 0.0, 0.0, 0.0), t=1.0):
    """After a step of 1 s under the acceleration 4 t³, whose velocity is wrong by this."""

    def rule(equations, t, y, h, start):
        return y + np.array([0.0, (t + h) ** 4 - t**4 + wrong, 0.0, 0.0, work])

    solver = fixed(rule, equations_of(lambda t, q, qd: [8.0 * t**3]), t, 9.0, 1.0, tol, y=np.array(y))
    solver.step()
    return solver


def test_the_error_of_a_step_is_that_of_simpsons_rule():
    """Which is exact for cubics; relative to the largest velocity, at least 1."""
    assert cubic_solver()._error() < 1e-10
    assert cubic_solver(0.01)._error() == pytest.approx(0.01 / (1e-3 * 15.21), rel=1e-9)
    assert cubic_solver(-0.01, tol=1e-2)._error() == pytest.approx(0.01 / (1e-2 * 15.19), rel=1e-9)
    assert cubic_solver(0.01, y=[0.0, -1.2, 0.0, 0.0, 0.0], t=0.0)._error() == pytest.approx(0.01 / 1e-3, rel=1e-9)
    assert cubic_solver(np.nan, y=[0.0] * 5).status == "failed"
    assert cubic_solver(work=1.1e-11)._error() == math.inf
    assert cubic_solver(work=0.9e-11)._error() < 1e-10
    assert cubic_solver(work=-1.0)._error() < 1e-10


def test_states_within_a_fixed_step_are_cubic():
    """Exact for q = t³ and its rate; a shorter step is made again from its start."""

    def rule(equations, t, y, h, start):
        return np.array([(t + h) ** 3])

    solver = fixed(
        rule,
        SimpleNamespace(rate=lambda t, y: np.array([3.0 * t**2]), phase=SimpleNamespace(slips=False)),
        0.5,
        4.0,
        1.0,
        y=np.array([0.125]),
    )
    assert solver.step() is None
    assert (solver.t_old, solver.t) == (0.5, 1.0)
    times = np.array([0.5, 0.6, 0.75, 0.9, 1.0])
    assert_close(solver.dense_output()(times), times[None] ** 3, tolerance=1e-14)
    assert solver.dense_output()(0.75).shape == (1,)
    solver.status = "finished"
    assert solver.shorten(0.8) is None
    assert (solver.t_old, solver.t, solver.status) == (0.5, 0.8, "running")
    assert_close(solver.dense_output()(times[:3]), times[None, :3] ** 3, tolerance=1e-14)
    solver.step()
    assert (solver.t_old, solver.t) == (0.8, 1.0)


def test_solvers_of_methods():
    equations = equations_of([0.0])

    def started(name, first=None, t=0.5, **options):
        return METHODS[name].start(equations, t, START, 1.0, Integration(name, **options), first)

    rk4, euler, middle = (started(name, dt=0.02) for name in ("rk4", "semi_implicit_euler", "midpoint"))
    assert [solver.tol for solver in (rk4, euler, middle)] == pytest.approx([0.2**4, 0.2, 0.2**2])
    assert (rk4.dt, rk4.h, rk4.t, rk4.end) == (0.02, 0.02, 0.5, 1.0)
    assert started("rk4", 0.005, dt=0.02).h == 0.005
    assert started("rk4").dt == 1e-3
    assert started("rk4").tol == pytest.approx(1e-8)
    solver = started("DOP853", 0.1, rtol=1e-5, max_step=0.3)
    assert (solver.rtol, solver.atol, solver.h, solver.max_step) == (1e-5, 1e-5, 0.1, 0.3)
    assert started("DOP853", 0.7).h == 0.5
    assert started("RK45", 0.1, atol=1e-7).atol == 1e-7
    assert started("RK45", 0.1, atol=0.0).atol == 1e-20
    assert isinstance(started("Radau", 0.1), scipy.integrate.Radau)
    assert {name: method.order for name, method in METHODS.items()} == {
        "DOP853": 8, "RK45": 5, "RK23": 3, "Radau": 5, "BDF": None, "LSODA": None,
        "semi_implicit_euler": 1, "rk4": 4, "midpoint": 2, "moreau": 2,
    }  # fmt: skip
    assert [name for name, method in METHODS.items() if method.fixed] == [
        "semi_implicit_euler",
        "rk4",
        "midpoint",
        "moreau",
    ]
    assert integrators.method_named("AUTO") is METHODS["DOP853"]


# --- Runge-Kutta --------------------------------------------------------------------------------------------------------------


class Rate:
    def __init__(self, rate):
        self.rate = rate

    def stages(self, *arguments):
        return stages_by_rate(self.rate, *arguments)


def embedded(
    method=scipy.integrate.RK45,
    rate=None,
    t=0.0,
    y=(0.0,),
    end=1.0,
    rtol=1e-3,
    atol=1e-6,
    max_step=np.inf,
    first_step=0.1,
):
    rate = (lambda t, y: np.ones(len(y))) if rate is None else rate
    return EmbeddedSolver(
        embedded_tableau(method),
        Rate(rate),
        t,
        np.array(y),
        end,
        rtol=rtol,
        atol=atol,
        max_step=max_step,
        first_step=first_step,
    )


def test_sizes_of_local_errors():
    """The root of the mean square of h E K / scale; of DOP853 e5² / √(e5² + e3²/100) with both estimates."""
    rng = np.random.default_rng(0)
    scale, h = np.array([0.5, 2.0]), 0.3
    single = embedded_tableau(scipy.integrate.RK45)
    K = rng.normal(size=(7, 2))
    assert single.error(K, h, scale) == pytest.approx(np.sqrt(np.mean((h * scipy.integrate.RK45.E @ K / scale) ** 2)))
    double = embedded_tableau(scipy.integrate.DOP853)
    K = rng.normal(size=(13, 2))
    fine, coarse = (np.linalg.norm(E @ (K / scale)) for E in (scipy.integrate.DOP853.E5, scipy.integrate.DOP853.E3))
    assert double.error(K, h, scale) == pytest.approx(h * fine**2 / np.sqrt((fine**2 + 0.01 * coarse**2) * 2))
    assert double.error(np.zeros((13, 2)), h, scale) == 0.0
    K = np.zeros((13, 2))  # the coarser estimate alone: its column where the finer one vanishes
    places = np.flatnonzero((scipy.integrate.DOP853.E3 != 0.0) & (scipy.integrate.DOP853.E5 == 0.0))
    K[places[:1]] = 1.0
    assert double.error(K, h, scale) == 0.0


@pytest.mark.parametrize(
    ("y", "rate", "expected"),
    [
        (1.1e-11, 1.0, 0.01 * 1.1e-11),
        (0.9e-11, 1.0, 1e-6),
        (1e-9, 1.0, 1e-11),
        (1.0, 1.1e-8, 0.01 / 1.1e-8),
        (1.0, 0.9e-8, 1e-6),
        (1.0, 1e-6, 1e4),
    ],
)
def test_first_steps_of_states_near_zero_and_at_rest(y, rate, expected):
    """Sizes up to 1e-5 in units of the tolerance, 1e-6 + 1e-3 |y|, are none."""
    solver = embedded(rate=lambda t, y: np.array([rate]), y=(y,), first_step=None)
    assert solver.h == pytest.approx(expected, rel=1e-4)


def test_steps_are_at_least_ten_spacings_of_numbers():
    eps = np.finfo(float).eps
    solver = embedded(t=1.0, end=2.0, first_step=1e-17)
    solver.step()
    assert solver.t - 1.0 == 10.0 * eps
    assert embedded(rtol=1e-16).rtol == embedded(rtol=0.0).rtol == 100.0 * eps
    assert embedded(rtol=1e-13).rtol == 1e-13


def test_a_step_as_long_as_the_rest_is_the_last():
    solver = embedded(end=0.5, first_step=0.5)
    solver.step()
    assert (solver.t, solver.status) == (0.5, "finished")
    short = embedded(end=0.5, first_step=0.4)
    short.step()
    assert (short.t, short.status) == (0.4, "running")


def test_rejected_steps_do_not_grow_again_at_once():
    """Their next step is at most as long; steps shrink to a fifth at most, and to a tenth where they are not finite."""
    lengths = []

    def rate(t, y):
        lengths.append(t)
        return np.array([np.exp(60.0 * t)])

    solver = embedded(rate=rate, end=9.0, first_step=1.0)
    solver.step()
    taken = solver.t
    assert solver.h <= taken
    tries = [t for t in lengths if t > 0.0]
    assert max(tries) == 1.0
    assert min(abs(t - 0.2) for t in tries) < 1e-12
    wall = embedded(rate=lambda t, y: np.array([0.0 if t < 0.05 else np.inf]), end=9.0, first_step=1.0)
    with np.errstate(invalid="ignore"):
        wall.step()
    assert wall.t == pytest.approx(0.01)
    assert wall.h == pytest.approx(0.01)


# --- roots --------------------------------------------------------------------------------------------------------------------


def crossing(gap, rate):
    """The first crossing within [0, 1] and the number of evaluations."""
    calls = []

    def gaps(times):
        calls.append(times)
        return gap(times)[:, None], rate(times)[:, None]

    return roots.first_crossing(gaps, 0.0, 1.0, np.array([True])), len(calls)


def test_gaps_that_stay_open_cost_one_evaluation():
    assert crossing(lambda t: 0.1 + t, lambda t: 1.0 + 0.0 * t) == (None, 1)
    assert crossing(lambda t: 1.1 - t, lambda t: -1.0 + 0.0 * t) == (None, 1)
    assert crossing(lambda t: 0.1 + 0.0 * t, lambda t: 0.0 * t) == (None, 1)
    assert crossing(lambda t: 0.4 + (t - 0.55) ** 2, lambda t: 2.0 * (t - 0.55)) == (None, 1)
    assert crossing(lambda t: 0.4 - (t - 0.55) ** 2, lambda t: -2.0 * (t - 0.55)) == (None, 1)
    found, calls = crossing(lambda t: 1e-4 + (t - 0.55) ** 2, lambda t: 2.0 * (t - 0.55))
    assert found is None
    assert calls > 1


def test_closed_gaps_close_again_below_their_start():
    """Closed at the start by up to 1e-12 m: the floor is as much deeper; deeper ones must sink by more than that."""
    depth = roots.GRAZING_DEPTH
    for start in (0.0, -1e-13, -1e-6):
        found, _ = crossing(lambda t, start=start: start - 1e-3 * t, lambda t: -1e-3 + 0.0 * t)
        assert found == pytest.approx(depth / 1e-3, rel=1e-3)
        assert crossing(lambda t, start=start: start - 0.9e-12 * t, lambda t: -0.9e-12 + 0.0 * t)[0] is None
        assert crossing(lambda t, start=start: start + 1e-3 * t, lambda t: 1e-3 + 0.0 * t)[0] is None
    assert crossing(lambda t: 2e-12 - 1e-3 * t, lambda t: -1e-3 + 0.0 * t)[0] == pytest.approx(2e-9, abs=1e-12)
    assert depth == 1e-12


def test_zeros_are_found_to_1e_14_and_of_long_runs_relative_to_the_time():
    assert abs(roots.root(lambda t: (t - 0.3) * (t + 5.0) ** 2, 0.0, 1.0) - 0.3) <= 2e-14
    assert roots.root(lambda t: math.nan if 0.4 < t < 0.9 else t - 0.3 if t < 0.5 else 1.0, 0.0, 1.0) == pytest.approx(
        0.3, abs=1e-13
    )
    assert roots.root(lambda t: 1.0 - 3.0 * t if t < 1.0 else -2.0, 0.0, 1.0) == pytest.approx(1.0 / 3.0, abs=1e-13)
    calls = []
    found = roots.first_true(lambda t: (calls.append(t), t >= 0.3)[1], 0.0, 1.0)
    assert 0.3 <= found <= 0.3 + 1e-14
    assert len(calls) == 48  # the start, and 2^-47 < 1e-14
    calls.clear()
    assert roots.first_true(lambda t: (calls.append(t), t != 0.5)[1], 0.25, 1.0) == 0.25
    assert calls == [0.25]  # holds at the start
