"""Rollouts of 4096 robots by fixed steps of RK4, every state kept, one core."""

from __future__ import annotations

import numpy as np

import appell
from appell.robot.robot import Robot
from appell.table import Table
from appell_lab.bench.contest import Entry, Settings, contest, contest_table, difference
from appell_lab.bench.peers.mujoco import mujoco
from appell_lab.bench.subjects import arms, states
from appell_lab.bench.timing import Contender

ROBOTS, STEPS, DT = 4096, 10, 1e-3
GOAL = 25.0
"""Against `mujoco.rollout` on the same model with the same integrator, for the PUMA."""


def run(settings: Settings) -> list[Table]:
    rows = []
    for robot in arms(settings.robots):
        rows += contest_of(robot, settings)
    return [
        contest_table(
            f"Rollouts of {ROBOTS} robots, {STEPS} steps of RK4, float64, one core",
            rows,
            "Open loop, every state kept. A step is four evaluations of forward dynamics.",
            "MuJoCo with contacts, constraints and joint friction off, one thread.",
            unit="ns a step",
            reference="MuJoCo",
        )
    ]


def contest_of(robot: Robot, settings: Settings) -> list[tuple]:
    q, qd, _ = states(robot, ROBOTS)
    ours = {layout: appell.compile(robot, threads=1, layout=layout) for layout in ("rows", "columns")}
    path = appell.rollout(ours["rows"], q, qd, steps=STEPS, dt=DT)
    entries, peer = [], mujoco(robot)
    if peer is not None:
        contender, theirs = peer.rollout(q, qd, STEPS, DT)
        right = theirs[..., 1:]
        goal = GOAL if robot.name == "puma560" else None
        entries.append(Entry(contender, goal, 0.0))
        own = Entry(contender_of("rows", ours["rows"], q, qd), None, difference(np.concatenate(path[1:], -1), right))
    else:
        own = Entry(contender_of("rows", ours["rows"], q, qd))
    entries.append(Entry(contender_of("columns", ours["columns"], *map(np.ascontiguousarray, (q.T, qd.T)))))
    return contest(f"{robot.name}, RK4", own, entries, settings)


def contender_of(name: str, dyn: appell.CompiledRobot, q: np.ndarray, qd: np.ndarray) -> Contender:
    return Contender(f"appell, {name}", lambda: appell.rollout(dyn, q, qd, steps=STEPS, dt=DT), ROBOTS * STEPS)
