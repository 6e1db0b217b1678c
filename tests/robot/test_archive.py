"""Compiled robots as files: the same numbers elsewhere, and no belief in what is foreign or damaged."""

from __future__ import annotations

import json
import os
import pickle
import random
import subprocess
import sys
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

import numpy as np
import pytest
from helpers.closeness import assert_close
from helpers.joint_trees import mixed_tree
from helpers.random_trees import general_tree
from helpers.states import random_states

import appell
from appell.algorithms.function_spec import FunctionSpec
from appell.compiler.archive import container
from appell.compiler.archive.decode import read_lowered
from appell.compiler.archive.encode import lowered_data
from appell.compiler.interpret import InterpretedKernel
from appell.compiler.lowering import LoweredFunction, lower_function
from appell.compiler.rolled.link_parallel import LinkParallel
from appell.compiler.rolled.programs import link_parallel, rolled
from appell.loading.compiled import read_links

INPUTS = {
    "inverse_dynamics": 3, "forward_dynamics": 3, "mass_matrix": 1, "bias": 2, "gravity": 1, "coriolis_matrix": 2,
    "kinetic_energy": 2, "potential_energy": 1, "center_of_mass": 1,
}  # fmt: skip
PUMA = appell.load("puma560")
LONG = appell.robots.random_tree(30, seed=4, kinds=("revolute", "prismatic"))
FREE = mixed_tree(4, 29)
LOOPS = ("inverse_dynamics", "mass_matrix")
SOLVED_FUNCTION = "forward_dynamics_derivatives"
"""A function whose links side by side have accelerations from M."""


