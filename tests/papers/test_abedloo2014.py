"""Abedloo, Molaei and Taghirad 2014, sections II.B to IV, equation by equation, for the agile wrist; printed errors are shown.

The equations are written out in `helpers.paper_wrist` with plain matrices and compared with the library's results.
"""

from __future__ import annotations

import numpy as np
import pytest
from helpers.closeness import assert_close, differs
from helpers.paper_wrist import (
    ALPHA1,
    ALPHA2,
    ETA,
    LAMBDA,
    LEGS,
    STEP,
    WEIGHTS,
    Case,
    Z,
    in_time,
    library_bodies,
    over_cases,
    rx,
    rz,
)  # fmt: skip
from helpers.spherical_robots import wrist

from appell.cli import main
from appell.loading.catalogue.agile_wrist import BETA, GAMMA
from appell_lab.reproduce import abedloo2014, reproduce


@over_cases
def test_eq_25_and_26_attitude_and_angular_velocity(case):
    assert_close(case.robot.pose(case.q, "platform")[:3, :3], case.R, tolerance=1e-14)
    W = in_time(lambda t: case.at(t).R) @ case.R.T
    assert_close(np.array([W[2, 1], W[0, 2], W[1, 0]]), case.Omega, tolerance=1e-11)


@over_cases
def test_eq_23_jacobians_are_derivatives_of_angular_velocities(case):
    """J = ∂ω/∂q̇ of every body, from the poses that the library computes."""
    for body in library_bodies(case):
        J = np.stack([angular_velocity(case, body.name, unit) for unit in np.eye(3)], axis=1)
        assert_close(case.robot.jacobian(case.q, body.name, reference_frame="LOCAL")[3:], J, tolerance=1e-10)
        assert_close(body.J, J, tolerance=1e-10)


def angular_velocity(case: Case, name: str, qd: np.ndarray) -> np.ndarray:
    """ω of a body along its own axes, by the change of its pose."""

    def pose(t: float) -> np.ndarray:
        return case.robot.pose(case.q + t * qd, name)[:3, :3]

    W = pose(0.0).T @ in_time(pose)
    return np.array([W[2, 1], W[0, 2], W[1, 0]])


@over_cases
def test_eq_24_is_no_partial_derivative(case):
    """∂α/∂q̇ counts every product of rates twice: times q̇ it is 2 J̇ q̇, for the J̇ of every body in the library."""

    def alpha(qd):
        return np.stack([body.Jd @ qd for body in library_bodies(case, qd)])

    partial = np.stack([(alpha(case.qd + e) - alpha(case.qd - e)) / 2.0 for e in np.eye(3)], axis=2)
    assert_close(partial @ case.qd, 2.0 * alpha(case.qd), tolerance=1e-12)


@over_cases
def test_eq_27_rotation_of_the_second_link_needs_that_of_the_first(case):
    for i in LEGS:
        assert_close(case.robot.pose(case.q, f"leg{i + 1}_link1")[:3, :3], case.R1(i), tolerance=1e-13)
        assert_close(case.robot.pose(case.q, f"leg{i + 1}_link2")[:3, :3], case.R2(i), tolerance=1e-13)
        assert differs(rx(ALPHA1) @ rz(case.psi[i]), case.R2(i))  # as printed


def test_eq_28_and_29_axes():
    legs, beta, gamma = wrist().legs, BETA, GAMMA
    for i, leg in enumerate(legs):
        v = [-np.sin(ETA[i]) * np.sin(beta), np.cos(ETA[i]) * np.sin(beta), np.cos(beta)]
        u = [-np.sin(LAMBDA[i]) * np.sin(gamma), np.cos(LAMBDA[i]) * np.sin(gamma), -np.cos(gamma)]
        assert_close(np.array(leg.tip.direction), np.array(v), tolerance=1e-14)
        assert_close(np.array(leg.base.direction), np.array(u), tolerance=1e-14)


@over_cases
def test_eq_30_legs_reach_the_platform(case):
    """v · w = cos α2, with the axes of the library's poses."""
    v, w = library_axes(case)
    assert_close((v * w).sum(axis=1), np.full(3, np.cos(ALPHA2)), tolerance=1e-14)
    assert_close(v, case.v, tolerance=1e-13)


