"""Compiled robots that are no plain trees as files."""

from __future__ import annotations

import pickle
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from helpers.loop_robots import built_in, states
from helpers.spherical_robots import regular_states, wrist

import appell
from appell.algorithms.function_spec import FunctionSpec
from appell.compiler.archive import container
from appell.loading.compiled import FORMER

FIVE_BAR = built_in("five_bar")


@pytest.fixture(scope="module")
def loop_file(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("archive") / "five_bar.appell"
    functions = [
        "inverse_dynamics",
        "mass_matrix",
        "closure_residual",
        "constraint_forces",
        FunctionSpec("gravity", gravity_input=True),
    ]
    appell.compile(FIVE_BAR).save(path, functions=functions, frames=["tip"])
    return path


def test_a_loaded_robot_with_loops_gives_equal_bits(loop_file):
    dyn, loaded = appell.compile(FIVE_BAR), appell.load_compiled(loop_file)
    q, qd, qdd = states(FIVE_BAR, 5)
    tau = dyn.inverse_dynamics(q, qd, qdd)
    assert np.array_equal(loaded.inverse_dynamics(q, qd, qdd), tau)
    assert np.array_equal(loaded.mass_matrix(q[0]), dyn.mass_matrix(q[0]))
    assert np.array_equal(loaded.jacobian(q, "tip"), dyn.jacobian(q, "tip"))
    assert np.array_equal(loaded.gravity(q, gravity=(0, 1, 2)), dyn.gravity(q, gravity=(0, 1, 2)))
    assert np.array_equal(loaded.closure_error(q), dyn.closure_error(q))
    expected = dyn.constraint_forces(q, qd, tau)
    for name, wrench in loaded.constraint_forces(q, qd, tau).items():
        assert np.array_equal(wrench, expected[name])
    assert np.array_equal(loaded.parameters, FIVE_BAR.parameters)
    assert loaded.actuator_names == FIVE_BAR.actuator_names
    assert np.array_equal(pickle.loads(pickle.dumps(loaded)).mass_matrix(q), dyn.mass_matrix(q))


def test_a_loaded_spherical_robot_gives_equal_bits(tmp_path):
    robot = wrist("plus", (0.003, -0.004, 0.05))
    dyn = appell.compile(robot)
    dyn.save(tmp_path / "wrist.appell")
    loaded = appell.load_compiled(tmp_path / "wrist.appell")
    q, qd, qdd = regular_states(robot, 4)
    assert np.array_equal(loaded.inverse_dynamics(q, qd, qdd), dyn.inverse_dynamics(q, qd, qdd))
    assert np.array_equal(loaded.joint_angles(q), dyn.joint_angles(q))
    status = appell.spherical.singularity(loaded, [q[0], [0.0, 0.0, -1.5]]).status
    assert status.tolist() == ["regular", "unreachable"]
    with pytest.raises(appell.errors.LoopClosureError, match="out of reach"):
        loaded.inverse_dynamics([0.0, 0.0, -1.5], [0.0] * 3, [0.0] * 3)


def test_unit_quaternions_of_passive_joints_are_looked_at(tmp_path):
    robot = built_in("stewart")
    appell.compile(robot).save(tmp_path / "stewart.appell", functions=["closure_residual"])
    loaded = appell.load_compiled(tmp_path / "stewart.appell")
    assert loaded.functions.quaternions == robot.system.quaternions
    assert loaded.closure_error(robot.reference_configuration) < 1e-12


def test_what_cannot_be_saved_or_is_not_held(loop_file, tmp_path):
    with pytest.raises(appell.ArgumentError, match="rollouts are of trees"):
        appell.compile(FIVE_BAR).save(tmp_path / "robot", rollouts=["torque"])
    with pytest.raises(appell.ArgumentError, match="does not hold bias"):
        appell.load_compiled(loop_file).bias(FIVE_BAR.reference_configuration, [0.0, 0.0])
    with pytest.raises(appell.ArgumentError, match=r"Use appell\.simulate"):
        appell.rollout(appell.load_compiled(loop_file), FIVE_BAR.reference_configuration, [0.0, 0.0], steps=1, dt=0.1)
    assert not (tmp_path / "robot").exists()


HARMS = {
    "an unknown kind": lambda robot: robot["system"].__setitem__("kind", "perpetual"),
    "a missing size": lambda robot: robot["system"]["sizes"].pop("tau"),
    "another size": lambda robot: robot["system"]["sizes"].__setitem__("a", 3),
    "a negative size": lambda robot: robot["system"]["sizes"].__setitem__("rows", -1),
    "other speeds": lambda robot: robot["system"]["sizes"].__setitem__("v", 4),
    "other parameters": lambda robot: robot["parameters"].pop(),
    "names that are none": lambda robot: robot["system"].__setitem__("parts", [1, 2]),
    "a plain tree": lambda robot: robot.__setitem__("system", None),
}


def test_files_of_version_0_1_have_other_names(loop_file, tmp_path):
    content = container.read(loop_file)
    former = {new: old for old, new in FORMER.items()}
    sizes = content["robot"]["system"]["sizes"]
    content["robot"]["system"]["sizes"] = {former.get(name, name): size for name, size in sizes.items()}
    for function in content["functions"]:
        function["request"]["function"] = former.get(function["request"]["function"], function["request"]["function"])
    assert "torques" in content["robot"]["system"]["sizes"]
    container.write(tmp_path / "robot", content)
    q, qd, qdd = states(FIVE_BAR, 5)
    loaded = appell.load_compiled(tmp_path / "robot")
    assert np.array_equal(loaded.inverse_dynamics(q, qd, qdd), appell.compile(FIVE_BAR).inverse_dynamics(q, qd, qdd))


@pytest.mark.parametrize("harm", HARMS.values(), ids=HARMS)
def test_a_system_that_makes_no_sense_is_refused(harm, loop_file, tmp_path):
    content = container.read(loop_file)
    harm(content["robot"])
    container.write(tmp_path / "robot", content)
    with pytest.raises(appell.CompileError, match="not written by appell"):
        appell.load_compiled(tmp_path / "robot")


ELSEWHERE = """
import sys
from dataclasses import replace

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("casadi", "lxml", "scipy", "mujoco", "sympy", "matplotlib", "yaml"):
            raise ModuleNotFoundError(f"{name} is not installed here")

sys.meta_path.insert(0, Blocker())
import appell
print(appell.load_compiled(sys.argv[1]).mass_matrix(eval(sys.argv[2])).shape)
"""


def test_where_casadi_is_not_installed(loop_file):
    command = [sys.executable, "-c", ELSEWHERE, str(loop_file), str(list(FIVE_BAR.reference_configuration))]
    told = subprocess.run(command, capture_output=True, text=True)
    assert told.returncode == 0, told.stderr
    assert told.stdout.strip() == "(2, 2)"


def test_columns_beside_a_stored_regressor_take_the_place_of_rotors(tmp_path):
    arm = appell.load("planar2r")
    arm = replace(arm, joints=tuple(replace(joint, rotor_inertia=0.1) for joint in arm.joints))
    state = np.random.default_rng(0).normal(size=(3, 4, 2))
    dyn = appell.compile(arm)
    dyn.save(tmp_path / "arm.appell", functions=["regressor"])
    loaded = appell.load_compiled(tmp_path / "arm.appell")
    assert loaded.rotors == arm.rotors == 2
    for columns in ((), ("viscous",)):
        assert np.array_equal(loaded.regressor(*state, terms=columns), dyn.regressor(*state, terms=columns))


def test_a_file_of_version_0_1_still_loads(tmp_path):
    """Its functions and sizes have former names."""
    robot, path = built_in("five_bar"), tmp_path / "robot"
    appell.compile(robot).save(path, functions=["forward_dynamics", "joint_velocities", "closure_residual"])
    content = container.read(path)
    sizes = content["robot"]["system"]["sizes"]
    sizes["torques"] = sizes.pop("tau")
    former = {"joint_velocities": "joint_speeds", "closure_residual": "residual"}
    for function in content["functions"]:
        function["request"]["function"] = former.get(function["request"]["function"], function["request"]["function"])
    container.write(path, content)
    loaded, q = appell.load_compiled(path), robot.reference_configuration
    assert loaded.closure_error(q) < 1e-12
    np.testing.assert_allclose(
        loaded.joint_velocities(q, [1.0, 2.0]), robot.joint_velocities(q, [1.0, 2.0]), rtol=1e-13
    )
    assert loaded.forward_dynamics(q, [0.0, 0.0], [0.0, 0.0]).shape == (2,)
