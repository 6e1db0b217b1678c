"""Constrained dynamics: equations of motion and contact at rest, for every kind of joint, closed loops and redundant contacts."""

from __future__ import annotations

import math

import numpy as np
import pytest
from helpers.closeness import assert_close
from helpers.joint_trees import KIND_TREES, mixed_tree, tree_of
from helpers.loop_robots import built_in, states
from helpers.states import random_states
from scipy.spatial.transform import Rotation

import appell
from appell import Point
from appell.algebra import Mat3, Vec3
from appell.algorithms.constrained_dynamics import HeldFrame, gram, kinds, placement_error, proximal, wrenches
from appell.algorithms.kinematics import WorldMotion

OFFSET = (0.1, -0.2, 0.3)
CORNERS = [Point("block", (x, y, -0.1)) for x in (-0.2, 0.2) for y in (-0.3, 0.3)]


def block() -> appell.Robot:
    builder = appell.RobotBuilder("block").body("world").body("block", 2.0, inertia=(0.1, 0.2, 0.3))
    return builder.floating("base", "world", "block").build()


def point_terms(robot, q, qd, body: str, offset) -> tuple[np.ndarray, np.ndarray]:
    """J and J̇ qd of a point, from the functions of its body."""
    J, Jd, R = robot.jacobian(q, body), robot.jacobian_rate(q, qd, body), robot.pose(q, body)[:3, :3]
    arm, omega = R @ offset, J[3:] @ qd
    moved = np.array([[0.0, arm[2], -arm[1]], [-arm[2], 0.0, arm[0]], [arm[1], -arm[0], 0.0]])
    drift = Jd @ qd
    return J[:3] + moved @ J[3:], drift[:3] + np.cross(drift[3:], arm) + np.cross(omega, np.cross(omega, arm))


