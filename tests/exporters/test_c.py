"""Exported C compiled as strictly as compilers can, run under sanitizers, and compared with the library."""

from __future__ import annotations

import re
import subprocess
from dataclasses import replace

import numpy as np
import pytest
from helpers.closeness import assert_close
from helpers.exported_c import C99, NAMES, SANITIZED, WARNINGS, compiled, run, write_main
from helpers.joint_trees import mixed_tree, tree_of
from helpers.random_trees import general_tree
from helpers.shared_data import shared
from helpers.states import random_states

import appell
from appell.algorithms.function_spec import FunctionSpec
from appell.compiler.rolled import programs

INPUTS = {
    "inverse_dynamics": 3, "forward_dynamics": 3, "mass_matrix": 1, "bias": 2, "gravity": 1, "coriolis_matrix": 2,
    "kinetic_energy": 2, "potential_energy": 1, "gibbs_function": 3, "center_of_mass": 1,
}  # fmt: skip
"""How many of q, qd and qdd (or tau) each function takes."""

TOLERANCE = {"float64": 2e-14, "float32": 1e-5}


def compare(
    robot, folder, selection, arguments, expected, dtype="float64", command=SANITIZED, sources=("arm.c", "main.c")
):
    """Export, compile, run, and compare with the expected results."""
    appell.export(robot, selection, folder, dtype=dtype, prefix="arm")
    functions = write_main(folder, "arm", NAMES[dtype])
    results = run(compiled(command, folder, *sources), functions, arguments, dtype)
    for (name, _, _), result, right in zip(functions, results, expected, strict=True):
        right = np.asarray(right).reshape(result.shape).astype(dtype)
        loss = 20.0 if "forward" in name else 1.0  # a system of equations is solved
        assert_close(result, right, tolerance=TOLERANCE[dtype] * loss, what=name)


def states(robot, dtype="float64"):
    return [array.astype(dtype).astype(float) for array in random_states(robot, 5, seed=11)]


ROBOTS = [appell.load("puma560"), general_tree(7, 21), appell.robots.random_chain(1, seed=3, kinds=("prismatic",))]


@pytest.mark.parametrize("dtype", NAMES)
@pytest.mark.parametrize("robot", ROBOTS, ids=lambda robot: robot.name)
def test_every_function_gives_the_numbers_of_the_library(robot, dtype, tmp_path):
    given = states(robot, dtype)
    arguments = [given[:count] for count in INPUTS.values()]
    expected = [getattr(robot, name)(*given[:count]) for name, count in INPUTS.items()]
    compare(robot, tmp_path, list(INPUTS), arguments, expected, dtype)


def test_angles_whose_terms_are_used_elsewhere(tmp_path):
    """A helical joint that follows another one: its angle is an argument of a sine and a displacement."""
    robot = mixed_tree(5, 4)
    q, frame = states(robot)[0], robot.body_names[-1]
    selection = [f"{name}:{frame}" for name in ("jacobian", "jacobian_derivatives")]
    expected = [robot.jacobian(q, frame), robot.jacobian_derivatives(q, frame)]
    compare(robot, tmp_path, selection, [[q]] * 2, expected)


def test_frames_methods_forces_and_gravity_as_arguments(tmp_path):
    robot = general_tree(7, 21)
    q, qd, qdd = states(robot)
    frame = robot.body_names[-1]
    rng = np.random.default_rng(1)
    wrenches, gravity = rng.normal(size=(5, 6)), rng.normal(size=(5, 3))
    forced = FunctionSpec("inverse_dynamics", gravity_input=True, force_frames=(frame,))
    selection = [
        f"pose:{frame}", f"jacobian:{frame}", f"jacobian:{frame}:LOCAL", f"jacobian_rate:{frame}:WORLD",
        "inverse_dynamics@newton_euler", forced,
    ]  # fmt: skip
    expected = [
        robot.pose(q, frame),
        robot.jacobian(q, frame),
        robot.jacobian(q, frame, "LOCAL"),
        robot.jacobian_rate(q, qd, frame, "WORLD"),
        robot.inverse_dynamics(q, qd, qdd),
        robot.inverse_dynamics(q, qd, qdd, gravity=gravity, external_forces={frame: wrenches}),
    ]
    arguments = [[q], [q], [q], [q, qd], [q, qd, qdd], [q, qd, qdd, gravity, wrenches]]
    compare(robot, tmp_path, selection, arguments, expected)


