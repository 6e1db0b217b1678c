"""Where and with what the numbers were made."""

from __future__ import annotations

import datetime
import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import appell
from appell.bench.timing import cores
from appell.compiler.isa import instruction_set
from appell.compiler.toolchain import find_compiler

PACKAGES = ("numpy", "casadi", "pin", "mujoco")


def environment() -> dict[str, str]:
    """Date, processor, its load over 1, 5 and 15 minutes, system, versions, compiler and its options."""
    compiler = find_compiler()
    found = {
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        "appell": appell.__version__,
        "processor": processor(),
        "cores": str(cores()),
        "load": " ".join(f"{load:.2f}" for load in os.getloadavg()) if hasattr(os, "getloadavg") else "unknown",
        "system": f"{platform.system()} {platform.machine()}, Python {platform.python_version()}",
        "compiler": compiler_version(compiler.command) if compiler else "none",
        "options": " ".join((*compiler.flags, *instruction_set().flags)) if compiler else "none",
    }
    return found | {name: installed for name in PACKAGES if (installed := package_version(name))}


def processor() -> str:
    """The processor's own name."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def compiler_version(command: tuple[str, ...]) -> str:
    """The first line of what the compiler says about itself."""
    try:
        told = subprocess.run([*command, "--version"], capture_output=True, text=True, timeout=30).stdout
    except (OSError, subprocess.TimeoutExpired):
        return command[0]
    return told.splitlines()[0] if told else command[0]


def package_version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