@pytest.fixture(scope="module")
def puma_file(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("archive") / "puma.appell"
    appell.compile(PUMA).save(path, frames=["link6"])
    return path


@pytest.fixture(scope="module")
def long_file(tmp_path_factory) -> Path:
    """Functions in rolled form."""
    path = tmp_path_factory.mktemp("archive") / "long.appell"
    appell.compile(LONG).save(path, functions=LOOPS)
    assert {entry["form"]["kind"] for entry in container.read(path)["functions"]} == {"rolled"}
    return path


@pytest.fixture(scope="module")
def free_file(tmp_path_factory) -> Path:
    """A robot with floating, planar and spherical joints, and its rollouts in open loop."""
    path = tmp_path_factory.mktemp("archive") / "free.appell"
    appell.compile(FREE).save(path, functions=["forward_dynamics"], rollouts=["torque"])
    return path


# --- the same robot ---------------------------------------------------------------------------------------------------


def test_a_loaded_robot_gives_equal_bits(puma_file):
    dyn, loaded = appell.compile(PUMA), appell.load_compiled(puma_file)
    state = random_states(PUMA, 9)
    for name, count in INPUTS.items():
        expected = getattr(dyn, name)(*state[:count])
        assert np.array_equal(getattr(loaded, name)(*state[:count]), expected), name
        one = [array[0] for array in state[:count]]
        assert np.array_equal(getattr(loaded, name)(*one), getattr(dyn, name)(*one)), name
    assert np.array_equal(loaded.pose(state.q, "link6"), dyn.pose(state.q, "link6"))
    assert np.array_equal(loaded.jacobian(state.q, "link6"), dyn.jacobian(state.q, "link6"))


def test_rolled_functions_too(long_file):
    dyn, loaded = appell.compile(LONG), appell.load_compiled(long_file)
    state = random_states(LONG, 9)
    for name in LOOPS:
        assert np.array_equal(getattr(loaded, name)(*state[: INPUTS[name]]), getattr(dyn, name)(*state[: INPUTS[name]]))


@pytest.mark.parametrize(("robot", "file"), [(PUMA, "puma_file"), (LONG, "long_file")], ids=["straight", "rolled"])
def test_operations_come_back_exactly(robot, file, request):
    """So every target writes the same code from a file as from the robot."""
    store = appell.load_compiled(request.getfixturevalue(file)).store
    for stored in store.functions:
        assert stored.form == lower_function(robot.system, stored.spec)
        for dtype in ("float32", "float64"):
            assert store.signature(stored.spec) == robot.system.signature(stored.spec)
            assert store.lowered(stored.spec, "cuda", dtype) == lower_function(robot.system, stored.spec, "cuda", dtype)


def test_what_is_known_of_the_robot(puma_file):
    loaded = appell.load_compiled(puma_file)
    facts = loaded.robot
    assert (facts.name, facts.nq, facts.nv) == ("puma560", 6, 6)
    assert facts.joint_names == PUMA.joint_names
    assert facts.body_names == PUMA.body_names
    assert facts.gravity_vector == PUMA.gravity_vector
    assert np.array_equal(loaded.parameters, PUMA.parameters)
    assert "puma560" in repr(loaded)
    assert "jacobian:link6" in loaded.held


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_options_travel_and_can_be_changed(dtype, tmp_path):
    appell.compile(PUMA, dtype=dtype, layout="columns").save(tmp_path / "robot", functions=["gravity"])
    q = random_states(PUMA, 5).q
    loaded = appell.load_compiled(tmp_path / "robot")
    result = loaded.gravity(np.ascontiguousarray(q.T, dtype))
    assert result.dtype == dtype
    assert_close(result.T, PUMA.gravity(q.astype(dtype).astype(float)).astype(dtype))
    other = appell.load_compiled(tmp_path / "robot", dtype="float64", layout="rows", threads=1)
    assert_close(other.gravity(q), PUMA.gravity(q))


def test_runtime_parameters(tmp_path):
    robot = general_tree(6, 12)
    appell.compile(robot, parameters="runtime").save(tmp_path / "robot", functions=["inverse_dynamics"])
    loaded = appell.load_compiled(tmp_path / "robot")
    state = random_states(robot, 4)
    assert_close(loaded.inverse_dynamics(*state), robot.inverse_dynamics(*state), tolerance=1e-12)
    heavy = loaded.parameters * 2
    expected = robot.inverse_dynamics(*state, parameters=heavy)
    assert_close(loaded.inverse_dynamics(*state, parameters=heavy), expected, tolerance=1e-12)


def test_requests_with_options(tmp_path):
    functions = [
        "inverse_dynamics@newton_euler",
        FunctionSpec("gravity", gravity_input=True),
        FunctionSpec("bias", force_frames=("link6",)),
    ]
    appell.compile(PUMA).save(tmp_path / "robot", functions=functions)
    loaded = appell.load_compiled(tmp_path / "robot")
    q, qd, qdd = random_states(PUMA, 2)
    assert_close(loaded.inverse_dynamics(q, qd, qdd, method="newton_euler"), PUMA.inverse_dynamics(q, qd, qdd))
    assert_close(loaded.gravity(q, gravity=(0, 1, 2)), PUMA.gravity(q, gravity=(0, 1, 2)))
    wrench = {"link6": np.arange(6.0)}
    assert_close(loaded.bias(q, qd, external_forces=wrench), PUMA.bias(q, qd, external_forces=wrench))


def test_a_default_is_found_under_the_name_of_its_method(puma_file):
    loaded = appell.load_compiled(puma_file)
    q, qd, qdd = random_states(PUMA, 1)
    assert np.array_equal(loaded.inverse_dynamics(q, qd, qdd, method="mata2002"), loaded.inverse_dynamics(q, qd, qdd))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda dyn, q: dyn.pose(q, "link5"),
            r"does not hold pose:link5\. It holds: .*pose:link6.*Save the robot again",
        ),
        (lambda dyn, q: dyn.gravity(q, gravity=(0, 0, 0)), "does not hold gravity with gravity"),
        (lambda dyn, q: dyn.forward_dynamics(q, q, q, method="noc"), "does not hold forward_dynamics@noc"),
        (lambda dyn, q: dyn.gravity(q[:5]), r"q has shape \(5,\), expected \(\.\.\., 6\)"),
        (lambda dyn, q: dyn.gravity(q * np.nan), r"q\[0\] is nan"),
    ],
)
def test_what_a_file_does_not_hold(call, message, puma_file):
    with pytest.raises(appell.ArgumentError, match=message):
        call(appell.load_compiled(puma_file), np.zeros(6))


@pytest.mark.parametrize(
    ("options", "message"),
    [({"frames": ["nowhere"]}, "unknown frame 'nowhere'"), ({"functions": ["gravty"]}, "Did you mean 'gravity'")],
)
def test_what_cannot_be_saved(options, message, tmp_path):
    with pytest.raises(appell.ArgumentError, match=message):
        appell.compile(PUMA).save(tmp_path / "robot", **options)
    assert not (tmp_path / "robot").exists()


