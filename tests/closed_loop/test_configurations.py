"""ClosureSolution loops, redundant closures, singular configurations and numbers of actuators."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from helpers.closeness import assert_close
from helpers.loop_robots import built_in, spatial_loop, states

import appell
from appell import LoopClosure, Pose
from appell.closed_loop import position_closure
from appell.closed_loop.singularity import jacobian_at, rank
from appell.model.joint import Mimic


def parallelogram(**options):
    """Four equal bars: all of them on one line is singular."""
    bar = {"mass": 1.0, "com": (0.5, 0.0, 0.0), "inertia": (0.01, 0.1, 0.1)}
    builder = appell.RobotBuilder("parallelogram", gravity=(0, -9.81, 0))
    builder = builder.body("crank", **bar).body("coupler", **bar).body("rocker", **bar)
    builder = builder.continuous("a", parent="base", child="crank")
    builder = builder.continuous("b", parent="crank", child="coupler", xyz=(1, 0, 0))
    builder = builder.continuous("c", parent="base", child="rocker", xyz=(1, 0, 0))
    end = Pose((1.0, 0.0, 0.0))
    options = {"actuated": ["a"], "q": [1.0, -1.0, 1.0], **options}
    return appell.close_loops(
        builder.build(), [LoopClosure("knee", "revolute", "coupler", "rocker", end, end)], **options
    )


def test_close_holds_named_joints_and_says_how_it_went():
    robot = built_in("stewart")
    pose = [0.1, -0.2, 2.1, 0.0, 0.0, np.sin(0.1), np.cos(0.1)]
    found = robot.solve_loop_closure({"platform": pose})
    assert found.status == "closed"
    assert found.error < 1e-12
    assert_close(found.q[:7], np.array(pose), tolerance=1e-15)
    heads = np.array([robot.pose(found.q, f"rod{i}")[:3, 3] for i in range(1, 7)])
    lengths = np.linalg.norm(heads - [robot.pose(found.q, f"cylinder{i}")[:3, 3] for i in range(1, 7)], axis=1)
    assert_close(found.q[9::3], lengths, tolerance=1e-13)


def test_close_takes_batches():
    robot = built_in("four_bar")
    angles = np.linspace(0.0, 2 * np.pi, 50).reshape(5, 10)
    found = robot.solve_loop_closure({"crank": angles})
    assert found.closed.all()
    assert_close(found.q[..., 0], angles, tolerance=1e-14)
    assert robot.closure_error(found.q).max() < 1e-12
    bend = found.q[..., 2] - found.q[..., 0] - found.q[..., 1]  # of the knee: the linkage never changes its assembly
    assert (bend > 0.0).all()


def test_unreachable_configurations_are_told_by_closure():
    robot = built_in("stewart")
    found = robot.solve_loop_closure({"platform": [0.0, 0.0, 3.0, 0.0, 0.0, 0.0, 1.0]}, fixed_joints=["leg1"])
    assert found.status == "unreachable"
    with pytest.raises(appell.errors.LoopClosureError, match=r"closure 'head1' stays open by .* m") as error:
        found.q  # noqa: B018
    assert (error.value.status, error.value.where) == ("unreachable", "head1")
    with pytest.raises(appell.ArgumentError, match=r"unknown joint 'plate'.*platform"):
        robot.solve_loop_closure({"plate": [0.0]})
    with pytest.raises(appell.ArgumentError, match="joint 'platform' has 7 coordinates"):
        robot.solve_loop_closure({"platform": [0.0, 1.0]})


def test_redundant_closures_count_by_rank():
    """A planar loop in space: five equations of a hinge, two of them independent; all said twice makes no difference."""
    robot = built_in("four_bar")
    assert robot.closure_jacobian(robot.reference_configuration).shape == (5, 3)
    assert rank(jacobian_at(robot.system, robot.reference_configuration)) == 2
    knee = robot.closures[0]
    again = (replace(knee, name="again"), replace(knee, name="point", kind="point"))
    twice = appell.close_loops(robot.spanning_tree, [knee, *again], actuated=["crank"], q=robot.reference_configuration)
    q, qd, qdd = states(robot, 3)
    expected = robot.inverse_dynamics(q, qd, qdd)
    assert_close(twice.inverse_dynamics(q, qd, qdd), expected, tolerance=1e-11, scale=np.abs(expected).max())
    forces, doubled = robot.constraint_forces(q, qd, expected), twice.constraint_forces(q, qd, expected)
    total = sum(doubled[name] for name in ("knee", "again", "point"))
    assert_close(total, forces["knee"], tolerance=1e-10, scale=np.abs(forces["knee"]).max())


def test_singular_configurations_have_a_name():
    robot = parallelogram()
    flat = np.zeros(3)
    assert robot.closure_error(flat) == 0.0
    found = robot.singularity(flat)
    assert found is not None
    assert found.status == "singular speeds"
    for call in (robot.mass_matrix, robot.gravity):
        with pytest.raises(
            appell.errors.LoopClosureError, match=r"singular speeds: with a held, .* can still move"
        ) as error:
            call(flat)
        assert error.value.status == "singular speeds"
    assert not np.isfinite(robot.mass_matrix(flat, check=False)).all()
    with pytest.raises(appell.errors.LoopClosureError, match="of state 1"):
        robot.bias(np.array([robot.reference_configuration, flat]), [1.0])
    near = robot.solve_loop_closure(np.array([1e-3, -1e-3, 1e-3])).q
    assert np.isfinite(robot.mass_matrix(near)).all()


def test_open_loops_are_refused_by_closure():
    robot = built_in("delta")
    q, qd, qdd = states(robot, 3)
    q[1, 3] += 0.1
    with pytest.raises(
        appell.errors.LoopClosureError, match=r"q\[1\] does not close the loops: closure 'wrist1' is open by"
    ) as error:
        robot.inverse_dynamics(q, qd, qdd)
    assert (error.value.status, error.value.where, error.value.index) == ("open", "wrist1", (1,))
    found = robot.inverse_dynamics(q, qd, qdd, check=False)
    assert np.isfinite(found[[0, 2]]).all()
    assert not np.isfinite(found[1]).any()


def test_actuators_that_hold_nothing_have_a_name():
    """The crank of a four-bar in line with its coupler: the rocker's motor cannot hold it."""
    robot = parallelogram(actuated=["c"], independent_velocities=["a"])
    tree = replace(robot.spanning_tree, joints=tuple(
        replace(joint, origin=Pose((1.5, 0.0, 0.0))) if joint.name == "c" else joint for joint in robot.spanning_tree.joints
    ))  # fmt: skip
    robot = appell.close_loops(tree, robot.closures, actuated=["c"], independent_velocities=["a"], q=[1.0, -1.0, 1.5])
    dead = float(
        np.arccos((2.0**2 + 1.5**2 - 1.0) / (2 * 2.0 * 1.5))
    )  # crank and coupler stretched to the rocker's end
    q = robot.solve_loop_closure(np.array([dead, 0.0, np.pi - np.arccos((1.0 + 1.5**2 - 4.0) / 3.0)])).q
    with pytest.raises(appell.errors.LoopClosureError, match="singular actuators: with c held, a can still move"):
        robot.inverse_dynamics(q, [0.0], [1.0])
    assert np.isfinite(robot.forward_dynamics(q, [0.0], [1.0])).all()


