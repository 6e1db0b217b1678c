"""The optional extension; everything else is in pyproject.toml. Without a C compiler the package installs without it."""

import sys

from setuptools import Extension, setup

COMPILE = ["/std:c11", "/O2"] if sys.platform == "win32" else ["-std=c11", "-O2", "-pthread"]
SOURCES = [
    "boundary",
    "contact",
    "contact_call",
    "mode",
    "mode_call",
    "motion",
    "motion_call",
    "pool",
    "stepping",
    "stepping_call",
    "uniform",
]
HEADERS = [*SOURCES[1:], "dot", "for_cpus", "lu"]
LINK = [] if sys.platform == "win32" else ["-pthread"]


def extensions() -> list[Extension]:
    try:
        import numpy
    except ImportError:
        return []
    return [
        Extension(
            "appell._native.boundary",
            sources=[f"src/appell/_native/{name}.c" for name in SOURCES],
            depends=[f"src/appell/_native/{name}.h" for name in HEADERS],
            include_dirs=[numpy.get_include()],
            extra_compile_args=COMPILE,
            extra_link_args=LINK,
            optional=True,
        )
    ]


setup(ext_modules=extensions())
