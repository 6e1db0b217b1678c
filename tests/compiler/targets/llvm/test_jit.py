"""LLVM that is there, missing or of no use, and object code that is good or damaged."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from contextlib import nullcontext
from pathlib import Path

import llvmlite.binding as llvm
import numpy as np
import pytest
from helpers.closeness import assert_close

import appell
import appell._native as native
from appell.algorithms.function_spec import FunctionSpec
from appell.compiler import cache
from appell.compiler.fingerprint import source_digest
from appell.compiler.interpret import GraphKernel
from appell.compiler.targets.llvm import build, isa, jit, library, target
from appell.compiler.targets.llvm.kernel import kernel_text
from appell.compiler.targets.llvm.library import CtypesKernel
from appell.compiler.targets.llvm.runtime import FUNCTIONS
from appell.errors import CompileError
from appell.files import write_bytes

STATE = np.array([0.3, -0.7])
CACHED_BY_CALLS = (jit.binding, jit.machine, isa.instruction_set, target.warn_once, library.warn_ctypes_fallback)


@pytest.fixture(autouse=True)
def folder(monkeypatch, tmp_path):
    """Nothing in the cache, nothing warned of yet."""
    monkeypatch.setenv("APPELL_CACHE_DIR", str(tmp_path / "cache"))
    for function in CACHED_BY_CALLS:
        function.cache_clear()
    yield tmp_path / "cache" / "appell"
    monkeypatch.undo()
    for function in CACHED_BY_CALLS:
        function.cache_clear()


def robot() -> appell.Robot:
    return appell.robots.random_chain(2, seed=71)


def often(function, times: int = 40):
    for _ in range(times):
        result = function()
    return result


def kernel_of(dyn, name: str = "gravity"):
    return dyn.functions.kernel(FunctionSpec(name), [STATE]).kernel


def without_llvmlite(monkeypatch):
    monkeypatch.setitem(sys.modules, "llvmlite.binding", None)


def without_a_code_generator(monkeypatch):
    def fail():
        raise RuntimeError("no targets are registered")

    monkeypatch.setattr(llvm, "initialize_native_asmprinter", fail)


def with_an_unknown_processor(monkeypatch):
    def fail(*_, **__):
        raise RuntimeError("unknown CPU")

    monkeypatch.setattr(llvm.Target, "create_target_machine", fail)


UNUSABLE = {
    without_llvmlite: "pip install llvmlite",
    without_a_code_generator: "no targets are registered",
    with_an_unknown_processor: "no code generator for this processor: unknown CPU",
}


@pytest.fixture
def expected(monkeypatch, tmp_path):
    """What native code computes, which is then forgotten."""
    with monkeypatch.context() as patch:
        patch.setenv("APPELL_CACHE_DIR", str(tmp_path / "another"))
        result = appell.compile(robot()).gravity(STATE)
    jit.binding.cache_clear()
    jit.machine.cache_clear()
    return result


@pytest.mark.parametrize("make_unusable", UNUSABLE)
@pytest.mark.parametrize("make", [appell.compile, lambda robot: robot], ids=["compiled", "robot"])
def test_without_llvm_one_warning_and_right_results(make, make_unusable, monkeypatch, expected):
    make_unusable(monkeypatch)
    ours = make(robot())
    with pytest.warns(RuntimeWarning, match=UNUSABLE[make_unusable]) as caught:
        result = often(lambda: ours.gravity(STATE), 100)
    assert len(caught) == 1
    assert str(caught[0].message).endswith("Results are right but slow.")
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # not repeated
        often(lambda: make(robot()).bias(STATE, STATE), 100)
        appell.rollout(appell.compile(robot()), STATE, STATE, steps=3, dt=1e-3)
    assert isinstance(kernel_of(ours), GraphKernel)
    assert_close(result, expected)
    assert_close(ours.gravity(np.tile(STATE, (5, 1))), np.tile(expected, (5, 1)))


def test_without_llvm_other_options_work_too(monkeypatch, expected):
    without_llvmlite(monkeypatch)
    single = appell.compile(robot(), dtype="float32", layout="columns", parameters="runtime")
    with pytest.warns(RuntimeWarning, match="pip install llvmlite"):
        result = single.gravity(np.tile(STATE, (3, 1)).T)
    assert_close(result[:, 1], expected.astype("float32"))


def test_switched_off_by_the_environment(monkeypatch):
    monkeypatch.setenv("APPELL_NATIVE", "0")
    dyn = appell.compile(robot())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        often(lambda: dyn.gravity(STATE))
    assert isinstance(kernel_of(dyn), GraphKernel)


FAR_APART = """
import mmap
import appell
from appell.algorithms.function_spec import FunctionSpec
from appell.compiler.targets.llvm import jit, library
from appell.compiler.targets.llvm.build import builder_for
from appell.compiler.targets.llvm.kernel import kernel_text

