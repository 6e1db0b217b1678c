"""Mata et al. 2002, sections 2 and 4.1: the inverse problem. One test an equation, in the paper's own form.

`revolute` chains obey the equations as the paper states them; `mixed` ones also have prismatic joints. Where the print
is wrong the corrected equation is tested, and also that the printed one fails (docs/theory/mata2002.md).
"""

from __future__ import annotations

import numpy as np
import pytest
from helpers.closeness import assert_close, differs
from helpers.exact_derivatives import gradient, second_rate
from helpers.paper_chain import PaperChain, Z, chain_along_z, tilde, untilde

TOLERANCE = 1e-12


@pytest.fixture(scope="module")
def revolute() -> PaperChain:
    return PaperChain(chain_along_z(5, seed=1), seed=1)


@pytest.fixture(scope="module")
def mixed() -> PaperChain:
    return PaperChain(chain_along_z(6, seed=2, joints="RPRRP"), seed=2)


@pytest.fixture(scope="module", params=["revolute", "mixed"])
def case(request) -> PaperChain:
    return request.getfixturevalue(request.param)


def test_eq_01_gibbs_function_of_particles(case: PaperChain) -> None:
    """G = Σ m a²/2 over particles: six of them have the mass properties of a body. Equal to (3), (4) but for f(ω)."""

    def particles(qdd: np.ndarray) -> float:
        total = 0.0
        for i, motion in enumerate(case.motion_of(case.qd, qdd, -case.g)):
            m, inertia = case.m[i], case.I[i]
            second, axes = np.linalg.eigh(0.5 * np.trace(inertia) * np.eye(3) - inertia)
            for length, axis in zip(np.sqrt(3 * second / m), axes.T, strict=True):
                for rho in (case.r[i] + length * axis, case.r[i] - length * axis):
                    a = motion.sdd + np.cross(motion.omegad, rho) + np.cross(motion.omega, np.cross(motion.omega, rho))
                    total += 0.5 * (m / 6) * a @ a
        return total

    qdd, still = case.qdd, np.zeros(case.robot.nv)
    q, qd, _ = case.state
    expected = case.robot.gibbs_function(q, qd, [qdd])[0] - case.robot.gibbs_function(q, qd, [still])[0]
    assert_close(particles(qdd) - particles(still), expected, tolerance=TOLERANCE)


def test_eq_02_gibbs_function_in_the_base_frame(revolute: PaperChain) -> None:
    """With every vector turned to the base frame; printed with ω for ω̇ in the second term and no cross product."""
    total = printed = 0.0
    for i, motion in enumerate(revolute.motions):
        R = revolute.R(-1, i)
        rdd, omegad, omega = R @ motion.rdd, R @ motion.omegad, R @ motion.omega
        inertia = R @ revolute.I[i] @ R.T
        third = omegad @ np.cross(omega, inertia @ omega)
        total += 0.5 * revolute.m[i] * rdd @ rdd + 0.5 * omegad @ inertia @ omegad + third
        printed += 0.5 * revolute.m[i] * rdd @ rdd + 0.5 * omegad @ inertia @ omega + third
    expected = revolute.robot.gibbs_function(*revolute.state)[0]
    assert_close(total, expected, tolerance=TOLERANCE)
    assert differs(printed, expected)


def test_eq_03_04_gibbs_function_in_link_frames(case: PaperChain) -> None:
    expected = sum(case.gibbs(i) for i in case.bodies)
    assert_close(case.robot.gibbs_function(*case.state)[0], expected, tolerance=TOLERANCE)


def test_eq_05_forces_are_slopes_of_the_gibbs_function(case: PaperChain) -> None:
    """τ_j = Σ_{i>=j} ∂G_i/∂q̈_j. G_i is quadratic in q̈, so a central difference is exact; bodies before j give nothing."""
    for j in case.bodies:
        step = np.eye(case.robot.nv)[j]
        slopes = [(case.gibbs(i, case.qdd + step) - case.gibbs(i, case.qdd - step)) / 2 for i in case.bodies]
        assert not any(slopes[:j])
        assert_close(case.tau[j], sum(slopes[j:]), tolerance=TOLERANCE, scale=np.abs(case.tau).max())
    assert_close(gradient(case.robot, "gibbs_function", "qdd")(*case.state)[0], case.tau, tolerance=TOLERANCE)