@pytest.mark.parametrize("robot", KIND_TREES, ids=lambda robot: robot.name)
def test_equations_of_motion_and_contact_at_rest(robot) -> None:
    """M qdd + b = tau + J^T f and J qdd + J̇ qd = 0, with a frame and a point."""
    frame, body = robot.body_names[-1], robot.body_names[len(robot.body_names) // 2]
    q, qd, tau = (x[0] for x in random_states(robot, 1))
    found = robot.constrained_forward_dynamics(q, qd, tau, [Point(body, OFFSET), frame])
    Jp, drift = point_terms(robot, q, qd, body, OFFSET)
    J = np.vstack([Jp, robot.jacobian(q, frame)])
    gamma = np.concatenate([drift, robot.jacobian_rate(q, qd, frame) @ qd])
    f = np.concatenate([found.forces[0, :3], found.forces[1]])
    assert not found.forces[0, 3:].any()
    M, b = robot.mass_matrix(q), robot.bias(q, qd)
    scale = float((np.abs(J.T) @ np.abs(f) + np.abs(b)).max())
    assert_close(M @ found.qdd + b, tau + J.T @ f, tolerance=1e-12, scale=scale)
    if np.linalg.matrix_rank(J, tol=1e-8) == len(J):
        assert_close(J @ found.qdd, -gamma, tolerance=1e-7, scale=float(np.abs(gamma).max() + np.abs(found.qdd).max()))


@pytest.mark.parametrize("name", ["five_bar", "delta"])
def test_closed_loops(name: str) -> None:
    """A held point of a body of a loop: the same equations in independent velocities."""
    robot = built_in(name)
    q, qd, _ = (x[0] for x in states(robot, 1))
    tau, body = np.ones(len(robot.actuator_names)), robot.body_names[-1]
    qdd, forces = robot.constrained_forward_dynamics(q, qd, tau, [Point(body)])
    J = robot.jacobian(q, body)[:3]
    left = robot.generalized_forces(q, qd, qdd) - robot.actuator_jacobian(q).T @ tau
    assert_close(left, J.T @ forces[0, :3], tolerance=1e-9, scale=float(np.abs(left).max()))
    tree, v, vd = robot.spanning_tree, robot.joint_velocities(q, qd), robot.joint_accelerations(q, qd, qdd)
    acceleration = (tree.jacobian(q, body) @ vd + tree.jacobian_rate(q, v, body) @ v)[:3]
    held = np.linalg.pinv(J.T, rcond=1e-8) @ J.T  # what independent velocities can bring to rest
    assert_close(held @ acceleration, np.zeros(3), tolerance=1e-7, scale=float(np.abs(vd).max()))


def test_inverse_of_forward() -> None:
    """The forces of four legs with actuated joints come back, and floating joints carry nothing."""
    robot = appell.RobotBuilder("two legs").body("world").body("trunk", 3.0, inertia=(0.1, 0.2, 0.3))
    robot = robot.floating("base", "world", "trunk")
    for side in (-1.0, 1.0):
        for k, (kind, axis) in enumerate(
            (("hip", "x"), ("knee", "y"), ("ankle", "y"), ("roll", "x"), ("yaw", "z"), ("toe", "y"))
        ):
            parent = "trunk" if not k else f"shin{k - 1}{side:g}"
            robot.body(f"shin{k}{side:g}", 0.5, com=(0, 0, -0.1), inertia=(0.01, 0.01, 0.01))
            robot.revolute(f"{kind}{side:g}", parent, f"shin{k}{side:g}", axis, xyz=(0.0, 0.1 * side, -0.2))
    robot = robot.build()
    feet = ["shin5-1", "shin51"]
    q, qd, tau = (x[0] for x in random_states(robot, 1))
    tau[:6] = 0.0
    found = robot.constrained_forward_dynamics(q, 0.0 * qd, tau, feet)
    again = robot.constrained_inverse_dynamics(q, 0.0 * qd, found.qdd, feet)
    assert_close(again.tau[:6], np.zeros(6), tolerance=1e-9, scale=float(np.abs(found.forces).max()))
    back = robot.constrained_forward_dynamics(q, 0.0 * qd, again.tau, feet)
    assert_close(back.qdd, found.qdd, tolerance=1e-8)
    assert_close(back.forces, again.forces, tolerance=1e-7)
    assert np.abs(again.forces).sum() < np.abs(found.forces).sum()  # the shortest of all


def test_redundant_contacts_share_symmetrically() -> None:
    robot, rest = block(), np.zeros(6)
    q = robot.neutral_configuration()
    qdd, forces = robot.constrained_forward_dynamics(q, rest, rest, CORNERS)
    assert_close(qdd, rest, tolerance=1e-12, scale=9.81)
    expected = np.zeros((4, 6))
    expected[:, 2] = 2.0 * 9.81 / 4
    assert_close(forces, expected, tolerance=1e-9)


def test_inverse_dynamics_leaves_what_contacts_cannot_carry() -> None:
    """A point cannot hold the moment of gravity about it."""
    robot, rest = block(), np.zeros(6)
    tau, forces = robot.constrained_inverse_dynamics(
        robot.neutral_configuration(), rest, rest, [Point("block", (0.2, 0, 0))]
    )
    left = robot.gravity(robot.neutral_configuration())
    J, _ = point_terms(robot, robot.neutral_configuration(), rest, "block", (0.2, 0.0, 0.0))
    assert_close(tau + J.T @ forces[0, :3], left, tolerance=1e-9)
    assert np.linalg.norm(tau) < np.linalg.norm(left)


def test_baumgarte_gains() -> None:
    """J qdd + J̇ qd = -k_p e - k_d J qd, for positions and for a rotation."""
    robot = block()
    reference = robot.neutral_configuration()
    step = np.array([0.01, -0.02, 0.03, 1e-4, 2e-4, -3e-4])
    q, qd = robot.integrate(reference, step), np.array([0.1, 0.2, -0.1, 0.3, -0.2, 0.1])
    qdd, _ = robot.constrained_forward_dynamics(
        q, qd, [0.0] * 6, ["block"], baumgarte=(100.0, 20.0), reference=reference
    )
    J = robot.jacobian(q, "block")
    a = J @ qdd + robot.jacobian_rate(q, qd, "block") @ qd
    error = np.concatenate([(robot.pose(q, "block") - robot.pose(reference, "block"))[:3, 3], step[3:]])
    assert_close(a, -100.0 * error - 20.0 * J @ qd, tolerance=1e-7)
    damped, _ = robot.constrained_forward_dynamics(q, qd, [0.0] * 6, ["block"], baumgarte=(0.0, 20.0))
    assert_close(J @ damped + robot.jacobian_rate(q, qd, "block") @ qd, -20.0 * J @ qd, tolerance=1e-10)


def test_batches_layouts_and_options() -> None:
    """Leading dimensions, columns, single precision, run-time parameters, gravity and external forces."""
    robot, contacts = appell.robots.random_chain(7, seed=3), [Point("link4", OFFSET)]
    q, qd, tau = random_states(robot, 1100)
    found = robot.constrained_forward_dynamics(q, qd, tau, contacts)
    assert found.qdd.shape == (1100, 7)
    assert found.forces.shape == (1100, 1, 6)
    one = robot.constrained_forward_dynamics(q[7], qd[7], tau[7], contacts)
    assert_close(found.qdd[7], one.qdd, tolerance=1e-9)
    columns = appell.compile(robot, layout="columns").constrained_forward_dynamics(q.T, qd.T, tau.T, contacts)
    assert_close(columns.qdd.T, found.qdd, tolerance=1e-9)
    assert_close(np.moveaxis(columns.forces, -1, 0), found.forces, tolerance=1e-9)
    single = appell.compile(robot, dtype="float32").constrained_forward_dynamics(q[7], qd[7], tau[7], contacts)
    assert_close(single.qdd, one.qdd.astype(np.float32), tolerance=1e-3)
    runtime = appell.compile(robot, parameters="runtime")
    heavier = runtime.constrained_forward_dynamics(q[7], qd[7], tau[7], contacts, parameters=2.0 * robot.parameters)
    assert_close(heavier.qdd, robot.constrained_forward_dynamics(q[7], qd[7], tau[7] / 2, contacts).qdd, tolerance=1e-9)
    wrench = {"link4": np.array([1.0, 2.0, 3.0, 0.1, 0.2, 0.3])}
    options = {"gravity": (0.0, 0.0, 0.0), "external_forces": wrench}
    loaded = robot.constrained_forward_dynamics(q[7], qd[7], tau[7], contacts, **options)
    J, _ = point_terms(robot, q[7], qd[7], "link4", OFFSET)
    left = robot.inverse_dynamics(q[7], qd[7], loaded.qdd, **options) - tau[7]
    assert_close(left, J.T @ loaded.forces[0, :3], tolerance=1e-9, scale=float(np.abs(left).max() + 10.0))


def test_errors() -> None:
    robot, q = appell.load("planar2r"), [0.1, 0.2]
    for contacts, text in (
        (["link3"], "frame 'link3'"),
        ([Point("link3")], "body of a point 'link3'"),
        ("link2", r"as in \['foot'\]"),
        ([], "expected names of frames and points"),
        (["base"], "contact 'base' is fixed to the world. Name frames and points of moving bodies"),
        (["link2", Point("base", (0.1, 0.0, 0.0))], "contact 'base' is fixed to the world"),
        ([3], "expected the name of a frame or an appell.Point"),
    ):
        with pytest.raises(appell.ArgumentError, match=text):
            robot.constrained_forward_dynamics(q, q, q, contacts)
    with pytest.raises(appell.ArgumentError, match="configuration `reference`"):
        robot.constrained_forward_dynamics(q, q, q, ["link2"], baumgarte=(1.0, 0.0))
    with pytest.raises(appell.ArgumentError, match="is of trees, got a ClosedLoopRobot"):
        built_in("four_bar").constrained_inverse_dynamics([0.0] * 3, [0.0], [0.0], ["rocker"])
    with pytest.raises(appell.ArgumentError, match="of trees and closed loops, got a SphericalRobot"):
        appell.load("agile_wrist").constrained_forward_dynamics([0.1] * 3, [0.0] * 3, [0.0] * 3, ["platform"])


def test_the_proximal_iteration_by_hand():
    """x ← (G + W)⁻¹ (W x + b), five times from zero; W is 1e-6 of the mean diagonal of forces, and of moments."""
    G = np.diag([2.0, 3e-6, 1.0, 4e-5, 6.0])
    G[0, 2] = G[2, 0] = 0.5
    is_force = [True, True, True, False, False]
    W = np.diag([1e-6 * (3.0 + 3e-6) / 3.0] * 3 + [1e-6 * (6.0 + 4e-5) / 2.0] * 2)
    b, x = np.array([1.0, 2.0, -1.0, 0.5, 3.0]), np.zeros(5)
    for _ in range(5):
        x = np.linalg.solve(G + W, W @ x + b)
    assert_close(proximal(G.tolist(), b.tolist(), is_force), x, tolerance=1e-9)
    assert np.abs(G @ x - b)[1] > 1e-4  # what is nearly singular is visible
    assert proximal([], [], []) == []


def test_rows_and_wrenches_of_contacts():
    point, frame = HeldFrame(None, 3), HeldFrame(None, 6)  # type: ignore[arg-type]
    assert kinds([frame, point]) == [True] * 3 + [False] * 3 + [True] * 3
    f = [float(k) for k in range(1, 10)]
    assert wrenches([frame, point], f) == [*f[:6], *f[6:], 0.0, 0.0, 0.0]
    assert wrenches([point, frame], f) == [*f[:3], 0.0, 0.0, 0.0, *f[3:]]
    A, B = np.random.default_rng(0).normal(size=(2, 3, 4))
    B = A * [1.0, 2.0, 3.0, 4.0]
    assert_close(gram(A.tolist(), B.tolist()), A @ B.T, tolerance=1e-14)


def test_the_error_of_a_held_frame_is_a_rotation_vector_to_second_order():
    """The sine of the angle times the axis, along the world's axes."""
    axis, angle = np.array([0.6, 0.0, 0.8]), 0.3
    first = Rotation.from_rotvec([0.4, -0.2, 0.5]).as_matrix()
    turned = Rotation.from_rotvec(angle * axis).as_matrix() @ first

    def motion(R, p) -> WorldMotion:
        return WorldMotion(Mat3(*R.ravel()), Vec3(*p), Vec3(0.0, 0.0, 0.0), Vec3(0.0, 0.0, 0.0))

    found = placement_error(motion(turned, [1.0, 2.0, 3.0]), motion(first, [0.5, 0.25, -1.0]))
    assert_close([float(x) for x in found], [0.5, 1.75, 4.0, *(math.sin(angle) * axis)], tolerance=1e-14)


def test_without_floating_joints_contacts_need_no_forces():
    """The drives give any acceleration by themselves, so that the shortest contact forces are zero."""
    robot = appell.load("planar2r")
    q, qd, qdd = np.array([0.3, 0.8]), np.array([0.5, -0.2]), np.array([1.0, 2.0])
    tau, forces = robot.constrained_inverse_dynamics(q, qd, qdd, [Point("link2", (0.1, 0.2, 0.0))])
    assert_close(tau, robot.inverse_dynamics(q, qd, qdd), tolerance=1e-12)
    assert (forces == np.zeros((1, 6))).all()


def quotients(function, count: int, h: float) -> np.ndarray:
    """Central differences of order eight of function(step), at steps of zero."""
    weights = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}
    return np.stack([
        sum(c * (function(k * h * e) - function(-k * h * e)) for k, c in weights.items()) / h for e in np.eye(count)
    ], axis=-1)  # fmt: skip


