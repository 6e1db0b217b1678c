"""Products of rows by fold and force against sums over the rows themselves, and guards of fits without noise."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.closeness import assert_close

import appell
from appell.identification import cross_validation
from appell.identification.base import base_parameters
from appell.identification.cross_validation import LAG_STEPS, Products, products
from appell.identification.recorded_motion import RecordedMotion
from appell.robot.regressor_terms import Coulomb, Stribeck, Viscous

TERMS, OTHERS = (Viscous(),), (Coulomb(0.1), Stribeck(0.2, 0.1))


@pytest.fixture(scope="module")
def robot():
    return appell.load("planar2r")


def motion(count, recording, seed):
    rng = np.random.default_rng(seed)
    q, qd, qdd, tau, raw = rng.normal(size=(5, count, 2))
    return RecordedMotion(np.arange(count) * 0.01, q, qd, qdd, tau, raw, rng.random(count) < 0.8, recording)


def expected_products(robot, motions, folds, shifted=None, thin=1):
    """Sums over trusted rows; `folds` has the fold of each row of each motion."""
    base = base_parameters(robot, TERMS)
    size, sides = len(base) + 4, 2 + (2 * LAG_STEPS + 1 if shifted else 0)
    count = 1 + max(fold for each in folds for fold in each)
    G, h, p = (np.zeros((count, 2, *shape)) for shape in ((size, size), (size, sides), (sides,)))
    samples = np.zeros(count, dtype=int)
    for k, each in enumerate(motions):
        rows = np.flatnonzero(each.trusted)[::thin]
        K = robot.regressor(each.q, each.qd, each.qdd, terms=(*TERMS, *OTHERS))
        K = K[..., [*base.independent, *range(len(base.names), len(base.names) + 4)]]
        for place, row in enumerate(rows):
            f = folds[k][place]
            samples[f] += 1
            for j in (0, 1):
                y = each.raw[row]
                if shifted:
                    tau, first, step = shifted[k]
                    late = [
                        tau[min(max(first + row + m * step, 0), len(tau) - 1), j]
                        for m in range(-LAG_STEPS, LAG_STEPS + 1)
                    ]
                    y = np.concatenate([late, y])
                G[f, j] += np.outer(K[row, j], K[row, j])
                h[f, j] += np.outer(K[row, j], y)
                p[f, j] += y**2
    return G, h, p, samples


def assert_products(found: Products, expected, b) -> None:
    for own, other in zip((found.G, found.h, found.p), expected[:3], strict=True):
        assert_close(own, other, tolerance=1e-11)
    assert found.samples.tolist() == expected[3].tolist()
    assert found.edges == (b, b + 2, b + 4)


def test_fifths_of_each_motion_are_folds_of_one_or_two_recordings(robot):
    motions = [motion(40, 0, 1), motion(23, 0, 2), motion(31, 4, 3)]
    rng = np.random.default_rng(9)
    shifted = [(rng.normal(size=(len(each.t) + 8, 2)), 4, 1 + k) for k, each in enumerate(motions)]
    folds = [[place * 5 // int(each.trusted.sum()) for place in range(int(each.trusted.sum()))] for each in motions]
    base = base_parameters(robot, TERMS)
    found = products(robot, base, TERMS, OTHERS, motions, shifted)
    assert_products(found, expected_products(robot, motions, folds, shifted), len(base))


def test_three_recordings_are_folds(robot, monkeypatch):
    """And of many states every so many are used: 103 are more than twice 50, so that every second is."""
    motions = [motion(40, 7, 1), motion(23, 2, 2), motion(31, 4, 3), motion(9, 2, 4)]
    folds = [[number] * 40 for number in (2, 0, 1, 0)]
    base = base_parameters(robot, TERMS)
    monkeypatch.setattr(cross_validation, "MAX_ROWS", 50)
    found = products(robot, base, TERMS, OTHERS, motions)
    assert_products(found, expected_products(robot, motions, folds, thin=2), len(base))
    monkeypatch.setattr(cross_validation, "MAX_ROWS", 52)
    found = products(robot, base, TERMS, OTHERS, motions)
    assert_products(found, expected_products(robot, motions, folds), len(base))


def test_terms_that_no_row_shows_and_no_rows_at_all(robot):
    """Columns that do not enter a force are zero; a motion without trusted samples has no products."""
    silent = motion(20, 0, 1)._replace(trusted=np.zeros(20, dtype=bool))
    base = base_parameters(robot, TERMS)
    found = products(robot, base, TERMS, OTHERS, [silent])
    assert found.samples.tolist() == [0] * 5
    assert not found.G.any()
    assert found.forces == 2
    assert found.size == len(base) + 4
    assert found.base_columns.tolist() == [True] * len(base) + [False] * 4
    assert np.flatnonzero(found.term_columns(1)).tolist() == [len(base) + 2, len(base) + 3]


def exact(noise):
    """Two folds of two forces that share two parameters; the second force has this noise."""
    rng = np.random.default_rng(0)
    K = rng.normal(size=(2, 2, 50, 2))
    tau = K @ np.array([1.0, -2.0]) + np.array([0.0, noise])[:, None] * rng.normal(size=(2, 2, 50))
    G, h = np.einsum("fjna,fjnb->fjab", K, K), np.einsum("fjna,fjn->fja", K, tau)
    p = (tau**2).sum(axis=2)
    sides = np.repeat(h[..., None], 2, axis=3)
    return Products(G, sides, np.repeat(p[..., None], 2, axis=2), np.full(2, 50), (2,))


@pytest.mark.parametrize("cross", [True, False])
def test_forces_without_noise_have_residuals_of_rounding(cross):
    data = exact(0.0)
    assert_close(data.residuals(np.ones(2, dtype=bool), [0, 1], cross) / data.powers([0, 1]), np.full((2, 2), 1e-14))
    assert data.error(np.ones(2, dtype=bool), [0, 1]) == pytest.approx(1e-7)


def test_a_force_without_noise_outweighs_the_others():
    """Its weight is up to 1e12 of the powers, so that noise of the second does not spoil the fit of the first."""
    data = exact(1e-2)
    found = data.residuals(np.ones(2, dtype=bool), [0, 1])
    assert (found[:, 0] < 1e-8 * found[:, 1]).all()
    assert found[:, 1] == pytest.approx([50e-4, 50e-4], rel=0.5)
    noisy, everything = exact(1.0), np.ones(2, dtype=bool)
    own = noisy.G[:, 1], noisy.h[:, 1, :, 0], noisy.p[:, 1, 0]
    crossed = noisy.residuals(everything, [1, 1])[:, 1]
    for fold, other in ((0, 1), (1, 0)):
        weights = 1.0 / noisy.residuals(everything, [1, 1], cross=False).sum(axis=0)
        A, b = (np.tensordot(x[other], weights, (0, 0)) for x in (noisy.G, noisy.h[..., 1]))
        x = np.linalg.solve(A, b)
        assert crossed[fold] == pytest.approx(own[2][fold] - 2 * x @ own[1][fold] + x @ own[0][fold] @ x, rel=1e-3)


@pytest.mark.parametrize(("size", "counts"), [(1e-5, True), (1e-7, False)])
def test_forces_of_hardly_any_power_do_not_count_for_the_error(size, counts):
    """Below 1e-12 of the largest power, 1e-6 of its force."""
    rng = np.random.default_rng(0)
    K = rng.normal(size=(3, 2, 50, 2)) * [1.0, 1.0]
    own = np.array([[1.0, 0.0], [0.0, 1.0]])
    K = K * own[:, None]
    tau = K.sum(axis=3) + 0.1 * rng.normal(size=(3, 2, 50))
    tau[:, 1] = size * rng.normal(size=(3, 50))
    G, h = np.einsum("fjna,fjnb->fjab", K, K), np.einsum("fjna,fjn->fja", K, tau)
    p = (tau**2).sum(axis=2)
    data = Products(G, h[..., None], p[..., None], np.full(3, 50), (2,))
    rest = data.residuals(np.ones(2, dtype=bool), [0, 0])
    relative = rest.sum(axis=0) / p.sum(axis=0)
    assert relative[1] > 0.5 > 10.0 * relative[0]
    both = rest.sum() / p.sum() * np.sqrt(relative.prod())
    expected = both if counts else relative[0] ** 2
    assert data.error(np.ones(2, dtype=bool), [0, 0]) == pytest.approx(expected**0.25, rel=1e-6)


def test_a_little_is_added_to_the_diagonal():
    """1e-11 with columns of unit length: two equal columns share their value, and hardly any of it is lost."""
    A = np.full((1, 2, 2), 4.0)
    assert_close(cross_validation._solutions(A, np.array([[8.0, 8.0]]))[0], np.array([1.0, 1.0]), tolerance=1e-4)
    one = cross_validation._solutions(np.full((1, 1, 1), 4.0), np.full((1, 1), 8.0))[0, 0]
    assert 2.0 - one == pytest.approx(2e-11, rel=1e-3)
