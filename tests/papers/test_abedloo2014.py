"""Abedloo, Molaei and Taghirad 2014, equation by equation, for the agile wrist; printed errors are shown to be errors.

The equations are written out here with plain matrices and compared with the library, or with derivatives by differences.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import pytest
from helpers.closeness import assert_close, differs
from helpers.spherical_robots import wrist

from appell.cli import main
from appell.loading.catalogue.agile_wrist import ARCS, BETA, GAMMA
from appell_lab.reproduce import abedloo2014, reproduce

LAMBDA = ETA = np.radians([0.0, 120.0, 240.0])
ALPHA1, ALPHA2 = ARCS
Z = np.array([0.0, 0.0, 1.0])
G = np.array([0.0, 0.0, -9.81])
LEGS = range(3)
WEIGHTS = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}
STEP = 1e-3


def rx(a: float) -> np.ndarray:
    return np.array([[1, 0, 0], [0, np.cos(a), -np.sin(a)], [0, np.sin(a), np.cos(a)]])


def ry(a: float) -> np.ndarray:
    return np.array([[np.cos(a), 0, np.sin(a)], [0, 1, 0], [-np.sin(a), 0, np.cos(a)]])


def rz(a: float) -> np.ndarray:
    return np.array([[np.cos(a), -np.sin(a), 0], [np.sin(a), np.cos(a), 0], [0, 0, 1]])


def skew(v: np.ndarray) -> np.ndarray:
    return np.array([[0.0, -v[2], v[1]], [v[2], 0.0, -v[0]], [-v[1], v[0], 0.0]])


def in_time(function) -> np.ndarray:
    """The derivative of a function of time at 0."""
    return sum(w * (function(k * STEP) - function(-k * STEP)) for k, w in WEIGHTS.items()) / STEP


class Case:
    """The wrist in one state, by the paper's equations as corrected."""

    def __init__(self, q, qd, qdd) -> None:
        self.q, self.qd, self.qdd = np.array(q), np.array(qd), np.array(qdd)
        self.robot = wrist("plus", (0.003, -0.004, 0.05))
        masses = self.robot.system
        self.inertias = [
            [np.array(list(each.at_origin.full())).reshape(3, 3) for each in leg.inertias] for leg in masses.legs
        ]
        self.moments = [[np.array(list(each.gamma)) for each in leg.inertias] for leg in masses.legs]  # m ρ
        self.platform = (
            np.array(list(masses.platform.at_origin.full())).reshape(3, 3),
            np.array(list(masses.platform.gamma)),
        )

    def at(self, t: float) -> Case:
        """The same motion a little later."""
        return Case(self.q + t * self.qd + 0.5 * t * t * self.qdd, self.qd + t * self.qdd, self.qdd)

    @cached_property
    def R(self) -> np.ndarray:
        """(25)"""
        return rz(self.q[0]) @ ry(self.q[1]) @ rx(self.q[2])

    @cached_property
    def E(self) -> np.ndarray:
        """(26)"""
        c, s = np.cos(self.q), np.sin(self.q)
        return np.array([[0, -s[0], c[0] * c[1]], [0, c[0], s[0] * c[1]], [1, 0, -s[1]]])

    @cached_property
    def Ed(self) -> np.ndarray:
        return in_time(lambda t: self.at(t).E)

    @cached_property
    def Omega(self) -> np.ndarray:
        return self.E @ self.qd

    @cached_property
    def u(self) -> np.ndarray:
        """(29)"""
        return np.array([rz(angle) @ rx(GAMMA - np.pi) @ Z for angle in LAMBDA])

    @cached_property
    def v(self) -> np.ndarray:
        """(28), (29)"""
        return np.array([self.R @ rz(angle) @ rx(-BETA) @ Z for angle in ETA])

    @cached_property
    def w(self) -> np.ndarray:
        """(29)"""
        return np.array([self.R1(i) @ rx(ALPHA1) @ Z for i in LEGS])

    @cached_property
    def abc(self) -> np.ndarray:
        """(32), (33): a, b, c of every leg."""
        found = []
        for i in LEGS:
            C = (
                np.diag([np.sin(ALPHA1), -np.sin(ALPHA1), np.cos(ALPHA1)])
                @ rx(GAMMA - np.pi).T
                @ rz(LAMBDA[i]).T
                @ self.v[i]
            )
            found.append((C[1], C[0], np.cos(ALPHA2) - C[2]))
        return np.array(found)

    @cached_property
    def theta(self) -> np.ndarray:
        """(34), the root +"""
        a, b, c = self.abc.T
        return np.arctan2(b, a) + np.arctan2(np.sqrt(a * a + b * b - c * c), c)

    @cached_property
    def psi(self) -> np.ndarray:
        """(35), (36) with its sign"""
        n1 = np.cross(self.u, self.w) / abs(np.sin(ALPHA1))
        n2 = np.cross(self.w, self.v) / abs(np.sin(ALPHA2))
        return np.arctan2((self.w * np.cross(n1, n2)).sum(axis=1), (n1 * n2).sum(axis=1))

    def R1(self, i: int) -> np.ndarray:
        """(27)"""
        return rz(LAMBDA[i]) @ rx(GAMMA - np.pi) @ rz(self.theta[i])

    def R2(self, i: int) -> np.ndarray:
        """(27), from the base"""
        return self.R1(i) @ rx(ALPHA1) @ rz(self.psi[i])

    @cached_property
    def p1(self) -> np.ndarray:
        """(39)"""
        return np.cross(self.v, self.w)

    @cached_property
    def p2(self) -> np.ndarray:
        return np.cross(self.u, self.v)

    @cached_property
    def h(self) -> np.ndarray:
        return (self.p1 * self.u).sum(axis=1)

    @cached_property
    def thetad(self) -> np.ndarray:
        """(40)"""
        return self.p1 @ self.Omega / self.h

    @cached_property
    def psid(self) -> np.ndarray:
        return self.p2 @ self.Omega / self.h

    @cached_property
    def rows(self) -> tuple[np.ndarray, np.ndarray]:
        """∂θ̇/∂q̇ and ∂ψ̇/∂q̇, by rows (3, 3)."""
        return (self.p1 / self.h[:, None]) @ self.E, (self.p2 / self.h[:, None]) @ self.E

    @cached_property
    def row_rates(self) -> tuple[np.ndarray, np.ndarray]:
        return in_time(lambda t: np.array(self.at(t).rows))  # type: ignore[return-value]

    def J(self, i: int, j: int) -> np.ndarray:
        """(44), (46)"""
        if j == 0:
            return np.outer(Z, self.rows[0][i])
        return np.outer(self.R2(i).T @ self.R1(i) @ Z, self.rows[0][i]) + np.outer(Z, self.rows[1][i])

    def Jd(self, i: int, j: int, share: float = 0.5) -> np.ndarray:
        """(47), with the halves of the Coriolis term or another share"""
        if j == 0:
            return np.outer(Z, self.row_rates[0][i])
        a = self.R2(i).T @ self.R1(i) @ Z
        coriolis = np.outer(np.cross(a, Z), self.rows[0][i] * self.psid[i] + self.rows[1][i] * self.thetad[i])
        return np.outer(a, self.row_rates[0][i]) + np.outer(Z, self.row_rates[1][i]) + share * coriolis

    @cached_property
    def bodies(self) -> list[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
        """Inertia, m ρ, J, J̇ and R of all bodies; (48) for the platform."""
        found = [(*self.platform, self.R.T @ self.E, self.R.T @ self.Ed, self.R)]
        for i in LEGS:
            for j, R in enumerate((self.R1(i), self.R2(i))):
                found.append((self.inertias[i][j], self.moments[i][j], self.J(i, j), self.Jd(i, j), R))
        return found

    @cached_property
    def M(self) -> np.ndarray:
        """(20), (21)"""
        return sum(J.T @ inertia @ J for inertia, _, J, _, _ in self.bodies)

    @cached_property
    def C(self) -> np.ndarray:
        return sum(J.T @ inertia @ Jd + J.T @ skew(J @ self.qd) @ inertia @ J for inertia, _, J, Jd, _ in self.bodies)

    @cached_property
    def gravity(self) -> np.ndarray:
        return sum((skew(moment) @ J).T @ (R.T @ G) for _, moment, J, _, R in self.bodies)

    @cached_property
    def Jact(self) -> np.ndarray:
        """(50)"""
        return self.rows[0]


CASES = [
    Case([0.1, 0.2, 0.3], [0.7, -0.4, 0.9], [1.0, -2.0, 1.5]),
    Case([-0.15, 0.35, -0.3], [-0.5, 0.8, 1.1], [-3.0, 0.4, 2.0]),
]
over_cases = pytest.mark.parametrize("case", CASES, ids=["first", "second"])


@over_cases
def test_eq_25_and_26_attitude_and_angular_velocity(case):
    assert_close(case.robot.pose(case.q, "platform")[:3, :3], case.R, tolerance=1e-14)
    W = in_time(lambda t: case.at(t).R) @ case.R.T
    assert_close(np.array([W[2, 1], W[0, 2], W[1, 0]]), case.Omega, tolerance=1e-11)


@over_cases
def test_eq_24_is_no_partial_derivative(case):
    """∂α/∂q̇ counts every product of rates twice: times q̇ it is 2 J̇ q̇."""
    Jd = case.R.T @ case.Ed

    def alpha(qd):
        return case.R.T @ Case(case.q, qd, 0 * qd).Ed @ qd

    partial = np.stack([(alpha(case.qd + e) - alpha(case.qd - e)) / 2.0 for e in np.eye(3)], axis=1)
    assert_close(partial @ case.qd, 2.0 * Jd @ case.qd, tolerance=1e-9)


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
    assert_close((case.v * case.w).sum(axis=1), np.full(3, np.cos(ALPHA2)), tolerance=1e-14)


@over_cases
def test_eq_31_is_a_product(case):
    for i in LEGS:
        B = rz(LAMBDA[i]) @ rx(GAMMA - np.pi)
        shape = np.diag([np.sin(ALPHA1), -np.sin(ALPHA1), np.cos(ALPHA1)])
        angles = np.array([np.sin(case.theta[i]), np.cos(case.theta[i]), 1.0])
        assert_close(B @ shape @ angles, case.w[i], tolerance=1e-14)
        assert differs((B @ shape + angles[:, None])[:, 0], case.w[i])  # as printed, a sum


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
def test_eq_44_and_45_second_links_are_seen_from_themselves(case):
    for i in LEGS:
        world = case.thetad[i] * case.u[i] + case.psid[i] * case.w[i]  # (42)
        own = case.thetad[i] * (case.R2(i).T @ case.R1(i) @ Z) + case.psid[i] * Z
        assert_close(case.R2(i).T @ world, own, tolerance=1e-13)
        assert differs(case.R1(i).T @ world, own)  # as printed
        assert_close(case.J(i, 1) @ case.qd, own, tolerance=1e-13)  # (46)


@over_cases
def test_eq_47_needs_its_halves(case):
    """J q̈ + J̇ q̇ is the angular acceleration only with them."""
    for i in LEGS:
        world = in_time(lambda t, i=i: case.at(t).thetad[i] * case.at(t).u[i] + case.at(t).psid[i] * case.at(t).w[i])
        alpha = case.R2(i).T @ world
        assert_close(case.J(i, 1) @ case.qdd + case.Jd(i, 1) @ case.qd, alpha, tolerance=1e-9)
        assert differs(case.J(i, 1) @ case.qdd + case.Jd(i, 1, share=1.0) @ case.qd, alpha)


@over_cases
def test_eq_48_is_not_the_rate_of_the_jacobian_but_has_its_product(case):
    true = in_time(lambda t: case.at(t).R.T @ case.at(t).E)
    assert_close(true @ case.qd, case.R.T @ case.Ed @ case.qd, tolerance=1e-9)
    assert differs(case.R.T @ case.Ed, true)


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
