"""The closed form against trees with loop closures: Pinocchio with multipliers, and this library's general machinery."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.closeness import assert_close
from helpers.spherical_robots import EIGHT, ROBOTS, States, regular_states, wrist

from appell.closed_loop.spherical import SphericalRobot
from appell_lab.reproduce.abedloo2014_plant import MultiplierModel

CENTRE = (0.003, -0.004, 0.05)
"""Mass centre of the platform in these tests: its weight then counts."""


class Loops:
    """The robot cut open at the last joints of its legs, in Pinocchio, and the hinges there as equations.

    A hinge wants the leg's axis t and the platform's axis v to stay one: t x v = 0, of rank two.
    """

    def __init__(self, robot: SphericalRobot) -> None:
        peer = pytest.importorskip("helpers.pinocchio_peer")
        self.robot, self.tree = robot, robot.spanning_tree
        self.peer = peer.Peer(self.tree, peer.model_of_robot(self.tree))
        self.actuated = [self.tree.joint_names.index(name) for name in robot.actuator_names]

    def closures(self, x: np.ndarray, xd: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Residuals, their Jacobian J, and J̇ ẋ."""
        residual, rows, drift = [], [], []
        P, Jp, dp = self.body(x, xd, self.robot.platform.name)
        for i, leg in enumerate(self.robot.legs):
            if i == self.robot.guide:
                continue
            R, Jl, dl = self.body(x, xd, leg.bodies[-1].name)
            t, v = R @ [0.0, -np.sin(leg.arcs[-1]), np.cos(leg.arcs[-1])], P @ np.array(leg.tip.direction)
            wl, wp = Jl @ xd, Jp @ xd
            td, vd = np.cross(wl, t), np.cross(wp, v)
            T, V = skew(t), skew(v)
            residual.append(np.cross(t, v))
            rows.append(V @ T @ Jl - T @ V @ Jp)  # d(t x v) = (ωl x t) x v + t x (ωp x v)
            tdd, vdd = np.cross(dl, t) + np.cross(wl, td), np.cross(dp, v) + np.cross(wp, vd)
            drift.append(np.cross(tdd, v) + 2.0 * np.cross(td, vd) + np.cross(t, vdd))
        return np.concatenate(residual), np.vstack(rows), np.concatenate(drift)

    def body(self, x, xd, name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Attitude, angular Jacobian and J̇ ẋ of a body."""
        rate = self.peer.jacobian_rate(x, xd, name, "LOCAL_WORLD_ALIGNED")[3:] @ xd
        return self.peer.pose(x, name)[:3, :3], self.peer.jacobian(x, name, "LOCAL_WORLD_ALIGNED")[3:], rate

    def inverse(self, q, qd, qdd) -> tuple[np.ndarray, float]:
        """Torques with the least norm for a motion of the coordinates, and how far the loops are open.

        Rates and accelerations of all joints follow from those of the coordinates and the closures.
        """
        x = self.robot.closed_loop_configuration(q)
        own = [self.tree.joint_names.index(name) for name in self.robot.joint_names]
        pick = np.eye(len(x))[own]
        residual, J, _ = self.closures(x, np.zeros(len(x)))
        A = np.vstack([pick, J])
        xd = np.linalg.lstsq(A, np.concatenate([qd, np.zeros(len(J))]), rcond=None)[0]
        _, _, drift = self.closures(x, xd)
        xdd = np.linalg.lstsq(A, np.concatenate([qdd, -drift]), rcond=None)[0]
        forces = self.peer.inverse_dynamics(x, xd, xdd)
        S = np.eye(len(x))[self.actuated]
        basis = np.linalg.svd(J)[2][: len(x) - self.robot.nv]  # rows of J without those that depend on others
        free = np.linalg.svd(basis)[2][len(basis) :]  # motions that the closures allow
        return np.linalg.lstsq(free @ S.T, free @ forces, rcond=None)[0], float(np.abs(residual).max())


def skew(v: np.ndarray) -> np.ndarray:
    return np.array([[0.0, -v[2], v[1]], [v[2], 0.0, -v[0]], [-v[1], v[0], 0.0]])


def with_multipliers(robot: SphericalRobot, states: States) -> None:
    loops = Loops(robot)
    expected = []
    for q, qd, qdd in zip(*states, strict=True):
        tau, gap = loops.inverse(q, qd, qdd)
        assert gap < 1e-12
        expected.append(tau)
    assert_close(robot.inverse_dynamics(*states), np.array(expected), tolerance=1e-10)


@pytest.mark.parametrize("assembly", EIGHT, ids="-".join)
def test_eight_assemblies_over_the_workspace_against_pinocchio(assembly):
    robot = wrist(assembly, CENTRE)
    with_multipliers(robot, regular_states(robot, 40, seed=1))


@pytest.mark.parametrize("name", [name for name in ROBOTS if name != "driven anywhere"])
def test_general_robots_against_pinocchio(name):
    with_multipliers(ROBOTS[name], regular_states(ROBOTS[name], 6, seed=2))


@pytest.fixture(scope="module")
def loops():
    """The wrist as a tree with closures: one for all assemblies, which differ in the configuration alone."""
    return wrist("plus", CENTRE).as_closed_loop()


@pytest.mark.parametrize("assembly", EIGHT, ids="-".join)
def test_eight_assemblies_against_the_general_loop_machinery(assembly, loops):
    robot = wrist(assembly, CENTRE)
    states = regular_states(robot, 100, seed=3)
    x = robot.closed_loop_configuration(states.q)
    assert_close(loops.inverse_dynamics(x, *states[1:]), robot.inverse_dynamics(*states), tolerance=1e-10)
    assert_close(loops.mass_matrix(x), robot.mass_matrix(states.q), tolerance=1e-10)
    assert_close(loops.actuator_jacobian(x), robot.actuator_jacobian(states.q), tolerance=1e-10)


@pytest.mark.parametrize("reference", ["LOCAL", "WORLD", "LOCAL_WORLD_ALIGNED"])
def test_jacobians_against_the_general_loop_machinery(reference, loops):
    robot = wrist("plus", CENTRE)
    q = regular_states(robot, 6, seed=6).q
    x = robot.closed_loop_configuration(q)
    for body in ("platform", "leg1_link1", "leg3_link2"):
        expected = loops.jacobian(x, body, reference)
        assert_close(robot.jacobian(q, body, reference), expected, tolerance=1e-12, what=body)


def test_joints_at_the_platform_carry_what_moves_it():
    """Euler's equation of the platform alone: its change of angular momentum is the sum of the moments of the three legs."""
    robot = wrist("plus", CENTRE)
    q, qd, qdd = (each[0] for each in regular_states(robot, 1, seed=7))
    tau = robot.inverse_dynamics(q, qd, qdd)
    moments = sum(
        robot.pose(q, f"leg{i}_link2")[:3, :3] @ wrench[3:]
        for i, wrench in enumerate(robot.constraint_forces(q, qd, tau).values(), start=1)
    )
    R, h = robot.pose(q, "platform")[:3, :3], 1e-5
    body = robot.platform
    xx, xy, xz, yy, yz, zz = body.inertia
    c = np.array(body.com)
    about_centre = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    about_centre = about_centre + body.mass * (c @ c * np.eye(3) - np.outer(c, c))

    def momentum(t: float) -> np.ndarray:
        at, rate = q + qd * t + qdd * t * t / 2, qd + qdd * t
        J = robot.jacobian(at, "platform", "LOCAL")[3:]
        return robot.pose(at, "platform")[:3, :3] @ (about_centre @ (J @ rate))

    weight = body.mass * np.cross(R @ c, robot.gravity_vector)
    assert_close((momentum(h) - momentum(-h)) / (2 * h), moments + weight, tolerance=1e-8)


@pytest.mark.parametrize("name", ["four legs", "long legs", "five-bar"])
def test_general_robots_against_the_general_loop_machinery(name):
    robot = ROBOTS[name]
    states = regular_states(robot, 5, seed=4)
    loops, x = robot.as_closed_loop(states.q[0]), robot.closed_loop_configuration(states.q)
    assert loops.actuator_names == robot.actuator_names
    assert_close(loops.inverse_dynamics(x, *states[1:]), robot.inverse_dynamics(*states), tolerance=1e-10)
    assert_close(loops.generalized_forces(x, *states[1:]), robot.generalized_forces(*states), tolerance=1e-10)


def test_multiplier_model_of_the_reproduction_moves_as_the_closed_form():
    robot = wrist("plus", CENTRE)
    model = MultiplierModel(robot)
    order = [robot.leg_joint_names.index(name) for name in model.tree.joint_names]
    states = regular_states(robot, 5, seed=5)
    angles = robot.joint_angles(states.q)[:, order]
    rates = robot.joint_velocities(*states[:2])[:, order]
    accelerations = robot.joint_accelerations(*states)[:, order]
    tau = robot.inverse_dynamics(*states)
    for k, (q, qd, _) in enumerate(zip(*states, strict=True)):
        x, xd = model.start(q, qd, angles[k] + 0.01)
        assert_close(x, angles[k], tolerance=1e-12)
        assert_close(xd, rates[k], tolerance=1e-11)
        assert_close(model.torques(x, xd, accelerations[k]), tau[k], tolerance=1e-10)
        assert_close(model.acceleration(x, xd, tau[k]), accelerations[k], tolerance=1e-10)
    shown = model.read(angles, rates, accelerations)
    for found, expected in zip((shown.q, shown.qd, shown.qdd), states, strict=True):
        assert_close(found, expected, tolerance=1e-10)
