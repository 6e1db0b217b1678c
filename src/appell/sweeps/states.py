"""States to evaluate: drawn at random, on a grid, or read from a file."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from appell.errors import ArgumentError
from appell.model.joints import KINDS

if TYPE_CHECKING:
    from appell.robot.robot import Robot

MOST = 100_000_000
"""States of one sweep at most."""


@dataclass(frozen=True)
class States:
    """N states.

    Attributes:
        q: coordinates, (N, nq).
        qd: speeds, (N, nv).
        drive: accelerations, or forces for forward dynamics, (N, nv).
    """

    q: np.ndarray
    qd: np.ndarray
    drive: np.ndarray

    def __len__(self) -> int:
        return len(self.q)


def require_tree(robot: Robot) -> None:
    """Refuse robots whose coordinates depend on each other."""
    if hasattr(robot, "spanning_tree"):
        raise ArgumentError(f"{robot.name} has closed loops; a sweep is of a tree. Call its functions with batches.")


def random_states(robot: Robot, count: int, seed: int = 0, speed: float = 1.0, drive: float = 1.0) -> States:
    """Coordinates drawn evenly within the limits (half a turn, 1 m without), the rest evenly from ± speed and ± drive.

    Example:
        >>> import appell
        >>> random_states(appell.load("puma560"), 1000).q.shape
        (1000, 6)
    """
    require_tree(robot)
    if not 0 < count <= MOST:
        raise ArgumentError(f"{count} random states, expected 1 to {MOST}.")
    rng = np.random.default_rng(seed)
    low, high = _ranges(robot)
    q = rng.uniform(low, high, (count, robot.nq))
    for start in _quaternions(robot):
        turns = rng.normal(size=(count, 4))
        q[:, start : start + 4] = turns / np.linalg.norm(turns, axis=1, keepdims=True)
    return States(q, rng.uniform(-speed, speed, (count, robot.nv)), rng.uniform(-drive, drive, (count, robot.nv)))


def grid_states(robot: Robot, points: int) -> States:
    """A grid of so many points for each coordinate between its limits, all at rest.

    Example:
        >>> import appell
        >>> grid_states(appell.load("planar2r"), 5).q.shape
        (25, 2)
    """
    require_tree(robot)
    if _quaternions(robot):
        raise ArgumentError(f"{robot.name} has joints with quaternions, which have no grid. Draw states at random.")
    if points < 2 or points**robot.nq > MOST:
        raise ArgumentError(
            f"a grid of {points} points in {robot.nq} coordinates has {points**robot.nq:.3g} states, expected at most "
            f"{MOST:.3g} and 2 points or more. Draw states at random."
        )
    low, high = _ranges(robot)
    axes = [np.linspace(start, end, points) for start, end in zip(low, high, strict=True)]
    q = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, robot.nq)
    return States(q, np.zeros((len(q), robot.nv)), np.zeros((len(q), robot.nv)))


def read_states(robot: Robot, path: str | PathLike) -> States:
    """States of a file: .npz with arrays q, qd, qdd or tau; otherwise text with nq, nq + nv or nq + 2 nv columns.

    The first line of a text may name its columns. What the file leaves out is zero.
    """
    require_tree(robot)
    path = Path(path)
    return _from_arrays(robot, path) if path.suffix == ".npz" else _from_text(robot, path)


def _from_arrays(robot: Robot, path: Path) -> States:
    with np.load(path, allow_pickle=False) as file:
        found = {name: np.atleast_2d(np.asarray(file[name], dtype=float)) for name in file.files if name in _NAMES}
    if "q" not in found:
        raise ArgumentError(f"{path} has no array q. Expected q (N, {robot.nq}), and qd, qdd or tau (N, {robot.nv}).")
    count = len(found["q"])
    still = np.zeros((count, robot.nv))
    drive = found.get("qdd", found.get("tau", still))
    return _checked(robot, States(found["q"], found.get("qd", still), drive), path)


_NAMES = ("q", "qd", "qdd", "tau")


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
    return _checked(robot, States(full[:, :nq], full[:, nq : nq + nv], full[:, nq + nv :]), path)


def _is_numbers(line: str) -> bool:
    try:
        [float(part) for part in line.replace(",", " ").split()]
    except ValueError:
        return False
    return True


def _checked(robot: Robot, states: States, path: Path) -> States:
    count = len(states)
    for name, array, width in (("q", states.q, robot.nq), ("qd", states.qd, robot.nv), ("qdd", states.drive, robot.nv)):
        if array.shape != (count, width):
            raise ArgumentError(f"{path}: {name} has shape {array.shape}, expected {(count, width)}.")
    return states


def _ranges(robot: Robot) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper end of every coordinate."""
    ends = []
    for joint in robot.moving_joints:
        kind = KINDS[joint.kind]
        own = kind.is_rotational(joint)
        for k in range(kind.nq):
            reach = np.pi if own[min(k, kind.nv - 1)] else 1.0
            low, high = (joint.limits.lower, joint.limits.upper) if kind.limited else (-np.inf, np.inf)
            ends.append((low if np.isfinite(low) else -reach, high if np.isfinite(high) else reach))
    return np.array([end[0] for end in ends]), np.array([end[1] for end in ends])


def _quaternions(robot: Robot) -> list[int]:
    return [start for _, start in robot.tree.quaternions]