def test_equal_robots_give_equal_files(tmp_path, puma_file):
    appell.compile(appell.load("puma560")).save(tmp_path / "again", frames=["link6"])
    assert (tmp_path / "again").read_bytes() == puma_file.read_bytes()


def test_copies_through_pickle(puma_file):
    loaded = pickle.loads(pickle.dumps(appell.load_compiled(puma_file)))
    assert_close(loaded.gravity(np.zeros(6)), PUMA.gravity(np.zeros(6)))


def test_without_a_compiler(puma_file, long_file, monkeypatch):
    monkeypatch.setenv("APPELL_NATIVE", "0")
    state, far = random_states(PUMA, 300), random_states(LONG, 3)
    assert_close(
        appell.load_compiled(puma_file).forward_dynamics(*state), PUMA.forward_dynamics(*state), tolerance=1e-11
    )
    loaded = appell.load_compiled(long_file)
    assert_close(loaded.inverse_dynamics(*far), LONG.inverse_dynamics(*far), tolerance=1e-12)
    assert_close(loaded.mass_matrix(far.q), LONG.mass_matrix(far.q), tolerance=1e-12)
    assert isinstance(loaded.functions.kernel(FunctionSpec("mass_matrix"), [far.q]).kernel, InterpretedKernel)


ELSEWHERE = """
import sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("casadi", "lxml", "scipy", "mujoco", "sympy", "matplotlib"):
            raise ModuleNotFoundError(f"{name} is not installed here")

sys.meta_path.insert(0, Blocker())
import appell
dyn = appell.load_compiled(sys.argv[1])
zero = [0.0] * 6
print((dyn.inverse_dynamics(zero, zero, zero).round(3) + 0.0).tolist(), dyn.pose(zero, "link6").shape)
"""


@pytest.mark.parametrize("native", ["1", "0"])
def test_where_neither_casadi_nor_lxml_is_installed(native, puma_file, monkeypatch):
    monkeypatch.setenv("APPELL_NATIVE", native)
    told = subprocess.run([sys.executable, "-c", ELSEWHERE, str(puma_file)], capture_output=True, text=True)
    assert told.returncode == 0, told.stderr
    assert told.stdout.strip() == f"{(PUMA.gravity([0.0] * 6).round(3) + 0.0).tolist()} (4, 4)"


# --- files that are not ours ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is no compiled robot"),
        (b"PK\x03\x04 a zip", "is no compiled robot"),
        (b"\x80\x04\x95 a pickle", "is no compiled robot"),
        (
            b"appell compiled robot, format 3, sha256 " + b"0" * 64 + b"\n",
            "has format 3, this version of appell reads format 2",
        ),
        (b"appell compiled robot, format 2, sha256 " + b"0" * 64 + b"\nabc", "is damaged"),
    ],
)
def test_foreign_files(content, message, tmp_path):
    (tmp_path / "robot").write_bytes(content)
    with pytest.raises(appell.CompileError, match=message):
        appell.load_compiled(tmp_path / "robot")


def test_every_cut_and_every_flipped_byte_is_noticed(puma_file, tmp_path):
    content, target = puma_file.read_bytes(), tmp_path / "robot"
    rng = random.Random(1)
    places = [*range(0, 115, 7), *(rng.randrange(len(content)) for _ in range(60))]
    for place in places:
        for harmed in (content[:place], content[:place] + bytes([content[place] ^ 0x40]) + content[place + 1 :]):
            target.write_bytes(harmed)
            with pytest.raises(appell.CompileError):
                appell.load_compiled(target)


def test_a_bomb_is_not_unpacked(tmp_path, monkeypatch):
    monkeypatch.setattr(container, "MOST_TEXT", 1000)
    with pytest.raises(appell.CompileError, match="are more than a file may hold"):
        container.write(tmp_path / "robot", {"zeros": [0] * 10_000})
    monkeypatch.undo()
    container.write(tmp_path / "robot", {"zeros": [0] * 10_000})
    monkeypatch.setattr(container, "MOST_TEXT", 1000)
    with pytest.raises(appell.CompileError, match="too long or cut off"):
        appell.load_compiled(tmp_path / "robot")


def test_a_missing_file_is_an_error_of_the_system(tmp_path):
    with pytest.raises(FileNotFoundError):
        appell.load_compiled(tmp_path / "nothing")


