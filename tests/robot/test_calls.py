"""Arrays of every kind at the border: converted or used in place, never misread."""

from __future__ import annotations

import copy
import pickle
import threading
import weakref

import numpy as np
import pytest
from helpers.closeness import assert_close
from helpers.python_kernels import python_kernel
from helpers.random_trees import general_tree
from helpers.states import random_states
from hypothesis import given
from hypothesis import strategies as st

import appell
from appell import _native
from appell.errors import AppellError, ArgumentError

ROBOT = general_tree(9, 31)
SIZES = (0, 1, 2, 7, 8, 9, 63, 64, 65, 1000)


@pytest.fixture(scope="module")
def dyn():
    return appell.compile(ROBOT, threads=1)


@pytest.fixture(scope="module")
def states():
    return random_states(ROBOT, 1000)


@pytest.fixture(scope="module")
def torques(dyn, states):
    """Forces of all states: what every part of the batch must reproduce to the bit."""
    return dyn.inverse_dynamics(*states)


def poisoned(shape, dtype="float64") -> np.ndarray:
    return np.full(shape, np.nan, dtype)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("count", SIZES)
def test_batch_sizes(states, torques, count, threads):
    dyn = appell.compile(ROBOT, threads=threads)
    out = poisoned((count, ROBOT.nv))
    result = dyn.inverse_dynamics(*(each[:count] for each in states), out=out)
    assert result is out
    np.testing.assert_array_equal(result, torques[:count])


@pytest.mark.parametrize("start", [1, 3, 5, 990])
def test_any_place_in_a_batch(dyn, states, torques, start):
    np.testing.assert_array_equal(dyn.inverse_dynamics(*(each[start:] for each in states)), torques[start:])


def test_many_states_on_two_threads(states):
    many = [np.tile(each, (40, 1)) for each in states]
    one, two = appell.compile(ROBOT, threads=1), appell.compile(ROBOT, threads=2)
    np.testing.assert_array_equal(one.inverse_dynamics(*many), two.inverse_dynamics(*many))


def strided(array):
    wide = np.zeros((*array.shape[:-1], 2 * array.shape[-1]))
    wide[..., ::2] = array
    return wide[..., ::2]


def unaligned(array):
    raw = np.zeros(array.nbytes + 8, dtype=np.uint8)
    view = raw[1 : 1 + array.nbytes].view(array.dtype).reshape(array.shape)
    view[...] = array
    assert not view.flags.aligned
    return view


def part_of_a_record(array):
    records = np.zeros(len(array), dtype=[("mark", "u1"), ("value", float, array.shape[1:])])
    records["value"] = array
    return records["value"]


KINDS = {
    "fortran": np.asfortranarray,
    "strided": strided,
    "reversed": lambda array: np.ascontiguousarray(array[::-1, ::-1])[::-1, ::-1],
    "unaligned": unaligned,
    "record": part_of_a_record,
    "big endian": lambda array: array.astype(">f8"),
    "part of wide rows": lambda array: np.hstack([array, array])[:, : array.shape[1]],
    "list": lambda array: array.tolist(),
    "subclass": lambda array: array.view(type("Sub", (np.ndarray,), {})),
    "read-only": lambda array: np.frombuffer(array.tobytes()).reshape(array.shape),
}


@pytest.mark.parametrize("kind", KINDS)
def test_kinds_of_arrays(dyn, states, torques, kind):
    given = [KINDS[kind](each[:100]) for each in states]
    np.testing.assert_array_equal(dyn.inverse_dynamics(*given), torques[:100])
    one = [each[7] for each in given]
    np.testing.assert_array_equal(
        dyn.inverse_dynamics(*one), dyn.inverse_dynamics(*(np.ascontiguousarray(each[7]) for each in states))
    )


@pytest.mark.parametrize("dtype", ["int64", "int8", "uint16", "float32", "float16", "bool"])
def test_other_number_types(dyn, dtype):
    given = [(10 * each).astype(dtype) for each in random_states(ROBOT, 20, seed=2)]
    expected = dyn.inverse_dynamics(*(each.astype(float) for each in given))
    np.testing.assert_array_equal(dyn.inverse_dynamics(*given), expected)