def test_long_functions_in_parts(tmp_path):
    """The Coriolis matrix of a long robot has more statements than a function should have."""
    robot = appell.robots.random_chain(8, seed=5)
    q, qd, _ = states(robot, "float32")
    compare(robot, tmp_path, ["coriolis_matrix"], [[q, qd]], [robot.coriolis_matrix(q, qd)], "float32")
    assert "_part1(" in (tmp_path / "arm.c").read_text()


LOOPS = ("inverse_dynamics", "forward_dynamics", "mass_matrix")
LONG = [
    (appell.robots.random_chain(40, seed=6), LOOPS),
    (appell.robots.random_tree(44, seed=7, kinds=("revolute", "prismatic")), LOOPS),
    (general_tree(60, 8, ("revolute", "continuous", "prismatic")), LOOPS[:1]),  # with joints that follow others
]


@pytest.mark.parametrize("dtype", NAMES)
@pytest.mark.parametrize(("robot", "functions"), LONG, ids=[robot.name for robot, _ in LONG])
def test_long_robots_in_loops(robot, functions, dtype, tmp_path):
    given = states(robot, dtype)
    arguments = [given[: INPUTS[name]] for name in functions]
    expected = [getattr(robot, name)(*values) for name, values in zip(functions, arguments, strict=True)]
    compare(robot, tmp_path, list(functions), arguments, expected, dtype)
    assert (tmp_path / "arm.h").read_text().count("loops over the joints") == len(functions)


def test_matrices_in_loops(tmp_path):
    """For derivatives, the equations of motion are solved in a loop as well: pivots by fours, and the last two alone."""
    robot = appell.robots.random_chain(26, seed=3)
    functions = ["forward_dynamics_derivatives", "coriolis_matrix", "regressor"]
    q, qd, tau = given = states(robot, "float64")[:3]
    dyn = appell.compile(robot)
    by_q, by_qd, M = dyn.inverse_dynamics_derivatives(q, qd, dyn.forward_dynamics(q, qd, tau))
    inverse = np.linalg.inv(M)
    expected = np.concatenate([-inverse @ by_q, -inverse @ by_qd, inverse], axis=-1)
    others = [dyn.coriolis_matrix(q, qd), dyn.regressor(q, qd, tau)]
    compare(robot, tmp_path, functions, [given, given[:2], given], [expected, *others], "float64")
    assert (tmp_path / "arm.h").read_text().count("loops over the joints") == len(functions)


def test_gravity_and_external_forces_in_loops(tmp_path):
    robot, rng = appell.robots.random_chain(40, seed=3), np.random.default_rng(1)
    given, gravity, wrenches = states(robot), rng.normal(size=(5, 3)), rng.normal(size=(5, 6))
    expected = robot.inverse_dynamics(*given, gravity=gravity, external_forces={"link9": wrenches})
    forced = FunctionSpec("inverse_dynamics", gravity_input=True, force_frames=("link9",))
    compare(robot, tmp_path, [forced], [[*given, gravity, wrenches]], [expected])
    assert "loops over the joints" in (tmp_path / "arm.h").read_text()


def test_arrays_of_three_indices_in_loops(tmp_path, monkeypatch):
    """Second derivatives, with joints of two degrees of freedom, and derivatives of a Jacobian."""
    robot = tree_of("universal")
    q, qd, qdd = given = states(robot)
    frame = robot.body_names[-1]
    expected = [
        np.concatenate(robot.inverse_dynamics_second_derivatives(q, qd, qdd), axis=-1),
        robot.jacobian_derivatives(q, frame),
    ]
    for key in (("inverse_dynamics_second_derivatives", "analytic"), ("jacobian_derivatives", "recursive")):
        monkeypatch.setitem(programs.PROGRAMS, key, programs.PROGRAMS[key]._replace(smallest=0))
    robot = replace(robot)  # without what is known of its functions
    functions = ["inverse_dynamics_second_derivatives", f"jacobian_derivatives:{frame}"]
    compare(robot, tmp_path, functions, [given, [q]], expected)
    assert (tmp_path / "arm.h").read_text().count("loops over the joints") == 2


