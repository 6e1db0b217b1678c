"""Memory of a large batch beyond its inputs and outputs, in a fresh process."""

from __future__ import annotations

import json
import subprocess
import sys

from appell.table import Table
from appell_lab.bench.contest import Settings

GOAL = 100.0
"""MB beyond inputs and outputs."""

SCRIPT = """
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


def run(settings: Settings) -> list[Table]:
    count = 10**6 if settings.quick else 10**7
    title = f"Memory of a batch of {count:.0e} PUMA states, rows, float64"
    if not sys.platform.startswith("linux"):
        return [Table(title, ("function", "MB"), (), ("Measured on Linux only.",))]
    told = subprocess.run([sys.executable, "-c", SCRIPT, str(count)], capture_output=True, text=True, check=True)
    names = ("inverse_dynamics", "forward_dynamics")
    rows = tuple((name, beyond, GOAL) for name, beyond in zip(names, json.loads(told.stdout), strict=True))
    return [Table(title, ("function", "MB beyond inputs and outputs", "goal"), rows)]
