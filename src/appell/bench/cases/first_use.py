"""The first use of a robot in a fresh process, with an empty cache and with a filled one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from appell.bench.contest import Settings
from appell.bench.subjects import chain, panda_arm, puma
from appell.table import Table

SCRIPT = """
import json, resource, sys, time
def now():
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime
import appell
robot = appell.Robot.from_dict(json.load(open(sys.argv[1])))
dyn = appell.compile(robot)
q = [0.1] * robot.nq
v = [0.2] * robot.nv
ready = now()
for name, count in (
    ("inverse_dynamics", 3), ("forward_dynamics", 3), ("mass_matrix", 1), ("bias", 2), ("gravity", 1),
    ("coriolis_matrix", 2), ("kinetic_energy", 2), ("potential_energy", 1),
):
    getattr(dyn, name)(*(q, v, v)[:count])
print(json.dumps([ready, now() - ready]))
"""
"""Prints processor seconds, those of the C compiler included."""

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
                begun, used = fresh_process(path, Path(folder, "cache"))
                rows.append((f"{robot.name}, {robot.nv} joints", state, begun, used, goal))
    columns = ("robot", "cache", "s to start, import and read", "s to first results of 8 functions", "goal")
    missed = [
        f"above the goal: {row[0]}, cache {row[1]}: {row[3]:.3g} s of {row[4]:g}"
        for row in rows
        if row[4] and row[3] > row[4]
    ]
    return [Table("First use in a fresh process, one core, processor seconds", columns, tuple(rows), tuple(missed))]


def fresh_process(robot: Path, cache: Path) -> list[float]:
    """Seconds until the robot is ready, and from then until all functions have answered."""
    told = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(robot)],
        env={**os.environ, "APPELL_CACHE_DIR": str(cache)}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return json.loads(told.stdout)
