"""Stores of sweeps: the same bytes whatever made them, nothing mixed, nothing half."""

from __future__ import annotations

import errno
import pickle
import re
import signal
import subprocess
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.closeness import assert_close
from helpers.dask_cluster import environment, wait_until
from helpers.small_disk import remount, small_disk

import appell
from appell.compiler.targets.choice import TARGETS
from appell.errors import SweepError
from appell.sweeps import Execution, States, Storage, Sweep, grid_states, random_states, sobol_states

zarr = pytest.importorskip("zarr")
from appell.sweeps import executors, store  # noqa: E402
from appell.sweeps.evaluate import StateFunction, SweepJob  # noqa: E402

COUNT, CHUNK = 1000, 300


def robot() -> appell.Robot:
    return appell.load("planar2r")


def make(path: Path, functions=("gravity", "mass_matrix@composite"), states=None, threads=None, **options) -> Sweep:
    states = random_states(robot(), COUNT, seed=2) if states is None else states
    options = {"execution": Execution(CHUNK, threads), **options}
    return appell.sweep(robot(), functions, states, store=path, **options)


def chunk_files(path: Path) -> dict[str, bytes]:
    return {str(file.relative_to(path)): file.read_bytes() for file in path.rglob("c.*")}


@pytest.mark.parametrize("name", ["random", "sobol", "grid", "arrays"])
def test_results_are_those_in_memory(tmp_path: Path, name: str) -> None:
    arrays = States(*np.random.default_rng(1).normal(size=(3, 500, 2)))
    sources = {"random": random_states(robot(), COUNT), "sobol": sobol_states(robot(), COUNT)}
    states = {**sources, "grid": grid_states(robot(), 20), "arrays": arrays}[name]
    functions = ["inverse_dynamics", "pose:link2", "kinetic_energy"]
    stored, memory = make(tmp_path / "s.zarr", functions, states), appell.sweep(robot(), functions, states)
    for function in functions:
        assert np.array_equal(stored.results[function][:], memory.results[function])
    assert str(stored.table()).splitlines()[:6] == str(memory.table()).splitlines()[:6]
    for suffix in ("npz", "csv", "parquet"):
        for sweep, file in ((stored, f"a.{suffix}"), (memory, f"b.{suffix}")):
            sweep.save(tmp_path / file)
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()
    parquet = pytest.importorskip("pyarrow.parquet")
    table = parquet.read_table(tmp_path / "a.parquet")
    assert np.array_equal(table["inverse_dynamics.joint2"].to_numpy(), memory.results["inverse_dynamics"][:, 1])
    with np.load(tmp_path / "a.npz") as found:
        assert np.array_equal(found["pose_link2"], memory.results["pose:link2"])
        assert np.array_equal(found["q"], states.q)


def test_threads_do_not_change_a_byte(tmp_path: Path) -> None:
    for threads in (1, 4):
        make(tmp_path / f"{threads}.zarr", threads=threads)
    assert chunk_files(tmp_path / "1.zarr") == chunk_files(tmp_path / "4.zarr")
    assert len(chunk_files(tmp_path / "1.zarr")) == 2 * 4


def test_xarray_has_names_units_and_attributes(tmp_path: Path) -> None:
    xarray = pytest.importorskip("xarray")
    sweep = make(
        tmp_path / "s.zarr",
        ["gravity", "mass_matrix", "pose:link2"],
        storage=Storage(attributes={"command": "a command"}),
    )
    data = sweep.to_xarray()
    assert data["gravity"].dims == ("state", "joint")
    assert data["mass_matrix"].dims == ("state", "joint", "joint_2")
    assert data["pose_link2"].dims == ("state", "row", "column")
    assert data["gravity"].attrs["units"] == "N m, N"
    assert {"robot": "planar2r", "seed": 2, "command": "a command"}.items() <= data.attrs.items()
    assert data.coords["joint"].values.tolist() == list(robot().joint_names)
    assert data["gravity"].chunks[0] == (300, 300, 300, 100)
    in_memory = appell.sweep(robot(), ["gravity"], random_states(robot(), COUNT, seed=2)).to_xarray()
    xarray.testing.assert_equal(data[["gravity"]].load()["gravity"], in_memory["gravity"])


