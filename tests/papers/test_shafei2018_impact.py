"""Shafei and Shafei 2018, section 4, equations (43) to (47): the impact phase, with the impacts that the library simulates."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from helpers.closeness import assert_close

import appell
from appell.simulation.records import Impact

ROBOT = appell.load("shafei_tree")
POINTS = tuple(f"O{i}" for i in range(1, 12))
STEP = 1e-3


@cache
def impacts(e: float) -> tuple[Impact, ...]:
    """Of the paper's tree in its wall, up to the second pair."""
    motion = appell.simulate(
        ROBOT, *ROBOT.initial_state, 0.6, surfaces=[appell.surfaces.Circle(radius=2.5)],
        contact=appell.ContactOptions(restitution=e), method=appell.Integration(rtol=1e-11),
    )  # fmt: skip
    assert [impact.points for impact in motion.impacts] == [("O1", "O5"), ("O2", "O4")]
    return motion.impacts


def position(q: np.ndarray, point: str) -> np.ndarray:
    return ROBOT.pose(q, point)[:3, 3]


def normal_rows(impact: Impact) -> np.ndarray:
    """n_j^T J_j of the points of an impact, normals towards the centre, (k, nv)."""
    rows = []
    for point in impact.points:
        p = position(impact.q, point)
        rows.append(-(p / np.linalg.norm(p)) @ ROBOT.jacobian(impact.q, point)[:3])
    return np.array(rows)


over_impacts = pytest.mark.parametrize(("e", "k"), [(1.0, 0), (1.0, 1), (0.6, 0), (0.6, 1)])


def test_eq_43_velocities_of_joints_and_end_points():
    """ṙ of all n + 1 points is J θ̇: the change of the library's poses along the velocities of an impact."""
    q, qd = impacts(1.0)[1].q, impacts(1.0)[1].qd_before
    for point in POINTS:
        J = ROBOT.jacobian(q, point)[:3]
        assert J.shape == (3, 12)
        weights = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}
        difference = sum(
            w * (position(q + k * STEP * qd, point) - position(q - k * STEP * qd, point)) for k, w in weights.items()
        )
        assert_close(difference / STEP, J @ qd, tolerance=1e-9)


def test_eq_44_forces_at_the_points():
    """I_f θ̈ = R + Σ J^T n δf, with two forces at points of the library's forward dynamics."""
    impact = impacts(1.0)[0]
    forces, rows = np.array([3.0, 7.0]), normal_rows(impact)
    wrenches = {}
    for point, force in zip(impact.points, forces, strict=True):
        p = position(impact.q, point)
        R = ROBOT.pose(impact.q, point)[:3, :3]
        wrenches[point] = np.concatenate([R.T @ (-force * p / np.linalg.norm(p)), np.zeros(3)])
    qdd = ROBOT.forward_dynamics(impact.q, impact.qd_before, np.zeros(12), external_forces=wrenches)
    right = -ROBOT.bias(impact.q, impact.qd_before) + rows.T @ forces
    assert_close(ROBOT.mass_matrix(impact.q) @ qdd, right, tolerance=1e-11)


@over_impacts
def test_eq_45_momentum(e, k):
    """I_f (θ̇⁺ - θ̇⁻) = Σ J^T n f, over all points of an impact."""
    impact = impacts(e)[k]
    change = ROBOT.mass_matrix(impact.q) @ (impact.qd_after - impact.qd_before)
    assert_close(change, normal_rows(impact).T @ impact.impulses, tolerance=1e-11)
    assert (impact.impulses > 0).all()


@over_impacts
def test_eq_46_newtons_law(e, k):
    impact = impacts(e)[k]
    rows = normal_rows(impact)
    before = rows @ impact.qd_before
    assert (before < 0).all()
    assert_close(rows @ impact.qd_after, -e * before, tolerance=1e-11)


@over_impacts
def test_eq_47_both_as_one_system(e, k):
    """One row and one column for each point, solved together."""
    impact = impacts(e)[k]
    rows, M = normal_rows(impact), ROBOT.mass_matrix(impact.q)
    I_i = np.block([[M, -rows.T], [rows, np.zeros((2, 2))]])
    right = np.concatenate([M, -e * rows]) @ impact.qd_before
    solution = np.linalg.solve(I_i, right)
    assert_close(impact.qd_after, solution[:12], tolerance=1e-11)
    assert_close(impact.impulses, solution[12:], tolerance=1e-11)
