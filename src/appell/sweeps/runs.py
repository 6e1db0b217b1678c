"""Runs of a Monte Carlo study: draw, run, and failures as data. This is what workers run."""

from __future__ import annotations

import hashlib
import inspect
import pickle
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from appell.compiler.fingerprint import digest
from appell.compiler.options import Options
from appell.errors import AppellError, ArgumentError
from appell.files import write_bytes
from appell.loading.compiled import load_compiled
from appell.robot.compiled import CompiledRobot
from appell.sweeps.evaluate import is_interpreted, require_same_code, require_version, robot_file
from appell.sweeps.executors import missing_extra
from appell.sweeps.layout import ChunkSeconds

FAILURES = (AppellError, ArithmeticError, np.linalg.LinAlgError)
"""Errors of a run that are data; others are defects of `draw` or `run` and end the study."""
MESSAGE = "message"
"""Array with the message of every run that failed, empty for the others."""


@dataclass(frozen=True)
class RunJob:
    """What is run: `run(robot, **draw(rng))`, for single runs or for batches of them.

    Attributes:
        robot: any robot, or `SavedRobot` on its way to a worker.
        shapes: of the draws and results of one run; empty where they are not known yet.
    """

    robot: Any
    draw: Callable[[np.random.Generator], Mapping[str, Any]]
    run: Callable[..., Mapping[str, Any]]
    seed: int
    batch: bool
    shapes: Mapping[str, tuple[int, ...]]
    version: str

    def generator(self, k: int) -> np.random.Generator:
        """The random numbers of run k, whatever the chunks and workers are."""
        return np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(k,)))

    def drawn(self, start: int, stop: int) -> dict[str, np.ndarray]:
        """What is drawn for these runs, stacked."""
        draws = [self.draw(self.generator(k)) for k in range(start, stop)]
        return {name: np.stack([np.asarray(each[name], float) for each in draws]) for name in draws[0]}

    def results(self, drawn: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Results of the runs with these draws, and messages; a batch that fails is halved to find its failures."""
        count = len(next(iter(drawn.values())))
        try:
            if self.batch:
                found = {name: np.asarray(x, float) for name, x in self.run(self.robot, **drawn).items()}
            elif count == 1:
                one = self.run(self.robot, **{name: values[0] for name, values in drawn.items()})
                found = {name: np.asarray(x, float)[None] for name, x in one.items()}
            else:
                return self._halves(drawn, count)
        except FAILURES as error:
            if count > 1:
                return self._halves(drawn, count)
            text = f"{type(error).__name__}: {error}"
            found = {name: np.full((1, *shape), np.nan) for name, shape in self.shapes.items() if name not in drawn}
            return {**found, MESSAGE: np.array([text], object)}
        return {**found, MESSAGE: _messages(found, count)}

    def _halves(self, drawn: Mapping[str, np.ndarray], count: int) -> dict[str, np.ndarray]:
        middle = count // 2
        halves = [
            self.results({name: x[part] for name, x in drawn.items()}) for part in (np.s_[:middle], np.s_[middle:])
        ]
        return {name: np.concatenate([half[name] for half in halves]) for name in halves[0]}


def _messages(found: Mapping[str, np.ndarray], count: int) -> np.ndarray:
    """For every run the first result that is not finite; empty where all are."""
    if MESSAGE in found:
        raise ArgumentError(
            f"{MESSAGE} is the name of the messages of failed runs. Give the result of run another name."
        )
    messages = np.full(count, "", object)
    for name, values in found.items():
        if len(values) != count:
            raise ArgumentError(f"run gives {name} of shape {values.shape} for {count} runs, expected ({count}, ...).")
        bad = ~np.isfinite(values.reshape(count, -1)).all(axis=1) & (messages == "")
        messages[bad] = f"{name} is not finite"
    return messages


def evaluate_runs(job: RunJob, start: int, stop: int) -> dict[str, np.ndarray]:
    """Draws, results and messages of these runs, in the shapes of the study."""
    drawn = job.drawn(start, stop)
    found = {**drawn, **job.results(drawn)}
    for name, shape in job.shapes.items():
        if name not in found or found[name].shape[1:] != shape:
            got = found[name].shape[1:] if name in found else "nothing"
            raise ArgumentError(
                f"runs {start} to {stop - 1}: {name} has shape {got}, expected {shape} as in the first run."
            )
    return found


def run_chunk(store: Any, content: bytes, k: int) -> tuple[int, ChunkSeconds]:
    """Run chunk k of a study and write it."""
    job, (start, stop) = _unpickled(content), store.bounds(k)
    require_version(job.version)
    begin = time.perf_counter()
    found = evaluate_runs(job, start, stop)
    made = time.perf_counter()
    store.write(k, found)
    return stop - start, ChunkSeconds(0.0, made - begin, time.perf_counter() - made)


@dataclass(frozen=True)
class SavedRobot:
    """A compiled robot as its file, how it was compiled, and whether its kernels are interpreted."""

    content: bytes
    options: Options
    interpreted: bool

    def load(self) -> CompiledRobot:
        options = self.options
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "robot.appell")
            write_bytes(file, self.content)
            robot = load_compiled(file, options.target, options.dtype, threads=1, layout=options.layout)
        require_same_code(robot, self.interpreted)
        return robot


@lru_cache(maxsize=4)
def _unpickled(content: bytes) -> RunJob:
    """The job that a client has sent; a compiled robot is loaded once per process."""
    job: RunJob = pickle.loads(content)
    return replace(job, robot=job.robot.load()) if isinstance(job.robot, SavedRobot) else job


def pickled(job: RunJob) -> bytes:
    """A job for other processes: a compiled robot as its file, functions of the caller by their code."""
    try:
        import cloudpickle
    except ImportError:
        raise missing_extra() from None
    robot = job.robot
    if isinstance(robot, CompiledRobot):
        tree = robot.store is None and robot.robot.system.recursion is not None
        robot = SavedRobot(robot_file(robot, rollouts=["torque"] if tree else []), robot.options, is_interpreted(robot))
    return cloudpickle.dumps(replace(job, robot=robot))


def robot_digest(robot: Any) -> str:
    """A digest of a robot's description."""
    return digest(robot.robot, robot.options) if isinstance(robot, CompiledRobot) else digest(robot)


def code_digest(function: Any) -> str:
    """A digest of a function: its text, defaults and the values that it encloses."""
    if isinstance(function, partial):
        return digest(code_digest(function.func), function.args, function.keywords)
    if not inspect.isfunction(function):
        return digest(type(function).__qualname__, vars(function) if hasattr(function, "__dict__") else ())
    try:
        text = inspect.getsource(function)
    except (OSError, TypeError):
        text = function.__code__.co_code.hex()
    enclosed = [cell.cell_contents for cell in function.__closure__ or ()]
    text = hashlib.sha256(text.encode()).hexdigest()
    return digest(function.__qualname__, text, function.__defaults__, function.__kwdefaults__, enclosed)