CASES = {"floating": (1e-3, 1e-10), "mixed": (1e-3, 1e-9), "delta": (1e-3, 1e-9), "redundant": (3e-2, 1e-6)}
"""Steps of the quotients and tolerances: redundant contacts lose six digits, which steps divide by."""


@pytest.mark.parametrize("name", CASES)
def test_derivatives_are_those_of_differences(name: str) -> None:
    """With all options; contacts of the block are redundant."""
    rng, (h, tolerance) = np.random.default_rng(4), CASES[name]
    trees = {"floating": tree_of("floating"), "mixed": mixed_tree(5, 4), "redundant": block()}
    robot = trees.get(name) or built_in(name)
    contacts = CORNERS if name == "redundant" else [Point(robot.body_names[-1], OFFSET)]
    q, qd, last = (x[0] for x in (random_states(robot, 1) if name in trees else states(robot, 1)))
    tau = last[: len(robot.actuator_names)]
    G = robot.joint_velocity_jacobian(q)
    options = {
        "gravity": rng.normal(size=3), "external_forces": {robot.body_names[-1]: rng.normal(size=6)},
        "parameters": robot.parameters * rng.uniform(0.9, 1.1, len(robot.parameters)), "baumgarte": (3.0, 2.0), "reference": q,
    }  # fmt: skip

    def joined(*state: np.ndarray) -> np.ndarray:
        found = robot.constrained_forward_dynamics(*state, contacts, check=False, **options)
        return np.concatenate([found.qdd, found.forces.ravel()])

    expected = (
        quotients(lambda step: joined(robot.spanning_tree.integrate(q, G @ step), qd, tau), robot.nv, h),
        quotients(lambda step: joined(q, qd + step, tau), robot.nv, h),
        quotients(lambda step: joined(q, qd, tau + step), len(tau), h),
    )
    found = robot.constrained_forward_dynamics_derivatives(q, qd, tau, contacts, **options)
    for of_qdd, of_forces, right, field in zip(found.qdd, found.forces, expected, found.qdd._fields, strict=True):
        both = np.concatenate([of_qdd, of_forces.reshape(-1, right.shape[1])])
        assert_close(both, right, tolerance=tolerance, what=field)


