"""Software versions and processor, for reports."""

from __future__ import annotations

import datetime
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from appell.compiler.targets.c.toolchain import find_compiler
from appell.version import __version__

PACKAGES = ("numpy", "scipy", "casadi", "lxml", "matplotlib", "sympy", "mujoco", "pin", "viser")


def versions() -> dict[str, str]:
    """Date, versions of this library, Python and the packages that are installed, compiler and processor.

    Example:
        >>> sorted(versions())[:2]
        ['Python', 'appell']
    """
    compiler = find_compiler()
    return {
        "appell": __version__,
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        "Python": platform.python_version(),
        **{name: installed for name in PACKAGES if (installed := package_version(name))},
        "compiler": compiler_version(compiler.command) if compiler else "none",
        "processor": processor(),
        "system": f"{platform.system()} {platform.machine()}",
    }


def processor() -> str:
    """Model name of the processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def compiler_version(command: tuple[str, ...]) -> str:
    """First line of the output of `--version`."""
    try:
        output = subprocess.run([*command, "--version"], capture_output=True, text=True, timeout=30).stdout
    except (OSError, subprocess.TimeoutExpired):
        return command[0]
    return output.splitlines()[0] if output else command[0]


def package_version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
