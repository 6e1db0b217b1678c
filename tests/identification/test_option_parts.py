"""Options, states and instruments of a fit, each against its formula."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.closeness import assert_close

import appell
from appell.identification import Estimator, Filtering, Holdout, Recording, Transmission, instruments
from appell.identification.base import base_parameters
from appell.identification.cleaning import Segment
from appell.identification.fit import accumulate_qr, solve_factors
from appell.identification.observations import Observations, Rows
from appell.identification.options import at_joints
from appell.identification.recorded_motion import filtered_motion, tangent_velocities


@pytest.fixture(scope="module")
def recorded():
    """A planar arm, times, states and forces."""
    arm = appell.load("planar2r")
    t = np.arange(0.0, 6.0, 0.01)
    q, qd, qdd = appell.excitation(arm, 6.0, 3, iterations=0)(t)
    return arm, t, q, qd, qdd, arm.inverse_dynamics(q, qd, qdd)


class Noisy:
    def __init__(self, K, tau):
        self.K, self.tau = K, tau

    def pieces(self):
        return [Rows(0, self.K[:30], self.tau[:30]), Rows(30, self.K[30:], self.tau[30:])]


@pytest.mark.parametrize("iterated", [False, True])
@pytest.mark.parametrize("pairs", [1, 2])
def test_instrumental_variables(iterated, pairs):
    """β = (Σ w Z^T K)⁻¹ Σ w Z^T tau, with weights of least squares or of its own residuals, and its covariance."""
    rng = np.random.default_rng(0)
    truth, excluded = np.array([1.0, -2.0, 3.0]), np.arange(80) % 9 == 0
    Z = rng.normal(size=(80, 2, 3))
    K = [Z + 0.3 * rng.normal(size=Z.shape) for _ in range(2)]
    tau = Z @ truth + rng.normal(size=(80, 2)) * [0.1, 2.0]
    rows = [Noisy(each, tau) for each in (*K, Z)]
    given = [(rows[0], rows[2])] if pairs == 1 else [(rows[0], rows[1]), (rows[1], rows[0])]
    data = accumulate_qr(rows[0].pieces(), np.ones((2, 3), dtype=bool), excluded)
    least = solve_factors(data, "qr", np.array([5.0, 0.5]))
    found = instruments.instrument_fit(given, data, least, excluded, iterated)  # type: ignore[arg-type]
    kept = ~excluded
    sums = [[a.K[kept], b.K[kept]] for a, b in given]
    weights = least.weights
    freedom = np.sqrt(data.residuals(least.values)) / least.sigma
    for _ in range(30 if iterated else 1):
        A = sum(np.einsum("njb,j,njc->bc", Zs, weights, Ks) for Ks, Zs in sums)
        v = sum(np.einsum("njb,j,nj->b", Zs, weights, tau[kept]) for Ks, Zs in sums)
        values = np.linalg.solve(A, v)
        sigma = np.sqrt(((rows[0].K[kept] @ values - tau[kept]) ** 2).sum(axis=0)) / freedom
        used, weights = weights, 1.0 / sigma**2 if iterated else weights
    assert_close(found.values, values, tolerance=1e-7)
    assert_close(found.sigma, sigma, tolerance=1e-7)
    noise = sum(pairs * np.einsum("njb,j,njc->bc", Zs, used**2 * sigma**2 * [2.0, 3.0], Zs) for _, Zs in sums)
    inverse = np.linalg.inv(A)
    expected = inverse @ noise @ inverse.T
    assert_close(found.covariance(data, np.array([2.0, 3.0])), expected, tolerance=1e-6)
    assert found.condition_number == least.condition_number


@pytest.mark.parametrize(("apart", "rank"), [(1e-9, 2), (1e-11, 2), (1e-13, 1)])
def test_inverses_of_rows_and_columns_of_any_unit(apart, rank):
    scale = np.array([1.0, 1e6])
    A = np.array([[1.0, 1.0 - apart], [1.0 - apart, 1.0]]) * np.outer(scale, scale)
    assert instruments._inverse(A)[0, 0] == pytest.approx(0.5 / apart if rank == 2 else 0.25, rel=1e-3)
    root = instruments._root(np.array([[4.0, 2.0], [2.0, 1.0]]))
    assert_close(root @ root.T, np.array([[4.0, 2.0], [2.0, 1.0]]), tolerance=1e-12)


def test_even_samples_are_instruments_of_odd_ones(recorded):
    """And the other way round; or commanded coordinates those of all."""
    arm, t, q, _, _, tau = recorded
    part = Segment(t, q, tau, None, np.ones(600, dtype=bool))
    rows = Observations(arm, (), base_parameters(arm), (filtered_motion(arm, part, None),), 1, Holdout())
    found = instruments.instrument_pairs(rows, [part], None, 1, "interleaved")
    halves = [filtered_motion(arm, instruments.every_second(part, k), None) for k in (0, 1)]
    assert np.abs(halves[0].qdd - halves[1].qdd).max() > 1e-9
    for (noisy, other), order in zip(found, ((0, 1), (1, 0)), strict=True):
        assert_close(noisy.motions[0].qdd, halves[order[0]].qdd)
        assert_close(other.motions[0].qdd, halves[order[1]].qdd)
    ((noisy, other),) = instruments.instrument_pairs(rows, [part], None, 1, q + 1.0)
    assert noisy is rows
    assert_close(other.motions[0].q, q[4:-4] + 1.0)


def test_what_instruments_need(recorded):
    arm, t, q, _, _, tau = recorded
    part = Segment(t, q, tau, None, np.ones(600, dtype=bool))
    for parts, reference in (([part, part], q), ([part], q[:5]), ([part], q[:, :1])):
        with pytest.raises(appell.ArgumentError, match=r"expected \(600, 2\)"):
            instruments._reference(arm, parts, reference)
    assert instruments._reference(arm, [part], q) is q


# --- options ------------------------------------------------------------------------------------------------------------------


def test_transmissions():
    """q = N⁻¹ motor angles + offset, tau = N^T motor torques, of which constants make currents torques."""
    N = np.array([[2.0, 0.0], [1.0, 4.0]])
    gears = Transmission(N, [0.5, -0.5])
    angles, torques = np.array([[2.0, 9.0], [0.0, 4.0]]), np.array([[1.0, 3.0]])
    assert_close(gears.joint_coordinates(angles), np.array([[1.5, 1.5], [0.5, 0.5]]))
    assert_close(gears.joint_forces(torques), np.array([[5.0, 12.0]]))
    assert_close(Transmission([2.0, 4.0]).joint_forces(torques), np.array([[2.0, 12.0]]))
    direct = Transmission(None, 1.0, [[1.0, 2.0], [0.0, 3.0]])
    assert_close(direct.joint_forces(torques), np.array([[7.0, 9.0]]))
    assert_close(direct.joint_coordinates(angles), angles + 1.0)
    assert_close(Transmission(torque_constants=[2.0, 3.0]).joint_forces(torques), np.array([[2.0, 9.0]]))
    for bad in (np.ones((2, 2)), np.ones((1, 2, 2)), np.ones((2, 3)), [[1.0, np.nan], [0.0, 1.0]], 3.0):
        with pytest.raises(appell.ArgumentError, match="expected ratios"):
            _ = Transmission(bad).matrix
    robot = appell.load("planar2r")
    for good in (2.0, [2.0], [2.0, 3.0], np.eye(2)):
        Transmission(torque_constants=good).require_size(robot)
    for bad in (np.ones((1, 2)), np.ones((2, 1)), np.ones(3)):
        with pytest.raises(appell.ArgumentError, match="torque_constants has shape"):
            Transmission(torque_constants=bad).require_size(robot)


def test_defaults_and_bounds_of_options():
    estimator, holdout, transmission = Estimator(), Holdout(), Transmission()
    assert (estimator.solver, estimator.weights, estimator.prior_std) == ("qr", "iterated", 1.0)
    assert (holdout.every, holdout.block) == (5, 0.5)
    assert transmission.offset == 0.0
    assert not estimator.essential
    assert Holdout(2).every == 2
    assert Filtering(decimation=1).decimation == 1
    robot = appell.load("planar2r")
    with pytest.raises(appell.ArgumentError, match="positive numbers"):
        Estimator(weights=[0.0, 1.0]).joint_weights(robot)
    assert_close(Estimator(weights=[1e-9, 1.0]).joint_weights(robot), np.array([1e-9, 1.0]))


def test_recordings_at_motors_have_no_velocities_of_joints(recorded):
    arm, t, q, qd, _, tau = recorded
    found = at_joints(arm, Recording(t, q, tau, qd), Transmission([2.0, 2.0]))
    assert found.qd is None
    assert_close(found.q, q / 2.0)
    same = Recording(t, q, tau, qd)
    assert at_joints(arm, same, None) is same


# --- states -------------------------------------------------------------------------------------------------------------------


def test_states_of_robots_with_other_coordinates():
    """A free body: velocities are differences in the tangent space of fourth order, the outer two repeat the next."""
    robot = (
        appell.RobotBuilder("free")
        .body("hull", mass=2.0, inertia=(0.3, 0.2, 0.4))
        .floating("joint", parent="world", child="hull")
        .build()
    )
    t = 0.01 * np.arange(60)
    q = np.zeros((60, 7))
    q[:, 0], q[:, 6] = t**3, 1.0
    q[:, 3], q[:, 6] = np.sin(0.5 * t**2), np.cos(0.5 * t**2)  # turns about x by t²
    part = Segment(t, q, np.zeros((60, 6)), None, np.ones(60, dtype=bool))
    motion = filtered_motion(robot, part, None)
    assert_close(motion.qd[:, 3], 2.0 * motion.t, tolerance=1e-9)
    assert_close(motion.q, q[4:-4])
    assert_close(motion.qdd[2:-2, 3], np.full(48, 2.0), tolerance=1e-6)
    raw = tangent_velocities(robot, q, 0.01)
    assert raw.shape == (60, 6)
    assert_close(raw[:2], np.stack([raw[2], raw[2]]))
    assert_close(raw[-2:], np.stack([raw[-3], raw[-3]]))
    given = filtered_motion(robot, part, None, rates=(np.full((60, 6), 3.0), np.full((60, 6), 5.0)))
    assert (given.qd == 3.0).all()
    assert (given.qdd == 5.0).all()
    half = filtered_motion(robot, part, None, rates=(np.cumsum(np.full((60, 6), 0.02), axis=0), None))
    assert_close(half.qdd, np.full((52, 6), 2.0), tolerance=1e-9)


def test_given_accelerations(recorded):
    arm, t, q, qd, qdd, tau = recorded
    part = Segment(t, q, tau, None, np.ones(600, dtype=bool))
    motion = filtered_motion(arm, part, None, rates=(None, qdd))
    assert_close(motion.qdd, qdd[4:-4])
    assert_close(motion.qd, qd[4:-4], tolerance=1e-4)
    both = filtered_motion(arm, part, None, rates=(qd, None))
    assert_close(both.qd, qd[4:-4])
    assert_close(both.qdd, qdd[4:-4], tolerance=1e-4)
