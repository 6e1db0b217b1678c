"""Functions of closed loops for contact and run-time inputs, against those of the tree along the same motion."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from helpers.closeness import assert_close
from helpers.loop_robots import built_in, states

from appell.algorithms.function_spec import FunctionSpec
from appell.algorithms.link_motion import PER_LINK
from appell.closed_loop import contact, singularity, system
from appell.closed_loop.contact import LoopContactSystem
from appell.closed_loop.singularity import Singularity, require_nonsingular
from appell.errors import LoopClosureError
from appell.model.joint_friction import Spring


@pytest.fixture(scope="module")
def sample():
    """A five-bar with springs and damping, one state, and the velocities of its tree."""
    robot = built_in("five_bar")
    q, u, _ = (each[0] for each in states(robot, 1))
    v, vd = robot.joint_velocities(q, u), robot.joint_accelerations(q, u, np.zeros(2))
    return robot, q, u, v, vd, robot.joint_velocity_jacobian(q)


def of_contact(robot, springs=(), damping=None) -> LoopContactSystem:
    return LoopContactSystem(
        robot.system, springs, tuple(damping if damping is not None else [0.0] * robot.spanning_tree.nv)
    )


def test_the_motion_of_links_is_that_of_the_tree(sample):
    """Accelerations by differences along the motion; unit twists are those of the tree times G."""
    robot, q, u, v, vd, G = sample
    tree, own = robot.spanning_tree, of_contact(robot)
    found = np.array(contact.link_motion(own, q.tolist(), u.tolist()), dtype=float)
    links = own.tree.links
    n = len(links)
    assert len(found) == own.sizes["m"] == PER_LINK * n + 6 * n * 2 + 4 * tree.nv

    def twist(t: float, body: str) -> np.ndarray:
        at = tree.integrate(q, v * t + vd * t * t / 2)
        return tree.jacobian(at, body, "LOCAL_WORLD_ALIGNED") @ (v + vd * t)

    h = 1e-4
    for i, link in enumerate(links):
        R, p, omega, velocity, alpha, a = np.split(found[PER_LINK * i : PER_LINK * (i + 1)], [9, 12, 15, 18, 21])
        pose, rate = tree.pose(q, link.body), (twist(h, link.body) - twist(-h, link.body)) / (2 * h)
        assert_close(R.reshape(3, 3), pose[:3, :3], tolerance=1e-12)
        assert_close(p, pose[:3, 3], tolerance=1e-12, scale=1.0)
        assert_close(np.concatenate([velocity, omega]), twist(0.0, link.body), tolerance=1e-12, scale=1.0)
        assert_close(np.concatenate([a, alpha]), rate, tolerance=1e-6, scale=1.0)
        units = found[PER_LINK * n :][12 * i : 12 * (i + 1)].reshape(2, 2, 3)
        expected = (tree.jacobian(q, link.body, "LOCAL_WORLD_ALIGNED") @ G).T
        assert_close(units[:, [1, 0]].reshape(2, 6), expected, tolerance=1e-12, scale=1.0)
    assert_close(found[PER_LINK * n + 12 * n :], np.concatenate([v, vd, G.ravel()]), tolerance=1e-12)


def test_a_step_of_the_dependent_joints_closes_the_loops(sample):
    robot, q, *_ = sample
    moved = q + 1e-3 * np.arange(1.0, robot.nq + 1.0)
    step = np.array(contact.closure_step(of_contact(robot), moved.tolist()))
    own = robot.functions["closure_residual", None]
    assert (step[list(robot.system.independent)] == 0.0).all()
    K = robot.closure_jacobian(moved, check=False)
    before = own((moved,), check=False)
    dependent = list(robot.system.dependent)
    assert_close(step[dependent], -np.linalg.lstsq(K[:, dependent], before, rcond=None)[0], tolerance=1e-9)
    assert np.abs(own((moved + step,), check=False)).max() < 1e-2 * np.abs(before).max()


def test_damping_and_springs_act_through_the_velocities_of_all_joints(sample):
    robot, q, u, _, _, G = sample
    n = robot.spanning_tree.nv
    damping = np.arange(1.0, n + 1.0)
    found = np.array(contact.damping_matrix(of_contact(robot, damping=damping), q.tolist()), dtype=float)
    assert_close(found, G.T @ np.diag(damping) @ G, tolerance=1e-12)
    spring = Spring(1, 1, 30.0, 0.4)
    sprung = of_contact(robot, (spring,))
    forces = np.zeros(n)
    forces[1] = spring.force(q)
    assert forces[1] == pytest.approx(-30.0 * (q[1] + 0.4))
    bias = np.array(contact.bias(sprung, q.tolist(), u.tolist()), dtype=float)
    assert_close(bias, robot.bias(q, u) - G.T @ forces, tolerance=1e-12)
    energy = float(contact.potential_energy(sprung, q.tolist()))
    assert energy == pytest.approx(float(robot.potential_energy(q)) + 15.0 * (q[1] + 0.4) ** 2)
    assert sprung.sizes == {"q": robot.nq, "qd": 2, "v": 2, "n": n, "m": of_contact(robot).sizes["m"]}
    assert all(each.uses_gravity == (each.name in ("bias", "potential_energy")) for each in sprung.quantities.values())


def test_mass_is_lumped_unless_parameters_are_inputs():
    own = built_in("five_bar").system
    assert own.with_inputs(FunctionSpec("mass_matrix"), {}, True).lump
    parameters = built_in("five_bar").parameters.tolist()
    given = FunctionSpec("mass_matrix", parameter_input=True)
    assert not own.with_inputs(given, {"parameters": parameters}, True).lump
    assert own.lumped is not own.tree
    assert replace(own, lump=False).lumped is own.tree


def test_main_functions_of_robots_with_few_actuators():
    own = built_in("five_bar").system
    few = replace(own, actuated=own.actuated[:1])
    assert set(own.main) - set(few.main) == {"inverse_dynamics"}
    assert set(own.main) >= {"generalized_forces", "actuator_jacobian", "joint_velocities", "closure_residual"}


@pytest.mark.parametrize(("least", "moves"), [(1.1e-12, True), (0.9e-12, False)])
def test_a_mass_matrix_is_positive_above_rounding(least, moves, monkeypatch):
    monkeypatch.setattr(system.dynamics, "mass_matrix", lambda system, q: np.diag([4.0, 2.0, 4.0 * least]))
    assert system._moves_inertia(built_in("five_bar").system, [0.0]) == moves


def test_shapes_of_the_functions_of_a_mechanism(sample):
    robot, q, u, *_ = sample
    n, p = robot.spanning_tree.nv, len(robot.parameters)
    tau = np.ones(len(robot.actuator_names))
    expected = {
        "inverse_dynamics_derivatives": (2, 6), "forward_dynamics_derivatives": (2, 6), "regressor": (2, p),
        "generalized_regressor": (2, p), "mass_matrix": (2, 2), "coriolis_matrix": (2, 2), "center_of_mass": (3,),
        "actuator_jacobian": (2, 2), "joint_velocity_jacobian": (n, 2), "closure_jacobian": (robot.system.rows, n),
    }  # fmt: skip
    system = robot.system
    assert {name: system.signature(FunctionSpec(name)).shape for name in expected} == expected
    assert system.signature(FunctionSpec("pose", frame=robot.body_names[-1])).shape == (4, 4)
    assert system.signature(FunctionSpec("jacobian", frame=robot.body_names[-1])).shape == (6, 2)
    assert system.signature(FunctionSpec("constraint_forces")).shape == (len(system.loops), 6)
    assert set(robot.constraint_forces(q, u, tau)) == {loop.name for loop in system.loops}


def test_open_configurations_of_a_batch_are_named_by_their_index(sample):
    robot, q, *_ = sample
    open_ = q + 0.1
    for states_, index in ((open_[None], ()), (np.stack([q, open_]), (1,)), (np.stack([q, q, open_]), (2,))):
        with pytest.raises(LoopClosureError, match="does not close the loops") as caught:
            require_nonsingular(robot.system, "mass_matrix", states_)
        assert caught.value.index == index


def test_singular_configurations_of_a_batch_are_named_by_their_index(sample, monkeypatch):
    robot, q, *_ = sample
    for count in (1, 2):
        seen = iter([None] * (count - 1) + [Singularity("singular speeds", "elbow", 1e-9)])
        monkeypatch.setattr(singularity, "singularity_at", lambda *_, seen=seen: next(seen))
        with pytest.raises(LoopClosureError, match="elbow can still move") as caught:
            require_nonsingular(robot.system, "mass_matrix", np.stack([q] * count))
        assert caught.value.index == (() if count == 1 else (1,))
        assert ("of state 1" in str(caught.value)) == (count == 2)


def test_velocities_are_named_by_their_joints():
    """With an index where a joint has several, also as links of one name in another order; followers have none."""
    links = [
        SimpleNamespace(name=name, idx_v=first, kind=SimpleNamespace(nv=nv), is_independent=own)
        for name, first, nv, own in (
            ("a", 0, 1, True),
            ("follower", 0, 1, False),
            ("ball", 1, 3, True),
            ("u", 5, 1, True),
            ("u", 4, 1, True),
        )
    ]
    own: Any = SimpleNamespace(tree=SimpleNamespace(links=[links[1], *links]))
    names = [singularity._name(own, k) for k in range(6)]
    assert names == ["a", "ball[0]", "ball[1]", "ball[2]", "u[0]", "u[1]"]
    assert singularity.rank(1e-8 * np.eye(3)) == 3
