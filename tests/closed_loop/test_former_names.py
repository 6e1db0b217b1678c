"""Names of version 0.1 work and warn."""

from __future__ import annotations

import pytest

import appell

FORMER = {
    "close": "solve_loop_closure", "coordinate_names": "q_names", "joint_speeds": "joint_velocities",
    "open_tree": "spanning_tree", "reference": "reference_configuration", "speed_map": "joint_velocity_jacobian",
    "speed_names": "qd_names", "speeds": "independent_velocities", "tree": "system",
}  # fmt: skip


def test_a_robot_with_closed_loops():
    robot = appell.load("four_bar")
    for old, new in FORMER.items():
        with pytest.warns(DeprecationWarning, match=new):
            former = getattr(robot, old)
        assert former == getattr(robot, new)
    q = robot.reference_configuration
    with pytest.warns(DeprecationWarning, match="fixed_joints="):
        solution = robot.solve_loop_closure(q, hold=["crank"])
    with pytest.warns(DeprecationWarning, match="best_q"):
        assert (solution.nearest == solution.best_q).all()
    with pytest.warns(DeprecationWarning, match="tau="):
        robot.forward_dynamics(q, [0.0], torques=[0.0])


def test_a_closure():
    with pytest.warns(DeprecationWarning, match="LoopClosure"):
        former = appell.Closure
    assert former is appell.LoopClosure
    with pytest.warns(DeprecationWarning, match="pose1="):
        closure = former("knee", "point", "a", "b", first_pose=appell.Pose((1.0, 0.0, 0.0)))
    with pytest.warns(DeprecationWarning, match="body2"):
        assert closure.second == "b"


def test_a_spherical_robot():
    with pytest.warns(DeprecationWarning, match="working_mode="):
        wrist = appell.robots.agile_wrist(assembly="minus")
    assert wrist == appell.robots.agile_wrist(working_mode="minus")
    with pytest.warns(DeprecationWarning, match="working_mode"):
        assert wrist.legs[0].assembly == "minus"
    with pytest.warns(DeprecationWarning, match="with_working_modes"):
        assert wrist.with_assembly("plus") == wrist.with_working_modes("plus")
    with pytest.warns(DeprecationWarning, match="singularity"):
        assert wrist.singularities([0.0, 0.0, 0.0]).status == "regular"


def test_loops_of_version_0_1_still_load():
    """The entry `speeds` of loop descriptions."""
    from appell.loading.loops import from_mapping

    knee = {"name": "knee", "kind": "point", "first": {"body": "a"}, "second": {"body": "b"}}
    content = {"actuated": [], "closures": [knee]}
    former = from_mapping({**content, "speeds": ["a"]}, "loops")
    assert former == from_mapping({**content, "independent_velocities": ["a"]}, "loops")
