"""Algorithms in single precision: the same functions on NumPy lanes of another dtype.

A number that is not an array would turn a product into double precision, so every constant becomes an array of one lane;
only zeros stay plain, because algorithms test for them by structure.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from appell.algebra import Angle, Inertia, Mat3, Scalar, Sym3, Vec3
from appell.errors import AppellError
from appell.model.tree import Link, Tree


def rounded(value: Any, dtype) -> Any:
    """A number, or a vector, tensor or mass property of numbers, rounded to a dtype."""
    if isinstance(value, (Vec3, Mat3, Sym3)):
        return type(value)(*(rounded(entry, dtype) for entry in value))
    if isinstance(value, tuple):
        return type(value)(*(rounded(entry, dtype) for entry in value))
    return 0.0 if value == 0 else np.full(1, value, dtype)


def rounded_tree(tree: Tree, dtype) -> Tree:
    """The tree with every constant of its recursions rounded to a dtype.

    Example:
        >>> import numpy as np, appell
        >>> tree = rounded_tree(appell.load("planar2r").tree, np.float32)
        >>> tree.links[1].origin.x
        array([1.], dtype=float32)
    """
    return replace(
        tree,
        links=tuple(_rounded_link(link, dtype) for link in tree.links),
        gravity=rounded(tree.gravity, dtype),
        base=rounded(tree.base, dtype),
    )


def _rounded_link(link: Link, dtype) -> Link:
    return replace(
        link,
        azimuth=_rounded_angle(link.azimuth, dtype),
        tilt=_rounded_angle(link.tilt, dtype),
        offset=_rounded_angle(link.offset, dtype),
        origin=rounded(link.origin, dtype),
        inertia=Inertia(*(rounded(part, dtype) for part in link.inertia)),
        armature=rounded(link.armature, dtype),
    )


def _rounded_angle(angle: Angle, dtype) -> Angle:
    """Right angles stay as they are: their sines and cosines are exact in every precision."""
    return angle if 0 in (angle.cos, angle.sin) else rounded(angle, dtype)


def lanes(dtype, *columns: Iterable[float]) -> list[np.ndarray]:
    """Coordinates as lanes of a dtype."""
    return [np.asarray(column, dtype) for column in columns]


def all_of(dtype, results: Sequence[Scalar]) -> list[np.ndarray]:
    """Results, after making sure that no operation left the dtype."""
    for result in results:
        if np.asarray(result).dtype != dtype:
            raise AppellError(f"an operation was done in {np.asarray(result).dtype}, expected {np.dtype(dtype)}.")
    return [np.asarray(result) for result in results]
