"""Shafei and Shafei 2018, equation by equation: accelerations, inertia matrix and right-hand side, from the branches."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.closeness import assert_close, differs
from helpers.paper_tree import ROBOTS, T, array, case, column, imaginary, motions, on_the_way, places

from appell.algorithms.branches import branches
from appell.algorithms.mass_matrix.shafei2018 import branch_inertia, composite_moments
from appell.model.body import Body
from appell.model.tree import BASE
from appell.robot.robot import Robot

TOLERANCE = 1e-12
on_both = pytest.mark.parametrize("name", ROBOTS)


# --- section 3.1: what accelerations are made of --------------------------------------------------------------------------


@on_both
def test_eqs_27_and_29_the_part_of_accelerations(name: str) -> None:
    """T̈_s,i = Σ_k T̂_k-1 U_1k ^kT~_i q̈_k is what q̈ adds to T̈_v,i."""
    c = case(name)
    everything, velocity = motions(c), motions(c, qdd=0 * c.qdd)
    for i in range(len(c.links)):
        part = sum(c.dT[k] @ c.between(k, i) * c.qdd[column(c, k)] for k in c.tree.ancestors(i))
        found = array(everything[i].Tdd).real - array(velocity[i].Tdd).real
        assert_close(found, part, tolerance=TOLERANCE, scale=10.0)


@on_both
def test_eqs_26_and_30_the_part_of_speeds(name: str) -> None:
    """T̈_v,i of the recursion is the double sum of (30).

    Its three terms are the derivatives of the three factors of T̂_k-1 U_1k ^kT~_i, split as in (26), along the motion.
    """
    c = case(name)
    velocity = motions(c, qdd=0 * c.qdd)
    for i in range(len(c.links)):
        total = np.zeros((4, 4))
        for k in c.tree.ancestors(i):

            def partial(q: np.ndarray, k: int = k, i: int = i) -> np.ndarray:
                found = places(c, q)
                relative = np.linalg.solve(array(found[k].T), array(found[i].T))
                return array(found[k].dT[0]) @ relative

            total += imaginary(partial, c.q, c.qd) * c.qd[column(c, k)]
        assert_close(array(velocity[i].Tdd).real, total, tolerance=TOLERANCE, scale=10.0)


@on_both
def test_eqs_28_31_and_32_angular_accelerations(name: str) -> None:
    """ω̇_s,i = Σ ^iR_k x_k,3 q̈_k, ω̇_v,i = Σ ^iR_k ω_k x ^iR_k+1 x_k+1,3 q̇_k+1, over the joints that turn."""
    c = case(name)
    found = motions(c)
    for i in range(len(c.links)):
        expected = np.zeros(3)
        for k in c.tree.ancestors(i):
            expected += c.axis(k, i) * c.qdd[column(c, k)]
            parent = c.links[k].parent
            if parent != BASE:
                carried = c.between(parent, i)[:3, :3].T @ np.array([*found[parent].omega])
                expected += np.cross(carried, c.axis(k, i) * c.qd[column(c, k)])
        assert_close(np.array([*found[i].omegad]), expected, tolerance=TOLERANCE, scale=10.0)


@on_both
def test_eqs_33_and_34_partial_derivatives_of_transformations(name: str) -> None:
    """∂T_i/∂q_j = ∂T̈_i/∂q̈_j = T̂_j-1 U_1j ^jT~_i (T_0 U_3j ^0T_i for X_j), zero if j does not carry i."""
    c = case(name)
    for j in range(len(c.links)):
        unit = np.eye(c.robot.nv)[column(c, j)]
        slopes = imaginary(lambda q: T(c, q), c.q, unit)
        again = imaginary(lambda x: np.array([array(m.Tdd) for m in motions(c, qdd=x)]), c.qdd, unit)
        for i in range(len(c.links)):
            carried = on_the_way(c, j, i)
            expected = c.dT[j] @ c.between(j, i) if carried else np.zeros((4, 4))
            assert_close(slopes[i], expected, tolerance=TOLERANCE, scale=1.0)
            assert_close(again[i], expected, tolerance=TOLERANCE, scale=1.0)


@on_both
def test_eq_35_partial_derivatives_of_angular_accelerations(name: str) -> None:
    c = case(name)
    for j in range(len(c.links)):
        unit = np.eye(c.robot.nv)[column(c, j)]
        slopes = imaginary(lambda x: np.array([[complex(y) for y in m.omegad] for m in motions(c, qdd=x)]), c.qdd, unit)
        for i in range(len(c.links)):
            expected = c.axis(j, i) if on_the_way(c, j, i) else np.zeros(3)
            assert_close(slopes[i], expected, tolerance=TOLERANCE, scale=1.0)


# --- section 3.1.1: inertia matrix of a branch --------------------------------------------------------------------------


@on_both
def test_eqs_36_to_40_composite_moments(name: str) -> None:
    """The recursions of step 6 are the sums. (37), (39) and (40) are (36) with a sliding joint for j or k."""
    c = case(name)
    for branch in branches(c.tree):
        F, Pi = composite_moments(branch, [places(c)[member.i] for member in branch])
        for (j, k), found in F.items():
            F_sum, Pi_sum = np.zeros((4, 4)), np.zeros((3, 3))
            for member in branch[k:]:
                B1, B2, _ = c.masses[member.i]
                to_j, to_k = c.between(branch[j].i, member.i), c.between(branch[k].i, member.i)
                F_sum += member.has_mass * to_j @ B1 @ to_k.T
                Pi_sum += member.has_mass * to_j[:3, :3] @ B2 @ to_k[:3, :3].T
            assert_close(array(found).real, F_sum, tolerance=TOLERANCE, scale=10.0)
            assert_close(np.array([*Pi[j, k]]).reshape(3, 3), Pi_sum, tolerance=TOLERANCE, scale=1.0)


@on_both
def test_I_and_II_elements_of_the_inertia_matrix(name: str) -> None:
    """2 Tr{∂T_i/∂q_j B_1i ∂T_i/∂q_k^T} + ∂ω̇_i/∂q̈_j · B_2i ∂ω̇_i/∂q̈_k, summed over links, is M; (II) are its sliding rows."""
    c = case(name)
    M = np.zeros((c.robot.nv, c.robot.nv))
    for i, (B1, B2, _) in enumerate(c.masses):
        for j in c.tree.ancestors(i):
            for k in c.tree.ancestors(i):
                first, second = (c.dT[n] @ c.between(n, i) for n in (j, k))
                turns = [c.axis(n, i) for n in (j, k)]
                M[column(c, j), column(c, k)] += 2 * np.trace(first @ B1 @ second.T) + turns[0] @ B2 @ turns[1]
    assert_close(c.robot.mass_matrix(c.q, method="shafei2018"), M, tolerance=TOLERANCE)
    assert_close(c.robot.mass_matrix(c.q), M, tolerance=TOLERANCE)


# --- section 3.1.2: right-hand side ---------------------------------------------------------------------------------------


@on_both
def test_eqs_41_and_42_right_hand_side(name: str) -> None:
    """R for τ = 0 as the printed sums over links, with the gyroscopic term that they lack; it is -bias."""
    c = case(name)
    right, printed = np.zeros(c.robot.nv), np.zeros(c.robot.nv)
    velocity = motions(c, qdd=0 * c.qdd)
    for i, (B1, B2, moment) in enumerate(c.masses):
        omega, omegad = np.array([*velocity[i].omega]), np.array([*velocity[i].omegad])
        for j in c.tree.ancestors(i):
            partial = c.dT[j] @ c.between(j, i)
            turn = c.axis(j, i)
            inertia = 2 * np.trace(partial @ B1 @ array(velocity[i].Tdd).real.T) + turn @ B2 @ omegad
            printed[column(c, j)] += c.g @ partial @ moment - inertia
            right[column(c, j)] -= turn @ np.cross(omega, B2 @ omega)
    right += printed
    expected = -c.robot.bias(c.q, c.qd)
    assert_close(right, expected, tolerance=TOLERANCE)
    assert_close(-c.robot.bias(c.q, c.qd, method="shafei2018"), right, tolerance=TOLERANCE)
    assert name == "paper" or differs(printed, expected)


# --- section 3.1.3: the whole from its branches ---------------------------------------------------------------------------


def test_branches_of_the_papers_tree() -> None:
    """Section 3.1.3: four branches; a link that an earlier branch has is massless."""
    found = [[(member.link.name, member.has_mass) for member in branch[2:]] for branch in branches(case("paper").tree)]
    real = {"q1": 0, "q2": 0, "q3": 0, "q4": 0, "q5": 1, "q6": 1, "q7": 1, "q8": 2, "q9": 3, "q10": 3}
    paths = ["q1 q2 q3 q4", "q1 q2 q5 q6 q7", "q1 q2 q5 q8", "q1 q2 q5 q9 q10"]
    assert found == [[(name, real[name] == m) for name in path.split()] for m, path in enumerate(paths)]


@on_both
def test_every_link_has_its_mass_in_one_branch(name: str) -> None:
    c = case(name)
    real = [member.i for branch in branches(c.tree) for member in branch if member.has_mass]
    assert sorted(real) == list(range(len(c.links)))


def test_figure_5_inertia_matrices_of_the_branches() -> None:
    """Each branch alone is the robot whose other links have no mass, and has entries for its own joints only."""
    c = case("paper")
    for branch in branches(c.tree):
        real = {member.link.body for member in branch if member.has_mass}
        bodies = tuple(body if body.name in real else Body(body.name) for body in c.robot.bodies)
        own = Robot("branch", bodies, c.robot.joints).parameters
        alone = c.robot.mass_matrix(c.q, method="composite", parameters=own)
        M = np.zeros_like(alone)
        for (j, _, k, _), value in branch_inertia(branch, [places(c)[member.i] for member in branch]):
            M[column(c, j), column(c, k)] = M[column(c, k), column(c, j)] = value
        assert_close(M, alone, tolerance=TOLERANCE)
