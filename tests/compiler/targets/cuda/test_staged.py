"""Derivatives of forward dynamics in stages, where there is no GPU: the kernels as C++, and their launches."""

from __future__ import annotations

import ctypes
from types import SimpleNamespace

import numpy as np
import pytest
from helpers.closeness import assert_close
from helpers.cuda_as_cpp import compiler, launch, library, pointer
from helpers.states import random_states

import appell
from appell.compiler.stages import Stages
from appell.compiler.targets.cuda import staged
from appell.compiler.targets.cuda.source import BLOCK
from appell.compiler.targets.cuda.staged import WARP, WARPS, StagedKernel, staged_source

ROBOT = appell.robots.random_tree(11, seed=8, branching=0.4)
STAGES = Stages.of(ROBOT.system.recursion)


@pytest.mark.skipif(compiler() is None, reason="no C++ compiler")
@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-10), ("float32", 2e-3)])
def test_stages_compute_what_the_library_computes(tmp_path, dtype, tolerance):
    """Of a batch that fills one block of a warp's states and part of another one, in columns that are longer."""
    assert STAGES is not None
    count, pitch, n = 41, 50, ROBOT.nv
    q, qd, tau = random_states(ROBOT, count)
    qdd = ROBOT.forward_dynamics(q, qd, tau)
    derivatives = np.concatenate(ROBOT.inverse_dynamics_derivatives(q, qd, qdd), axis=-1).reshape(count, -1)
    D, out = (np.full((3 * n * n, pitch), np.nan, dtype) for _ in range(2))
    D[:, :count] = derivatives.T
    factors = np.full(2 * WARP * len(STAGES.factors.outputs), np.nan, dtype)
    code = library(staged_source(STAGES, dtype), tmp_path)
    place, size = [pointer(D), ctypes.c_int(pitch), pointer(factors)], ctypes.c_longlong(count)
    launch(code, "appell_factors", BLOCK, count, [*place, size])
    for block in range(2):
        for _ in range(2):  # threads run one after the other: factors are all in shared memory at the second time
            for thread in range(WARP * WARPS):
                code.appell_at(ctypes.c_longlong(block * WARP * WARPS + thread), WARP * WARPS, 0)
                code.appell_solution(*place, pointer(out), ctypes.c_int(pitch), size)
    expected = np.concatenate(ROBOT.forward_dynamics_derivatives(q, qd, tau), axis=-1).reshape(count, -1)
    assert_close(out[:, :count].T.astype("float64"), expected, tolerance=tolerance)
    assert np.isnan(out[:, count:]).all()


def test_a_batch_is_taken_in_portions(monkeypatch):
    """Each stage gets the addresses of its portion; shared inputs stay where they are."""
    assert STAGES is not None
    n, launches = ROBOT.nv, []

    def array(address: int) -> SimpleNamespace:
        return SimpleNamespace(data=SimpleNamespace(ptr=address))

    def function(name: str):
        return SimpleNamespace(launch=lambda arrays, strides, count: launches.append((name, arrays, strides, count)))

    kernel = StagedKernel.__new__(StagedKernel)
    kernel.n, kernel.dtype, kernel.factors, kernel.shared = n, np.dtype("float64"), len(STAGES.factors.outputs), 512
    kernel.accelerations, kernel.derivatives = function("accelerations"), function("derivatives")
    kernel.factorise = lambda grid, block, arguments: launches.append(("factors", grid, arguments[-1]))
    kernel.solve = lambda grid, block, arguments, shared_mem: launches.append(("solution", grid, arguments[3:]))
    monkeypatch.setattr(staged, "cupy", lambda: SimpleNamespace(empty=lambda shape, dtype: shape))
    monkeypatch.setattr(staged, "PORTION_BYTES", 100 * 3 * n * n * 8)
    strides = [(1, 150), (1, 150), (0, 1), (1, 150)]
    kernel.launch([array(0), array(10_000), array(20_000), array(30_000)], strides, 150)
    first, second = launches[:4], launches[4:]
    assert [each[0] for each in first] == ["accelerations", "derivatives", "factors", "solution"]
    assert (first[0][1][:3], first[0][3]) == ((0, 10_000, 20_000), 100)
    assert (second[0][1][:3], second[0][3]) == ((800, 10_800, 20_000), 50)
    assert second[1][2] == ((1, 150), (1, 150), (1, 100), (1, 100))
    assert (first[2][1], first[3][1], second[3][1]) == ((2, 1)[:1], (4,), (2,))
    assert (first[3][2][0], second[3][2]) == (30_000, (30_800, 150, 50))
