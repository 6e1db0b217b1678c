"""The contact solver: its law, its answers on problems of real robots, and on problems with known solutions."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from helpers.shared_data import shared

from appell.errors import ArgumentError
from appell.simulation.contact import solver
from appell.simulation.contact.solver import ContactBlocks, contact_residual, solve_contacts


@pytest.fixture(scope="module")
def problems():
    data = np.load(shared("data/contact/contact_problems.npz"))
    return {name[:-2]: (data[name], data[f"{name[:-2]}_c"]) for name in data.files if name.endswith("_G")}


def require_law(G, c, mu, p, tolerance):
    """Coulomb's law of points in space, written out."""
    w = (G @ p + c).reshape(-1, 3)
    p = p.reshape(-1, 3)
    g = np.mean(np.diag(G))
    assert (p[:, 2] >= 0.0).all()
    assert (w[:, 2] >= -tolerance).all()
    assert (np.minimum(g * p[:, 2], w[:, 2]) <= tolerance).all()
    room = mu * p[:, 2] - np.linalg.norm(p[:, :2], axis=1)
    speed = np.linalg.norm(w[:, :2], axis=1)
    assert (room >= -1e-12 * (1.0 + p[:, 2])).all()
    active = p[:, 2] > tolerance / g
    assert (np.minimum(g * room, speed)[active] <= 2.0 * tolerance).all()
    slides = active & (speed > 1e3 * tolerance)
    opposite = np.sum(p[:, :2] * w[:, :2], axis=1) + mu * p[:, 2] * speed
    assert (opposite[slides] <= 1e3 * tolerance * (mu * p[:, 2])[slides]).all()


def test_355_problems_of_robots_are_solved_without_a_start(problems):
    assert len(problems) == 355
    for name, (G, c) in problems.items():
        solution = solve_contacts(G, c, 0.6)
        assert solution.converged, name
        assert solution.residual <= 1e-9, name
        require_law(G, c, 0.6, solution.impulses, 1e-9)
        assert np.allclose(solution.velocities, G @ solution.impulses + c, rtol=0.0, atol=1e-13), name
        assert solution.iterations <= 60, name


def test_soles_on_more_points_than_can_carry_load():
    """Feet of a humanoid, flat on 7 points each, whose normal velocities without impulses fit no motion of a rigid body."""
    data = np.load(Path(__file__).with_name("redundant_soles.npz"))
    for k in range(3):
        L, c = data[f"{k}_L"], data[f"{k}_c"]
        solution = solve_contacts(L @ L.T, c, 0.6)
        assert solution.converged, (k, solution.residual)
        require_law(L @ L.T, c, 0.6, solution.impulses, 1e-9)
        assert np.count_nonzero(solution.impulses[2::3]) < len(c) // 3


def test_soles_with_a_start_near_the_solution_need_few_iterations():
    """Steps of a lying humanoid: before, 3400 iterations for all until the contacts that carry were found, now 160."""
    data = np.load(Path(__file__).with_name("loaded_soles.npz"))
    iterations = 0
    for k in range(4):
        L, c = data[f"{k}_L"], data[f"{k}_c"]
        solution = solve_contacts(L @ L.T, c, 0.6, start=data[f"{k}_start"])
        assert solution.converged, (k, solution.residual)
        require_law(L @ L.T, c, 0.6, solution.impulses, 1e-9)
        iterations += solution.iterations
    assert iterations < 700


def test_a_residual_that_will_do_ends_the_search(problems):
    """Rounding does not allow 1e-18 m/s."""
    for G, c in list(problems.values())[::40]:
        exact = solve_contacts(G, c, 0.6, tolerance=1e-18)
        near = solve_contacts(G, c, 0.6, tolerance=1e-18, acceptable=1e-12)
        assert not exact.converged
        assert near.converged
        assert near.residual <= 1e-12
        assert near.iterations < 100 < exact.iterations


def test_a_solution_is_its_own_start(problems):
    for G, c in list(problems.values())[::40]:
        first = solve_contacts(G, c, 0.6)
        again = solve_contacts(G, c, 0.6, start=first.impulses)
        assert again.iterations == 0
        assert np.array_equal(again.impulses, first.impulses)