@pytest.mark.parametrize(
    ("command", "sources"),
    [
        ((*C99, "-O3", "-DNDEBUG"), ("arm.c", "main.c")),
        (("g++", "-x", "c++", *WARNINGS), ("arm.c", "main.c")),
        ((*C99, "-O2", "-march=native", "-ffp-contract=fast"), ("arm.c", "main.c")),
    ],
    ids=("release", "c++", "native"),
)
@pytest.mark.parametrize("joints", [7, 40])
def test_other_compilers_and_options(command, sources, joints, tmp_path):
    robot = appell.robots.random_chain(joints, seed=9)
    given = states(robot)
    expected = [robot.inverse_dynamics(*given), robot.mass_matrix(given[0])]
    compare(
        robot, tmp_path, ["inverse_dynamics", "mass_matrix"], [given, given[:1]], expected, "float64", command, sources
    )


def test_a_c_object_links_to_cpp(tmp_path):
    """The header declares C functions also where C++ includes it."""
    robot = appell.load("planar2r")
    appell.export(robot, "gravity", tmp_path)
    compiled((*C99, "-c"), tmp_path, "planar2r.c", name="planar2r.o")
    (tmp_path / "main.cpp").write_text(
        '#include "planar2r.h"\n'
        "int main() { double q[2] = {0, 0}, g[2]; planar2r_gravity(q, g); return g[0] > 0 ? 0 : 1; }\n"
    )
    program = compiled(("g++", *WARNINGS), tmp_path, "main.cpp", "planar2r.o")
    assert subprocess.run([program]).returncode == 0


@pytest.mark.parametrize("joints", [6, 40])
def test_a_result_may_be_written_over_an_argument(joints, tmp_path):
    robot = appell.robots.random_chain(joints, seed=2)
    q, qd, tau = states(robot)
    appell.export(robot, "forward_dynamics", tmp_path, prefix="arm")
    functions = write_main(tmp_path, "arm", "double")
    text = (tmp_path / "main.c").read_text()
    assert "(in[0], in[1], in[2], out);" in text
    over = f"(in[0], in[1], in[2], in[2]);\n    for (int j = 0; j < {joints}; j++) out[j] = in[2][j];"
    (tmp_path / "main.c").write_text(text.replace("(in[0], in[1], in[2], out);", over))
    (result,) = run(compiled(SANITIZED, tmp_path, "arm.c", "main.c"), functions, [[q, qd, tau]], "float64")
    assert_close(result, robot.forward_dynamics(q, qd, tau), tolerance=1e-12)


@pytest.mark.parametrize("kind", ["spherical", "planar", "cylindrical", "helical", "universal", "translation"])
def test_every_kind_of_joint(kind, tmp_path):
    robot = appell.robots.random_chain(3, seed=4, kinds=(kind,))
    _, qd, qdd = states(robot)
    q = np.stack([robot.random_configuration(seed) for seed in range(5)])
    expected = [robot.inverse_dynamics(q, qd, qdd), robot.mass_matrix(q)]
    compare(robot, tmp_path, ["inverse_dynamics", "mass_matrix"], [[q, qd, qdd], [q]], expected)


def test_panda(tmp_path):
    robot = appell.load(shared("robots/panda.urdf"))
    given = states(robot)
    expected = [robot.inverse_dynamics(*given), robot.forward_dynamics(*given), robot.pose(given[0], "panda_hand")]
    selection = ["inverse_dynamics", "forward_dynamics", "pose:panda_hand"]
    compare(robot, tmp_path, selection, [given, given, given[:1]], expected)


LEVELS = ("-O0", "-O2", "-Os")