def first_form(content) -> dict:
    return content["functions"][0]["form"]


STRAIGHT = {
    "an unknown operation": lambda form: form["operations"].append(["system", 0]),
    "C instead of a name": lambda form: form["operations"].append(["add; abort()", 0, 0]),
    "too few arguments": lambda form: form["operations"].append(["add", 0]),
    "an argument that comes later": lambda form: form["operations"].insert(0, ["neg", 3]),
    "an input beyond the last": lambda form: form["operations"].append(["input", 18]),
    "a negative input": lambda form: form["operations"].append(["input", -1]),
    "a constant in words": lambda form: form["operations"].append(["const", "1); abort(); ("]),
    "an infinite constant": lambda form: form["operations"].append(["const", 1e999]),
    "a fraction as index": lambda form: form["operations"].append(["neg", 0.5]),
    "true as index": lambda form: form["operations"].append(["neg", True]),
    "an output beyond the last": lambda form: form["outputs"].__setitem__(0, 10**6),
    "too few outputs": lambda form: form["outputs"].pop(),
    "other inputs": lambda form: form["sizes"].__setitem__(0, 7),
    "an unknown form": lambda form: form.__setitem__("kind", "shell"),
    "no operations": lambda form: form.pop("operations"),
    "operations in words": lambda form: form.__setitem__("operations", "none"),
}

ROLLED = {
    "a parent that comes later": lambda form: form["links"][0].__setitem__(1, 5),
    "a parent that does not exist": lambda form: form["links"][0].__setitem__(1, -2),
    "a coordinate beyond the last": lambda form: form["links"][-1].__setitem__(2, form["nq"]),
    "a speed beyond the last": lambda form: form["links"][-1].__setitem__(3, form["nv"]),
    "degrees beyond the last": lambda form: form["links"][-1].__setitem__(4, 6),
    "a group that does not exist": lambda form: form["links"][3].__setitem__(0, 99),
    "a short table": lambda form: form["links"][3][-1].pop(),
    "no links": lambda form: form.__setitem__("links", []),
    "no row": lambda form: form.__setitem__("row", 0),
    "more coordinates": lambda form: form.__setitem__("nq", form["nq"] + 1),
    "another input": lambda form: form["inputs"].__setitem__(0, "x"),
    "a source that does not exist": lambda form: form["sweeps"][0]["steps"][0]["sources"][0].__setitem__(1, 999),
    "an unknown source": lambda form: form["sweeps"][0]["steps"][0]["sources"][0].__setitem__(0, "memory"),
    "a target that does not exist": lambda form: form["sweeps"][0]["steps"][0]["targets"][0].__setitem__(1, 999),
    "a missing target": lambda form: form["sweeps"][0]["steps"][0]["targets"].pop(),
    "a missing step": lambda form: form["sweeps"][1]["steps"].pop(),
    "no sweeps": lambda form: form.__setitem__("sweeps", []),
    "kept before it is written": lambda form: form["sweeps"].reverse(),
}


COLUMNS = {
    "columns that are solved with": lambda form: form.__setitem__("solves", True),
    "columns without a climb": lambda form: form.__setitem__("climb", []),
    "a walk too many": lambda form: form["climb"][0]["begin"].append(form["climb"][0]["begin"][0]),
    "elements across columns of links": lambda form: form["climb"][0]["meet"]["targets"].__setitem__(0, ["result", 10]),
    "an element beyond the last row": lambda form: form["climb"][0]["meet"]["targets"].__setitem__(0, ["result", 999]),
    "a sweep's result beyond the last row": lambda form: last_target(form).__setitem__(1, 99),
    "columns by words": lambda form: form.__setitem__("by_link", "yes"),
}


def last_target(form: dict) -> list:
    """Where the first sweep writes a result."""
    return next(target for step in form["sweeps"][0]["steps"] for target in step["targets"] if target[0] == "result")


@cache
def columns_of_links() -> LoweredFunction:
    """A matrix with columns of links in rolled form."""
    form = rolled(replace(mixed_tree(4, 29), coupled=False).system.recursion, FunctionSpec("regressor"), 0.0)
    assert form is not None
    return form


def test_columns_of_links_are_kept():
    assert read_lowered(json.loads(json.dumps(lowered_data(columns_of_links())))) == columns_of_links()


