"""Exported robots give the forces of the fit again: in this library, and in Pinocchio with the armature set."""

from __future__ import annotations

import re

import numpy as np
import pytest
from helpers.closeness import assert_close

import appell
from appell.identification import Coulomb, Filtering
from appell_lab.recordings import Plant, random_motion, record


@pytest.fixture(scope="module")
def fit():
    """Three joints of a PUMA with rotors and friction, links physically consistent."""
    robot = appell.load("puma560").lock({"joint4": 0.2, "joint5": 0.3, "joint6": 0.0})
    plant = Plant.of(robot, 1, force=0.02, stribeck=0.0, width=0.01)
    recording = record(plant, random_motion(robot, 1, 10.0, 5, 1.0), 20.0, 0.01, 0)
    terms = ("rotor", "viscous", Coulomb(0.01), "offset")
    return appell.identify(robot, recording, terms=terms, filtering=Filtering(8.0), physical=True)


def states() -> np.ndarray:
    return np.random.default_rng(0).uniform(-1.5, 1.5, (3, 40, 3))


def listed(text: str, symbol: str, robot: appell.Robot) -> np.ndarray:
    """Values of a term in the comment at the end of the file."""
    return np.array([float(re.search(rf"{symbol}\[{name}\] = (\S+)", text)[1]) for name in robot.joint_names])


def friction(robot: appell.Robot, qd: np.ndarray) -> np.ndarray:
    joints = robot.moving_joints
    return np.array([j.damping for j in joints]) * qd + np.array([j.friction for j in joints]) * np.tanh(qd / 0.01)


def test_reloaded_in_this_library(fit, tmp_path):
    q, qd, qdd = states()
    text = fit.to_urdf(tmp_path / "arm.urdf")
    robot = appell.load(tmp_path / "arm.urdf")
    tau = robot.inverse_dynamics(q, qd, qdd) + friction(robot, qd) + listed(text, "offset", robot)
    assert_close(tau, fit.predict(q, qd, qdd), tolerance=1e-7)


def test_reloaded_in_pinocchio(fit, tmp_path):
    """Pinocchio takes the rotor inertias, which the comment lists, as `model.armature`; its friction is apart from `rnea`."""
    pin = pytest.importorskip("pinocchio")
    q, qd, qdd = states()
    text = fit.to_urdf(tmp_path / "arm.urdf")
    robot = appell.load(tmp_path / "arm.urdf")
    model = pin.buildModelFromUrdf(str(tmp_path / "arm.urdf"))
    assert list(model.names)[1:] == list(robot.joint_names)

    def forces() -> np.ndarray:
        turned = [pin.integrate(model, pin.neutral(model), each) for each in q]  # continuous joints: cosine and sine
        return np.array([pin.rnea(model, model.createData(), *each) for each in zip(turned, qd, qdd, strict=True)])

    without = forces()
    model.armature = listed(text, "Ia", robot)
    rest = friction(robot, qd) + listed(text, "offset", robot)
    assert_close(forces() + rest, fit.predict(q, qd, qdd), tolerance=1e-7)
    assert_close(forces() - without, qdd * model.armature, tolerance=1e-9)
    assert_close(np.asarray(model.damping), [joint.damping for joint in robot.moving_joints], tolerance=1e-12)
