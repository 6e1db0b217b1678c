"""Section 6 of Shafei and Shafei 2018: the tree in its wall, table 3, with every wall of the paper's claims."""

from __future__ import annotations

import time
from functools import cache

import numpy as np
import pytest
from helpers.closeness import assert_close
from helpers.contact_robots import momentum_error, smallest_gap
from helpers.shared_data import reference

import appell
from appell.loading.load import with_floating_base
from appell.simulation.contact.pairs import ContactPoints

WALL = appell.surfaces.Circle(radius=2.5)
PAIRS = [("O1", "O5"), ("O2", "O4"), ("O8", "O11"), ("O3",), ("O1", "O5")]
MIRROR = {"O1": "O5", "O2": "O4", "O3": "O3", "O6": "O6", "O7": "O10", "O8": "O11", "O9": "O9"}


@cache
def tree() -> appell.Robot:
    return appell.load("shafei_tree")


@cache
def motion(rtol: float = 1e-12, method: str = "DOP853", **options) -> appell.Trajectory:
    return appell.simulate(
        tree(),
        *tree().initial_state,
        1.5,
        surfaces=[WALL],
        contact=appell.ContactOptions(restitution=1.0),
        method=appell.Integration(method, rtol=rtol),
        **options,
    )


def test_initial_state_is_the_papers():
    q, qd = tree().initial_state
    assert_close(np.array(q[:10]) / np.pi, np.array([1, 1, -4, 1, 1, -4, 2, 0, 4, -2]) / 6)
    assert q[10] == q[11] == -(1 + np.sqrt(3)) / 2
    assert not np.any(qd)
    assert appell.Robot.from_dict(tree().to_dict()) == tree()


def test_a_floating_base_keeps_the_initial_state():
    """The tree has its own two translations; another way to fly does not change where it stands at the start."""
    free = with_floating_base(tree())
    q, qd = free.initial_state
    assert (len(q), len(qd)) == (free.nq, free.nv)
    for point in ("O1", "O8"):
        assert_close(free.pose(q, point), tree().pose(tree().initial_state[0], point))


def test_tree_states():
    states = reference("tree_states")["states"]
    assert states
    for state in states:
        q, qd, qdd = (np.array(state[key]) for key in ("theta", "thetad", "thetadd"))
        assert_close(tree().mass_matrix(q), np.array(state["M"]), tolerance=1e-12)
        assert_close(tree().bias(q, qd), np.array(state["bias"]), tolerance=1e-12)
        assert_close(tree().inverse_dynamics(q, qd, qdd), np.array(state["tau"]), tolerance=1e-12)
        assert_close(tree().forward_dynamics(q, qd, np.zeros(12)), np.array(state["acc_free"]), tolerance=1e-12)


def test_table_3_to_all_six_decimals():
    expected = reference("tree_impacts")
    impacts = motion().impacts
    assert len(impacts) == len(expected["events"]) == 5
    for impact, event in zip(impacts, expected["events"], strict=True):
        assert impact.points == tuple(f"O{i}" for i in event["points"])
        assert round(impact.time, 6) == event["t"]
        for values, number in (
            (np.degrees(impact.incidence), event["alpha_incidence_deg"]),
            (impact.normal_velocity_change, event["dv_normal"]),
            (impact.impulses, event["impulse"]),
        ):
            assert_close(values, np.full(len(impact.points), number), tolerance=0.51e-6, scale=1.0)
    assert round(float(motion().energy[0]), 6) == expected["energy"]


def test_energy_is_constant_to_1e_9_joule():
    assert np.abs(motion().energy - motion().energy[0]).max() < 1e-9
    for impact in motion().impacts:
        assert abs(impact.energy_after - impact.energy_before) < 1e-11


def test_mirror_symmetry_is_kept():
    own, other = (ContactPoints(tree(), [appell.Point(name) for name in names]) for names in (MIRROR, MIRROR.values()))
    p, v = own.positions_and_velocities(motion().q, motion().qd)
    p_other, v_other = other.positions_and_velocities(motion().q, motion().qd)
    mirror = np.array([-1.0, 1.0, 1.0])
    assert np.abs(p * mirror - p_other).max() < 1e-9
    assert np.abs(v * mirror - v_other).max() < 1e-7
    for impact in motion().impacts:
        assert np.ptp(impact.impulses) < 1e-8


def test_no_point_leaves_the_wall():
    assert smallest_gap(tree(), motion(), [WALL]) > -1e-11
    assert smallest_gap(tree(), motion(t_eval=1e-3), [WALL]) > -1e-11


def test_momentum_balance():
    assert max(momentum_error(tree(), impact, [WALL]) for impact in motion().impacts) < 1e-12


@pytest.mark.parametrize("rtol", [1e-6, 1e-8, 1e-10])
def test_lower_accuracy_finds_the_same_impacts_in_order_and_pairing(rtol):
    found = motion(rtol)
    assert [impact.points for impact in found.impacts] == PAIRS
    for impact, exact in zip(found.impacts, motion().impacts, strict=True):
        assert impact.time == pytest.approx(exact.time, abs=2 * rtol)


@pytest.mark.parametrize("method", ["RK45", "Radau", "LSODA"])
def test_other_integrators_find_the_same_impacts(method):
    assert [impact.points for impact in motion(1e-7, method).impacts] == PAIRS


def test_the_printed_start_is_not_symmetric():
    """With X1 = X2 = -1.366 O5 hits 9.1e-6 s before O1, and what follows is another motion; a wide window mends it."""
    q, qd = (np.array(each) for each in tree().initial_state)
    q[10:] = -1.366
    lone = appell.simulate(tree(), q, qd, 0.39, surfaces=[WALL], method=appell.Integration(rtol=1e-12))
    assert [impact.points for impact in lone.impacts][:2] == [("O5",), ("O1",)]
    assert lone.impacts[1].time - lone.impacts[0].time == pytest.approx(9.1e-6, rel=0.1)
    merged = appell.simulate(
        tree(),
        q,
        qd,
        1.5,
        surfaces=[WALL],
        method=appell.Integration(rtol=1e-12),
        contact=appell.ContactOptions(simultaneity_gap=1e-3),
    )
    assert [impact.points for impact in merged.impacts] == PAIRS


def test_a_run_takes_less_than_3_seconds_of_one_core():
    """Of processor time, because other work may share the machine; the paper needed 40 hours."""
    appell.simulate(tree(), *tree().initial_state, 0.5, surfaces=[WALL])  # compiled and traced
    start = time.process_time()
    appell.simulate(tree(), *tree().initial_state, 1.5, surfaces=[WALL], method=appell.Integration(rtol=1e-12))
    assert time.process_time() - start < 3.0


def test_half_restitution_loses_energy_at_every_impact():
    damped = appell.simulate(
        tree(),
        *tree().initial_state,
        1.5,
        surfaces=[WALL],
        contact=appell.ContactOptions(restitution=0.5),
        method=appell.Integration(rtol=1e-10),
    )
    assert damped.status == "finished"
    assert len(damped.impacts) > 5
    for impact in damped.impacts:
        assert impact.energy_after <= impact.energy_before
        assert momentum_error(tree(), impact, [WALL]) < 1e-12
        assert impact.impulses.min() > 0.0
    rises = np.diff(damped.energy)
    assert rises.max() < 1e-7, "what the integrator adds at rtol = 1e-10"
    assert smallest_gap(tree(), damped, [WALL]) > -1e-9
