"""Bounds of spherical parallel robots on both sides: solutions, duplicates, steps, random configurations, maps, legs."""

from __future__ import annotations

import math

import numpy as np
import pytest
from helpers.closeness import assert_close
from helpers.spherical_robots import ROBOTS, regular_states, wrist

import appell
from appell.algebra import Vec3
from appell.closed_loop.spherical import Axis, Leg, forward_kinematics, singularities
from appell.closed_loop.spherical.forward_kinematics import angle_difference, newton_step, polish
from appell.closed_loop.spherical.jacobians import orthogonal_columns
from appell.closed_loop.spherical.kinematics import LegPlacements, guarded_reciprocal, normals
from appell.closed_loop.spherical.singularities import Singularities

THETA = np.array([2.0, 2.1, -1.6])
"""Angles with eight assembly modes."""

# --- assembly modes -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("gap", "found"), [(0.9e-12, True), (1.1e-12, False)])
def test_points_are_common_up_to_a_residual_of_1e_12(gap, found):
    """x0² g + x1² + x2² + x3² is at least g on the sphere, at (1, 0, 0, 0)."""
    quadrics = np.array([np.diag([gap, 1.0, 1.0, 1.0])] * 3)
    assert (polish(quadrics, np.array([2.0, 0.0, 0.0, 0.0])) is not None) == found


def test_newton_on_the_sphere_converges_to_the_last_digit():
    quadrics = np.array(
        [np.diag([-1.0, 1.0, 0.0, 0.0]), np.diag([-1.0, 0.0, 1.0, 0.0]), np.diag([-1.0, 0.0, 0.0, 1.0])]
    )
    assert_close(
        polish(quadrics, np.array([1.0, 1.2, -0.9, 1.1])), 0.5 * np.array([1.0, 1.0, -1.0, 1.0]), tolerance=1e-15
    )


def modes_of(monkeypatch, points):
    monkeypatch.setattr(forward_kinematics, "common_points", lambda quadrics: np.array(points))
    monkeypatch.setattr(forward_kinematics, "polish", lambda quadrics, x: x / np.linalg.norm(x))
    return wrist().forward_kinematics(THETA)


@pytest.mark.parametrize(("imaginary", "count"), [(0.9e-4, 1), (1.1e-4, 0), (-0.9e-4, 1), (-1.1e-4, 0)])
def test_points_with_imaginary_parts_above_1e_4_are_complex(imaginary, count, monkeypatch):
    """The phase of the largest entry is removed first: points are projective."""
    phase = np.exp(0.7j)
    assert len(modes_of(monkeypatch, [phase * np.array([0.5, 0.8, 0.3 + 1j * imaginary, 0.1])])) == count


@pytest.mark.parametrize(("distance", "count"), [(0.9e-6, 1), (1.1e-6, 2)])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_points_nearer_than_1e_6_are_equal(distance, count, sign, monkeypatch):
    """A quaternion and its opposite are one rotation."""
    x = np.array([0.6, 0.8, 0.0, 0.0], dtype=complex)
    other = x + distance * np.array([0.0, 0.0, 1.0, 0.0])
    assert len(modes_of(monkeypatch, [x, sign * other])) == count


def test_modes_are_in_the_order_of_their_rotation_angles():
    found = wrist().forward_kinematics(THETA)
    angles = forward_kinematics.orientation(found.q).magnitude()
    assert len(found) == 8
    assert (np.diff(angles) > 0.0).all()
    for k, q in enumerate(found.q):
        assert_close(found.nearest(q + 1e-3), found.q[k], tolerance=1e-12)
    moved = (
        forward_kinematics.orientation(found.q).as_matrix() @ np.array([leg.tip.direction for leg in wrist().legs]).T
    )
    w = np.array([forward_kinematics.middle_axis(leg, angle) for leg, angle in zip(wrist().legs, THETA, strict=True)])
    left = np.einsum("kil,li->kl", moved, w) - np.cos([leg.arcs[1] for leg in wrist().legs])
    assert_close(found.residual, np.abs(left).max(axis=1), scale=1.0, tolerance=1e-15)


