"""Hardware and software of a run."""

from __future__ import annotations

import datetime
import os
import platform

import appell
from appell.compiler.targets.c.isa import instruction_set
from appell.compiler.targets.c.toolchain import find_compiler
from appell.report import compiler_version, package_version, processor
from appell_lab.bench.timing import cores

PACKAGES = ("numpy", "casadi", "pin", "mujoco")


def environment() -> dict[str, str]:
    """Date, processor, its load over 1, 5 and 15 minutes, system, versions, compiler and its options."""
    compiler = find_compiler()
    settings = {
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        "appell": appell.__version__,
        "processor": processor(),
        "cores": str(cores()),
        "load": " ".join(f"{load:.2f}" for load in os.getloadavg()) if hasattr(os, "getloadavg") else "unknown",
        "system": f"{platform.system()} {platform.machine()}, Python {platform.python_version()}",
        "compiler": compiler_version(compiler.command) if compiler else "none",
        "options": " ".join((*compiler.flags, *instruction_set().flags)) if compiler else "none",
    }
    return settings | {name: installed for name in PACKAGES if (installed := package_version(name))}
