"""Shafei and Shafei 2018, equation by equation: where the links of a tree are, and its equations of motion.

The tree of the paper is planar, so that every equation is checked on a tree in space too.
"""

from __future__ import annotations

import numpy as np
import pytest
from helpers.closeness import assert_close, differs
from helpers.paper_tree import ROBOTS, Case, T, array, case, column, imaginary, motions, on_the_way, places
from helpers.shared_data import reference

import appell
from appell.algorithms.branches import BranchInertia
from appell.model.tree import BASE

TOLERANCE = 1e-12
on_both = pytest.mark.parametrize("name", ROBOTS)


# --- section 2: where the links are -------------------------------------------------------------------------------------


@on_both
def test_eq_1_a_transformation_is_a_rotation_and_a_position(name: str) -> None:
    c = case(name)
    found = c.T
    base = np.array([*c.tree.base]).reshape(3, 3)
    for i, link in enumerate(c.links):
        frame = c.tree.frames[link.body]
        pose = c.robot.pose(c.q, link.body)
        R = base @ found[i, :3, :3] @ np.array([*frame.R]).reshape(3, 3)
        assert_close(R, pose[:3, :3], tolerance=TOLERANCE, scale=1.0)
        assert_close(base @ found[i, :3, 3], pose[:3, 3], tolerance=TOLERANCE, scale=1.0)
        assert_close(found[i, 3], [0.0, 0.0, 0.0, 1.0])


@on_both
def test_eq_3_transformations_follow_each_other(name: str) -> None:
    c = case(name)
    found = c.T
    for i, (link, place) in enumerate(zip(c.links, places(c), strict=True)):
        before = np.eye(4) if link.parent == BASE else found[link.parent]
        assert_close(before @ array(place.step).real, found[i], tolerance=TOLERANCE)


def test_eqs_4_and_5_joints_turn_about_x3_and_links_reach_along_x1() -> None:
    c = case("paper")
    for i, link in enumerate(c.links[2:], start=2):
        step = array(places(c)[i].step).real
        angle = c.q[column(c, i)]
        if link.name != "q1":
            turn = [[np.cos(angle), -np.sin(angle), 0.0], [np.sin(angle), np.cos(angle), 0.0], [0.0, 0.0, 1.0]]
            assert_close(step[:3, :3], turn, tolerance=TOLERANCE)
            assert_close(step[:3, 3], [1.0, 0.0, 0.0])


@on_both
def test_eqs_2_and_6_points_of_links(name: str) -> None:
    """T r is where a point is and T̈ r how it accelerates: J q̈ + J̇ q̇."""
    c = case(name)
    base = np.array([*c.tree.base]).reshape(3, 3)
    body = c.robot.body_names[-1]
    frame = c.tree.frames[body]
    motion, r = motions(c)[frame.link], np.array([*frame.p, 1.0])
    assert_close(base @ (array(motion.T).real @ r)[:3], c.robot.pose(c.q, body)[:3, 3], tolerance=TOLERANCE)
    J, Jd = c.robot.jacobian(c.q, body), c.robot.jacobian_rate(c.q, c.qd, body)
    expected = (J @ c.qdd + Jd @ c.qd)[:3]
    assert_close(base @ (array(motion.Tdd).real @ r)[:3], expected, tolerance=TOLERANCE)


@on_both
def test_eqs_7_and_8_rates_of_transformations(name: str) -> None:
    """Ȧ = U_1 q̇ and Ä = U_2 q̇² + U_1 q̈, through T: printed are derivatives in q̇ and q̈, meant those in q."""
    c = case(name)
    Td = imaginary(lambda q: T(c, q), c.q, c.qd)
    found = np.array([array(motion.Td).real for motion in motions(c)])
    assert_close(found, Td, tolerance=TOLERANCE)
    state = np.concatenate([c.q, c.qd])

    def rate(x: np.ndarray) -> np.ndarray:
        return np.array([array(motion.Td) for motion in motions(c, x[: len(c.q)], x[len(c.q) :])])

    Tdd = imaginary(rate, state, np.concatenate([c.qd, c.qdd]))
    assert_close(np.array([array(motion.Tdd).real for motion in motions(c)]), Tdd, tolerance=TOLERANCE)


@on_both
def test_eq_9_the_way_along_a_link_is_constant(name: str) -> None:
    """Of a revolute joint, the position in the link before does not depend on its angle."""
    c = case(name)
    other = places(c, c.q + 0.7)
    for link, here, there in zip(c.links, places(c), other, strict=True):
        if link.kind.name in ("revolute", "continuous"):
            np.testing.assert_array_equal(array(here.step)[:3, 3], array(there.step)[:3, 3])


