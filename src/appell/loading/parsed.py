"""What a loader gives: a robot as the description says it, right or wrong, and what could not be read."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from appell.loading.xml import local_name
from appell.model.check.problem import Problem
from appell.robot.robot import Robot

if TYPE_CHECKING:
    from appell.loading.loops import Loops


@dataclass(frozen=True)
class ParsedRobot:
    """A robot before it was checked.

    Attributes:
        problems: what the loader could not read; a neutral value stands in the robot there.
        virtual: bodies that the loader added and that rightly have no mass.
        loops: closures of the description, where it has some.
        path: of the file, where it is one.
    """

    robot: Robot
    problems: tuple[Problem, ...] = ()
    virtual: frozenset[str] = frozenset()
    loops: Loops | None = None
    path: Path | None = None


@dataclass(frozen=True)
class ProblemLog:
    """Collects the problems of one file while it is read."""

    file: str
    problems: list[Problem] = field(default_factory=list)

    def add(self, kind: str, where: str, line: int, what: str, fix: str) -> None:
        self.problems.append(Problem(kind, where, what, fix, line, self.file))


@dataclass(frozen=True)
class XmlNode:
    """An XML element, or None; its attributes as numbers, with every fault noted.

    `where` is the robot element it belongs to, for messages. Attributes of an absent element take their defaults.
    """

    element: Any
    where: str
    notes: ProblemLog

    def __bool__(self) -> bool:
        return self.element is not None

    @property
    def line(self) -> int:
        return 0 if self.element is None else int(self.element.sourceline or 0)

    @property
    def tag(self) -> str:
        return "" if self.element is None else local_name(str(self.element.tag))

    def children(self, tag: str = "", where: str = "") -> Iterator[XmlNode]:
        """Child elements of this name, or all."""
        for element in () if self.element is None else self.element:
            if isinstance(element.tag, str) and tag in ("", local_name(element.tag)):
                yield XmlNode(element, where or self.where, self.notes)

    def child(self, tag: str) -> XmlNode:
        """The first child element of this name; an absent one if there is none."""
        return next(self.children(tag), XmlNode(None, self.where, self.notes))

    def text(self, attribute: str) -> str:
        return "" if self.element is None else self.element.get(attribute) or ""

    def required(self, attribute: str) -> str:
        """An attribute that must be there."""
        text = self.text(attribute)
        if not text.strip():
            self.note("missing", f"<{self.tag}> has no attribute '{attribute}'", "Add it.")
        return text

    def number(self, attribute: str, default: float = 0.0, infinite: bool = False) -> float:
        """An attribute as a number; infinity only where it has a meaning."""
        (value,) = self.numbers(attribute, (default,), infinite)
        return value

    def triple(self, attribute: str, default: tuple[float, float, float] = (0.0, 0.0, 0.0)) -> tuple[float, ...]:
        """An attribute as three numbers."""
        return self.numbers(attribute, default)

    def numbers(self, attribute: str, default: tuple[float, ...], infinite: bool = False) -> tuple[float, ...]:
        """An attribute as so many numbers as the default has, which is also the answer if it is absent or faulty."""
        text = self.text(attribute)
        words = text.split()
        if not words:
            return default
        if len(words) != len(default):
            self._fault("number", attribute, text, f"{len(default)} numbers" if len(default) > 1 else "one number")
            return default
        values = tuple(_number(word) for word in words)
        if any(value is None for value in values):
            self._fault("number", attribute, text, "decimal numbers" if len(default) > 1 else "a decimal number")
            return default
        if any(math.isnan(value) or (math.isinf(value) and not infinite) for value in values if value is not None):
            self._fault("non-finite", attribute, text, "finite numbers" if len(default) > 1 else "a finite number")
            return default
        return tuple(value for value in values if value is not None)

    def note(self, kind: str, what: str, fix: str) -> None:
        self.notes.add(kind, self.where, self.line, what, fix)

    def _fault(self, kind: str, attribute: str, text: str, expected: str) -> None:
        shown = text if len(text) <= 60 else text[:57] + "..."
        fix = "Expand the macros with xacro first." if "${" in text else "Correct the value."
        self.note(kind, f"{attribute}={shown!r} of <{self.tag}>, expected {expected}", fix)


def _number(word: str) -> float | None:
    """A number in plain notation with a point, whatever the locale."""
    if not word.isascii() or "_" in word:
        return None
    try:
        return float(word)
    except ValueError:
        return None