@pytest.mark.parametrize("dtype", NAMES)
@pytest.mark.parametrize(
    ("robot", "functions"),
    [
        (appell.load("puma560"), ("inverse_dynamics", "forward_dynamics", "coriolis_matrix")),
        (general_tree(16, 5), ("forward_dynamics",)),  # in parts
        (appell.robots.random_chain(40, seed=1), ("inverse_dynamics", "gibbs_function", "regressor")),  # in loops
    ],
    ids=["block", "parts", "loops"],
)
def test_stated_stacks_are_bounds(robot, functions, dtype, tmp_path):
    """What gcc reports, of a function with the deepest it calls; without optimization the bound is within a half of it."""
    header, source = appell.export(robot, functions, tmp_path, dtype=dtype, prefix="arm")
    stated = dict(
        zip(functions, map(int, re.findall(r"at most (\d+) bytes of stack", header.read_text())), strict=True)
    )
    for level in LEVELS:
        compiled((*C99[:2], level, "-fstack-usage", "-c"), tmp_path, source.name)
        report = next(tmp_path.glob("*.su")).read_text()
        frames = {name: int(size) for name, size in re.findall(r":(\w+)[.\w]*\t(\d+)\t", report)}
        for name, bound in stated.items():
            own = {frame: size for frame, size in frames.items() if frame.startswith(f"arm_{name}_")}
            body = own.pop(f"arm_{name}_body", 0)
            used = frames[f"arm_{name}"] + body + max(own.values(), default=0)
            assert used <= bound, (level, name)
            assert level != "-O0" or bound < 1.5 * used + 512, (name, used, bound)


def test_parameters_and_external_forces_as_arguments(tmp_path):
    """Without changing names; functions of frames have neither."""
    robot = appell.load("puma560")
    q, qd, qdd = states(robot)
    rng = np.random.default_rng(2)
    wrench, heavier = rng.normal(size=(5, 6)), robot.parameters * rng.uniform(0.9, 1.1, (5, 60))
    functions = ["inverse_dynamics", "mass_matrix", "pose:link6"]
    appell.export(robot, functions, tmp_path, prefix="arm", parameters="runtime", external_forces=["link6"])
    declared = write_main(tmp_path, "arm", "double")
    assert [(name, sizes) for name, sizes, _ in declared] == [
        ("arm_inverse_dynamics", [6, 6, 6, 6, 60]), ("arm_mass_matrix", [6, 60]), ("arm_pose_link6", [6]),
    ]  # fmt: skip
    arguments = [[q, qd, qdd, wrench, heavier], [q, heavier], [q]]
    results = run(compiled(SANITIZED, tmp_path, "arm.c", "main.c"), declared, arguments, "float64")
    forces = {"link6": wrench}
    expected = [robot.inverse_dynamics(q, qd, qdd, external_forces=forces, parameters=heavier),
                robot.mass_matrix(q, parameters=heavier), robot.pose(q, "link6")]  # fmt: skip
    for result, right in zip(results, expected, strict=True):
        assert_close(result, right.reshape(result.shape), tolerance=2e-14)


@pytest.mark.parametrize(
    ("joints", "function", "over"), [(5, "gravity", 0), (5, "inverse_dynamics", 0), (5, "bias", 0), (60, "gravity", 0)]
)
def test_a_result_may_be_written_over_coordinates(joints, function, over, tmp_path):
    """Prismatic coordinates are needed to the end, from the tips to the base: results are stored after all of them are read."""
    robot = appell.robots.random_chain(joints, seed=3, kinds=("revolute", "prismatic"))
    arguments = states(robot)[: INPUTS[function]]
    appell.export(robot, function, tmp_path, prefix="arm")
    functions = write_main(tmp_path, "arm", "double")
    text = (tmp_path / "main.c").read_text()
    names = ", ".join(f"in[{k}]" for k in range(len(arguments)))
    assert f"({names}, out);" in text
    call = f"({names}, in[{over}]);\n    for (int j = 0; j < {joints}; j++) out[j] = in[{over}][j];"
    (tmp_path / "main.c").write_text(text.replace(f"({names}, out);", call))
    (result,) = run(compiled(SANITIZED, tmp_path, "arm.c", "main.c"), functions, [[*arguments]], "float64")
    assert_close(result, getattr(robot, function)(*arguments), tolerance=1e-12)
