"""The loop of events, its detectors and monitors, and the plant, on masses whose motion is known."""

from __future__ import annotations

from collections import deque
from types import SimpleNamespace

import numpy as np
import pytest
from helpers.closeness import assert_close
from helpers.point_masses import PointMasses

import appell
from appell.progress import Progress
from appell.simulation import event_detector
from appell.simulation import loop as loops
from appell.simulation.actuation import SampledActuation, actuation_of
from appell.simulation.event_detector import EventDetector
from appell.simulation.integrators import PhaseEquations
from appell.simulation.joint_friction import JointFrictionState, frictionless
from appell.simulation.linear_step import LinearStep, StateAtTime
from appell.simulation.loop import ACCUMULATING, STALLED, SimulationLoop
from appell.simulation.monitors import DivergenceMonitor, has_stalled
from appell.simulation.phase import Environment, InstantResult, IntegratorStep, Phase
from appell.simulation.plant import Plant
from appell.simulation.records import Recorder

ZERO = np.zeros(1)


def plant_of(model=None, tau=None, limits=None, tracks_work=False):
    model = PointMasses([2.0], [-10.0]) if model is None else model
    zero = np.zeros(model.nv)
    return Plant(model, actuation_of(model.nv, tau, None, zero, zero), limits, tracks_work)


def loop_of(plant, environment=None, method=None, times=None, events=()):
    method = appell.Integration(rtol=1e-6) if method is None else method
    extras = Recorder(plant, times), EventDetector(plant, events), Progress("masses", 1.0, False)
    return SimulationLoop(plant, Environment(plant) if environment is None else environment, method, *extras)


# --- runs without progress, and that diverge ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("count", "span", "stalled", "expected"),
    [
        (300, 2.9e-5, STALLED, True),
        (300, 3e-5, STALLED, False),
        (299, 2.9e-5, STALLED, False),
        (30, 0.9e-11, STALLED, True),
        (30, 1e-11, STALLED, False),
        (29, 0.9e-11, STALLED, False),
        (60, 4.9e-3, ACCUMULATING, True),
        (60, 5.1e-3, ACCUMULATING, False),
        (59, 4.9e-3, ACCUMULATING, False),
        (60, 4.9e-3, STALLED, False),
        (300, 2.9e-5, ACCUMULATING, True),
        (0, 0.0, STALLED, False),
    ],
)
def test_events_that_follow_each_other_too_closely(count, span, stalled, expected):
    assert has_stalled(deque(np.linspace(0.0, span, count)), stalled) is expected
    if expected:  # earlier events do not matter
        assert has_stalled(deque([-9.0, *np.linspace(0.0, span, count)]), stalled)


class Restless(Phase):
    """Events that follow each other without end until t = 5 ms."""

    spacing = 3e-13

    def first_event(self, step):
        return step.start + self.spacing if step.start < 5e-3 else None


class Stalling(Environment):
    """Restless phases; steps of time stepping are of free fall, with 2 J of friction per second."""

    resolved, steps, spacing, obeys = (), (), 3e-13, True

    def resolve_instant(self, t, q, qd):
        self.resolved = (*self.resolved, t)
        phase = Restless(self.plant, frictionless(1))
        object.__setattr__(phase, "spacing", self.spacing)
        return InstantResult(q, qd, phase, (), resolved=self.obeys or t >= 5e-3)

    def fall(self, t, q, qd, h):
        self.steps = (*self.steps, (t, h))
        return t + h, q + h * qd - 5.0 * h**2, qd - 10.0 * h, np.array([0.0, 0.0, -2.0 * h])


@pytest.mark.parametrize(("spacing", "count"), [(9e-8, 300), (3e-8, 60), (3e-13, 30)])
def test_a_run_stops_where_events_are_too_close_and_no_step_leads_on(spacing, count):
    plant = plant_of()
    environment = Stalling(plant)
    environment.spacing = spacing
    assert loop_of(plant, environment).run(np.ones(1), ZERO, 1.0, 10) == "no progress"
    assert len(environment.resolved) == count
    environment = Stalling(plant)
    environment.short_step = environment.fall
    loop = loop_of(plant, environment)
    loop.hands_over = True
    assert loop.run(np.ones(1), ZERO, 1.0, 10) == "no progress"