def library_axes(case: Case) -> tuple[np.ndarray, np.ndarray]:
    """v and w of all legs: the platform's axes, and z of the second links."""
    R = case.robot.pose(case.q, "platform")[:3, :3]
    v = np.array([R @ leg.tip.direction for leg in case.robot.legs])
    return v, np.array([case.robot.pose(case.q, f"leg{i + 1}_link2")[:3, 2] for i in LEGS])


@over_cases
def test_eq_31_is_a_product(case):
    _, w = library_axes(case)
    theta = case.robot.joint_angles(case.q)[[0, 3, 6]]
    for i in LEGS:
        B = rz(LAMBDA[i]) @ rx(GAMMA - np.pi)
        shape = np.diag([np.sin(ALPHA1), -np.sin(ALPHA1), np.cos(ALPHA1)])
        angles = np.array([np.sin(theta[i]), np.cos(theta[i]), 1.0])
        assert_close(B @ shape @ angles, w[i], tolerance=1e-13)
        assert differs((B @ shape + angles[:, None])[:, 0], w[i])  # as printed, a sum


@over_cases
def test_eq_32_needs_both_transposes_and_the_leg(case):
    """C_i of the library's angles: w · v = C_1 sin θ + C_2 cos θ + C_3, for C_i with the angles λ_i and the axis v_i of "
    "its leg."""
    v, w = library_axes(case)
    theta = case.robot.joint_angles(case.q)[[0, 3, 6]]
    for i in LEGS:
        shape = np.diag([np.sin(ALPHA1), -np.sin(ALPHA1), np.cos(ALPHA1)])
        C = shape @ rx(GAMMA - np.pi).T @ rz(LAMBDA[i]).T @ v[i]
        assert C @ [np.sin(theta[i]), np.cos(theta[i]), 1.0] == pytest.approx(w[i] @ v[i], abs=1e-14)
        assert_close(np.array([C[1], C[0], np.cos(ALPHA2) - C[2]]), case.abc[i], tolerance=1e-13)


@over_cases
def test_eq_35_normals_of_the_links(case):
    """Unit normals of the planes of both links are -x of their frames, from the library's poses."""
    v, w = library_axes(case)
    for i in LEGS:
        R1, R2 = (case.robot.pose(case.q, f"leg{i + 1}_link{k}")[:3, :3] for k in (1, 2))
        n1 = np.cross(R1[:, 2], w[i]) / abs(np.sin(ALPHA1))
        n2 = np.cross(w[i], v[i]) / abs(np.sin(ALPHA2))
        assert_close(n1, -R1[:, 0], tolerance=1e-13, scale=1.0) if n1 @ R1[:, 0] < 0 else assert_close(
            n1, R1[:, 0], tolerance=1e-13
        )
        assert abs(n2 @ R2[:, 0]) == pytest.approx(1.0, abs=1e-13)
        psi = case.robot.joint_angles(case.q)[3 * i + 1]
        assert n1 @ n2 == pytest.approx(np.cos(psi), abs=1e-13)


@over_cases
def test_eq_33_and_34_angles_of_the_actuators(case):
    a, b, c = case.abc.T
    assert_close(a * np.cos(case.theta) + b * np.sin(case.theta), c, tolerance=1e-14, scale=1.0)
    assert_close(case.robot.joint_angles(case.q)[[0, 3, 6]], case.theta, tolerance=1e-13)
    minus = np.arctan2(b, a) - np.arctan2(np.sqrt(a * a + b * b - c * c), c)
    assert_close(case.robot.with_working_modes("minus").joint_angles(case.q)[[0, 3, 6]], minus, tolerance=1e-13)
    assert_close(a * a + b * b - c * c, case.h**2, tolerance=1e-13)  # the root is h of (39)


