"""Out of reach and singular: named, with the leg and the number, in batches with the index; never a wild number."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.closeness import assert_close
from helpers.spherical_robots import EIGHT, ROBOTS, regular_states, wrist

import appell
from appell.closed_loop.spherical.forward_kinematics import orientation
from appell.closed_loop.spherical.jacobians import determinant
from appell.closed_loop.spherical.kinematics import MIN_H

OUT = np.array([0.0, 0.0, -1.5])
"""Leg 1 of the wrist does not reach here."""


def border(robot, inside: np.ndarray, outside: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The last configuration that is reached on the way, and the next one that is not."""
    low, high = 0.0, 1.0
    while high - low > 1e-15:
        middle = 0.5 * (low + high)
        reached = robot.singularity(inside + middle * (outside - inside)).discriminant.min() >= 0.0
        low, high = (middle, high) if reached else (low, middle)
    return inside + low * (outside - inside), inside + high * (outside - inside)


def zero_of_det(robot, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """A configuration between two where det Jact changes sign."""
    sign = np.sign(robot.singularity(a).det)
    for _ in range(60):
        middle = 0.5 * (a + b)
        a, b = (middle, b) if np.sign(robot.singularity(middle).det) == sign else (a, middle)
    return 0.5 * (a + b)


@pytest.mark.parametrize("function", ["inverse_dynamics", "forward_dynamics", "mass_matrix", "joint_angles", "gravity"])
def test_a_pose_out_of_reach_names_the_leg_and_the_negative_value(function):
    robot, count = wrist(), {"inverse_dynamics": 3, "forward_dynamics": 3}.get(function, 1)
    rest = [np.zeros(3)] * (count - 1)
    with pytest.raises(
        appell.errors.LoopClosureError, match=r"out of reach: leg 'leg1' has a² \+ b² - c² = -0\.0\d+"
    ) as caught:
        getattr(robot, function)(OUT, *rest)
    error = caught.value
    assert (error.status, error.where, error.index) == ("unreachable", "leg1", ())
    assert error.value == pytest.approx(robot.singularity(OUT).discriminant.min())
    assert error.value < 0.0


@pytest.mark.parametrize("compiled", [False, True])
def test_in_a_batch_the_index_is_named(compiled):
    robot = appell.compile(wrist()) if compiled else wrist()
    q = np.zeros((7, 3))
    q[4] = OUT
    with pytest.raises(
        appell.errors.LoopClosureError, match=r"q\[4\] = \(0, 0, -1\.5\) is out of reach: leg 'leg1'"
    ) as caught:
        robot.inverse_dynamics(q, 0 * q, 0 * q)
    assert caught.value.index == (4,)
    with pytest.raises(appell.errors.LoopClosureError, match=r"q\[1, 3\] = \(0, 0, -1\.5\)") as caught:
        robot.bias(np.stack([0 * q, np.roll(q, -1, axis=0)]), 0 * q)
    assert caught.value.index == (1, 3)
    tau = robot.inverse_dynamics(q, 0 * q, 0 * q, check=False)
    assert np.isnan(tau[4]).all()
    assert np.isfinite(np.delete(tau, 4, axis=0)).all()


@pytest.mark.parametrize("leg", range(3))
def test_every_leg_is_named_at_its_border(leg):
    """The wrist is the same after a third of a turn: leg k + 1 meets what leg k met."""
    robot, turn = wrist(), np.array([2.0 * np.pi / 3.0 * leg, 0.0, 0.0])
    turned = orientation(turn) * orientation(OUT) * orientation(turn).inv()
    with pytest.raises(appell.errors.LoopClosureError, match=f"leg 'leg{leg + 1}'"):
        robot.mass_matrix(turned.as_euler("ZYX"))


def test_at_the_border_the_leg_is_singular():
    robot = wrist()
    reached, beyond = border(robot, np.zeros(3), OUT)
    with pytest.raises(
        appell.errors.LoopClosureError, match="singularity of leg 'leg1', stretched or folded: h ="
    ) as caught:
        robot.inverse_dynamics(reached, np.zeros(3), np.zeros(3))
    assert caught.value.status == "leg singularity"
    assert 0.0 <= caught.value.value < MIN_H
    told = float(str(caught.value).split("h = ")[1].split(",")[0])
    assert told < MIN_H  # with digits enough to see that it is less
    assert robot.singularity([reached, beyond, np.zeros(3)]).status.tolist() == [
        "leg singularity", "unreachable", "regular",
    ]  # fmt: skip
    assert np.isfinite(robot.joint_angles(reached)).all()  # angles have no trouble there


def test_near_the_border_results_are_finite_or_not_a_number_never_wild():
    robot = wrist()
    reached, beyond = border(robot, np.zeros(3), OUT)
    for distance in 10.0 ** np.arange(-16, -1):
        q = reached + distance * (np.zeros(3) - OUT) / 1.5
        rates = robot.joint_velocities(q, [1.0, 1.0, 1.0], check=False)
        assert np.isnan(rates[:3]).all() or np.abs(rates).max() < 10.0 / MIN_H
    assert np.isnan(robot.joint_velocities(beyond, [1.0, 1.0, 1.0], check=False)[:3]).all()


def test_an_actuator_singularity_is_named_and_forward_dynamics_passes_it():
    robot = wrist()
    q = zero_of_det(robot, np.radians([0.0, 40.0, 0.0]), np.radians([0.0, 75.0, 0.0]))
    assert abs(robot.singularity(q).det) < 1e-10
    with pytest.raises(appell.errors.LoopClosureError, match="singularity of the actuators: det Jact =") as caught:
        robot.inverse_dynamics(q, np.zeros(3), np.zeros(3))
    assert (caught.value.status, caught.value.where) == ("actuator singularity", "actuators")
    assert np.isnan(robot.inverse_dynamics(q, np.zeros(3), np.zeros(3), check=False)).all()
    assert np.isfinite(robot.forward_dynamics(q, np.zeros(3), np.zeros(3))).all()
    assert np.isfinite(robot.mass_matrix(q)).all()


def test_gimbal_lock_stops_forward_dynamics_alone():
    robot = wrist()
    q = np.array([0.3, np.pi / 2, 0.1])
    state = q, np.array([0.4, 0.2, -0.3]), np.array([0.1, 0.5, 0.2])
    assert robot.singularity(q).status.item() == "gimbal lock"
    with pytest.raises(appell.errors.LoopClosureError, match="gimbal lock: cos q2 =") as caught:
        robot.forward_dynamics(*state)
    assert caught.value.status == "gimbal lock"
    near = robot.inverse_dynamics(q + 1e-7 * np.eye(3)[1], *state[1:])
    assert_close(robot.inverse_dynamics(*state), near, tolerance=1e-5)  # torques do not care


@pytest.mark.parametrize("assembly", EIGHT[::2], ids="-".join)
def test_h_is_the_root_of_eq_34_with_the_sign_of_the_assembly(assembly):
    robot = wrist(assembly)
    q = regular_states(robot, 10).q
    found = robot.singularity(q)
    signs = np.array([leg.sign for leg in robot.legs])
    assert_close(found.h, signs * np.sqrt(found.discriminant), tolerance=1e-14)
    assert_close(found.det, np.linalg.det(robot.actuator_jacobian(q)), tolerance=1e-12)
    assert_close(found.euler, np.cos(q[:, 1]), tolerance=1e-14)


def test_redundant_and_guided_robots_have_margins():
    assert ROBOTS["four legs"].singularity(np.zeros(3)).det.item() == 0.0  # Jact is not square
    found = ROBOTS["five-bar"].singularity(regular_states(ROBOTS["five-bar"], 3).q)
    assert found.euler.tolist() == [1.0, 1.0, 1.0]
    assert found.status.tolist() == ["regular"] * 3


def test_too_few_actuators_are_refused():
    robot = ROBOTS["wrist"]
    legs = (robot.legs[0], *(appell.spherical.Leg(**{**vars(leg), "actuated": ()}) for leg in robot.legs[1:]))
    passive = appell.spherical.SphericalRobot("passive", legs, robot.platform)
    with pytest.raises(appell.ArgumentError, match="1 actuators cannot give 3 degrees of freedom"):
        passive.inverse_dynamics(np.zeros(3), np.zeros(3), np.zeros(3))
    assert passive.forward_dynamics(np.zeros(3), np.zeros(3), np.zeros(1)).shape == (3,)


def test_a_simulation_says_what_it_ran_into():
    with pytest.raises(appell.SimulationError, match=r"singularity of leg|out of reach"):
        appell.simulate(wrist(), [0.1, 0.2, 0.1], [0.0, 0.0, 0.0], 2.0)


def test_a_map_of_the_workspace(tmp_path):
    found = wrist().workspace_map(span=(-1.5, 1.5), points=31)
    assert found.over == ("pitch", "roll")
    assert found.status[15, 15] == "regular"
    assert found.status[0, 15] == "unreachable"  # roll = -1.5
    assert set(np.unique(found.status)) <= {"regular", "unreachable", "leg singularity", "actuator singularity"}
    q = np.array([0.0, found.x[20], found.y[12]])
    assert_close(found.singularities.det[12, 20], wrist().singularity(q).det, tolerance=1e-13)
    assert (found.reachable == (found.singularities.discriminant.min(axis=-1) >= 0.0)).all()
    pytest.importorskip("matplotlib")
    figure = found.plot(tmp_path / "map.png")
    assert (tmp_path / "map.png").stat().st_size > 10_000
    assert figure.axes[0].get_xlabel() == "pitch [deg]"


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"over": ("yaw", "row")}, "unknown coordinate 'row'"),
        ({"over": ("yaw", "yaw")}, "two coordinates"),
        ({"span": (1.0, 0.0)}, "increasing"),
        ({"points": 1}, ">= 2"),
        ({"at": {"theta": 0.0}}, "unknown coordinate 'theta'"),
    ],
)
def test_maps_refuse_what_has_no_meaning(options, text):
    with pytest.raises(appell.ArgumentError, match=text):
        wrist().workspace_map(**options)


def test_a_map_needs_two_coordinates():
    with pytest.raises(appell.ArgumentError, match="a map needs two"):
        ROBOTS["four-bar"].workspace_map()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_what_is_not_a_number_by_rounding_is_explained_too(dtype):
    """On both sides of the bound kernels and explanations may round differently."""
    robot, dyn = wrist(), appell.compile(wrist(), dtype=dtype)
    reached, _ = border(robot, np.zeros(3), OUT)
    steps = np.linspace(-2.0, 2.0, 201) * (1e-8 if dtype == "float64" else 1e-6)
    for q in reached - (reached - OUT) * steps[:, None]:
        if np.isnan(dyn.gravity(q, check=False)).any():
            with pytest.raises(appell.errors.LoopClosureError, match="leg 'leg1'"):
                dyn.gravity(q)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_determinants_of_any_number_of_actuators(n):
    """With the signs of the expansion; robots with two or four actuators use it for their margins."""
    rows = np.random.default_rng(n).normal(size=(n, n))
    assert determinant(rows.tolist()) == pytest.approx(np.linalg.det(rows), rel=1e-12)