def test_an_opened_store_has_its_states(tmp_path: Path) -> None:
    made = make(tmp_path / "s.zarr")
    opened = Sweep.open(tmp_path / "s.zarr")
    assert opened.states == made.states
    assert opened.table().rows == made.table().rows
    make(tmp_path / "a.zarr", ["gravity"], States(*np.zeros((3, 5, 2))))
    with pytest.raises(appell.AppellError, match="does not hold its states"):
        Sweep.open(tmp_path / "a.zarr").save(tmp_path / "a.csv")


def test_states_of_another_generator_are_not_made(tmp_path: Path) -> None:
    """A store of a former version, whose random numbers were others."""
    make(tmp_path / "s.zarr")
    file = tmp_path / "s.zarr" / "zarr.json"
    file.write_text(file.read_text().replace("random, SplitMix64", "RandomStates"))
    opened = Sweep.open(tmp_path / "s.zarr")
    assert opened.states is None
    assert opened.results["gravity"].shape == (COUNT, 2)
    with pytest.raises(appell.AppellError, match="made by another version"):
        opened.save(tmp_path / "s.csv")
    with pytest.raises(appell.ArgumentError, match=r'was made with states.kind = "RandomStates"'):
        make(tmp_path / "s.zarr")


def test_what_is_finished_is_not_evaluated_again(tmp_path: Path, monkeypatch) -> None:
    made, path = make(tmp_path / "s.zarr"), tmp_path / "s.zarr"
    before = chunk_files(path)
    (path / "gravity" / "c.1.0").unlink()
    times = {file: file.stat().st_mtime_ns for file in path.rglob("c.*")}
    shares: list[float] = []
    make(path, execution=Execution(CHUNK, progress=shares.append))
    assert chunk_files(path) == before
    assert shares == [1.0]
    changed = {file.name for file, time in times.items() if file.stat().st_mtime_ns != time}
    assert changed == {"c.1.0.0"}  # of the matrices, which are written with it
    assert len(made) == COUNT


CHANGES = {
    "robot_digest": lambda: {"robot": robot().with_gravity((0, 0, -1.62))},
    "functions": lambda: {"functions": ["gravity"]},
    "states.seed": lambda: {"states": random_states(robot(), COUNT, seed=3)},
    "states.kind": lambda: {"states": sobol_states(robot(), COUNT, seed=2)},
    "states.count": lambda: {"states": random_states(robot(), COUNT + 1, seed=2)},
    "chunk": lambda: {"execution": Execution(100)},
    "dtype": lambda: {"dtype": "float32"},
    "compress": lambda: {"storage": Storage(compress=True)},
}


@pytest.mark.parametrize("field", CHANGES)
def test_another_sweep_is_not_mixed_in(tmp_path: Path, field: str) -> None:
    path, arguments = tmp_path / "s.zarr", {"robot": robot(), "functions": ["gravity", "mass_matrix@composite"]}
    arguments |= {"states": random_states(robot(), COUNT, seed=2), "execution": Execution(CHUNK)}
    appell.sweep(store=path, **arguments)
    before = chunk_files(path)
    with pytest.raises(appell.ArgumentError, match=rf"was made with {field} = "):
        appell.sweep(store=path, **(arguments | CHANGES[field]()))
    assert chunk_files(path) == before


def test_another_version_is_not_mixed_in(tmp_path: Path, monkeypatch) -> None:
    make(tmp_path / "s.zarr")
    monkeypatch.setattr(import_module("appell.sweeps.sweep"), "library_version", lambda: "0.0.1 abc")
    with pytest.raises(appell.ArgumentError, match="was made with version = "):
        make(tmp_path / "s.zarr")