def test_eq_06_forces_of_bodies_along_partial_accelerations(case: PaperChain) -> None:
    expected = np.zeros(case.robot.nv)
    for j in case.bodies:
        partial = case.partial(j)
        for i in case.bodies[j:]:
            motion, inertia = case.motions[i], case.I[i]
            expected[j] += case.m[i] * partial[i].rdd @ motion.rdd
            expected[j] += partial[i].omegad @ inertia @ motion.omegad
            expected[j] += partial[i].omegad @ np.cross(motion.omega, inertia @ motion.omega)
    assert_close(case.tau, expected, tolerance=TOLERANCE)


def test_eq_07a_bodies_before_the_joint_do_not_move(case: PaperChain) -> None:
    for j in case.bodies:
        assert not any(motion.omegad.any() for motion in case.partial(j)[:j])


def test_eq_07b_partial_angular_acceleration_is_turned_outwards(revolute: PaperChain) -> None:
    """∂ω̇_i/∂q̈_j = ^iR_{i-1} ... ^{j+1}R_j z_j; the last factor is printed ^{j-1}R_j."""
    chain = revolute
    for j in revolute.bodies[1:]:
        for i in revolute.bodies[j + 1 :]:
            product = np.eye(3)
            for k in range(i, j + 1, -1):
                product = product @ chain.R(k, k - 1)
            expected = chain.partial(j)[i].omegad
            assert_close(product @ chain.R(j + 1, j) @ Z, expected, tolerance=TOLERANCE)
            assert differs(product @ chain.R(j - 1, j) @ Z, expected)


def test_eq_07c_partial_angular_acceleration_of_the_joints_own_body(revolute: PaperChain) -> None:
    for j in revolute.bodies:
        assert_close(revolute.partial(j)[j].omegad, Z, tolerance=TOLERANCE)


def test_eq_07d_partial_acceleration_of_the_mass_centre(revolute: PaperChain) -> None:
    """∂r̈_i/∂q̈_k = ∂ω̇_i/∂q̈_k x r_k,i: the row (∂ω̇)^T r~, so as a column -r~ ∂ω̇, not +r~ ∂ω̇."""
    for k in revolute.bodies:
        for i in revolute.bodies[k:]:
            partial, r = revolute.partial(k)[i], revolute.to_center(k, i)
            assert_close(np.cross(partial.omegad, r), partial.rdd, tolerance=TOLERANCE)
            assert_close(partial.omegad @ tilde(r), partial.rdd, tolerance=TOLERANCE)
            assert differs(tilde(r) @ partial.omegad, partial.rdd)


def test_eq_07e_partial_acceleration_when_the_joint_slides(mixed: PaperChain) -> None:
    """For a prismatic joint k only ^iR_k z_k is left. Printed: an additional z_i where joint i is prismatic."""
    chain = mixed
    for k in (k for k in mixed.bodies if not chain.revolute[k]):
        for i in mixed.bodies[k:]:
            partial = chain.partial(k)[i]
            assert not partial.omegad.any()
            assert_close(partial.rdd, chain.R(i, k) @ Z, tolerance=TOLERANCE)
    sliding = [i for i in mixed.bodies if not chain.revolute[i]]
    k = next(k for k in mixed.bodies if chain.revolute[k])
    for i in (i for i in sliding if i > k):
        partial = chain.partial(k)[i]
        printed = np.cross(partial.omegad, chain.to_center(k, i)) + Z
        assert differs(printed, partial.rdd)


def test_eq_08_sum_of_forces_and_moments(case: PaperChain) -> None:
    expected = np.zeros(case.robot.nv)
    for j in case.bodies:
        partial = case.partial(j)
        for i in case.bodies[j:]:
            expected[j] += partial[i].rdd @ case.force(i) + partial[i].omegad @ case.moment(i)
    assert_close(case.tau, expected, tolerance=TOLERANCE)