def test_precision_is_the_compiled_one(states):
    dyn = appell.compile(ROBOT, dtype="float32")
    result = dyn.inverse_dynamics(*states)
    assert result.dtype == np.float32
    np.testing.assert_array_equal(result, dyn.inverse_dynamics(*(each.astype("float32") for each in states)))
    with pytest.raises(ArgumentError, match="float32"):
        dyn.gravity(states.q[0], out=np.empty(ROBOT.nv))


@pytest.mark.parametrize("count", SIZES)
def test_columns(states, torques, count):
    dyn = appell.compile(ROBOT, layout="columns")
    columns = [np.ascontiguousarray(each[:count].T) for each in states]
    out = poisoned((ROBOT.nv, count))
    np.testing.assert_array_equal(dyn.inverse_dynamics(*columns, out=out), torques[:count].T)
    np.testing.assert_array_equal(dyn.inverse_dynamics(*(each[:count].T for each in states)), torques[:count].T)


def test_columns_of_matrices_and_numbers(dyn, states):
    columns = appell.compile(ROBOT, layout="columns")
    q, qd = states.q[:10], states.qd[:10]
    np.testing.assert_array_equal(columns.mass_matrix(q.T), np.moveaxis(dyn.mass_matrix(q), 0, -1))
    np.testing.assert_array_equal(columns.kinetic_energy(q.T, qd.T), dyn.kinetic_energy(q, qd))
    np.testing.assert_array_equal(columns.mass_matrix(q[0]), dyn.mass_matrix(q[0]))
    square = random_states(ROBOT, ROBOT.nv).q  # (n, n): which dimension is which must not be guessed
    np.testing.assert_array_equal(columns.gravity(square), dyn.gravity(square.T).T)
    with pytest.raises(ArgumentError, match="first dimension"):
        columns.gravity(np.zeros((ROBOT.nq + 1, 3)))


def test_columns_that_go_straight_to_the_kernel(dyn, states):
    """The second call of a method needs no Python; it must read and write the same numbers, also into `out`."""
    columns = appell.compile(ROBOT, layout="columns")
    for name, count in (("inverse_dynamics", 3), ("mass_matrix", 1), ("kinetic_energy", 2)):
        given = [np.ascontiguousarray(array[:37].T) for array in states[:count]]
        call, expected = getattr(columns, name), getattr(dyn, name)(*(array[:37] for array in states[:count]))
        expected = np.ascontiguousarray(np.moveaxis(expected, 0, -1))
        call(*given)
        np.testing.assert_array_equal(call(*given), expected)
        out = np.full_like(expected, np.nan)
        assert call(*given, out=out) is out
        np.testing.assert_array_equal(out, expected)
        with pytest.raises(appell.ArgumentError):
            call(*(array[:, :5] if k == 0 and count > 1 else array[1:] for k, array in enumerate(given)))


@pytest.mark.parametrize("layout", ["rows", "columns"])
def test_blocks_that_go_straight_to_the_kernel(layout):
    """From the second call on the extension splits the matrix; `method` takes the general way."""
    robot = appell.load("planar2r")
    dyn, states = appell.compile(robot, layout=layout), random_states(robot, 9)
    for inputs in ([each[0] for each in states], [each.T.copy() if layout == "columns" else each for each in states]):
        expected = dyn.inverse_dynamics_derivatives(*inputs, method="analytic")
        whole = np.full(np.concatenate(expected, axis=1 if layout == "columns" else -1).shape, np.nan)
        dyn.inverse_dynamics_derivatives(*inputs)
        for found in (dyn.inverse_dynamics_derivatives(*inputs), dyn.inverse_dynamics_derivatives(*inputs, out=whole)):
            assert type(found) is type(expected)
            for name, block, other in zip(found._fields, found, expected, strict=True):
                np.testing.assert_array_equal(block, other, err_msg=name)
                assert block.strides == other.strides
                assert block.flags.writeable
        assert all(np.shares_memory(block, whole) for block in found)


