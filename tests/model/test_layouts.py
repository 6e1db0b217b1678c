"""The same state in MuJoCo's and Drake's layouts: both programs compute the same from what they are given."""

from __future__ import annotations

from functools import cache
from xml.sax.saxutils import quoteattr

import numpy as np
import pytest
from helpers.closeness import assert_close
from helpers.joint_trees import CURVED, EVERY_TREE, mixed_tree
from helpers.random_trees import over
from helpers.shared_data import shared
from helpers.states import random_states
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

import appell
from appell.model.joints import KINDS
from appell.model.tree_builder import axes_along
from appell.robot.robot import Robot

TOLERANCE = 1e-11
CONVERSIONS = {
    "mujoco": ("to_mujoco", "from_mujoco"),
    "drake": ("to_drake", "from_drake"),
    "pinocchio": ("to_pinocchio", "from_pinocchio"),
}


@over(EVERY_TREE)
@pytest.mark.parametrize("program", CONVERSIONS)
def test_there_and_back(robot: Robot, program: str) -> None:
    """The same speeds, and the same pose of every body; a quaternion may come back with the other sign."""
    there, back = CONVERSIONS[program]
    q, qd, _ = random_states(robot)
    again, speeds = getattr(robot, back)(*getattr(robot, there)(q, qd))
    assert_close(speeds, qd, tolerance=1e-14, scale=10.0)
    assert_close(robot.difference(q, again), 0 * qd, tolerance=1e-14, scale=10.0)


@pytest.mark.parametrize("program", CONVERSIONS)
def test_leading_dimensions_broadcast(program: str) -> None:
    robot = mixed_tree(9, 3)
    q, qd, _ = random_states(robot, 3)
    there = getattr(robot, CONVERSIONS[program][0])
    positions, velocities = there(q, qd[:2, None])
    assert velocities.shape == (2, 3, robot.nv)
    one = there(q[2], qd[1])
    assert_close(positions[1, 2], one[0])
    assert_close(velocities[1, 2], one[1])


def test_what_is_no_state_is_refused_by_name() -> None:
    robot = mixed_tree(9, 3)
    with pytest.raises(appell.ArgumentError, match=r"qd has shape \(3,\)"):
        robot.to_mujoco(np.zeros(robot.nq), np.zeros(3))
    with pytest.raises(appell.ArgumentError, match=r"their q has shape \(2,\)"):
        robot.from_drake(np.zeros(2), np.zeros(robot.nv))


def test_a_fixed_robot_is_the_same_everywhere() -> None:
    """But for the continuous joints of Pinocchio."""
    robot = appell.RobotBuilder().prismatic("a", "base", "cart").revolute("b", "cart", "bob").build()
    q, qd, _ = random_states(robot)
    for names in CONVERSIONS.values():
        for name in names:
            for found, expected in zip(getattr(robot, name)(q, qd), (q, qd), strict=True):
                np.testing.assert_array_equal(found, expected)


@given(angles=st.tuples(*[st.sampled_from([0.0, 0.3, -2.0, np.pi / 2, -np.pi / 2, np.pi, 1.5707, 1e-9])] * 3))
def test_roll_pitch_yaw_of_every_attitude(angles: tuple[float, float, float]) -> None:
    """An upright x axis included, where roll and yaw are not unique: the attitude is."""
    robot = ball()
    q, _ = robot.from_drake(angles, np.zeros(3))
    again, _ = robot.from_drake(robot.to_drake(q, np.zeros(3))[0], np.zeros(3))
    R = Rotation.from_euler("xyz", angles).as_matrix()
    for each in (q, again):
        assert_close(robot.pose(each, "body")[:3, :3], R, tolerance=1e-14, scale=1.0)


@cache
def ball() -> Robot:
    return appell.RobotBuilder().body("body", 1.0, inertia=(1, 1, 1)).spherical("ball", "base", "body").build()


# --- MuJoCo -------------------------------------------------------------------------------------------------------------


def numbers(values) -> str:
    return quoteattr(" ".join(repr(float(value)) for value in values))


def slides(axes: np.ndarray, name: str, armature: str) -> str:
    parts = (f'<joint name="{name}{k}" type="slide" axis={numbers(axis)} {armature}/>' for k, axis in enumerate(axes))
    return "".join(parts)