TRIPLES = {
    "a step that is missing": lambda form: form["triples"].pop(),
    "another number of degrees": lambda form: form["triples"][0]["pair"].pop(),
    "elements of joints that are not there": lambda form: set_place(form, "above", "result", 10**5),
    "elements before there is a pair": lambda form: form["triples"][0]["begin"][0]["targets"].__setitem__(
        0, ["result", 0]
    ),
    "a walk that carries on": lambda form: set_place(form, "within", "carried", 0),
    "a walk that begins with less": lambda form: form["triples"][0]["own"][0]["targets"].pop(),
    "a value that no pair gives": lambda form: form["triples"][0]["above"]["sources"].__setitem__(-1, ["carried", 999]),
    "pairs as well as triples": lambda form: form["climb"].append(form["triples"][0]),
    "matrices of nothing": lambda form: form.__setitem__("stacked", True),
}


def set_place(form: dict, visit: str, kind: str, place: int) -> None:
    form["triples"][0][visit]["targets"][0] = [kind, place]


@cache
def triples_of_links() -> LoweredFunction:
    tree = replace(mixed_tree(4, 29), coupled=False).system.recursion
    form = rolled(tree, FunctionSpec("inverse_dynamics_second_derivatives"), 0.0)
    assert form is not None
    return form


def test_triples_of_links_are_kept():
    assert read_lowered(json.loads(json.dumps(lowered_data(triples_of_links())))) == triples_of_links()


@pytest.mark.parametrize("harm", TRIPLES.values(), ids=TRIPLES)
def test_triples_that_make_no_sense_are_refused(harm):
    content = json.loads(json.dumps(lowered_data(triples_of_links())))
    harm(content)
    with pytest.raises(appell.CompileError, match="not written by appell"):
        read_lowered(content)


def test_gravity_and_external_forces_of_loops_are_kept():
    tree = appell.robots.random_chain(3, seed=2).system.recursion
    form = rolled(tree, FunctionSpec("inverse_dynamics", gravity_input=True, force_frames=("link2",)), 0.0)
    assert form is not None
    content = json.loads(json.dumps(lowered_data(form)))
    assert read_lowered(content) == form
    with pytest.raises(appell.CompileError, match="external forces without an input, or none for it"):
        read_lowered({**content, "forces": 0})
    with pytest.raises(appell.CompileError, match=r"reads gravity\[.\], which does not exist"):
        read_lowered({**content, "inputs": [name for name in content["inputs"] if name != "gravity"]})


def test_matrices_that_follow_each_other_are_kept():
    tree = appell.robots.random_chain(3, seed=2).system.recursion
    form = rolled(tree, FunctionSpec("jacobian_derivatives", frame="link3"), 0.0)
    assert form is not None
    assert form.stacked
    assert read_lowered(json.loads(json.dumps(lowered_data(form)))) == form


def test_a_sum_is_one_number():
    form = rolled(FREE.system.recursion, FunctionSpec("kinetic_energy"), 0.0)
    assert form is not None
    content = json.loads(json.dumps(lowered_data(form)))
    assert read_lowered(content) == form
    last_target(content)[1] = 1
    with pytest.raises(appell.CompileError, match=r"writes result\[1\], which does not exist"):
        read_lowered(content)


@pytest.mark.parametrize("harm", COLUMNS.values(), ids=COLUMNS)
def test_columns_that_make_no_sense_are_refused(harm):
    content = json.loads(json.dumps(lowered_data(columns_of_links())))
    harm(content)
    with pytest.raises(appell.CompileError, match="not written by appell"):
        read_lowered(content)


SOLVED = {
    "accelerations that are given": lambda form: form["inputs"].__setitem__(2, "qdd"),
    "accelerations that are read too early": lambda form: form.__setitem__("solved_after", 3),
    "accelerations after the last sweep": lambda form: form.__setitem__("solved_after", 5),
    "masses without matrices to solve for": lambda form: form.__setitem__("climb", []),
    "masses that are solved for twice": lambda form: form.__setitem__("solves", True),
    "masses that nothing kept": lambda form: form["sweeps"][1]["steps"][0]["targets"].pop(),
    "masses beyond the last row": lambda form: form["masses"][0]["meet"]["targets"].__setitem__(0, ["result", 999]),
    "a missing walk": lambda form: form["masses"].pop(),
    "masses in words": lambda form: form.__setitem__("masses", "heavy"),
}


