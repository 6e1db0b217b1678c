"""Valera et al. 2003: section 4 (the dynamic model of the controllers), tables 2 and 3 (counts), 5 to 7 (the PUMA)."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.closeness import assert_close, differs
from helpers.states import random_states

import appell
from appell.robot.robot import Robot

TOLERANCE = 1e-12
SIZES = range(3, 13)


@pytest.fixture(scope="module")
def puma() -> Robot:
    return appell.load("puma560")


def test_eq_28_dynamic_model(puma: Robot) -> None:
    """τ = C(q, q̇) q̇ + G(q) + M(q) q̈ with a matrix C (the text calls it a vector)."""
    q, qd, qdd = (array[0] for array in random_states(puma, count=1))
    expected = puma.coriolis_matrix(q, qd) @ qd + puma.gravity(q) + puma.mass_matrix(q) @ qdd
    assert_close(puma.inverse_dynamics(q, qd, qdd), expected, tolerance=TOLERANCE)


def test_eq_27_29_inverse_dynamics_control_cancels_the_nonlinearities(puma: Robot) -> None:
    """With τ = C q̇ + G + M v the robot answers q̈ = v."""
    q, qd, v = (array[0] for array in random_states(puma, count=1, seed=1))
    tau = puma.coriolis_matrix(q, qd) @ qd + puma.gravity(q) + puma.mass_matrix(q) @ v
    assert_close(puma.forward_dynamics(q, qd, tau), v, tolerance=1e-11)


def test_section_4_mass_matrix_and_bias_need_both_terms(puma: Robot) -> None:
    """M is A + B at unit q̈, q̇ = 0, g = 0; the bias is A + B at q̈ = 0. The text takes A for M and B for the bias.

    A is what is left without mass (inertia tensors alone), B what is left without inertia tensors.
    """
    from dataclasses import replace

    turning = replace(puma, bodies=tuple(replace(body, mass=0.0) for body in puma.bodies))
    sliding = replace(puma, bodies=tuple(replace(body, inertia=(0.0,) * 6) for body in puma.bodies))
    q, qd, _ = (array[0] for array in random_states(puma, count=1, seed=2))
    A = turning.bias(q, qd, method="valera2003")
    B = puma.bias(q, qd, method="valera2003", parameters=sliding.parameters)
    assert_close(A + B, puma.bias(q, qd), tolerance=TOLERANCE)
    assert differs(B, puma.bias(q, qd))
    columns = np.array([
        puma.inverse_dynamics(q, 0 * q, e, gravity=(0, 0, 0), method="valera2003") for e in np.eye(6)
    ]).T  # fmt: skip
    assert_close(columns, puma.mass_matrix(q), tolerance=TOLERANCE)
    assert differs(turning.mass_matrix(q), puma.mass_matrix(q))


@pytest.mark.parametrize(
    ("method", "limit", "ours"),
    [
        ("valera2003", ((121, -137), (90, -114)), ((117, -139), (90, -115))),
        ("newton_euler", ((121, -118), (90, -100)), ((117, -139), (90, -115))),
    ],
)
def test_table_3_counts(method: str, limit, ours) -> None:
    """Published 121n - 136 / 91n - 116 and, for Luh, Walker and Paul, 121n - 112 / 90n - 82.

    With α and β in one vector 121n - 137 / 90n - 114 are reached. The 4n products of the rotation matrices (table 2,
    step 1) are not needed, which leaves 117n; and written in the same frames both methods are the same operations.
    """
    for n in SIZES:
        found = appell.count_operations(appell.robots.random_chain(n, seed=n), "inverse_dynamics", method=method)
        counted = (found.mul, found.add)
        assert counted == tuple(a * n + b for a, b in ours), f"n = {n}"
        assert all(count <= a * n + b for count, (a, b) in zip(counted, limit, strict=True)), f"n = {n}"


def test_table_2_sums_to_table_3() -> None:
    products, sums = np.array([[4, 0], [62, -75], [0, 0], [24, -23], [31, -38], [0, 0]]).sum(axis=0), 0
    assert products.tolist() == [121, -136]
    sums = np.array([[0, 0], [46, -61], [0, 0], [18, -18], [26, -37], [1, 0]]).sum(axis=0)
    assert sums.tolist() == [91, -116]


def test_table_3_counts_of_a_dh_table() -> None:
    """A robot from a general DH table needs no more than the formulas allow."""
    rng = np.random.default_rng(7)
    for n in (3, 6, 9):
        body = [appell.robots.random_chain(n, seed=n).bodies[i + 1] for i in range(n)]
        robot = appell.Robot.from_dh(
            alpha=rng.uniform(0.3, 1.2, n), a=rng.uniform(0.1, 0.5, n), d=rng.uniform(0.1, 0.5, n),
            theta=rng.uniform(-1, 1, n), mass=[each.mass for each in body], com=[each.com for each in body],
            inertia=[each.inertia for each in body], convention="valera2003",
        )  # fmt: skip
        for method, (mul, add) in {
            "mata2002": (96 * n - 101, 84 * n - 100),
            "valera2003": (121 * n - 137, 90 * n - 114),
            "newton_euler": (121 * n - 118, 90 * n - 100),
        }.items():
            found = appell.count_operations(robot, "inverse_dynamics", method=method)
            assert found.mul <= mul
            assert found.add <= add


def test_table_5_origins_of_the_puma(puma: Robot) -> None:
    """In link frames O3 lies at [0.432, 0, 0.15] and O4 at [-0.02, -0.433, 0]: the sign of d beside tables 5 and 7."""
    q = np.zeros(6)
    for first, second, expected in (("link2", "link3", [0.432, 0, 0.15]), ("link3", "link4", [-0.02, -0.433, 0])):
        T, S = puma.pose(q, first), puma.pose(q, second)
        assert_close(T[:3, :3].T @ (S[:3, 3] - T[:3, 3]), np.array(expected), tolerance=TOLERANCE)


def test_table_6_masses_of_the_puma(puma: Robot) -> None:
    assert [body.mass for body in puma.bodies[1:]] == [10.521, 15.781, 8.767, 1.052, 1.052, 0.351]


def test_table_7_mass_centres_and_inertias_of_the_puma(puma: Robot) -> None:
    centers = [
        (0.0, -0.054, 0.0), (0.1398, 0.0, 0.1491), (-0.32e-3, -0.197, 0.0),
        (0.0, 0.0, -0.057), (0.0, -0.007, 0.0), (0.0, 0.0, 0.0372),
    ]  # fmt: skip
    moments = [
        (1.612, 0.5091, 1.612), (0.4898, 8.0783, 8.2672), (3.3768, 0.3009, 3.3768),
        (0.181, 0.181, 0.1273), (0.0735, 0.0735, 0.1273), (0.0071, 0.0071, 0.0141),
    ]  # fmt: skip
    for body, com, (xx, yy, zz) in zip(puma.bodies[1:], centers, moments, strict=True):
        assert body.com == com
        assert body.inertia == (xx, 0.0, 0.0, yy, 0.0, zz)
        assert min(xx + yy - zz, yy + zz - xx, zz + xx - yy) >= 0  # a body can have them
