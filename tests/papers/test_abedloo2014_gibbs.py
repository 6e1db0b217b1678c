"""Abedloo, Molaei and Taghirad 2014, sections I to II.B, equations (1) to (18): the Gibbs function of bodies about a fixed point.

Every equation is evaluated for the bodies of the agile wrist, with the Jacobians, rates and mass properties of the library,
and compared with what the library computes for the robot as a whole.
"""

from __future__ import annotations

import numpy as np
from helpers.closeness import assert_close, differs
from helpers.paper_wrist import Case, LibraryBody, in_time, library_bodies, over_cases, skew


def alpha(body: LibraryBody, case: Case, qdd: np.ndarray | None = None) -> np.ndarray:
    """(11), (12): angular acceleration."""
    return body.J @ (case.qdd if qdd is None else qdd) + body.Jd @ case.qd


def gibbs(case: Case, qdd: np.ndarray | None = None) -> float:
    """The library's Gibbs function."""
    return float(case.robot.gibbs_function(case.q, case.qd, case.qdd if qdd is None else qdd))


def forces(case: Case) -> np.ndarray:
    return case.robot.generalized_forces(case.q, case.qd, case.qdd)


@over_cases
def test_eq_01_closed_form(case):
    robot = case.robot
    C = robot.coriolis_matrix(case.q, case.qd, method="abedloo2014")
    assert_close(
        robot.mass_matrix(case.q) @ case.qdd + C @ case.qd + robot.gravity(case.q), forces(case), tolerance=1e-12
    )


@over_cases
def test_eq_02_gibbs_function_of_particles(case):
    """Half the mass times the squared acceleration, of seven particles in place of each body; free fall is subtracted.

    The library leaves out terms without q̈, so that differences between two accelerations are compared.
    """

    def of_particles(qdd: np.ndarray) -> float:
        total = 0.0
        for body in library_bodies(case):
            for mass, rho in particles(body):
                a = np.cross(alpha(body, case, qdd), rho) + np.cross(body.omega, np.cross(body.omega, rho)) - body.sigma
                total += 0.5 * mass * float(a @ a)
        return total

    other = case.qdd + np.array([2.0, -1.0, 0.5])
    difference = of_particles(case.qdd) - of_particles(other)
    assert_close(np.array(difference), np.array(gibbs(case) - gibbs(case, other)), tolerance=1e-11)


def particles(body: LibraryBody) -> list[tuple[float, np.ndarray]]:
    """Seven particles with the mass, first and second moments of a body: at its centre of mass, and 1 m to both sides of it."""
    com = body.moment / body.mass
    second = 0.5 * np.trace(body.inertia) * np.eye(3) - body.inertia - body.mass * np.outer(com, com)
    sizes, axes = np.linalg.eigh(second)
    found = [(body.mass - float(sizes.sum()), com)]
    for size, axis in zip(sizes.tolist(), axes.T, strict=True):
        found += [(0.5 * size, com + axis), (0.5 * size, com - axis)]
    return found


@over_cases
def test_eq_03_gibbs_function_of_a_body(case):
    """All terms with q̈; what is left, f(v, ω), does not change with q̈."""
    other = case.qdd + np.array([2.0, -1.0, 0.5])

    def terms(qdd: np.ndarray) -> float:
        total = 0.0
        for body in library_bodies(case):
            a, own, H, mrho = -body.sigma, alpha(body, case, qdd), body.inertia @ body.omega, body.moment
            total += 0.5 * body.mass * a @ a + 0.5 * own @ (body.inertia @ own) + own @ np.cross(body.omega, H)
            total += a @ np.cross(own, mrho) + a @ np.cross(body.omega, np.cross(body.omega, mrho))
        return float(total)

    rest = [gibbs(case, qdd) - terms(qdd) for qdd in (case.qdd, other)]
    assert_close(np.array(rest[0]), np.array(rest[1]), tolerance=1e-11)
    assert differs(np.array(gibbs(case)), np.array(gibbs(case, other)))


@over_cases
def test_eq_04_angular_momentum(case):
    """Σ J^T H is M q̇, and Σ ω · H twice the kinetic energy."""
    bodies = library_bodies(case)
    momentum = sum(body.J.T @ (body.inertia @ body.omega) for body in bodies)
    assert_close(momentum, case.robot.mass_matrix(case.q) @ case.qd, tolerance=1e-13)
    energy = 0.5 * sum(body.omega @ body.inertia @ body.omega for body in bodies)
    assert_close(np.array(energy), case.robot.kinetic_energy(case.q, case.qd), tolerance=1e-13)


@over_cases
def test_eq_05_rate_of_angular_momentum(case):
    """Seen from the body I α; in the world its rotation adds ω x H."""
    for k, body in enumerate(library_bodies(case)):

        def momentum(t: float, k: int = k) -> np.ndarray:
            later = case.at(t)
            own = library_bodies(later)[k]
            return later.robot.pose(later.q, own.name)[:3, :3] @ own.inertia @ own.omega

        R = case.robot.pose(case.q, body.name)[:3, :3]
        I_alpha = body.inertia @ alpha(body, case)
        assert_close(R.T @ in_time(momentum), I_alpha + np.cross(body.omega, body.inertia @ body.omega), tolerance=1e-8)


