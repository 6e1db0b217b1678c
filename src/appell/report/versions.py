"""With what and where the numbers of a report were made."""

from __future__ import annotations

import datetime
import platform

PACKAGES = ("numpy", "scipy", "casadi", "lxml", "matplotlib", "sympy", "mujoco", "pin", "viser")


def versions() -> dict[str, str]:
    """Date, versions of this library, Python and the packages that are installed, compiler and processor.

    Example:
        >>> sorted(versions())[:2]
        ['Python', 'appell']
    """
    from appell import __version__
    from appell.bench.environment import compiler_version, package_version, processor
    from appell.compiler.toolchain import find_compiler

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