def test_a_mirrored_problem_has_the_mirrored_solution(problems):
    for name, (G, c) in list(problems.items())[::10]:
        mirror = np.tile([1.0, -1.0, 1.0], len(c) // 3)
        a, b = solve_contacts(G, c, 0.6), solve_contacts(mirror[:, None] * G * mirror, mirror * c, 0.6)
        assert np.allclose(mirror * b.velocities, a.velocities, rtol=0.0, atol=1e-8), name


def test_the_numpy_twin_finds_the_same_velocities(problems, monkeypatch):
    easy = [item for item in list(problems.values())[::30] if len(item[1]) <= 9]
    compiled = [solve_contacts(G, c, 0.6) for G, c in easy]
    monkeypatch.setattr(solver._native, "solve_contacts", None)
    for (G, c), reference in zip(easy, compiled, strict=True):
        twin = solve_contacts(G, c, 0.6, tolerance=1e-8)
        assert twin.converged
        assert np.allclose(twin.velocities, reference.velocities, rtol=0.0, atol=1e-6)


def table(mass=4.0, half=0.5, height=0.7):
    """Delassus matrix and Jacobian of the four feet of a table, a rigid body with inertia about its centre."""
    feet = np.array([[x, y, -height] for x in (-half, half) for y in (-half, half)])
    J = np.concatenate([np.hstack([np.eye(3), -_skew(foot)]) for foot in feet])
    return J @ np.diag(1.0 / np.array([mass, mass, mass, 0.3, 0.3, 0.5])) @ J.T, J


def _skew(r):
    return np.array([[0.0, -r[2], r[1]], [r[2], 0.0, -r[0]], [-r[1], r[0], 0.0]])


@pytest.mark.parametrize("seed", [18, 81])
def test_a_body_that_creeps_on_14_points(seed):
    """Redundant contacts at the edge of their cones, some without load: the law to 1e-9 m/s, in few iterations."""
    rng, count = np.random.default_rng(seed), 14
    points = np.column_stack([rng.uniform(-1.0, 1.0, (count, 2)), np.full(count, -0.1)])
    J = np.concatenate([np.hstack([np.eye(3), -_skew(point)]) for point in points])
    G = J @ np.diag(1.0 / np.array([1.0, 1.0, 1.0, 0.2, 0.3, 0.4])) @ J.T
    velocity = 1e-5 * np.array([*rng.normal(size=2), 0.0, 0.0, 0.0, 3.0 * rng.normal()])
    w, p = (J @ velocity).reshape(-1, 3), np.zeros((count, 3))
    p[:, 2] = rng.uniform(0.0, 1.0, count) * (rng.uniform(size=count) < 0.8)
    p[:, :2] = -0.6 * p[:, 2:] * w[:, :2] / np.linalg.norm(w[:, :2], axis=1, keepdims=True)
    c = w.ravel() - G @ p.ravel()
    solution = solve_contacts(G, c, 0.6)
    assert solution.converged
    assert solution.iterations < 170
    require_law(G, c, 0.6, solution.impulses, 1e-9)


@pytest.mark.parametrize("mu", [0.0, 0.5])
def test_a_table_stands_on_four_equal_feet(mu):
    G, J = table()
    solution = solve_contacts(G, J @ [0.0, 0.0, -0.1, 0.0, 0.0, 0.0], mu)
    assert solution.converged
    expected = np.tile([0.0, 0.0, 0.1], 4)
    assert np.abs(solution.impulses - expected).max() < 1e-7
    assert np.abs(solution.velocities).max() < 1e-10


def test_a_pushed_table_slides_with_equal_friction():
    G, J = table()
    solution = solve_contacts(G, J @ [3.0, 0.0, -0.1, 0.0, 0.0, 0.0], 0.2)
    p = solution.impulses.reshape(-1, 3)
    assert np.allclose(p[:, 0], -0.2 * p[:, 2], rtol=0.0, atol=1e-9)
    assert np.allclose(p[:, 1], 0.0, rtol=0.0, atol=1e-8)
    assert np.isclose(p[:, 2].sum(), 0.4, rtol=0.0, atol=1e-9)
    assert np.allclose(p[:2], p[0], rtol=0.0, atol=1e-7)
    assert np.allclose(p[2:], p[2], rtol=0.0, atol=1e-7)


def test_each_kind_of_block_in_one_problem():
    """Unit masses: a sticking, a sliding, an open point, a limit, two boxes, a planar point and a bilateral scalar."""
    blocks = (
        ContactBlocks.points([0.5, 0.5, 0.5])
        + ContactBlocks.unilateral(2)
        + ContactBlocks.bounded([1.0, 1.0, 1.0])
        + ContactBlocks.points([0.5], tangents=1)
        + ContactBlocks.bilateral(1)
    )
    c = [0.1, 0.2, -1.0, 3.0, 4.0, -1.0, 1.0, 1.0, 0.5, -2.0, 2.0, 0.5, -3.0, 3.0, -2.0, -1.0, -7.0]
    solution = solve_contacts(np.eye(17), c, blocks)
    expected = [-0.1, -0.2, 1.0, -0.3, -0.4, 1.0, 0.0, 0.0, 0.0, 2.0, 0.0, -0.5, 1.0, -1.0, 0.5, 1.0, 7.0]
    assert np.allclose(solution.impulses, expected, rtol=0.0, atol=1e-9)
    assert contact_residual(solution.impulses, solution.velocities, np.eye(17), blocks) == pytest.approx(
        solution.residual, abs=1e-15
    )


def test_rows_that_nothing_moves_do_not_matter():
    G = np.diag([1.0, 1.0, 1.0, 0.0, 0.0, 0.0])
    solution = solve_contacts(G, [0.0, 0.0, -1.0, 0.0, 0.0, 0.0], 0.5)
    assert solution.converged
    assert np.allclose(solution.impulses[:3], [0.0, 0.0, 1.0], rtol=0.0, atol=1e-9)


def test_a_problem_without_solution_ends_unconverged():
    solution = solve_contacts(
        np.diag([1.0, 1.0, 1.0, 0.0]), [0.0, 0.0, -1.0, -0.5], ContactBlocks.points([0.5]) + ContactBlocks.unilateral(1)
    )
    assert not solution.converged
    assert solution.residual > 0.1
    assert np.isfinite(solution.impulses).all()


def test_empty_problem():
    solution = solve_contacts(np.zeros((0, 0)), np.zeros(0), ContactBlocks.unilateral(0))
    assert solution.converged
    assert solution.impulses.shape == (0,)


@pytest.mark.parametrize(
    ("G", "c", "blocks", "text"),
    [
        (np.eye(3), [0.0, np.nan, 0.0], 0.5, r"c\[1\] is nan"),
        (np.eye(2), np.zeros(3), 0.5, r"G has shape \(2, 2\), expected \(3, 3\)"),
        (np.eye(3) + np.eye(3, k=1), np.zeros(3), 0.5, "G is not symmetric"),
        (np.diag([1.0, 1.0, -2.0]), np.zeros(3), 0.5, r"G\[2, 2\] is -2, expected a positive semidefinite"),
        (np.eye(3), np.zeros(3), [-0.5], "expected numbers >= 0"),
    ],
)
def test_wrong_arguments(G, c, blocks, text):
    with pytest.raises(ArgumentError, match=text):
        solve_contacts(G, c, blocks)


INDEFINITE = """
import numpy as np
from appell.simulation.contact.solver import ContactBlocks, solve_contacts
for G in (-np.eye(6), np.diag([1.0, 1.0, -1.0] * 2)):
    found = solve_contacts(G, np.array([0.0, 0.0, -1.0] * 2), ContactBlocks.points([0.6, 0.6]), check=False)
    assert not found.converged and np.isfinite(found.impulses).all(), found
"""


def test_matrices_without_factors_end_unconverged():
    """ADMM read pivots that a failed factorization had not set: a segmentation fault."""
    subprocess.run([sys.executable, "-c", INDEFINITE], check=True, env={**os.environ, "MALLOC_PERTURB_": "85"})


POISONED = """
import numpy as np
from appell.simulation.contact.solver import solve_contacts
rng, found = np.random.default_rng(0), []
for k in range(100):
    m = int(rng.integers(1, 6))
    J = rng.standard_normal((3 * m, 6))
    G = J @ J.T if k % 2 else np.diag(rng.uniform(0.5, 2.0, 3 * m))
    found.append(solve_contacts(G, rng.standard_normal(3 * m), 0.5).impulses)
print(np.concatenate(found).tobytes().hex())
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the C library fills memory")
def test_solutions_do_not_depend_on_the_contents_of_new_memory():
    """Contacts that sweeps alone solve had states of their last use."""
    found = [
        subprocess.run(
            [sys.executable, "-c", POISONED], env={**os.environ, "MALLOC_PERTURB_": fill},
            capture_output=True, text=True, check=True,
        ).stdout
        for fill in ("85", "255")
    ]  # fmt: skip
    assert found[0] == found[1] != ""