def test_a_worker_of_another_version_is_an_error(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("appell.sweeps.evaluate.library_version", lambda: "0.0.1 abc")
    with pytest.raises(appell.AppellError, match=r"worker on .* has appell 0\.0\.1 abc"):
        make(tmp_path / "s.zarr")


def test_folders_of_others_are_left_alone(tmp_path: Path) -> None:
    zarr.open_group(tmp_path / "other.zarr", mode="w")
    (tmp_path / "text").write_text("text")
    (tmp_path / "empty").mkdir()
    for name in ("other.zarr", "text", "empty"):
        with pytest.raises(appell.ArgumentError, match="is not a store of appell"):
            make(tmp_path / name)
    with pytest.raises(NotADirectoryError, match=r"text/s\.zarr"):
        make(tmp_path / "text" / "s.zarr")
    with pytest.raises(appell.ArgumentError, match="is not a store of appell"):
        Sweep.open(tmp_path / "missing.zarr")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty", "other.zarr", "text"]


def test_non_finite_states_are_named_and_the_rest_is_kept(tmp_path: Path) -> None:
    arrays = np.zeros((3, COUNT, 2))
    arrays[0, 650, 1] = np.nan
    with pytest.raises(appell.ArgumentError, match=r"in states 600 to 899: q\[\(50, 1\)\] is nan"):
        make(tmp_path / "s.zarr", states=States(*arrays), threads=1)
    assert {"c.0.0", "c.1.0"} <= {file.name for file in (tmp_path / "s.zarr" / "gravity").iterdir()}


def test_a_full_disk_is_an_error_and_the_rest_is_kept(tmp_path: Path, monkeypatch) -> None:
    write = store.write_bytes

    def full(path: Path, content: bytes) -> None:
        if "c.2" in path.name:
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        write(path, content)

    monkeypatch.setattr(store, "write_bytes", full)
    with pytest.raises(SweepError, match=r"No space left on device.* [23] of 4 chunks are finished") as caught:
        make(tmp_path / "s.zarr", threads=1)
    assert caught.value.chunks == 4
    monkeypatch.undo()
    make(tmp_path / "s.zarr")
    make(tmp_path / "t.zarr")
    assert chunk_files(tmp_path / "s.zarr") == chunk_files(tmp_path / "t.zarr")


def test_a_disk_that_is_full_and_one_that_cannot_be_written(tmp_path: Path) -> None:
    """A file system of 1 MB for 1.3 MB of results, then one that is read only, then one with room."""
    states, execution = random_states(robot(), 80_000), Execution(4000, threads=2)

    def call() -> Sweep:
        return appell.sweep(robot(), ["gravity"], states, disk / "s.zarr", execution=execution)

    with small_disk(tmp_path / "disk", "1m") as disk:
        with pytest.raises(SweepError, match="No space left on device") as full:
            call()
        assert 0 < full.value.finished < full.value.chunks == 20
        before = chunk_files(disk / "s.zarr")
        assert len(before) == full.value.finished
        remount(disk, "ro,size=8m")
        with pytest.raises(
            SweepError, match=f"Read-only file system.* {len(before)} of 20 chunks are finished and kept"
        ):
            call()
        with pytest.raises(OSError, match=r"Read-only file system: .*t\.zarr"):
            make(disk / "t.zarr")
        remount(disk, "rw")
        done = call()
        assert before.items() <= chunk_files(disk / "s.zarr").items()
        assert np.array_equal(done.results["gravity"][:], appell.sweep(robot(), ["gravity"], states).results["gravity"])


def test_an_interrupted_command_ends_at_once_and_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "s.zarr"
    words = [
        "sweep",
        "puma560",
        "--functions",
        "gravity",
        "--random",
        "1000000000",
        "--chunk",
        "4096",
        "--store",
        str(path),
    ]
    process = subprocess.Popen(
        [sys.executable, "-m", "appell", *words], env=environment(), stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell's background commands ignore it
    )  # fmt: skip
    wait_until(lambda: len([*path.glob("gravity/c.*")]) > 3)
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=20)[1].endswith("appell: error: interrupted.\n")
    assert process.returncode == 1
    assert Sweep.open(path).results["gravity"][0, 1] != 0.0
    assert not list(path.rglob("*.partial"))


def test_a_damaged_robot_is_an_error(tmp_path: Path) -> None:
    make(tmp_path / "s.zarr")
    for name, content in (("is not the robot", b"another"), ("does not see", None)):
        file, chunk = tmp_path / "s.zarr" / store.ROBOT_FILE, tmp_path / "s.zarr" / "gravity" / "c.0.0"
        chunk.unlink(missing_ok=True)
        file.unlink() if content is None else file.write_bytes(content)
        from appell.sweeps.evaluate import _calls

        _calls.cache_clear()
        with pytest.raises(appell.AppellError, match=name):
            make(tmp_path / "s.zarr")