@cache
def solved_links() -> LinkParallel:
    form = link_parallel(appell.robots.random_chain(9, seed=2).system.recursion, FunctionSpec(SOLVED_FUNCTION))
    assert form is not None
    return form


def test_links_that_are_solved_for_are_kept():
    assert read_links(json.loads(json.dumps(lowered_data(solved_links().rolled)))) == solved_links()


@pytest.mark.parametrize("harm", SOLVED.values(), ids=SOLVED)
def test_solved_links_that_make_no_sense_are_refused(harm):
    content = json.loads(json.dumps(lowered_data(solved_links().rolled)))
    harm(content)
    with pytest.raises(appell.CompileError, match="not written by appell"):
        read_links(content)


def test_links_that_are_solved_for_are_no_loop(tmp_path):
    """Other kernels have no accelerations from M within their loops."""
    robot = appell.compile(appell.robots.random_chain(9, seed=2))
    robot.save(tmp_path / "robot", functions=[SOLVED_FUNCTION])
    content = container.read(tmp_path / "robot")
    content["functions"][0]["form"] = content["functions"][0]["links"]
    container.write(tmp_path / "robot", content)
    with pytest.raises(appell.CompileError, match="links that are not side by side"):
        appell.load_compiled(tmp_path / "robot")


STAGES = {
    "another number of factors": lambda stages: stages["factors"]["outputs"].pop(),
    "a matrix of another size": lambda stages: stages["factors"]["sizes"].__setitem__(0, 30),
    "a solution for fewer unknowns": lambda stages: stages["solution"]["outputs"].pop(),
    "no solution": lambda stages: stages.pop("solution"),
    "an unknown operation": lambda stages: stages["solution"]["operations"].append(["system", 0]),
}


