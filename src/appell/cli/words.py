"""Words of a command line that mean numbers of a robot."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from appell.errors import ArgumentError, choices


def numbers(words: Sequence[str], names: Sequence[str], default: np.ndarray, option: str) -> np.ndarray:
    """One number for each name: all of them in order, or NAME=NUMBER for some, the others as in `default`.

    Example:
        >>> numbers(["elbow=0.5"], ("shoulder", "elbow"), np.zeros(2), "--q0").tolist()
        [0.0, 0.5]
        >>> numbers(["0.1,0.2"], ("shoulder", "elbow"), np.zeros(2), "--q0").tolist()
        [0.1, 0.2]
    """
    words = [word for each in words for word in each.replace(",", " ").split()]
    result = default.astype(float).copy()
    if any("=" in word for word in words):
        for word in words:
            name, equals, value = word.partition("=")
            if not equals:
                raise ArgumentError(f"{option} mixes numbers and NAME=NUMBER: {word!r}. Write all of them one way.")
            if name not in names:
                raise ArgumentError(f"{option}: {choices('name', name, names)}")
            result[list(names).index(name)] = number(value, option)
        return result
    if len(words) != len(names):
        raise ArgumentError(
            f"{option} has {len(words)} numbers, expected {len(names)}: {' '.join(names)}. "
            f"Or give some by name, as in {option} {names[0] if names else 'joint'}=0.5."
        )
    return np.array([number(word, option) for word in words])


def number(word: str, option: str) -> float:
    """A finite number."""
    try:
        value = float(word)
    except ValueError:
        value = np.nan
    if not np.isfinite(value):
        raise ArgumentError(f"{option}: {word!r} is not a number.")
    return value