builder, provider = builder_for(None, "float64"), appell.load("puma560").functions.provider
text = kernel_text(provider.lowered(FunctionSpec("inverse_dynamics"), "cpu", "float64"), builder.real, "batch")
code, kept = jit.compile_text(text, builder.target.cpu, builder.target.features), []
for _ in range(130):
    kept += [library.open_library(code, "batch", builder.runtime) for _ in range(3)]
    kept.append(mmap.mmap(-1, 1 << 30, prot=mmap.PROT_READ))
print(len(kept))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="memory is mapped as on POSIX")
def test_kernels_are_linked_where_memory_is_scattered():
    """Code and constants of a kernel in gaps between other memory, farther apart than an instruction reaches."""
    done = subprocess.run([sys.executable, "-c", FAR_APART], capture_output=True, text=True, check=False)
    if "Cannot allocate memory" in done.stderr:
        pytest.skip("there is no address space")
    assert (done.returncode, done.stdout) == (0, "520\n"), done.stderr


def test_the_order_of_operations_is_kept_and_options_of_llvm_are_restored(monkeypatch):
    """LLVM by itself gives other code, before a kernel was compiled and after it."""
    builder, provider = build.builder_for(None, "float64"), appell.load("puma560").functions.provider
    text = kernel_text(provider.lowered(FunctionSpec("inverse_dynamics"), "cpu", "float64"), builder.real, "batch")
    codes = []
    for order in (nullcontext, jit.instructions_in_order, nullcontext):
        monkeypatch.setattr(jit, "instructions_in_order", order)
        codes.append(jit.compile_text(text, builder.target.cpu, builder.target.features))
    assert codes[0] == codes[2] != codes[1]


def test_text_that_llvm_does_not_accept():
    for text in ("define void @f() { nonsense }", "define i32 @f() {\n ret void\n}"):
        with pytest.raises(CompileError, match="LLVM does not accept a kernel"):
            jit.compile_text(text, "", "")


@pytest.mark.parametrize("code", [b"", b"garbage", bytes(4096)], ids=["empty", "garbage", "zeros"])
def test_what_is_no_object_code_is_not_linked(code):
    with pytest.raises(CompileError, match="cannot be linked"):
        library.open_library(code, "one", dict.fromkeys(FUNCTIONS, 1))


@pytest.mark.parametrize("half", ["one", "batch"])
def test_code_without_its_functions_is_not_linked(half):
    code = jit.compile_text("define void @f() {\n ret void\n}", "", "")
    with pytest.raises(CompileError, match="cannot be linked"):
        library.open_library(code, half, dict.fromkeys(FUNCTIONS, 1))


def kernels(folder) -> list[Path]:
    """Entries of the cache but for what all kernels share."""
    shared = build.builder_for(None, "float64").name("runtime", source_digest())
    return [path for path in folder.glob("*.code") if path.stem != shared]