# --- solutions near a start ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("error", "solved"), [(0.9e-10, True), (-0.9e-10, True), (1.2e-10, False), (-1.2e-10, False)])
def test_angles_are_met_to_1e_10(error, solved, monkeypatch):
    robot = wrist()
    q = np.array([[0.1, 0.2, -0.1], [0.0, 0.1, 0.2]])
    theta = robot.joint_angles(q)[:, list(robot.actuated)]
    theta[1, 2] += error
    monkeypatch.setattr(forward_kinematics, "newton_step", lambda robot, theta, q: np.zeros_like(q))
    if solved:
        assert_close(robot.forward_kinematics_near(theta, q), q)
    else:
        with pytest.raises(appell.errors.LoopClosureError, match=r"near start\[1\]") as caught:
            robot.forward_kinematics_near(theta, q)
        assert caught.value.value == pytest.approx(abs(error), rel=1e-4)


def test_steps_to_a_solution_are_limited(monkeypatch):
    """The longest entry of a step is at most 0.3 rad; 50 steps without success are an error."""
    steps = []

    def step(robot, theta, q):
        steps.append(q.copy())
        return np.array([[0.01, -0.6, 0.3], [0.2, 0.1, -0.29]]) * (1.0 if len(steps) == 1 else 0.0)

    monkeypatch.setattr(forward_kinematics, "newton_step", step)
    with pytest.raises(appell.errors.LoopClosureError):
        wrist().forward_kinematics_near(THETA, np.zeros((2, 3)))
    assert len(steps) == 2
    assert_close(steps[1], np.array([[0.005, -0.3, 0.15], [0.2, 0.1, -0.29]]), tolerance=1e-15)
    steps.clear()
    monkeypatch.setattr(forward_kinematics, "newton_step", lambda robot, theta, q: (steps.append(0), 1e-12 + 0 * q)[1])
    with pytest.raises(appell.errors.LoopClosureError):
        wrist().forward_kinematics_near(THETA, np.zeros(3))
    assert len(steps) == 50


def test_no_step_is_taken_where_there_is_no_jacobian():
    robot = wrist()
    q = np.array([[0.1, 0.2, 0.1], [0.0, 0.0, -1.5]])  # the second out of reach
    step = newton_step(robot, np.zeros((2, 3)), q)
    left = -robot.joint_angles(q[0])[list(robot.actuated)]
    assert_close(robot.actuator_jacobian(q[0]) @ step[0], angle_difference(left, np.zeros(3)), tolerance=1e-12)
    assert np.isnan(step[1]).all()


def test_differences_of_angles_are_within_half_a_turn():
    a = np.array([3.0, -3.0, 0.5, 7.0])
    assert_close(
        angle_difference(a, np.array([-3.0, 3.0, 0.2, 0.5])),
        [6 - 2 * np.pi, 2 * np.pi - 6, 0.3, 6.5 - 2 * np.pi],
        tolerance=1e-14,
    )


# --- singularities ------------------------------------------------------------------------------------------------------------


def measures(discriminant, actuators, euler):
    return Singularities(np.array(discriminant)[:, None] * [[1.0, 2.0, 3.0]], np.ones((len(euler), 3)), np.ones(len(euler)),
                         np.array(euler), np.array(actuators))  # fmt: skip


def test_random_configurations_keep_their_distances(monkeypatch):
    """Discriminants above 0.02, sines of the actuators and cosines of gimbal lock above 0.1; angles all round."""
    rows = [  # discriminant, actuators, cos q2, accepted
        (0.019, 1.0, 1.0, False), (0.021, 1.0, 1.0, True), (1.0, 0.09, 1.0, False), (1.0, 0.11, -1.0, True),
        (1.0, 1.0, 0.09, False), (1.0, 1.0, -0.09, False), (1.0, 1.0, -0.11, True), (1.0, 1.0, 0.11, True),
    ]  # fmt: skip
    columns = list(zip(*rows, strict=True))
    drawn = []

    def fake(system, q):
        drawn.append(q)
        reps = len(q) // len(rows)
        return measures(*(np.tile(column, reps) for column in columns[:3]))

    monkeypatch.setattr(singularities, "singularity_measures", fake)
    q = wrist().random_configurations(700, np.random.default_rng(0))
    assert [len(each) for each in drawn] == [1000, 1000]
    whole = np.concatenate(drawn)
    assert_close(q, whole[np.tile(columns[3], 250)][:700])
    assert_close([whole.min(), whole.max()], [-np.pi, np.pi], tolerance=1e-2)
    assert len(wrist().random_configurations(500, np.random.default_rng(0))) == 500
    assert len(drawn) == 3  # exactly as many as one draw gives