@pytest.mark.parametrize("name", ["inverse_dynamics", "mass_matrix", "inverse_dynamics_derivatives"])
def test_results_that_are_held_are_not_written_again(dyn, states, name):
    """As a whole, in part, as a view, a buffer or the array behind views; the results of all states stay what they were."""
    call, count = getattr(dyn, name), 1 if name == "mass_matrix" else 3
    expected = call(*(each[:40] for each in states[:count]))
    expected = np.concatenate(expected, axis=-1) if isinstance(expected, tuple) else expected
    ways = (lambda x: x, lambda x: x[..., 1:], memoryview, lambda x: x.base, lambda x: x.T)
    held = []
    for k in range(40):
        result = call(*(each[k] for each in states[:count]))
        parts = result if isinstance(result, tuple) else (result,)
        held.append([result if k % 2 else ways[k % len(ways)](part) for part in parts])
        assert_close(np.concatenate(parts, axis=-1), expected[k], tolerance=1e-10)
    copies = [[np.array(x) for x in each if x is not None] for each in held]
    for k in range(10):
        call(*(each[-k] for each in states[:count]))
    for each, copied in zip(held, copies, strict=True):
        for x, y in zip((x for x in each if x is not None), copied, strict=True):
            np.testing.assert_array_equal(x, y)


@pytest.mark.skipif(_native.Kernel is None, reason="the C extension was not built")
@pytest.mark.parametrize("name", ["inverse_dynamics", "inverse_dynamics_derivatives"])
def test_results_that_nobody_holds_are_written_again(dyn, states, name):
    """Unless somebody changed the array, or watches it."""
    call, state = getattr(dyn, name), [each[0] for each in states]
    for _ in range(4):
        result = call(*state)  # the last one is held while the next one is computed
    expected = np.array(result)
    places = {np.asarray(call(*state)[0]).ctypes.data for _ in range(20)}
    assert len(places) == 1

    def part():
        result = call(*state)
        return result[0] if isinstance(result, tuple) else result

    changes = {
        "read-only": lambda x: x.setflags(write=False),
        "shape": lambda x: (
            setattr(x, "shape", x.shape[::-1] if x.ndim == 1 else (*x.shape, 1)) if x.flags.c_contiguous else None
        ),
        "watched": lambda x: watchers.append(weakref.ref(x)),
    }
    watchers: list = []
    for change in changes.values():
        for _ in range(3):
            change(part())
            found = call(*state)
            np.testing.assert_array_equal(np.array(found), expected)
            assert all(block.flags.writeable for block in (found if isinstance(found, tuple) else (found,)))


@pytest.mark.skipif(_native.Kernel is None, reason="the C extension was not built")
def test_blocks_must_fill_the_result():
    function, kernel = _native.Function(lambda q: q), python_kernel(lambda n: 0)[0]
    with pytest.raises(ValueError, match="blocks lie outside"):
        _native.bind(function, kernel, None, True, (), tuple, (1, 3))
    with pytest.raises(ValueError, match="blocks lie outside"):
        _native.bind(function, kernel, None, True, (), list, (2,))
    with pytest.raises(ValueError, match="negative size among the widths"):
        _native.bind(function, kernel, None, True, (), tuple, (3, -1))


