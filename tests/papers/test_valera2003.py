"""Valera et al. 2003, section 2: the vector form. One test an equation, in the paper's own form.

Where the print is wrong the corrected equation is tested, and also that the printed one fails
(docs/theory/valera2003.md). Bodies are counted from 0.
"""

from __future__ import annotations

import numpy as np
import pytest
from helpers.closeness import assert_close, differs
from helpers.paper_chain import PaperChain, Z, chain_along_z

import appell

TOLERANCE = 1e-12


@pytest.fixture(scope="module")
def revolute() -> PaperChain:
    return PaperChain(chain_along_z(5, seed=5), seed=5)


@pytest.fixture(scope="module")
def mixed() -> PaperChain:
    return PaperChain(chain_along_z(6, seed=6, joints="RPRRP"), seed=6)


@pytest.fixture(scope="module", params=["revolute", "mixed"])
def case(request) -> PaperChain:
    return request.getfixturevalue(request.param)


def tau_of_library(case: PaperChain) -> np.ndarray:
    return case.robot.inverse_dynamics(*case.state, method="valera2003")[0]


# --- section 2, the frames --------------------------------------------------------------------------------------------


def dh_row(alpha: float, a: float, d: float, theta: float) -> tuple[np.ndarray, np.ndarray]:
    """^{i-1}R_i and ^{i-1}r_{O_{i-1},O_i} as printed."""
    ca, sa, ct, st = np.cos(alpha), np.sin(alpha), np.cos(theta), np.sin(theta)
    R = np.array([[ct, -st, 0], [ca * st, ca * ct, -sa], [sa * st, sa * ct, ca]])
    return R, np.array([a, d * sa, -d * ca])


def test_section_2_frames_of_the_table() -> None:
    """The sign of d is opposite to Craig's, and `convention="valera2003"` keeps it."""
    rng = np.random.default_rng(0)
    alpha, a, d, theta, q = rng.uniform(-1.5, 1.5, (5, 4))
    robot = appell.Robot.from_dh(alpha=alpha, a=a, d=d, theta=theta, convention="valera2003")
    craig = appell.Robot.from_dh(alpha=alpha, a=a, d=-d, theta=theta, convention="modified")
    R, p = np.eye(3), np.zeros(3)
    for i in range(4):
        Ri, ri = dh_row(alpha[i], a[i], d[i], theta[i] + q[i])
        p, R = p + R @ ri, R @ Ri
        for each in (robot, craig):
            pose = each.pose(q, f"link{i + 1}")
            assert_close(pose[:3, :3], R, tolerance=TOLERANCE)
            assert_close(pose[:3, 3], p, tolerance=TOLERANCE)


def test_section_2_positive_d_moves_against_z() -> None:
    """So a prismatic coordinate along +z_i is q = -d in the paper's sign: (11), (20) and (21) need that."""
    robot = appell.Robot.from_dh(alpha=[0.4], a=[0.3], d=[0.2], theta=[0.1], joints="P", convention="valera2003")
    for q in (0.0, 0.7):
        R, r = dh_row(0.4, 0.3, 0.2 - q, 0.1)
        pose = robot.pose([q], "link1")
        assert_close(pose[:3, 3], r, tolerance=TOLERANCE)
        assert_close(pose[:3, :3], R, tolerance=TOLERANCE)


# --- section 2, the Gibbs function ------------------------------------------------------------------------------------


def test_eq_01_to_03_gibbs_function_in_the_base_frame(case: PaperChain) -> None:
    total = 0.0
    for i, motion in enumerate(case.motions):
        R = case.R(-1, i)
        rdd, omegad, omega, inertia = R @ motion.rdd, R @ motion.omegad, R @ motion.omega, R @ case.I[i] @ R.T
        total += 0.5 * case.m[i] * rdd @ rdd + 0.5 * omegad @ inertia @ omegad
        total += omegad @ np.cross(omega, inertia @ omega)
    assert_close(case.robot.gibbs_function(*case.state)[0], total, tolerance=TOLERANCE)


def test_eq_04_05_gibbs_function_in_link_frames(case: PaperChain) -> None:
    expected = sum(case.gibbs(i) for i in case.bodies)
    assert_close(case.robot.gibbs_function(*case.state)[0], expected, tolerance=TOLERANCE)


