"""MuJoCo: `mj_inverse` and `mj_forward` on one state after the other in a Python loop, and `mujoco.rollout` in its own.

Contacts, limits and friction are switched off; what is timed includes writing the state into `mjData`, which a loop must do.
Both calls compute more than the one result (all positions, velocities, the factored inertia matrix).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from appell_lab.bench.timing import Contender

if TYPE_CHECKING:
    from appell.robot.robot import Robot

CALL = {"inverse_dynamics": "mj_inverse", "forward_dynamics": "mj_forward"}


def available() -> bool:
    return find_spec("mujoco") is not None


class Mujoco:
    """One robot in MuJoCo, read from the URDF text that appell writes."""

    def __init__(self, robot: Robot) -> None:
        self.mujoco: Any = import_module("mujoco")
        self.model = self.mujoco.MjModel.from_xml_string(robot.to_urdf())
        names = tuple(self.model.joint(i).name for i in range(self.model.njnt))
        if names != robot.joint_names:
            raise RuntimeError(f"MuJoCo orders the joints of {robot.name} differently.")
        off = self.mujoco.mjtDisableBit
        self.model.opt.disableflags |= off.mjDSBL_CONSTRAINT | off.mjDSBL_CONTACT
        self.model.opt.gravity[:] = robot.gravity_vector
        self.model.dof_damping[:] = 0.0
        self.model.dof_frictionloss[:] = 0.0
        self.model.dof_armature[:] = [joint.armature for joint in robot.moving_joints]
        self.data = self.mujoco.MjData(self.model)

    def one(self, function: str, state: Sequence[np.ndarray]) -> np.ndarray:
        """The result of one state."""
        data = self.data
        data.qpos, data.qvel, third = state
        if function == "inverse_dynamics":
            data.qacc = third
            self.mujoco.mj_inverse(self.model, data)
            return data.qfrc_inverse
        data.qfrc_applied = third
        self.mujoco.mj_forward(self.model, data)
        return data.qacc

    def many(self, function: str, states: Sequence[np.ndarray]) -> np.ndarray:
        return np.array([self.one(function, state).copy() for state in zip(*states, strict=True)])

    def loop(self, function: str, states: Sequence[np.ndarray]) -> Contender:
        """A Python loop over the states."""
        rows = list(zip(*states, strict=True))

        def run() -> None:
            for row in rows:
                self.one(function, row)

        return Contender(f"{CALL[function]}, Python loop", run, len(rows))

    def rollout(self, q: np.ndarray, qd: np.ndarray, steps: int, dt: float) -> tuple[Contender, np.ndarray]:
        """`mujoco.rollout` with RK4 on one thread, into a given array (N, steps, 1 + nq + nv) of time and state."""
        self.model.opt.integrator = self.mujoco.mjtIntegrator.mjINT_RK4
        self.model.opt.timestep = dt
        move = import_module("mujoco.rollout").rollout
        start = np.concatenate([np.zeros((len(q), 1)), q, qd], axis=1)
        out = np.empty((len(q), steps, start.shape[1]))

        def run() -> None:
            move(self.model, self.data, start, nstep=steps, state=out, skip_checks=False)

        run()
        return Contender("mujoco.rollout, one thread", run, len(q) * steps), out


@cache
def mujoco(robot: Robot) -> Mujoco | None:
    """The robot in MuJoCo, or None where that is not installed."""
    return Mujoco(robot) if available() else None