def test_columns_of_run_time_parameters_that_go_straight_to_the_kernel(dyn, states):
    columns = appell.compile(ROBOT, layout="columns", parameters="runtime")
    q = np.ascontiguousarray(states.q[:37].T)
    own = np.outer(columns.parameters, np.linspace(0.5, 1.5, 37))
    columns.gravity(q)
    np.testing.assert_allclose(columns.gravity(q), dyn.gravity(q.T).T, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(
        columns.gravity(q, parameters=own), dyn.gravity(q.T, parameters=own.T).T, rtol=1e-12, atol=1e-12
    )


def test_columns_with_gravity_and_forces(dyn, states):
    columns = appell.compile(ROBOT, layout="columns")
    rng = np.random.default_rng(6)
    gravity, frame = rng.normal(size=(10, 3)), ROBOT.body_names[-1]
    wrench = rng.normal(size=(10, 6))
    expected = dyn.bias(states.q[:10], states.qd[:10], gravity=gravity, external_forces={frame: wrench})
    result = columns.bias(states.q[:10].T, states.qd[:10].T, gravity=gravity.T, external_forces={frame: wrench.T})
    assert_close(result.T, expected)


leads = st.lists(st.sampled_from([1, 2, 3, 9]), max_size=3).map(tuple)


@given(lead=leads, dropped=st.tuples(st.integers(0, 3), st.integers(0, 3)), ones=st.booleans())
def test_broadcasting(lead, dropped, ones):
    dyn = appell.compile(ROBOT, threads=1)
    rng = np.random.default_rng(7)
    q = rng.uniform(-2, 2, (*lead, ROBOT.nq))
    qd = rng.uniform(-2, 2, (*lead[dropped[0] :], ROBOT.nv))
    qdd = rng.uniform(-2, 2, (*(lead if not ones else (1,) * len(lead))[dropped[1] :], ROBOT.nv))
    result = dyn.inverse_dynamics(q, qd, qdd)
    assert result.shape == (*lead, ROBOT.nv)
    full = [np.broadcast_to(each, result.shape).reshape(-1, ROBOT.nv) for each in (q, qd, qdd)]
    expected = dyn.inverse_dynamics(*(np.ascontiguousarray(each) for each in full))
    assert_close(result.reshape(-1, ROBOT.nv), expected)


def test_out_that_is_an_input(dyn, states, torques):
    q, qd, qdd = (each[:50].copy() for each in states)
    assert dyn.inverse_dynamics(q, qd, qdd, out=qdd) is qdd
    np.testing.assert_array_equal(qdd, torques[:50])
    shifted = states.qdd[:51].copy()
    dyn.inverse_dynamics(q, qd, shifted[:50], out=shifted[1:])
    np.testing.assert_array_equal(shifted[1:], torques[:50])


def test_out_of_a_batch_is_used_in_place(dyn, states, torques):
    """The short way through the extension writes into the caller's array, matrices too."""
    out = poisoned((1000, ROBOT.nv))
    assert dyn.inverse_dynamics(*states, out=out) is out
    np.testing.assert_array_equal(out, torques)
    matrices = poisoned((1000, ROBOT.nv, ROBOT.nv))
    expected = dyn.mass_matrix(states.q)
    assert dyn.mass_matrix(states.q, out=matrices) is matrices
    np.testing.assert_array_equal(matrices, expected)


def test_a_method_that_was_looked_up_early_becomes_fast(states):
    dyn = appell.compile(ROBOT)
    gravity = dyn.gravity
    first = gravity(states.q[0])
    assert gravity is dyn.gravity
    np.testing.assert_array_equal(gravity(states.q[0]), first)
    assert "forces g(q)" in gravity.__doc__
    with pytest.raises(TypeError, match="unexpected keyword"):
        gravity(states.q[0], speed=1)
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        gravity()


def test_out_of_any_strides(dyn, states, torques):
    for out in (
        np.asfortranarray(poisoned((50, ROBOT.nv))),
        poisoned((50, 2 * ROBOT.nv))[:, ::2],
        poisoned((100, ROBOT.nv))[::2],
    ):
        assert dyn.inverse_dynamics(*(each[:50] for each in states), out=out) is out
        np.testing.assert_array_equal(out, torques[:50])


@pytest.mark.parametrize(
    "out", [np.empty(ROBOT.nv + 1), np.empty((1, ROBOT.nv)), np.empty(ROBOT.nv, "f4"), [0.0] * ROBOT.nv]
)
def test_out_of_the_wrong_kind(dyn, states, out):
    with pytest.raises(ArgumentError, match="out is"):
        dyn.gravity(states.q[0], out=out)


def test_out_that_is_read_only(dyn, states):
    out = np.zeros(ROBOT.nv)
    out.flags.writeable = False
    with pytest.raises(ArgumentError, match="read-only"):
        dyn.gravity(states.q[0], out=out)
    assert not out.any()


def test_numbers_come_as_numbers(dyn, states):
    energy = dyn.kinetic_energy(states.q[0], states.qd[0])
    assert isinstance(energy, np.float64)
    assert dyn.kinetic_energy(states.q, states.qd).shape == (1000,)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("index", [(0, 0), (999, 2), (503, 1)])
def test_a_bad_number_in_a_batch_is_named(states, bad, index):
    dyn = appell.compile(ROBOT, threads=2)
    dyn.inverse_dynamics(*states)
    qd = states.qd.copy()
    qd[index] = bad
    with pytest.raises(ArgumentError, match=rf"qd\[\({index[0]}, {index[1]}\)\] is {bad}"):
        dyn.inverse_dynamics(states.q, qd, states.qdd)
    unchecked = dyn.inverse_dynamics(states.q, qd, states.qdd, check=False)
    np.testing.assert_array_equal(
        np.delete(unchecked, index[0], 0), np.delete(dyn.inverse_dynamics(*states), index[0], 0)
    )


def test_a_bad_number_in_one_state_is_named(dyn, states):
    dyn.inverse_dynamics(*(each[0] for each in states))
    q = states.q[0].copy()
    q[1] = np.nan
    with pytest.raises(ArgumentError, match=r"q\[1\] is nan"):
        dyn.inverse_dynamics(q, states.qd[0], states.qdd[0])
    assert np.isnan(dyn.inverse_dynamics(q, states.qd[0], states.qdd[0], check=False)).any()


def test_overflow_is_told(dyn, states):
    with pytest.raises(AppellError, match="inverse_dynamics"):
        dyn.inverse_dynamics(states.q[0], 1e200 * states.qd[0], states.qdd[0])


@pytest.mark.parametrize(
    ("q", "message"),
    [
        (np.zeros(99), "shape"),
        (0.0, "shape"),
        (np.zeros(ROBOT.nq, complex), "real numbers"),
        ("text", "real numbers"),
        (None, "real"),
    ],
)
def test_bad_inputs(dyn, q, message):
    with pytest.raises(ArgumentError, match=message):
        dyn.gravity(q)


def test_calls_from_several_threads(states, torques):
    dyn = appell.compile(ROBOT, threads=2)
    wrong = []

    def work():
        for _ in range(20):
            if not np.array_equal(dyn.inverse_dynamics(*states), torques):
                wrong.append(1)
            dyn.inverse_dynamics(*(each[0] for each in states))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_copies_and_pickles(states):
    robot = appell.robots.random_chain(3, seed=8)
    dyn = appell.compile(robot)
    q = np.array([0.1, 0.2, 0.3])
    expected = dyn.gravity(q)
    robot.gravity(q)
    for twin in (pickle.loads(pickle.dumps(dyn)), copy.deepcopy(dyn)):
        np.testing.assert_array_equal(twin.gravity(q), expected)
    assert_close(pickle.loads(pickle.dumps(robot)).gravity(q), expected)


def test_methods_with_split_results_are_pickled():
    robot = appell.robots.random_chain(3, seed=8)
    state = np.array([[0.1, 0.2, 0.3], [0.4, 0.5, 0.6], [0.7, 0.8, 0.9]])
    for each in (robot, appell.compile(robot)):
        expected = each.inverse_dynamics_derivatives(*state)
        method = pickle.loads(pickle.dumps(each.inverse_dynamics_derivatives))
        for found, block in zip(method(*state), expected, strict=True):
            assert_close(found, block, tolerance=1e-14)
        assert each.inverse_dynamics_derivatives.__name__ == "inverse_dynamics_derivatives"


def test_a_forked_process_can_use_threads(states, torques):
    import multiprocessing

    dyn = appell.compile(ROBOT, threads=2)
    many = [np.tile(each, (10, 1)) for each in states]
    dyn.inverse_dynamics(*many)
    context = multiprocessing.get_context("fork")
    answers = context.Queue()
    child = context.Process(target=lambda: answers.put(dyn.inverse_dynamics(*many)[:1000]))
    child.start()
    result = answers.get(timeout=60)
    child.join(60)
    np.testing.assert_array_equal(result, torques)


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({"dtype": "float16"}, "dtype"), ({"target": "tpu"}, "target"), ({"parameters": "frozen"}, "parameters"),
        ({"layout": "diagonal"}, "layout"), ({"threads": 0}, "threads"), ({"threads": 1.5}, "threads"),
    ],
)  # fmt: skip
def test_choices_that_do_not_exist(choice, message):
    with pytest.raises(ArgumentError, match=message):
        appell.compile(ROBOT, **choice)


def test_what_it_is_shows():
    assert "float32" in repr(appell.compile(ROBOT, dtype="float32"))
    assert "layout" not in repr(appell.compile(ROBOT))