def run_one_chunk(folder: Path, store_path: Path, missing: list[str]) -> subprocess.CompletedProcess:
    """Evaluate chunk 1 of a store in a process where these packages are missing."""
    opened = store.open_store(store_path)
    identity: Any = opened.group.attrs[store.IDENTITY]
    functions, version = tuple(identity["functions"]), identity["version"]
    job = SweepJob(opened, identity["robot_digest"], functions, "float64", "cpu", False, version)
    states = random_states(robot(), COUNT, seed=2)
    (folder / "task").write_bytes(pickle.dumps((job, 1, *states.carried(*opened.bounds(1)))))
    code = f"""
import pickle, sys
sys.modules.update(dict.fromkeys({missing}))
from appell.sweeps.evaluate import evaluate_chunk
evaluate_chunk(*pickle.load(open(sys.argv[1], "rb")))
"""
    words = [sys.executable, "-c", code, str(folder / "task")]
    return subprocess.run(words, env=environment(), capture_output=True, text=True)


def test_workers_need_neither_casadi_nor_a_reader_of_descriptions(tmp_path: Path) -> None:
    path = tmp_path / "s.zarr"
    make(path)
    before = chunk_files(path)
    (path / "gravity" / "c.1.0").unlink()
    done = run_one_chunk(tmp_path, path, ["casadi", "lxml", "scipy", "mujoco"])
    assert done.returncode == 0, done.stderr
    assert chunk_files(path) == before


def test_a_worker_without_a_compiler_is_an_error(tmp_path: Path, monkeypatch) -> None:
    """Interpreted kernels round otherwise, and are slow."""
    path = tmp_path / "s.zarr"
    make(path)
    (path / "gravity" / "c.1.0").unlink()
    before = chunk_files(path)
    done = run_one_chunk(tmp_path, path, ["llvmlite", "llvmlite.binding"])
    assert re.search(r"CompileError: the worker on .* interprets kernels, .* Install llvmlite", done.stderr)
    assert chunk_files(path) == before
    monkeypatch.setenv("APPELL_NATIVE", "0")
    with pytest.raises(appell.ArgumentError, match="was made with interpreted = false"):
        make(path)


def test_a_robot_of_a_file_is_swept_as_its_description(tmp_path: Path) -> None:
    """Without CasADi and readers of descriptions, in memory and into a store."""
    expected = make(tmp_path / "s.zarr", ["gravity"])
    appell.compile(robot()).save(tmp_path / "arm.appell", functions=["gravity"])
    (tmp_path / "states").write_bytes(pickle.dumps(expected.states))
    code = """
import pickle, sys
sys.modules.update(dict.fromkeys(["casadi", "lxml", "scipy", "mujoco", "distributed"]))
import appell
arm, states = appell.load_compiled("arm.appell"), pickle.load(open("states", "rb"))
appell.sweep(arm, ["gravity"], states).save("arm.csv")
appell.sweep(arm, ["gravity"], states, "arm.zarr", execution=appell.sweeps.Execution(300))
"""
    subprocess.run([sys.executable, "-c", code], check=True, env=environment(), cwd=tmp_path)
    table = np.loadtxt(tmp_path / "arm.csv", delimiter=",", skiprows=1)
    assert_close(table[:, -2:], expected.results["gravity"][:])
    assert chunk_files(tmp_path / "arm.zarr") == chunk_files(tmp_path / "s.zarr")


@pytest.mark.parametrize(
    "options", [{"layout": "columns"}, {"parameters": "runtime"}, {"dtype": "float32"}, {"threads": 2}]
)
def test_compiled_robots_whatever_they_were_compiled_for(tmp_path: Path, options: dict) -> None:
    arm, states = appell.compile(robot(), **options), random_states(robot(), 100)
    for dtype in (None, "float32", "float64"):
        found = appell.sweep(arm, ["gravity"], states, dtype=dtype).results["gravity"]
        expected = robot().gravity(states.q).astype(dtype or options.get("dtype", "float64"))
        assert_close(found, expected)
        stored = appell.sweep(arm, ["gravity"], states, tmp_path / f"{dtype}.zarr", dtype=dtype)
        assert np.array_equal(stored.results["gravity"][:], found)


