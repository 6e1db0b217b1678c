"""Joints that share a motor shaft are found without any option, and only these."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from helpers.recorded_motion import TX40_TRANSMISSION, tx40, tx40_recording
from helpers.shared_data import shared

import appell
from appell.identification import Coupling, LoadFriction
from appell_lab.recordings import Plant, random_motion, record

INERTIA, VISCOUS, COULOMB = 0.2, 1.0, 1.5


def identified(ratio: float):
    """The wrist of the PUMA, three joints, with a shaft that turns with the last two; ratio 0 for none."""
    robot = appell.load("puma560").lock({"joint1": 0.0, "joint2": 0.4, "joint3": 0.2})
    plant = Plant.of(robot, 1, force=0.02, stribeck=0.0, width=0.01)
    motion = random_motion(robot, 3, 10.0, 5, 1.0)
    recording = record(plant, motion, 20.0, 0.01, 0)
    added = Coupling(1, 2, 0.01, ratio).columns(*motion(recording.t)) @ [INERTIA, VISCOUS, COULOMB] if ratio else 0.0
    return appell.identify(robot, replace(recording, tau=recording.tau + added))


@pytest.mark.parametrize("ratio", [1.0, -1.0])
def test_a_shaft_that_turns_with_two_joints_is_found(ratio):
    fit = identified(ratio)
    pair = f"joint5{'+' if ratio > 0 else '-'}joint6"
    assert [(term.first, term.second, term.ratio) for term in fit.terms if isinstance(term, Coupling)] == [
        (1, 2, ratio)
    ]
    for name, value in (("Iam", INERTIA), ("fvm", VISCOUS), ("fcm", COULOMB)):
        found, error = fit.value(f"{name}[{pair}]")
        assert abs(found - value) < 4.0 * error
    assert any("motor shaft turns with joint5" in step for step in fit.steps)


def test_no_shaft_is_found_where_there_is_none():
    assert not any(isinstance(term, Coupling) for term in identified(0.0).terms)


def test_friction_that_is_chosen_later_explains_a_shaft_away():
    """Strong friction in proportion to the load looks like a shaft of the last two joints, until it is a term itself."""
    robot = appell.load(shared("robots/iiwa14.urdf"))
    plant = Plant.of(robot, 11, force=0.05, colour=0.7, encoder=5e-5, stribeck=0.6, width=0.02)
    motion = random_motion(robot, 11, 15.0, 6, 0.6)
    recording = record(plant, motion, 25.0, 0.008, 11)
    q, qd, _ = motion(recording.t)
    friction = 0.2 * np.abs(plant.robot.gravity(q)) * np.tanh(qd / 0.02) + 0.3 * plant.viscous * np.abs(qd)
    fit = appell.identify(robot, replace(recording, tau=recording.tau + friction))
    assert any("motor shaft turns with" in step for step in fit.steps)
    assert any(step == "with the friction chosen, no motor shaft turns with two joints" for step in fit.steps)
    assert not any(isinstance(term, Coupling) for term in fit.terms)
    assert any(isinstance(term, LoadFriction) for term in fit.terms)


def test_the_power_of_a_shaft_is_that_of_its_own_motion():
    """With its own parts in `Rotor` and `Viscous`, forces times velocities are (I dw/dt + fv w + fc sign w) w."""
    qd, qdd = np.random.default_rng(0).normal(size=(2, 20, 2))
    ratio, w, dw = -0.5, qd[:, 0] - 0.5 * qd[:, 1], qdd[:, 0] - 0.5 * qdd[:, 1]
    own = np.array([1.0, ratio**2])
    forces = Coupling(0, 1, 0.0, ratio).columns(qd, qd, qdd) @ [INERTIA, VISCOUS, COULOMB]
    forces = forces + own * (INERTIA * qdd + VISCOUS * qd)
    power = (INERTIA * dw + VISCOUS * w + COULOMB * np.sign(w)) * w
    np.testing.assert_allclose((forces * qd).sum(axis=1), power, rtol=1e-12, atol=1e-13)


def test_the_wrist_of_the_tx40_by_default():
    fit = appell.identify(tx40(), *tx40_recording(), transmission=TX40_TRANSMISSION)
    couplings = [replace(term, width=0.0) for term in fit.terms if isinstance(term, Coupling)]
    assert couplings == [Coupling(4, 5)]
    assert fit.relative_error.total < 0.086
    assert fit.raw_error.total < 0.165