def test_redundant_actuators_share_the_load_evenly():
    robot = spatial_loop("revolute")
    q, qd, qdd = (array[0] for array in states(robot, 1))
    torques, J = robot.inverse_dynamics(q, qd, qdd), robot.actuator_jacobian(q)
    idle = robot.actuator_null_space(q)
    assert idle.shape == (9, 5)
    assert_close(J.T @ idle, np.zeros((4, 5)), tolerance=1e-12, scale=np.abs(J).max())
    assert_close(idle.T @ torques, np.zeros(5), tolerance=1e-11, scale=np.abs(torques).max())
    other = robot.forward_dynamics(q, qd, torques + idle @ np.arange(5.0))
    assert_close(other, qdd, tolerance=1e-9)


def test_too_few_actuators_are_refused_by_name():
    robot = built_in("five_bar")
    fewer = appell.close_loops(
        robot.spanning_tree, robot.closures, actuated=["left_motor"], q=robot.reference_configuration
    )
    q, qd, qdd = (array[0] for array in states(fewer, 1))
    with pytest.raises(appell.ModelError, match=r"1 actuators \(left_motor\) cannot give any motion of 2 degrees"):
        fewer.inverse_dynamics(q, qd, qdd)
    with pytest.raises(appell.ModelError, match="actuators"):
        appell.compile(fewer).inverse_dynamics(q, qd, qdd)
    assert fewer.forward_dynamics(q, qd, [0.1]).shape == (2,)


