"""Laws that every spherical parallel robot obeys, whatever its legs are."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.closeness import assert_close
from helpers.spherical_robots import ROBOTS, regular_states

from appell.algorithms.function_spec import FunctionSpec
from appell.compiler.trace import trace

over_robots = pytest.mark.parametrize("name", ROBOTS)


def product(matrix: np.ndarray, vector: np.ndarray) -> np.ndarray:
    return np.einsum("nij,nj->ni", matrix, vector)


def rate(function, q, qd, step: float = 2e-3) -> np.ndarray:
    """The rate of a function of q along qd, by central differences of eighth order."""
    weights = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}
    return sum(w * (function(q + k * step * qd) - function(q - k * step * qd)) for k, w in weights.items()) / step


@over_robots
def test_inertia_matrix_is_symmetric_and_gives_the_kinetic_energy(name):
    robot = ROBOTS[name]
    q, qd, _ = regular_states(robot)
    M = robot.mass_matrix(q)
    assert np.array_equal(M, M.transpose(0, 2, 1))
    assert (np.linalg.eigvalsh(M) > 0.0).all()
    assert_close(robot.kinetic_energy(q, qd), 0.5 * np.einsum("ni,nij,nj->n", qd, M, qd), tolerance=1e-13)


@over_robots
def test_generalized_forces_are_m_qdd_plus_c_qd_plus_g(name):
    robot = ROBOTS[name]
    q, qd, qdd = regular_states(robot)
    G = robot.gravity(q)
    for method in ("christoffel", "abedloo2014"):
        Q = product(robot.mass_matrix(q), qdd) + product(robot.coriolis_matrix(q, qd, method=method), qd) + G
        assert_close(robot.generalized_forces(q, qd, qdd), Q, tolerance=1e-13, what=method)
    assert_close(robot.bias(q, qd), robot.generalized_forces(q, qd, 0 * q), tolerance=1e-13)
    assert_close(robot.bias(q, 0 * q), G, tolerance=1e-13)


@over_robots
def test_torques_of_the_actuators_give_the_generalized_forces(name):
    """Q = Jact^T τ, with either formulation, and τ of smallest norm."""
    robot = ROBOTS[name]
    q, qd, qdd = regular_states(robot)
    Q, J = robot.generalized_forces(q, qd, qdd), robot.actuator_jacobian(q)
    smallest = np.array([np.linalg.lstsq(j.T, each, rcond=None)[0] for j, each in zip(J, Q, strict=True)])
    for method in ("gibbs", "abedloo2014"):
        assert_close(robot.inverse_dynamics(q, qd, qdd, method=method), smallest, tolerance=1e-12, what=method)


@over_robots
def test_forward_dynamics_undoes_inverse_dynamics(name):
    robot = ROBOTS[name]
    q, qd, qdd = regular_states(robot)
    assert_close(robot.forward_dynamics(q, qd, robot.inverse_dynamics(q, qd, qdd)), qdd, tolerance=2e-12)
    forces = robot.generalized_forces(q, qd, qdd)
    assert_close(robot.functions["accelerations", None]((q, qd, forces)), qdd, tolerance=2e-12)


@over_robots
def test_mdot_minus_2c_is_skew(name):
    """Ṁ by CasADi's derivative of the traced M: exact, and nothing that the library uses."""
    robot = ROBOTS[name]
    q, qd, _ = regular_states(robot)
    derivative = trace(robot.system, FunctionSpec("mass_matrix")).graph.jacobian()
    for x, v in zip(q, qd, strict=True):
        Md = (derivative(x, 0).full() @ v).reshape(robot.nv, robot.nv)
        S = Md - 2.0 * robot.coriolis_matrix(x, v)
        assert np.abs(S + S.T).max() < 1e-11 * max(1.0, np.abs(Md).max())


@over_robots
def test_coriolis_matrix_is_that_of_the_christoffel_symbols(name):
    """C(q, a) b = C(q, b) a; the paper's matrix does not have it, where there is more than one degree of freedom."""
    robot = ROBOTS[name]
    q, a, b = regular_states(robot)
    assert_close(product(robot.coriolis_matrix(q, a), b), product(robot.coriolis_matrix(q, b), a), tolerance=1e-12)
    if robot.nv > 1:
        printed = [product(robot.coriolis_matrix(q, x, method="abedloo2014"), y) for x, y in ((a, b), (b, a))]
        assert np.abs(printed[0] - printed[1]).max() > 1e-3 * np.abs(printed[0]).max()


@over_robots
def test_power_of_the_actuators_is_the_rate_of_the_energy(name):
    """dE/dt = τ · θ̇ along q(t) with constant q̈: the energy's rate in q and q̇ by differences in time."""
    robot = ROBOTS[name]
    q, qd, qdd = regular_states(robot)
    power = (robot.inverse_dynamics(q, qd, qdd) * product(robot.actuator_jacobian(q), qd)).sum(axis=1)

    def energy(t: float) -> np.ndarray:
        x, xd = q + t * qd + 0.5 * t * t * qdd, qd + t * qdd
        return robot.kinetic_energy(x, xd) + robot.potential_energy(x)

    weights, step = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}, 1e-3
    found = sum(w * (energy(k * step) - energy(-k * step)) for k, w in weights.items()) / step
    assert_close(found, power, tolerance=1e-9, scale=max(1.0, np.abs(power).max()))


