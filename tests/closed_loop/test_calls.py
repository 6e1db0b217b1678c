"""Every way to call a robot with closed loops: batches, precision, layouts, options, copies, simulation."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest
from helpers.closeness import assert_close
from helpers.loop_robots import built_in, states

import appell


@pytest.fixture(scope="module")
def five_bar():
    return built_in("five_bar")


def test_batches_are_what_single_states_are(five_bar):
    dyn = appell.compile(five_bar, threads=2)
    q, qd, qdd = states(five_bar, 37)
    batch = dyn.inverse_dynamics(q, qd, qdd)
    assert_close(batch[5], dyn.inverse_dynamics(q[5], qd[5], qdd[5]), tolerance=1e-12, scale=np.abs(batch).max())
    assert_close(batch, five_bar.inverse_dynamics(q, qd, qdd), tolerance=1e-12, scale=np.abs(batch).max())
    shaped = dyn.inverse_dynamics(q[:36].reshape(4, 9, -1), qd[0], qdd[:36].reshape(4, 9, -1))
    assert shaped.shape == (4, 9, 2)
    out = np.empty((37, 2))
    assert dyn.forward_dynamics(q, qd, batch, out=out) is out
    assert_close(out, qdd, tolerance=1e-10, scale=np.abs(qdd).max())


def test_columns_and_float32(five_bar):
    q, qd, qdd = states(five_bar, 16)
    expected = five_bar.inverse_dynamics(q, qd, qdd)
    columns = appell.compile(five_bar, layout="columns")
    assert_close(columns.inverse_dynamics(q.T, qd.T, qdd.T), expected.T, tolerance=1e-12, scale=np.abs(expected).max())
    single = appell.compile(five_bar, dtype="float32").inverse_dynamics(q, qd, qdd)
    assert single.dtype == np.float32
    assert np.abs(single - expected).max() < 1e-4 * np.abs(expected).max()


def test_gravity_external_forces_and_parameters(five_bar):
    q, qd, qdd = (array[0] for array in states(five_bar, 1))
    other = five_bar.with_gravity((1.0, 2.0, 3.0))
    assert_close(five_bar.bias(q, qd, gravity=(1.0, 2.0, 3.0)), other.bias(q, qd), tolerance=1e-12)
    wrench = np.array([1.0, 2.0, 0.0, 0.0, 0.0, 0.5])
    pushed = five_bar.generalized_forces(q, qd, qdd, external_forces={"tip": wrench})
    expected = five_bar.generalized_forces(q, qd, qdd) - five_bar.jacobian(q, "tip", "LOCAL").T @ wrench
    assert_close(pushed, expected, tolerance=1e-12, scale=np.abs(expected).max())
    heavier = five_bar.inverse_dynamics(q, qd, qdd, parameters=2.0 * five_bar.parameters)
    assert_close(heavier, 2.0 * five_bar.inverse_dynamics(q, qd, qdd), tolerance=1e-12, scale=np.abs(heavier).max())


def test_wrong_arguments_are_told(five_bar):
    q, qd, qdd = (array[0] for array in states(five_bar, 1))
    with pytest.raises(appell.ArgumentError, match=r"tau has shape \(3,\), expected \(..., 2\)"):
        five_bar.forward_dynamics(q, qd, [1.0, 2.0, 3.0])
    with pytest.raises(appell.ArgumentError, match=r"q\[0\] is nan"):
        five_bar.inverse_dynamics(q * np.nan, qd, qdd)
    with pytest.raises(appell.ArgumentError, match=r"unknown frame 'hand'"):
        five_bar.pose(q, "hand")


def test_copies_answer_alike(five_bar):
    q, qd, qdd = (array[0] for array in states(five_bar, 1))
    copy = pickle.loads(pickle.dumps(five_bar))
    assert copy == five_bar
    assert_close(copy.inverse_dynamics(q, qd, qdd), five_bar.inverse_dynamics(q, qd, qdd), tolerance=1e-13)
    dyn = pickle.loads(pickle.dumps(appell.compile(five_bar)))
    assert repr(dyn) == "CompiledRobot('five_bar', nq=4, nv=2)"


def test_operations_are_counted(five_bar):
    counts = appell.count_operations(five_bar, "inverse_dynamics", compiled=True)
    assert 0 < counts.mul < 1500


def test_a_turning_linkage_stays_closed_for_ten_seconds():
    """Ten seconds of a free four-bar, with its energy: nothing drives it, nothing brakes it."""
    robot = built_in("four_bar")
    motion = appell.simulate(robot, robot.reference_configuration, [6.0], 10.0, t_eval=0.02)
    assert motion.status == "finished"
    assert robot.closure_error(motion.q).max() < 1e-9
    assert np.ptp(motion.energy) < 1e-6 * np.abs(motion.energy).max()
    assert np.ptp(motion.q[:, 0]) > 2 * np.pi


def test_a_driven_robot_stays_closed_and_balances_its_energy(five_bar):
    rest = np.array(five_bar.reference_configuration)
    hold = five_bar.inverse_dynamics(rest, [0.0, 0.0], [0.0, 0.0])

    def springs(t, q, qd):
        return hold - 0.5 * (q[[0, 2]] - rest[[0, 2]])

    motion = appell.simulate(five_bar, rest, [1.0, -1.0], 2.0, tau=springs, t_eval=0.01)
    assert five_bar.closure_error(motion.q).max() < 1e-9
    assert np.ptp(motion.energy - motion.work.actuators) < 1e-8


@pytest.mark.parametrize(
    ("rtol", "message"),
    [
        (1e-8, "singular speeds: with left_motor, right_motor held"),
        (1e-5, "has passed a singular configuration in one step"),
    ],
)
def test_a_simulation_that_meets_a_singularity_names_it(five_bar, rtol, message):
    """Small steps stop before the stretched arms, large ones are noticed behind them."""
    with pytest.raises(appell.SimulationError, match=message):
        appell.simulate(
            five_bar, five_bar.reference_configuration, [0.0, 0.0], 5.0, method=appell.Integration(rtol=rtol)
        )


def test_damping_of_passive_joints_takes_what_the_energy_loses():
    """Every joint of a linkage is damped; what they take is counted, and friction of a passive joint is refused by name."""
    robot = built_in("four_bar")

    def with_losses(**losses):
        joints = tuple(
            replace(joint, **losses) if joint.kind != "fixed" else joint for joint in robot.spanning_tree.joints
        )
        return replace(robot, spanning_tree=replace(robot.spanning_tree, joints=joints))

    damped = with_losses(damping=0.05)
    q, qd, _ = (array[0] for array in states(robot, 1))
    v = robot.joint_velocities(q, qd)
    assert_close(qd @ damped.simulation_model().damping_forces(q, qd), np.float64(-0.05 * v @ v), tolerance=1e-12)
    motion = appell.simulate(damped, damped.reference_configuration, [4.0], 1.0, t_eval=0.02)
    assert np.ptp(motion.energy) > 0.05
    assert np.ptp(motion.energy - motion.work.passive) < 1e-7
    with pytest.raises(
        appell.ModelError, match="joint coupler has Coulomb friction but its velocity is not independent"
    ):
        appell.simulate(with_losses(friction=0.1), robot.reference_configuration, [4.0], 1.0)


def test_cuda_threads_compute_the_same(five_bar, tmp_path):
    """The CUDA text as ordinary C++; open loops are not finite there, too."""
    from helpers.cuda_as_cpp import compiler, run

    from appell.algorithms.function_spec import FunctionSpec
    from appell.compiler.lowering import lower_function
    from appell.compiler.targets.cuda.source import BLOCK, kernel_source

    if compiler() is None:
        pytest.skip("no C++ compiler")
    inputs = [each.copy() for each in states(five_bar, 9)]
    expected = five_bar.inverse_dynamics(*inputs)
    inputs[0][4, 0] += 0.1
    source = kernel_source(lower_function(five_bar.system, FunctionSpec("inverse_dynamics")), "float64", "test")
    result = run(source, tmp_path, "float64", BLOCK, inputs, 2)
    assert not np.isfinite(result[4]).any()
    rest = np.delete(np.arange(9), 4)
    assert_close(result[rest], expected[rest], tolerance=1e-12, scale=np.abs(expected).max())


def test_exported_c_computes_the_same(five_bar, tmp_path):
    from helpers.exported_c import C99, compiled, run, write_main

    appell.export(five_bar, ["inverse_dynamics", "forward_dynamics"], tmp_path)
    assert "forces of actuators (2): left_motor, right_motor" in (tmp_path / "five_bar.h").read_text()
    functions = write_main(tmp_path, "five_bar", "double")
    program = compiled((*C99, "-O1"), tmp_path, "five_bar.c", "main.c")
    q, qd, qdd = states(five_bar, 5)
    torques = five_bar.inverse_dynamics(q, qd, qdd)
    found = run(program, functions, [[q, qd, qdd], [q, qd, torques]], "float64")
    assert_close(found[0], torques, tolerance=1e-12, scale=np.abs(torques).max())
    assert_close(found[1], qdd, tolerance=1e-9, scale=np.abs(qdd).max())


@pytest.mark.slow
@pytest.mark.parametrize("name", ["five_bar", "planar_3rrr", "delta", "stewart"])
def test_parallel_robots_on_springs_stay_closed_for_ten_seconds(name):
    robot = built_in(name)
    rest = np.array(robot.reference_configuration)
    hold = robot.inverse_dynamics(rest, np.zeros(robot.nv), np.zeros(robot.nv))
    J = robot.actuator_jacobian(rest)
    stiffness = 400.0 * np.diag(np.linalg.inv(J @ np.linalg.inv(robot.mass_matrix(rest)) @ J.T))
    driven = [robot.spanning_tree.first_coordinates[joint][0] for joint in robot.actuated]

    def springs(t, q, qd):
        return hold - stiffness * (q[driven] - rest[driven])

    motion = appell.simulate(robot, rest, np.full(robot.nv, 0.2), 10.0, tau=springs, t_eval=0.01)
    assert motion.status == "finished"
    assert robot.closure_error(motion.q).max() < 1e-9
    assert np.ptp(motion.energy - motion.work.actuators) < 1e-6 * np.ptp(motion.energy)


@pytest.mark.parametrize("name", ["jacobian_derivatives:coupler", "centroidal_momentum"])
def test_functions_of_trees_only_are_named(five_bar, name):
    with pytest.raises(appell.ArgumentError, match=rf"{name.partition(':')[0]} is of trees only.*robot\.spanning_tree"):
        appell.jvp(five_bar, name, [five_bar.initial_state[0]], [None])
