"""Fixed-step integration of many robots at once: `appell.rollout`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from appell.deprecation import grouped_arguments, renamed_arguments
from appell.errors import ArgumentError, SimulationError
from appell.robot.compiled import CompiledRobot
from appell.rollouts import cuda, native
from appell.rollouts.adjoint import RolloutGradient as RolloutGradient
from appell.rollouts.plan import RolloutOptions as RolloutOptions
from appell.rollouts.plan import RolloutPlan, RolloutSteps, empty_states, make_plan, split_states
from appell.rollouts.result import Rollout


@renamed_arguments(hold="control_every", every="save_every")
@grouped_arguments("options", RolloutOptions, integrator="integrator", passive="passive_forces", check="check")
def rollout(
    dyn: CompiledRobot,
    q0: Any,
    qd0: Any,
    controls: Any = None,
    *,
    steps: int,
    dt: float,
    law: str = "torque",
    gains: Mapping[str, Any] | None = None,
    control_every: int | None = None,
    save_every: int = 1,
    parameters: Any = None,
    options: RolloutOptions | None = None,
) -> Rollout:
    """Integrate a batch of robots with a fixed step.

    All steps run inside one compiled kernel: on a CPU one SIMD lane is one robot, and a batch is split over threads; on a GPU
    (`appell.compile(robot, target="cuda")`) one thread is one robot, with its state in registers. Without a compiler, and for
    robots too long for straight-line code, every step is a batch call. Quaternions keep unit length.

    Args:
        dyn: a compiled robot.
        q0, qd0: initial states (..., nq) and (..., nv), or one state by name: `{"elbow": 0.5}`; batch dimensions broadcast
            with those of the controls.
        controls: torques [N m, N] for the law `"torque"` (zero by default), or a mapping from signal to array: `q` for
            `"point_to_point"`, also `qd` for `"pd"` and `"pd_gravity"`, also `qdd` for `"computed_torque"` and
            `"integral_tracking"`; signals that are not given are zero.
        steps, dt: number and length [s] of the steps.
        gains: `kp` and `kd` of the feedback laws, and `ki` of an integral, numbers or (..., n). Feedback laws act on the n joints
            without a floating base; torques have nv entries.
        control_every: number of steps per control value: signals are then (..., K, n), K = ceil(steps / control_every);
            constant by default.
        save_every: number of steps per saved state.
        parameters: inertial parameters (..., 10 links) in the order of `Robot.parameters`, which may differ from robot to
            robot; those of the description by default.
        options: integrator, passive forces and checks.

    Example:
        >>> import appell, numpy as np
        >>> dyn = appell.compile(appell.load("planar2r"))
        >>> fall = appell.rollout(dyn, np.zeros((5, 2)), np.zeros((5, 2)), steps=100, dt=1e-3, save_every=10)
        >>> fall.q.shape, fall.t[-1].item()
        ((5, 10, 2), 0.1)
    """
    if not isinstance(dyn, CompiledRobot) or dyn.friction is None:
        loops = isinstance(dyn, CompiledRobot)
        remedy = "Use appell.simulate for robots with closed loops." if loops else "Pass appell.compile(robot)."
        raise ArgumentError(f"rollout takes a compiled robot that is a tree, got {type(dyn).__name__}. {remedy}")
    options = RolloutOptions() if options is None else options
    schedule = RolloutSteps(steps, dt, control_every, save_every)
    if isinstance(q0, dict) or isinstance(qd0, dict):
        q0, qd0 = dyn.vector("q0", q0), dyn.vector("qd0", qd0)
    plan = make_plan(dyn, (q0, qd0), controls, law, gains, schedule, parameters, options)
    runner = RUNNERS[dyn.options.target] if plan.nq else _without_joints
    q, qd = runner(dyn, plan, options.check)
    t = dt * save_every * np.arange(1, plan.saved + 1)
    if options.check:
        _require_finite_states(t, q, qd, plan.columns)
    return Rollout.of(t, q, qd, dyn, plan)


def _without_joints(dyn: CompiledRobot, plan: RolloutPlan, check: bool) -> tuple[Any, Any]:
    return split_states(empty_states(np, plan, dyn.options.dtype)[0], plan)


RUNNERS = {"cpu": native.run, "cuda": cuda.run}


def _require_finite_states(t: np.ndarray, q: Any, qd: Any, columns: bool) -> None:
    """Raise with the first time of a non-finite state. As such states stay non-finite, the last one is checked first."""
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