@over_cases
def test_eq_36_needs_both_normals_and_a_sign(case):
    assert_close(case.robot.joint_angles(case.q)[[1, 4, 7]], case.psi, tolerance=1e-13)
    n1 = np.cross(case.u, case.w) / np.sin(ALPHA1)
    assert_close((n1 * n1).sum(axis=1), np.ones(3), tolerance=1e-14)  # as printed: cos ψ = 1, always
    unsigned = np.abs(case.psi)
    assert differs(np.cos(unsigned) * 0 + unsigned, case.psi)  # an arc cosine alone loses the sign
    for i in LEGS:
        assert_close(case.R2(i) @ rx(ALPHA2) @ Z, case.v[i], tolerance=1e-13)
        assert differs(case.R1(i) @ rx(ALPHA1) @ rz(unsigned[i]) @ rx(ALPHA2) @ Z, case.v[i])


@over_cases
def test_eq_37_to_41_rates_and_accelerations_of_the_joints(case):
    xi = ((np.cross(case.w, case.u) @ case.Omega) / case.h)[:, None]
    total = case.thetad[:, None] * case.u + case.psid[:, None] * case.w + xi * case.v
    assert_close(total, np.tile(case.Omega, (3, 1)), tolerance=1e-13)  # (37)
    rates = case.robot.joint_velocities(case.q, case.qd)
    assert_close(rates[[0, 3, 6]], case.thetad, tolerance=1e-13)
    assert_close(rates[[1, 4, 7]], case.psid, tolerance=1e-13)
    assert_close(case.thetad, in_time(lambda t: case.at(t).theta), tolerance=1e-10)
    accelerations = case.robot.joint_accelerations(case.q, case.qd, case.qdd)
    p1d, hd = in_time(lambda t: case.at(t).p1), in_time(lambda t: case.at(t).h)
    Omegad = case.E @ case.qdd + case.Ed @ case.qd
    h = case.h[:, None]
    thetadd = (case.p1 / h) @ Omegad + ((h * p1d - hd[:, None] * case.p1) / h**2) @ case.Omega  # (41)
    assert_close(accelerations[[0, 3, 6]], thetadd, tolerance=1e-10)
    assert_close(accelerations[[1, 4, 7]], in_time(lambda t: case.at(t).psid), tolerance=1e-10)


@over_cases
def test_eq_42_angular_velocities_of_the_links(case):
    """Of the library's poses, from its joint rates and axes."""
    rates, (_, w) = case.robot.joint_velocities(case.q, case.qd), library_axes(case)
    for i in LEGS:
        u = np.array(case.robot.legs[i].base.direction)
        first, second = rates[3 * i] * u, rates[3 * i] * u + rates[3 * i + 1] * w[i]
        for name, omega in ((f"leg{i + 1}_link1", first), (f"leg{i + 1}_link2", second)):
            R = case.robot.pose(case.q, name)[:3, :3]
            assert_close(R @ angular_velocity(case, name, case.qd), omega, tolerance=1e-10)
            assert_close(case.robot.jacobian(case.q, name)[3:] @ case.qd, omega, tolerance=1e-13)


@over_cases
def test_eq_43_angular_accelerations_of_the_links(case):
    """Rate of the library's angular velocities in the world, from its joint rates and accelerations."""
    rates = case.robot.joint_velocities(case.q, case.qd)
    accelerations, (_, w) = case.robot.joint_accelerations(case.q, case.qd, case.qdd), library_axes(case)
    for i in LEGS:
        u = np.array(case.robot.legs[i].base.direction)
        turning = rates[3 * i + 1] * np.cross(rates[3 * i] * u, w[i])
        first = accelerations[3 * i] * u
        second = first + accelerations[3 * i + 1] * w[i] + turning
        for name, expected in ((f"leg{i + 1}_link1", first), (f"leg{i + 1}_link2", second)):
            rate = in_time(lambda t, name=name: world_angular_velocity(case.at(t), name))
            assert_close(rate, expected, tolerance=1e-9)


def world_angular_velocity(case: Case, name: str) -> np.ndarray:
    return case.robot.jacobian(case.q, name)[3:] @ case.qd


