"""One chunk of a sweep: make its states, call the kernels, write its files. This is what workers run."""

from __future__ import annotations

import hashlib
import platform
import re
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from appell.algorithms.function_spec import as_function_spec
from appell.algorithms.registry import QUANTITIES
from appell.checks import require_choice
from appell.compiler.evaluate import Function
from appell.compiler.fingerprint import source_digest
from appell.errors import AppellError, ArgumentError, CompileError
from appell.loading.compiled import load_compiled
from appell.robot.compiled import CompiledRobot
from appell.sweeps.layout import ChunkSeconds
from appell.sweeps.states import BLOCK, States

FIELDS = {"q": "q", "qd": "qd", "qdd": "qdd_or_tau", "tau": "qdd_or_tau"}
"""Field of `States` for each input of a function."""


@dataclass(frozen=True)
class StateFunction:
    """A function of states of a compiled robot.

    Attributes:
        fields: of `States`, in the order of its arguments.
    """

    function: Function
    fields: tuple[str, ...]

    def __call__(self, states: States, out: np.ndarray | None = None) -> Any:
        return self.function(tuple(getattr(states, name) for name in self.fields), out=out)


@dataclass(frozen=True)
class SweepJob:
    """What a worker needs besides the states: where the store and its robot are, what to evaluate, and how.

    Attributes:
        interpreted: whether the client has no compiler, so that kernels are interpreted.
    """

    store: Any
    robot_digest: str
    functions: tuple[str, ...]
    dtype: str
    target: str
    interpreted: bool
    version: str


def library_version() -> str:
    """Version of the library, with a digest of the code that decides about results."""
    return source_digest(Path(__file__).parent)


def require_version(version: str) -> None:
    """Raise unless this process has the version that made the store."""
    if library_version() != version:
        raise AppellError(
            f"the worker on {platform.node()} has appell {library_version()[:14]}, the store was made by {version[:14]}. "
            "Install the same version everywhere."
        )


def robot_file(compiled: CompiledRobot, **kept: Any) -> bytes:
    """The file of a compiled robot with what `save` is to keep; the one from which it was loaded itself, if any."""
    if compiled.store is not None:
        return Path(compiled.store.path).read_bytes()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "robot.appell")
        compiled.save(file, **kept)
        return file.read_bytes()


def is_interpreted(compiled: CompiledRobot) -> bool:
    """Whether kernels are interpreted, since LLVM does not run here or is not wanted."""
    return getattr(compiled.functions.target, "builder", "a GPU's") is None


def require_same_code(compiled: CompiledRobot, interpreted: bool) -> None:
    """Raise unless kernels are compiled here exactly if they are on the client: interpreted ones round otherwise."""
    if is_interpreted(compiled) != interpreted:
        here, there = ("interprets", "compiles") if not interpreted else ("compiles", "interprets")
        raise CompileError(
            f"the worker on {platform.node()} {here} kernels, the client {there} them, and results would differ. "
            "Install llvmlite on both, or set APPELL_NATIVE=0 on both."
        )


def evaluate_chunk(job: SweepJob, k: int, source: Any, start: int, stop: int) -> tuple[int, ChunkSeconds]:
    """Evaluate chunk k at the states start to stop of a source, and write it. Returns the number of states, and times."""
    require_version(job.version)
    calls = _calls(job.store.path, job.robot_digest, job.functions, job.dtype, job.target, job.interpreted)
    first = job.store.bounds(k)[0]
    layouts = {name: array.shape[1:] for name, array in job.store.arrays().items()}
    names = {stored_name(name): call for name, call in calls.items()}
    results = {name: np.empty((stop - start, *shape), job.dtype) for name, shape in layouts.items()}
    seconds = evaluate(names, source, start, stop, results, job.dtype, job.target, first - start)
    begin = time.perf_counter()
    job.store.write(k, results)
    return stop - start, seconds + ChunkSeconds(writing=time.perf_counter() - begin)


def evaluate(
    calls: Mapping[str, StateFunction], source: Any, start: int, stop: int, results: Mapping[str, np.ndarray],
    dtype: str, target: str, offset: int = 0,
) -> ChunkSeconds:  # fmt: skip
    """Evaluate functions at the states start to stop of a source, block by block on a CPU, as a whole on a GPU.

    Args:
        offset: of the source's first state, for messages.
    """
    making = kernels = 0.0
    size = stop - start if target == "cuda" else BLOCK
    for low in range(start, stop, size):
        high = min(low + size, stop)
        begin = time.perf_counter()
        states = source.part(low, high, dtype)
        made = time.perf_counter()
        for name, call in calls.items():
            out = results[name][low - start : high - start]
            try:
                call(states, out)
            except AppellError as error:
                raise type(error)(f"in states {low + offset} to {high + offset - 1}: {error}") from None
        making, kernels = making + made - begin, kernels + time.perf_counter() - made
    return ChunkSeconds(making, kernels)


@lru_cache(maxsize=8)
def _calls(
    path: str, digest: str, functions: tuple[str, ...], dtype: str, target: str, interpreted: bool
) -> dict[str, StateFunction]:
    """The functions of the robot of a store, loaded once per process."""
    from appell.sweeps.store import ROBOT_FILE

    file = Path(path, ROBOT_FILE)
    try:
        content = file.read_bytes()
    except FileNotFoundError:
        raise AppellError(
            f"the worker on {platform.node()} does not see {file}. "
            "Put the store on a file system that all workers share, under one path."
        ) from None
    if hashlib.sha256(content).hexdigest() != digest:
        raise AppellError(f"{file} is not the robot that the store was made for. Make the store anew.")
    compiled = load_compiled(file, target=target, dtype=dtype, threads=1)
    require_same_code(compiled, interpreted)
    return {name: function_of_states(compiled, name) for name in functions}


def stored_name(function: str) -> str:
    """Name of a function in files: letters, digits, underscores, points and hyphens."""
    return re.sub(r"[^\w.-]", "_", function)


def function_of_states(compiled: CompiledRobot, text: str) -> StateFunction:
    """A function of states from `function`, `function@method` or `function:frame[:REFERENCE_FRAME]`."""
    spec = as_function_spec(text)
    quantity = QUANTITIES[require_choice("function", spec.function, QUANTITIES)]
    if quantity.needs_frame and spec.frame is None:
        raise ArgumentError(f"{spec.function} needs a frame. Write {spec.function}:FRAME.")
    key = (spec.function, spec.method, spec.frame, spec.reference)
    function = compiled.functions[key if quantity.needs_frame else key[:2]]
    return StateFunction(function, tuple(FIELDS[name] for name in quantity.inputs))
