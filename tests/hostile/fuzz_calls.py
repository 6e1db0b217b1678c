"""Random calls of compiled robots with odd arguments: `python fuzz_calls.py SEED CALLS`.

Arguments differ in shape, type, memory layout, alignment, aliasing and content. A call gives what the same numbers in plain
arrays give, or raises an error of the library; inputs, the memory around `out` and results that are held do not change, whatever
is done to those that are not. Run by the tests, with more calls by `.ci/nightly`, and under sanitizers by `.ci/sanitize`.
"""

import sys

import numpy as np

import appell
from appell.errors import AppellError

FUNCTIONS = {
    "inverse_dynamics": ("q", "v", "v"),
    "forward_dynamics": ("q", "v", "v"),
    "mass_matrix": ("q",),
    "gravity": ("q",),
    "kinetic_energy": ("q", "v"),
}
MATRICES = ("inverse_dynamics_derivatives", "forward_dynamics_derivatives")
GUARD = 16
GUARD_VALUE = 12345.0


def main(seed: int, calls: int) -> None:
    rng = np.random.default_rng(seed)
    robots = compiled_robots()
    counts = {"results": 0, "errors": 0}
    held: list[tuple[np.ndarray, np.ndarray]] = []
    for k in range(calls):
        dyn = robots[rng.integers(len(robots))]
        try:
            counts[one_call(rng, dyn)] += 1
            results_of_one_state(rng, dyn, held)
        except BaseException:
            print(f"seed {seed}, call {k}: {dyn!r}", file=sys.stderr)
            raise
    print(f"seed {seed}: {calls} calls, {counts['results']} results, {counts['errors']} errors")
    assert min(counts.values()) > calls // 10


def ball_and_hinge():
    """A robot with a quaternion."""
    builder = appell.RobotBuilder("ball and hinge")
    builder.body("upper", 1.0, (0.2, 0.0, 0.0), (0.01, 0.02, 0.03)).body(
        "lower", 0.5, (0.1, 0.0, 0.0), (0.01, 0.01, 0.01)
    )
    return builder.spherical("ball", "base", "upper").revolute("hinge", "upper", "lower", xyz=(0.4, 0.0, 0.0)).build()


def compiled_robots() -> list:
    planar, puma, ball = appell.load("planar2r"), appell.load("puma560"), ball_and_hinge()
    return [
        appell.compile(planar),
        appell.compile(planar, layout="columns", threads=2),
        appell.compile(planar, dtype="float32"),
        appell.compile(planar, parameters="runtime"),
        appell.compile(puma, threads=2),
        appell.compile(ball),
        appell.compile(ball, layout="columns"),
    ]


def one_call(rng, dyn) -> str:
    """Whether there was a result or an error."""
    name = list(FUNCTIONS)[rng.integers(len(FUNCTIONS))]
    columns, dtype = dyn.options.layout == "columns", dyn.options.dtype
    lead = LEADS[rng.integers(len(LEADS))]
    plain = [random_input(rng, dyn, kind, lead) for kind in FUNCTIONS[name]]
    plain = [np.ascontiguousarray(np.moveaxis(x, -1, 0)) if columns else x for x in plain]
    given, faithful = zip(*(disguised(rng, x) for x in plain), strict=True)
    expected = plain_result(dyn, name, plain)
    options, memory, usable = random_options(rng, given, np.shape(expected), dtype)
    before = [x.copy() if isinstance(x, np.ndarray) and x.size < 10**6 else None for x in given]
    guards = None if memory is None else memory.copy()
    if rng.random() < 0.02:
        given = given[:-1] if rng.random() < 0.5 else (*given, given[0])
    try:
        result = getattr(dyn, name)(*given, **options)
    except AppellError:
        assert not (all(faithful) and usable and expected is not None and len(given) == len(plain))
        return "errors"
    except TypeError as error:
        if "argument" not in str(error):
            raise
        return "errors"
    if options.get("out") is not None:
        assert result is options["out"]
    if memory is not None:
        assert (memory[:GUARD] == guards[:GUARD]).all()
        assert (memory[-GUARD:] == guards[-GUARD:]).all()
    for x, y in zip(given, before, strict=False):
        if y is not None and not np.may_share_memory(x, result):
            np.testing.assert_array_equal(x, y)
    if expected is not None and all(faithful):
        tolerance = 1e-3 if dtype == "float32" else 1e-9
        np.testing.assert_allclose(
            result, expected, rtol=tolerance, atol=tolerance * (1 + np.abs(expected).max(initial=0))
        )
    return "results"


def results_of_one_state(rng, dyn, held: list) -> None:
    """Some are held, as a whole or in part, and stay as they are; others are changed and let go."""
    name = [*FUNCTIONS, *MATRICES][rng.integers(len(FUNCTIONS) + len(MATRICES))]
    state = [random_input(rng, dyn, kind, ()) for kind in FUNCTIONS.get(name, ("q", "v", "v"))]
    expected = plain_result(dyn, name, state)
    if expected is None:
        return
    results = [getattr(dyn, name)(*state) for _ in range(rng.integers(1, 5))]
    parts = [np.atleast_1d(x) for each in results for x in (each if isinstance(each, tuple) else (each,))]
    if name in MATRICES:
        np.testing.assert_array_equal(np.concatenate(results[-1], axis=-1), expected)
    for part in parts:
        ways = (part, part.base, part[..., :1], memoryview(part), part.T)
        if part.base is not None or name not in MATRICES:
            way = ways[rng.integers(len(ways))]
            if way is not None:
                held.append((np.asarray(way), np.array(way)))
    results, parts = [], []
    result = getattr(dyn, name)(*state)
    ruin(rng, result[0] if isinstance(result, tuple) else result)
    for array, copy in held:
        np.testing.assert_array_equal(array, copy)
    while len(held) > 12:
        held.pop(rng.integers(len(held)))