@pytest.mark.parametrize("obeys", [True, False])
@pytest.mark.parametrize("tracks_work", [True, False])
def test_steps_of_time_stepping_lead_on_where_events_stall(obeys, tracks_work):
    """From 1e-6 s on four times as long where they follow each other, up to 1 ms; at once where a phase contradicts itself."""
    plant = plant_of(tracks_work=tracks_work)
    environment = Stalling(plant)
    environment.short_step, environment.obeys = environment.fall, obeys
    loop = loop_of(plant, environment)
    assert loop.run(np.ones(1), ZERO, 1.0, 10) == "finished"
    lengths = [h for _, h in environment.steps]
    assert lengths[:7] == pytest.approx([4.0**k * 1e-6 for k in range(5)] + [1e-3, 1e-3], rel=1e-9)
    assert loop.fallback_steps == list(environment.steps)
    assert (environment.resolved[1] == 1e-6) is not obeys
    fields = loop.recorder.fields()
    assert_close(fields["q"][-1], np.array([1.0 - 5.0]), tolerance=1e-9)
    assert fields["work"][-1, 2] == pytest.approx(-2.0 * sum(lengths), rel=1e-9)


class Pole(Phase):
    """Closed contacts whose forces have no value after 0.1 s, until a step of time stepping led on."""

    has_rows, environment = True, SimpleNamespace(steps=())

    def derivative(self, t, q, qd):
        found = super().derivative(t, q, qd)
        return found._replace(qdd=np.full(1, np.nan)) if t > 0.1 and not self.environment.steps else found


class Poles(Stalling):
    """Phases with such contacts."""

    def resolve_instant(self, t, q, qd):
        self.resolved = (*self.resolved, t)
        phase = Pole(self.plant, frictionless(1))
        object.__setattr__(phase, "environment", self)
        return InstantResult(q, qd, phase, ())


def test_a_step_of_time_stepping_leads_on_where_an_integrator_fails_in_every_mode():
    plant = plant_of(tracks_work=True)
    environment = Poles(plant)
    environment.short_step = environment.fall
    loop = loop_of(plant, environment)
    assert loop.run(np.ones(1), ZERO, 1.0, 10) == "finished"
    ((start, length),) = loop.fallback_steps
    assert start == pytest.approx(0.1, abs=1e-9)
    assert length == 1e-6
    assert environment.resolved == (0.0, start, start + length)  # another mode was tried before
    assert_close(loop.recorder.fields()["q"][-1], np.array([1.0 - 5.0]), tolerance=1e-9)


def test_an_integrator_that_fails_in_every_mode_ends_a_run_where_no_step_leads_on():
    plant = plant_of()
    with pytest.raises(appell.SimulationError, match=r"cannot be continued beyond t = 0\.1"):
        loop_of(plant, Poles(plant)).run(np.ones(1), ZERO, 1.0, 10)
    with pytest.raises(appell.SimulationError, match=r"cannot be continued beyond t = 0\.1"):
        loop_of(plant, Poles(plant), appell.Integration("rk4", dt=0.01)).run(np.ones(1), ZERO, 1.0, 10)
    loop = loop_of(plant, Poles(plant))
    loop.hands_over = True
    assert loop.run(np.ones(1), ZERO, 1.0, 10) == "no progress"


def test_steps_of_time_stepping_are_short_again_after_a_while():
    plant = plant_of()
    loop = loop_of(plant, Stalling(plant))
    loop.environment.short_step = loop.environment.fall
    phase = Phase(plant, frictionless(1))
    loop.recorder.begin(0.0, np.array([1.0, 0.0]), phase, (), 0.0)
    for t, h in ((0.1, 1e-6), (0.10000999, 4e-6), (0.2, 1e-6), (0.3 - 3e-7, 3e-7)):
        assert loop._step_over(phase, t, np.array([1.0, 0.0]), 0.3)[0] == pytest.approx(t + h, abs=1e-15)
    assert loop._step_over(phase, 0.3, np.array([1.0, 0.0]), 0.3) is None


