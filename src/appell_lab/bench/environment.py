"""Hardware and software of a run."""

from __future__ import annotations

import datetime
import os
import platform

import appell
from appell.compiler.targets.llvm.isa import instruction_set
from appell.report import package_version, processor
from appell_lab.bench.timing import cores

PACKAGES = ("numpy", "casadi", "llvmlite", "pin", "mujoco")


def environment() -> dict[str, str]:
    """Date, processor, its load over 1, 5 and 15 minutes, system, versions, instruction set."""
    settings = {
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        "appell": appell.__version__,
        "processor": processor(),
        "cores": str(cores()),
        "load": " ".join(f"{load:.2f}" for load in os.getloadavg()) if hasattr(os, "getloadavg") else "unknown",
        "system": f"{platform.system()} {platform.machine()}, Python {platform.python_version()}",
        "instructions": f"{instruction_set().name}, {instruction_set().cpu}",
    }
    return settings | {name: installed for name in PACKAGES if (installed := package_version(name))}