def joints_of(joint) -> str:
    """The joint in MJCF."""
    name, armature = joint.name, f'armature="{joint.armature!r}"'
    axis, axes = numbers(joint.axis), axes_along(joint.axis).T
    hinge = f'<joint name="{name}" type="hinge" axis={axis} {armature}/>'
    return {
        "fixed": "",
        "revolute": hinge,
        "continuous": hinge,
        "prismatic": f'<joint name="{name}" type="slide" axis={axis} {armature}/>',
        "spherical": f'<joint name="{name}" type="ball" {armature}/>',
        "floating": f'<joint name="{name}" type="free" {armature}/>',
        "planar": slides(axes[:2], name, armature) + hinge,
        "cylindrical": slides([joint.axis], name, armature) + hinge,
        "translation": slides(np.eye(3), name, armature),
        "universal": f'<joint name="{name}x" axis="1 0 0" {armature}/><joint name="{name}y" axis="0 1 0" {armature}/>',
    }[joint.kind]


def mjcf_of(robot: Robot) -> str:
    def body(name: str, place: str, joints: str) -> str:
        own = robot.body(name)
        Ixx, Ixy, Ixz, Iyy, Iyz, Izz = own.inertia
        full = numbers((Ixx, Iyy, Izz, Ixy, Ixz, Iyz))
        mass = f'<inertial pos={numbers(own.com)} mass="{own.mass!r}" fullinertia={full}/>' if own.mass else ""
        below = "".join(inside(joint) for joint in robot.joints if joint.parent == name)
        return f"<body name={quoteattr(name)} {place}>{joints}{mass}{below}</body>"

    def inside(joint) -> str:
        quaternion = Rotation.from_euler("xyz", joint.origin.rpy).as_quat()[[3, 0, 1, 2]]
        return body(joint.child, f"pos={numbers(joint.origin.xyz)} quat={numbers(quaternion)}", joints_of(joint))

    inner = "".join(inside(joint) for joint in robot.joints if joint.parent == robot.bodies[0].name)
    return (
        '<mujoco><compiler angle="radian" boundmass="0" boundinertia="0"/>'
        f'<option gravity={numbers(robot.gravity_vector)}><flag contact="disable" constraint="disable"/></option>'
        f"<worldbody>{inner}</worldbody></mujoco>"
    )


def flying(kinds: tuple[str, ...], seed: int) -> Robot:
    """A free body at the world's origin, as MuJoCo has it, that carries a chain; in the order of MuJoCo's bodies.

    Planar joints have no rotors: theirs turn with the rates of coordinates in MuJoCo and with the speeds here.
    """
    chain = appell.robots.random_chain(len(kinds), seed=seed)
    builder = appell.RobotBuilder(f"flying_{kinds[0]}", gravity=(1.0, -2.0, -9.0)).body("world")
    base = chain.bodies[1]
    builder.body("trunk", 3.0, base.com, base.inertia).floating("free", "world", "trunk")
    parent = "trunk"
    for kind, joint, each in zip(kinds, chain.joints, chain.bodies[1:], strict=True):
        builder.body(each.name, each.mass, each.com, each.inertia)
        rotor, place = 0.0 if kind == "planar" else 0.02, (joint.origin.xyz, joint.origin.rpy)
        builder.joint(kind, joint.name, parent, each.name, joint.axis, *place, rotor_inertia=rotor)
        parent = each.name
    return builder.build()


FLYING = [
    flying(("revolute", "spherical", "prismatic"), 1),
    flying(("planar", "universal"), 2),
    flying(("cylindrical", "translation", "spherical"), 3),
]


def speed_matrix(convert, q: np.ndarray, nv: int) -> np.ndarray:
    """B(q) with their qd = B qd."""
    return np.stack([convert(q, unit)[1] for unit in np.eye(nv)], axis=-1)


def rate_of_speed(robot: Robot, convert, q, qd, qdd) -> np.ndarray:
    """d/dt of their qd: B qdd + Ḃ qd, by central differences of the map alone, which is a rotation."""
    h = 1e-5
    ahead, behind = (speed_matrix(convert, robot.integrate(q, s * h * qd), robot.nv) for s in (1, -1))
    return speed_matrix(convert, q, robot.nv) @ qdd + (ahead - behind) / (2 * h) @ qd


