"""Tables, notes and uncertainties of a result against its numbers, and the robot with identified parameters."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from helpers.closeness import assert_close

import appell
from appell.identification import Estimator, Filtering
from appell.identification.essential import EssentialParameters
from appell.identification.findings import Finding
from appell.identification.identified_robot import identified_robot, urdf_comment
from appell.identification.validation import RelativeError, Validation
from appell.model.joint import Mimic
from appell.robot.regressor_terms import Coulomb, Offset, Rotor, Viscous


@pytest.fixture(scope="module")
def fit():
    """A planar arm with viscous friction of 0.3 and noise of the forces."""
    arm = appell.load("planar2r")
    t = np.arange(0.0, 6.0, 0.01)
    q, qd, qdd = appell.excitation(arm, 6.0, 3, iterations=0)(t)
    tau = arm.inverse_dynamics(q, qd, qdd) + 0.3 * qd + 0.1 * np.random.default_rng(0).normal(size=q.shape)
    return appell.identify(arm, t, q, tau, terms=("viscous",), filtering=Filtering(None))


def test_rows_of_the_tables(fit):
    rows = fit.table().rows
    prior = fit.base.of(np.append(fit.nominal_robot.parameters[:20], [0.0, 0.0]))
    for k, (name, value, error, relative, described) in enumerate(rows):
        assert name == fit.base.base_names[k]
        assert (value, error) == (fit.base_parameters[k], fit.standard_errors[k])
        assert relative == pytest.approx(100.0 * error / abs(value))
        assert described == pytest.approx(prior[k])
    *joints, total = fit.error_table().rows
    errors = (fit.relative_error, fit.raw_error, fit.cross_validation, fit.training_error)
    for k, row in enumerate(joints):
        assert row[0] == f"joint{k + 1}"
        assert row[1:5] == pytest.approx([100.0 * each.joints[row[0]] for each in errors])
        assert row[5:] == (fit.sigma[k], fit.correlation[k])
    assert total[1:5] == pytest.approx([100.0 * each.total for each in errors])
    assert total[0] == "all"
    assert total[5:] == (None, None)


def test_words_of_the_error_table(fit):
    assert fit.error_table().columns[1] == "held out, filtered [%]"
    fitted = replace(fit, holdout_mask=np.zeros(len(fit.t), dtype=bool))
    assert fitted.error_table().columns[1] == "fitted, filtered [%]"
    for names, unit in ((("a", "b"), "fifth of the recording"), (("a", "b", "c"), "recording")):
        assert f"each {unit} is" in replace(fit, recordings=names).error_table().notes[1]


def test_essential_parameters_in_a_table(fit):
    b = len(fit.base)
    kept = np.arange(b) < 2
    values, covariance = np.where(kept, [-2.0] + [4.0] * (b - 1), 0.0), np.diag(np.where(kept, 0.25, 0.0))
    covariance[1, 1] = -1e-18
    changed = replace(fit)
    changed.__dict__["essential"] = EssentialParameters(values, covariance, kept, 0.5, 2.0)
    table = changed.essential_table()
    names = fit.base.base_names
    assert table.rows == ((names[0], -2.0, 0.5, 25.0), (names[1], 4.0, 0.0, 0.0))
    assert table.notes[0].startswith(f"2 of {b} base parameters")


def test_findings_and_notes(fit):
    assert fit.findings_table().notes == ("None.",)
    finding = Finding("sign", "a", "evidence", "remedy")
    doubtful = replace(fit, findings=(finding,)).findings_table()
    assert doubtful.rows == (("sign", "a", "evidence", "remedy"),)
    assert doubtful.notes == ()
    held = int(fit.holdout_mask.sum())
    condition = f"condition number {fit.condition_number:.4g}."
    assert fit.notes[0] == (
        f"Least squares in the base parameters. {len(fit.t)} samples, {held} of them held out, not filtered; {condition}"
    )
    other = replace(fit, cutoff=3.0, physical=True).notes[0]
    assert other.startswith("Every link is physically consistent.")
    assert "filtered at 3 Hz" in other
    for instruments, text in (("interleaved", "interleaved samples"), (np.zeros((3, 2)), "the commanded coordinates")):
        told = replace(fit, estimator=Estimator(instruments=instruments)).notes[0]
        assert told.startswith(f"Instrumental variables from {text} in the base parameters.")


@pytest.mark.parametrize(("share", "unknown"), [(0.49, False), (0.51, True)])
def test_masses_that_the_motion_does_not_determine(fit, share, unknown):
    """Half of the prior's standard deviation, which is twice that of θ relative to the mass."""
    assert fit.mass_notes == ()
    masses = fit.link_parameters[:, 0]
    errors = np.array([0.1, share]) * 2.0 * 0.7 * masses
    (note,) = replace(fit, mass_errors=errors, estimator=Estimator(prior_std=0.7)).mass_notes
    expected = "Not determined by the motion, masses of the prior: link2."
    assert note == (expected if unknown else "The motion determines the mass of every link.")
    assert fit.link_names == ("link1", "link2")
    assert_close(fit.link_parameters, fit.parameters[:20].reshape(2, 10))