@pytest.mark.parametrize("tracks_work", [True, False])
def test_a_step_of_time_stepping_ends_at_a_terminal_event(tracks_work):
    """In the state of a shorter step, whose work is that of its length."""

    def low(t, q, qd):
        return q[0] - 0.9999

    low.terminal = True
    plant = plant_of(tracks_work=tracks_work)
    environment = Stalling(plant)
    environment.short_step = environment.fall
    loop = loop_of(plant, environment)
    loop.detector = EventDetector(plant, low)
    assert loop.run(np.ones(1), ZERO, 1.0, 10) == "stopped by low"
    (event,), (*_, (start, length)) = loop.detector.events, environment.steps
    fields = loop.recorder.fields()
    assert fields["t"][-1] == event.time == start + length
    assert fields["q"][-1, 0] == event.q[0] == pytest.approx(0.9999, abs=1e-15)
    assert fields["work"][-1, 2] == pytest.approx(-2.0 * event.time, abs=1e-9)


def monitored(duration, velocities, step):
    """Results of a monitor after each window of 500 steps with these velocities, and whether others were all False."""
    monitor, found, rest = DivergenceMonitor(duration), [], []
    for k, velocity in enumerate(velocities):
        for i in range(1, 501):
            result = monitor.diverges(step * (500 * k + i), np.array([1.0, velocity]))
            (found if i == 500 else rest).append(result)
    assert not any(rest)
    return found


def test_velocities_that_grow_while_steps_shrink_diverge():
    """Above 1e4 rad/s, larger than 500 steps before, and more than 1e6 steps like those of the window are left."""
    assert monitored(1.0, [1.001e4, -1.002e4], 1e-9) == [True, True]
    assert monitored(1.0, [0.999e4, 1e4, 1.001e4], 1e-9) == [False, False, True]
    assert monitored(1.0, [-3e4, 2e4, 3e4, 3e4], 1e-9) == [True, False, True, False]
    assert monitored(1.001, [2e4], 1e-6) == [True]
    assert monitored(1.0, [2e4], 1e-6) == [False]
    assert monitored(1.0015, [2e4, 3e4], 1e-6) == [True, True]  # of the second window alone
    assert monitored(1.0009, [2e4, 3e4], 1e-6) == [True, False]


@pytest.mark.parametrize(
    ("work", "length", "expected"),
    [(2e-11, 2e-13, True), (1e-11, 2e-13, False), (-2e-11, 2e-13, False), (2e-11, 1e-13, False)],
)
def test_friction_that_drives_a_step(work, length, expected):
    step = SimpleNamespace(initial=np.array([0.0, 0.0, 3.0, 7.0, 0.0]), final=np.array([0.0, 0.0, 9.0, 8.0, work]))
    step.start, step.end = 0.0, length
    assert loop_of(plant_of(tracks_work=True))._friction_drives(step, None) is expected
    step.state = lambda t: step.initial if t < 0.5 * length else step.final
    assert loop_of(plant_of(tracks_work=True))._friction_drives(step, length) is expected
    assert not loop_of(plant_of(tracks_work=True))._friction_drives(step, 0.0)


def test_a_step_that_friction_drives_is_repeated_with_a_tenth(monkeypatch):
    lengths = []

    def drives(self, step, event):
        lengths.append(step.end - step.start)
        return len(lengths) == 1

    monkeypatch.setattr(SimulationLoop, "_friction_drives", drives)
    plant = plant_of()
    loop = loop_of(plant)
    loop._step_size = 0.2
    phase = Phase(plant, frictionless(1))
    y = np.array([1.0, 0.0])
    loop.recorder.begin(5.0, y, phase, (), 0.0)
    t, y, event = loop._integrate_phase(phase, 5.0, y, 6.0, DivergenceMonitor(6.0))
    assert (t, event) == (6.0, False)
    assert lengths[:2] == pytest.approx([0.2, 0.02], rel=1e-9)
    assert_close(y, np.array([1.0 - 5.0, -10.0]), tolerance=1e-9)


def test_the_step_is_kept_where_the_end_of_a_phase_cuts_it_off():
    plant = plant_of()
    y, phase = np.array([1.0, 0.0]), Phase(plant, frictionless(1))
    for before, expected in ((0.5, 0.5), (0.005, 0.01), (None, 0.01)):
        loop = loop_of(plant, method=appell.Integration())
        loop._step_size = before
        loop._integrate_phase(phase, 0.0, y, 1e-3, DivergenceMonitor(1.0))
        if before is None:
            assert 1e-3 < loop._step_size <= expected
        else:
            assert loop._step_size == pytest.approx(expected, rel=1e-9)


class Failing(Phase):
    """Equations that are not finite after the start, with rows that another mode may change."""

    has_rows = True

    def derivative(self, t, q, qd):
        return self.plant.derivative(t, q, qd, self.joints)

    def first_event(self, step):
        return None