def test_eq_06_07_forces_are_slopes_of_the_gibbs_function(case: PaperChain) -> None:
    steps = np.eye(case.robot.nv)
    expected = [
        sum(case.gibbs(i, case.qdd + step) - case.gibbs(i, case.qdd - step) for i in case.bodies[j:]) / 2
        for j, step in enumerate(steps)
    ]
    assert_close(tau_of_library(case), np.array(expected), tolerance=TOLERANCE)


def rotational(case: PaperChain) -> np.ndarray:
    """A_j of (8), with the moments of all bodies."""
    return np.array([
        sum(partial[i].omegad @ case.moment(i) for i in case.bodies[j:])
        for j, partial in enumerate(case.partial(j) for j in case.bodies)
    ])  # fmt: skip


def translational(case: PaperChain) -> np.ndarray:
    """B_j of (8), with the forces of all bodies."""
    return np.array([
        sum(partial[i].rdd @ case.force(i) for i in case.bodies[j:])
        for j, partial in enumerate(case.partial(j) for j in case.bodies)
    ])  # fmt: skip


def test_eq_08_rotational_and_translational_part(case: PaperChain) -> None:
    assert_close(tau_of_library(case), rotational(case) + translational(case), tolerance=TOLERANCE)


# --- the motion -------------------------------------------------------------------------------------------------------


def carried(case: PaperChain, i: int, vector: np.ndarray) -> np.ndarray:
    """^iR_{i-1} of a vector of the body before."""
    return case.places[i][0].T @ vector


def before(case: PaperChain, i: int, part: str) -> np.ndarray:
    """A part of the motion of body i-1; of the base, which accelerates by -g (no gravity in the paper's equations)."""
    if i == 0:
        return -case.g if part == "sdd" else np.zeros(3)
    return getattr(case.motions[i - 1], part)


def test_eq_09_angular_velocity(case: PaperChain) -> None:
    """ω_i = R ω_{i-1} + ρ_i z_i q̇_i; the factor ρ (0 for prismatic joints) is missing in print."""
    for i, motion in enumerate(case.motions):
        R_omega = carried(case, i, before(case, i, "omega"))
        rho = float(case.revolute[i])
        assert_close(R_omega + rho * Z * case.qd[i], motion.omega, tolerance=TOLERANCE, scale=5.0)
        if not rho:
            assert differs(R_omega + Z * case.qd[i], motion.omega)


def test_eq_10_angular_acceleration(case: PaperChain) -> None:
    """ω̇_i = R ω̇_{i-1} + ρ_i (z_i q̈_i + R ω_{i-1} x z_i q̇_i); ρ is missing in print."""
    for i, motion in enumerate(case.motions):
        R_omega = carried(case, i, before(case, i, "omega"))
        own = Z * case.qdd[i] + np.cross(R_omega, Z * case.qd[i])
        R_omegad = carried(case, i, before(case, i, "omegad"))
        rho = float(case.revolute[i])
        assert_close(R_omegad + rho * own, motion.omegad, tolerance=TOLERANCE, scale=10.0)
        if not rho:
            assert differs(R_omegad + own, motion.omegad)


def test_eq_11_acceleration_of_the_origin(case: PaperChain) -> None:
    for i, motion in enumerate(case.motions):
        s = case.places[i][1]
        omega, omegad, rdd = (before(case, i, part) for part in ("omega", "omegad", "sdd"))
        expected = carried(case, i, rdd + np.cross(omega, np.cross(omega, s)) + np.cross(omegad, s))
        if not case.revolute[i]:
            expected = expected + Z * case.qdd[i] + 2 * np.cross(motion.omega, Z * case.qd[i])
        assert_close(motion.sdd, expected, tolerance=TOLERANCE)


def test_eq_12_acceleration_of_the_mass_centre(case: PaperChain) -> None:
    for i, motion in enumerate(case.motions):
        r = case.r[i]
        expected = motion.sdd + np.cross(motion.omega, np.cross(motion.omega, r)) + np.cross(motion.omegad, r)
        assert_close(motion.rdd, expected, tolerance=TOLERANCE)


