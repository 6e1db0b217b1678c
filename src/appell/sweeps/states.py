"""States to evaluate: drawn at random, on a grid, or read from a file."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from appell.deprecation import renamed_arguments, renamed_fields
from appell.errors import ArgumentError
from appell.model.joints import KINDS
from appell.model.tree import require_tree

if TYPE_CHECKING:
    from appell.robot.robot import Robot

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
    with np.load(path, allow_pickle=False) as file:
        arrays = {name: np.atleast_2d(np.asarray(file[name], dtype=float)) for name in file.files if name in _ARRAYS}
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
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
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
