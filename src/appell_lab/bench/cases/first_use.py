"""The first use of a robot in a fresh process, with an empty cache and with a filled one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from appell.table import Table
from appell_lab.bench.contest import Settings
from appell_lab.bench.subjects import chain, panda_arm, puma
from appell_lab.bench.timing import busy

SCRIPT = """
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
"""Prints processor seconds, those of the C compiler included, and seconds by the clock."""

GOALS = {7: (3.0, 0.1), 30: (15.0, None)}
"""Joints: seconds with an empty cache and with a filled one."""


def run(settings: Settings) -> list[Table]:
    seven = panda_arm(settings.robots) or puma()
    rows = []
    for robot, goals in zip((seven, chain(30)), GOALS.values(), strict=True):
        with tempfile.TemporaryDirectory(prefix="appell-") as folder:
            path = Path(folder, "robot.json")
            path.write_text(json.dumps(robot.to_dict()))
            for state, goal in zip(("empty", "filled"), goals, strict=True):
                begun, worked, passed = fresh_process(path, Path(folder, "cache"))
                rows.append((f"{robot.name}, {robot.nv} joints", state, begun, worked, passed, goal))
    columns = ("robot", "cache", "to start, import and read", "first results of 8 functions", "by the clock", "goal")
    missed = [
        f"above the goal: {row[0]}, cache {row[1]}: {row[4]:.3g} s of {row[5]:g}"
        for row in rows
        if row[5] and row[4] > row[5]
    ]
    note = "Processor seconds, those of the C compiler included; the goal is for seconds by the clock, on all cores."
    return [Table("First use in a fresh process [s]", columns, tuple(rows), (note, *busy(), *missed))]


def fresh_process(robot: Path, cache: Path) -> list[float]:
    """Seconds until the robot is ready, and from then until all functions have answered, worked and passed."""
    told = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(robot)],
        env={**os.environ, "APPELL_CACHE_DIR": str(cache)}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return json.loads(told.stdout)