def test_eq_09_gravity_is_subtracted(revolute: PaperChain) -> None:
    """f = m (r̈ - g) with g pointing down, r̈ the true acceleration; printed with a plus sign."""
    chain = revolute
    true = chain.motion_of(chain.qd, chain.qdd, np.zeros(3))
    forces, printed = np.zeros(revolute.robot.nv), np.zeros(revolute.robot.nv)
    for j in revolute.bodies:
        partial = chain.partial(j)
        for i in revolute.bodies[j:]:
            g = chain.R(i, -1) @ chain.g
            moment = partial[i].omegad @ revolute.moment(i)
            forces[j] += partial[i].rdd @ (chain.m[i] * (true[i].rdd - g)) + moment
            printed[j] += partial[i].rdd @ (chain.m[i] * (true[i].rdd + g)) + moment
    assert_close(revolute.tau, forces, tolerance=TOLERANCE)
    assert differs(printed, revolute.tau)


def test_eq_10_moment_from_the_euler_tensor(case: PaperChain) -> None:
    """t~ = Ω J - (Ω J)^T is the tensor of I ω̇ + ω x I ω."""
    for i in case.bodies:
        J = 0.5 * np.trace(case.I[i]) * np.eye(3) - case.I[i]
        product = case.Omega(i) @ J
        assert_close(untilde(product - product.T), case.moment(i), tolerance=TOLERANCE)


def test_eq_10_as_implemented(case: PaperChain) -> None:
    from appell.algebra import Mat3, Sym3, euler_tensor, moment_of_tensor

    for i in case.bodies:
        inertia = Sym3(*case.I[i][np.triu_indices(3)].tolist())
        moment = moment_of_tensor(Mat3(*case.Omega(i).ravel().tolist()), euler_tensor(inertia))
        assert_close(np.array([*moment]), case.moment(i), tolerance=TOLERANCE)


def test_eq_11_euler_tensor_is_the_second_mass_moment(case: PaperChain) -> None:
    """J = trace(I)/2 1 - I = ∫ρρ^T dm, so that I = trace(J) 1 - J."""
    from appell.algebra import Sym3, euler_tensor

    for inertia in case.I:
        J = np.array([*euler_tensor(Sym3(*inertia[np.triu_indices(3)].tolist())).full()]).reshape(3, 3)
        assert_close(J, 0.5 * np.trace(inertia) * np.eye(3) - inertia)
        assert_close(np.trace(J) * np.eye(3) - J, inertia)
        assert np.linalg.eigvalsh(J).min() > -1e-12


def test_eq_12_acceleration_tensor(case: PaperChain) -> None:
    """Ω ρ is the acceleration of the point ρ relative to the origin."""
    from appell.algebra import Vec3, acceleration_tensor

    for i, motion in enumerate(case.motions):
        Omega = acceleration_tensor(Vec3(*motion.omega), Vec3(*motion.omegad))
        assert_close(np.array([*Omega]).reshape(3, 3), case.Omega(i), tolerance=TOLERANCE)
        assert_close(motion.sdd + case.Omega(i) @ case.r[i], motion.rdd, tolerance=TOLERANCE)


def test_eq_13_sum_of_moments(revolute: PaperChain) -> None:
    """τ_j = Σ ∂ω̇_i/∂q̈_j · (r~_j,i f_i + t_i), the O(n²) form for revolute joints."""
    expected = np.zeros(revolute.robot.nv)
    for j in revolute.bodies:
        partial = revolute.partial(j)
        for i in revolute.bodies[j:]:
            arm = tilde(revolute.to_center(j, i))
            expected[j] += partial[i].omegad @ (arm @ revolute.force(i) + revolute.moment(i))
    assert_close(revolute.tau, expected, tolerance=TOLERANCE)


def inward(case: PaperChain) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """χ_j and φ_j by (15) and (16), which need φ_n = 0 and χ_{n+1} = 0 (not set in print)."""
    chain, n = case, case.robot.nv
    chi: list[np.ndarray] = [np.zeros(3)] * n
    phi: list[np.ndarray] = [np.zeros(3)] * n
    for j in reversed(case.bodies):
        chi[j] = tilde(chain.r[j]) @ case.force(j) + case.moment(j)
        if j + 1 < n:
            R, s = chain.places[j + 1]
            phi[j] = R @ (case.force(j + 1) + phi[j + 1])
            chi[j] = chi[j] + tilde(s) @ phi[j] + R @ chi[j + 1]
    return chi, phi


