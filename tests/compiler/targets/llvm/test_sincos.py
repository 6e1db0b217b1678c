"""Vector sine and cosine against extended precision and libm."""

from __future__ import annotations

import math

import numpy as np
import pytest
from helpers.native_kernels import evaluate, inputs, kernel, listed

from appell.compiler.operations import Operation
from appell.compiler.sincos import LARGEST_ANGLE, PRECISIONS
from appell.compiler.targets.llvm.isa import supported

ISAS = [each.name for each in supported()]
DTYPES = ("float64", "float32")
HALF_PI = np.longdouble("1.57079632679489661923132169163975144")


@pytest.fixture(scope="module")
def sincos():
    """(N,) angles to (N, 2) sines and cosines, in batches and one by one."""
    kernels = {}

    def function(x: np.ndarray, isa: str | None = None, single: bool = False) -> np.ndarray:
        key = x.dtype.name, isa
        if key not in kernels:
            operations = [*inputs(1), Operation("sin", (0,)), Operation("cos", (0,))]
            kernels[key] = kernel(listed(*operations, sizes=(1,), outputs=(1, 2)), x.dtype.name, isa)
        if not single:
            return evaluate(kernels[key], x[:, None], outputs=2, dtype=x.dtype.name)
        out = np.full((len(x), 2), np.nan, x.dtype)
        for row, angle in zip(out, x, strict=True):
            kernels[key].run((np.array([angle], x.dtype),), row)
        return out

    return function


def limit(dtype: str) -> float:
    return PRECISIONS[dtype].limit


def angles(dtype: str) -> np.ndarray:
    """Ordinary, large and small angles, and the neighbours of many multiples of a quarter turn, all within the limit."""
    rng = np.random.default_rng(1)
    most = limit(dtype)
    quarters = rng.integers(-int(most / 1.5708), int(most / 1.5708), 40000)
    near = (quarters * HALF_PI).astype(dtype)
    x = np.concatenate([
        rng.uniform(-most, most, 40000), rng.uniform(-4, 4, 40000),
        np.ldexp(rng.uniform(-1, 1, 5000), rng.integers(-300, 8, 5000)),
        near, np.nextafter(near, np.inf, dtype=dtype), np.nextafter(near, -np.inf, dtype=dtype),
        ((quarters + 0.5) * HALF_PI), [most, -most, 0.0, math.pi, math.pi / 2, math.pi / 4],
    ]).astype(dtype)  # fmt: skip
    return x[np.abs(x) <= most]


def ulps(actual: np.ndarray, exact: np.ndarray) -> np.ndarray:
    """Error in units of the last place of the exact value."""
    unit = np.spacing(np.maximum(np.abs(exact.astype(actual.dtype)), np.finfo(actual.dtype).tiny))
    return np.abs(actual - exact) / unit


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_two_ulps_up_to_the_limit(sincos, dtype, isa):
    x = angles(dtype)
    wide = x.astype(np.longdouble)
    if np.finfo(np.longdouble).eps > 1e-18 and dtype == "float64":
        pytest.skip("this machine has no extended precision to compare with")
    error = ulps(sincos(x, isa), np.stack([np.sin(wide), np.cos(wide)], axis=1))
    worst = np.unravel_index(error.argmax(), error.shape)
    assert error[worst] <= 2.0, f"{['sin', 'cos'][worst[1]]}({x[worst[0]]!r}) is off by {error[worst]} ulp"


def test_one_million_against_arbitrary_precision(sincos):
    mpmath = pytest.importorskip("mpmath")
    x = np.random.default_rng(2).uniform(-1e6, 1e6, 300)
    x[:100] = np.round(x[:100] / (math.pi / 2)) * (math.pi / 2)
    with mpmath.workdps(60):
        exact = np.array([[np.longdouble(str(f(mpmath.mpf(float(v))))) for f in (mpmath.sin, mpmath.cos)] for v in x])
    assert ulps(sincos(x), exact).max() <= 2.0


@pytest.mark.parametrize("single", [False, True], ids=["batch", "one"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_beyond_the_limit_is_libm(sincos, dtype, single):
    x = np.array([limit(dtype) * 1.001, -LARGEST_ANGLE[dtype] / 3, LARGEST_ANGLE[dtype]], dtype)
    x = np.concatenate([x, np.array([0.5, -0.25, 2.0], dtype)])  # neighbours in the same vector
    expected = np.stack([np.sin(x.astype("float64")), np.cos(x.astype("float64"))], axis=1).astype(dtype)
    assert ulps(sincos(x, single=single), expected).max() <= 2.0


@pytest.mark.parametrize("single", [False, True], ids=["batch", "one"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_not_a_number_infinity_and_far_angles(sincos, dtype, single):
    far, largest = np.nextafter(np.array(LARGEST_ANGLE[dtype], dtype), np.array(np.inf, dtype)), np.finfo(dtype).max
    x = np.array([np.nan, np.inf, -np.inf, far, -far, largest, 1.0], dtype)
    result = sincos(x, single=single)
    assert np.isnan(result[:-1]).all()
    assert ulps(result[-1], np.array([math.sin(1.0), math.cos(1.0)])).max() <= 2.0


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_zeros_and_denormals_keep_value_and_sign(sincos, dtype, isa):
    tiny = float(np.finfo(dtype).smallest_subnormal)
    x = np.array([0.0, -0.0, tiny, -tiny, 1000 * tiny, -float(np.finfo(dtype).tiny)], dtype)
    sine, cosine = sincos(x, isa).T
    np.testing.assert_array_equal(sine, x)
    np.testing.assert_array_equal(np.signbit(sine), np.signbit(x))
    np.testing.assert_array_equal(cosine, np.ones_like(x))


def test_a_lane_does_not_depend_on_its_neighbours(sincos):
    x = np.random.default_rng(3).uniform(-3, 3, 64)
    alone = sincos(x)
    disturbed = x.copy()
    disturbed[::3] = np.resize([1e9, np.nan, np.inf], disturbed[::3].shape)
    kept = np.arange(64) % 3 != 0
    np.testing.assert_array_equal(sincos(disturbed)[kept], alone[kept])
