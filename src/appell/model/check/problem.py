"""One defect of a robot description, and the list of all of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from appell.model.body import Body
from appell.model.joint import Joint

ERROR, WARNING = "error", "warning"

SEVERITY = {
    # The description cannot be read, or is not one tree of bodies.
    "xml": ERROR,            # not well-formed, or with a DOCTYPE
    "number": ERROR,         # a number that cannot be read
    "non-finite": ERROR,     # NaN, or infinity where it has no meaning
    "missing": ERROR,        # a required element or attribute is absent
    "name": ERROR,           # missing or duplicate name
    "link": ERROR,           # a joint names a body that does not exist
    "joint-type": ERROR,     # an unknown joint type
    "two-parents": ERROR,    # a body is the child of two joints
    "cycle": ERROR,          # a body is its own ancestor
    "roots": ERROR,          # not exactly one body without a parent joint
    "mimic": ERROR,          # mimics a missing or fixed joint, or itself, directly or through others
    "axis-zero": ERROR,      # a moving joint with an axis of length 0
    # The kinematics is defined, but forces do not determine the accelerations: functions that need mass raise.
    "mass-data": ERROR,      # mass properties that cannot be read or are incomplete
    "negative-mass": ERROR,  # a body's mass, or a rotor's inertia, below zero
    "singular": ERROR,       # the mass matrix is not positive definite: a joint that moves no inertia
    # The dynamics are defined, but the description is not physical or probably not intended.
    "inertia": WARNING,      # inertia not positive definite
    "triangle": WARNING,     # principal moments violate the triangle inequality: pseudo-inertia not positive semidefinite
    "massless": WARNING,     # a moving link without mass, or inertia without mass
    "axis-length": WARNING,  # an axis that is not a unit vector; its direction is used
    "limits": WARNING,       # reversed, or an empty range
    "friction": WARNING,     # negative damping or friction
    "estimated": WARNING,    # mass properties that were estimated from shapes
    "drawing": WARNING,      # a visual shape that cannot be read
    "collision": WARNING,    # a collision shape that cannot be read
    "ignored": WARNING,      # something that changes the motion and is not part of the model
    "robot-name": WARNING,   # the robot has no name
    "root": WARNING,         # joints name a root that no link declares; it is added as a frame
    "default": WARNING,      # a blank attribute, for which the default is used
    "leader": WARNING,       # mimics a joint that does not exist; it is independent
    "macros": WARNING,       # macros of xacro that are not expanded
    "units": WARNING,        # lengths or inertias far beyond the size of the robot
}  # fmt: skip
"""Kinds of defect and their severity. `appell.load` raises for errors, except those of mass, and warns of the rest."""


@dataclass(frozen=True)
class Problem:
    """A defect: its place, what was found, and the remedy.

    Attributes:
        kind: a key of `SEVERITY`.
        where: the element, such as `joint 'elbow'`.
        what: what was found and what was expected.
        fix: the remedy.
        line: in the file, 0 where unknown.
        file: name of the file, empty where there is none.
    """

    kind: str
    where: str
    what: str
    fix: str
    line: int = 0
    file: str = ""

    @classmethod
    def of(cls, part: Body | Joint, kind: str, what: str, fix: str) -> Problem:
        """A defect of a body or a joint."""
        element = "link" if isinstance(part, Body) else "joint"
        return cls(kind, f"{element} {part.name!r}", what, fix, part.line)

    @property
    def severity(self) -> str:
        """`"error"` or `"warning"`."""
        return SEVERITY[self.kind]

    @property
    def place(self) -> str:
        """`file:line`, as far as known."""
        if self.file and self.line:
            return f"{self.file}:{self.line}"
        return f"line {self.line}" if self.line else self.file

    def __str__(self) -> str:
        place = f" ({self.place})" if self.place else ""
        return f"{self.where}{place}: {self.what}. {self.fix}"


@dataclass(frozen=True)
class CheckReport:
    """All defects of a description, errors first; iterable and printable.

    Example:
        >>> import appell
        >>> report = appell.check("<robot name='r'><link name='a'/><link name='a'/></robot>")
        >>> report.ok, [problem.kind for problem in report]
        (False, ['name'])
        >>> print(report.errors[0])
        link 'a' (line 1): the name is used twice. Names of links must differ.
    """

    source: str
    problems: tuple[Problem, ...]

    def __iter__(self) -> Iterator[Problem]:
        return iter(self.problems)

    def __len__(self) -> int:
        return len(self.problems)

    @property
    def errors(self) -> tuple[Problem, ...]:
        """Defects that leave the dynamics undefined."""
        return tuple(problem for problem in self.problems if problem.severity == ERROR)

    @property
    def warnings(self) -> tuple[Problem, ...]:
        """Defects that `appell.load` only warns of."""
        return tuple(problem for problem in self.problems if problem.severity == WARNING)

    @property
    def ok(self) -> bool:
        """Whether there are no defects."""
        return not self.problems

    def __str__(self) -> str:
        if self.ok:
            return f"{self.source}: no defects found"
        rows = [(p.severity, p.place or "-", p.where, f"{p.what}. {p.fix}") for p in self.problems]
        widths = [max(len(row[column]) for row in rows) for column in range(3)]
        counts = f"{_count(len(self.errors), 'error')}, {_count(len(self.warnings), 'warning')}"
        lines = ["  ".join([cell.ljust(w) for cell, w in zip(row, widths, strict=False)] + [row[3]]) for row in rows]
        return "\n".join([f"{self.source}: {counts}", *lines])


def sorted_by_place(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Errors first, then by line; each defect once."""
    unique = dict.fromkeys(problems)
    return tuple(sorted(unique, key=lambda problem: (problem.severity != ERROR, problem.line)))


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")
