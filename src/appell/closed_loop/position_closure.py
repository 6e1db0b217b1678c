"""Position closure: configurations that close all loops, by Newton's method.

The step is q ⊕ -K⁺ φ(q) with the pseudo-inverse, which allows redundant closures and singular configurations; it is limited
in length and halved until the residual decreases. All states of a batch are solved together.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from appell.deprecation import renamed_fields
from appell.errors import LoopClosureError

if TYPE_CHECKING:
    from appell.closed_loop.robot import ClosedLoopRobot

CLOSED_TOL = 1e-7
"""Largest residual of closed loops: redundant closures of rounded descriptions do not close better. [m, rad]"""
RESIDUAL_TOL = 1e-14
"""Residual at which Newton's method stops. [m, rad]"""
MAX_STEP = 0.5
"""Of one joint per iteration. [rad, m]"""
CONTINUATION_STEP = 0.2
"""Largest step of a given joint towards its target value. [rad, m]"""
MAX_ITERATIONS, MAX_HALVINGS = 100, 12
RCOND = 1e-6
"""Singular values of the closure Jacobian below this fraction of the largest one count as zero: redundant up to rounding."""


@renamed_fields(nearest="best_q")
@dataclass(frozen=True)
class ClosureSolution:
    """Result of `ClosedLoopRobot.solve_loop_closure`.

    Attributes:
        best_q: the last configuration, closed or not, (..., nq).
        error: largest residual there, (...). [m, rad]
        iterations: of Newton's method.
        equations: name of the closure of each residual.
        residual: (..., rows). [m, rad]
    """

    best_q: np.ndarray
    error: np.ndarray
    iterations: int
    equations: tuple[str, ...]
    residual: np.ndarray

    @property
    def closed(self) -> np.ndarray:
        """Which states are closed, (...)."""
        return self.error <= CLOSED_TOL

    @property
    def status(self) -> str:
        """`"closed"`, or `"unreachable"` if a state is not closed."""
        return "closed" if self.closed.all() else "unreachable"

    @property
    def q(self) -> np.ndarray:
        """The closed configurations, (..., nq).

        Raises:
            LoopClosureError: a state whose loops do not close.
        """
        if self.closed.all():
            return self.best_q
        index = tuple(int(i) for i in np.argwhere(~self.closed)[0])
        row = int(np.argmax(np.abs(self.residual[index])))
        value = float(self.residual[index][row])
        raise LoopClosureError(
            f"loops do not close{f' in state {index}' if index else ''}: closure {self.equations[row]!r} stays open by "
            f"{value:.3g} m (rad) after {self.iterations} steps. Start nearer to a closed configuration, fix fewer joints, or "
            "check that the bodies can meet.",
            status="unreachable", where=self.equations[row], value=value, index=index,
        )  # fmt: skip


def newton_closure(robot: ClosedLoopRobot, q: np.ndarray, fixed: Iterable[int]) -> ClosureSolution:
    """Close the loops of states (..., nq) with the `fixed` velocities of the tree at zero."""
    batch_shape = q.shape[:-1]
    states = q.reshape(math.prod(batch_shape), robot.nq).copy()
    free = np.setdiff1d(np.arange(robot.spanning_tree.nv), list(fixed))
    residual = residuals(robot, states)
    iterations = 0
    while iterations < MAX_ITERATIONS:
        open_ = np.flatnonzero(_max_abs(residual) > RESIDUAL_TOL)
        if not open_.size:
            break
        moved, better = _newton_step(robot, states[open_], residual[open_], free)
        done = _max_abs(better) >= _max_abs(residual[open_])
        states[open_[~done]], residual[open_[~done]] = moved[~done], better[~done]
        iterations += 1
        if done.all():
            break
    names = tuple(loop.name for loop in robot.system.loops for _ in range(loop.kind.count))
    shape = (*batch_shape, robot.system.rows)
    return ClosureSolution(
        states.reshape(q.shape), _max_abs(residual).reshape(batch_shape), iterations, names, residual.reshape(shape)
    )


def continuation(robot: ClosedLoopRobot, start: np.ndarray, goal: np.ndarray, fixed: Sequence[int]) -> ClosureSolution:
    """Close the loops with the fixed joints at the goal, by small steps from the start (continuation)."""
    tree, q = robot.spanning_tree, np.broadcast_to(start, goal.shape)

    def step(q: np.ndarray, remaining: int) -> ClosureSolution:
        delta = np.zeros((*goal.shape[:-1], tree.nv))
        delta[..., list(fixed)] = tree.difference(q, goal)[..., list(fixed)] / remaining
        return newton_closure(robot, tree.integrate(q, delta), fixed)

    farthest = float(np.abs(tree.difference(q, goal)).max(initial=0.0))
    for remaining in range(math.ceil(farthest / CONTINUATION_STEP), 1, -1):
        q = step(q, remaining).best_q
    return step(q, 1)


def residuals(robot: ClosedLoopRobot, q: np.ndarray) -> np.ndarray:
    """φ(q), (N, rows); very large at opposite frames, where it is not finite."""
    values = robot.functions["closure_residual", None]((q,), None, None, None, None, False)
    return np.nan_to_num(values, nan=1e6, posinf=1e6, neginf=-1e6)


def _newton_step(robot: ClosedLoopRobot, q: np.ndarray, residual: np.ndarray, free: np.ndarray):
    """States after one damped Newton step, and their residuals."""
    K = robot.functions["closure_jacobian", None]((q,), None, None, None, None, False)
    K = np.where(np.isfinite(K).all(axis=(1, 2), keepdims=True), K, 0.0)  # no step from where there is no slope
    step = np.zeros((len(q), robot.spanning_tree.nv))
    step[:, free] = -(np.linalg.pinv(K[:, :, free], rcond=RCOND) @ residual[:, :, None])[:, :, 0]
    longest = np.abs(step).max(axis=1, keepdims=True)
    step *= np.minimum(1.0, MAX_STEP / np.maximum(longest, 1e-300))
    moved, better = q.copy(), residual.copy()
    remaining = np.arange(len(q))
    for _ in range(MAX_HALVINGS):
        tried = robot.spanning_tree.integrate(q[remaining], step[remaining])
        new_residual = residuals(robot, tried)
        good = np.linalg.norm(new_residual, axis=1) < np.linalg.norm(residual[remaining], axis=1)
        moved[remaining[good]], better[remaining[good]] = tried[good], new_residual[good]
        remaining = remaining[~good]
        if not remaining.size:
            break
        step[remaining] *= 0.5
    return moved, better


def _max_abs(residual: np.ndarray) -> np.ndarray:
    return np.abs(residual).max(axis=1, initial=0.0)
