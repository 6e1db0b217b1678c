"""Every defect of a recording is named with its place and a remedy."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.recorded_motion import TERMS, lossy_puma, puma_recording

import appell


def damaged(**changes):
    """A copy of the recording, with parts replaced by functions of it."""
    record = puma_recording()
    parts = {"t": record.t.copy(), "q": record.q.copy(), "tau": record.tau.copy()}
    for name, change in changes.items():
        parts[name] = change(parts[name])
    return parts["t"], parts["q"], parts["tau"]


def with_nan(q):
    q[::4, 2] = np.nan
    return q


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"q": with_nan}, r"q of 'joint3' is nan at sample 0: 1875 of 7500 numbers are missing"),
        ({"tau": lambda tau: np.where(np.arange(6) == 4, np.inf, tau)}, r"tau of 'joint5' is inf at sample 0"),
        ({"tau": np.zeros_like}, "tau is 0 in all samples"),
        ({"q": np.rad2deg}, r"joint 'joint1' reaches .* at up to .* rad/s: these are degrees.* Pass np.deg2rad\(q\)"),
        ({"q": lambda q: q[:-7]}, r"differ in length: t has 7500, q has 7493, tau has 7500 samples"),
        ({"q": lambda q: q.T}, r"q has shape \(6, 7500\), expected \(N, 6\).* It is transposed"),
        ({"tau": lambda tau: tau[:, :5]}, r"tau has shape \(7500, 5\), expected \(N, 6\)"),
        ({"t": lambda t: t[:, None]}, r"t has shape \(7500, 1\), expected \(N,\)"),
        ({"t": lambda t: t[::-1]}, r"t does not increase: t\[1\] = 29.992 s follows t\[0\] = 29.996 s, and 7499 of 7500"),
    ],
    ids=["gaps", "infinite", "no force", "degrees", "lengths", "transposed", "columns", "times", "backwards"],
)  # fmt: skip
def test_defects_of_the_data(changes, told):
    with pytest.raises(appell.IdentificationError, match=told):
        appell.identify(lossy_puma(), *damaged(**changes), terms=TERMS)


def test_a_robot_that_stands_still_tells_gravity_and_offsets_in_combination_only():
    t, q, tau = damaged(q=lambda q: np.zeros_like(q) + 0.3)
    with pytest.raises(appell.IdentificationError, match=r"does not excite \d+ of 58 base parameters") as told:
        appell.identify(lossy_puma(), t, q, tau, terms=TERMS)
    text = str(told.value)
    alone = text.split("Without effect: ")[1].split(". Identifiable only")[0]
    assert "Izz[link1]*" in alone
    assert "fv[joint3]" in alone
    assert "Ia[joint6]" in alone
    assert "mx[link2]*" in text.split("only in combination: ")[1]
    assert "appell.excitation" in text


def test_noise_of_encoders_does_not_pass_for_motion():
    rng = np.random.default_rng(0)
    t, q, tau = damaged(q=lambda q: 0.3 + 1e-5 * rng.normal(size=q.shape))
    with pytest.raises(appell.IdentificationError, match="does not excite"):
        appell.identify(lossy_puma(), t, q, tau, terms=TERMS)


def test_one_joint_that_stands_still_leaves_its_friction_unknown():
    t, q, tau = damaged(q=lambda q: np.where(np.arange(6) == 3, 0.2, q))
    with pytest.raises(
        appell.IdentificationError,
        match=r"Without effect: .*fv\[joint4\].*not move, or whose encoders are stuck: joint4\.",
    ):
        appell.identify(lossy_puma(), t, q, tau, terms=TERMS)
    prior = appell.identify(lossy_puma(), t, q, tau, terms=TERMS, physical=True)
    assert prior.consistent.all()


def test_rows_without_meaning_and_short_recordings():
    robot = appell.load("planar2r")
    with pytest.raises(appell.ArgumentError, match="must be arrays of real numbers"):
        appell.identify(robot, [0.0, "a"], [[0.0, 0.0]] * 2, [[0.0, 0.0]] * 2)
    with pytest.raises(appell.IdentificationError, match="has 5 samples, expected at least 20"):
        appell.identify(robot, np.arange(5.0), np.zeros((5, 2)), np.zeros((5, 2)))


def test_parameters_that_no_body_has_are_not_written():
    """Two links at one place cannot be told apart; least squares puts mass where it likes."""
    robot, record = lossy_puma(), puma_recording()
    found = appell.identify(robot, record.t, record.q, -record.tau, terms=TERMS)
    assert not found.consistent.all()
    with pytest.raises(
        appell.IdentificationError, match=r"the parameters of .* are not physically consistent.* physical=True"
    ):
        found.to_urdf()


@pytest.mark.filterwarnings("ignore::appell.errors.IdentificationWarning")
def test_an_interval_without_any_force_of_a_joint_is_left_out():
    """After a gap in time the force of one joint is missing to the end."""
    robot = appell.load("planar2r")
    t = np.arange(0.0, 10.0, 0.01)
    q, qd, qdd = appell.excitation(robot, 5.0, 3, iterations=0)(t)
    tau = robot.inverse_dynamics(q, qd, qdd)
    tau[900:, 1] = np.nan
    found = appell.identify(robot, np.where(t < 8.995, t, t + 1.0), q, tau, terms=("viscous",))
    assert found.relative_error.total < 1e-3
    assert found.value("fv[joint1]")[0] == pytest.approx(0.0, abs=1e-3)