def test_eqs_10_to_12_the_base_slides() -> None:
    """E_0 holds X1 and X2, its derivatives U_3 are unit translations, and Ë_0 = Σ U_3 Ẍ."""
    c = case("paper")
    base = np.array([*c.tree.base]).reshape(3, 3)
    X1, X2 = (c.robot.joint_names.index(name) for name in ("X1", "X2"))
    assert_close(base @ c.T[1, :3, 3], [c.q[X1], c.q[X2], 0.0], tolerance=TOLERANCE)
    for j, direction in ((0, [1.0, 0.0, 0.0]), (1, [0.0, 1.0, 0.0])):
        U3 = c.dT[j]
        assert_close(base @ U3[:3, 3], direction, tolerance=TOLERANCE)
        assert_close(U3[:3, :3], np.zeros((3, 3)), scale=1.0)
    still = motions(c)[1]
    assert_close(base @ array(still.Tdd).real[:3, 3], [c.qdd[X1], c.qdd[X2], 0.0], tolerance=TOLERANCE)


# --- section 3: Gibbs function, potential energy, equations of motion -----------------------------------------------------


def gibbs(c: Case, qdd, gyroscopic: bool = True):
    """S of (14), with the term that (13) lacks."""
    total = 0.0
    for (B1, B2, _), motion in zip(c.masses, motions(c, qdd=qdd), strict=True):
        Tdd = array(motion.Tdd)
        omega, omegad = np.array([*motion.omega]), np.array([*motion.omegad])
        total = total + np.trace(Tdd @ B1 @ Tdd.T) + 0.5 * omegad @ B2 @ omegad
        if gyroscopic:
            total = total + omegad @ np.cross(omega, B2 @ omega)
    return total


@on_both
def test_eqs_13_and_14_gibbs_function(name: str) -> None:
    """What depends on q̈ is what the other form of the Gibbs function has; in print the gyroscopic term is missing."""
    c = case(name)
    robot = c.without_gravity()
    expected = robot.gibbs_function(c.q, c.qd, c.qdd) - robot.gibbs_function(c.q, c.qd, 0 * c.qdd)
    found = (gibbs(c, c.qdd) - gibbs(c, 0 * c.qdd)).real
    assert_close(found, expected, tolerance=TOLERANCE)
    printed = (gibbs(c, c.qdd, gyroscopic=False) - gibbs(c, 0 * c.qdd, gyroscopic=False)).real
    if name == "paper":
        assert_close(printed, expected, tolerance=TOLERANCE)
    else:
        assert differs(printed, expected)


def test_eqs_15_and_16_masses_of_the_papers_rods() -> None:
    """B_1 = ½ ∫ μ r r^T dη of a uniform rod of 1 m and 1 kg, B_2 the inertia of its cross-sections in table 2."""
    for link in case("paper").links[2:]:
        B1, B2, _ = BranchInertia.of(link)
        expected = 0.5 * np.array([[1 / 3, 0, 0, 1 / 2], [0, 0, 0, 0], [0, 0, 0, 0], [1 / 2, 0, 0, 1]])
        assert_close(array(B1).real, expected, tolerance=TOLERANCE)
        assert_close([*B2], [5.89e-5, 0, 0, 2.94e-5, 0, 2.94e-5], tolerance=1e-15, scale=1.0)


def test_eqs_15_and_16_masses_of_any_body() -> None:
    """B_1 and B_2 together have mass, first moment and inertia of the body: -½ tr and complement of 2 B_1, plus B_2."""
    for link in case("space").links:
        B1, B2, _ = BranchInertia.of(link)
        second = 2 * array(B1).real
        assert_close(second[3, 3], np.float64(link.inertia.mass))
        assert_close(second[:3, 3], [*link.inertia.gamma])
        rod = np.trace(second[:3, :3]) * np.eye(3) - second[:3, :3]
        expected = np.array([*link.inertia.at_origin.full()]).reshape(3, 3)
        assert_close(rod + np.array([*B2.full()]).reshape(3, 3), expected, tolerance=TOLERANCE)


