"""Built-in robots, one file each. To add one: write a function without arguments that returns it, list it in ROBOTS.

Example:
    >>> from appell import robots
    >>> "puma560" in robots.names()
    True
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from appell.checks import require_choice
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
    """Names of the built-in robots, for `appell.load`.

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
    """Moving bodies of the built-in robot that have no mass on purpose: VIRTUAL_BODIES of its module."""
    return getattr(_module(name), "VIRTUAL_BODIES", frozenset())


def _module(name: str):
    return import_module(f"{__name__}.{require_choice('built-in robot', name, ROBOTS)}")


__all__ = ["ALL_KINDS", "agile_wrist", "build", "names", "random_chain", "random_tree"]
