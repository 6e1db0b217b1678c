"""Events of the user's own, and the progress of a run."""

from __future__ import annotations

import math

import numpy as np
import pytest
from helpers.contact_robots import ball

import appell
from appell.progress import Progress

FALL = math.sqrt(2 / 9.81)


def halfway(t, q, qd):
    return q[0] - 0.5


def test_zeros_are_found_and_kept_with_their_state():
    motion = appell.simulate(ball(), [1.0], [0.0], 0.6, surfaces=[appell.surfaces.Plane()], events=[halfway])
    down, up = motion.events
    assert down.name == "halfway"
    assert down.number == 0
    assert down.time == pytest.approx(FALL / math.sqrt(2), abs=1e-12)
    assert up.time == pytest.approx(2 * FALL - FALL / math.sqrt(2), abs=1e-9)
    assert down.q.item() == pytest.approx(0.5)
    assert down.qd.item() == pytest.approx(-math.sqrt(9.81))
    assert motion.status == "finished"


@pytest.mark.parametrize(("direction", "count"), [(0, 2), (1, 1), (-1, 1)])
def test_directions(direction, count):
    def level(t, q, qd):
        return q[0] - 0.5

    level.direction = direction
    motion = appell.simulate(ball(), [1.0], [0.0], 0.8, surfaces=[appell.surfaces.Plane()], events=[level])
    assert len(motion.events) == count


@pytest.mark.parametrize("method", ["DOP853", "rk4", "semi_implicit_euler", "midpoint", "moreau"])
def test_the_state_of_a_terminal_event_is_the_last_one(method):
    """Also where a contact is closed, to which the state is projected."""

    def half(t, q, qd):
        return q[1] - 0.5

    half.terminal = True
    bead = (
        appell.RobotBuilder("bead")
        .body("guide", 1.0, inertia=(0.1, 0.1, 0.1))
        .body("bead", 1.0, inertia=(0.1, 0.1, 0.1))
    )
    bead = bead.prismatic("y", "base", "guide", axis="y").prismatic("x", "guide", "bead", axis="x").build()
    tube, contact = appell.surfaces.Circle(1.0), appell.ContactOptions(points=["bead"])
    motion = appell.simulate(
        bead, [-1.0, 0.0], [0.0, 1.0], 2.0, surfaces=tube, contact=contact, method=method, events=half
    )
    (event,) = motion.events
    assert (event.time, event.q.tolist(), event.qd.tolist()) == (
        motion.t[-1],
        *(x[-1].tolist() for x in (motion.q, motion.qd)),
    )
    assert motion.contacts


def test_a_terminal_event_stops_the_run():
    def stop(t, q, qd):
        return q[0] - 0.5

    stop.terminal = True
    motion = appell.simulate(ball(), [1.0], [0.0], 5.0, surfaces=[appell.surfaces.Plane()], events=[halfway, stop])
    assert motion.status == "stopped by stop"
    assert motion.t[-1] == motion.events[-1].time == pytest.approx(FALL / math.sqrt(2), abs=1e-12)
    assert motion.q[-1].item() == pytest.approx(0.5, abs=1e-12)


def test_the_state_where_a_run_stops_is_a_sample():
    def stop(t, q, qd):
        return q[0] - 0.5

    stop.terminal = True
    motion = appell.simulate(ball(), [1.0], [0.0], 5.0, events=[stop], t_eval=[4.0, 5.0])
    assert motion.t.tolist() == [motion.events[0].time]
    assert motion.q[-1].item() == pytest.approx(0.5, abs=1e-12)


def test_an_impact_can_be_the_zero_of_a_function_of_speed():
    def speed(t, q, qd):
        return qd[0]

    speed.direction = 1
    motion = appell.simulate(ball(), [1.0], [-1.0], 0.5, surfaces=[appell.surfaces.Plane()], events=[speed])
    (event,) = motion.events
    assert event.time == motion.impacts[0].time


def test_events_with_fixed_steps():
    motion = appell.simulate(ball(), [1.0], [0.0], 0.6, method=appell.Integration("rk4", dt=0.05), events=[halfway])
    assert motion.events[0].time == pytest.approx(FALL / math.sqrt(2), abs=1e-12)


@pytest.mark.parametrize(
    ("events", "message"),
    [(["height"], "events has a str"), ([lambda t, q, qd: math.nan], "returns nan at t = 0 s"),
     ([lambda t, q, qd: np.zeros(2)], "expected a number")],
)  # fmt: skip
def test_wrong_events_are_refused(events, message):
    with pytest.raises(appell.ArgumentError, match=message):
        appell.simulate(ball(), [1.0], [0.0], 0.6, events=events)


def test_progress_is_shown_on_a_terminal_alone(monkeypatch, capsys):
    appell.simulate(ball(), [1.0], [0.0], 0.5)
    assert capsys.readouterr().err == ""
    shown = []
    monkeypatch.setattr("appell.progress.show", lambda share, text, seconds: shown.append((share, text)))
    line = Progress("ball", 2.0, True)
    line.show(0.5)
    assert not shown, "short runs stay quiet"
    line._next = 0.0
    line.show(0.5)
    assert shown == [(0.25, "simulating ball: 0.5 of 2 s")]
