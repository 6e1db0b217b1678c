"""Payloads and torque constants from recordings with and without a load."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import appell
from appell.cli import main
from appell.identification import Recording, Transmission, identify_gains, identify_payload
from appell_lab.recordings import Plant, random_motion, record

GAINS = np.array([11.0, 13.0, 12.0, 8.0])
LOAD = {"mass": 3.0, "com": (0.02, 0.05, 0.1), "inertia": (0.02, 0.03, 0.04)}


@pytest.fixture(scope="module")
def recordings():
    """A four-joint arm without and with a load; two motions, noise of 1 %."""
    robot = appell.load("puma560").lock({"joint5": 0.3, "joint6": 0.0})
    plant = Plant.of(robot, 1, force=0.01, stribeck=0.0, width=0.01)
    loaded = replace(plant, robot=plant.robot.with_payload(**LOAD, at="link4"))
    motions = (random_motion(robot, seed, 10.0, 5, 1.0) for seed in (1, 2))
    plants = (plant, loaded)
    return robot, *(record(p, m, 20.0, 0.01, seed) for seed, (p, m) in enumerate(zip(plants, motions, strict=True)))


def test_a_payload_from_two_recordings(recordings):
    robot, first, second = recordings
    found = identify_payload(robot, first, second)
    assert found.at == "link4"
    assert not found.findings
    assert found.mass == pytest.approx(3.0, abs=3.0 * found.standard_errors[0])
    assert found.standard_errors[0] < 0.02
    assert found.com == pytest.approx(LOAD["com"], abs=0.002)
    body = found.on(robot).body("payload")
    assert body.mass == pytest.approx(3.0, rel=0.02)
    assert "Payload at 'link4'" in str(found)


def test_a_payload_that_does_not_show(recordings):
    robot, first, _ = recordings
    half = len(first) // 2
    parts = (Recording(first.t[rows], first.q[rows], first.tau[rows]) for rows in (slice(half), slice(half, None)))
    found = identify_payload(robot, *parts)
    assert [each.kind for each in found.findings] == ["payload"]
    with pytest.raises(appell.ArgumentError, match="at is 'hand', expected one of the moving bodies"):
        identify_payload(robot, first, first, at="hand")


def test_torque_constants_with_a_known_payload(recordings):
    robot, *torques = recordings
    first, second = (replace(each, tau=each.tau / GAINS, currents=True) for each in torques)
    found = identify_gains(robot, first, None, second, robot.with_payload(**LOAD, at="link4"))
    assert found.scale == "payload"
    assert found.values == pytest.approx(GAINS, rel=0.02)
    assert (np.abs(found.values - GAINS) < 4.0 * found.standard_errors).all()
    fit = appell.identify(robot, first, transmission=found.transmission)
    assert fit.validate(first).filtered.total < 0.02


def test_torque_constants_of_some_drives(recordings):
    """Joints 2 and 3 lift the same links: the constant of one decides that of the other."""
    robot, first, _ = recordings
    currents = replace(first, tau=first.tau / GAINS, currents=True)
    found = identify_gains(robot, currents, {"joint2": 13.0})
    assert found.scale == "known constants"
    assert found.values[1] == 13.0
    assert found.standard_errors[1] == 0.0
    assert found.values[2] == pytest.approx(12.0, abs=4.0 * found.standard_errors[2])
    assert found.standard_errors[2] < 0.5
    unknown = identify_gains(robot, currents)
    assert unknown.scale == "description"
    assert any(each.where == "all" for each in unknown.findings)
    assert unknown.values[2] / unknown.values[1] == pytest.approx(12.0 / 13.0, rel=0.05)
    with pytest.raises(appell.ArgumentError, match="expected positive torque constants"):
        identify_gains(robot, currents, [1.0, -2.0, 1.0, 1.0])


def test_currents_without_constants_are_a_finding(recordings):
    robot, first, _ = recordings
    with pytest.warns(appell.IdentificationWarning, match="the forces are currents and no torque constants are given"):
        appell.identify(robot, replace(first, currents=True), terms=("viscous", "coulomb"))


def test_payload_and_constants_on_the_command_line(recordings, tmp_path, monkeypatch, capsys):
    robot, first, second = recordings
    monkeypatch.chdir(tmp_path)
    robot.to_urdf("arm.urdf")
    header = ",".join(["timestamp", *(f"actual_q_{k}" for k in range(4)), *(f"actual_current_{k}" for k in range(4))])
    for name, each in (("a.csv", first), ("b.csv", second)):
        table = np.column_stack([each.t, each.q, each.tau / GAINS])
        np.savetxt(name, table, delimiter=",", header=header, comments="", fmt="%.9g")
    constants = ",".join(map(str, GAINS))
    assert main(["identify", "arm.urdf", "a.csv", "--payload", "b.csv", "--torque-constants", constants]) == 0
    shown = capsys.readouterr().out
    assert "Payload at 'link4'" in shown
    load = ",".join(map(str, (LOAD["mass"], *LOAD["com"])))
    assert main(["identify", "arm.urdf", "a.csv", "--payload", "b.csv", "--known-payload", load]) == 0
    assert "Their common factor comes from: payload" in capsys.readouterr().out


def test_recordings_of_motors_are_validated_like_those_of_the_fit(recordings):
    robot, first, _ = recordings
    gains = Transmission(torque_constants=GAINS)
    currents = replace(first, tau=first.tau / GAINS, currents=True)
    fit = appell.identify(robot, currents, transmission=gains, terms=("rotor", "viscous", "coulomb", "offset"))
    assert fit.validate(currents).filtered.total == pytest.approx(fit.relative_error.total, rel=0.2)