def test_standard_deviations_of_predictions(fit):
    """Noise and uncertainty of the parameters together."""
    q, qd, qdd = np.random.default_rng(0).normal(size=(3, 4, 2))
    wide = replace(fit, covariance=1e4 * fit.covariance)
    K = fit.nominal_robot.regressor(q, qd, qdd, terms=("viscous",))[..., list(fit.base.independent)]
    assert_close(fit.predict(q, qd, qdd), K @ fit.base_parameters, tolerance=1e-12)
    with pytest.raises(appell.ArgumentError, match="nan"):
        fit.predict(np.full((4, 2), np.nan), qd, qdd)
    variance = [[K[n, j] @ wide.covariance @ K[n, j] + fit.sigma[j] ** 2 for j in (0, 1)] for n in range(4)]
    assert_close(wide.prediction_std(q, qd, qdd), np.sqrt(variance), tolerance=1e-12)


def test_relative_errors():
    """Of joints without force: 0 where nothing is predicted, else 1."""
    measured = np.array([[3.0, 0.0, 0.0], [4.0, 0.0, 0.0]])
    predicted = measured + np.array([[0.3, 0.0, 1.0], [0.4, 0.0, 0.0]])
    found = RelativeError.of(("a", "b", "c"), measured, predicted)
    assert found.joints == pytest.approx({"a": 0.1, "b": 0.0, "c": 1.0})
    assert found.total == pytest.approx(np.sqrt(1.25) / 5.0)
    squares = RelativeError.of_squares(("a", "b", "c"), np.array([0.25, 0.0, 1.0]), np.array([25.0, 0.0, 0.0]))
    assert squares.joints == pytest.approx(found.joints)
    assert squares.total == pytest.approx(found.total)
    nothing = RelativeError.of(("a",), np.zeros((2, 1)), np.zeros((2, 1)))
    assert (nothing.joints["a"], nothing.total) == (0.0, 0.0)
    assert RelativeError.of_squares(("a",), np.zeros(1), np.zeros(1)).total == 0.0
    small = RelativeError.of_squares(("a", "b"), np.array([0.01, 0.5]), np.array([0.25, 0.0]))
    assert small.joints == pytest.approx({"a": 0.2, "b": 1.0})
    tiny = RelativeError.of(("a", "b"), np.array([[0.5, 0.0]]), np.array([[0.6, 0.1]]))
    assert tiny.joints == pytest.approx({"a": 0.2, "b": 1.0})
    assert str(found).startswith("22.36 % (a 10.00 %, b 0.00 %")


def test_the_table_of_a_validation():
    raw, filtered = RelativeError({"a": 0.5}, 0.25), RelativeError({"a": 0.1}, 0.2)
    found = Validation(raw, filtered, np.zeros(1), np.zeros((1, 1)), np.zeros((1, 1)))
    assert found.table().rows == (("a", 50.0, 10.0), ("all", 25.0, 20.0))
    assert (found.total, found.joints) == (0.2, {"a": 0.1})


# --- the robot ----------------------------------------------------------------------------------------------------------------


