"""Many robots, many fixed steps: `appell.rollout`."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import Any, NamedTuple

import numpy as np

from appell.errors import ArgumentError, SimulationError
from appell.robot.compiled import CompiledRobot
from appell.rollouts.plan import Plan, make_plan


class Rollout(NamedTuple):
    """Times (T,) [s], coordinates and speeds (..., T, n), or (n, T, ...) in columns, after every k-th step."""

    t: np.ndarray
    q: Any
    qd: Any

    def plot(self, path: str | PathLike | None = None, *, columns: bool = False) -> Any:
        """A picture of coordinates and speeds over time: every robot, or median and spread of many. Needs matplotlib.

        Args:
            path: file to write the picture to, its kind taken from the name.
            columns: whether the arrays are in columns.

        Returns:
            The `matplotlib.figure.Figure`.

        Example:
            >>> import appell, numpy as np
            >>> arm = appell.compile(appell.load("planar2r"))
            >>> fall = appell.rollout(arm, np.zeros((50, 2)), np.zeros((50, 2)), steps=20, dt=1e-2)
            >>> len(fall.plot().axes)
            4
        """
        from appell.rollouts.plot import plot

        return plot(self, path, columns)


def rollout(
    dyn: CompiledRobot,
    q0: Any,
    qd0: Any,
    controls: Any = None,
    *,
    steps: int,
    dt: float,
    integrator: str = "rk4",
    law: str = "torque",
    gains: Mapping[str, Any] | None = None,
    hold: int | None = None,
    every: int = 1,
    passive: bool = True,
    parameters: Any = None,
    check: bool = True,
) -> Rollout:
    """Move a batch of robots on by fixed steps.

    All steps run inside one compiled kernel: on a CPU one SIMD lane is one robot, and a batch is split over threads; on a GPU
    (`appell.compile(robot, target="cuda")`) one thread is one robot, with its state in registers. Without a compiler, and for
    robots too long for straight-line code, every step is a batch call. Quaternions are kept at unit length.

    Args:
        dyn: a compiled robot.
        q0, qd0: initial states (..., nq) and (..., nv); batch dimensions broadcast with those of the controls.
        controls: torques [N m, N] for the law `"torque"` (zero if not given), or a mapping from signal to array: `q` for
            `"point_to_point"`, also `qd` for `"pd"` and `"pd_gravity"`, also `qdd` for `"computed_torque"` and
            `"integral_tracking"`; signals that are not given are zero.
        steps, dt: number and length [s] of the steps.
        integrator: `"rk4"` or `"semi_implicit_euler"`.
        gains: `kp` and `kd` of the feedback laws, and `ki` of an integral, numbers or (..., n).
        hold: controls change every so many steps: signals are then (..., K, n), K = ceil(steps / hold).
        every: keep the state after every so many steps.
        passive: add joint damping and friction of the description.
        parameters: inertial parameters (..., 10 links) as `Robot.parameters` orders them, which may differ from robot to
            robot; those of the description by default.
        check: refuse inputs that are not finite and quaternions of other than unit length, and raise `SimulationError` when
            a state is not finite.

    Example:
        >>> import appell, numpy as np
        >>> dyn = appell.compile(appell.load("planar2r"))
        >>> fall = appell.rollout(dyn, np.zeros((5, 2)), np.zeros((5, 2)), steps=100, dt=1e-3, every=10)
        >>> fall.q.shape, fall.t[-1].item()
        ((5, 10, 2), 0.1)
    """
    if not isinstance(dyn, CompiledRobot) or dyn.friction is None:
        loops = isinstance(dyn, CompiledRobot)
        remedy = (
            "Robots with closed loops are simulated by appell.simulate." if loops else "Pass appell.compile(robot)."
        )
        raise ArgumentError(f"rollout takes a compiled robot that is a tree, got {type(dyn).__name__}. {remedy}")
    plan = make_plan(dyn, q0, qd0, controls, law, gains, steps, dt, integrator, hold, every, passive, parameters)
    runner = RUNNERS[dyn.options.target] if plan.nq else _without_joints
    q, qd = runner(dyn, plan, check)
    t = dt * every * np.arange(1, plan.kept + 1)
    if check:
        _refuse_divergence(t, q, qd, plan.columns)
    return Rollout(t, q, qd)


def _on_cpu(dyn: CompiledRobot, plan: Plan, check: bool) -> tuple[Any, Any]:
    from appell.rollouts.native import run

    return run(dyn, plan, check)


def _on_gpu(dyn: CompiledRobot, plan: Plan, check: bool) -> tuple[Any, Any]:
    from appell.rollouts.cuda import run

    return run(dyn, plan, check)


def _without_joints(dyn: CompiledRobot, plan: Plan, check: bool) -> tuple[Any, Any]:
    """States of no numbers."""
    from appell.rollouts.arrays import parted, states

    return parted(states(np, plan, dyn.options.dtype)[0], plan)


RUNNERS = {"cpu": _on_cpu, "cuda": _on_gpu}


def _refuse_divergence(t: np.ndarray, q: Any, qd: Any, columns: bool) -> None:
    """Name the first time at which a state is not finite: one that is not stays so, which makes the last state tell."""
    for name, array in (("q", q), ("qd", qd)):
        last = array[:, -1] if columns else array[..., -1, :]
        if float((last * 0).sum()) == 0.0:
            continue
        host = array.get() if hasattr(array, "get") else array.cpu() if hasattr(array, "cpu") else array
        k = int(np.argwhere(~np.isfinite(np.asarray(host)))[:, 1 if columns else -2].min())
        raise SimulationError(
            f"the rollout diverged: {name} is not finite at t = {t[k]:g} s. "
            "Take smaller steps, lower gains or other controls."
        )