def test_speeds_may_be_chosen():
    robot = built_in("five_bar")
    other = appell.close_loops(
        robot.spanning_tree,
        robot.closures,
        robot.actuated,
        independent_velocities=["left_motor", "left_elbow"],
        q=robot.reference_configuration,
    )
    q, qd, qdd = states(robot, 2)
    v, vd = robot.joint_velocities(q, qd), robot.joint_accelerations(q, qd, qdd)
    expected = robot.inverse_dynamics(q, qd, qdd)
    assert_close(
        other.inverse_dynamics(q, v[:, :2], vd[:, :2]), expected, tolerance=1e-11, scale=np.abs(expected).max()
    )
    with pytest.raises(appell.ModelError, match="left_motor are not independent velocities"):
        appell.close_loops(
            robot.spanning_tree,
            robot.closures,
            robot.actuated,
            independent_velocities=["left_motor"],
            q=robot.reference_configuration,
        )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "hinge"}, r"closure 'knee' of 'parallelogram': unknown kind 'hinge'.*revolute"),
        ({"body1": "arm"}, r"unknown body 'arm'.*crank"),
        ({"axis": (0.0, 0.0, 0.0)}, "axis has length 0"),
        ({"body1": "rocker"}, "do not move relative to each other"),
    ],
)
def test_closures_without_meaning_are_refused(change, message):
    robot = parallelogram()
    with pytest.raises(appell.ModelError, match=message):
        appell.close_loops(robot.spanning_tree, [replace(robot.closures[0], **change)], actuated=["a"])


def test_loops_that_cannot_be_closed_or_leave_no_motion_are_refused():
    robot = parallelogram()
    knee = robot.closures[0]
    far = replace(knee, pose2=Pose((9.0, 0.0, 0.0)))
    with pytest.raises(appell.errors.LoopClosureError, match="'knee' stays open"):
        appell.close_loops(robot.spanning_tree, [far], actuated=["a"])
    with pytest.raises(appell.ModelError, match="another closure has this name"):
        appell.close_loops(robot.spanning_tree, [knee, knee], actuated=["a"])
    weld = replace(knee, kind="weld", pose2=Pose((1.0, 0.0, 0.0), (0.0, 0.0, -1.0)))
    with pytest.raises(appell.ModelError, match="leave no degree of freedom"):
        appell.close_loops(robot.spanning_tree, [weld], actuated=["a"], q=[1.0, -1.0, 1.0])
    with pytest.raises(appell.ModelError, match="there are no closures"):
        appell.close_loops(robot.spanning_tree, [], actuated=["a"])
    with pytest.raises(appell.ArgumentError, match=r"unknown joint 'motor'"):
        appell.close_loops(robot.spanning_tree, [knee], actuated=["motor"])


def test_a_singular_start_leads_to_a_regular_reference():
    robot = parallelogram(q=[0.0, 0.0, 0.0])
    assert robot.nv == 1
    assert robot.singularity(np.array(robot.reference_configuration)) is None


def offset_parallelogram(offset: float):
    """A parallelogram whose knee is out of the plane: no configuration closes it better than by this offset."""
    robot = parallelogram()
    loop = robot.closures[0]
    other = replace(loop, kind="spherical", pose2=Pose((1.0, 0.0, offset)))
    return replace(robot, closures=(other,))


@pytest.mark.parametrize(("offset", "closed"), [(5e-8, True), (3e-7, False), (1e-4, False)])
def test_loops_are_closed_to_a_tenth_of_a_micrometre(offset, closed):
    """What cannot be closed better than the tolerance is not closed, and the error has the size of the gap."""
    found = offset_parallelogram(offset).solve_loop_closure([1.0, -1.0, 1.0])
    assert bool(found.closed) is closed
    assert found.error == pytest.approx(offset, rel=1e-3)