def test_random_configurations_of_robots_without_enough_actuators(monkeypatch):
    """Their actuators are never regular, and do not matter."""
    robot = ROBOTS["wrist"]
    legs = (robot.legs[0], *(Leg(**{**vars(leg), "actuated": ()}) for leg in robot.legs[1:]))
    passive = appell.spherical.SphericalRobot("passive", legs, robot.platform)
    monkeypatch.setattr(
        singularities,
        "singularity_measures",
        lambda system, q: measures([1.0] * len(q), [0.0] * len(q), [1.0] * len(q)),
    )
    assert passive.random_configurations(3, np.random.default_rng(0)).shape == (3, 3)
    with pytest.raises(appell.ModelError, match="0 of 200000 random configurations"):
        robot.random_configurations(3, np.random.default_rng(0))


def test_the_default_map_of_a_workspace(monkeypatch):
    asked = []
    robot = wrist()
    monkeypatch.setattr(type(robot), "singularity", lambda self, q: (asked.append(q), measures([1.0], [1.0], [1.0]))[1])
    found = robot.workspace_map()
    assert asked[0].shape == (161, 161, 3)
    assert_close(found.x, np.linspace(-1.6, 1.6, 161))
    assert_close(asked[0][7, 20], [0.0, found.x[20], found.y[7]])
    assert found.at == {"yaw": 0.0, "pitch": found.x[80], "roll": found.y[80]}
    assert_close(found.x[80], 0.0, scale=1.0)
    robot.workspace_map(over=("roll", "yaw"), at={"pitch": 0.3}, span=(0.0, 1.0), points=2)
    assert asked[1].tolist() == [[[0.0, 0.3, 0.0], [0.0, 0.3, 1.0]], [[1.0, 0.3, 0.0], [1.0, 0.3, 1.0]]]
    with pytest.raises(appell.ArgumentError, match="two coordinates"):
        robot.workspace_map(over=("yaw", "pitch", "roll"))  # type: ignore[arg-type]
    for span in ((1.0, 1.0), (0.0, np.inf)):
        with pytest.raises(appell.ArgumentError, match="increasing"):
            robot.workspace_map(span=span)


def test_gimbal_lock_and_actuators_matter_to_one_function_each(monkeypatch):
    system = wrist().system
    cases = {"forward_dynamics": ([1.0], [1.0], [0.0]), "inverse_dynamics": ([1.0], [0.0], [1.0])}
    for function in ("forward_dynamics", "inverse_dynamics", "mass_matrix"):
        for needs, values in cases.items():
            monkeypatch.setattr(singularities, "singularity_measures", lambda system, q, v=values: measures(*v))
            if function == needs:
                with pytest.raises(appell.errors.LoopClosureError):
                    singularities.require_regular(system, np.zeros((1, 3)), function)
            else:
                singularities.require_regular(system, np.zeros((1, 3)), function)


@pytest.mark.parametrize(("excess", "regular"), [(63.0, False), (65.0, True)])
def test_bounds_are_wider_by_rounding(excess, regular, monkeypatch):
    """64 units of the last place of one: kernels and explanations round differently."""
    at = measures([1.0], [1.0], [math.sqrt(1e-8 + excess * np.finfo(float).eps)])
    monkeypatch.setattr(singularities, "singularity_measures", lambda system, q: at)
    if regular:
        singularities.require_regular(wrist().system, np.zeros((1, 3)), "forward_dynamics")
    else:
        with pytest.raises(appell.errors.LoopClosureError, match="gimbal lock"):
            singularities.require_regular(wrist().system, np.zeros((1, 3)), "forward_dynamics")


@pytest.mark.parametrize(("h", "regular"), [(1.1e-4, True), (0.9e-4, False)])
def test_legs_are_singular_below_an_h_of_1e_4(h, regular):
    """The same bound for statuses and for the rates of joints, and for the cosine of gimbal lock."""
    assert (measures([h * h], [1.0], [1.0]).status == "regular").all() == regular
    assert (measures([1.0], [1.0], [-h]).status == "regular").all() == regular
    axes = tuple(Vec3(*row) for row in np.eye(3))
    with np.errstate(invalid="ignore"):
        found = normals(LegPlacements(axes, (), (), np.array([h * h]), np.array([h])))  # type: ignore[arg-type]
    assert all(np.isfinite([float(np.ravel(x)[0]) for x in vector]).all() == regular for vector in found)
    assert (measures([1.0], [1.1e-6 if regular else 0.9e-6], [1.0]).status == "regular").all() == regular


def test_reciprocals_are_not_numbers_below_their_bound():
    assert guarded_reciprocal(4.0, 2.0, 1.0) == 0.25
    assert guarded_reciprocal(np.float64(4.0), np.float64(2.0), np.float64(2.0)) == 0.25
    with np.errstate(invalid="ignore"):
        assert np.isnan(guarded_reciprocal(np.array([4.0]), np.array([2.0]), np.array([2.1]))).all()


