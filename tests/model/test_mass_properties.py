"""Robots without mass, mass given by hand, and estimates from shapes."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from helpers.closeness import assert_close

import appell
from appell.model.body import Geometry, Visual
from appell.model.pose import Pose


def arm(**body):
    """Two links about z; the second has this body."""
    builder = appell.RobotBuilder("arm").body("upper").body("fore", **body)
    return builder.revolute("shoulder", "base", "upper").revolute("elbow", "upper", "fore", xyz=(1, 0, 0)).build()


CALLS = {
    "mass_matrix": lambda robot: robot.mass_matrix([0.1, 0.2]),
    "inverse_dynamics": lambda robot: robot.inverse_dynamics([[0.1, 0.2]] * 3, [[0.0, 0.0]] * 3, [[0.0, 0.0]] * 3),
    "forward_dynamics": lambda robot: appell.simulate(robot, [0.1, 0.2], [0.0, 0.0], 0.1),
    "gravity": lambda robot: appell.compile(robot, layout="columns").gravity([[0.1], [0.2]]),
    "bias": lambda robot: appell.compile(robot, parameters="runtime").bias([0.1, 0.2], [0.0, 0.0]),
    "kinetic_energy": lambda robot: appell.export(robot, ["kinetic_energy"], "never_written"),
    "equations": lambda robot: appell.equations(robot),
    "coriolis_matrix": lambda robot: appell.count_operations(robot, "coriolis_matrix"),
}


@pytest.mark.parametrize("function", CALLS)
def test_functions_that_need_mass_name_the_links_without(function):
    with pytest.raises(
        appell.ModelError, match=rf"^{function} needs mass, .*: 'upper', 'fore'\..*with_inertia"
    ) as caught:
        CALLS[function](arm())
    assert [problem.kind for problem in caught.value.problems] == ["singular", "singular"]


@pytest.mark.parametrize("parameters", ["baked", "runtime"])
def test_rollouts_and_files_need_mass(tmp_path, parameters):
    dyn = appell.compile(arm(), parameters=parameters)
    with pytest.raises(appell.ModelError, match="forward_dynamics needs mass"):
        appell.rollout(dyn, [0.1, 0.2], [0.0, 0.0], steps=3, dt=0.01)
    with pytest.raises(appell.ModelError, match="needs mass"):
        dyn.save(tmp_path / "arm.appell")
    dyn.save(tmp_path / "arm.appell", functions=(), frames=["fore"])
    assert_close(appell.load_compiled(tmp_path / "arm.appell").pose([0.0, 0.0], "fore")[:3, 3], [1.0, 0.0, 0.0])


def test_kinematics_and_run_time_parameters_need_no_mass():
    robot, full = arm(), arm(mass=2.0, com=(0.5, 0, 0), inertia=(0.1, 0.2, 0.3))
    q, qd, qdd = [0.3, -0.4], [0.5, 0.6], [0.7, 0.8]
    assert_close(robot.jacobian(q, "fore"), full.jacobian(q, "fore"))
    solution = appell.inverse_kinematics(robot, robot.pose(q, "fore"), "fore", q0=[0.0, 0.0])
    assert_close(robot.pose(solution.q, "fore"), robot.pose(q, "fore"), tolerance=1e-6)
    assert_close(robot.regressor(q, qd, qdd) @ full.parameters, full.inverse_dynamics(q, qd, qdd))
    assert_close(robot.mass_matrix(q, parameters=full.parameters), full.mass_matrix(q))


def test_a_massless_link_between_joints_is_allowed_where_the_mass_matrix_is_regular():
    builder = appell.RobotBuilder("wrist").body("hand", mass=1.0, com=(0.1, 0, 0), inertia=(0.01, 0.01, 0.01))
    builder = builder.revolute("yaw", "base", "ring", axis="z").revolute("pitch", "ring", "hand", axis="y")
    with pytest.warns(appell.ModelWarning, match="link 'ring': the link moves with joint 'yaw' but has no mass"):
        robot = builder.build()
    assert np.linalg.eigvalsh(robot.mass_matrix([0.1, 0.2])).min() > 0.0


def test_mass_given_by_hand():
    full = arm(mass=2.0, com=(0.5, 0, 0), inertia=(0.1, 0.2, 0.3))
    given = arm().with_inertia({"fore": {"mass": 2.0, "com": (0.5, 0, 0), "inertia": np.diag([0.1, 0.2, 0.3])}})
    assert given == full
    with pytest.raises(appell.ArgumentError, match="unknown link 'arm'"):
        given.with_inertia({"arm": {"mass": 1.0}})
    with pytest.raises(appell.ArgumentError, match=r"link 'fore' has .*expected a mapping with mass"):
        given.with_inertia({"fore": {"weight": 1.0}})
    with pytest.raises(appell.ModelError, match="mass is -1 kg"):
        given.with_inertia({"fore": {"mass": -1.0}})


POINTS = np.random.default_rng(0).uniform(-1.0, 1.0, (200_000, 3))
INSIDE = {
    "box": ((0.8, 1.2, 1.6), lambda p: (np.abs(p) < [0.4, 0.6, 0.8]).all(axis=1)),
    "sphere": ((0.9,), lambda p: np.linalg.norm(p, axis=1) < 0.9),
    "cylinder": ((0.7, 1.2), lambda p: (np.hypot(p[:, 0], p[:, 1]) < 0.7) & (np.abs(p[:, 2]) < 0.6)),
    "capsule": ((0.5, 0.9), lambda p: np.linalg.norm(p - [0, 0, 1] * p.clip(-0.45, 0.45), axis=1) < 0.5),
}


@pytest.mark.parametrize("kind", INSIDE)
def test_solids_have_the_moments_of_their_volume(kind):
    """Against random points in a cube of volume 8, which are within a per cent."""
    size, inside = INSIDE[kind]
    points = POINTS[inside(POINTS)]
    body = arm(collisions=[Geometry(kind, size)]).with_estimated_inertia(density=500.0).body("fore")
    mass = 500.0 * 8.0 * len(points) / len(POINTS)
    assert_close(body.mass, np.float64(mass), tolerance=0.02)
    moments = body.mass * np.mean(np.sum(points**2, axis=1)[:, None] - points**2, axis=0)
    assert_close(np.array(body.inertia)[[0, 3, 5]], moments, tolerance=0.02)
    assert body.estimated == "collision shapes at 500 kg/m³"


def test_placed_shapes_add_up():
    """Two halves of a box are the box, turned and moved."""
    pose = Pose((0.1, 0.2, 0.3), (0.4, 0.5, 0.6))
    ends = [np.array(pose.xyz) + pose.rotation @ [0, 0, z] for z in (0.25, -0.25)]
    halves = [Visual("box", (0.2, 0.3, 0.5), Pose(tuple(end), pose.rpy)) for end in ends]
    whole, split = (
        arm(visuals=shapes).with_estimated_inertia(density=1.0).body("fore")
        for shapes in ([Visual("box", (0.2, 0.3, 1.0), pose)], halves)
    )
    assert_close([split.mass, *split.com, *split.inertia], [whole.mass, *whole.com, *whole.inertia], tolerance=1e-12)


def test_meshes_and_marks(tmp_path):
    trimesh = pytest.importorskip("trimesh")
    trimesh.creation.box((0.1, 0.2, 0.3)).export(tmp_path / "box.stl")
    text = arm(collisions=[Geometry("mesh", (1.0, 1.0, -2.0), mesh="box.stl")]).to_urdf(tmp_path / "arm.urdf")
    with pytest.warns(appell.ModelWarning, match="Only kinematics is defined"):
        robot = appell.load(tmp_path / "arm.urdf")
    robot = robot.with_estimated_inertia(density=1000.0)
    assert_close(robot.body("fore").mass, np.float64(12.0), tolerance=1e-6)
    assert [p.where for p in appell.check(robot) if p.kind == "estimated"] == ["link 'fore'"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert appell.load(robot.to_urdf()).body("fore").estimated == robot.body("fore").estimated
        lost = appell.load(text)
    with pytest.raises(appell.ModelError, match=r"link 'fore': mesh 'box.stl' was not found\. Give"):
        lost.with_estimated_inertia(density=1000.0)
    with pytest.raises(appell.ModelError, match="link 'base' has no shapes"):
        robot.with_estimated_inertia(density=1000.0, links=["base"])