def test_eq_09_to_12_as_implemented(case: PaperChain) -> None:
    """The library's motion, in its own link frames, turned into the description's."""
    from appell.algebra import Vec3
    from appell.algorithms.inverse_dynamics.valera2003 import propagate_motion

    tree = case.robot.tree
    found = propagate_motion(tree, tree.placements(case.q.tolist()), case.qd.tolist(), case.qdd.tolist())
    for i, (motion, expected) in enumerate(zip(found, case.motions, strict=True)):
        R = np.array([*tree.frames[case.robot.bodies[i + 1].name].R]).reshape(3, 3)
        rdd = motion.acceleration_of(Vec3(*(R @ case.r[i])))
        pairs = zip((motion.omega, motion.omegad, motion.rdd, rdd), expected, strict=True)
        for ours, theirs in pairs:
            assert_close(np.array([*ours]), R @ theirs, tolerance=TOLERANCE, scale=20.0)


# --- the rotational part ----------------------------------------------------------------------------------------------


def test_eq_13_rotational_part_with_turned_axes(revolute: PaperChain) -> None:
    expected = [sum((revolute.R(i, j) @ Z) @ revolute.moment(i) for i in revolute.bodies[j:]) for j in revolute.bodies]
    assert_close(rotational(revolute), np.array(expected), tolerance=TOLERANCE)


def test_eq_14_partial_angular_accelerations(case: PaperChain) -> None:
    """0 for i < j, z_j turned outwards for i >= j, and 0 everywhere for a prismatic joint j (not in print)."""
    for j in case.bodies:
        for i, motion in enumerate(case.partial(j)):
            expected = case.R(i, j) @ Z if i >= j and case.revolute[j] else np.zeros(3)
            assert_close(motion.omegad, expected, tolerance=TOLERANCE, scale=1.0)


def alphas(case: PaperChain) -> list[np.ndarray]:
    """α_j by (17), with α_{n+1} = 0."""
    alpha: list[np.ndarray] = [np.zeros(3)] * case.robot.nv
    for j in reversed(case.bodies):
        alpha[j] = case.moment(j)
        if j + 1 < case.robot.nv:
            alpha[j] = alpha[j] + case.places[j + 1][0] @ alpha[j + 1]
    return alpha


def test_eq_15_to_17_rotational_part_by_recursion(case: PaperChain) -> None:
    """A_j = ∂ω̇_j/∂q̈_j · α_j, which is 0 for a prismatic joint."""
    alpha = alphas(case)
    for j in case.bodies:
        expected = sum(case.R(j, i) @ case.moment(i) for i in case.bodies[j:])
        assert_close(alpha[j], expected, tolerance=TOLERANCE)
    A = np.array([Z @ alpha[j] if case.revolute[j] else 0.0 for j in case.bodies])
    assert_close(A, rotational(case), tolerance=TOLERANCE)


# --- the translational part -------------------------------------------------------------------------------------------


def test_eq_18_partial_acceleration_of_the_mass_centre(case: PaperChain) -> None:
    for j in case.bodies:
        for i, partial in enumerate(case.partial(j)):
            expected = partial.sdd + np.cross(partial.omegad, case.r[i])
            assert_close(partial.rdd, expected, tolerance=TOLERANCE, scale=1.0)


def test_eq_19_20_21_partial_acceleration_of_the_origin(case: PaperChain) -> None:
    """R (∂r̈_{i-1} + ∂ω̇_{i-1} x r), the turn of the whole bracket, and z_i ∂q̈_i/∂q̈_j where joint i is prismatic."""
    wrong = False
    for j in case.bodies:
        partials = case.partial(j)
        for i in case.bodies[1:]:
            R, s = case.places[i]
            own = Z * float(i == j) if not case.revolute[i] else np.zeros(3)
            last = partials[i - 1]
            expected = R.T @ (last.sdd + np.cross(last.omegad, s)) + own
            assert_close(partials[i].sdd, expected, tolerance=TOLERANCE, scale=1.0)
            printed = R.T @ last.sdd + np.cross(R.T @ last.omegad, s) + own
            wrong = wrong or differs(printed, expected)
    assert wrong


