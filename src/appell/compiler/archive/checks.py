"""Reading data that nobody vouches for: every value has its type and its bounds, or the file is refused."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from appell.errors import CompileError

Item = TypeVar("Item")


class CorruptFileError(CompileError):
    """Content that no version of this library has written."""


def require(condition: object, what: str) -> None:
    if not condition:
        raise CorruptFileError(f"the file was not written by appell: {what}.")


def field(data: Any, name: str) -> Any:
    """A field of an object."""
    require(isinstance(data, Mapping) and name in data, f"a field {name!r} is missing")
    return data[name]


def whole(value: Any, least: int, below: int, what: str) -> int:
    """A whole number in [least, below)."""
    require(
        isinstance(value, int) and not isinstance(value, bool), f"{what} is {type(value).__name__}, not a whole number"
    )
    require(least <= value < below, f"{what} is {value}, which is not in {least} .. {below - 1}")
    return value


def number(value: Any, what: str) -> float:
    """A finite number."""
    require(isinstance(value, (int, float)) and not isinstance(value, bool), f"{what} is no number")
    require(math.isfinite(value), f"{what} is not finite")
    return float(value)


def text(value: Any, what: str) -> str:
    require(isinstance(value, str) and len(value) <= 10_000, f"{what} is no text of sensible length")
    return value


def flag(value: Any, what: str) -> bool:
    require(isinstance(value, bool), f"{what} is neither true nor false")
    return value


def items(value: Any, read: Callable[[Any], Item], what: str, most: int = 10**7) -> tuple[Item, ...]:
    """A list whose entries are read one by one."""
    require(isinstance(value, list) and len(value) <= most, f"{what} is no list of sensible length")
    return tuple(read(entry) for entry in value)