@pytest.mark.parametrize("layout", ["rows", "columns"])
def test_derivatives_of_batches(layout: str) -> None:
    robot, contacts = tree_of("floating"), [Point("link2", OFFSET)]
    q, qd, tau = random_states(robot, 3)
    gravity = np.array([[0.0, 1.0, -9.0], [0.0, 0.0, 5.0]])[:, None]

    def turned(x: np.ndarray) -> np.ndarray:
        return np.moveaxis(x, -1, 0) if layout == "columns" else x

    dyn = appell.compile(robot, layout=layout)
    found = dyn.constrained_forward_dynamics_derivatives(*map(turned, (q, qd, tau)), contacts, gravity=turned(gravity))
    one = robot.constrained_forward_dynamics_derivatives(q[2], qd[2], tau[2], contacts, gravity=gravity[1, 0])
    for part, right, dimensions in ((found.qdd, one.qdd, 2), (found.forces, one.forces, 3)):
        for batch, matrix in zip(part, right, strict=True):
            moved = np.moveaxis(batch, range(dimensions), range(-dimensions, 0)) if layout == "columns" else batch
            assert moved.shape == (2, 3, *matrix.shape)
            assert_close(moved[1, 2], matrix, tolerance=1e-11)


def test_values_by_name_and_derivatives_of_wrong_arguments() -> None:
    robot, contacts = appell.load("planar2r"), [Point("link2", (1.0, 0.0, 0.0))]
    held = {"baumgarte": (3.0, 2.0)}
    for each in (robot, appell.compile(robot)):
        for call in (each.constrained_forward_dynamics, each.constrained_forward_dynamics_derivatives):
            named = call({"joint1": 0.3}, {"joint2": 1.0}, {}, contacts, reference={"joint1": 0.2}, **held)
            right = call([0.3, 0.0], [0.0, 1.0], [0.0, 0.0], contacts, reference=[0.2, 0.0], **held)
            assert_close(named.forces[0], right.forces[0], tolerance=0.0, scale=1.0)
    with pytest.raises(appell.ArgumentError, match="give the configuration `reference`"):
        robot.constrained_forward_dynamics_derivatives([0.3, 0.5], [0, 0], [0, 0], contacts, baumgarte=(1.0, 0.0))
    with pytest.raises(appell.ArgumentError, match=r"q\[1\] is nan"):
        robot.constrained_forward_dynamics_derivatives([0.3, np.nan], [0, 0], [0, 0], contacts)
