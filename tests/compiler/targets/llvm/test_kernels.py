"""Native kernels of every form against the interpreter: valid IR, the same numbers, no access out of bounds."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial

import numpy as np
import pytest
from helpers.closeness import assert_close
from helpers.joint_trees import furnished, mixed_tree
from helpers.native_kernels import halves, inputs, listed, native_library, opened, run_guarded
from helpers.random_trees import general_tree
from helpers.states import random_states

import appell
from appell.algorithms.function_spec import FunctionSpec, Signature
from appell.algorithms.laws import LAWS
from appell.algorithms.registry import find
from appell.compiler import schedule
from appell.compiler.differentiate import forward_by_parts, reverse
from appell.compiler.interpret import InterpretedKernel
from appell.compiler.lowering import LoweredFunction, StraightLine, lower_function
from appell.compiler.operations import Operation
from appell.compiler.options import Options
from appell.compiler.rolled.form import Rolled
from appell.compiler.rolled.link_parallel import LinkParallel
from appell.compiler.rolled.programs import link_parallel, rolled
from appell.compiler.targets.llvm import adjoint, rollout
from appell.compiler.targets.llvm.isa import instruction_set, supported
from appell.compiler.targets.llvm.jit import binding
from appell.compiler.targets.llvm.kernel import Form, kernel_text
from appell.compiler.targets.llvm.runtime import runtime_text
from appell.compiler.targets.llvm.step import Sizes
from appell.robot.compiled import CompiledRobot
from appell.rollouts.integrators import INTEGRATORS
from appell.rollouts.native_derivatives import adjoint_source
from appell.rollouts.plan import rate_of

ISAS = [each.name for each in supported()]
DTYPES = ("float64", "float32")
COUNTS = (1, 2, 3, 7, 8, 9, 15, 16, 17, 33)
"""Batches of less than a vector, whole vectors, and tails of every instruction set."""

TREE = general_tree(7, 21)
CHAIN = appell.robots.random_chain(10, seed=4)
BRANCHED = mixed_tree(12, 116)
MIXED = mixed_tree(4, 29)


def straight(function: str) -> StraightLine:
    form = lower_function(TREE.system, FunctionSpec(function))
    assert isinstance(form, StraightLine)
    return form


def looped(robot, function: str, method: str | None = None) -> Rolled:
    form = rolled(robot.system.recursion, FunctionSpec(function, method), 0.0)
    assert form is not None
    return form


def side_by_side(robot, function: str) -> LinkParallel:
    form = link_parallel(robot.system.recursion, FunctionSpec(function))
    assert form is not None
    return form


HAND = furnished(appell.robots.random_tree(13, seed=3, kinds=("revolute", "prismatic"), branching=0.4), 5)
TRUNK = furnished(appell.robots.random_tree(37, seed=6, kinds=("revolute",), branching=0.2), 7)
SHORT = furnished(appell.robots.random_tree(4, seed=2, kinds=("revolute",), branching=0.5), 8)
LONG_CHAIN = appell.robots.random_chain(17, seed=9)

FORMS = {
    "straight inverse dynamics": (lambda: straight("inverse_dynamics"), TREE),
    "straight mass matrix": (lambda: straight("mass_matrix"), TREE),
    "straight potential energy": (lambda: straight("potential_energy"), TREE),
    "rolled inverse dynamics": (lambda: looped(CHAIN, "inverse_dynamics"), CHAIN),
    "rolled forward dynamics": (lambda: looped(CHAIN, "forward_dynamics", "articulated"), CHAIN),
    "rolled mass matrix": (lambda: looped(CHAIN, "mass_matrix", "composite"), CHAIN),
    "rolled Coriolis matrix": (lambda: looped(CHAIN, "coriolis_matrix"), CHAIN),
    "rolled regressor": (lambda: looped(CHAIN, "regressor"), CHAIN),
    "rolled forward derivatives": (lambda: looped(CHAIN, "forward_dynamics_derivatives", "analytic"), CHAIN),
    "rolled second derivatives": (lambda: looped(TREE, "inverse_dynamics_second_derivatives"), TREE),
    "branched gravity": (lambda: looped(BRANCHED, "gravity"), BRANCHED),
    "links side by side, derivatives": (lambda: side_by_side(CHAIN, "inverse_dynamics_derivatives"), CHAIN),
    "links side by side, short": (lambda: side_by_side(SHORT, "inverse_dynamics_derivatives"), SHORT),
    "links side by side, two kinds": (lambda: side_by_side(HAND, "inverse_dynamics_derivatives"), HAND),
    "links side by side, branches": (lambda: side_by_side(TRUNK, "inverse_dynamics_derivatives"), TRUNK),
    "links side by side, solved short": (lambda: side_by_side(SHORT, "forward_dynamics_derivatives"), SHORT),
    "links side by side, solved branches": (lambda: side_by_side(HAND, "forward_dynamics_derivatives"), HAND),
    "links side by side, solved long": (lambda: side_by_side(LONG_CHAIN, "forward_dynamics_derivatives"), LONG_CHAIN),
    "links side by side, Coriolis matrix": (lambda: side_by_side(LONG_CHAIN, "coriolis_matrix"), LONG_CHAIN),
}

SOLVED = {
    len(robot.joints): partial(looped, robot, "forward_dynamics_derivatives", "analytic")
    for robot in (SHORT, HAND, LONG_CHAIN)
}
"""Functions with systems of equations, by the number of links: another recursion."""

find("inverse_dynamics")


@cache
def lowered(name: str) -> LoweredFunction | LinkParallel:
    return FORMS[name][0]()


@cache
def library(name: str, dtype: str, isa: str | None = None):
    return native_library(lowered(name), dtype, isa)


def states(name: str, count: int, dtype: str, seed: int = 0) -> list[np.ndarray]:
    """Inputs of a form, (count, size) each."""
    given = random_states(FORMS[name][1], count, seed)
    return [given[k].astype(dtype) for k in range(len(lowered(name).sizes))]


def interpreted(form: LoweredFunction | LinkParallel, given: list[np.ndarray], dtype: str = "float64") -> np.ndarray:
    """Rows of results, from the numbers that the kernel got."""
    if isinstance(form, LinkParallel):
        form = SOLVED[len(form.rolled.links)]() if form.rolled.masses else form.rolled
    out = np.full((max(len(each) for each in given), form.size_out), np.nan, dtype)
    rows = tuple(np.broadcast_to(each, (len(out), each.shape[1])).astype(dtype) for each in given)
    InterpretedKernel(form, dtype).run(rows, out)
    return out


def tolerance(form: LoweredFunction | LinkParallel, dtype: str) -> float:
    form = form.rolled if isinstance(form, LinkParallel) else form
    loss = 50 if isinstance(form, Rolled) and "tau" in form.inputs else 1  # a system of equations is solved
    return 16 * loss * len(form.sizes) * max(form.sizes) * float(np.finfo(dtype).eps)


def assert_kernel(name: str, dtype: str, result: np.ndarray, given: list[np.ndarray], what: str) -> None:
    form = lowered(name)
    expected = interpreted(form, given)
    scale = float(np.abs(expected).max())
    assert_close(result, expected.astype(dtype), tolerance=tolerance(form, dtype), scale=scale, what=what)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("name", FORMS)
def test_every_form_on_every_instruction_set(name, isa, dtype):
    counts = COUNTS if "straight" in name else (3, 17)
    for count in counts if library(name, dtype, isa).batch else ():
        given = states(name, count, dtype)
        for columns in (False, True):
            result, status = run_guarded(library(name, dtype, isa), dtype, given, lowered(name).size_out, columns)
            assert status == 0
            assert_kernel(name, dtype, result, given, f"{count} states, columns {columns}")
    for seed in range(2):
        given = states(name, 1, dtype, seed)
        result, status = run_guarded(library(name, dtype, isa), dtype, given, lowered(name).size_out, one=True)
        assert status == 0
        assert_kernel(name, dtype, result, given, "one state")


@pytest.mark.parametrize("columns", [False, True], ids=["rows", "columns"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_value_for_all_states(dtype, columns):
    name = "straight inverse dynamics"
    q, qd, qdd = states(name, 19, dtype)
    for given in ([q[:1], qd, qdd], [q, qd[:1], qdd[:1]]):
        result, status = run_guarded(library(name, dtype), dtype, given, lowered(name).size_out, columns)
        assert status == 0
        assert_kernel(name, dtype, result, given, "broadcast")


@pytest.mark.parametrize("dtype", DTYPES)
def test_kernels_for_columns_take_rows_and_columns(dtype):
    name = "straight inverse dynamics"
    code, entries = native_library(lowered(name), dtype, batch="columns"), lowered(name).size_out
    given = states(name, 19, dtype)
    expected, _ = run_guarded(library(name, dtype), dtype, given, entries)
    for columns in (False, True):
        result, status = run_guarded(code, dtype, given, entries, columns)
        assert status == 0
        assert_close(result, expected, tolerance=tolerance(lowered(name), dtype))


PLACEMENTS = {
    "side by side": lambda rows: np.concatenate([rows, rows + 1], axis=1)[:, : rows.shape[1]],
    "every second row": lambda rows: np.repeat(rows, 2, axis=0)[::2],
    "from the last row": lambda rows: rows[::-1].copy()[::-1],
    "from the last entry": lambda rows: rows[:, ::-1].copy()[:, ::-1],
    "columns": np.asfortranarray,
    "one for all": lambda rows: np.broadcast_to(rows[:1], rows.shape),
    "one for all, apart": lambda rows: np.broadcast_to(np.repeat(rows[:1], 3, axis=1)[:, ::3], rows.shape),
}


@pytest.mark.parametrize("placement", PLACEMENTS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_give_the_same_bits_wherever_they_lie(placement, dtype):
    name, entries = "straight inverse dynamics", lowered("straight inverse dynamics").size_out
    signature = Signature(tuple((f"in{k}", size) for k, size in enumerate(lowered(name).sizes)), (entries,))
    kernel = library(name, dtype).kernel(signature, dtype, 1)
    for count in (1, 5, 19, 32):
        for number in range(3):
            given = states(name, count, dtype)
            given[number] = PLACEMENTS[placement](given[number])
            result, expected = (np.full((count, entries), np.nan, dtype) for _ in range(2))
            assert kernel.run(tuple(given), result)
            assert kernel.run(tuple(np.ascontiguousarray(each) for each in given), expected)
            np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("dtype", DTYPES)
def test_inputs_that_nothing_reads_are_checked(dtype):
    sizes = (1, 3, 9, 6)
    first = listed(*inputs(19), sizes=sizes, outputs=(5,))
    for batch in ("batch", "columns"):
        code = native_library(StraightLine(first), dtype, batch=batch)
        for k, size in enumerate(sizes):
            for j in range(size):
                given = [np.ones((37, each), dtype) for each in sizes]
                assert run_guarded(code, dtype, given, 1)[1] == 0
                given[k][(5 * j + k) % 37, j] = np.inf
                assert run_guarded(code, dtype, given, 1)[1] == 1


def test_robots_without_coordinates_have_results():
    constant = listed(Operation("const", (), 3.0), sizes=(0,), outputs=(0,))
    result, status = run_guarded(native_library(StraightLine(constant)), "float64", [np.zeros((9, 0))], 1)
    assert status == 0
    np.testing.assert_array_equal(result, np.full((9, 1), 3.0))


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("angles", [(4, 5, 6), (6, 4, 5), (4, 6), (2, 3), (0, 1, 2)])
def test_angles_of_any_entries(angles, isa):
    sizes, sines = (3, 5), [Operation("sin", (k,)) for k in angles]
    form = StraightLine(listed(*inputs(8), *sines, sizes=sizes, outputs=tuple(range(8, 8 + len(angles)))))
    given = [np.random.default_rng(k).normal(size=(19, size)) for k, size in enumerate(sizes)]
    result, status = run_guarded(native_library(form, isa=isa), "float64", given, len(angles))
    assert status == 0
    assert_close(result, np.sin(np.concatenate(given, axis=1)[:, angles]), tolerance=1e-15)


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("size", [*range(1, 10), 12, 16, 17])
def test_rows_of_every_size_are_transposed(size, isa):
    same = listed(*inputs(size), sizes=(size,), outputs=tuple(range(size)))
    for dtype in DTYPES:
        code = native_library(StraightLine(same), dtype, isa)
        given = [np.arange(1, 1 + 33 * size, dtype=dtype).reshape(33, size)]
        for columns in (False, True):
            result, status = run_guarded(code, dtype, given, size, columns, offset=(size + columns) % 4)
            assert status == 0
            np.testing.assert_array_equal(result, given[0])


@pytest.mark.parametrize(("size", "lines"), [(16, 0), (17, 2), (24, 3), (33, 4)])
def test_lines_of_long_rows_are_prefetched_once(size, lines):
    same = StraightLine(listed(*inputs(size), sizes=(size,), outputs=tuple(range(size))))
    real = instruction_set(None).real("float64")
    assert kernel_text(same, real, "batch").count("@llvm.prefetch.p0(ptr %") == lines * real.lanes
    assert "prefetch" not in kernel_text(same, real, "one")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "name", ["straight inverse dynamics", "rolled inverse dynamics", "links side by side, two kinds"]
)
def test_a_state_does_not_depend_on_where_it_stands(name, dtype):
    given = states(name, 21, dtype)
    code, entries = library(name, dtype), lowered(name).size_out
    rows, _ = run_guarded(code, dtype, given, entries)
    columns, _ = run_guarded(code, dtype, given, entries, columns=True)
    np.testing.assert_array_equal(rows, columns)
    turned, _ = run_guarded(code, dtype, [each[::-1] for each in given], entries)
    np.testing.assert_array_equal(turned[::-1], rows)


@pytest.mark.parametrize("one", [False, True], ids=["batch", "one"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["straight inverse dynamics", "rolled inverse dynamics", "links side by side, short"])
def test_far_angles_go_through_libm(name, dtype, one):
    given = states(name, 1 if one else 9, dtype)
    given[0][-1] *= 1e7 if dtype == "float64" else 1e4
    result, status = run_guarded(library(name, dtype), dtype, given, lowered(name).size_out, one=one)
    assert status == 0
    expected = interpreted(lowered(name), given, dtype)  # in the same precision: where a joint stands is rounded
    assert_close(result, expected, tolerance=tolerance(lowered(name), dtype), scale=float(np.abs(expected).max()))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "name",
    ["straight inverse dynamics", "rolled mass matrix", "branched gravity", "links side by side, branches",
     "links side by side, short"],
)  # fmt: skip
def test_what_is_not_finite_is_reported_wherever_it_stands(name, dtype, value):
    code, entries = library(name, dtype), lowered(name).size_out
    for row in (0, 7, 12):
        given = states(name, 13, dtype)
        given[0][row, -1] = value
        clean = states(name, 13, dtype)
        result, status = run_guarded(code, dtype, given, entries)
        assert status == 1
        others = np.arange(13) != row
        np.testing.assert_array_equal(result[others], run_guarded(code, dtype, clean, entries)[0][others])
    single = [each[12:] for each in given]
    assert run_guarded(code, dtype, single, entries, one=True)[1] == 1


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("entry", [(0, 0), (1, -1), (2, 3)])
@pytest.mark.parametrize("name", ["links side by side, two kinds", "links side by side, solved branches"])
def test_what_is_not_finite_in_one_state_is_reported(name, entry, value):
    given = states(name, 1, "float64")
    k, j = entry
    given[k][0, j] = value
    assert run_guarded(library(name, "float64"), "float64", given, lowered(name).size_out, one=True)[1] == 1


@pytest.mark.parametrize("one", [False, True], ids=["batch", "one"])
def test_sums_that_overflow_are_not_results_that_do(one):
    """Links side by side add up their results to see whether all are finite."""
    name = "links side by side, branches"
    given = states(name, 1 if one else 3, "float64")
    given[2] *= 1e307 / np.abs(interpreted(lowered(name), given)).max()
    result, status = run_guarded(library(name, "float64"), "float64", given, lowered(name).size_out, one=one)
    assert status == 0
    assert np.isfinite(result).all()
    given[2] *= 1e3
    assert run_guarded(library(name, "float64"), "float64", given, lowered(name).size_out, one=one)[1] == 1


@pytest.mark.parametrize("one", [False, True], ids=["batch", "one"])
def test_what_overflows_on_the_diagonal_alone_is_reported(one):
    """Links that are all joined to the base have no other elements."""
    builder = appell.RobotBuilder("fan")
    for k, mass in enumerate((1e300, 1.0)):
        builder = builder.body(f"blade{k}", mass=mass, com=(0.3, 0.0, 0.2), inertia=(mass, mass, mass))
        builder = builder.revolute(f"turn{k}", "base", f"blade{k}", axis=(0.6, 0.0, 0.8))
    robot = builder.build()
    form = side_by_side(robot, "inverse_dynamics_derivatives")
    code, q = native_library(form), np.array([[0.3, 0.2]])
    for speed, status in ((1.0, 0), (1e9, 1)):
        given = [q, np.array([[speed, 0.1]]), 0 * q]
        result, found = run_guarded(code, "float64", given, form.size_out, one=one)
        assert np.isfinite(result).all() == (status == 0)
        assert found == status


def test_an_infinite_result_of_finite_inputs_is_reported():
    quotient = listed(*inputs(2), Operation("div", (0, 1)), sizes=(1, 1), outputs=(2,))
    code = native_library(StraightLine(quotient))
    ones, divisors = np.ones((5, 1)), np.array([[1.0], [2.0], [0.0], [4.0], [5.0]])
    assert run_guarded(code, "float64", [ones, divisors], 1)[1] == 1
    assert run_guarded(code, "float64", [ones, divisors + 1], 1)[1] == 0
    assert run_guarded(code, "float64", [ones[:1], divisors[2:3]], 1, one=True)[1] == 1


@pytest.mark.parametrize("isa", ISAS)
def test_parts_do_not_change_the_result(isa, monkeypatch):
    form, given = straight("inverse_dynamics"), states("straight inverse dynamics", 19, "float64")
    monkeypatch.setattr(schedule, "LONGEST_PART", 20)
    assert len(Form(form).planned.pieces) > 5
    assert Form(form).shared
    code = native_library(form, "float64", isa)
    for some, one in ((given, False), ([each[:1] for each in given], True)):
        result, status = run_guarded(code, "float64", some, form.size_out, one=one)
        assert status == 0
        assert_kernel("straight inverse dynamics", "float64", result, some, "parts")


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_texts_pass_the_verifier_of_llvm(isa, dtype):
    real = instruction_set(isa).real(dtype)
    sizes = Sizes(5, 5, 10, 5, 0)
    tableaus = {rule.tableau: None for rule in INTEGRATORS.values()}
    rate = listed(*inputs(15), sizes=(15,), outputs=tuple(range(15)))
    texts = [kernel_text(lowered(name), real, half) for name in FORMS for half in halves(lowered(name))]
    texts.append(runtime_text(real))
    texts += [rollout.rollout_text(StraightLine(rate), real, tableau, sizes, [1]) for tableau in tableaus]
    back, both = StraightLine(reverse(rate)), StraightLine(forward_by_parts(rate, (5, 5, 5), (5, 5, 5)))
    texts += [adjoint.adjoint_text(StraightLine(rate), back, real, tableau, sizes, [1]) for tableau in tableaus]
    doubled = Sizes(*(2 * size for size in sizes))
    texts += [rollout.rollout_text(both, real, tableau, doubled, [1], directions=True) for tableau in tableaus]
    for text in texts:
        with binding().create_context() as context, binding().parse_assembly(text, context) as module:
            module.verify()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_rollouts_stay_within_their_memory(integrator, dtype):
    robot, count, steps, dt = TREE, 11, 6, 1e-3
    nq, nv, target = robot.nq, robot.nv, instruction_set()
    q0, qd0, tau = (each.astype(dtype) for each in random_states(robot, count))
    dyn = appell.compile(robot, dtype=dtype)
    rate = StraightLine(dyn.state_rate(LAWS["torque"], True, False)[1]())
    sizes, tableau = Sizes(nq, nv, nq + nv, nv, 0), INTEGRATORS[integrator].tableau
    text = rollout.rollout_text(rate, target.real(dtype), tableau, sizes, [])
    code = opened(text, "batch", dtype)
    settings = np.array([steps, steps, steps, 0, 0]).tobytes() + np.float64(dt).tobytes()
    given = [q0, qd0, tau, np.zeros((1, 0), dtype), np.frombuffer(settings, dtype)[None]]
    result, status = run_guarded(code, dtype, given, nq + nv)
    assert status == 0
    options = appell.RolloutOptions(integrator)
    path = appell.rollout(dyn, q0, qd0, tau, steps=steps, dt=dt, save_every=steps, options=options)
    np.testing.assert_array_equal(result, np.concatenate([path.q[:, -1], path.qd[:, -1]], axis=-1))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_adjoints_stay_within_their_memory(integrator, dtype):
    """Two segments of steps, torques that change within them, and weights of every second state."""
    robot, count, steps, every, hold, length, dt = MIXED, 11, 6, 2, 4, 4, 1e-3
    dyn, real, tableau = (
        appell.compile(robot, dtype=dtype),
        instruction_set().real(dtype),
        INTEGRATORS[integrator].tableau,
    )
    q0, qd0, tau = (each.astype(dtype) for each in random_states(robot, count))
    torques = np.stack([tau, 2 * tau], axis=1)
    motion = appell.rollout(
        dyn, q0, qd0, torques, steps=steps, dt=dt, control_every=hold, save_every=every,
        options=appell.RolloutOptions(integrator),
    )  # fmt: skip
    rng = np.random.default_rng(3)
    q, qd = (rng.normal(size=each.shape).astype(dtype) for each in (motion.q, motion.qd))
    plan = motion._origin()[1]
    code = opened(adjoint_source(rate_of(dyn, plan)[1](), plan, real), "batch", dtype)
    kept = (
        adjoint.kept_states(adjoint.states_of_step(tableau, plan.quaternions), steps, length)
        * plan.state_size
        * real.lanes
        * real.item
    )
    times = robot.nv, robot.nq, robot.nv
    settings = np.array([steps, every, hold, length, *times]).tobytes() + np.float64(dt).tobytes()
    given = [q0, qd0, torques, np.zeros((1, 0)), q, qd, np.frombuffer(settings, dtype)[None]]
    rows = [each.reshape(len(each), -1).astype(dtype) for each in given]
    entries = plan.state_size + 1 + 2 * robot.nv
    result, status = run_guarded(replace(code, work=code.work + kept), dtype, rows, entries)
    assert status == 0
    expected = motion.vjp(q, qd)
    parts = expected.qd0, np.full((count, 1), -1.0), expected.controls["tau"].reshape(count, -1)
    np.testing.assert_array_equal(result[:, robot.nq :], np.concatenate(parts, axis=1))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("isa", ISAS)
def test_rollouts_on_every_instruction_set(isa, dtype, monkeypatch):
    robot = appell.robots.random_chain(3, seed=6)
    q0, qd0, _ = random_states(robot, 11)
    given = {"steps": 12, "dt": 1e-3, "save_every": 4}
    fast = appell.rollout(CompiledRobot(robot, Options(dtype=dtype, isa=isa)), q0, qd0, **given)
    assert fast.q.dtype == dtype
    monkeypatch.setattr("appell.rollouts.native._library", lambda dyn, plan: None)
    slow = appell.rollout(appell.compile(robot), q0.astype(dtype), qd0.astype(dtype), **given)
    eps = float(np.finfo(dtype).eps)
    assert_close(fast.q, slow.q.astype(dtype), tolerance=200 * eps)
    assert_close(fast.qd, slow.qd.astype(dtype), tolerance=2000 * eps)