@over_robots
def test_gravity_is_the_gradient_of_the_potential_energy(name):
    robot = ROBOTS[name]
    q, _, _ = regular_states(robot)
    unit = np.eye(robot.nv)
    gradient = np.stack([rate(robot.potential_energy, q, e) for e in unit], axis=-1)
    assert_close(gradient, robot.gravity(q), tolerance=1e-9)


@over_robots
def test_potential_energy_is_that_of_the_mass_at_the_centre_of_mass(name):
    robot = ROBOTS[name]
    q, _, _ = regular_states(robot)
    weight = sum(body.mass for body in robot.bodies) * np.array(robot.gravity_vector)
    assert_close(robot.potential_energy(q), -robot.center_of_mass(q) @ weight, tolerance=1e-13)


@over_robots
def test_gibbs_function_has_q_as_gradient_and_m_as_hessian(name):
    """S is quadratic in q̈, so that differences are exact."""
    robot = ROBOTS[name]
    q, qd, qdd = regular_states(robot)
    unit = np.eye(robot.nv)
    S = robot.gibbs_function
    gradient = np.stack([(S(q, qd, qdd + e) - S(q, qd, qdd - e)) / 2.0 for e in unit], axis=-1)
    assert_close(gradient, robot.generalized_forces(q, qd, qdd), tolerance=1e-11)
    rows = [robot.generalized_forces(q, qd, qdd + e) - robot.generalized_forces(q, qd, qdd) for e in unit]
    assert_close(np.stack(rows, axis=-1), robot.mass_matrix(q), tolerance=1e-11, scale=np.abs(gradient).max())


@over_robots
def test_rates_and_accelerations_of_the_joints_are_derivatives_of_their_angles(name):
    robot = ROBOTS[name]
    q, qd, qdd = regular_states(robot)

    def angles(t: float) -> np.ndarray:
        found = robot.joint_angles(q + t * qd + 0.5 * t * t * qdd)
        return start + np.remainder(found - start + np.pi, 2 * np.pi) - np.pi

    start, step = robot.joint_angles(q), 1e-3
    weights = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}
    first = sum(w * (angles(k * step) - angles(-k * step)) for k, w in weights.items()) / step
    assert_close(first, robot.joint_velocities(q, qd), tolerance=1e-9)

    def rates(t: float) -> np.ndarray:
        return robot.joint_velocities(q + t * qd + 0.5 * t * t * qdd, qd + t * qdd)

    second = sum(w * (rates(k * step) - rates(-k * step)) for k, w in weights.items()) / step
    assert_close(second, robot.joint_accelerations(q, qd, qdd), tolerance=1e-8)
    moved = product(robot.actuator_jacobian(q), qd)
    assert_close(moved, robot.joint_velocities(q, qd)[:, list(robot.actuated)], tolerance=1e-13)


@over_robots
def test_legs_end_on_the_platform(name):
    """Each leg followed joint by joint, by the angles alone, ends at its axis on the platform, with the platform's attitude."""
    robot = ROBOTS[name]
    q, _, _ = regular_states(robot, 3)
    angles = robot.joint_angles(q)
    platform = robot.pose(q, "platform")[:, :3, :3]

    def about(axis: int, angle: float) -> np.ndarray:
        c, s = np.cos(angle), np.sin(angle)
        return np.array({0: [[1, 0, 0], [0, c, -s], [0, s, c]], 2: [[c, -s, 0], [s, c, 0], [0, 0, 1]]}[axis])

    for n in range(len(q)):
        k = 0
        for leg in robot.legs:
            R = about(2, leg.base.azimuth) @ about(0, leg.base.tilt)
            for j, arc in enumerate((*leg.arcs, 0.0)):
                R = R @ about(2, angles[n, k])
                if j < len(leg.bodies):
                    assert_close(robot.pose(q[n], leg.bodies[j].name)[:3, :3], R, tolerance=1e-12)
                R = R @ about(0, arc)
                k += 1
            tip = about(2, leg.tip.azimuth) @ about(0, leg.tip.tilt)
            assert_close(platform[n] @ tip, R, tolerance=1e-12)


@over_robots
def test_gravity_and_external_moments_enter_where_they_act(name):
    robot = ROBOTS[name]
    q, qd, _ = regular_states(robot, 2)
    g = (1.0, -2.0, 3.0)
    other = robot.with_gravity(g)
    assert_close(robot.gravity(q, gravity=g), other.gravity(q), tolerance=1e-13)
    assert_close(robot.bias(q, qd, gravity=g), other.bias(q, qd), tolerance=1e-13)
    wrench = np.array([5.0, 6.0, 7.0, 0.1, -0.2, 0.3])
    for body in (robot.platform.name, robot.legs[-1].bodies[0].name):
        moved = rate(lambda x, body=body: robot.pose(x, body), q, qd)
        attitude = robot.pose(q, body)
        W = attitude[:, :3, :3].transpose(0, 2, 1) @ moved[:, :3, :3]  # ω~ along the body's axes
        omega = np.stack([W[:, 2, 1], W[:, 0, 2], W[:, 1, 0]], axis=-1)
        change = robot.bias(q, qd, external_forces={body: wrench}) - robot.bias(q, qd)
        assert_close((change * qd).sum(axis=1), -(omega @ wrench[3:]), tolerance=1e-8)