@pytest.mark.parametrize("rows", [True, False])
def test_a_phase_whose_forces_grow_without_end_is_resolved_again_once(rows):
    plant = plant_of(tau=lambda t, q, qd: [np.nan if t > 0.0 else 0.0])
    resolved = []

    class Counting(Environment):
        def resolve_instant(self, t, q, qd):
            resolved.append(t)
            phase = (Failing if rows else Phase)(self.plant, frictionless(1))
            return InstantResult(q, qd, phase, ())

    loop = loop_of(plant, Counting(plant), appell.Integration("rk4", dt=0.1))
    with pytest.raises(
        appell.SimulationError, match=r"beyond t = 0 s \(the state is no longer finite\): tau\[0\] = nan"
    ):
        loop.run(np.array([1.0]), np.array([3.0]), 1.0, 10)
    assert resolved == [0.0] * (1 + rows)


def test_where_and_why_a_motion_diverges():
    plant = plant_of(PointMasses([1.0, 1.0, 1.0]))
    with pytest.raises(appell.SimulationError) as caught:
        loop_of(plant)._raise_diverged(0.25, np.array([1.0, 2.0, 3.0, 4.0, -9.0, 5.0]), "too fast. ")
    assert caught.value.quantity == "qd[1] = -9 (a reason)"
    assert caught.value.time == 0.25
    assert_close(caught.value.state, np.array([1.0, 2.0, 3.0, 4.0, -9.0, 5.0]))
    assert "(too fast): qd[1]" in str(caught.value)
    assert "Check the actuators" in str(caught.value)
    plant.first_nonfinite = (0.125, "qdd[0] = inf")
    with pytest.raises(appell.SimulationError, match=r"qdd\[0\] = inf at t = 0.125 s.*Check bodies without inertia"):
        loop_of(plant)._raise_diverged(0.25, np.zeros(6), "m")


def test_phases_that_continue_are_not_resolved_at_samples():
    class Lasting(Phase):
        goes_on = True

        def continues(self, t, y):
            return self.goes_on

    resolved = []

    class Counting(Environment):
        def resolve_instant(self, t, q, qd):
            resolved.append(t)
            return InstantResult(q, qd, Lasting(self.plant, frictionless(1)), ())

    controller = SimpleNamespace(initial_memory=lambda *_: None, step=lambda t, q, qd, memory: ([20.0], memory))
    for goes_on, times in ((True, [0.0]), (False, [0.0, 0.25, 0.5, 0.75])):
        Lasting.goes_on = goes_on
        plant = Plant(PointMasses([2.0], [-10.0]), SampledActuation(controller, 0.25, 1))
        resolved.clear()
        loop = loop_of(plant, Counting(plant))
        assert loop.run(np.array([1.0]), ZERO, 1.0, 10) == "finished"
        assert resolved == times
        assert loop.recorder.samples[-1].q == pytest.approx([1.0])  # the force carries the weight
        assert loop.recorder.samples[-1].work.tolist() == pytest.approx([0.0, 0.0, 0.0], abs=1e-9)


# --- fixed steps that end at an event -----------------------------------------------------------------------------------------


def shortened(events, fails=False, start=1.0, end=2.0):
    """Times to which a step is shortened whose phase has these events one after the other, then none; and what is found."""
    solver = SimpleNamespace(t=end, t_old=start, y=ZERO, ends=[])

    def shorten(t):
        solver.ends.append(t)
        solver.t = t
        return "reason" if fails else None

    solver.shorten = shorten
    coming = iter(events[1:])
    phase = SimpleNamespace(first_event=lambda step: next(coming, None))
    whole = IntegratorStep(solver, ZERO)
    step, event = loops._step_to_event(
        solver, phase, whole, events[0], lambda step, event: step.start < event < step.end
    )
    return solver.ends, step.end, event


def test_a_fixed_step_is_shortened_to_its_event():
    assert shortened([1.5]) == ([1.5], 1.5, 1.5)
    assert shortened([1.5, 1.4]) == ([1.5, 1.4], 1.4, 1.4)
    assert shortened([1.5, 1.4, 1.4]) == ([1.5, 1.4], 1.4, 1.4)
    assert shortened([1.9, 1.8, 1.7, 1.6, 1.5, 1.4])[0] == [1.9, 1.8, 1.7, 1.6]
    assert shortened([1.0]) == ([], 2.0, 1.0)
    assert shortened([2.0]) == ([], 2.0, 2.0)
    assert shortened([1.5], fails=True) == ([1.5], 2.0, 1.5)


