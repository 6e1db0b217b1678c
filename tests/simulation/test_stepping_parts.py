"""Runs of time stepping around the compiled steps, which are those of masses under constant acceleration here."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
from helpers.closeness import assert_close
from helpers.point_masses import PointMasses

import appell
from appell.progress import Progress
from appell.simulation.actuation import SampledActuation, actuation_of
from appell.simulation.contact.stepper import SteppedState
from appell.simulation.event_detector import EventDetector
from appell.simulation.linear_step import LinearStep, StateAtTime
from appell.simulation.plant import Plant
from appell.simulation.time_stepping import TimeSteppingRun


class Native:
    """Steps of one mass of 2 kg; `script` has (steps, status, left, rows) of calls that end early or have forces."""

    def __init__(self, script=()):
        self.script, self.calls, self.q, self.qd, self.done = list(script), [], 0.0, 0.0, 0
        self.energy, self.energy_before, self.failures = 3.0, 5.0, 0
        self.steps, self.impacts, self.worst_residual = 90, 10, 2e-5

    def start(self, q, qd):
        self.q, self.qd = q[0], qd[0]

    def run(self, tau, dt, n, q, qd, work, rows):
        assert rows.shape[0] >= 4 + 16 * n
        assert rows.shape[1] == 5
        count, status, left, found = self.script.pop(0) if self.script else (n, 0, 0.0, [])
        self.calls.append((float(tau[0]), dt, n))
        for k in range(count):
            self.q += dt * (self.qd + 0.5 * dt * tau[0] / 2.0)
            self.qd += dt * tau[0] / 2.0
            self.done += 1
            q[k], qd[k], work[k] = self.q, self.qd, (self.done, 10.0 * self.done, 100.0 * self.done)
        rows[: len(found)] = np.array(found, dtype=float).reshape(-1, 5)
        return count, status, left, len(found)


VECTORS = {
    "q": [7.0], "qd_before": [-3.0], "qd": [2.0], "work": [1.0, 2.0, 30.0],
    "impulses": [[0, 0, 0], [3, 0, 4], [0, 0, 0], [0, 2, 0]],
    "gaps": [[0, 0, 0, 0, 1], [0, 1.5, 0, 0, 1], [0, 0, 0, 0, 1], [0, 0.5, 0, 1, 0], [0] * 5, [0] * 5],
    "rates_before": [0.0, -3.0, 0.0, -2.0, 0.0, 0.0], "velocities_before": [[9, 9, 9], [0, 4, 3]],
}  # fmt: skip


def stepped(q, qd, tau, h, warm):
    """The mass after a step on its own, with the work of one whole step and a force on point a."""
    forces = np.array([[0.0, 0.0, 0.0, 0.0, 20.0 * h]])
    return SteppedState(q + h * (qd + 0.5 * h * tau / 2.0), qd + h * tau / 2.0, np.array([1.0, 10.0, 100.0]), forces)


def run_of(native=None, tau=(4.0,), dt=0.25, events=(), period=None, model=None):
    """Points a and b on two surfaces, and stops of a joint."""
    model = PointMasses([2.0]) if model is None else model
    actuation = actuation_of(1, tau, None, np.zeros(1), np.zeros(1))
    if period is not None:
        controller = SimpleNamespace(initial_memory=lambda *_: None, step=lambda t, q, qd, memory: ([1.0 + t], memory))
        actuation = SampledActuation(controller, period, 1)
    plant = Plant(model, actuation, None, True)
    stepper = SimpleNamespace(
        native=Native() if native is None else native, points=("a", "b"), surfaces=("floor", "wall"), contacts=4,
        all_contacts=6, limited=("x",),
        step=stepped, vector=lambda name, *shape: np.array(VECTORS[name], dtype=float).reshape(shape),
    )  # fmt: skip
    run = TimeSteppingRun(plant, stepper, dt, EventDetector(plant, events), Progress("masses", 1.0, False))
    run._require_no_penetration = lambda *_: None
    return run


def steps_of(duration, start=0.0, **options):
    run = run_of(**options)
    assert run.run(np.zeros(1), np.zeros(1), duration, 10, start) == "finished"
    return run.stepper.native.calls, np.concatenate([block[0] for block in run._blocks])


# --- the steps ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("duration", "dt", "count"),
    [
        (1.0, 0.25, 4),
        (1.0, 0.3, 4),
        (0.1, 1.0, 1),
        (1.0 + 1e-10, 0.25, 4),
        (1.0 + 1e-8, 0.25, 5),
        (1.0 - 1e-10, 0.25, 4),
        (1.0 - 1e-8, 0.25, 4),
    ],
)
def test_steps_are_whole_to_1e_9(duration, dt, count):
    """Otherwise they are equal and shorter than dt."""
    (call,), times = steps_of(duration, dt=dt)
    whole = abs(round(duration / dt) * dt - duration) < 1e-9
    assert call == (4.0, dt if whole else pytest.approx(duration / count, rel=1e-15), count)
    assert times[0] == 0.0
    assert_close(times, np.linspace(0.0, duration, count + 1), tolerance=1e-9)


def test_steps_from_a_later_start():
    """They go on from multiple to multiple of dt."""
    (first, call), times = steps_of(1.3, start=0.5, dt=0.4)
    assert first == (4.0, pytest.approx(0.3), 1)
    assert call == (4.0, pytest.approx(0.25), 2)
    assert_close(times, np.array([0.5, 0.8, 1.05, 1.3]), tolerance=1e-12)
    (call,), _ = steps_of(1.5, start=0.5, dt=0.25)
    assert call == (4.0, 0.25, 4)
    (call,), _ = steps_of(0.55, start=0.5, dt=0.2)
    assert call == (4.0, pytest.approx(0.05), 1)


def test_portions_of_256_steps():
    calls, times = steps_of(603.0, dt=1.0, start=3.0)
    assert [n for _, _, n in calls] == [256, 256, 88]
    assert_close(times, 3.0 + np.arange(601.0))
    assert [n for _, _, n in steps_of(257.0, dt=1.0)[0]] == [256, 1]


def test_functions_of_the_state_and_events_need_single_steps():
    seen = []
    calls, times = steps_of(1.0, tau=lambda t, q, qd: (seen.append((q[0], qd[0])), [2.0 + t])[1])
    qd = np.cumsum([0.0, 0.25, 0.28125, 0.3125])
    assert_close([each[1] for each in seen], qd)
    assert_close([each[0] for each in seen], np.cumsum([0.0, *0.125 * (qd[1:] + qd[:-1])]))
    assert calls == [(2.0, 0.25, 1), (2.25, 0.25, 1), (2.5, 0.25, 1), (2.75, 0.25, 1)]
    assert times.tolist() == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert len(steps_of(1.0, events=[lambda t, q, qd: 1.0])[0]) == 4


def test_controllers_are_sampled_and_divide_their_periods():
    calls, times = steps_of(1.0, period=0.4)
    assert [(tau, n) for tau, _, n in calls] == [(1.0, 2), (1.4, 2), (1.8, 1)]
    assert_close([dt for _, dt, _ in calls], np.array([0.2, 0.2, 0.2]), tolerance=1e-12)
    assert_close(times, np.linspace(0.0, 1.0, 6), tolerance=1e-12)
    assert_close(
        [dt for _, dt, _ in steps_of(1.0, period=0.25 + 1e-11)[0]][:2], np.full(2, 0.25 + 1e-11), tolerance=1e-14
    )


def test_forces_that_change_are_those_of_the_samples_before_the_next():
    run = run_of(period=0.5)
    run.run(np.zeros(1), np.zeros(1), 1.0, 10)
    fields = run.fields(False)
    assert fields["t"].tolist() == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert fields["tau"][:, 0].tolist() == [1.0, 1.0, 1.0, 1.5, 1.5]
    assert fields["saturated"].tolist() == [[False]] * 5
    assert_close(fields["qd"][:, 0], np.array([0.0, 0.125, 0.25, 0.4375, 0.625]))
    assert_close(fields["qdd"][:, 0], np.array([0.5, 0.5, 0.5, 0.75, 0.75]))
    assert fields["work"][:, 0].tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]


def test_a_terminal_event_ends_the_run():
    def high(t, q, qd):
        return t - 0.6

    high.terminal = True
    run = run_of(Native([(1, 0, 0.0, []), (1, 0, 0.0, []), (1, 0, 0.0, [[0, 2, 0, 0, 9]])]), events=[high])
    assert run.run(np.zeros(1), np.zeros(1), 1.0, 10) == "stopped by high"
    fields = run.fields(False)
    assert_close(fields["t"], np.array([0.0, 0.25, 0.5, 0.6]))
    assert_close(fields["qd"][:, 0], np.array([0.0, 0.5, 1.0, 1.2]), tolerance=1e-12)
    assert_close(fields["work"][:, 0], np.array([0.0, 1.0, 2.0, 3.0]), tolerance=1e-12)
    assert_close(fields["contact_forces"]["a"][:, 2], np.array([0.0, 0.0, 0.0, 2.0]), tolerance=1e-12)


def test_velocities_between_steps_are_linear():
    """And configurations those of constant accelerations."""
    plant = run_of().plant
    first, last = (
        StateAtTime(t, np.array([q]), np.array([qd]), np.full(3, work))
        for t, q, qd, work in ((1.0, 2.0, 3.0, 4.0), (3.0, 6.0, 1.0, 0.0))
    )
    step = LinearStep(plant, first, last)
    assert (step.start, step.end) == (1.0, 3.0)
    assert step.state(1.5).tolist() == [3.375, 2.5, 3.0, 3.0, 3.0]


# --- impacts ------------------------------------------------------------------------------------------------------------------


def impact_run(max_impacts=10):
    """The third of four steps of 0.25 s has an impact 0.15 s before its end; forces before and after."""
    rows = [[0, 0, 1, 2, 3], [1, 3, 4, 5, 6], [2, 3, 5, 5, 5]]
    native = Native([(2, 1, 0.15, rows), (2, 0, 0.0, [[1, 2, 7, 8, 9]])])
    run = run_of(native)
    return run, run.run(np.zeros(1), np.zeros(1), 1.0, max_impacts)


def test_an_impact_within_a_step():
    run, status = impact_run()
    assert status == "finished"
    (impact,) = run.impacts
    assert impact.time == pytest.approx(0.6, abs=1e-15)
    assert impact.points == ("b", "b")
    assert impact.surfaces == (0, 1)
    assert_close(impact.impulses, np.array([4.0, 2.0]))
    assert_close(impact.friction_impulses, np.array([[3.0, 0.0, 0.0], [0.0, 0.0, 0.0]]))
    assert_close(impact.normal_velocity_change, np.array([4.5, 2.5]))
    assert_close(impact.incidence, np.arccos([3.0 / 5.0, 2.0 / 5.0]))
    assert (impact.energy_before, impact.energy_after) == (5.0, 3.0)
    assert (impact.q.tolist(), impact.qd_before.tolist(), impact.qd_after.tolist()) == ([7.0], [-3.0], [2.0])
    fields = run.fields(False)
    assert_close(fields["t"], np.array([0.0, 0.25, 0.5, 0.6, 0.6, 0.75, 1.0]), tolerance=1e-15)
    assert fields["qd"][3:5, 0].tolist() == [-3.0, 2.0]
    assert fields["work"][3:5].tolist() == [[1.0, 2.0, 32.0], [1.0, 2.0, 30.0]]
    forces = fields["contact_forces"]
    assert forces["a"].tolist() == [[1, 2, 3], [1, 2, 3], *[[0, 0, 0]] * 4, [7, 8, 9]]
    assert forces["b"].tolist() == [[0, 0, 0]] * 2 + [[4, 5, 6], [5, 5, 5], [5, 5, 5]] + [[0, 0, 0]] * 2
    assert [(each.point, each.surface) for each in fields["contacts"]] == [("a", 0), ("b", 1), ("a", 1)]
    assert [n for _, _, n in run.stepper.native.calls] == [4, 2]


def test_the_number_of_impacts_ends_a_run():
    assert impact_run(1)[1] == "finished"
    assert impact_run(0)[1] == "too many impacts"


def test_impacts_of_stops_alone_are_work_of_the_joints(monkeypatch):
    monkeypatch.setitem(VECTORS, "impulses", [[0, 0, 0]] * 4)
    run, _ = impact_run()
    assert not run.impacts
    assert run.fields(False)["work"][3:5].tolist() == [[1.0, 4.0, 30.0], [1.0, 2.0, 30.0]]


def test_a_point_at_rest_has_no_incidence(monkeypatch):
    monkeypatch.setitem(VECTORS, "velocities_before", [[0, 0, 0], [0, 0, 0]])
    monkeypatch.setitem(VECTORS, "rates_before", [0.0] * 6)
    assert_close(impact_run()[0].impacts[0].incidence, np.full(2, np.pi / 2))


def test_states_that_are_not_finite_end_a_run_with_their_time():
    run = run_of(Native([(3, 2, 0.0, [])]))
    with pytest.raises(appell.SimulationError, match=r"beyond t = 1.25 s .*: qd\[0\] = 2 \(a reason\)") as caught:
        run.run(np.zeros(1), np.zeros(1), 1.5, 10, 0.5)
    assert caught.value.time == 1.25
    assert caught.value.state.tolist() == [7.0, 2.0]
    bad = run_of(Native())
    bad.stepper.native.start = lambda q, qd: (_ for _ in ()).throw(FloatingPointError)
    with pytest.raises(appell.SimulationError, match=r"beyond t = 0.5 s .*: qd\[0\] = 3"):
        bad.run(np.ones(1), np.full(1, 3.0), 1.5, 10, 0.5)


# --- samples ------------------------------------------------------------------------------------------------------------------


def sampled(times):
    """q = t² at 0, 1, 2, an impact at 2, and 3; the work is t, forces of b at the last two samples."""
    run = run_of()
    t = np.array([0.0, 1.0, 2.0, 2.0, 3.0])
    qd = np.array([0.0, 1.0, 2.0, -5.0, -6.0])[:, None]
    run._blocks = [
        (t[:1], t[:1, None] ** 2, qd[:1], np.zeros((1, 3))),
        (t[1:], t[1:, None] ** 2, qd[1:], np.outer(t[1:], [1.0, 2.0, 3.0])),
    ]
    run._held = [(1, np.array([4.0]), np.array([False])), (4, np.array([5.0]), np.array([True]))]
    run._forces = [np.array([[2.0, 1.0, 0.0, 0.0, 8.0], [4.0, 3.0, 0.0, 6.0, 0.0]])]
    run.times = None if times is None else np.array(times)
    return run.fields(False)


def test_samples_are_steps():
    found = sampled([0.0, 1.0, 2.0 - 1e-12, 3.0])
    assert found["t"].tolist() == [0.0, 1.0, 2.0 - 1e-12, 3.0]
    assert found["q"][:, 0].tolist() == [0.0, 1.0, 4.0, 9.0]
    assert found["qd"][:, 0].tolist() == [0.0, 1.0, -5.0, -6.0]
    assert found["qdd"][:, 0].tolist() == [1.0, 1.0, 1.0, -1.0]
    assert found["work"][:, 2].tolist() == [0.0, 3.0, 6.0, 9.0]
    assert found["tau"][:, 0].tolist() == [4.0, 5.0, 5.0, 5.0]
    assert found["contact_forces"]["b"].tolist() == [[0, 0, 0], [0, 0, 0], [0, 0, 8], [0, 6, 0]]
    assert sampled([0.0, 2.0, 4.0, 5.0])["t"].tolist() == [0.0, 2.0, 3.0]
    assert sampled([0.0, 3.0, 5.0])["t"].tolist() == [0.0, 3.0]
    assert sampled([2.0])["q"][:, 0].tolist() == [4.0]
    assert sampled([])["q"].shape == (0, 1)
    whole = sampled(None)
    assert whole["tau"][:, 0].tolist() == [4.0, 5.0, 5.0, 5.0, 5.0]
    assert whole["saturated"][:, 0].tolist() == [False, True, True, True, True]
    assert whole["contact_forces"]["b"].tolist() == [[0, 0, 0], [0, 0, 0], [0, 0, 8], [0, 0, 8], [0, 6, 0]]


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        ([0.0, 0.5, 1.0], [0.25, 0.5, 0.75, 1.0]),
        ([0.4, 0.6], [0.2, 0.4, 0.6, 0.8, 1.0]),
        ([0.5 - 1e-14, 0.5 + 1e-14], [0.25, 0.5, 0.75, 1.0]),
        ([0.25, 1.0 - 1e-12], [0.25, 0.5, 0.75, 1.0]),
    ],
)
def test_steps_end_at_samples(times, expected):
    run = run_of()
    run.times = np.array(times)
    assert run.run(np.zeros(1), np.zeros(1), 1.0, 10) == "finished"
    found = np.concatenate([block[0] for block in run._blocks])
    assert_close(found, np.array([0.0, *expected]), tolerance=1e-12)
    assert run.fields(False)["t"].tolist() == times


@pytest.mark.parametrize("stops", [False, True])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_limits_that_samples_exceed(stops, sign):
    """Beyond stops by 2e-6 is their tolerance; without stops it is a violation, as is what is deeper."""
    model = PointMasses([2.0], lower=[-1.0], upper=[1.0], velocity=[5.0])
    run = run_of(model=model)
    t = np.arange(6.0)
    q = sign * (1.0 + np.array([0.0, 1.9e-6, 0.0, 2.1e-6, 0.5, 0.0]))
    found = run._limit_violations(t, q[:, None], np.zeros((6, 1)), stops)
    bound = "upper" if sign > 0.0 else "lower"
    expected = [(3.0, 5.0)] if stops else [(1.0, 2.0), (3.0, 5.0)]
    assert [(each.start, each.end) for each in found] == expected
    assert {(each.name, each.quantity, each.bound) for each in found} == {("a", "position", bound)}
    assert found[-1].worst == pytest.approx(0.5)
    qd = np.array([0.0, 5.0, -5.1, 6.0, 0.0, 7.0])
    (fast, last) = run._limit_violations(t, np.zeros((6, 1)), sign * qd[:, None], stops)
    assert (fast.quantity, fast.start, fast.end, fast.worst) == ("velocity", 2.0, 4.0, 1.0)
    assert (last.start, last.end) == (5.0, 5.0)


def test_contact_problems_that_were_not_solved_are_reported():
    run = run_of()
    run.stepper.native.failures = 3
    assert run.problems() == ()
    run.run(np.zeros(1), np.zeros(1), 1.0, 10)
    (problem,) = run.problems()
    assert problem.startswith("3 of 100 contact problems were solved to 2.0e-05 m/s only, expected 1e-06 m/s.")


# --- the start ----------------------------------------------------------------------------------------------------------------


def start_with(gaps):
    run = run_of()
    run.stepper.vector = lambda name, *shape: np.array([[gap, 0, 0, 0, 0] for gap in gaps], dtype=float).reshape(shape)
    TimeSteppingRun._require_no_penetration(run, np.array([1.0]), np.array([2.0]))


@pytest.mark.parametrize(
    ("number", "quantity", "text"),
    [
        (0, "gap of a", "point 'a' is 2e-06 m behind the surface floor"),
        (1, "gap of b", "point 'b' is 2e-06 m behind the surface floor"),
        (3, "gap of b", "point 'b' is 2e-06 m behind the surface wall"),
        (4, "x", "joint 'x' starts 2e-06 beyond its lower limit"),
        (5, "x", "joint 'x' starts 2e-06 beyond its upper limit"),
    ],
)
def test_starts_behind_surfaces_and_stops(number, quantity, text):
    gaps = np.array([0.0, 0.0, 0.0, 0.0, -5e-7, -5e-7])
    start_with(gaps)
    gaps[number] = -1e-6
    start_with(gaps)
    gaps[number] = -2e-6
    with pytest.raises(appell.SimulationError, match=text) as caught:
        start_with(gaps)
    assert (caught.value.quantity, caught.value.time) == (quantity, 0.0)
    assert caught.value.state.tolist() == [1.0, 2.0]


def test_least_inertias_with_contacts():
    """The inertia that a velocity moves while the others are free, 1 / (M^-1)_kk."""
    for inertia, enough in ((1.001e-10, True), (0.999e-10, False), (math.nan, False)):
        model = PointMasses([1.0, 1.0])
        model.mass_matrix = lambda q, inertia=inertia: np.array([[2.0, 1.0], [1.0, 0.5 + inertia]])
        run = run_of()
        run.plant.model = model
        if enough:
            run._require_inertia(np.zeros(2), np.zeros(2))
            continue
        with pytest.raises(appell.SimulationError, match="moves an inertia of") as caught:
            run._require_inertia(np.zeros(2), np.ones(2))
        assert caught.value.quantity == ("b" if inertia == inertia else "a")
        assert caught.value.state.tolist() == [0.0, 0.0, 1.0, 1.0]
        run.stepper.contacts = 0
        run._require_inertia(np.zeros(2), np.zeros(2))
