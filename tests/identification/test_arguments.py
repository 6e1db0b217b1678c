"""Options of `appell.identify`, units of time, and files that are not recordings: errors name each."""

from __future__ import annotations

import numpy as np
import pytest

import appell
from appell.cli import main
from appell.identification import Estimator, Filtering, Holdout, Transmission
from appell.identification.recording import read_recording

T = np.arange(0.0, 8.0, 0.004)


def swing(pace: float = 1.0, t: np.ndarray = T):
    """A motion of a planar arm and its torques, at another pace."""
    arm, s = appell.load("planar2r"), pace * t[:, None]
    q = np.hstack([np.sin(2 * s) + 0.5 * np.sin(5 * s), np.cos(3 * s) + 0.3 * np.sin(7 * s)])
    qd = np.hstack([2 * np.cos(2 * s) + 2.5 * np.cos(5 * s), -3 * np.sin(3 * s) + 2.1 * np.cos(7 * s)])
    qdd = np.hstack([-4 * np.sin(2 * s) - 12.5 * np.sin(5 * s), -9 * np.cos(3 * s) - 14.7 * np.sin(7 * s)])
    return arm, q, qd * pace, qdd * pace**2


GROUPS = {"estimator": Estimator, "filtering": Filtering, "holdout": Holdout, "transmission": Transmission}


def identified(**options):
    """Options of a group are given as a dictionary."""
    options = {name: GROUPS[name](**value) if name in GROUPS else value for name, value in options.items()}
    arm, q, qd, qdd = swing()
    return appell.identify(arm, T, q, arm.inverse_dynamics(q, qd, qdd), terms=(), **options)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"estimator": {"weights": [1, 2, 3]}}, r"weights has shape \(3,\), expected \(2,\) positive numbers, one per joint"),
        ({"estimator": {"weights": [-1, 2]}}, r"weights is \[-1.0, 2.0\], expected \(2,\) positive numbers"),
        ({"estimator": {"weights": ["a", "b"]}}, r"weights is \['a', 'b'\], expected real numbers"),
        ({"estimator": {"weights": "heavy"}}, "unknown weights 'heavy'"),
        ({"transmission": {"torque_constants": [1, 2, 3]}}, r"has shape \(3,\), expected \(2,\), one per joint"),
        ({"transmission": {"torque_constants": [1, np.nan]}}, r"torque_constants\[1\] is nan, expected a finite number"),
        ({"transmission": {"ratio": [1.0, 2.0, 3.0]}}, "transmission has 3 joints, 'planar2r' has nq = 2"),
        ({"holdout": {"every": 1}}, "every is 1, expected 0 .* or an integer >= 2"),
        ({"holdout": {"every": -1}}, "every is -1, expected 0"),
        ({"holdout": {"every": 2.5}}, "every is 2.5, expected 0"),
        ({"holdout": {"block": 0}}, r"block is 0, expected a positive number \[s\]"),
        ({"holdout": {"block": float("nan")}}, "block is nan, expected a positive number"),
        ({"estimator": {"prior_std": -1}}, "prior_std is -1, expected a positive number"),
        ({"filtering": {"decimation": "two"}}, "decimation is 'two', expected an integer >= 1"),
        ({"qd": np.zeros((7, 2))}, r"qd has shape \(7, 2\), expected \(2000, 2\): one row per sample of t, q and tau"),
        ({"qd": np.full((2000, 2), np.inf)}, r"qd\[\(0, 0\)\] is inf"),
        ({"qd": np.zeros((2000, 2)), "qdd": np.zeros(2000)}, r"qdd has shape \(2000,\), expected \(2000, 2\)"),
    ],
)  # fmt: skip
def test_arguments_without_meaning(options, told):
    with pytest.raises(appell.ArgumentError, match=told):
        identified(**options)


@pytest.mark.parametrize("physical", [False, True])
@pytest.mark.parametrize(
    ("prior", "told"),
    [
        ("puma560", "prior 'puma560' does not have the structure of 'planar2r': 6 moving links, expected 2"),
        ("four_bar", "prior is a ClosedLoopRobot, expected an appell.Robot"),
        ("agile_wrist", "prior is a SphericalRobot"),
    ],
)
def test_priors_of_another_structure(prior, told, physical):
    with pytest.raises(appell.ArgumentError, match=told):
        identified(estimator={"prior": appell.load(prior)}, physical=physical)


