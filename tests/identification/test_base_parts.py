"""Rank, pivots and choice of base parameters on both sides of each bound, and the random states they come from."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from helpers.closeness import assert_close

import appell
from appell.identification import base
from appell.identification.base import Certificate, base_parameters, choose_columns
from appell.identification.reduced import _preferred_moments, base_robot, moments, to_parameters
from appell.robot.regressor_terms import Viscous

EPS = np.finfo(float).eps


def columns(*parts):
    """A stack of regressors (40, 1, p)."""
    return np.stack(parts, axis=-1)[:, None]


@pytest.fixture(scope="module")
def random():
    return np.random.default_rng(0).normal(size=(3, 40))


@pytest.mark.parametrize(("size", "zero"), [(2e-9, False), (5e-10, True)])
def test_columns_smaller_than_one_in_a_thousand_million_are_zero(random, size, zero):
    a, b, _ = random
    b = b / np.linalg.norm(b) * np.linalg.norm(a)
    found = choose_columns(columns(a, size * b), [0, 1])
    assert found.zero == ({1} if zero else set())
    assert found.independent == ((0,) if zero else (0, 1))


@pytest.mark.parametrize(("share", "kept"), [(1e-7, True), (1e-10, False)])
def test_small_shares_of_a_combination_are_rounding(random, share, kept):
    """Below 1e-9 of unit columns."""
    a, b, _ = (x / np.linalg.norm(x) for x in random)
    B = choose_columns(columns(a, b, a + share * b), [0, 1, 2]).B
    assert B[0, 2] == pytest.approx(1.0)
    assert B[1, 2] == pytest.approx(share if kept else 0.0, rel=1e-5, abs=1e-12)
    assert (B[1, 2] != 0.0) == kept


def test_pivots_beside_the_rank(random):
    """Of unit columns, the largest remaining length first; beyond the last column there is rounding."""
    a, b, c = (x / np.linalg.norm(x) for x in random)
    b = b - a * (a @ b)
    b /= np.linalg.norm(b)
    found = choose_columns(columns(a, 3.0 * (a + 0.75 * b)), [0, 1])
    assert found.kept == pytest.approx(0.6)
    assert found.dropped == EPS
    assert found.independent == (0, 1)
    weak = choose_columns(columns(a, b, a + 1e-6 * c), [0, 1, 2])
    distance = 1e-6 * np.linalg.norm(c - a * (a @ c) - b * (b @ c))
    assert weak.kept == pytest.approx(distance, rel=1e-4)
    assert weak.independent == (0, 1, 2)
    assert Certificate(3, 0.5, 2e-4, 0.0, 80).gap == pytest.approx(2500.0)


def test_equal_columns_are_chosen_once(random):
    a, b, _ = random
    for order, independent in (([0, 1, 2], (0, 2)), ([1, 0, 2], (1, 2)), ([2, 1, 0], (1, 2))):
        assert choose_columns(columns(a, a, b), order).independent == independent


def test_first_independent_columns_up_to_a_number(random):
    """A distance at the tolerance does not count, and no more are chosen than the rank."""
    A = np.eye(4)[:, [0, 1, 2]] + 0.0
    A = np.column_stack([A[:, 0], A[:, 0] + 0.1 * A[:, 1], A[:, 1], A[:, 2]])
    assert base._first_independent(A, 0.05, 3) == [0, 1, 3]
    assert base._first_independent(A, 0.2, 3) == [0, 2, 3]
    assert base._first_independent(A, 0.2, 2) == [0, 2]


def test_names_have_a_star_where_parameters_combine():
    found = base_parameters(appell.load("planar2r"), ["viscous"])
    assert found.base_names == (
        "mx[link1]*", "my[link1]", "Izz[link1]*", "mx[link2]", "my[link2]", "Izz[link2]", "fv[joint1]", "fv[joint2]"
    )  # fmt: skip
    assert found.certificate.states == 40 + 4 * 22 // 2
    counts = [base.state_count(SimpleNamespace(nv=n), 30) for n in (1, 2, 7)]  # type: ignore[arg-type]
    assert counts == [160, 100, 57]
    assert found.certificate.rank == 8
    assert found.certificate.mismatch < 1e-12
    table = found.table()
    assert table.rows[0] == ("mx[link1]*", "mx[link1] + m[link2]")
    assert table.notes[0].startswith("Without any effect: m[link1], mz[link1], ")
    assert replace(found, unidentifiable=()).table().notes[0] == "Without any effect: none."
    assert found.used.tolist() == [[True] * 6 + [True, False], [False] * 3 + [True] * 3 + [False, True]]


@pytest.mark.parametrize(
    ("dropped", "error", "sure"), [(1.2e-4, 0.0, False), (0.8e-4, 0.0, True), (1e-9, 1e-5, False), (1e-9, 1e-8, True)]
)
def test_the_rank_is_certain_from_a_gap_of_ten_thousand(monkeypatch, dropped, error, sure):
    """And if other states agree to 1e-6."""
    robot = appell.load("planar2r")

    def changed(K, preferred):
        found = choose_columns(K, preferred)
        B = found.B.copy()
        B[0, found.independent[0]] += error
        return found._replace(kept=1.0, dropped=dropped, B=B)

    monkeypatch.setattr(base, "choose_columns", changed)
    if sure:
        base_parameters(robot)
    else:
        with pytest.raises(appell.IdentificationError, match="is uncertain"):
            base_parameters(robot)


@pytest.mark.parametrize("terms", [(), (Viscous(),)])
def test_random_states_of_all_speeds(terms):
    """Velocities up to 3, accelerations up to 9; with friction every second one is slower by up to 10^2.5."""
    seen = {}

    def regressor(q, qd, qdd):
        seen.update(q=q, qd=qd.copy(), qdd=qdd)
        return np.zeros((len(q), 2, 20))

    robot = SimpleNamespace(nv=2, system=SimpleNamespace(parameter_bodies=("a", "b")), generalized_regressor=regressor,
                            random_configurations=lambda count, rng: np.zeros((count, 2)))  # fmt: skip
    draw = base.random_regressors(robot, terms, np.random.default_rng(0))  # type: ignore[arg-type]
    assert draw(4000).shape == (4000, 2, 20 + 2 * len(terms))
    fast, slow = np.abs(seen["qd"][1::2]), np.abs(seen["qd"][::2])
    assert 2.99 < fast.max() < 3.0
    assert 8.99 < np.abs(seen["qdd"]).max() < 9.0
    assert (seen["qd"].min(), seen["qdd"].min()) == pytest.approx((-3.0, -9.0), rel=0.01)
    decades = np.log10(fast).mean() - np.log10(slow).mean()
    assert decades == pytest.approx(1.25 if terms else 0.0, abs=0.04)


# --- robots of base parameters ------------------------------------------------------------------------------------------------


def test_moments_of_links_as_parameters():
    """Of links in their own frames: inertia about an axis is the sum of Euler's other two moments."""
    robot = appell.load("puma560")
    T = to_parameters(robot.tree)
    own = np.concatenate([moments(link.inertia) for link in robot.tree.links])
    assert_close(T @ own, robot.parameters[:60], tolerance=1e-12)
    blocks = [T[10 * i : 10 * i + 10, 10 * j : 10 * j + 10] for i in range(6) for j in range(6) if i != j]
    assert not np.any(blocks)
    assert np.linalg.matrix_rank(T) == 60


def test_moments_that_lumping_removes_come_last():
    """γz, Jzz and m of the order m, γx, γy, γz, Jxx, Jxy, Jxz, Jyy, Jyz, Jzz."""
    order = _preferred_moments(2)
    assert order == [4, 1, 2, 5, 6, 8, 7, 14, 11, 12, 15, 16, 18, 17, 3, 9, 0, 13, 19, 10]


def test_numbers_of_base_robots():
    """The planar arm has three per link of which the two centres of mass across the links are zero; the PUMA 17 of 36."""
    assert base_robot(appell.load("planar2r")).numbers == 4
    puma = base_robot(appell.load("puma560"))
    assert puma.numbers == 17
    table = puma.table()
    assert [row[0] for row in table.rows] == ["inverse_dynamics", "forward_dynamics", "mass_matrix", "bias", "gravity"]
    counts = puma.operations("gravity")
    assert table.rows[-1][-1] == f"{counts.mul} / {counts.add}"