def printed_arm(case: PaperChain, j: int, i: int) -> np.ndarray:
    """^i r_{O_{j-1},G_i}, the wrong arm that is printed between (21) and (22) and in (22), (24), (25)."""
    return case.s(j - 1, i, i) + case.r[i]


def test_eq_22_translational_part_from_moments(revolute: PaperChain) -> None:
    """B_j = Σ ∂ω̇_i/∂q̈_j · (r_{O_j,G_i} x m r̈_Gi); printed with O_{j-1}."""
    found, printed = np.zeros((2, revolute.robot.nv))
    for j in revolute.bodies:
        for i in revolute.bodies[j:]:
            omegad = revolute.partial(j)[i].omegad
            found[j] += omegad @ np.cross(revolute.to_center(j, i), revolute.force(i))
            printed[j] += omegad @ np.cross(printed_arm(revolute, j, i), revolute.force(i))
    assert_close(found, translational(revolute), tolerance=TOLERANCE)
    assert differs(printed, translational(revolute))


def betas(case: PaperChain, arm) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """β_j by (25) and φ_j by (26), with both 0 beyond the last body."""
    n = case.robot.nv
    beta: list[np.ndarray] = [np.zeros(3)] * n
    phi: list[np.ndarray] = [np.zeros(3)] * n
    for j in reversed(case.bodies):
        beta[j] = np.cross(case.force(j), arm(case, j, j))
        if j + 1 < n:
            R, s = case.places[j + 1]
            phi[j] = R @ (case.force(j + 1) + phi[j + 1])
            beta[j] = beta[j] + np.cross(phi[j], s) + R @ beta[j + 1]
    return beta, phi


def test_eq_23_translational_part_by_recursion(case: PaperChain) -> None:
    """B_j = -z_j · β_j, the minus sign is right; z_j · (m_j r̈_Gj + φ_j) for a prismatic joint (not in print)."""
    beta, phi = betas(case, PaperChain.to_center)
    B = [-Z @ beta[j] if case.revolute[j] else Z @ (case.force(j) + phi[j]) for j in case.bodies]
    assert_close(np.array(B), translational(case), tolerance=TOLERANCE)


def test_eq_24_beta_as_a_sum(case: PaperChain) -> None:
    beta, _ = betas(case, PaperChain.to_center)
    wrong = False
    for j in case.bodies:
        expected = sum(case.R(j, i) @ np.cross(case.force(i), case.to_center(j, i)) for i in case.bodies[j:])
        printed = sum(case.R(j, i) @ np.cross(case.force(i), printed_arm(case, j, i)) for i in case.bodies[j:])
        assert_close(beta[j], expected, tolerance=TOLERANCE)
        wrong = wrong or differs(printed, expected)
    assert wrong


def test_eq_25_printed_arm_is_wrong(revolute: PaperChain) -> None:
    """As printed (25) gives other torques than the corrected one, and other ones than (24) as printed."""
    right, _ = betas(revolute, PaperChain.to_center)
    printed, _ = betas(revolute, printed_arm)
    assert differs(np.array(printed), np.array(right))
    sums = [
        sum(revolute.R(j, i) @ np.cross(revolute.force(i), printed_arm(revolute, j, i)) for i in revolute.bodies[j:])
        for j in revolute.bodies
    ]
    assert differs(np.array(printed), np.array(sums))


def test_eq_26_force_of_all_that_a_joint_carries(case: PaperChain) -> None:
    _, phi = betas(case, PaperChain.to_center)
    for j in case.bodies[:-1]:
        expected = sum(case.R(j, i) @ case.force(i) for i in case.bodies[j + 1 :])
        assert_close(phi[j], expected, tolerance=TOLERANCE)


def test_steps_1_to_6_give_the_torques(case: PaperChain) -> None:
    """α - β, carried as one vector by the library, gives the torques of both."""
    alpha, (beta, phi) = alphas(case), betas(case, PaperChain.to_center)
    expected = [Z @ (alpha[j] - beta[j]) if case.revolute[j] else Z @ (case.force(j) + phi[j]) for j in case.bodies]
    assert_close(tau_of_library(case), np.array(expected), tolerance=TOLERANCE)
