"""Mata et al. 2002, sections 3 and 4.2: forward problem and inertia matrix. One test an equation or step.

Section 4.2 is followed step by step with NumPy as the paper states it for revolute joints, corrected where
docs/theory/mata2002.md says so, each step against the meaning of what it computes, the last against the library.
"""

from __future__ import annotations

import numpy as np
import pytest
from helpers.closeness import assert_close, differs
from helpers.exact_derivatives import hessian
from helpers.methods import METHODS
from helpers.paper_chain import PaperChain, Z, chain_along_z, tilde

TOLERANCE = 1e-12


@pytest.fixture(scope="module")
def revolute() -> PaperChain:
    return PaperChain(chain_along_z(5, seed=3), seed=3)


@pytest.fixture(scope="module")
def mixed() -> PaperChain:
    return PaperChain(chain_along_z(6, seed=4, joints="PRRPR"), seed=4)


@pytest.fixture(scope="module", params=["revolute", "mixed"])
def case(request) -> PaperChain:
    return request.getfixturevalue(request.param)


def inertia_matrix(case: PaperChain) -> np.ndarray:
    return case.robot.mass_matrix(case.q)


def test_eq_17_forward_problem(case: PaperChain) -> None:
    """D q̈ = τ - C + G holds with G the generalised force of gravity (its sign), so the bias is C - G, not C + G."""
    robot = case.robot
    G = -robot.gravity(case.q)
    C = robot.bias(case.q, case.qd, gravity=(0.0, 0.0, 0.0))
    assert_close(inertia_matrix(case) @ case.qdd, case.tau - C + G, tolerance=TOLERANCE, scale=np.abs(case.tau).max())
    assert_close(robot.bias(case.q, case.qd), C - G, tolerance=TOLERANCE)
    assert differs(C + G, robot.bias(case.q, case.qd))
    for method in METHODS["forward_dynamics"]:
        qdd = robot.forward_dynamics(case.q, case.qd, case.tau, method=method)
        assert_close(qdd, np.linalg.solve(inertia_matrix(case), case.tau - (C - G)), tolerance=1e-11)


def test_eq_18_slope_of_the_gibbs_function(case: PaperChain) -> None:
    """∂G/∂q̈ = D q̈ + C - G: gravity is in it only because the base accelerates."""
    n = case.robot.nv
    slope = [
        sum(case.gibbs(i, case.qdd + step) - case.gibbs(i, case.qdd - step) for i in case.bodies) / 2
        for step in np.eye(n)
    ]
    assert_close(
        inertia_matrix(case) @ case.qdd + case.robot.bias(case.q, case.qd), np.array(slope), tolerance=TOLERANCE
    )


def test_eq_19_inertia_matrix_is_the_hessian_of_the_gibbs_function(case: PaperChain) -> None:
    D = hessian(case.robot, "gibbs_function", "qdd")(*case.state)[0]
    for method in METHODS["mass_matrix"]:
        assert_close(case.robot.mass_matrix(case.q, method=method), D, tolerance=TOLERANCE)


def test_eq_20_partial_accelerations_do_not_depend_on_accelerations(case: PaperChain) -> None:
    """All second derivatives of ω̇, s̈ and r̈ in q̈ vanish, whatever the joints are."""
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, case.robot.nv))
    still = np.zeros(case.robot.nv)
    runs = [case.motion_of(case.qd, qdd, -case.g) for qdd in (a + b, a, b, still)]
    for both, one, other, none in zip(*runs, strict=True):
        for x, y, z, w in zip(both, one, other, none, strict=True):
            assert_close(x - y - z + w, np.zeros(3), tolerance=TOLERANCE, scale=np.abs(x).max() + 1)


def test_eq_21_inertia_matrix_from_partial_accelerations(case: PaperChain) -> None:
    n = case.robot.nv
    D = np.zeros((n, n))
    partials = [case.partial(k) for k in case.bodies]
    for j in case.bodies:
        for k in case.bodies[: j + 1]:  # j >= k, the rest by symmetry
            for i in case.bodies[j:]:
                first, second = partials[k][i], partials[j][i]
                D[j, k] += case.m[i] * first.rdd @ second.rdd + first.omegad @ case.I[i] @ second.omegad
    D = np.tril(D) + np.tril(D, -1).T
    assert_close(inertia_matrix(case), D, tolerance=TOLERANCE)


def test_eq_22_inertia_matrix_from_angular_partials(revolute: PaperChain) -> None:
    """D_jk = Σ_{i>=j} ∂ω̇_k · (I - m r~_ii r~_ji - m s~_ki r~_ji) ∂ω̇_j; printed with s~_ji as the last factor."""
    n = revolute.robot.nv
    D, printed = np.zeros((n, n)), np.zeros((n, n))
    for j in revolute.bodies:
        for k in revolute.bodies[: j + 1]:
            for i in revolute.bodies[j:]:
                left, right = revolute.R(i, k) @ Z, revolute.R(i, j) @ Z
                m, r_ii, r_ji = revolute.m[i], tilde(revolute.r[i]), tilde(revolute.to_center(j, i))
                s_ki, s_ji = tilde(revolute.s(k, i, i)), tilde(revolute.s(j, i, i))
                common = revolute.I[i] - m * r_ii @ r_ji
                D[j, k] += left @ (common - m * s_ki @ r_ji) @ right
                printed[j, k] += left @ (common - m * s_ki @ s_ji) @ right
    D, printed = (np.tril(A) + np.tril(A, -1).T for A in (D, printed))
    assert_close(inertia_matrix(revolute), D, tolerance=TOLERANCE)
    assert differs(printed, D)


