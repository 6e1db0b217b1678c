"""Functions of a robot at many states, evaluated in batches."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from appell.algorithms.function_spec import as_function_spec
from appell.algorithms.registry import QUANTITIES
from appell.checks import require_choice
from appell.errors import ArgumentError
from appell.files import write_csv, write_npz
from appell.model.tree import require_tree
from appell.plotting import COLOURS, new_figure, save_figure, tidy
from appell.robot.compiled import compile as compile_robot
from appell.sweeps.states import NO_TREE, States
from appell.table import Table

if TYPE_CHECKING:
    from appell.robot.compiled import CompiledRobot
    from appell.robot.robot import Robot

BATCH_SIZE = 65536
"""States per call: enough to use all cores, few enough to show progress."""


@dataclass(frozen=True)
class Sweep:
    """Results of a sweep.

    Attributes:
        states: states at which the functions were evaluated.
        results: values by function as named in the call, (N, ...) each.
        seconds: evaluation time, without compilation. [s]
    """

    robot_name: str
    states: States = field(repr=False)
    results: Mapping[str, np.ndarray] = field(repr=False)
    seconds: float

    def table(self) -> Table:
        """Smallest, mean and largest entry of every result, and the state of the largest magnitude."""
        rows = []
        for name, values in self.results.items():
            worst = np.unravel_index(int(np.abs(values).argmax()), values.shape)
            statistics = (float(values.min()), float(values.mean()), float(values.max()))
            rows.append((name, " x ".join(map(str, values.shape[1:])) or "1", *statistics, int(worst[0])))
        rate = len(self.states) / max(self.seconds, 1e-9)
        columns = ("function", "shape", "smallest", "mean", "largest", "state of the largest magnitude")
        note = f"{len(self.states)} states in {self.seconds:.3g} s, {rate:.3g} states/s for all functions together."
        return Table(f"Sweep of {self.robot_name}", columns, tuple(rows), (note,))

    def save(self, path: str | PathLike) -> None:
        """Write states and results as .npz (arrays by name) or .csv (one column per number)."""
        states = {"q": self.states.q, "qd": self.states.qd, "qdd_or_tau": self.states.qdd_or_tau}
        suffix = Path(path).suffix
        if suffix == ".npz":
            results = {name.replace(":", "_").replace("@", "_"): values for name, values in self.results.items()}
            write_npz(path, {**states, **results})
        elif suffix == ".csv":
            _write_csv(Path(path), {**states, **self.results})
        else:
            raise ArgumentError(f"cannot write {path}: expected a name that ends in .npz or .csv.")

    def plot(self, path: str | PathLike | None = None) -> Any:
        """Histograms of all results, one panel per function. Needs matplotlib; returns the figure."""
        figure = new_figure(8.0, 2.4 * len(self.results))
        panels = np.atleast_1d(figure.subplots(len(self.results), 1))
        for i, (panel, (name, values)) in enumerate(zip(panels, self.results.items(), strict=True)):
            panel.hist(values.ravel(), bins=100, color=COLOURS[i % len(COLOURS)])
            panel.set(xlabel=f"entries of {name} [SI]", ylabel="count", yscale="log")
            tidy(panel)
        save_figure(figure, path)
        return figure


def _write_csv(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    names = [
        f"{name}{''.join(f'_{i + 1}' for i in index)}"
        for name, values in arrays.items()
        for index in np.ndindex(values.shape[1:])
    ]
    table = np.concatenate([values.reshape(len(values), -1) for values in arrays.values()], axis=1)
    write_csv(path, names, table.tolist())


def sweep(
    robot: Robot,
    functions: Sequence[str],
    states: States,
    *,
    dtype: str = "float64",
    threads: int | None = None,
    batch: int = BATCH_SIZE,
    progress: Callable[[float], None] | None = None,
) -> Sweep:
    """Evaluate functions of a robot at many states.

    Args:
        functions: names of `appell.Robot` methods of the state; `pose:FRAME`, `jacobian:FRAME` for a frame,
            `FUNCTION@METHOD` for a method. Their `qdd` or `tau` is `states.qdd_or_tau`.
        batch: states per call.
        progress: called with the completed share, from 0 to 1.

    Example:
        >>> import appell
        >>> from appell.sweeps import random_states
        >>> robot = appell.load("puma560")
        >>> result = appell.sweep(robot, ["gravity", "mass_matrix"], random_states(robot, 100))
        >>> result.results["mass_matrix"].shape
        (100, 6, 6)
    """
    require_tree("robot", robot, NO_TREE)
    compiled = compile_robot(robot, dtype=dtype, threads=threads)
    calls = {name: function_of_states(compiled, name) for name in functions}
    if not calls:
        raise ArgumentError("no functions to evaluate. Name at least one, such as inverse_dynamics.")
    first = states[:1]
    shapes = {name: np.asarray(call(first)).shape[1:] for name, call in calls.items()}  # also compiles
    results = {name: np.empty((len(states), *shape), dtype=dtype) for name, shape in shapes.items()}
    start_time = time.perf_counter()
    for start in range(0, len(states), batch):
        part = states[start : start + batch]
        for name, call in calls.items():
            results[name][start : start + batch] = call(part)
        if progress is not None:
            progress(min(1.0, (start + batch) / len(states)))
    return Sweep(robot.name, states, results, time.perf_counter() - start_time)


def function_of_states(compiled: CompiledRobot, text: str) -> Callable[[States], np.ndarray]:
    """A function of states from `function`, `function@method` or `function:frame[:REFERENCE_FRAME]`."""
    spec = as_function_spec(text)
    quantity = QUANTITIES[require_choice("function", spec.function, QUANTITIES)]
    if quantity.needs_frame and spec.frame is None:
        raise ArgumentError(f"{spec.function} needs a frame. Write {spec.function}:FRAME.")
    key = (spec.function, spec.method, spec.frame, spec.reference)
    function = compiled.functions[key if quantity.needs_frame else key[:2]]
    fields = {"q": "q", "qd": "qd", "qdd": "qdd_or_tau", "tau": "qdd_or_tau"}
    return lambda states: function(tuple(getattr(states, fields[name]) for name in quantity.inputs))
