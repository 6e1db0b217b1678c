"""Rollouts, first use in a fresh process, and memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import appell
from appell.robot.compiled import CompiledRobot
from appell.robot.robot import Robot
from appell.table import Table
from appell_lab.bench.contest import Entry, Settings, contest, contest_table, difference
from appell_lab.bench.peers.mujoco import mujoco
from appell_lab.bench.subjects import arms, chain, panda_arm, puma, states
from appell_lab.bench.timing import Contender, busy

# --- rollout ------------------------------------------------------------------------------------------------------------

ROBOTS, STEPS, DT = 4096, 10, 1e-3
ROLLOUT_GOAL = 25.0
"""Against `mujoco.rollout` on the same model with the same integrator, for the PUMA."""


def rollout_case(settings: Settings) -> list[Table]:
    """Rollouts of 4096 robots by fixed steps of RK4, every state kept, one core."""
    rows = []
    for robot in arms(settings.robots):
        rows += rollout_rows(robot, settings)
    return [
        contest_table(
            f"Rollouts of {ROBOTS} robots, {STEPS} steps of RK4, float64, one core",
            rows,
            "Open loop, every state kept. A step is four evaluations of forward dynamics.",
            "MuJoCo with contacts, constraints and joint friction off, one thread.",
            unit="ns per step",
            reference="MuJoCo",
        )
    ]


def rollout_rows(robot: Robot, settings: Settings) -> list[tuple]:
    q, qd, _ = states(robot, ROBOTS)
    ours = {layout: appell.compile(robot, threads=1, layout=layout) for layout in ("rows", "columns")}
    path = appell.rollout(ours["rows"], q, qd, steps=STEPS, dt=DT)
    entries, peer = [], mujoco(robot)
    if peer is not None:
        contender, theirs = peer.rollout(q, qd, STEPS, DT)
        right = theirs[..., 1:]
        goal = ROLLOUT_GOAL if robot.name == "puma560" else None
        entries.append(Entry(contender, goal, 0.0))
        own = Entry(
            rollout_contender("rows", ours["rows"], q, qd), None, difference(np.concatenate(path[1:], -1), right)
        )
    else:
        own = Entry(rollout_contender("rows", ours["rows"], q, qd))
    entries.append(Entry(rollout_contender("columns", ours["columns"], *map(np.ascontiguousarray, (q.T, qd.T)))))
    return contest(f"{robot.name}, RK4", own, entries, settings)


def rollout_contender(name: str, dyn: CompiledRobot, q: np.ndarray, qd: np.ndarray) -> Contender:
    return Contender(f"appell, {name}", lambda: appell.rollout(dyn, q, qd, steps=STEPS, dt=DT), ROBOTS * STEPS)


# --- first_use ----------------------------------------------------------------------------------------------------------

FIRST_USE_SCRIPT = """
import json, resource, sys, time
def worked():
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime
import appell
robot = appell.Robot.from_dict(json.load(open(sys.argv[1])))
dyn = appell.compile(robot)
q = [0.1] * robot.nq
v = [0.2] * robot.nv
ready, begun = worked(), time.perf_counter()
for name, count in (
    ("inverse_dynamics", 3), ("forward_dynamics", 3), ("mass_matrix", 1), ("bias", 2), ("gravity", 1),
    ("coriolis_matrix", 2), ("kinetic_energy", 2), ("potential_energy", 1),
):
    getattr(dyn, name)(*(q, v, v)[:count])
print(json.dumps([ready, worked() - ready, time.perf_counter() - begun]))
"""
"""Prints processor seconds and wall-clock seconds."""

FIRST_USE_GOALS = {7: (3.0, 0.1), 30: (15.0, None)}
"""Joints: seconds with an empty cache and with a filled one."""


def first_use_case(settings: Settings) -> list[Table]:
    """The first use of a robot in a fresh process, with an empty cache and with a filled one."""
    seven = panda_arm(settings.robots) or puma()
    rows = []
    for robot, goals in zip((seven, chain(30)), FIRST_USE_GOALS.values(), strict=True):
        with tempfile.TemporaryDirectory(prefix="appell-") as folder:
            path = Path(folder, "robot.json")
            path.write_text(json.dumps(robot.to_dict()))
            for state, goal in zip(("empty", "filled"), goals, strict=True):
                loading, processor, wall = fresh_process(path, Path(folder, "cache"))
                rows.append((f"{robot.name}, {robot.nv} joints", state, loading, processor, wall, goal))
    columns = ("robot", "cache", "start, import and load", "first results of 8 functions", "wall clock", "goal")
    missed = [
        f"above the goal: {row[0]}, cache {row[1]}: {row[4]:.3g} s of {row[5]:g}"
        for row in rows
        if row[5] and row[4] > row[5]
    ]
    note = "Processor seconds, compilation included; the goal is for wall-clock seconds, on all cores."
    return [Table("First use in a fresh process [s]", columns, tuple(rows), (note, *busy(), *missed))]


def fresh_process(robot: Path, cache: Path) -> list[float]:
    """Processor seconds until the robot is loaded, and for the first call of all functions; wall-clock seconds of the latter."""
    done = subprocess.run(
        [sys.executable, "-c", FIRST_USE_SCRIPT, str(robot)],
        env={**os.environ, "APPELL_CACHE_DIR": str(cache)}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return json.loads(done.stdout)


# --- memory -------------------------------------------------------------------------------------------------------------

MEMORY_GOAL = 100.0
"""MB beyond inputs and outputs."""

MEMORY_SCRIPT = """
import json, sys
import numpy as np, appell
def high_water():
    lines = open("/proc/self/status").read().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) / 1024
dyn = appell.compile(appell.load("puma560"))
small = np.zeros((64, 6))
dyn.inverse_dynamics(small, small, small)
dyn.forward_dynamics(small, small, small)
count = int(sys.argv[1])
q, qd, qdd = (np.full((count, 6), value) for value in (0.1, 0.2, 0.3))
before = high_water()
beyond = []
for function in (dyn.inverse_dynamics, dyn.forward_dynamics):
    result = function(q, qd, qdd)
    beyond.append(high_water() - before - result.nbytes / 2**20)
    del result
print(json.dumps(beyond))
"""


def memory_case(settings: Settings) -> list[Table]:
    """Memory of a large batch beyond its inputs and outputs, in a fresh process."""
    count = 10**6 if settings.quick else 10**7
    title = f"Memory of a batch of {count:.0e} PUMA states, rows, float64"
    if not sys.platform.startswith("linux"):
        return [Table(title, ("function", "MB"), (), ("Measured on Linux only.",))]
    done = subprocess.run([sys.executable, "-c", MEMORY_SCRIPT, str(count)], capture_output=True, text=True, check=True)
    names = ("inverse_dynamics", "forward_dynamics")
    rows = tuple((name, beyond, MEMORY_GOAL) for name, beyond in zip(names, json.loads(done.stdout), strict=True))
    return [Table(title, ("function", "MB beyond inputs and outputs", "goal"), rows)]