class Steps:
    """The quantities of section 4.2 for revolute joints, bodies counted from 0."""

    def __init__(self, case: PaperChain) -> None:
        n = self.n = case.robot.nv
        self.case = case
        self.M = [0.0] * n
        self.gamma, self.H, self.E = [np.zeros(3)] * n, [np.zeros((3, 3))] * n, [np.zeros((3, 3))] * n
        for i in reversed(range(n)):  # step 1; the loop is printed without i = n
            r = tilde(case.r[i])
            carried, s = (self.M[i + 1], case.places[i + 1][1]) if i + 1 < n else (0.0, np.zeros(3))
            self.M[i] = case.m[i] + carried
            self.gamma[i] = case.m[i] * case.r[i] + carried * s
            self.H[i] = case.I[i] - case.m[i] * r @ r
            self.E[i] = self.H[i] - carried * tilde(s) @ tilde(s)
        self.phi, self.phi_next = [np.zeros(3)] * n, [np.zeros(3)] * n  # ^i φ_i and ^i φ_{i+1}
        self.psi = [np.zeros((3, 3))] * n
        for i in reversed(range(n)):  # steps 4 and 5, with φ_{n+1} = 0
            if i + 1 < n:
                self.phi_next[i] = case.places[i + 1][0] @ self.phi[i + 1]
            self.phi[i] = self.gamma[i] + self.phi_next[i]
        for i in reversed(range(n)):
            self.psi[i] = self.H[i] if i + 1 == n else self.E[i] + self.carried(i, tilde(self.phi_next[i]))

    def carried(self, i: int, phi: np.ndarray) -> np.ndarray:
        """-X - X^T + R ψ R^T with X = s~ φ~: what the next body adds to ψ_i."""
        R, s = self.case.places[i + 1]
        X = tilde(s) @ phi
        return -X - X.T + R @ self.psi[i + 1] @ R.T

    def element(self, j: int, k: int) -> float:
        """D_jk by steps 6 and 7."""
        s = tilde(self.case.s(k, j, j))
        return (self.case.R(j, k) @ Z) @ (self.psi[j] - s @ tilde(self.phi[j])) @ Z


@pytest.fixture(scope="module")
def steps(revolute: PaperChain) -> Steps:
    return Steps(revolute)


def carried_bodies(case: PaperChain, i: int) -> list[tuple[float, np.ndarray, np.ndarray]]:
    """Mass, mass centre from O_i and inertia tensor, in frame i, of each body that joint i carries."""
    return [
        (case.m[k], case.R(i, k) @ case.to_center(i, k), case.R(i, k) @ case.I[k] @ case.R(k, i))
        for k in case.bodies[i:]
    ]


def point(m: float, c: np.ndarray) -> np.ndarray:
    """Inertia tensor of a point mass at c."""
    return m * (c @ c * np.eye(3) - np.outer(c, c))


def test_section_4_2_step_1_composite_mass_and_constants(steps: Steps, revolute: PaperChain) -> None:
    for i in revolute.bodies:
        assert_close(steps.M[i], sum(revolute.m[i:]), tolerance=TOLERANCE)
    for i in revolute.bodies[:-1]:  # E_i is body i with everything that follows as a point at O_{i+1}
        own = revolute.I[i] + point(revolute.m[i], revolute.r[i])
        assert_close(steps.E[i], own + point(steps.M[i + 1], revolute.places[i + 1][1]), tolerance=TOLERANCE)


def test_section_4_2_step_1_is_off_line_for_revolute_joints_only(revolute: PaperChain, mixed: PaperChain) -> None:
    """γ_i and E_i hold s_i,i+1, which moves where joint i+1 is prismatic."""
    for case, moves in ((revolute, False), (mixed, True)):
        elsewhere = PaperChain(case.robot, seed=99)
        pairs = zip(case.places[1:], elsewhere.places[1:], strict=True)
        assert any(not np.array_equal(s, t) for (_, s), (_, t) in pairs) == moves