@pytest.fixture(scope="module")
def staged_file(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("archive") / "staged.appell"
    appell.compile(appell.robots.random_chain(30, seed=2)).save(path, functions=[SOLVED_FUNCTION])
    return path


def test_stages_are_kept_with_the_functions_before_them(staged_file):
    loaded = appell.load_compiled(staged_file)
    assert loaded.held == (SOLVED_FUNCTION, "forward_dynamics", "inverse_dynamics_derivatives")
    spec, traced = FunctionSpec(SOLVED_FUNCTION), appell.compile(appell.robots.random_chain(30, seed=2))
    assert loaded.functions.provider.stages(spec) == traced.functions.provider.stages(spec) is not None
    alone = replace(loaded.functions.provider, functions=loaded.functions.provider.functions[:1])
    assert alone.stages(spec) is None


@pytest.mark.parametrize("harm", STAGES.values(), ids=STAGES)
def test_stages_that_make_no_sense_are_refused(harm, staged_file, tmp_path):
    content = container.read(staged_file)
    harm(content["functions"][0]["stages"])
    container.write(tmp_path / "robot", content)
    with pytest.raises(appell.CompileError, match="not written by appell"):
        appell.load_compiled(tmp_path / "robot")


def test_stages_of_another_function_are_refused(staged_file, tmp_path):
    content = container.read(staged_file)
    content["functions"][1]["stages"] = content["functions"][0]["stages"]
    container.write(tmp_path / "robot", content)
    with pytest.raises(appell.CompileError, match="forward_dynamics has no stages"):
        appell.load_compiled(tmp_path / "robot")


@pytest.mark.parametrize("function", ["inverse_dynamics_derivatives", SOLVED_FUNCTION])
def test_links_side_by_side_give_the_same_bits_out_of_a_file(function, tmp_path):
    robot = appell.compile(appell.robots.random_chain(9, seed=2))
    robot.save(tmp_path / "robot", functions=[function])
    assert "links" in container.read(tmp_path / "robot")["functions"][0]
    again, given = appell.load_compiled(tmp_path / "robot"), np.random.default_rng(0).uniform(-1, 1, (3, 9))
    for one, other in zip(getattr(robot, function)(*given), getattr(again, function)(*given), strict=True):
        np.testing.assert_array_equal(one, other, strict=True)


WHOLE = {
    "no robot": lambda content: content.pop("robot"),
    "a robot in words": lambda content: content.__setitem__("robot", "puma"),
    "gravity in two directions": lambda content: content["robot"]["gravity_vector"].pop(),
    "a name that is no text": lambda content: content["robot"].__setitem__("name", 3),
    "no number of speeds": lambda content: content["robot"].__setitem__("nv", None),
    "functions that are no list": lambda content: content.__setitem__("functions", {}),
    "rollouts that are no list": lambda content: content.__setitem__("rollouts", 3),
    "a law that does not exist": lambda content: content["rollouts"].append({"law": "free will"}),
    "an unknown precision": lambda content: content["options"].__setitem__("dtype", "float16"),
    "an unknown function": lambda content: content["functions"][0]["request"].__setitem__("function", "system"),
    "another function": lambda content: content["functions"][0]["request"].__setitem__("function", "mass_matrix"),
    "a frame too many": lambda content: content["functions"][0]["request"].__setitem__("frame", "link6"),
    "a request without reference": lambda content: content["functions"][0]["request"].pop("reference"),
    "gravity where there is none": lambda content: content["functions"][0]["request"].__setitem__("gravity", True),
    "a method that is no text": lambda content: content["functions"][0].__setitem__("method", 1),
    "a form that is no object": lambda content: content["functions"][0].__setitem__("form", []),
}


@pytest.mark.parametrize("harm", WHOLE.values(), ids=WHOLE)
def test_a_robot_that_makes_no_sense_is_refused(harm, puma_file, tmp_path):
    content = container.read(puma_file)
    harm(content)
    container.write(tmp_path / "robot", content)
    with pytest.raises(appell.CompileError, match="not written by appell"):
        appell.load_compiled(tmp_path / "robot")


@pytest.mark.parametrize(
    ("file", "harm"),
    [*(("puma_file", harm) for harm in STRAIGHT.values()), *(("long_file", harm) for harm in ROLLED.values())],
    ids=[*STRAIGHT, *ROLLED],
)
def test_content_that_makes_no_sense_is_refused(file, harm, request, tmp_path, monkeypatch):
    """Even with a checksum that fits, which anybody can make."""
    content = container.read(request.getfixturevalue(file))
    harm(first_form(content))
    careless = partial(json.dumps, separators=(",", ":"))
    monkeypatch.setattr(container.json, "dumps", lambda content, **_: careless(content))
    container.write(tmp_path / "robot", content)
    monkeypatch.undo()
    with pytest.raises(appell.CompileError):
        appell.load_compiled(tmp_path / "robot")


TRIES = 60


@pytest.mark.parametrize("file", ["puma_file", "long_file"])
def test_whatever_is_accepted_stays_within_its_arrays(file, request, tmp_path, monkeypatch):
    """Random whole numbers in random places: refused, or harmless to the interpreter, which checks every index."""
    monkeypatch.setenv("APPELL_NATIVE", "0")
    original = container.read(request.getfixturevalue(file))
    original["functions"] = original["functions"][:2]
    places = whole_numbers(original["functions"])
    rng = random.Random(5)
    refused = 0
    for _ in range(TRIES):
        parent, key = rng.choice(places)
        before = parent[key]
        parent[key] = rng.choice([-1, 0, 1, before + 1, before + 7, 10**5])
        container.write(tmp_path / "robot", original)
        parent[key] = before
        try:
            loaded = appell.load_compiled(tmp_path / "robot")
        except appell.CompileError:
            refused += 1
            continue
        zero = np.zeros(loaded.robot.nv)
        for name in loaded.held:
            getattr(loaded, name)(*[zero] * INPUTS[name], check=False)
    assert TRIES / 5 < refused < TRIES


def whole_numbers(data) -> list[tuple]:
    """All places in nested data that hold a whole number."""
    pairs = enumerate(data) if isinstance(data, list) else data.items()
    found = []
    for key, value in pairs:
        if isinstance(value, (list, dict)):
            found += whole_numbers(value)
        elif isinstance(value, int) and not isinstance(value, bool):
            found.append((data, key))
    return found


# --- joints that turn freely --------------------------------------------------------------------------------------------


def test_rollouts_of_joints_that_turn_freely(free_file):
    q0, qd0, tau = random_states(FREE, 5)
    options = {"steps": 4, "dt": 1e-3, "save_every": 2}
    expected = appell.rollout(appell.compile(FREE), q0, qd0, tau, **options)
    loaded = appell.load_compiled(free_file)
    assert loaded.quasi_velocity_joints == appell.compile(FREE).quasi_velocity_joints
    path = appell.rollout(loaded, q0, qd0, tau, **options)
    assert np.array_equal(path.q, expected.q)
    assert np.array_equal(path.qd, expected.qd)


def test_a_file_without_the_law_is_rolled_out_step_by_step(tmp_path):
    file = tmp_path / "free.appell"
    appell.compile(FREE).save(file, functions=["forward_dynamics"])
    q0, qd0, tau = random_states(FREE, 5)
    options = {"steps": 4, "dt": 1e-3, "save_every": 2}
    expected = appell.rollout(appell.compile(FREE), q0, qd0, tau, **options)
    assert_close(appell.rollout(appell.load_compiled(file), q0, qd0, tau, **options).q, expected.q, tolerance=1e-12)


def test_rollouts_with_parameters_of_every_robot(free_file, tmp_path):
    file = tmp_path / "runtime.appell"
    dyn = appell.compile(FREE, parameters="runtime")
    dyn.save(file, functions=["forward_dynamics"], rollouts=["torque"])
    q0, qd0, tau = random_states(FREE, 5)
    options = {
        "steps": 4,
        "dt": 1e-3,
        "save_every": 2,
        "parameters": FREE.parameters * np.linspace(0.8, 1.2, 5)[:, None],
    }
    expected = appell.rollout(dyn, q0, qd0, tau, **options)
    assert np.array_equal(appell.rollout(appell.load_compiled(file), q0, qd0, tau, **options).q, expected.q)
    with pytest.raises(appell.ArgumentError, match="does not hold forward_dynamics with parameters"):
        appell.rollout(appell.load_compiled(free_file), q0, qd0, tau, **options)


@pytest.mark.parametrize("rows", [True, False])
def test_quaternions_of_other_than_unit_length_are_refused(free_file, rows):
    loaded = appell.load_compiled(free_file)
    q, qd, tau = (x if rows else x[0] for x in random_states(FREE, 5))
    loaded.forward_dynamics(q, qd, tau)
    with pytest.raises(appell.ArgumentError, match="the quaternion of joint"):
        loaded.forward_dynamics(1.5 * q, qd, tau)
    assert np.isfinite(loaded.forward_dynamics(1.5 * q, qd, tau, check=False)).all()


@pytest.mark.parametrize(
    ("free", "words"),
    [
        ([], "do not fit the numbers"),
        ([["j", "revolute", 0, 0]], "no kind of free joint"),
        ([["j", "floating", 0]], "no four entries"),
        ([["j", "floating", 10, 9]], "side by side"),
        ([["j", "floating", 99, 0]], "a coordinate is 99"),
    ],
)
def test_free_joints_that_make_no_sense_are_refused(free_file, tmp_path, free, words):
    content = container.read(free_file)
    content["robot"]["free"] = free
    forged = tmp_path / "forged.appell"
    container.write(forged, content)
    with pytest.raises(appell.CompileError, match=words):
        appell.load_compiled(forged)


@pytest.mark.parametrize("robot", [PUMA, LONG], ids=["straight", "rolled"])
def test_saving_traces_every_function_once(tmp_path, monkeypatch, robot) -> None:
    """Forms for both targets and precisions, and a second file, come from the same operations."""
    from appell.compiler import lowering

    calls = []
    for name in ("trace", "rolled"):
        function = getattr(lowering, name)
        monkeypatch.setattr(
            lowering, name, lambda *given, own=function, **options: calls.append(given[1:]) or own(*given, **options)
        )
    dyn = appell.compile(robot)
    dyn.save(tmp_path / "a.appell", functions=["mass_matrix", "gravity"])
    assert len(calls) == len(set(calls)) > 0
    before = len(calls)
    dyn.save(tmp_path / "b.appell", functions=["mass_matrix", "gravity"])
    assert len(calls) == before
    assert (tmp_path / "a.appell").read_bytes() == (tmp_path / "b.appell").read_bytes()


def test_files_have_the_permissions_of_new_files(tmp_path) -> None:
    before = os.umask(0o027)
    try:
        appell.compile(PUMA).save(tmp_path / "puma.appell", functions=["gravity"])
    finally:
        os.umask(before)
    assert (tmp_path / "puma.appell").stat().st_mode & 0o777 == 0o640