@over_cases
def test_eqs_06_to_08_forces_are_slopes_of_the_gibbs_function(case):
    """S is quadratic in q̈, so that central differences are exact."""
    slopes = [(gibbs(case, case.qdd + e) - gibbs(case, case.qdd - e)) / 2.0 for e in np.eye(3)]
    assert_close(np.array(slopes), forces(case), tolerance=1e-11)


@over_cases
def test_eq_09_slope_of_the_gibbs_function_of_a_body(case):
    """With ∂a_A/∂q̈ = 0 for a fixed point, three of the six terms are left."""
    total = np.zeros(3)
    for body in library_bodies(case):
        a, own, fixed = -body.sigma, alpha(body, case), np.zeros((3, 3))  # ∂a_A/∂q̈
        total += fixed.T @ (body.mass * a)
        total += body.J.T @ (body.inertia @ own) + body.J.T @ np.cross(body.omega, body.inertia @ body.omega)
        total += fixed.T @ np.cross(own, body.moment) + fixed.T @ np.cross(
            body.omega, np.cross(body.omega, body.moment)
        )
        total += np.array([a @ np.cross(column, body.moment) for column in body.J.T])
    assert_close(total, forces(case), tolerance=1e-12)


@over_cases
def test_eq_10_translational_and_rotational_jacobians(case):
    """The library's Jacobian of every body: its centre stays, its pose turns with J_R q̇."""
    for body in library_bodies(case):
        J = case.robot.jacobian(case.q, body.name, reference_frame="LOCAL")
        R = case.robot.pose(case.q, body.name)[:3, :3]
        W = R.T @ in_time(lambda t, name=body.name: case.robot.pose(case.q + t * case.qd, name)[:3, :3])
        assert_close(np.array([W[2, 1], W[0, 2], W[1, 0]]), J[3:] @ case.qd, tolerance=1e-10)
        assert not J[:3].any()


@over_cases
def test_eqs_11_and_12_accelerations_of_a_body(case):
    """α = J_R q̈ + J̇_R q̇ is the rate of ω; a_A = -σ is free fall along the body's axes."""
    for k, body in enumerate(library_bodies(case)):
        rate = in_time(lambda t, k=k: library_bodies(case.at(t))[k].omega)
        assert_close(alpha(body, case), rate, tolerance=1e-9)
        R = case.robot.pose(case.q, body.name)[:3, :3]
        assert_close(body.sigma, R.T @ np.array(case.robot.gravity_vector), tolerance=1e-13)


@over_cases
def test_eq_13_and_15_slope_for_pure_rotation(case):
    """In components (13) and in matrices (15)."""
    component, matrix = np.zeros(3), np.zeros(3)
    for body in library_bodies(case):
        own, Iw = alpha(body, case), body.inertia @ body.omega
        component += [
            column @ (body.inertia @ own)
            + column @ np.cross(body.omega, Iw)
            + body.sigma @ np.cross(body.moment, column)
            for column in body.J.T
        ]
        matrix += body.J.T @ body.inertia @ own + body.J.T @ skew(body.omega) @ Iw
        matrix += (skew(body.moment) @ body.J).T @ body.sigma
    assert_close(component, forces(case), tolerance=1e-12)
    assert_close(matrix, forces(case), tolerance=1e-12)


@over_cases
def test_eq_14_slope_of_the_angular_acceleration(case):
    """∂α/∂q̈ = J_R, with α as the rate of the library's ω along motions with other q̈."""

    def rate(k: int, qdd: np.ndarray) -> np.ndarray:
        motion = Case(case.q, case.qd, qdd)
        return in_time(lambda t: library_bodies(motion.at(t))[k].omega)

    for k, body in enumerate(library_bodies(case)):
        slope = np.stack([rate(k, case.qdd + e) - rate(k, case.qdd) for e in np.eye(3)], axis=1)
        assert_close(slope, case.robot.jacobian(case.q, body.name, reference_frame="LOCAL")[3:], tolerance=1e-8)


@over_cases
def test_eqs_16_and_17_matrices_of_one_body(case):
    """M, C and G of each body alone: the part of the library's regressor that belongs to its ten parameters."""
    K = case.robot.generalized_regressor(case.q, case.qd, case.qdd)
    owners = [name for name, _ in case.robot.system.parameter_bodies]
    for body in library_bodies(case):
        k = owners.index(body.name)
        own = K[:, 10 * k : 10 * (k + 1)] @ case.robot.parameters[10 * k : 10 * (k + 1)]
        M = body.J.T @ body.inertia @ body.J
        C = body.J.T @ body.inertia @ body.Jd + body.J.T @ skew(body.J @ case.qd) @ body.inertia @ body.J
        G = (skew(body.moment) @ body.J).T @ body.sigma
        assert_close(M @ case.qdd + C @ case.qd + G, own, tolerance=1e-11)


@over_cases
def test_eq_18_gibbs_functions_add_up(case):
    """The slopes of the bodies' Gibbs functions, from the regressor, add up to that of the robot's."""
    K = case.robot.generalized_regressor(case.q, case.qd, case.qdd)
    parts = [K[:, 10 * k : 10 * (k + 1)] @ case.robot.parameters[10 * k : 10 * (k + 1)] for k in range(len(K[0]) // 10)]
    assert len(parts) == 7
    assert_close(np.sum(parts, axis=0), forces(case), tolerance=1e-12)