DAMAGES = {
    "cut": lambda content: content[: len(content) // 2],
    "empty": lambda content: b"",
    "changed": lambda content: content[:500] + bytes([content[500] ^ 1]) + content[501:],
    "another digest": lambda content: content[:-1] + bytes([content[-1] ^ 1]),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_object_is_rebuilt_and_never_run(damage, folder, monkeypatch):
    expected = appell.compile(robot()).gravity(STATE)
    (path,) = kernels(folder)
    whole = path.read_bytes()
    write_bytes(path, DAMAGES[damage](whole))
    opened, original = [], build.open_library
    monkeypatch.setattr(build, "open_library", lambda code, *rest: opened.append(code) or original(code, *rest))
    np.testing.assert_array_equal(appell.compile(robot()).gravity(STATE), expected)
    assert opened == [whole[: -cache.TAG_SIZE]]
    assert path.read_bytes() == whole


def test_an_entry_that_cannot_be_linked_is_rebuilt(folder):
    expected = appell.compile(robot()).gravity(STATE)
    (path,) = kernels(folder)
    whole = path.read_bytes()
    cache.store(path.stem, b"an object of another time")
    np.testing.assert_array_equal(appell.compile(robot()).gravity(STATE), expected)
    assert path.read_bytes() == whole


def objects(folder) -> dict[str, bytes]:
    """What the cache holds, without the digests."""
    return {path.name: path.read_bytes()[: -cache.TAG_SIZE] for path in kernels(folder)}


def test_cached_or_compiled_the_bits_are_the_same(folder, monkeypatch):
    q = np.random.default_rng(1).uniform(-2, 2, (37, 2))

    def results():
        dyn = appell.compile(robot())
        return [dyn.inverse_dynamics(q, q, q), dyn.inverse_dynamics(q[0], q[0], q[0]), dyn.mass_matrix(q)]

    compiled = results()
    stored = objects(folder)
    assert len(stored) == 3
    monkeypatch.setattr(build, "compile_text", None)
    cached = results()
    monkeypatch.undo()
    monkeypatch.setenv("APPELL_CACHE_DIR", str(folder.parent / "another"))
    again = results()
    assert objects(folder.parent / "another" / "appell") == stored
    for first, *others in zip(compiled, cached, again, strict=True):
        for other in others:
            np.testing.assert_array_equal(first, other)


def test_each_half_is_compiled_when_it_is_used(folder):
    dyn = appell.compile(robot())
    single = dyn.gravity(STATE)
    assert len(kernels(folder)) == 1
    batch = dyn.gravity(np.tile(STATE, (9, 1)))
    assert len(kernels(folder)) == 2
    assert_close(batch, np.tile(single, (9, 1)))
    assert_close(dyn.gravity(STATE), single)


SPEED = """
import sys, warnings
import numpy as np
import appell
from appell.algorithms.function_spec import FunctionSpec
from appell.compiler.interpret import GraphKernel

warnings.simplefilter("error")
sys.addaudithook(lambda event, _: event.startswith(("subprocess.", "os.exec", "os.posix_spawn", "os.fork")) and 1 / 0)
robot = appell.load("puma560")
dyn, q = appell.compile(robot), np.random.default_rng(1).uniform(-1, 1, (64, 6))
assert np.abs(dyn.inverse_dynamics(q, q, q) - robot.inverse_dynamics(q, q, q)).max() < 1e-11
path = appell.rollout(dyn, q, q, steps=3, dt=1e-3)
assert np.isfinite(path.q).all()
assert dyn.functions.programs and all(dyn.functions.programs.values())
assert not isinstance(dyn.functions.kernel(FunctionSpec("inverse_dynamics"), [q]).kernel, GraphKernel)
"""


def test_without_any_program_on_the_path_kernels_are_native(tmp_path):
    environment = {key: value for key, value in os.environ.items() if key not in ("CC", "PATH")}
    environment |= {"PATH": str(tmp_path / "nothing"), "APPELL_CACHE_DIR": str(tmp_path / "cache")}
    done = subprocess.run([sys.executable, "-c", SPEED], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_import_loads_no_compiler_and_says_nothing():
    text = (
        "import sys, appell; assert not {'casadi', 'llvmlite', 'appell.compiler.targets.llvm.build'} & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", text], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""


def test_without_the_extension_kernels_still_run(monkeypatch):
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
    active = dyn.functions.kernel(FunctionSpec("inverse_dynamics"), [q])
    assert isinstance(active.kernel, CtypesKernel)
    np.testing.assert_array_equal(result, expected)
    assert_close(dyn.inverse_dynamics(q[0], q[0], q[0]), expected[0])
    assert dyn.mass_matrix(q[:0]).shape == (0, 2, 2)
    with pytest.raises(appell.ArgumentError, match="nan"):
        dyn.gravity([0.0, np.nan])


def with_features(monkeypatch, *names: str) -> None:
    monkeypatch.setattr(llvm, "get_host_cpu_features", lambda: llvm.FeatureMap(dict.fromkeys(names, True)))


def test_a_processor_without_vectors_gets_plain_code(monkeypatch):
    with_features(monkeypatch)
    assert [each.name for each in isa.supported()] == ["plain"]
    assert_close(appell.compile(robot()).gravity(STATE), robot().gravity(STATE))


def test_a_processor_that_llvm_cannot_ask_gets_plain_code(monkeypatch):
    def fail():
        raise RuntimeError("failed to get host cpu features")

    monkeypatch.setattr(llvm, "get_host_cpu_features", fail)
    assert isa.instruction_set().name == "plain"
    assert_close(appell.compile(robot()).gravity(STATE), robot().gravity(STATE))


def test_old_processors_get_no_new_instructions(monkeypatch):
    with_features(monkeypatch, "sse2", "avx2", "fma", "avx512f")
    assert [each.name for each in isa.supported()] == ["avx2", "sse2", "plain"]
    isa.instruction_set.cache_clear()
    with_features(monkeypatch, "sse2")
    assert isa.instruction_set().name == "sse2"


def test_instruction_sets_by_name_are_of_this_processor():
    for each in isa.supported():
        assert isa.instruction_set(each.name) == each
    with pytest.raises(CompileError, match="instruction set of this processor"):
        isa.instruction_set("sve9")