@on_both
def test_eqs_17_and_18_forces_are_slopes_of_the_gibbs_function(name: str) -> None:
    c = case(name)
    slope = [imaginary(lambda x: gibbs(c, x), c.qdd, unit) for unit in np.eye(c.robot.nv)]
    expected = c.robot.inverse_dynamics(c.q, c.qd, c.qdd, gravity=(0, 0, 0), method="shafei2018")
    assert_close(np.array(slope), expected, tolerance=TOLERANCE)


def potential(c: Case, q) -> np.ndarray:
    """V of (19)."""
    return -sum(c.g @ T(c, q)[i] @ moment for i, (_, _, moment) in enumerate(c.masses))


@on_both
def test_eqs_19_and_20_potential_energy(name: str) -> None:
    c = case(name)
    assert_close(potential(c, c.q), c.robot.potential_energy(c.q), tolerance=TOLERANCE)
    for link, (_, _, moment) in zip(c.links, c.masses, strict=True):
        assert_close(moment, [*link.inertia.gamma, link.inertia.mass])


@on_both
def test_eqs_21_and_22_gravity(name: str) -> None:
    """∂V/∂q by exact differentiation, and as the sum of -g^T ∂T_i/∂q_j c_i."""
    c = case(name)
    slope = np.array([imaginary(lambda q: potential(c, q), c.q, unit) for unit in np.eye(c.robot.nv)])
    assert_close(
        slope, c.robot.bias(c.q, 0 * c.qd, method="shafei2018"), tolerance=TOLERANCE, scale=np.abs(slope).max()
    )
    total = np.zeros(c.robot.nv)
    for j in range(len(c.links)):
        for i in range(len(c.links)):
            if on_the_way(c, j, i):
                total[column(c, j)] -= c.g @ c.dT[j] @ c.between(j, i) @ c.masses[i][2]
    assert_close(total, slope, tolerance=TOLERANCE)


@on_both
def test_eqs_23_and_24_equations_of_motion(name: str) -> None:
    c = case(name)
    inertia = np.array([imaginary(lambda x: gibbs(c, x), c.qdd, unit) for unit in np.eye(c.robot.nv)])
    gravity = np.array([imaginary(lambda q: potential(c, q), c.q, unit) for unit in np.eye(c.robot.nv)])
    found = c.robot.inverse_dynamics(c.q, c.qd, c.qdd, method="shafei2018")
    assert_close(found, inertia + gravity, tolerance=TOLERANCE)
    assert_close(found, c.robot.inverse_dynamics(c.q, c.qd, c.qdd), tolerance=TOLERANCE)


@on_both
def test_eq_25_forward_form(name: str) -> None:
    """I q̈ = R with R = τ - bias."""
    c = case(name)
    tau = c.robot.inverse_dynamics(c.q, c.qd, c.qdd, method="shafei2018")
    right = tau - c.robot.bias(c.q, c.qd, method="shafei2018")
    assert_close(c.robot.mass_matrix(c.q, method="shafei2018") @ c.qdd, right, tolerance=TOLERANCE)


@pytest.mark.parametrize("method", ["shafei2018", "hollerbach"])
def test_reference_states_of_the_papers_tree(method: str) -> None:
    robot = appell.load("shafei_tree")
    for state in reference("tree_states")["states"]:
        q, qd, qdd = (np.array(state[key]) for key in ("theta", "thetad", "thetadd"))
        assert_close(robot.mass_matrix(q, method=method), np.array(state["M"]), tolerance=TOLERANCE)
        scale = float(np.abs(state["bias"]).max())
        assert_close(robot.bias(q, qd, method=method), np.array(state["bias"]), tolerance=TOLERANCE, scale=scale)
        tau = robot.inverse_dynamics(q, qd, qdd, method=method)
        assert_close(tau, np.array(state["tau"]), tolerance=TOLERANCE)


@pytest.mark.parametrize(
    ("n", "counts"),
    [
        (4, {"mata2002": (440, 385), "shafei2018": (1473, 1119), "hollerbach": (1113, 878)}),
        (8, {"mata2002": (1414, 1223), "shafei2018": (4341, 3269), "hollerbach": (3261, 2540)}),
    ],
)
def test_cost_beside_table_1(n: int, counts: dict) -> None:
    """Operations of bias and inertia matrix, as docs/theory/shafei2018.md has them."""
    robot = appell.robots.random_chain(n, seed=1)
    for method, expected in counts.items():
        second = "gibbs_hessian" if method == "mata2002" else method
        parts = [appell.count_operations(robot, *each) for each in (("bias", method), ("mass_matrix", second))]
        assert (sum(part.mul for part in parts), sum(part.add for part in parts)) == expected
