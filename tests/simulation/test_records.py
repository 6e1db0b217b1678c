"""What a run records, and the checks of a finished one, on masses whose motion is known."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from helpers.closeness import assert_close
from helpers.contact_robots import ball
from helpers.point_masses import PointMasses

import appell
from appell.simulation import files, validity
from appell.simulation import simulate as simulation
from appell.simulation.actuation import actuation_of
from appell.simulation.contact import surfaces
from appell.simulation.integrators import Integration
from appell.simulation.joint_friction import frictionless
from appell.simulation.loop import NO_PROGRESS
from appell.simulation.phase import Phase
from appell.simulation.plant import Plant
from appell.simulation.records import ContactInterval, Impact, LimitMonitor, Recorder, Work
from appell.simulation.trajectory import Trajectory, _span

# --- the recorder -------------------------------------------------------------------------------------------------------------


class Touching(Phase):
    """A phase with contacts of points, and the forces on them."""

    closed: tuple[tuple[str, int], ...] = ()
    on_points = np.zeros((0, 3))

    @property
    def contacts(self):
        return self.closed

    def forces(self, t, q, qd):
        return super().forces(t, q, qd)[0], self.on_points


def touching(*closed, forces=()):
    model = PointMasses([2.0], [-10.0])
    phase = Touching(Plant(model, actuation_of(1, None, None, np.zeros(1), np.zeros(1))), frictionless(1))
    object.__setattr__(phase, "closed", closed)
    object.__setattr__(phase, "on_points", np.array(forces, dtype=float).reshape(-1, 3))
    return phase


def impact(points, before, after):
    k, none = len(points), np.zeros(1)
    each = np.zeros(k)
    return Impact(0.0, points, (0,) * k, each, np.zeros((k, 3)), each, each, before, after, none, none, none)


def step_of(start, end):
    """A step in which q = t and qd = 2 t."""
    return SimpleNamespace(start=start, end=end, state=lambda t: np.array([t, 2.0 * t, 10.0 * t, 20.0 * t, 30.0 * t]))


def recorder_of(phase, times=None):
    phase.plant.tracks_work = True
    return Recorder(phase.plant, None if times is None else np.array(times))


def test_every_step_and_both_sides_of_impacts_are_samples():
    phase = touching()
    recorder = recorder_of(phase)
    state = step_of(0.0, 9.0).state
    recorder.begin(0.0, state(0.0), phase, (), 0.0)
    recorder.accept(step_of(0.0, 1.0), 1.0, phase, False)
    recorder.accept(step_of(1.0, 2.0), 1.5, phase, True)
    recorder.end(1.5, state(1.5), phase)
    recorder.begin(
        1.5, state(1.5), phase, (impact(("p",), 5.0, 3.0), impact((), 4.0, 3.5)), np.array([0.5, -1.0, -0.25])
    )
    recorder.accept(step_of(1.5, 3.0), 3.0, phase, True)
    recorder.end(3.0, state(3.0), phase)
    recorder.begin(3.0, state(3.0), phase, (), 0.0)
    recorder.finish(3.0, state(3.0), phase)
    fields = recorder.fields()
    assert fields["t"].tolist() == [0.0, 1.0, 1.5, 1.5, 3.0]
    assert_close(fields["qd"][:, 0], 2.0 * fields["t"])
    assert_close(fields["work"][:3], np.outer(fields["t"][:3], [10.0, 20.0, 30.0]))
    assert_close(fields["work"][3:], np.outer(fields["t"][3:], [10.0, 20.0, 30.0]) + np.array([0.5, -1.5, -2.25]))
    assert [each.points for each in fields["impacts"]] == [("p",)]
    assert_close(fields["qdd"], np.full((5, 1), -10.0))
    recorder.finish(3.5, state(3.5), phase)
    assert recorder.samples[-1].t == 3.5


def test_samples_at_given_times():
    phase = touching()
    recorder = recorder_of(phase, [0.0, 0.5, 1.0, 2.0, 2.5, 4.0])
    recorder.begin(0.0, step_of(0.0, 1.0).state(0.0), phase, (), 0.0)
    recorder.accept(step_of(0.0, 1.0), 1.0, phase, False)
    assert [sample.t for sample in recorder.samples] == [0.0, 0.5]
    recorder.accept(step_of(1.0, 2.0), 2.0, phase, True)
    recorder.accept(step_of(2.0, 3.0), 3.0, phase, True)
    assert [sample.t for sample in recorder.samples] == [0.0, 0.5, 1.0, 2.0, 2.5]
    recorder.finish(3.5, step_of(3.0, 3.5).state(3.5), phase)
    assert recorder.fields()["q"][:, 0].tolist() == [0.0, 0.5, 1.0, 2.0, 2.5, 3.5]
    whole = recorder_of(phase, [0.0, 0.5])
    whole.accept(step_of(0.0, 1.0), 1.0, phase, True)
    whole.finish(1.0, step_of(0.0, 1.0).state(1.0), phase)
    assert len(whole.samples) == 2


def test_forces_and_intervals_of_contacts():
    """Two surfaces push one point together; the third force is that of a stop."""
    both = touching(("p", 0), ("p", 1), forces=[[1, 2, 3], [10, 20, 30], [7, 7, 7]])
    recorder = recorder_of(both)
    y = np.zeros(5)
    recorder.begin(0.0, y, both, (), 0.0)
    recorder.begin(1.0, y, touching(("p", 1), ("r", 0), forces=[[1, 1, 1], [2, 2, 2]]), (), 0.0)
    recorder.begin(2.0, y, touching(), (), 0.0)
    recorder.begin(3.0, y, touching(("p", 0), forces=[[5, 5, 5]]), (), 0.0)
    recorder.finish(4.0, y, touching())
    fields = recorder.fields()
    assert fields["contact_forces"]["p"].tolist() == [[11, 22, 33], [1, 1, 1], [0, 0, 0], [5, 5, 5], [0, 0, 0]]
    assert fields["contact_forces"]["r"][:, 0].tolist() == [0, 2, 0, 0, 0]
    assert fields["contacts"] == (
        ContactInterval("p", 0, 0.0, 1.0),
        ContactInterval("p", 1, 0.0, 2.0),
        ContactInterval("r", 0, 1.0, 2.0),
        ContactInterval("p", 0, 3.0, 4.0),
    )


def test_limits_that_a_motion_exceeds():
    model = PointMasses([1.0, 1.0], lower=[-1.0, -np.inf], upper=[2.0, np.inf], velocity=[np.inf, 3.0])
    monitor = LimitMonitor(model)
    for t, q, qd in (
        (0.0, -1.0 - 0.9e-9, 3.0),
        (1.0, -1.25, -3.0 - 2e-9),
        (2.0, -1.5, 0.0),
        (3.0, -1.125, 0.0),
        (4.0, 2.0 + 1.1e-9, 4.0),
        (5.0, 2.5, 3.5),
        (6.0, 2.0, 3.5),
    ):
        monitor.check(t, np.array([q, 100.0]), np.array([100.0, qd]))
    found = monitor.finish(7.0)
    assert [(each.name, each.quantity, each.bound, each.start, each.end) for each in found] == [
        ("b", "velocity", "upper", 1.0, 2.0),
        ("a", "position", "lower", 1.0, 4.0),
        ("a", "position", "upper", 4.0, 6.0),
        ("b", "velocity", "upper", 4.0, 7.0),
    ]
    assert_close([each.worst for each in found], np.array([2e-9, 0.5, 0.5, 1.0]), tolerance=1e-15, scale=1.0)
    for limits in ({"lower": [0.0]}, {"upper": [0.0]}, {"velocity": [0.0]}):
        for q in (-1.0, 1.0):
            monitor = LimitMonitor(PointMasses([1.0], **limits))
            monitor.check(0.0, np.array([q]), np.array([2.0 * ("velocity" in limits)]))
            expected = "velocity" in limits or (q < 0.0) == ("lower" in limits)
            assert len(monitor.finish(1.0)) == expected


# --- checks of a finished run -------------------------------------------------------------------------------------------------


def motion_of(energy, actuators, status="finished", qd=(0.0, 0.0, 0.0), q=(0.0, 0.0, 0.0)):
    """Three samples; the mass of 2 kg falls under 10 m/s²."""
    zero = np.zeros(3)
    fields = dict.fromkeys(("qdd", "tau"), np.zeros((3, 1))) | {"saturated": np.zeros((3, 1), dtype=bool)}
    fields |= dict.fromkeys(("impacts", "contacts", "events", "limit_violations"), ())
    fields |= dict.fromkeys(("joint_names", "q_names", "qd_names", "actuator_names"), ("a",))
    return Trajectory(
        t=np.array([0.0, 1.0, 1.5]), q=np.array(q)[:, None], qd=np.array(qd)[:, None], energy=np.array(energy),
        work=Work(np.array(actuators), zero, zero), status=status, robot_name="masses", **fields,
    )  # fmt: skip


MASS = PointMasses([2.0], [-10.0])


def problems(motion, method="DOP853", rtol=1e-9, residual=0.0):
    return validity.check_run(MASS, motion, Integration(method, rtol=rtol), 3.0, residual)


def test_energies_that_a_motion_exchanges():
    """Kinetic energy up to 9 J, heights from -1 to 2 m of 20 N, works of 4 J of either sign."""
    q, qd = [0.0, 2.0, -1.0], [0.0, 3.0, 1.0]
    motion = motion_of(20.0 * np.array(q) + np.square(qd), [0.0, -4.0, 3.0], q=q, qd=qd)
    assert validity._exchanged(MASS, motion) == pytest.approx(9.0 + 60.0 + 4.0 + 1e-9, abs=1e-12)
    still = motion_of([0.0] * 3, [0.0] * 3)
    assert validity._exchanged(MASS, still) == pytest.approx(1e-9, rel=1e-9)


def test_errors_of_the_balance_beyond_the_tolerance():
    """8 J of energy and 8 J of work are exchanged; 1e4 rtol of them, a tenth at most, or a hundredth with fixed steps."""
    for method, rtol, part in (("DOP853", 1e-9, 1e-5), ("DOP853", 1e-3, 0.1), ("rk4", 1e-9, 0.01)):
        for error, count in ((0.99, 0), (1.01, 1), (-1.01, 1)):
            off = error * part * 16.0
            found = problems(motion_of([0.0, 4.0 + off, 8.0], [0.0, 4.0, 8.0]), method, rtol)
            assert len(found) == count
            assert all(("smaller dt" if method == "rk4" else "smaller rtol") in each for each in found)


def test_residuals_and_runs_that_end_early():
    good = motion_of([0.0] * 3, [0.0] * 3)
    assert problems(good, residual=1e-6) == ()
    (weak,) = problems(good, residual=1.1e-6)
    assert "only to 1.1e-06 of its size" in weak
    (early,) = problems(motion_of([0.0] * 3, [0.0] * 3, NO_PROGRESS))
    assert early.startswith("it stopped at t = 1.5 s of 3 s: no progress. Lower")


def test_the_balance_starts_at_zero():
    motion = motion_of([5.0, 6.0, 8.0], [1.0, 2.0, 3.0])
    assert motion.balance.tolist() == [0.0, 0.0, 1.0]
    assert motion.work.total.tolist() == [1.0, 2.0, 3.0]


def test_the_axis_of_an_energy():
    """5 % beyond its span, at least 0.5 % of the largest energy."""
    assert _span(np.array([0.0, 10.0])) == pytest.approx((-0.5, 10.5))
    assert _span(np.array([-100.0, -99.9])) == pytest.approx((-100.5, -99.4))
    assert _span(np.array([99.9, 100.0])) == pytest.approx((99.4, 100.5))
    assert _span(np.zeros(2)) == pytest.approx((-1e-12, 1e-12))


# --- arguments of a simulation ------------------------------------------------------------------------------------------------


def test_steps_that_would_never_end():
    for limit in (simulation.MAX_STEPS, simulation.MAX_SAMPLES):
        simulation._require_long_enough("dt", 1.0 / limit, 1.0, limit)
        simulation._require_long_enough("dt", None, 1.0, limit)
        with pytest.raises(appell.ArgumentError, match=r"dt is .* would not end"):
            simulation._require_long_enough("dt", 0.999 / limit, 1.0, limit)
    for t_eval, dt in ((0.9e-8, None), (None, 0.9e-10)):
        method = Integration() if dt is None else Integration("rk4", dt=dt)
        with pytest.raises(appell.ArgumentError, match="would not end"):
            appell.simulate(MASS, [0.0], [0.0], 1.0, t_eval=t_eval, method=method)
    assert simulation.MAX_SAMPLES == 100_000_000


def test_times_of_samples():
    def times(t_eval, end=1.0):
        return simulation._sample_times(t_eval, end)

    assert times(None) is None
    assert times(0.25).tolist() == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert times(0.3).tolist() == pytest.approx([0.0, 0.3, 0.6, 0.9], abs=1e-15)
    third = times(1.0 / 3.0, 1.0)
    assert len(third) == 4
    assert third[-1] == 1.0
    assert len(times(0.1, 0.3)) == 4  # 0.3 / 0.1 is less than 3
    assert times(1.0 * (1.0 + 1e-13)).tolist() == [0.0, 1.0]
    assert len(times(0.25 * (1.0 + 1e-6))) == 4
    with pytest.raises(appell.ArgumentError, match="expected at most the duration"):
        times(1.0 + 1e-9)
    for given in ([0.0, 1.0], [0.0], [1.0], [0.25, 0.5]):
        assert times(given).tolist() == given
    for given in ([], [0.0, 0.0], [0.5, 0.25], [-0.1, 0.5], [0.0, 1.1], [0.0, 0.5, 1.1], [[0.0, 1.0]]):
        with pytest.raises(appell.ArgumentError, match="t_eval must be"):
            times(given)


def test_states_that_miss_the_constraints():
    """Up to 1e-6 they are projected, where they miss them by more than 1e-10."""
    model = PointMasses([1.0])
    model.project_to_constraints = lambda q, qd: (q + 1.0, qd + 1.0)
    for error, moved in ((0.0, 0.0), (1e-10, 0.0), (1.1e-10, 1.0), (1e-6, 1.0)):
        model.error = error
        q, qd = simulation._initial_state(model, [2.0], [3.0])
        assert (q.tolist(), qd.tolist()) == ([2.0 + moved], [3.0 + moved])
    model.error = 1.1e-6
    with pytest.raises(
        appell.ArgumentError, match=r"miss the constraints of 'masses' .* by 1.1e-06, expected at most 1e-06"
    ):
        simulation._initial_state(model, [2.0], [3.0])


def test_effort_limits():
    def limits(given, controller=None):
        found = simulation._effort_limits(PointMasses([1.0, 1.0]), controller, given)
        return found if found is None else found.tolist()

    assert limits(3.0) == [3.0, 3.0]
    assert limits([3.0, np.inf]) == [3.0, np.inf]
    assert limits({"b": 2.0}) == [np.inf, 2.0]
    assert limits([0.0, 0.0]) == [0.0, 0.0]
    assert limits([np.inf, np.inf]) is None
    assert limits("robot") is None
    assert limits(None) is None
    assert limits(None, SimpleNamespace(effort_limits=5.0)) == [5.0, 5.0]
    assert limits(None, SimpleNamespace(limits=6.0)) == [6.0, 6.0]
    assert limits(1.0, SimpleNamespace(effort_limits=5.0)) == [1.0, 1.0]
    for wrong in ([-1.0, 1.0], [1.0, -1e-300], [np.nan, 1.0]):
        with pytest.raises(appell.ArgumentError, match=r"effort_limits.* expected"):
            limits(wrong)


def test_works_of_a_run_without_contact():
    """2 kg pushed with 24 N against 10 m/s² for half a second: 0.25 m, 6 J; the work of nothing else."""
    motion = appell.simulate(MASS, [0.0], [0.0], 0.5, tau=[24.0])
    assert motion.q[-1] == pytest.approx([0.25])
    assert motion.work.actuators[-1] == pytest.approx(6.0)
    assert not motion.work.passive.any()
    assert not motion.work.contact.any()
    assert motion.problems == ()
    assert motion.stepped_from is None
    free = appell.simulate(MASS, [0.0], [0.0], 0.5)
    assert free.energy[-1] == pytest.approx(free.energy[0], abs=1e-9)
    assert not free.work.actuators.any()


def test_an_unreliable_run_is_a_warning_where_it_was_started():
    model = PointMasses([2.0], [-10.0])
    model.energy = lambda q, qd: np.asarray(q)[..., 0]
    with pytest.warns(
        appell.SimulationWarning, match="the motion of 'masses' is not reliable: its energy balance"
    ) as warned:
        motion = appell.simulate(model, [0.0], [0.0], 0.5)
    assert warned[0].filename == __file__
    assert len(motion.problems) == 1


@pytest.mark.parametrize(("rtol", "given", "expected"), [(1e-6, None, 1e-4), (1e-9, None, 1e-7), (1e-6, 0.25, 0.25)])
def test_the_simultaneity_gap_follows_the_tolerance(monkeypatch, rtol, given, expected):
    class Found(Exception):
        pass

    def environment(plant, pairs, gap):
        raise Found(gap, plant.tracks_work)

    monkeypatch.setattr(simulation, "ContactEnvironment", environment)
    contact, method = appell.ContactOptions(simultaneity_gap=given), Integration(rtol=rtol)
    for friction in (0.0, 0.5):  # of one of two surfaces: its work is part of the state
        surfaces = [appell.surfaces.Plane(friction=friction), appell.surfaces.Plane()]
        with pytest.raises(Found) as caught:
            appell.simulate(ball(), [1.0], [0.0], 1.0, surfaces=surfaces, contact=contact, method=method)
        assert caught.value.args == (pytest.approx(expected), friction > 0.0)


@pytest.mark.parametrize("t_eval", [0.0625, None])
def test_samples_before_and_after_time_stepping_takes_over(monkeypatch, t_eval):
    """A ball that falls from 1 m with e = 0.5; two events within a second count as accumulating here."""
    monkeypatch.setattr("appell.simulation.simulate.ACCUMULATING", ((2, 1.0),))
    floor = appell.surfaces.Plane(restitution=0.5)
    motion = appell.simulate(ball(), [1.0], [0.0], 1.0, surfaces=floor, method="auto", t_eval=t_eval)
    second = 2.0 * np.sqrt(2.0 / 9.81)
    assert motion.stepped_from == pytest.approx(second, abs=1e-9)
    assert motion.t[-1] == 1.0
    if t_eval is not None:
        assert_close(motion.t, 0.0625 * np.arange(17), tolerance=0.0, scale=1.0)
    flight = motion.t < second / 2.0
    assert_close(motion.q[flight, 0], 1.0 - 4.905 * motion.t[flight] ** 2, tolerance=1e-9)
    later = motion.t > second + 1e-9
    rise = motion.t[later] - second
    assert_close(motion.q[later, 0], np.sqrt(2.0 * 9.81) / 4.0 * rise - 4.905 * rise**2, tolerance=2e-5, scale=1.0)


def test_pairs_of_forces_and_memory():
    def controller(period, result, memory=None):
        return SimpleNamespace(period=period, initial_memory=lambda *_: memory, step=lambda *_: result)

    for result in (np.zeros((2, 1)), (1.0,), (1.0, 2.0, 3.0)):
        with pytest.raises(appell.ArgumentError, match=r"must return the pair \(tau, memory\)"):
            appell.simulate(MASS, [0.0], [0.0], 0.1, controller=controller(0.05, result))
    for memory in (None, (), []):
        motion = appell.simulate(MASS, [0.0], [0.0], 0.5, controller=controller(None, ([24.0], memory), memory))
        assert motion.q[-1] == pytest.approx([0.25])
    with pytest.raises(appell.ArgumentError, match="has memory and no period"):
        appell.simulate(MASS, [0.0], [0.0], 0.5, controller=controller(None, ([24.0], 1), (1,)))


# --- files --------------------------------------------------------------------------------------------------------------------


def archive():
    """Arrays and names of a file with three samples of two coordinates and one actuator."""
    data = {name: np.zeros((3, 2)) for name in ("q", "qd", "qdd")}
    data |= {"t": np.zeros(3), "energy": np.zeros(3), "work": np.zeros((3, 3)), "tau": np.zeros((3, 1))}
    data["saturated"] = np.zeros((3, 1), dtype=bool)
    names = {"joint_names": ["a"], "q_names": ["a", "b"], "qd_names": ["a", "b"], "actuator_names": ["u"]}
    return data, names


def test_arrays_of_a_file_fit_each_other():
    files._require_shapes(*archive())
    for name in archive()[0]:
        for change in (lambda x: x[:2], lambda x: x[..., None], lambda x: x.astype(complex)):
            data, names = archive()
            data[name] = change(data[name])
            with pytest.raises(ValueError, match=r"^$"):
                files._require_shapes(data, names)
    for name in archive()[1]:
        for wrong in ("ab", [1, 2], ["a", 2], ("a", "b")):
            data, names = archive()
            names[name] = wrong
            with pytest.raises(ValueError, match=r"^$"):
                files._require_shapes(data, names)
    empty, names = archive()
    with pytest.raises(ValueError, match=r"^$"):
        files._require_shapes(
            {name: each[..., :0] if name == "work" else each[:0] for name, each in empty.items()}, names
        )
    whole, names = archive()
    files._require_shapes({**whole, "q": whole["q"].astype(int)}, names)


def test_columns_of_a_trajectory():
    motion = motion_of([5.0, 6.0, 8.0], [1.0, 2.0, 3.0], q=[0.5, 0.25, 0.125])
    motion = replace(motion, contact_forces={"p": np.arange(9.0).reshape(3, 3)})
    found = files.columns(motion)
    assert list(found) == [
        "q.a", "qd.a", "qdd.a", "tau.a", "saturated.a", "energy", "work.actuators", "work.passive", "work.contact", "balance",
        "contact_forces.p.x", "contact_forces.p.y", "contact_forces.p.z",
    ]  # fmt: skip
    assert found["q.a"].tolist() == [0.5, 0.25, 0.125]
    assert found["contact_forces.p.y"].tolist() == [1.0, 4.0, 7.0]
    assert found["balance"].tolist() == [0.0, 0.0, 1.0]


def test_surfaces_of_a_file(tmp_path):
    """Exactly those of the motion; those with functions are left out, and former files have none."""
    direction, path = (0.3, -0.2, 0.9), tmp_path / "motion.npz"
    shapes = (
        surfaces.Plane(direction, (0.1, 0.2, 0.3), friction=0.6), surfaces.Sphere(2.0, side="outside", restitution=0.5),
        surfaces.Circle(2.5, axis=direction), surfaces.Cylinder(1.5, (1, 2, 3), direction),
        surfaces.Ellipse((2.0, 1.0), major=(0.6, 0.0, 0.8), axis=(0, 1, 0)),
    )  # fmt: skip
    motion = replace(motion_of([0.0] * 3, [0.0] * 3), surfaces=shapes)
    motion.save(path)
    assert Trajectory.load(path).surfaces == shapes
    own = surfaces.ImplicitSurface(lambda p: p[2] - 1.0, lambda p: np.array([0.0, 0.0, 1.0]))
    replace(motion, surfaces=(own, shapes[0])).save(path)
    loaded = Trajectory.load(path)
    assert loaded.surfaces == (None, shapes[0])
    loaded.save(path)
    with np.load(path) as file:
        data = dict(file)
    rest = json.loads(str(data["rest"]))
    assert rest.pop("surfaces")[0] is None
    np.savez(path, **{**data, "rest": np.array(json.dumps(rest))})
    assert Trajectory.load(path).surfaces == ()
    np.savez(path, **{**data, "rest": np.array(json.dumps({**rest, "surfaces": [{"shape": "Cone"}]}))})
    with pytest.raises(appell.ArgumentError, match="is damaged"):
        Trajectory.load(path)


def test_impacts_of_a_file_are_split_by_their_points(tmp_path):
    def hit(time, points, first):
        k = len(points)
        each, state = first + np.arange(float(k)), np.array([first, first + 0.5])
        along = np.stack([each] * 3, axis=1)
        states = state, 4.0 * state, 5.0 * state
        return Impact(time, points, tuple(range(k)), each, along, 2.0 * each, 3.0 * each, 1.0, 0.5, *states)

    impacts = hit(0.25, ("p",), 1.0), hit(0.5, ("p", "r", "s"), 10.0), hit(0.75, ("s", "p"), 20.0)
    motion = replace(
        motion_of([0.0] * 3, [0.0] * 3), impacts=impacts, problems=("weak",), stepped_from=0.5, fallback_steps=(0.25,),
        implicit_intervals=((0.1, 0.2),),
    )  # fmt: skip
    motion.save(tmp_path / "motion.npz")
    again = Trajectory.load(tmp_path / "motion.npz")
    assert (again.problems, again.stepped_from, again.status) == (("weak",), 0.5, "finished")
    assert (again.fallback_steps, again.implicit_intervals) == ((0.25,), ((0.1, 0.2),))
    for one, other in zip(again.impacts, impacts, strict=True):
        assert (one.time, one.points, one.surfaces) == (other.time, other.points, other.surfaces)
        for name in files.IMPACT_ARRAYS:
            assert_close(getattr(one, name), getattr(other, name), tolerance=0.0)