def test_section_4_2_step_2_vectors_between_origins(revolute: PaperChain) -> None:
    """^j s_i,i+1 turned outwards one frame at a time, then ^j s_i,j = ^j s_i,i+1 + ^j s_i+1,j."""
    n = revolute.robot.nv
    single = {(i, i + 1): revolute.R(i + 1, i) @ revolute.places[i + 1][1] for i in range(n - 1)}  # of (i, frame j)
    for i in range(n - 1):
        for j in range(i + 2, n):
            single[i, j] = revolute.R(j, j - 1) @ single[i, j - 1]
    total = {(j - 1, j): single[j - 1, j] for j in range(1, n)}
    for i in range(n - 3, -1, -1):
        for j in range(n - 1, i + 1, -1):
            total[i, j] = single[i, j] + total[i + 1, j]
    for (i, j), s in total.items():
        assert_close(s, revolute.s(i, j, j), tolerance=TOLERANCE)


def test_section_4_2_step_3_angular_partials(revolute: PaperChain) -> None:
    """∂ω̇_j/∂q̈_i = ^jR_{j-1} ∂ω̇_{j-1}/∂q̈_i; printed with ^iR_{i-1}."""
    for i in revolute.bodies[1:]:
        partial = revolute.partial(i)
        for j in revolute.bodies[i + 2 :]:
            assert_close(revolute.R(j, j - 1) @ partial[j - 1].omegad, partial[j].omegad, tolerance=TOLERANCE)
            assert differs(revolute.R(i, i - 1) @ partial[j - 1].omegad, partial[j].omegad)
        if i + 1 < revolute.robot.nv:
            assert_close(revolute.R(i + 1, i)[:, 2], partial[i + 1].omegad, tolerance=TOLERANCE)


def test_section_4_2_step_4_first_moments(steps: Steps, revolute: PaperChain) -> None:
    for i in revolute.bodies:
        assert_close(steps.phi[i], sum(m * c for m, c, _ in carried_bodies(revolute, i)), tolerance=TOLERANCE)


def test_section_4_2_step_5_composite_inertia_tensors(steps: Steps, revolute: PaperChain) -> None:
    for i in revolute.bodies:
        expected = sum(tensor + point(m, c) for m, c, tensor in carried_bodies(revolute, i))
        assert_close(steps.psi[i], expected, tolerance=TOLERANCE)


def test_section_4_2_step_5_needs_the_tensor_of_phi(steps: Steps) -> None:
    """Printed s~ φ, a vector in a sum of tensors; s~ φ~ is meant. Its diagonal placement, for one, is not it."""
    i = steps.n - 2
    assert (tilde(steps.case.places[i + 1][1]) @ steps.phi_next[i]).shape == (3,)
    assert differs(steps.E[i] + steps.carried(i, np.diag(steps.phi_next[i])), steps.psi[i])


def test_section_4_2_step_6_diagonal(steps: Steps, revolute: PaperChain) -> None:
    expected = [Z @ psi @ Z for psi in steps.psi]
    assert_close(np.diag(inertia_matrix(revolute)), np.array(expected), tolerance=TOLERANCE)


def test_section_4_2_step_7_other_elements(steps: Steps, revolute: PaperChain) -> None:
    n = revolute.robot.nv
    lower = np.array([[steps.element(j, k) if k <= j else 0.0 for k in range(n)] for j in range(n)])
    expected = lower + np.tril(lower, -1).T
    assert_close(inertia_matrix(revolute), expected, tolerance=TOLERANCE)


def test_section_4_2_prismatic_joints(mixed: PaperChain) -> None:
    """What the paper leaves out: F = M z, N = φ x z for a sliding joint j, and z_k · F for a sliding joint k."""
    n = mixed.robot.nv
    D = np.zeros((n, n))
    for j in mixed.bodies:
        bodies = carried_bodies(mixed, j)
        mass, phi = sum(m for m, _, _ in bodies), sum(m * c for m, c, _ in bodies)
        psi = sum(tensor + point(m, c) for m, c, tensor in bodies)
        F, N = (np.cross(Z, phi), psi @ Z) if mixed.revolute[j] else (mass * Z, np.cross(phi, Z))
        for k in mixed.bodies[: j + 1]:
            z = mixed.R(j, k) @ Z
            D[j, k] = D[k, j] = z @ (N + np.cross(mixed.s(k, j, j), F)) if mixed.revolute[k] else z @ F
    assert_close(inertia_matrix(mixed), D, tolerance=TOLERANCE)


def test_section_4_2_as_implemented(case: PaperChain) -> None:
    """M, φ and ψ of the library's composite bodies, each in its own frame: they differ from the paper's by that frame."""
    from appell.algorithms.mass_matrix.composite import composite_bodies

    tree = case.robot.tree
    for i, body in enumerate(composite_bodies(tree, tree.placements(case.q.tolist()))):
        expected = carried_bodies(case, i)
        assert_close(body.mass, sum(m for m, _, _ in expected), tolerance=TOLERANCE)
        R = np.array([*tree.frames[case.robot.bodies[i + 1].name].R]).reshape(3, 3)
        phi = R @ sum(m * c for m, c, _ in expected)
        assert_close(np.array([*body.phi]), phi, tolerance=TOLERANCE)
        psi = sum(tensor + point(m, c) for m, c, tensor in expected)
        assert_close(np.array([*body.psi.full()]).reshape(3, 3), R @ psi @ R.T, tolerance=TOLERANCE)
