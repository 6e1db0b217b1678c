"""Compilers that are there, missing or broken."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings

import numpy as np
import pytest
from helpers.closeness import assert_close

import appell
import appell._native as native
from appell.algorithms.function_spec import FunctionSpec
from appell.compiler.interpret import GraphKernel
from appell.compiler.targets.c import isa, library, target, toolchain
from appell.compiler.targets.c.library import CtypesKernel
from appell.errors import CompileError

STATE = np.array([0.3, -0.7])


@pytest.fixture(autouse=True)
def fresh(monkeypatch, tmp_path):
    """Nothing in the cache, nothing said yet."""
    monkeypatch.setenv("APPELL_CACHE_DIR", str(tmp_path / "cache"))
    target.warn_once.cache_clear()
    library.warn_ctypes_fallback.cache_clear()


def robot() -> appell.Robot:
    return appell.robots.random_chain(2, seed=71)


def often(function, times: int = 40):
    for _ in range(times):
        result = function()
    return result


def script(tmp_path, text: str) -> str:
    path = tmp_path / "fake-cc"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


@pytest.fixture
def no_compiler(monkeypatch, tmp_path):
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(toolchain, "zig_command", list)


def test_without_a_compiler_one_warning_and_right_results(no_compiler):
    dyn = appell.compile(robot())
    with pytest.warns(RuntimeWarning, match="no C compiler was found"):
        result = often(lambda: dyn.gravity(STATE))
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # said once
        often(lambda: appell.compile(robot()).bias(STATE, STATE), 3)
        often(lambda: robot().gravity(STATE), 3)
    assert isinstance(dyn.functions.kernel(FunctionSpec("gravity")).kernel, GraphKernel)
    assert_close(result, robot().gravity(STATE))
    assert dyn.gravity(np.tile(STATE, (5, 1))).shape == (5, 2)


def test_without_a_compiler_other_options_work_too(no_compiler):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = robot().gravity(STATE)
        single = appell.compile(robot(), dtype="float32", layout="columns", parameters="runtime")
        assert_close(single.gravity(np.tile(STATE, (3, 1)).T)[:, 1], expected.astype("float32"))


def test_switched_off_by_the_environment(monkeypatch):
    monkeypatch.setenv("APPELL_NATIVE", "0")
    dyn = appell.compile(robot())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        often(lambda: dyn.gravity(STATE))
    assert isinstance(dyn.functions.kernel(FunctionSpec("gravity")).kernel, GraphKernel)


def test_a_broken_compiler_speaks_for_itself(monkeypatch, tmp_path):
    monkeypatch.setenv("CC", script(tmp_path, "echo 'fatal: the licence has expired' >&2; exit 3"))
    with pytest.raises(CompileError, match="the licence has expired") as caught:
        appell.compile(robot()).gravity(STATE)
    assert caught.value.output == "fatal: the licence has expired"
    assert "status 3" in str(caught.value)


def test_a_broken_compiler_does_not_stop_a_robot(monkeypatch, tmp_path):
    monkeypatch.setenv("CC", script(tmp_path, "echo 'fatal: the licence has expired' >&2; exit 3"))
    ours = robot()
    with pytest.warns(RuntimeWarning, match="the licence has expired") as told:
        result = often(lambda: ours.gravity(STATE), 100)
    assert len(told) == 1
    monkeypatch.setenv("APPELL_NATIVE", "0")
    np.testing.assert_array_equal(result, robot().gravity(STATE))


@pytest.mark.parametrize("text", ["exit 0", 'for last; do :; done; echo garbage > "$(dirname $1)/kernel.so"; exit 0'])
def test_a_compiler_that_produces_nothing(monkeypatch, tmp_path, text):
    monkeypatch.setenv("CC", script(tmp_path, text))
    with pytest.raises(CompileError):
        appell.compile(robot()).gravity(STATE)


def test_a_compiler_whose_product_is_no_library(monkeypatch, tmp_path):
    body = 'while [ "$1" != "-o" ]; do shift; done; echo garbage > "$2"'
    monkeypatch.setenv("CC", script(tmp_path, body))
    with pytest.raises(CompileError, match="cannot be loaded"):
        appell.compile(robot()).gravity(STATE)


def test_a_cc_that_does_not_exist_is_named(monkeypatch):
    monkeypatch.setenv("CC", "no-such-compiler -O9")
    with pytest.raises(CompileError, match="no-such-compiler"):
        appell.compile(robot()).gravity(STATE)


def test_cc_comes_first_and_may_have_arguments(monkeypatch, tmp_path, compiler):
    monkeypatch.setenv("CC", f"{compiler.command[0]} -DANYTHING")
    found = toolchain.find_compiler()
    assert found is not None
    assert found.command[1:] == (*compiler.command[1:], "-DANYTHING")[-1:]
    assert_close(appell.compile(robot()).gravity(STATE), robot().gravity(STATE))


def test_zig_from_the_package_index(monkeypatch):
    command = toolchain.zig_command()
    if not command:
        pytest.skip("the package ziglang is not installed")
    monkeypatch.setenv("CC", " ".join(command))
    ours = robot()
    q = np.random.default_rng(1).uniform(-2, 2, (37, 2))
    for dtype in ("float64", "float32"):
        dyn = appell.compile(ours, dtype=dtype)
        assert_close(
            dyn.inverse_dynamics(q, q, q), ours.inverse_dynamics(q.astype(dtype), q, q).astype(dtype), tolerance=1e-6
        )


def test_without_the_extension_kernels_still_run(monkeypatch, compiler):
    q = np.random.default_rng(1).uniform(-2, 2, (20, 2))
    expected = appell.compile(robot()).inverse_dynamics(q, q, q)
    monkeypatch.setattr(native, "Kernel", None)
    monkeypatch.setattr(native, "Function", None)
    dyn = appell.compile(robot())
    with pytest.warns(RuntimeWarning, match="without its C extension"):
        result = dyn.inverse_dynamics(q, q, q)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # said once
        dyn.bias(q, q)
    assert isinstance(dyn.functions.kernel(FunctionSpec("inverse_dynamics")).kernel, CtypesKernel)
    np.testing.assert_array_equal(result, expected)
    assert_close(dyn.inverse_dynamics(q[0], q[0], q[0]), expected[0])
    assert dyn.mass_matrix(q[:0]).shape == (0, 2, 2)
    with pytest.raises(appell.ArgumentError, match="nan"):
        dyn.gravity([0.0, np.nan])


def test_features_without_the_extension(monkeypatch):
    monkeypatch.setattr(isa, "cpu_features", None)
    isa.detected_features.cache_clear()
    try:
        without = isa.detected_features()
    finally:
        monkeypatch.undo()
        isa.detected_features.cache_clear()
    if not os.path.exists("/proc/cpuinfo"):
        pytest.skip("this system does not list the features of its processor")
    assert isa.detected_features() <= without


def test_a_processor_without_vectors_gets_plain_code(monkeypatch, compiler):
    monkeypatch.setattr(isa, "detected_features", frozenset)
    monkeypatch.setattr("platform.machine", lambda: "riscv64")
    assert [each.name for each in isa.supported()] == ["plain"]
    assert_close(appell.compile(robot()).gravity(STATE), robot().gravity(STATE))


def test_old_processors_get_no_new_instructions(monkeypatch):
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    monkeypatch.setattr(isa, "detected_features", lambda: frozenset({"avx2", "fma", "avx512f"}))
    assert [each.name for each in isa.supported()] == ["avx2", "sse2", "plain"]
    monkeypatch.setattr(isa, "detected_features", frozenset)
    assert isa.instruction_set().name == "sse2"


def test_import_loads_no_compiler_and_says_nothing():
    text = "import sys, appell; assert not {'casadi', 'appell.compiler.targets.c.build'} & set(sys.modules)"
    done = subprocess.run([sys.executable, "-W", "error", "-c", text], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