def geared():
    """Two joints with gears, the third follows the second."""
    builder = appell.RobotBuilder("geared")
    for name in ("one", "two", "three"):
        builder = builder.body(name, mass=1.0, com=(0.1, 0.2, 0.3), inertia=(0.5, 0.6, 0.7))
    robot = (
        builder.revolute("a", parent="world", child="one", axis=(0, 0, 1))
        .revolute("b", parent="one", child="two", axis=(0, 1, 0))
        .revolute("c", parent="two", child="three", axis=(0, 1, 0))
        .build()
    )
    a, b, c = robot.joints
    changed = (
        replace(a, gear_ratio=10.0),
        replace(b, gear_ratio=2.0, damping=9.0),
        replace(c, damping=5.0, friction=4.0),
    )
    return replace(robot, joints=changed)


def test_a_robot_has_the_parameters_identified():
    """Rotor inertia is that at the joint divided by the square of the gear ratio; negative friction is none."""
    robot = geared()
    links = robot.parameters[:30].copy()
    links[[0, 10, 20]] *= 1.1
    values = np.concatenate([links, [1.0, 2.0, 3.0], [0.5, -0.2, 0.1], [0.3, 0.4, 0.0], [7.0, 8.0, 9.0]])
    found = identified_robot(robot, (Rotor(), Viscous(), Coulomb(0.1), Offset()), values)
    assert_close(found.parameters[:30], links, tolerance=1e-12)
    assert [joint.rotor_inertia for joint in found.joints] == pytest.approx([0.01, 0.5, 3.0])
    assert [joint.damping for joint in found.joints] == [0.5, 0.0, 0.1]
    assert [joint.friction for joint in found.joints] == [0.3, 0.4, 0.0]
    kept = identified_robot(robot, (), links)
    assert [joint.damping for joint in kept.joints] == [0.0, 9.0, 5.0]
    links[20] = -1.0
    with pytest.raises(appell.IdentificationError, match="the parameters of three are not physically consistent"):
        identified_robot(robot, (), links)


def test_joints_that_follow_another_leave_their_friction_to_it():
    follower = appell.RobotBuilder("pair")
    for name in ("one", "two"):
        follower = follower.body(name, mass=1.0, com=(0.1, 0.2, 0.3), inertia=(0.5, 0.6, 0.7))
    robot = (
        follower.revolute("a", parent="world", child="one", axis=(0, 0, 1))
        .revolute("b", parent="one", child="two", axis=(0, 1, 0), mimic=Mimic("a", 2.0, 0.0))
        .build()
    )
    values = np.concatenate([robot.parameters[:20], [0.5], [0.4]])
    found = identified_robot(robot, (Viscous(), Coulomb(0.1)), values)
    assert [joint.damping for joint in found.joints] == [0.5, 0.0]
    assert [joint.friction for joint in found.joints] == [0.4, 0.0]


def test_bodies_fixed_to_a_moving_one_are_part_of_it_and_those_of_the_base_stay():
    fixed = """<robot name="fixed">
    <link name="base"><inertial><mass value="3"/><inertia ixx="1" iyy="1" izz="1"/></inertial></link>
    <link name="arm"><inertial><mass value="2"/><inertia ixx="1" iyy="1" izz="1"/></inertial></link>
    <link name="tool"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial></link>
    <joint name="turn" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/></joint>
    <joint name="flange" type="fixed"><parent link="arm"/><child link="tool"/></joint></robot>"""
    robot = appell.load(fixed)
    found = identified_robot(robot, (), 1.5 * robot.parameters[:10])
    assert [found.body(name).mass for name in ("base", "arm", "tool")] == pytest.approx([3.0, 4.5, 0.0])
    assert found.body("tool").inertia == (0.0,) * 6
    assert found.body("tool").com == (0.0, 0.0, 0.0)
    assert_close(found.parameters[:10], 1.5 * robot.parameters[:10], tolerance=1e-12)


def test_what_a_urdf_file_has_no_place_for():
    names = ("m[a]", "fv[j]", "fc[j]", "offset[j]", "Ia[j]")
    text = urdf_comment(names, np.array([1.0, 2.0, 3.0, -4.0, 5.0]), 1)
    assert text.splitlines()[3:] == ["  offset[j] = -4", "  Ia[j] = 5", "-->"]
    assert urdf_comment(names[:3], np.ones(3), 1) == ""
    assert urdf_comment(names[:1], np.ones(1), 0).splitlines()[3] == "  m[a] = 1"
    assert "--" not in urdf_comment(("x--y",), np.ones(1), 0).replace("<!--", "").replace("-->", "")