def test_errors_of_implicit_methods_are_failed_steps():
    def step():
        raise ValueError("array must not contain infs")

    solver = SimpleNamespace(step=step, status="running")
    assert loops._step(solver) == "array must not contain infs"
    assert solver.status == "failed"


# --- event functions ----------------------------------------------------------------------------------------------------------


def scanned(*functions, start=1.0, until=2.0):
    """A detector after the scan of a step in which q = t and qd = -t."""
    plant = plant_of()
    detector = EventDetector(plant, functions)
    step = SimpleNamespace(start=start, end=2.0, state=lambda t: np.array([t, -t]))
    return detector, detector.scan(step, until)


def zero_at(*times, terminal=False, direction=0):
    def function(t, q, qd):
        assert q[0] == t == -qd[0]
        return np.prod([t - zero for zero in times])

    function.terminal, function.direction = terminal, direction
    return function


def test_zeros_within_a_step():
    detector, until = scanned(zero_at(1.7), zero_at(1.3, 1.6), zero_at(2.5), zero_at(1.9), until=1.8)
    assert until == 1.8
    assert [event.number for event in detector.events] == [1, 1, 0]
    assert_close([event.time for event in detector.events], np.array([1.3, 1.6, 1.7]), tolerance=1e-12)
    assert_close([event.q[0] for event in detector.events], np.array([1.3, 1.6, 1.7]), tolerance=1e-12)
    assert_close([event.qd[0] for event in detector.events], -np.array([1.3, 1.6, 1.7]), tolerance=1e-12)
    assert not scanned(zero_at(1.0))[0].events, "a zero at the start was one of the step before"
    assert len(scanned(zero_at(2.0))[0].events) == 1
    assert not scanned(zero_at(1.26, 1.37))[0].events, "two zeros within an eighth of a step are not resolved"
    assert len(scanned(zero_at(1.24, 1.26))[0].events) == 2
    assert scanned(zero_at(1.5), until=1.0)[1] == 1.0


def test_a_terminal_zero_ends_the_step():
    detector, until = scanned(zero_at(1.7), zero_at(1.6, terminal=True), zero_at(1.5))
    assert until == pytest.approx(1.6, abs=1e-12)
    assert detector.stopped_by == "function"
    assert [event.number for event in detector.events] == [2, 1]


@pytest.mark.parametrize(("direction", "numbers"), [(0, [1.3, 1.6]), (1, [1.6]), (-1, [1.3]), (2, [1.6]), (-2, [1.3])])
def test_directions_of_zeros(direction, numbers):
    detector, _ = scanned(zero_at(1.3, 1.6, direction=direction))
    assert [round(event.time, 9) for event in detector.events] == numbers


def test_a_step_that_can_be_repeated_ends_in_the_state_that_it_reaches():
    """Here later than its interpolated states do; where it cannot, it ends in such a state."""
    plant, works = plant_of(), np.zeros(3)
    first, last = (StateAtTime(t, np.array([t]), np.array([1.0]), works) for t in (1.0, 2.0))
    for delay, state in (
        (0.01, lambda t: StateAtTime(t, np.array([t - 0.01]), np.array([1.0]), works)),
        (0.0, lambda t: None),
    ):
        detector = EventDetector(plant, [lambda t, q, qd: q[0] - 1.2, zero_at_height := lambda t, q, qd: q[0] - 1.6])
        zero_at_height.terminal = True
        step = detector.scan_linear(LinearStep(plant, first, last, repeat=state))
        assert [event.time for event in detector.events] == pytest.approx([1.2, 1.6 + delay], abs=1e-12)
        assert step.end == detector.events[1].time
        assert step.last.q[0] == detector.events[1].q[0] == pytest.approx(1.6, abs=1e-12)
    detector = EventDetector(plant, lambda t, q, qd: q[0] - 1.2)
    assert detector.scan_linear(LinearStep(plant, first, last)).last is last