def test_eq_14_projection_on_the_joint_axis(case: PaperChain) -> None:
    """τ_j = z_j · χ_j; for a prismatic joint, which the paper leaves out, z_j · (f_j + φ_j)."""
    chi, phi = inward(case)
    expected = [Z @ chi[j] if case.revolute[j] else Z @ (case.force(j) + phi[j]) for j in case.bodies]
    assert_close(case.tau, np.array(expected), tolerance=TOLERANCE)


def test_eq_15_moment_of_all_that_a_joint_carries(case: PaperChain) -> None:
    chi, _ = inward(case)
    for j in case.bodies:
        expected = sum(
            case.R(j, i) @ (tilde(case.to_center(j, i)) @ case.force(i) + case.moment(i)) for i in case.bodies[j:]
        )
        assert_close(chi[j], expected, tolerance=TOLERANCE)


def test_eq_16_force_of_all_that_a_joint_carries(case: PaperChain) -> None:
    _, phi = inward(case)
    for j in case.bodies[:-1]:
        expected = sum(case.R(j, i) @ case.force(i) for i in case.bodies[j + 1 :])
        assert_close(phi[j], expected, tolerance=TOLERANCE)
    assert not phi[-1].any()


def test_section_4_1_step_1_motion_of_the_bodies(case: PaperChain) -> None:
    """ω and accelerations against exact time derivatives of the poses; the base accelerates by +g upwards."""
    q, qd, qdd = case.state
    for i, body in enumerate(case.robot.body_names[1:]):
        R = case.robot.pose(q, body)[0, :3, :3]
        motion = case.motions[i]
        true = R.T @ (second_rate(case.robot, "pose", frame=body)(q, qd, qdd)[0, :3, 3] - case.g)
        assert_close(motion.sdd, true, tolerance=TOLERANCE)
        assert_close(
            motion.omega, (case.robot.jacobian(q, body, "LOCAL") @ qd[0])[0, 3:], tolerance=TOLERANCE, scale=1.0
        )
        J, Jd = case.robot.jacobian(q, body, "LOCAL"), case.robot.jacobian_rate(q, qd, body, "LOCAL")
        assert_close(motion.omegad, (J @ qdd[0] + Jd @ qd[0])[0, 3:], tolerance=TOLERANCE, scale=1.0)


def test_section_4_1_step_1_sign_of_gravity(revolute: PaperChain) -> None:
    """s̈_0 = +g z_0, g = 9.81 and z_0 up; printed with a minus, which lets the robot fall upwards."""
    chain, z0 = revolute, Z
    assert_close(-chain.g, 9.81 * z0)
    q, qd, qdd = revolute.state
    printed = revolute.robot.inverse_dynamics(q, qd, qdd, gravity=9.81 * z0)[0]
    assert differs(printed, revolute.tau)


def test_section_4_1_step_2_forces_of_a_body_at_its_origin(case: PaperChain) -> None:
    """What the library carries, m s̈ + Ω γ and γ x s̈ + t_O with moments at the origin, equals f and r~ f + t."""
    for i, motion in enumerate(case.motions):
        m, r, inertia = case.m[i], case.r[i], case.I[i]
        gamma, J = m * r, 0.5 * np.trace(inertia) * np.eye(3) - inertia + m * np.outer(r, r)
        product = case.Omega(i) @ J
        force = m * motion.sdd + case.Omega(i) @ gamma
        moment = np.cross(gamma, motion.sdd) + untilde(product - product.T)
        assert_close(force, case.force(i), tolerance=TOLERANCE)
        assert_close(moment, tilde(r) @ case.force(i) + case.moment(i), tolerance=TOLERANCE)


def test_section_4_1_step_3_recursion_gives_the_sum(case: PaperChain) -> None:
    """The O(n) algorithm of the library and the O(n²) sum (8), written out, agree at several states."""
    for seed in range(3):
        other = PaperChain(case.robot, seed=10 + seed)
        expected = np.array([
            sum(
                partial[i].rdd @ other.force(i) + partial[i].omegad @ other.moment(i)
                for i in other.bodies
            )
            for partial in (other.partial(j) for j in other.bodies)
        ])  # fmt: skip
        tau = case.robot.inverse_dynamics(*other.state, method="mata2002")[0]
        assert_close(tau, expected, tolerance=TOLERANCE)
