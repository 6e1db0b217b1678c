"""Evaluate functions of a robot in many states, batch after batch, and keep what comes out."""

from __future__ import annotations

import csv
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from appell.errors import ArgumentError, unknown_name_message
from appell.robot.compiled import compile as compile_robot
from appell.sweeps.states import States, require_tree
from appell.table import Table

if TYPE_CHECKING:
    from appell.robot.robot import Robot

BATCH = 65536
"""States of one call: enough to keep the processor busy, few enough to show progress."""
WRITERS = {".npz": "_write_npz", ".csv": "_write_csv"}


@dataclass(frozen=True)
class Sweep:
    """Results of a sweep.

    Attributes:
        states: where the functions were evaluated.
        results: of each function by the name it was asked for, (N, ...) each.
        seconds: time of evaluation, without compilation. [s]
    """

    robot_name: str
    states: States = field(repr=False)
    results: Mapping[str, np.ndarray] = field(repr=False)
    seconds: float

    def table(self) -> Table:
        """Smallest, mean and largest entry of every result, and where the largest magnitude is."""
        rows = []
        for name, values in self.results.items():
            worst = np.unravel_index(int(np.abs(values).argmax()), values.shape)
            spread = (float(values.min()), float(values.mean()), float(values.max()))
            rows.append((name, " x ".join(map(str, values.shape[1:])) or "1", *spread, int(worst[0])))
        rate = len(self.states) / max(self.seconds, 1e-9)
        columns = ("function", "shape", "smallest", "mean", "largest", "state of the largest magnitude")
        note = f"{len(self.states)} states in {self.seconds:.3g} s, {rate:.3g} states/s for all functions together."
        return Table(f"Sweep of {self.robot_name}", columns, tuple(rows), (note,))

    def save(self, path: str | PathLike) -> None:
        """Write states and results as .npz (arrays by name) or .csv (a column for each number)."""
        writer = WRITERS.get(Path(path).suffix)
        if writer is None:
            raise ArgumentError(f"cannot write {path}: expected a name that ends in {' or '.join(WRITERS)}.")
        getattr(self, writer)(Path(path))

    def plot(self, path: str | PathLike | None = None) -> Any:
        """Histograms of all results, one panel for each function. Needs matplotlib; returns the figure."""
        from appell.plotting import COLOURS, new_figure, save_figure, tidy

        figure = new_figure(8.0, 2.4 * len(self.results))
        panels = np.atleast_1d(figure.subplots(len(self.results), 1))
        for i, (panel, (name, values)) in enumerate(zip(panels, self.results.items(), strict=True)):
            panel.hist(values.ravel(), bins=100, color=COLOURS[i % len(COLOURS)])
            panel.set(xlabel=f"entries of {name} [SI]", ylabel="count", yscale="log")
            tidy(panel)
        save_figure(figure, path)
        return figure

    def _write_npz(self, path: Path) -> None:
        arrays = {"q": self.states.q, "qd": self.states.qd, "drive": self.states.drive}
        clean = {name.replace(":", "_").replace("@", "_"): values for name, values in self.results.items()}
        with open(path, "wb") as file:
            np.savez_compressed(file, allow_pickle=False, **arrays, **clean)

    def _write_csv(self, path: Path) -> None:
        blocks = {"q": self.states.q, "qd": self.states.qd, "drive": self.states.drive, **self.results}
        names = [
            f"{name}{''.join(f'_{i + 1}' for i in index)}"
            for name, v in blocks.items()
            for index in np.ndindex(v.shape[1:])
        ]
        table = np.concatenate([values.reshape(len(self.states), -1) for values in blocks.values()], axis=1)
        with open(path, "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(names)
            writer.writerows(table.tolist())


def sweep(
    robot: Robot,
    functions: Sequence[str],
    states: States,
    *,
    dtype: str = "float64",
    threads: int | None = None,
    batch: int = BATCH,
    progress: Callable[[float], None] | None = None,
) -> Sweep:
    """Evaluate functions of a robot in many states.

    Args:
        functions: names of `appell.Robot` methods that take states; `pose:FRAME`, `jacobian:FRAME` for a frame,
            `function@method` for a method. `qdd` or `tau` are the states' `drive`.
        progress: called with the share that is done, from 0 to 1.

    Example:
        >>> import appell
        >>> from appell.sweeps import random_states
        >>> robot = appell.load("puma560")
        >>> found = appell.sweep(robot, ["gravity", "mass_matrix"], random_states(robot, 100))
        >>> found.results["mass_matrix"].shape
        (100, 6, 6)
    """
    require_tree(robot)
    compiled = compile_robot(robot, dtype=dtype, threads=threads)
    calls = {name: call_of(compiled, name) for name in functions}
    if not calls:
        raise ArgumentError("no functions to evaluate. Name at least one, such as inverse_dynamics.")
    first = _slice(states, 0, 1)
    shapes = {name: np.asarray(call(first)).shape[1:] for name, call in calls.items()}  # also compiles
    results = {name: np.empty((len(states), *shape), dtype=dtype) for name, shape in shapes.items()}
    begun = time.perf_counter()
    for start in range(0, len(states), batch):
        part = _slice(states, start, start + batch)
        for name, call in calls.items():
            results[name][start : start + batch] = call(part)
        if progress is not None:
            progress(min(1.0, (start + batch) / len(states)))
    return Sweep(robot.name, states, results, time.perf_counter() - begun)


def call_of(compiled: Any, text: str) -> Callable[[States], np.ndarray]:
    """A function of states from `function`, `function@method` or `function:frame[:REFERENCE]`."""
    from appell.algorithms.registry import QUANTITIES
    from appell.algorithms.request import as_request

    request = as_request(text)
    quantity = QUANTITIES.get(request.function)
    if quantity is None:
        raise ArgumentError(unknown_name_message("function", request.function, QUANTITIES))
    options: dict[str, Any] = {"method": request.method} if request.method else {}
    if quantity.frame:
        if request.frame is None:
            raise ArgumentError(f"{request.function} is of a frame. Write {request.function}:FRAME.")
        options["frame"] = request.frame
        if request.function != "pose":
            options["reference"] = request.reference
    method = getattr(compiled, request.function)
    columns = {"q": "q", "qd": "qd", "qdd": "drive", "tau": "drive"}
    inputs = [columns[name] for name in quantity.inputs]
    return lambda states: method(*(getattr(states, name) for name in inputs), **options)


def _slice(states: States, start: int, end: int) -> States:
    return States(states.q[start:end], states.qd[start:end], states.drive[start:end])