def test_compiled_robots_with_closed_loops_raise_an_error(tmp_path: Path) -> None:
    loop = appell.compile(appell.load("four_bar"))
    loop.save(tmp_path / "loop.appell", functions=["mass_matrix"])
    for each in (loop, appell.load_compiled(tmp_path / "loop.appell")):
        with pytest.raises(appell.ArgumentError, match=r"kinematic tree.*with batches"):
            appell.sweep(each, ["mass_matrix"], random_states(robot(), 10))


@pytest.mark.skipif(find_spec("cupy") is not None, reason="CuPy is installed")
def test_a_worker_without_a_gpu_is_an_error(tmp_path: Path) -> None:
    """The client needs no GPU: it makes the store, and its workers are tried."""
    with pytest.raises(appell.CompileError, match=r"target='cuda' (needs CuPy|found no)"):
        make(tmp_path / "s.zarr", target="cuda")
    assert Sweep.open(tmp_path / "s.zarr").results["gravity"].shape == (COUNT, 2)
    assert chunk_files(tmp_path / "s.zarr") == {}


def test_chunks_on_a_gpu_are_called_as_a_whole(tmp_path: Path, monkeypatch) -> None:
    """The processor in place of a GPU: what differs is how a chunk is called."""
    expected = make(tmp_path / "cpu.zarr").results
    monkeypatch.setitem(TARGETS, "cuda", TARGETS["cpu"])
    sizes: list[int] = []
    call = StateFunction.__call__
    monkeypatch.setattr(
        StateFunction, "__call__", lambda f, states, out: sizes.append(len(states)) or call(f, states, out)
    )
    found = make(tmp_path / "cuda.zarr", target="cuda").results
    assert sorted(sizes) == sorted([300, 300, 300, 100] * 2)
    for name, values in expected.items():
        assert np.array_equal(found[name][:], values[:])


def test_compressed_results_are_the_same(tmp_path: Path) -> None:
    plain, packed = make(tmp_path / "a.zarr"), make(tmp_path / "b.zarr", storage=Storage(compress=True))
    assert_close(packed.results["gravity"][:], plain.results["gravity"][:], tolerance=0.0)


@pytest.mark.parametrize(
    ("address", "secure"),
    [
        ("tcp://127.0.0.1:8786", True), ("localhost:8786", True), ("tcp://[::1]:8786", True), ("tls://10.0.0.5:8786", True),
        ("tcp://127.example.org:8786", False), ("tcp://10.0.0.5:8786", False),
        ("10.0.0.5:8786", False), ("tcp://0.0.0.0:8786", False),
    ],
)  # fmt: skip
def test_addresses_of_other_machines_need_encryption(address: str, secure: bool) -> None:
    if secure:
        executors.require_secure_address(address)
    else:
        with pytest.raises(appell.ArgumentError, match="neither of this machine nor encrypted"):
            executors.require_secure_address(address)


def test_the_error_names_the_extra(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "appell.sweeps.store", None)
    for call in (lambda: make(tmp_path / "s.zarr"), lambda: Sweep.open(tmp_path / "s.zarr")):
        with pytest.raises(appell.AppellError, match=r"pip install 'appell\[dask\]'"):
            call()


def test_what_needs_a_store() -> None:
    with pytest.raises(appell.ArgumentError, match="write to a store"):
        appell.sweep(robot(), ["gravity"], random_states(robot(), 10), client="tcp://127.0.0.1:1")
    with pytest.raises(appell.ArgumentError, match="expected at most 8 GB in memory"):
        appell.sweep(robot(), ["gravity"], random_states(robot(), 10**10))


@pytest.mark.parametrize("options", [{"progress": True}, {"chunk": 0}, {"threads": 1.5}])
def test_options_that_mean_nothing_are_named(options: dict) -> None:
    with pytest.raises(appell.ArgumentError, match=next(iter(options))):
        Execution(**options)