@over_cases
def test_eq_44_and_45_second_links_are_seen_from_themselves(case):
    for i in LEGS:
        world = case.thetad[i] * case.u[i] + case.psid[i] * case.w[i]  # (42)
        own = case.thetad[i] * (case.R2(i).T @ case.R1(i) @ Z) + case.psid[i] * Z
        assert_close(case.R2(i).T @ world, own, tolerance=1e-13)
        assert differs(case.R1(i).T @ world, own)  # as printed
        body = next(body for body in library_bodies(case) if body.name == f"leg{i + 1}_link2")
        assert_close(body.omega, own, tolerance=1e-13)
        alpha = body.J @ case.qdd + body.Jd @ case.qd
        rate = in_time(lambda t, name=body.name: world_angular_velocity(case.at(t), name))
        assert_close(alpha, case.R2(i).T @ rate, tolerance=1e-9)  # (45)


@over_cases
def test_eq_46_jacobians_of_the_links(case):
    """The chain rule, from the library's joint rates: ∂θ̇/∂q̇ and ∂ψ̇/∂q̇ are its joint rates at unit q̇."""
    rows = np.stack([case.robot.joint_velocities(case.q, unit) for unit in np.eye(3)], axis=1)
    for i in LEGS:
        R1, R2 = (case.robot.pose(case.q, f"leg{i + 1}_link{k}")[:3, :3] for k in (1, 2))
        first, second = np.outer(Z, rows[3 * i]), np.outer(R2.T @ R1 @ Z, rows[3 * i]) + np.outer(Z, rows[3 * i + 1])
        assert_close(
            case.robot.jacobian(case.q, f"leg{i + 1}_link1", reference_frame="LOCAL")[3:], first, tolerance=1e-13
        )
        assert_close(
            case.robot.jacobian(case.q, f"leg{i + 1}_link2", reference_frame="LOCAL")[3:], second, tolerance=1e-13
        )
        assert_close(second, case.J(i, 1), tolerance=1e-13)


@over_cases
def test_eq_47_needs_its_halves(case):
    """J q̈ + J̇ q̇ is the angular acceleration only with them; the library's J̇ has them."""
    bodies = {body.name: body for body in library_bodies(case)}
    for i in LEGS:
        name = f"leg{i + 1}_link2"
        R = case.robot.pose(case.q, name)[:3, :3]
        alpha = R.T @ in_time(lambda t, name=name: world_angular_velocity(case.at(t), name))
        assert_close(bodies[name].J @ case.qdd + bodies[name].Jd @ case.qd, alpha, tolerance=1e-9)
        assert_close(bodies[name].Jd, case.Jd(i, 1), tolerance=1e-9)
        assert differs(case.J(i, 1) @ case.qdd + case.Jd(i, 1, share=1.0) @ case.qd, alpha)


@over_cases
def test_eq_48_is_not_the_rate_of_the_jacobian_but_has_its_product(case):
    """The platform's J̇ of the library, by the paper and as the rate of its Jacobian."""
    paper, true = (library_bodies(case, paper=each)[0] for each in (True, False))
    assert paper.name == "platform"
    assert_close(paper.Jd, case.R.T @ case.Ed, tolerance=1e-9)
    moving = in_time(lambda t: case.robot.jacobian(case.at(t).q, "platform", reference_frame="LOCAL")[3:])
    assert_close(true.Jd, moving, tolerance=1e-9)
    assert_close(true.Jd @ case.qd, paper.Jd @ case.qd, tolerance=1e-12)
    assert differs(paper.Jd, true.Jd)


@over_cases
def test_eq_19_to_21_closed_form(case):
    robot = case.robot
    assert_close(robot.mass_matrix(case.q), case.M, tolerance=1e-13)
    assert_close(robot.gravity(case.q), case.gravity, tolerance=1e-13)
    assert_close(robot.coriolis_matrix(case.q, case.qd, method="abedloo2014"), case.C, tolerance=1e-9)
    Q = case.M @ case.qdd + case.C @ case.qd + case.gravity
    assert_close(robot.generalized_forces(case.q, case.qd, case.qdd), Q, tolerance=1e-10)


