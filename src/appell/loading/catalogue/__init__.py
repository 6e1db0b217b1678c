"""Built-in robots, one file each. To add one: write a function without arguments that returns it, list it in ROBOTS.

Example:
    >>> from appell import robots
    >>> "puma560" in robots.names()
    True
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from appell.errors import ArgumentError, unknown_name_message
from appell.loading.catalogue.agile_wrist import agile_wrist
from appell.loading.catalogue.random import ALL_KINDS, random_chain, random_tree

ROBOTS = (
    "puma560",
    "mata_two_body",
    "planar2r",
    "shafei_tree",
    "agile_wrist",
    "four_bar",
    "five_bar",
    "planar_3rrr",
    "delta",
    "stewart",
)
"""Each is a module here with a function of the same name."""


def names() -> tuple[str, ...]:
    """Names that `appell.load` knows.

    Example:
        >>> from appell import robots
        >>> robots.names()[0]
        'puma560'
    """
    return ROBOTS


def build(name: str) -> Any:
    """The built-in robot of this name.

    Example:
        >>> from appell import robots
        >>> robots.build("planar2r").nv
        2
    """
    return getattr(_module(name), name)()


def virtual_bodies(name: str) -> frozenset[str]:
    """Bodies of the built-in robot that rightly have no mass although they move: what its module lists in VIRTUAL_BODIES."""
    return getattr(_module(name), "VIRTUAL_BODIES", frozenset())


def _module(name: str):
    if name not in ROBOTS:
        raise ArgumentError(unknown_name_message("built-in robot", name, ROBOTS))
    return import_module(f"{__name__}.{name}")


__all__ = ["ALL_KINDS", "agile_wrist", "build", "names", "random_chain", "random_tree"]
