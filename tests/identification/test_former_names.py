"""Former names of the identification's arguments, classes and attributes: they warn and give the same result."""

import numpy as np
import pytest

import appell
from appell import identification
from appell.identification import Estimator, Filtering, Holdout, MotionLimits, Transmission
from appell.identification.recording import read_recording
from appell.robot.regressor_terms import as_terms


def test_columns_of_the_regressor_are_terms():
    robot = appell.load("planar2r")
    state = np.full((3, 2), 0.3)
    with pytest.warns(DeprecationWarning, match="terms="):
        former = robot.regressor(*state, columns=["viscous"])
    assert np.array_equal(former, robot.regressor(*state, terms=["viscous"]))


def test_classes_of_terms():
    with pytest.warns(DeprecationWarning, match="RegressorTerm"):
        assert identification.Block is identification.RegressorTerm
    with pytest.warns(DeprecationWarning, match="CustomTerm"):
        assert identification.Columns is identification.CustomTerm
    with pytest.warns(DeprecationWarning, match="nominal_values"):
        as_terms("offset")[0].own(appell.load("planar2r"))


def test_own_values_of_a_term_are_its_nominal_values():
    with pytest.warns(DeprecationWarning, match="nominal_values"):

        class Spring(identification.RegressorTerm):
            def names(self, robot):
                return ("k",)

            def columns(self, q, qd, qdd):
                return q[:, :, None]

            def own(self, robot):
                return np.array([2.0])

    assert Spring().nominal_values(None) == 2.0


@pytest.fixture(scope="module")
def recording():
    arm = appell.load("planar2r")
    t = np.arange(0.0, 8.0, 0.004)
    q, qd, qdd = appell.excitation(arm, 4.0, 3, iterations=0)(t)
    tau = arm.inverse_dynamics(q, qd, qdd)
    appell.identify(
        arm, t, q, tau
    )  # functions are compiled now: those of few states are interpreted, with other last bits
    return arm, t, q, tau


@pytest.mark.parametrize(
    ("former", "options"),
    [
        ({"columns": ()}, {"terms": ()}),
        ({"gains": [2.0, 3.0]}, {"transmission": Transmission(torque_constants=[2.0, 3.0])}),
        ({"cutoff": 20.0, "decimation": 2}, {"filtering": Filtering(20.0, 2)}),
        ({"solver": "svd", "weights": "equal"}, {"estimator": Estimator("svd", "equal")}),
        ({"physical": True, "spread": 0.5}, {"physical": True, "estimator": Estimator(prior_std=0.5)}),
        ({"hold_out": 3, "block": 0.3}, {"holdout": Holdout(3, 0.3)}),
    ],
)
def test_arguments_of_identify(recording, former, options):
    with pytest.warns(DeprecationWarning, match="identify") as warned:
        fit = appell.identify(*recording, **former)
    own = [
        warning for warning in warned if "identify" in str(warning.message)
    ]  # others may be of files of earlier tests
    assert {warning.filename for warning in own} == {__file__}
    again = appell.identify(*recording, **options)
    assert np.array_equal(fit.parameters, again.parameters)
    assert fit.relative_error == again.relative_error


def test_attributes_of_results(recording):
    fit = appell.identify(*recording, terms=())
    motion = appell.excitation(recording[0], 4.0, 3, iterations=0)
    pairs = {"source": "nominal_robot", "blocks": "terms", "condition": "condition_number", "held": "holdout_mask"}
    for result, names in ((fit, pairs), (motion, {"condition": "condition_number"})):
        for former, name in names.items():
            with pytest.warns(DeprecationWarning, match=name):
                assert getattr(result, former) is getattr(result, name)


def test_arguments_of_excitation():
    arm = appell.load("planar2r")
    with pytest.warns(DeprecationWarning, match=r"limits=MotionLimits\(velocity=\)"):
        former = appell.excitation(arm, 4.0, 3, velocity=1.0, upper=2.0, iterations=0)
    motion = appell.excitation(arm, 4.0, 3, limits=MotionLimits(velocity=1.0, upper=2.0), iterations=0)
    assert np.array_equal(former.a, motion.a)


def test_methods_of_a_transmission():
    gears = Transmission([2.0, 3.0])
    with pytest.warns(DeprecationWarning, match="joint_forces"):
        assert np.array_equal(gears.torques([[1.0, 1.0]]), gears.joint_forces([[1.0, 1.0]]))
    with pytest.warns(DeprecationWarning, match="joint_coordinates"):
        assert np.array_equal(gears.coordinates([[1.0, 1.0]]), gears.joint_coordinates([[1.0, 1.0]]))


def test_recordings_of_version_0_1_still_load(tmp_path):
    """Columns of a joint with several degrees of freedom: `q_s.0` was the name of `q.s.angle_x`."""
    robot = (
        appell.RobotBuilder()
        .body("bob", mass=1.0, inertia=(1.0, 1.0, 1.0))
        .joint("universal", "s", "base", "bob")
        .build()
    )
    assert robot.qd_names == ("s.wx", "s.wy")
    file = tmp_path / "swing.csv"
    file.write_text("t,q_s.0,q_s.1,tau_s.0,tau_s.1\n0,1,2,3,4\n0.1,1,2,3,5\n", encoding="utf-8")
    assert read_recording(file, robot).tau.tolist() == [[3.0, 4.0], [3.0, 5.0]]
