"""`appell.sweep`: functions of a robot at many states, which are drawn at random, on a grid, or read from a file."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from appell.algorithms.function_spec import as_function_spec
from appell.algorithms.registry import QUANTITIES
from appell.checks import require_choice, require_real_array
from appell.deprecation import renamed_arguments, renamed_fields
from appell.errors import ArgumentError
from appell.files import read_npz, read_text, write_csv, write_npz
from appell.model.joints import KINDS
from appell.model.tree import require_tree
from appell.plotting import COLOURS, new_figure, save_figure, tidy
from appell.robot.compiled import CompiledRobot
from appell.robot.compiled import compile as compile_robot
from appell.robot.robot import Robot
from appell.table import Table

BATCH_SIZE = 65536
"""States per call: enough to use all cores, few enough to show progress."""
MAX_STATES = 100_000_000
"""Maximum number of states of a sweep."""
NO_TREE = " Call the functions of robots with closed loops with batches."


@renamed_fields(drive="qdd_or_tau")
@dataclass(frozen=True)
class States:
    """N states; slices are states, too.

    Attributes:
        q: coordinates, (N, nq).
        qd: velocities, (N, nv).
        qdd_or_tau: accelerations, or forces for forward dynamics, (N, nv).
    """

    q: np.ndarray
    qd: np.ndarray
    qdd_or_tau: np.ndarray

    def __len__(self) -> int:
        return len(self.q)

    def __getitem__(self, part: slice) -> States:
        return States(self.q[part], self.qd[part], self.qdd_or_tau[part])


@renamed_arguments(speed="max_velocity", drive="max_qdd_or_tau")
def random_states(
    robot: Robot, count: int, seed: int = 0, max_velocity: float = 1.0, max_qdd_or_tau: float = 1.0
) -> States:
    """Uniformly distributed states: coordinates within the limits (±π rad or ±1 m without), the rest within ± its maximum.

    Example:
        >>> import appell
        >>> random_states(appell.load("puma560"), 1000).q.shape
        (1000, 6)
    """
    require_tree("robot", robot, NO_TREE)
    if not 0 < count <= MAX_STATES:
        raise ArgumentError(f"{count} random states, expected 1 to {MAX_STATES}.")
    rng = np.random.default_rng(seed)
    low, high = _ranges(robot)
    q = rng.uniform(low, high, (count, robot.nq))
    for _, start in robot.tree.quaternions:
        quaternions = rng.normal(size=(count, 4))
        q[:, start : start + 4] = quaternions / np.linalg.norm(quaternions, axis=1, keepdims=True)
    limits = (max_velocity, max_qdd_or_tau)
    return States(q, *(rng.uniform(-limit, limit, (count, robot.nv)) for limit in limits))


def grid_states(robot: Robot, points: int) -> States:
    """A grid with this many points per coordinate between its limits, at rest.

    Example:
        >>> import appell
        >>> grid_states(appell.load("planar2r"), 5).q.shape
        (25, 2)
    """
    require_tree("robot", robot, NO_TREE)
    if robot.tree.quaternions:
        raise ArgumentError(f"{robot.name} has quaternions, for which a grid is not defined. Use random states.")
    if points < 2 or points**robot.nq > MAX_STATES:
        raise ArgumentError(
            f"a grid of {points} points in {robot.nq} coordinates has {points**robot.nq:.3g} states, expected at most "
            f"{MAX_STATES:.3g} and 2 points or more. Use random states."
        )
    low, high = _ranges(robot)
    axes = [np.linspace(start, end, points) for start, end in zip(low, high, strict=True)]
    q = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, robot.nq)
    return States(q, np.zeros((len(q), robot.nv)), np.zeros((len(q), robot.nv)))


def read_states(robot: Robot, path: str | PathLike) -> States:
    """States of a file: .npz with arrays q, qd, qdd or tau; otherwise text with nq, nq + nv or nq + 2 nv columns.

    The first line of a text file may have the names of the columns. Missing columns and arrays are zero.
    """
    require_tree("robot", robot, NO_TREE)
    path = Path(path)
    return _from_arrays(robot, path) if path.suffix == ".npz" else _from_text(robot, path)


def _from_arrays(robot: Robot, path: Path) -> States:
    stored = read_npz(path)
    arrays = {
        name: np.atleast_2d(require_real_array(f"{path}: {name}", stored[name])) for name in _ARRAYS if name in stored
    }
    if "q" not in arrays:
        raise ArgumentError(f"{path} has no array q. Expected q (N, {robot.nq}), and qd, qdd or tau (N, {robot.nv}).")
    zero = np.zeros((len(arrays["q"]), robot.nv))
    third = next((arrays[name] for name in _THIRD if name in arrays), zero)
    states = States(arrays["q"], arrays.get("qd", zero), third)
    for name, array, width in (("q", states.q, robot.nq), ("qd", states.qd, robot.nv), ("qdd", third, robot.nv)):
        if array.shape != (len(zero), width):
            raise ArgumentError(f"{path}: {name} has shape {array.shape}, expected {(len(zero), width)}.")
    return states


_THIRD = ("qdd", "tau", "qdd_or_tau", "drive")
"""Names of the third array: the user's, that of `Sweep.save`, and its former one."""
_ARRAYS = ("q", "qd", *_THIRD)


def _from_text(robot: Robot, path: Path) -> States:
    lines = [line for line in read_text(path).splitlines() if line.strip()]
    rows = lines if not lines or _is_numbers(lines[0]) else lines[1:]
    if not rows:
        raise ArgumentError(f"{path} is not a table of numbers: it has no rows. Give comma separated values.")
    try:
        table = np.atleast_2d(np.loadtxt(rows, delimiter="," if "," in rows[0] else None))
    except ValueError as error:
        raise ArgumentError(f"{path} is not a table of numbers: {error}. Give comma separated values.") from None
    nq, nv = robot.nq, robot.nv
    if table.shape[1] not in (nq, nq + nv, nq + 2 * nv):
        raise ArgumentError(
            f"{path} has {table.shape[1]} columns, expected {nq} (q), {nq + nv} (q, qd) or {nq + 2 * nv} (q, qd, and qdd "
            "or tau)."
        )
    full = np.zeros((len(table), nq + 2 * nv))
    full[:, : table.shape[1]] = table
    return States(full[:, :nq], full[:, nq : nq + nv], full[:, nq + nv :])


def _is_numbers(line: str) -> bool:
    try:
        [float(part) for part in line.replace(",", " ").split()]
    except ValueError:
        return False
    return True


def _ranges(robot: Robot) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper limit of every coordinate."""
    ends = []
    for joint in robot.moving_joints:
        kind = KINDS[joint.kind]
        rotational = kind.is_rotational(joint)
        for k in range(kind.nq):
            reach = np.pi if rotational[min(k, kind.nv - 1)] else 1.0
            low, high = (joint.limits.lower, joint.limits.upper) if kind.limited else (-np.inf, np.inf)
            ends.append((low if np.isfinite(low) else -reach, high if np.isfinite(high) else reach))
    return np.array([end[0] for end in ends]), np.array([end[1] for end in ends])


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