def test_zeros_that_an_impact_passes():
    plant = plant_of()

    def speed(t, q, qd):
        return qd[0]

    detector = EventDetector(plant, speed)
    assert not detector.begin(0.0, ZERO, np.array([-1.0]))
    assert not detector.begin(1.0, ZERO, np.array([2.0]))
    assert not detector.begin(2.0, ZERO, np.array([3.0]))
    assert [(event.name, event.number, event.time) for event in detector.events] == [("speed", 0, 1.0)]
    speed.terminal = True
    assert detector.begin(3.0, ZERO, np.array([-2.0]))
    assert detector.stopped_by == "speed"
    unnamed = EventDetector(plant, [speed, type("Callable", (), {"__call__": lambda self, t, q, qd: 0.0})()])
    assert event_detector._name(unnamed.functions[1], 1) == "event 1"


# --- the plant ----------------------------------------------------------------------------------------------------------------


def test_state_vectors_of_a_plant():
    plant = plant_of(PointMasses([1.0, 2.0]), tracks_work=True)
    y = np.arange(1.0, 8.0)
    q, qd = plant.split(y)
    assert (q.tolist(), qd.tolist(), plant.work(y).tolist()) == ([1.0, 2.0], [3.0, 4.0], [5.0, 6.0, 7.0])
    assert plant.join(q, qd, plant.work(y)).tolist() == y.tolist()
    short = plant_of(PointMasses([1.0, 2.0]))
    assert short.join(q, qd, np.ones(3)).tolist() == [1.0, 2.0, 3.0, 4.0]
    assert short.work(y[:4]).tolist() == [0.0, 0.0, 0.0]
    for lossy in (PointMasses([1.0], damping=[0.1]), PointMasses([1.0], friction=[0.1])):
        assert plant_of(lossy).tracks_work
        assert plant_of(lossy).passive
    assert not short.passive


def test_forces_within_their_limits():
    limits = np.array([2.0, 2.0, 2.0, 0.0, np.inf, 0.5])
    plant = plant_of(PointMasses(np.ones(6)), np.array([2.0, -3.0, 1.9, 0.0, 9.0, -0.7]), limits)
    tau, saturated = plant.tau(0.0, np.zeros(6), np.zeros(6))
    assert tau.tolist() == [2.0, -2.0, 1.9, 0.0, 9.0, -0.5]
    assert saturated.tolist() == [True, True, False, False, False, True]
    free, none = plant_of(PointMasses([1.0, 1.0]), np.array([2.0, 3.0])).tau(0.0, np.zeros(2), np.zeros(2))
    assert (free.tolist(), none.tolist()) == ([2.0, 3.0], [False, False])
    function = plant_of(PointMasses([1.0, 1.0]), lambda t, q, qd: [q[0], qd[1]])
    assert function.tau(0.0, np.array([5.0, 0.0]), np.array([0.0, 6.0]))[0].tolist() == [5.0, 6.0]
    for q, qd in (([np.nan, 0.0], [0.0, 0.0]), ([0.0, 0.0], [0.0, np.inf])):
        tau, saturated = function.tau(0.0, np.array(q), np.array(qd))
        assert np.isnan(tau).all()
        assert saturated.tolist() == [False, False]


def test_accelerations_and_powers():
    """2 kg under 6 N, damping 0.5 N s/m and friction 1 N at 3 m/s, and 4 kg with neither."""
    model = PointMasses([2.0, 4.0], [0.0, -10.0], damping=[0.5, 0.0], friction=[1.0, 0.0])
    plant = plant_of(model, np.array([6.0, 8.0]))
    joints = JointFrictionState(np.zeros(2, dtype=bool), np.array([1.0, 0.0]))
    found = plant.derivative(0.0, np.zeros(2), np.array([3.0, 5.0]), joints)
    assert_close(found.qdd, np.array([(6.0 - 1.5 - 1.0) / 2.0, 8.0 / 4.0 - 10.0]))
    assert found.power == pytest.approx((6.0 * 3.0 + 8.0 * 5.0, -2.5 * 3.0, 0.0))
    assert plant_of(PointMasses([1.0]), np.array([2.0])).derivative(0, ZERO, ZERO + 3.0, frictionless(1)).power == (
        6,
        0,
        0,
    )


def test_the_first_number_that_is_not_finite_is_named():
    plant = plant_of(PointMasses([1.0, 0.0, 0.0]), np.array([1.0, 1.0, -1.0]))
    with np.errstate(divide="ignore"):
        plant.derivative(0.5, np.zeros(3), np.zeros(3), frictionless(3))
        assert plant.first_nonfinite == (0.5, "qdd[1] = inf (a reason)")
        plant.derivative(0.75, np.array([0.0, np.nan, 0.0]), np.zeros(3), frictionless(3))
        plant.derivative(0.75, np.zeros(3), np.array([0.0, np.nan, 0.0]), frictionless(3))
    assert plant.first_nonfinite[0] == 0.5, "of states that are finite alone"


