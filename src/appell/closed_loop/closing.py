"""Position closure: coordinates that close all loops, by Newton's method.

The step is the shortest one, q ⊕ -K⁺ φ(q), with the pseudo-inverse so that redundant closures and singular configurations
do no harm; it is limited in length and halved until the residual shrinks. All states of a batch move at once.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from appell.errors import ClosureError

if TYPE_CHECKING:
    from appell.closed_loop.robot import ClosedLoopRobot

CLOSED = 1e-10
"""Loops count as closed when no residual is larger. [m, rad]"""
EXACT = 1e-14
"""Newton's method goes on to this, if it can."""
LONGEST = 0.5
"""Longest step of one joint. [rad, m]"""
STRIDE = 0.2
"""Longest step of a joint that is led to its goal. [rad, m]"""
PATIENCE, HALVINGS = 100, 12
RCOND = 1e-9


@dataclass(frozen=True)
class Closing:
    """How a position closure ended.

    Attributes:
        nearest: the coordinates it ended with, closed or not, (..., nq).
        error: largest residual there, (...). [m, rad]
        iterations: of Newton's method.
        equations: names of the closures, one for each residual.
        residual: (..., rows). [m, rad]
    """

    nearest: np.ndarray
    error: np.ndarray
    iterations: int
    equations: tuple[str, ...]
    residual: np.ndarray

    @property
    def closed(self) -> np.ndarray:
        """Which states are closed, (...)."""
        return self.error <= CLOSED

    @property
    def status(self) -> str:
        """`"closed"`, or `"unreachable"` where a state was not closed."""
        return "closed" if self.closed.all() else "unreachable"

    @property
    def q(self) -> np.ndarray:
        """The closed coordinates, (..., nq).

        Raises:
            ClosureError: of the first state whose loops do not close.
        """
        if self.closed.all():
            return self.nearest
        index = tuple(int(i) for i in np.argwhere(~self.closed)[0])
        row = int(np.argmax(np.abs(self.residual[index])))
        value = float(self.residual[index][row])
        raise ClosureError(
            f"loops do not close{f' in state {index}' if index else ''}: closure {self.equations[row]!r} stays open by "
            f"{value:.3g} m (rad) after {self.iterations} steps. Start nearer to a closed configuration, hold fewer joints, or "
            "check that the bodies can meet.",
            status="unreachable", where=self.equations[row], value=value, index=index,
        )  # fmt: skip


def close(robot: ClosedLoopRobot, q: np.ndarray, held: Iterable[int]) -> Closing:
    """Close the loops of states (..., nq) without moving the held speeds of the tree."""
    lead = q.shape[:-1]
    states = q.reshape(math.prod(lead), robot.nq).copy()
    free = np.setdiff1d(np.arange(robot.open_tree.nv), list(held))
    left = residuals(robot, states)
    iterations = 0
    while iterations < PATIENCE:
        open_ = np.flatnonzero(_size(left) > EXACT)
        if not open_.size:
            break
        moved, better = _improved(robot, states[open_], left[open_], free)
        done = _size(better) >= _size(left[open_])
        states[open_[~done]], left[open_[~done]] = moved[~done], better[~done]
        iterations += 1
        if done.all():
            break
    names = tuple(loop.name for loop in robot.system.loops for _ in range(loop.kind.count))
    shape = (*lead, robot.system.rows)
    return Closing(states.reshape(q.shape), _size(left).reshape(lead), iterations, names, left.reshape(shape))


def lead(robot: ClosedLoopRobot, start: np.ndarray, goal: np.ndarray, held: Sequence[int]) -> Closing:
    """Close the loops with the coordinates of held joints at the goal, which they reach from the start in small steps."""
    tree, q = robot.open_tree, np.broadcast_to(start, goal.shape)

    def step(q: np.ndarray, left: int) -> Closing:
        """One of so many steps that are left."""
        away = np.zeros((*goal.shape[:-1], tree.nv))
        away[..., list(held)] = tree.difference(q, goal)[..., list(held)] / left
        return close(robot, tree.integrate(q, away), held)

    farthest = float(np.abs(tree.difference(q, goal)).max(initial=0.0))
    for left in range(math.ceil(farthest / STRIDE), 1, -1):
        q = step(q, left).nearest
    return step(q, 1)


def residuals(robot: ClosedLoopRobot, q: np.ndarray) -> np.ndarray:
    """φ(q), (N, rows); huge where frames stand against each other, so that no step leads there."""
    found = robot.functions["residual", None]((q,), None, None, None, None, False)
    return np.nan_to_num(found, nan=1e6, posinf=1e6, neginf=-1e6)


def _improved(robot: ClosedLoopRobot, q: np.ndarray, left: np.ndarray, free: np.ndarray):
    """One step from states that are open, and the residuals there."""
    K = robot.functions["closure_jacobian", None]((q,), None, None, None, None, False)
    step = np.zeros((len(q), robot.open_tree.nv))
    step[:, free] = -(np.linalg.pinv(K[:, :, free], rcond=RCOND) @ left[:, :, None])[:, :, 0]
    longest = np.abs(step).max(axis=1, keepdims=True)
    step *= np.minimum(1.0, LONGEST / np.maximum(longest, 1e-300))
    moved, better = q.copy(), left.copy()
    waiting = np.arange(len(q))
    for _ in range(HALVINGS):
        tried = robot.open_tree.integrate(q[waiting], step[waiting])
        found = residuals(robot, tried)
        good = np.linalg.norm(found, axis=1) < np.linalg.norm(left[waiting], axis=1)
        moved[waiting[good]], better[waiting[good]] = tried[good], found[good]
        waiting = waiting[~good]
        if not waiting.size:
            break
        step[waiting] *= 0.5
    return moved, better


def _size(left: np.ndarray) -> np.ndarray:
    return np.abs(left).max(axis=-1, initial=0.0)
