"""Vectors of a state by name: entries are named after their joint, `joint.label` where a joint has several of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from appell.checks import require_real_array
from appell.errors import ArgumentError, unknown_name_message


def entry_names(sizes: Iterable[tuple[str, Sequence[str]]]) -> tuple[str, ...]:
    """One name per entry of a vector, from the labels of each joint's entries; a single entry has the joint's name.

    Example:
        >>> entry_names([("elbow", ("",)), ("base", ("x", "y"))])
        ('elbow', 'base.x', 'base.y')
    """
    return tuple(
        name if len(labels) == 1 else f"{name}.{label}" for name, labels in sizes for label in labels
    )  # fmt: skip


def entry_indices(names: Sequence[str]) -> dict[str, list[int]]:
    """Indices by name: every entry by its own, and all entries of a joint by the joint's name.

    Example:
        >>> entry_indices(("elbow", "base.x", "base.y"))["base"]
        [1, 2]
    """
    joints: dict[str, list[int]] = {}
    for k, name in enumerate(names):
        joint, dot, _ = name.rpartition(".")
        if dot:
            joints.setdefault(joint, []).append(k)
    return joints | {name: [k] for k, name in enumerate(names)}


def as_vector(label: str, given: Any, names: Sequence[str], default: ArrayLike) -> Any:
    """A vector from values by name; anything but a mapping is returned as it is.

    Args:
        label: name of the argument in errors.
        given: a number for an entry, or numbers for all entries of a joint, by name; the other entries are as in `default`.
        names: of the entries.

    Example:
        >>> as_vector("q", {"elbow": 0.5}, ("shoulder", "elbow"), (0.0, 0.0)).tolist()
        [0.0, 0.5]
    """
    if not isinstance(given, Mapping):
        return given
    indices, vector = entry_indices(names), np.array(default, dtype=float)
    for name, value in given.items():
        if name not in indices:
            raise ArgumentError(f"{label}: {unknown_name_message('name', str(name), names)}")
        own = indices[name]
        values = require_real_array(f"{label}[{name!r}]", value)
        if values.size != len(own) or values.ndim > 1:
            raise ArgumentError(
                f"{label}[{name!r}] has shape {values.shape}, expected {len(own)} number{'s' * (len(own) > 1)}: "
                f"{', '.join(names[k] for k in own)}."
            )
        vector[own] = values
    return vector


def unused_name(wanted: str, taken: Collection[str]) -> str:
    """The name, with underscores after it until no other has it."""
    while wanted in taken:
        wanted += "_"
    return wanted