def test_checks_within_a_step():
    def checks(start, end):
        return IntegratorStep(SimpleNamespace(t_old=start, t=end, y=ZERO), ZERO).checks()

    assert checks(0.0, 2.5e-3) == [0.0, 2.5e-3]
    assert checks(1.0, 1.002) == [1.0, 1.002]
    assert checks(1.0, 2.0) == [1.0, 1.25, 1.5, 1.75, 2.0]
    assert len(checks(0.0, 2.6e-3)) == 5


def test_the_ends_of_a_step_are_its_own_states():
    solver = SimpleNamespace(t_old=None, t=1.0, y=np.array([9.0]), dense_output=lambda: lambda t: np.array([5.0 * t]))
    step = IntegratorStep(solver, np.array([7.0]))
    assert (step.start, step.end) == (0.0, 1.0)
    assert [step.state(t).item() for t in (0.0, 0.5, 1.0)] == [7.0, 2.5, 9.0]


def test_a_sticking_joint_has_no_acceleration_and_slips_beyond_its_friction():
    """Friction 3 N: a force of 2 t N is more from t = 1.5 s on; the other mass is free."""
    plant = plant_of(PointMasses([2.0, 1.0], friction=[3.0, 0.0]), lambda t, q, qd: [2.0 * t, 1.0])
    phase = Phase(plant, JointFrictionState(np.array([True, False]), np.zeros(2)))
    found = phase.derivative(1.0, np.zeros(2), np.array([0.0, 2.0]))
    assert_close(found.qdd, np.array([0.0, 1.0]))
    assert found.power == (2.0, 0.0, 0.0)
    y = np.array([0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0])
    assert phase.margin(1.0, y) == pytest.approx(1.0, abs=1e-8)
    assert phase.margin(2.0, y) == pytest.approx(-1.0, abs=1e-8)
    assert not phase.continues(1.0, y)
    solver = SimpleNamespace(
        t_old=1.0, t=2.0, y=y, dense_output=lambda: lambda t: np.multiply.outer(y, np.ones(np.shape(t)))
    )
    step = IntegratorStep(solver, y)
    assert phase.first_event(step) == pytest.approx(1.5, abs=1e-8)
    solver.t_old = 1.75  # overloaded from its start: at once
    assert phase.first_event(IntegratorStep(solver, y)) == pytest.approx(1.75, abs=1e-12)
    solver.t_old, solver.t = 1.0, 1.4
    assert phase.first_event(IntegratorStep(solver, y)) is None
    q, qd = phase.project_to_constraints(np.ones(2), np.ones(2))
    assert (q.tolist(), qd.tolist()) == ([1.0, 1.0], [0.0, 1.0])
    rows = phase.rows(q, qd)
    assert rows.J.tolist() == [[1.0, 0.0]]


@pytest.mark.parametrize(("force", "sticks", "direction"), [(2.0, True, 0.0), (5.0, False, 1.0), (-5.0, False, -1.0)])
def test_joints_at_rest_stick_or_slip_after_an_instant(force, sticks, direction):
    environment = Environment(plant_of(PointMasses([2.0], friction=[3.0]), np.array([force])))
    environment.residual = 0.5
    found = environment.resolve_instant(0.0, ZERO, ZERO)
    assert found.phase.joints.sticking.tolist() == [sticks]
    assert found.phase.joints.slip_direction.tolist() == [direction]
    assert environment.residual == 0.5
    assert not found.impacts
    assert not found.work.any()
    bad = Environment(plant_of(PointMasses([2.0], friction=[3.0]), np.array([np.nan]))).resolve_instant(0.0, ZERO, ZERO)
    assert not bad.phase.has_rows


def test_rates_of_state_vectors_end_with_powers():
    plant = plant_of(PointMasses([2.0], [-10.0]), np.array([6.0]), tracks_work=True)
    rate = PhaseEquations(plant, Phase(plant, frictionless(1))).rate(0.0, np.array([1.0, 3.0, 0.0, 0.0, 0.0]))
    assert_close(rate, np.array([3.0, -7.0, 18.0, 0.0, 0.0]))