def test_newton_steps_are_limited():
    """Near a singular configuration the full step would be many radians; no joint moves by more than half a radian."""
    robot = parallelogram()
    q = np.array([[-2.95, 0.2, 0.07]])
    residual = position_closure.residuals(robot, q)
    K = robot.functions["closure_jacobian", None]((q,), None, None, None, None, False)
    full = np.abs(np.linalg.pinv(K[0], rcond=1e-6) @ residual[0]).max()
    assert full > 1.0
    moved, _ = position_closure._newton_step(robot, q, residual, np.arange(3))
    assert 0.0 < np.abs(moved - q).max() <= 0.5 + 1e-12


def test_iterations_are_the_newton_steps(monkeypatch):
    steps = []
    newton_step = position_closure._newton_step

    def counted(*arguments):
        steps.append(arguments)
        return newton_step(*arguments)

    monkeypatch.setattr(position_closure, "_newton_step", counted)
    found = parallelogram().solve_loop_closure([0.7, -0.9, 0.8])
    assert found.status == "closed"
    assert found.iterations == len(steps) >= 2


def loop_with_mimic(multiplier: float):
    """Five bars in a plane: the joint in the middle of one arm turns by a multiple of its shoulder."""
    bar = {"mass": 1.0, "com": (0.5, 0.0, 0.0), "inertia": (0.01, 0.1, 0.1)}
    builder = appell.RobotBuilder("geared", gravity=(0, -9.81, 0)).body("base")
    for name in ("one", "two", "three", "four", "five"):
        builder = builder.body(name, **bar)
    builder = builder.continuous("a", parent="base", child="one")
    builder = builder.continuous("b", parent="one", child="two", xyz=(1, 0, 0), mimic=Mimic("a", multiplier, 0.2))
    builder = builder.continuous("c", parent="base", child="three", xyz=(1.2, 0, 0))
    builder = builder.continuous("d", parent="three", child="four", xyz=(1, 0, 0))
    builder = builder.continuous("e", parent="two", child="five", xyz=(1, 0, 0))
    end = Pose((1.0, 0.0, 0.0))
    knee = LoopClosure("knee", "spherical", "five", "four", end, end)
    return appell.close_loops(builder.build(), [knee], actuated=["a", "c"], q=[1.9, 1.2, 0.5, -0.9])


@pytest.mark.parametrize("multiplier", [-0.5, 0.7])
def test_closed_loops_with_mimic_joints(multiplier):
    """The closure Jacobian has the multiplier: it is the slope of the residual; and dynamics are those of the energies."""
    robot = loop_with_mimic(multiplier)
    tree = robot.spanning_tree
    q = np.array(robot.reference_configuration)
    K = robot.functions["closure_jacobian", None]((q,), None, None, None, None, False)
    step = 1e-6
    slopes = np.stack([
        position_closure.residuals(robot, tree.integrate(q, step * unit)[None])[0]
        - position_closure.residuals(robot, tree.integrate(q, -step * unit)[None])[0]
        for unit in np.eye(tree.nv)
    ], axis=1) / (2 * step)  # fmt: skip
    assert_close(K, slopes, tolerance=1e-8)
    qd, qdd = np.array([0.6, -0.4]), np.array([1.0, 2.0])
    assert_close(robot.forward_dynamics(q, qd, robot.inverse_dynamics(q, qd, qdd)), qdd, tolerance=1e-10)
    motion = appell.simulate(robot, q, qd, 0.1, method=appell.Integration(rtol=1e-11))
    assert np.abs(motion.energy - motion.energy[0]).max() < 1e-8
    assert robot.closure_error(motion.q).max() < 1e-9


def test_a_start_beyond_all_angles_is_not_closed():
    """Where angles are too large for a slope, the loops stay open instead of an error of linear algebra."""
    robot = appell.load("four_bar")
    solution = robot.solve_loop_closure([1e9, 2e9, -3e9])
    assert not solution.closed
    with pytest.raises(appell.errors.LoopClosureError, match="loops do not close"):
        _ = solution.q