@pytest.mark.parametrize(("sine", "regular"), [(1.1e-6, True), (0.9e-6, False)])
def test_orthogonal_columns_are_those_of_the_qr_factorization(sine, regular):
    A = np.random.default_rng(1).normal(size=(4, 3))
    columns = orthogonal_columns([[np.array([x]) for x in row] for row in A], 3)
    Q = np.array([[x.item() for x in column.direction] for column in columns]).T
    R = np.array([[x.item() for x in column.parts] + [0.0] * (3 - k) for k, column in enumerate(columns)]).T[:3]
    R += np.diag([1.0 / column.scale.item() for column in columns])
    assert_close(Q.T @ Q, np.eye(3), tolerance=1e-14)
    assert_close(Q @ R, A, tolerance=1e-14)
    assert_close([column.length.item() for column in columns], (A**2).sum(axis=0), tolerance=1e-14)
    assert_close([column.left.item() for column in columns], np.diag(R) ** 2, tolerance=1e-14)
    long = 3.0 * np.array([[1.0, 1.0], [0.0, sine], [0.0, 0.0]])
    with np.errstate(invalid="ignore"):
        scale = orthogonal_columns([[np.array([x]) for x in row] for row in long], 2)[1].scale
    assert bool(np.isfinite(scale).all()) == regular


# --- legs ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("arc", [1.1e-6, -1.1e-6, math.pi - 1.1e-6, 1.5])
def test_arcs_between_different_axes(arc):
    assert Leg("a", Axis(0.0, 1.0), (1.0, arc), Axis(0.0, 1.0)).joints == 3


@pytest.mark.parametrize("arc", [0.9e-6, -0.9e-6, math.pi - 0.9e-6, 0.0])
def test_arcs_between_axes_that_coincide(arc):
    with pytest.raises(appell.ModelError, match="arc 2 is"):
        Leg("a", Axis(0.0, 1.0), (1.0, arc), Axis(0.0, 1.0))


def test_a_leg_by_default():
    leg = Leg("a", Axis(0.0, 1.0), (1.0, 1.2), Axis(0.0, 1.0))
    assert [body.name for body in leg.bodies] == ["a_link1", "a_link2"]
    assert (leg.actuated, leg.sign) == ((0,), 1.0)
    assert Leg("a", leg.base, leg.arcs, leg.tip, working_mode="minus", actuated=(0, 2)).sign == -1.0
    for wrong in (-1, 3):
        with pytest.raises(appell.ModelError, match=f"no joint {wrong} to be actuated"):
            Leg("a", leg.base, leg.arcs, leg.tip, actuated=(wrong,))


@pytest.mark.parametrize("axis", [Axis(0.4, 0.9), Axis(-2.0, -2.5), Axis(0.3, 5.0)])
def test_the_direction_of_an_axis(axis):
    turn = appell.Pose(rpy=(axis.tilt, 0.0, axis.azimuth)).rotation
    assert_close(axis.direction, turn[:, 2], tolerance=1e-15)
    assert_close(np.array(list(axis.rotation.matrix())).reshape(3, 3), turn, tolerance=1e-15)


@pytest.mark.parametrize("name", ["wrist", "five-bar", "guided, three legs", "long legs"])
def test_the_spanning_tree_stands_where_the_robot_stands(name):
    robot = ROBOTS[name]
    q = regular_states(robot, 2).q
    tree, x = robot.spanning_tree, robot.closed_loop_configuration(q)
    for body in (*(each.name for leg in robot.legs for each in leg.bodies), robot.platform.name):
        assert_close(tree.pose(x, body), robot.pose(q, body), tolerance=1e-12, what=body)


def test_moments_on_several_bodies_act_by_their_virtual_work():
    """Along the axes of each body; two on one body add up, and forces at the centre do no work."""
    robot = ROBOTS["wrist"]
    q, qd, _ = (each[0] for each in regular_states(robot, 1))
    wrenches = np.random.default_rng(0).normal(size=(3, 6))
    names = ("leg2_link1", "platform", "leg3_link2")
    found = robot.bias(q, qd, external_forces=dict(zip(names, wrenches, strict=True)))
    pairs = zip(names, wrenches, strict=True)
    work = sum(robot.jacobian(q, name, "LOCAL")[3:].T @ wrench[3:] for name, wrench in pairs)
    assert_close(found, robot.bias(q, qd) - work, tolerance=1e-12)