def ruin(rng, part: np.ndarray) -> None:
    """Change how an array lies in its memory, or whether it can be written, in place."""
    way = rng.integers(6)
    if not isinstance(part, np.ndarray):
        return
    if way == 0:
        part.flags.writeable = False
    elif way == 1 and part.flags.c_contiguous:
        part.shape = (-1, 1)
    elif way == 2:
        part.dtype = np.int64 if part.itemsize == 8 else np.int32


def plain_result(dyn, name: str, inputs: list) -> np.ndarray | None:
    """The result for plain arrays, computed without the C extension's short way; None where there is an error."""
    try:
        return dyn.functions[name, None](tuple(inputs))
    except AppellError:
        return None


LEADS = [(), (), (1,), (0,), (3,), (7,), (8,), (17,), (2, 3), (0, 4), (300,), (2000,)]


def random_input(rng, dyn, kind: str, lead: tuple) -> np.ndarray:
    """Numbers of one input, sometimes not finite or of huge size."""
    values = rng.uniform(-2, 2, (*lead, dyn.robot.nq if kind == "q" else dyn.robot.nv))
    if kind == "q" and dyn.robot.nq > dyn.robot.nv:
        values[..., :4] /= np.linalg.norm(values[..., :4], axis=-1, keepdims=True)
        if rng.random() < 0.05:
            values[..., :4] *= 2.0
    if values.size and rng.random() < 0.06:
        values.flat[rng.integers(values.size)] = rng.choice([np.nan, np.inf, -np.inf, 1e308, 5e-324, -0.0, 1e9])
    with np.errstate(over="ignore"):
        return values.astype(dyn.options.dtype)


FORMS = [
    (lambda x: x.copy(order="F"), True),
    (lambda x: np.repeat(x, 2, axis=-1)[..., ::2], True),
    (lambda x: np.flip(np.flip(x, 0).copy(), 0), True),
    (lambda x: x.astype(np.longdouble), True),
    (lambda x: x.astype(x.dtype.newbyteorder()), True),
    (lambda x: misaligned(x), True),
    (lambda x: np.broadcast_to(x, x.shape), True),
    (lambda x: x.view(np.recarray), True),
    (lambda x: x.tolist() if x.size else x, True),
    (lambda x: x.astype(object), False),
    (lambda x: x.astype(complex), False),
    (lambda x: x.astype(str), False),
    (lambda x: x[..., :-1], False),
    (lambda x: np.append(x, x, axis=-1), False),
    (lambda x: x[None], False),
    (lambda x: x.reshape(-1), False),
    (lambda x: np.float64(1.0), False),
    (lambda x: None, False),
    (lambda x: "q", False),
    (lambda x: memoryview(np.ascontiguousarray(x)), True),
    (lambda x: np.zeros(x.shape, np.int8), False),
    (lambda x: np.zeros(x.shape, bool), False),
]
"""Other forms of an array, and whether they hold the same numbers in an allowed type."""


def disguised(rng, x: np.ndarray) -> tuple:
    """The same numbers in another form, or others; and whether they are the same and allowed."""
    if rng.random() < 0.6:
        return x, True
    form, faithful = FORMS[rng.integers(len(FORMS))]
    return form(x), faithful


def misaligned(x: np.ndarray) -> np.ndarray:
    array = np.empty(x.nbytes + 1, np.uint8)[1:].view(x.dtype).reshape(x.shape)
    array[...] = x
    return array


def random_options(rng, given: tuple, shape: tuple, dtype: str) -> tuple:
    """Keywords of a call, the memory that `out` lies in, and whether they are allowed."""
    options: dict = {}
    memory = None
    usable = True
    if rng.random() < 0.5:
        memory = np.full(int(np.prod(shape)) + 2 * GUARD, GUARD_VALUE, dtype)
        inner = memory[GUARD:-GUARD].reshape(shape)
        outs = [
            (inner, True),
            (inner, True),
            (inner, True),
            (inner.T, len(shape) < 2),
            (memory, False),
            (np.empty(shape, "int64"), False),
            (misaligned(inner), False),
            (np.broadcast_to(np.float64(0.0), shape), False),
            (given[0], False),
            (given[-1][::-1] if isinstance(given[-1], np.ndarray) and given[-1].ndim else None, False),
            ([0.0] * 3, False),
        ]
        options["out"], usable = outs[rng.integers(len(outs))]
    if rng.random() < 0.2:
        checks = [True, False, np.True_, np.False_, None, 1, "no", np.array([1, 2]), np.zeros(0), object()]
        options["check"] = checks[rng.integers(len(checks))]
        usable = usable and isinstance(options["check"], (bool, np.bool_))
    if rng.random() < 0.03:
        wrong = [("parameters", np.zeros(3)), ("speed", 1), ("method", "fast"), ("gravity", "down")]
        options.update([wrong[rng.integers(len(wrong))]])
        usable = False
    return options, memory, usable


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