def test_a_prior_of_as_many_links_with_other_joints():
    slide = appell.Robot.from_dh(
        [0.0, 0.0], [0.0, 0.5], [0.0, 0.0], mass=[1.0, 1.0], inertia=[np.eye(3)] * 2, joints="RP"
    )
    with pytest.raises(appell.ArgumentError, match="The first joint that differs is 'joint2'"):
        identified(estimator={"prior": slide})


def test_arguments_with_a_meaning_are_taken():
    plain = identified()
    constants = ({"transmission": {"torque_constants": value}} for value in ([1.0, 1.0], np.eye(2), 1.0))
    for options in ({"estimator": {"weights": [1, 2]}}, *constants, {"holdout": {"every": 0}}):
        found = identified(**options)
        assert np.abs(found.base_parameters - plain.base_parameters).max() < 1e-3


def test_milliseconds_are_named():
    arm, q, qd, qdd = swing()
    tau = arm.inverse_dynamics(q, qd, qdd)
    for factor in (1e3, 1e6):
        with pytest.raises(
            appell.IdentificationError, match=r"t increases by .* milliseconds, or finer. Pass t / 1000"
        ):
            appell.identify(arm, factor * T, q, tau, terms=())


@pytest.mark.parametrize(("pace", "step"), [(0.02, 0.2), (0.001, 0.04)])
def test_slow_motions_and_slow_sampling_are_taken(pace, step):
    """A minute across the travel at 5 Hz, and a quarter of an hour at 25 Hz."""
    t = np.arange(0.0, 8.0 / pace, step)
    arm, q, qd, qdd = swing(pace, t)
    found = appell.identify(arm, t, q, arm.inverse_dynamics(q, qd, qdd), terms=(), qd=qd, qdd=qdd)
    assert found.relative_error.total < 1e-3


def test_robots_without_joints_have_no_base_parameters():
    stone = appell.RobotBuilder("stone").body("rock", mass=1.0, inertia=(1.0, 1.0, 1.0)).build()
    for call in (appell.base_parameters, appell.excitation):
        with pytest.raises(appell.IdentificationError, match="'stone' has no joint that moves"):
            call(stone)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("", "data.csv: the file is empty. Expected a header t, q.JOINT"),
        ("0,1,2,3,4\n1,1,2,3,4\n", "data.csv: no header: the first line has numbers only"),
        ("t,q1,q2,tau1,tau2\n", "data.csv: no rows below the header"),
        ("t,q1,q2,tau1,tau2\n0,1,2,3,4\n\n1,1,a,3,4\n", "data.csv:4: 'a' in column 'q2' is not a number"),
        ("t,q1,q2,tau1,tau2\n0,1,2,3,4\n1,1,3,4\n", "data.csv:3: 4 cells, the header has 5 names"),
        (b"\xff\xfe\x00\x81", "data.csv: not a text file"),
    ],
)
def test_tables_that_are_none(tmp_path, content, told):
    path = tmp_path / "data.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(appell.IdentificationError, match=told):
        read_recording(path, appell.load("planar2r"))


def test_cells_of_columns_that_are_not_used_may_be_words(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("t,q1,q2,note,tau1,tau2\n0,1,2,begin,3,4\n1,1,,end,3,4\n")
    record = read_recording(path, appell.load("planar2r"))
    assert np.isnan(record.q[1, 1])
    assert record.tau.tolist() == [[3.0, 4.0], [3.0, 4.0]]


def test_archives_that_are_none(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.npz").write_text("t,q1,q2\n")
    assert main(["identify", "planar2r", "bad.npz"]) == 1
    told = capsys.readouterr().err
    assert "bad.npz is not an archive of NumPy arrays" in told
    assert "Write one with np.savez" in told
    (tmp_path / "cut.npz").write_bytes(b"PK\x03\x04 cut off")
    with (tmp_path / "one.npz").open("wb") as file:
        np.save(file, np.zeros(3))
    for name in ("cut.npz", "one.npz"):
        with pytest.raises(appell.IdentificationError, match=f"{name} is not an archive"):
            read_recording(name, appell.load("planar2r"))


def test_gains_of_the_command(tmp_path, capsys):
    arm, q, qd, qdd = swing()
    np.savez(tmp_path / "data.npz", t=T, q=q, tau=arm.inverse_dynamics(q, qd, qdd))
    assert main(["identify", "planar2r", str(tmp_path / "data.npz"), "--torque-constants", "1,2,3"]) == 1
    assert "error: torque_constants has shape (3,), expected (2,)" in capsys.readouterr().err
    assert main(["identify", "planar2r", str(tmp_path / "data.npz"), "--hold-out", "1"]) == 1
    assert "error: every is 1" in capsys.readouterr().err