@over(FLYING)
def test_mujoco_computes_the_same(robot: Robot) -> None:
    """Poses, inertia matrix, bias and inverse dynamics: M = B^T M' B, tau = B^T tau'."""
    mujoco = pytest.importorskip("mujoco")
    model = mujoco.MjModel.from_xml_string(mjcf_of(robot))
    data = mujoco.MjData(model)
    assert (model.nq, model.nv) == (robot.nq, robot.nv)
    for q, qd, qdd in zip(*random_states(robot), strict=True):
        data.qpos, data.qvel = robot.to_mujoco(q, qd)
        mujoco.mj_forward(model, data)
        B = speed_matrix(robot.to_mujoco, q, robot.nv)
        last = robot.body_names[-1]
        assert_close(data.body(last).xpos, robot.pose(q, last)[:3, 3], tolerance=TOLERANCE)
        M = np.zeros((model.nv, model.nv))
        for column, unit in zip(M, np.eye(model.nv), strict=True):
            mujoco.mj_mulM(model, data, column, unit)
        assert_close(B.T @ M @ B, robot.mass_matrix(q), tolerance=TOLERANCE)
        data.qacc = rate_of_speed(robot, robot.to_mujoco, q, qd, qdd)
        mujoco.mj_inverse(model, data)
        assert_close(B.T @ data.qfrc_inverse, robot.inverse_dynamics(q, qd, qdd), tolerance=1e-9)
        momentum = robot.centroidal_momentum(q, qd)[:3] / sum(body.mass for body in robot.bodies)
        mujoco.mj_subtreeVel(model, data)
        assert_close(data.body("trunk").subtree_linvel, momentum, tolerance=TOLERANCE)


@over(FLYING)
def test_what_mujoco_reads_is_the_robot(robot: Robot) -> None:
    """Loaded from MJCF, with free joint and balls, it moves as the robot that was written."""
    pytest.importorskip("mujoco")
    loaded = appell.load(mjcf_of(robot))
    assert {"floating"} <= {joint.kind for joint in loaded.joints}
    q, qd, _ = random_states(robot)
    expected = robot.kinetic_energy(q, qd), robot.potential_energy(q)
    state = loaded.from_mujoco(*robot.to_mujoco(q, qd))
    assert_close(loaded.kinetic_energy(*state), expected[0], tolerance=TOLERANCE)
    assert_close(loaded.potential_energy(state[0]), expected[1], tolerance=TOLERANCE)


# --- Drake --------------------------------------------------------------------------------------------------------------


@over([robot for robot in EVERY_TREE if robot.joints[0].kind in CURVED])
def test_drake_speeds_are_velocities_in_the_parents_frame(robot: Robot) -> None:
    """Of the first joint, from poses and Jacobians alone: R^T ṗ and the angular velocity, seen from the joint's frame."""
    q, qd, _ = random_states(robot)
    joint = robot.joints[0]
    kind = KINDS[joint.kind]
    R = joint.origin.rotation @ (axes_along(joint.axis) if kind.axial else np.eye(3))
    twist = np.einsum("nij,nj->ni", robot.jacobian(q, joint.child), qd) @ np.kron(np.eye(2), R)
    velocities = robot.to_drake(q, qd)[1][:, : kind.nv]
    expected = {
        "floating": twist[:, [3, 4, 5, 0, 1, 2]], "spherical": twist[:, 3:], "planar": twist[:, [0, 1, 5]]
    }[joint.kind]  # fmt: skip
    assert_close(velocities, expected, tolerance=TOLERANCE)


DRAKE_KINDS = ("revolute", "spherical", "prismatic", "planar", "universal", "continuous")


