"""Trees, closed loops and spherical robots have the same members."""

from __future__ import annotations

import numpy as np
import pytest

import appell


@pytest.mark.parametrize("name", ["puma560", "four_bar", "stewart", "agile_wrist"])
def test_every_robot_has_the_members_of_the_protocol(name):
    robot = appell.load(name)
    rng = np.random.default_rng(0)
    q = robot.random_configurations(3, rng)
    qd = rng.normal(size=(3, robot.nv))
    assert q.shape == (3, robot.nq)
    assert robot.random_configuration(1).shape == robot.neutral_configuration().shape == (robot.nq,)
    assert (len(robot.q_names), len(robot.qd_names)) == (robot.nq, robot.nv)
    assert robot.passive_forces(q, qd).shape == (3, robot.nv)
    assert robot.center_of_mass(q).shape == (3, 3)
    tau = robot.inverse_dynamics(q, qd, qd)
    assert tau.shape == (3, len(robot.actuator_names))
    assert robot.spanning_tree.spanning_tree is robot.spanning_tree
    assert (robot.spanning_tree is robot) == (not robot.closure_names)
    model = robot.simulation_model()
    assert (model.q_names, model.qd_names, model.actuator_names) == (
        robot.q_names,
        robot.qd_names,
        robot.actuator_names,
    )


def test_passive_forces_of_a_tree_need_no_configuration():
    robot = appell.robots.random_chain(3, seed=1)
    qd = [1.0, -2.0, 0.5]
    assert np.array_equal(robot.passive_forces(qd), robot.passive_forces([0.0] * 3, qd))
    assert np.array_equal(robot.passive_forces(qd), robot.passive_forces(qd=qd))