@over_cases
def test_eq_21_is_not_the_skew_form(case):
    Md = in_time(lambda t: Case(case.q + t * case.qd, case.qd, case.qdd).M)
    skewness = [
        np.abs(S + S.T).max() for S in (Md - 2.0 * case.C, Md - 2.0 * case.robot.coriolis_matrix(case.q, case.qd))
    ]
    assert skewness[0] > 1e-4
    assert skewness[1] < 1e-9


@over_cases
def test_eq_22_and_49_power(case):
    tau = case.robot.inverse_dynamics(case.q, case.qd, case.qdd)
    Q = case.robot.generalized_forces(case.q, case.qd, case.qdd)
    assert tau @ case.thetad == pytest.approx(Q @ case.qd, rel=1e-12)


@over_cases
def test_eq_50_needs_the_h_of_each_leg(case):
    assert_close(case.robot.actuator_jacobian(case.q), case.Jact, tolerance=1e-13)
    assert_close(case.Jact @ case.qd, case.thetad, tolerance=1e-13)
    assert differs(case.p1 @ case.E / case.h[0], case.Jact)  # as printed


@over_cases
def test_eq_51_is_the_transpose_not_its_inverse(case):
    tau = case.robot.inverse_dynamics(case.q, case.qd, case.qdd)
    Q = case.robot.generalized_forces(case.q, case.qd, case.qdd)
    assert_close(case.Jact.T @ tau, Q, tolerance=1e-12)
    assert differs(np.linalg.solve(case.Jact.T, tau), Q)  # as printed


def test_eq_52_trajectory():
    q, qd, qdd = abedloo2014.reference(np.array([0.0, 0.3]))
    assert_close(q[1], np.radians([10, 30, 20]) * np.sin(np.pi * np.array([1, 0.5, 1.5]) * 0.3))
    t = np.array(0.3)
    rate = sum(
        w * (abedloo2014.reference(t + k * STEP)[0] - abedloo2014.reference(t - k * STEP)[0])
        for k, w in WEIGHTS.items()
    )
    assert_close(rate / STEP, qd[1], tolerance=1e-11)
    rate = sum(
        w * (abedloo2014.reference(t + k * STEP)[1] - abedloo2014.reference(t - k * STEP)[1])
        for k, w in WEIGHTS.items()
    )
    assert_close(rate / STEP, qdd[1], tolerance=1e-11)


@pytest.fixture(scope="module")
def verified():
    return abedloo2014.verification(wrist(), duration=0.25, samples=26)


def test_section_4_errors_are_below_the_printed_ones(verified):
    for name, error in verified.errors.items():
        assert np.abs(error).max() < 1e-3 * abedloo2014.PRINTED[name], name
    assert verified.closure < 1e-9
    assert np.abs(verified.simulator.q - abedloo2014.reference(verified.t)[0]).max() < 1e-3
    table = abedloo2014.errors_table(verified)
    assert [row[1] for row in table.rows] == ["1e-07", "1e-06", "1e-05", "1e-05"]
    assert all(float(row[2]) < float(row[1]) for row in table.rows)


def test_figures_5_to_7_are_drawn(verified, tmp_path):
    pytest.importorskip("matplotlib")
    from appell_lab.reproduce.abedloo2014_figures import figures

    for figure in figures(verified, abedloo2014.reference):
        figure.draw(tmp_path / f"{figure.name}.png")
        assert (tmp_path / f"{figure.name}.png").stat().st_size > 20_000
    assert len(list(tmp_path.iterdir())) == 3


def test_two_coriolis_matrices_stand_side_by_side():
    printed, skewed = abedloo2014.coriolis_table(wrist()).rows
    assert float(printed[1]) < 1e-14
    assert float(skewed[1]) < 1e-14
    assert float(printed[2]) > 1e-4
    assert float(skewed[2]) < 1e-9


@pytest.mark.slow
def test_the_command_reproduces_the_paper(tmp_path, capsys):
    assert main(["reproduce", "abedloo2014", "--figures", str(tmp_path)]) == 0
    assert "Section IV" in capsys.readouterr().out
    assert reproduce("abedloo2014").paper == "abedloo2014"