def test_drake_computes_the_same() -> None:
    """Where Drake is installed: M = B^T M' B and the momentum of a flying robot."""
    plants = pytest.importorskip("pydrake.multibody.plant")
    robot = flying(DRAKE_KINDS, 4)
    robot = appell.Robot.from_dict({
        **robot.to_dict(), "joints": [{**joint, "rotor_inertia": 0.0} for joint in robot.to_dict()["joints"]]
    })  # fmt: skip
    plant = drake_plant(plants, robot)
    context = plant.CreateDefaultContext()
    for q, qd, _ in zip(*random_states(robot), strict=True):
        positions, velocities = robot.to_drake(q, qd)
        plant.SetPositions(context, positions)
        plant.SetVelocities(context, velocities)
        B = speed_matrix(robot.to_drake, q, robot.nv)
        M = plant.CalcMassMatrix(context)
        assert_close(B.T @ M @ B, robot.mass_matrix(q), tolerance=TOLERANCE)
        there = plant.CalcCenterOfMassTranslationalVelocityInWorld(context)
        assert_close(there, robot.center_of_mass_jacobian(q) @ qd, tolerance=TOLERANCE)
        last = robot.body_names[-1]
        pose = plant.EvalBodyPoseInWorld(context, plant.GetBodyByName(last)).GetAsMatrix4()
        assert_close(pose, robot.pose(q, last), tolerance=TOLERANCE)


def drake_plant(plants, robot: Robot):
    """The robot in Drake, whose world is our root body."""
    from pydrake.math import RigidTransform, RollPitchYaw
    from pydrake.multibody import tree

    plant = plants.MultibodyPlant(0.0)
    bodies = {robot.bodies[0].name: plant.world_body()}
    for body in robot.bodies[1:]:
        Ixx, Ixy, Ixz, Iyy, Iyz, Izz = body.inertia
        central = tree.RotationalInertia(Ixx, Iyy, Izz, Ixy, Ixz, Iyz)
        inertia = tree.SpatialInertia.MakeFromCentralInertia(body.mass, np.array(body.com), central)
        bodies[body.name] = plant.AddRigidBody(body.name, inertia)
    kinds = {
        "floating": lambda joint: (tree.QuaternionFloatingJoint, {}),
        "spherical": lambda joint: (tree.BallRpyJoint, {}),
        "universal": lambda joint: (tree.UniversalJoint, {}),
        "planar": lambda joint: (tree.PlanarJoint, {"damping": np.zeros(3)}),
        "revolute": lambda joint: (tree.RevoluteJoint, {"axis": joint.axis}),
        "continuous": lambda joint: (tree.RevoluteJoint, {"axis": joint.axis}),
        "prismatic": lambda joint: (tree.PrismaticJoint, {"axis": joint.axis}),
    }
    for joint in robot.joints:
        turned = np.eye(4)
        turned[:3, :3] = axes_along(joint.axis) if joint.kind == "planar" else np.eye(3)
        origin = RigidTransform(RollPitchYaw(*joint.origin.rpy), joint.origin.xyz)
        ends = ((joint.parent, origin @ RigidTransform(turned)), (joint.child, RigidTransform(turned)))
        frames = [
            plant.AddFrame(tree.FixedOffsetFrame(f"{joint.name}_{name}", bodies[name].body_frame(), place))
            for name, place in ends
        ]
        kind, extra = kinds[joint.kind](joint)
        plant.AddJoint(kind(joint.name, *frames, **extra))
    plant.Finalize()
    return plant


@pytest.mark.parametrize("name", ["panda", "g1", "ur5"])
def test_pinocchio_computes_the_same_from_its_layout(name: str) -> None:
    """Its order of joints, and mimic joints, which it has as joints of their own."""
    pin = pytest.importorskip("pinocchio")
    path = shared(f"robots/{name}.urdf")
    floating = name == "g1"
    model = pin.buildModelFromUrdf(str(path), *([pin.JointModelFreeFlyer()] if floating else []))
    robot, data, names = appell.load(path, base="floating" if floating else "fixed"), model.createData(), model.names
    q, qd, _ = random_states(robot)
    for k in range(len(q)):
        there, speeds = robot.to_pinocchio(q[k], qd[k], list(names)[1:])
        assert there.shape == (model.nq,)
        pin.forwardKinematics(model, data, there, speeds)
        kinetic = pin.computeKineticEnergy(model, data, there, speeds)
        assert_close(np.array(kinetic), robot.kinetic_energy(q[k], qd[k]), tolerance=1e-11)
        again, back = robot.from_pinocchio(there, speeds, list(names)[1:])
        assert_close(robot.difference(q[k], again), 0 * qd[k], tolerance=1e-13, scale=10.0)
        assert_close(back, qd[k])
    with pytest.raises(appell.ArgumentError, match="not once, expected every joint"):
        robot.to_pinocchio(q[0], qd[0], list(names)[2:])
