"""`appell.sweep`: functions of a robot at many states, over threads or workers, into memory or a store."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any

import numpy as np

from appell.algorithms.registry import QUANTITIES
from appell.algorithms.result_text import result_text
from appell.compiler.options import Options
from appell.errors import ArgumentError
from appell.model.tree import require_tree
from appell.robot.compiled import CompiledRobot
from appell.robot.robot import Robot
from appell.sweeps.evaluate import (
    ChunkSeconds,
    SweepJob,
    evaluate,
    evaluate_chunk,
    function_of_states,
    is_interpreted,
    library_version,
    robot_file,
    stored_name,
)
from appell.sweeps.executors import ProgressCounter, missing_extra, run_chunks, task_runner, thread_count
from appell.sweeps.layout import ArrayLayout, default_chunk
from appell.sweeps.make_states import NO_TREE, as_states
from appell.sweeps.options import Execution, Storage
from appell.sweeps.result import Sweep
from appell.sweeps.states import BLOCK, RandomStates, SobolStates, StateSource
from appell.version import __version__

MOST_IN_MEMORY = 2**33
"""Bytes of results without a store."""
DIMENSIONS = {"v": "joint", "p": "parameter", 3: "axis", 4: "row", 6: "component"}
"""Names of dimensions by their size in `Quantity.shape`."""


def sweep(
    robot: Robot | CompiledRobot,
    functions: Sequence[str],
    states: Any,
    store: str | PathLike | None = None,
    client: Any = None,
    *,
    dtype: str | None = None,
    target: str | None = None,
    execution: Execution = Execution(),
    storage: Storage = Storage(),
) -> Sweep:
    """Evaluate functions of a robot at many states.

    With a store the results of every chunk of states are written to a Zarr group as soon as they are there; no process holds
    more than a few chunks. The same call goes on where an earlier one was ended, in whatever way. A store of another robot,
    other functions, states, types or another version raises an error.

    Args:
        robot: a tree, also a compiled one, such as that of a file (`appell.load_compiled`), which needs no CasADi.
        functions: names of `appell.Robot` methods of the state; `pose:FRAME`, `jacobian:FRAME` for a frame,
            `FUNCTION@METHOD` for a method. Their `qdd` or `tau` is `states.qdd_or_tau`.
        states: those of `random_states`, `sobol_states`, `grid_states` and `read_states` of `appell.sweeps`, `States` of your own
            arrays, or a Dask array (N, nq + 2 nv).
        store: folder of the Zarr group, on a file system that all workers share; None for results in memory.
        client: a `distributed.Client` or the address of a Dask scheduler, local or `tls://`; None for threads of this
            process.
        dtype: `"float64"` or `"float32"`, of states and results; that of a compiled robot, else `"float64"` by default.
        target: `"cpu"` or `"cuda"`, of the workers; that of a compiled robot, else `"cpu"` by default.
        execution: `Execution(chunk, threads, progress)` of `appell.sweeps`.
        storage: `Storage(compress, attributes)` of `appell.sweeps`.

    Example:
        >>> import appell
        >>> from appell.sweeps import random_states
        >>> robot = appell.load("puma560")
        >>> result = appell.sweep(robot, ["gravity", "mass_matrix"], random_states(robot, 100))
        >>> result.results["mass_matrix"].shape
        (100, 6, 6)
    """
    compiled, place = compiled_for(robot, dtype, target, store is not None)
    described: Any = compiled.robot
    source = as_states(described, states)
    if not len(source):
        raise ArgumentError("no states to evaluate. Give at least one.")
    layouts = result_layouts(compiled, functions)
    about = {"robot": described.name, "version": f"appell {__version__}", "joint_names": list(described.qd_names)}
    if compiled.store is None:  # files have no names of coordinates
        about["coordinate_names"] = list(described.q_names)
    if isinstance(source, (RandomStates, SobolStates)):
        about["seed"] = source.seed
    plan = SweepPlan(compiled, source, layouts, {**about, **storage.attributes}, execution)
    if store is not None:
        return into_store(plan, store, client, place, storage.compress)
    if client is not None:
        raise ArgumentError("workers of a client write to a store. Give its folder: store='sweep.zarr'.")
    return into_memory(plan)


def compiled_for(
    robot: Robot | CompiledRobot, dtype: str | None, target: str | None, stored: bool
) -> tuple[CompiledRobot, str]:
    """The robot compiled for one thread of this process, and the target of the workers, which have the GPUs."""
    if not isinstance(robot, CompiledRobot) or robot.store is None:
        require_tree("robot", getattr(robot, "robot", robot), NO_TREE)
    elif robot.robot.kind:
        raise ArgumentError(f"{robot.robot.name} has closed loops, expected a kinematic tree.{NO_TREE}")
    own = robot.options if isinstance(robot, CompiledRobot) else Options()
    options = replace(own, target=target or own.target, dtype=dtype or own.dtype, threads=1, layout="rows")
    local = replace(options, target="cpu") if stored else options
    if isinstance(robot, CompiledRobot):
        return CompiledRobot(robot.robot, local, robot.store), options.target
    return CompiledRobot(robot, local), options.target


@dataclass(frozen=True)
class SweepPlan:
    """Validated arguments of a sweep; layouts are of the results by function."""

    compiled: CompiledRobot
    source: StateSource
    layouts: Mapping[str, ArrayLayout]
    attributes: Mapping[str, Any]
    execution: Execution


def result_layouts(compiled: CompiledRobot, functions: Sequence[str]) -> dict[str, ArrayLayout]:
    """Shape, dimensions and unit of the result of every function, by its name in the call."""
    layouts = {}
    for text in functions:
        spec = function_of_states(compiled, text).function.spec
        signature, text_of = compiled.functions.provider.signature(spec), result_text(spec.function)
        dims: list[str] = []
        for size in QUANTITIES[spec.function].shape:
            name = DIMENSIONS.get(size, f"{stored_name(text)}_{len(dims) + 1}")
            dims.append({"row": "column"}.get(name, f"{name}_2") if name in dims else name)
        attributes = {"function": text, "units": text_of.unit, "long_name": text_of.description}
        layouts[text] = ArrayLayout(signature.shape, compiled.options.dtype, tuple(dims), attributes)
    if not layouts:
        raise ArgumentError("no functions to evaluate. Name at least one, such as inverse_dynamics.")
    if len({stored_name(name) for name in layouts}) < len(layouts):
        raise ArgumentError(
            f"functions {', '.join(layouts)} have equal names in files. Evaluate them one after the other."
        )
    return layouts


def into_memory(plan: SweepPlan) -> Sweep:
    """A sweep with NumPy arrays as results."""
    source, count, options, execution = plan.source, len(plan.source), plan.compiled.options, plan.execution
    size = count * sum(layout.entry_bytes for layout in plan.layouts.values())
    if size > MOST_IN_MEMORY:
        raise ArgumentError(
            f"{count:.3g} states have {size / 2**30:.3g} GB of results, expected at most {MOST_IN_MEMORY >> 30} GB in memory. "
            "Give a store: store='sweep.zarr'."
        )
    calls = {name: function_of_states(plan.compiled, name) for name in plan.layouts}
    for call in calls.values():
        call(source.part(0, 1, options.dtype))  # compiles
    chunk = execution.chunk or BLOCK * max(1, min(8, count // BLOCK // (4 * thread_count(execution.threads))))
    results = {name: np.empty((count, *layout.shape), options.dtype) for name, layout in plan.layouts.items()}

    def evaluate_part(start: int, stop: int) -> tuple[int, ChunkSeconds]:
        parts = {name: values[start:stop] for name, values in results.items()}
        return stop - start, evaluate(calls, source, start, stop, parts, options.dtype, options.target)

    done = ProgressCounter(count, execution.progress)
    with task_runner(None, execution.threads) as runner:
        runner.run(evaluate_part, ((a, min(a + chunk, count)) for a in range(0, count, chunk)), done)
    dims = {name: layout.dims for name, layout in plan.layouts.items()}
    seconds = time.perf_counter() - done.started
    return Sweep(
        plan.attributes["robot"], source, results, seconds, max(chunk, BLOCK), done.work, None, plan.attributes, dims
    )


def into_store(plan: SweepPlan, path: str | PathLike, client: Any, target: str, compress: bool) -> Sweep:
    """A sweep into a Zarr group; chunks that are finished already are not evaluated again."""
    try:
        from appell.sweeps.store import ROBOT_FILE, create_store
    except ImportError:
        raise missing_extra() from None
    source, options = plan.source, plan.compiled.options
    robot = robot_file(plan.compiled, functions=plan.layouts)
    robot_digest, version = hashlib.sha256(robot).hexdigest(), library_version()
    chunk = plan.execution.chunk or default_chunk(plan.layouts.values(), source.carried_bytes, len(source), BLOCK)
    chunk = min(chunk, len(source))
    identity = {
        "version": version, "robot": plan.attributes["robot"], "functions": [*plan.layouts], "states": source.describe(),
        "count": len(source), "chunk": chunk, "dtype": options.dtype, "target": target, "compress": compress,
        "interpreted": target == "cpu" and is_interpreted(plan.compiled), "robot_digest": robot_digest,
    }  # fmt: skip
    arrays = {stored_name(name): layout for name, layout in plan.layouts.items()}
    made = create_store(path, identity, arrays, "state", plan.attributes, {ROBOT_FILE: robot}, compress)
    functions = tuple(plan.layouts)
    job = SweepJob(made, robot_digest, functions, options.dtype, target, identity["interpreted"], version)
    done = run_chunks(
        made, evaluate_chunk, lambda k: (job, k, *source.carried(*made.bounds(k))), client, plan.execution
    )
    results = {name: made.arrays()[stored_name(name)] for name in plan.layouts}
    seconds = time.perf_counter() - done.started
    return Sweep(identity["robot"], source, results, seconds, chunk, done.work, made.path, plan.attributes)
