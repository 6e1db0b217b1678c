"""`appell.monte_carlo`: simulations or rollouts over random draws, over threads or workers, into memory or a store."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any

import numpy as np

from appell.checks import require_integer
from appell.errors import ArgumentError
from appell.sweeps.evaluate import library_version
from appell.sweeps.executors import ProgressCounter, missing_extra, run_chunks, task_runner
from appell.sweeps.layout import ArrayLayout, ChunkSeconds
from appell.sweeps.options import Execution, Labels
from appell.sweeps.runs import MESSAGE, RunJob, code_digest, evaluate_runs, pickled, robot_digest, run_chunk
from appell.sweeps.study import MonteCarlo
from appell.version import __version__

BATCH, SINGLE = 256, 8
"""Runs per chunk by default: of batches, and one by one."""
PROBES = 10
"""Runs that are tried to learn the shapes of results."""


def monte_carlo(
    robot: Any,
    draw: Callable[[np.random.Generator], Mapping[str, Any]],
    run: Callable[..., Mapping[str, Any]],
    n: int,
    store: str | PathLike | None = None,
    client: Any = None,
    *,
    seed: int = 0,
    batch: bool = False,
    execution: Execution = Execution(),
    labels: Labels = Labels(),
) -> MonteCarlo:
    """Run n simulations with random draws, `run(robot, **draw(rng))`.

    Run k has the random numbers of `SeedSequence(seed, spawn_key=(k,))`: it is the same whatever the chunks, workers and
    their order are. A run that raises an error of this library or of arithmetic is data: its results are NaN and it has a
    message; so does a run with a result that is not finite. With a store the same call goes on where an earlier one was
    ended.

    Args:
        robot: passed to `run`. Where `run` calls functions of the robot, compile it for equal bits in all runs: first calls
            are else interpreted. With a store `appell.compile(robot)` travels as its saved file, with the functions that
            `save` keeps by default and rollouts under given torques; others are pickled. For more functions, frames and
            control laws save it yourself and pass `appell.load_compiled(file)`.
        draw: a function of a `numpy.random.Generator` that returns numbers and arrays by name, of the same shapes in all runs.
        run: a function of the robot and what is drawn, by name, that returns numbers and arrays by name.
        n: number of runs.
        store, client: as of `appell.sweep`. Simulations in Python hold its lock: use worker processes.
        seed: of all runs.
        batch: whether `run` takes and returns arrays (runs, ...), as `appell.rollout` does.
        execution: `Execution(chunk, threads, progress)` of `appell.sweeps`.
        labels: `Labels(dims, units, attributes)` of `appell.sweeps`.

    Example:
        >>> import appell
        >>> dyn = appell.compile(appell.load("planar2r"))
        >>> def draw(rng):
        ...     return {"q0": rng.normal(size=2)}
        >>> def fall(dyn, q0):
        ...     path = appell.rollout(dyn, q0, 0 * q0, steps=100, dt=1e-3)
        ...     return {"reach": abs(path.q).max(axis=(-2, -1))}
        >>> study = appell.monte_carlo(dyn, draw, fall, 100, batch=True)
        >>> study.results["reach"].shape, study.failed
        ((100,), 0)
    """
    require_integer("n", n, 1)
    chunk = min(n, execution.chunk or (BATCH if batch else SINGLE))
    job = RunJob(robot, draw, run, require_integer("seed", seed), batch, {}, library_version())
    job, drawn = _with_shapes(job, n)
    layouts = {MESSAGE: ArrayLayout((), "str", ())}
    for name, shape in job.shapes.items():
        names = tuple(labels.dims.get(name, (f"{name}_{i + 1}" for i in range(len(shape)))))
        if len(names) != len(shape):
            raise ArgumentError(f"dims of {name} are {names}, expected {len(shape)} names for its shape {shape}.")
        layouts[name] = ArrayLayout(shape, "float64", names, {"units": labels.units.get(name, "SI")})
    title = getattr(robot, "name", None) or getattr(getattr(robot, "robot", None), "name", type(robot).__name__)
    about = {"robot": title, "version": f"appell {__version__}", "seed": seed, "drawn": drawn}
    about |= {"units": dict(labels.units), **labels.attributes}
    if client is not None and store is None:
        raise ArgumentError("workers of a client write to a store. Give its folder: store='study.zarr'.")
    plan = StudyPlan(job, n, chunk, layouts, about, execution)
    return _into_memory(plan) if store is None else _into_store(plan, store, client)


@dataclass(frozen=True)
class StudyPlan:
    """Validated arguments of a study of n runs; layouts are of draws, results and messages."""

    job: RunJob
    n: int
    chunk: int
    layouts: Mapping[str, ArrayLayout]
    attributes: Mapping[str, Any]
    execution: Execution

    def study(self, arrays: Mapping[str, Any], done: ProgressCounter, store: str | None = None) -> MonteCarlo:
        """The finished study."""
        dims = {name: layout.dims for name, layout in self.layouts.items()}
        seconds = time.perf_counter() - done.started
        return MonteCarlo(self.attributes["robot"], arrays, seconds, self.chunk, store, self.attributes, dims)


def _with_shapes(job: RunJob, n: int) -> tuple[RunJob, list[str]]:
    """The job with the shapes of draws and results, from the first run that does not fail; and the names of the draws."""
    messages = []
    for k in range(min(n, PROBES)):
        drawn = job.drawn(k, k + 1)
        found = job.results(drawn)
        if not found[MESSAGE][0]:
            if both := sorted(drawn.keys() & found.keys()):
                raise ArgumentError(f"{both[0]} is the name of a draw and of a result. Rename one of them.")
            shapes = {name: x.shape[1:] for name, x in {**drawn, **found}.items() if name != MESSAGE}
            return replace(job, shapes=shapes), [*drawn]
        messages.append(str(found[MESSAGE][0]))
    raise ArgumentError(
        f"the first {len(messages)} runs failed, the first of them with: {messages[0]} The shapes of the results are not known. "
        "Try run(robot, **draw(np.random.default_rng(0))) by itself."
    )


def _into_memory(plan: StudyPlan) -> MonteCarlo:
    n, chunk = plan.n, plan.chunk
    types = {name: object if layout.dtype == "str" else layout.dtype for name, layout in plan.layouts.items()}
    arrays = {name: np.empty((n, *layout.shape), types[name]) for name, layout in plan.layouts.items()}

    def part(start: int, stop: int) -> tuple[int, ChunkSeconds]:
        begin = time.perf_counter()
        for name, values in evaluate_runs(plan.job, start, stop).items():
            arrays[name][start:stop] = values
        return stop - start, ChunkSeconds(kernels=time.perf_counter() - begin)

    done = ProgressCounter(n, plan.execution.progress)
    with task_runner(None, plan.execution.threads) as runner:
        runner.run(part, ((a, min(a + chunk, n)) for a in range(0, n, chunk)), done)
    return plan.study(arrays, done)


def _into_store(plan: StudyPlan, store: str | PathLike, client: Any) -> MonteCarlo:
    try:
        from appell.sweeps.store import create_store
    except ImportError:
        raise missing_extra() from None
    job, content = plan.job, pickled(plan.job)
    identity = {
        "version": job.version, "robot": plan.attributes["robot"], "draw": code_digest(job.draw),
        "run": code_digest(job.run), "seed": job.seed, "count": plan.n, "chunk": plan.chunk, "batch": job.batch,
        "shapes": job.shapes, "drawn": plan.attributes["drawn"], "robot_digest": robot_digest(job.robot),
    }  # fmt: skip
    made = create_store(store, identity, plan.layouts, "run", plan.attributes, {}, compress=False)
    done = run_chunks(made, run_chunk, lambda k: (made, content, k), client, plan.execution)
    return plan.study(made.arrays(), done, made.path)
