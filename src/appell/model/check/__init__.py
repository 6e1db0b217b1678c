"""What is wrong with a robot description: every defect at once, each with place, severity and remedy.

The kinds of defect and their severities are listed in `appell.model.check.problem.SEVERITY`. A check is a function that
yields problems of a robot; to add one, write it and list it here.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, overload

from appell.errors import ModelError, ModelWarning
from appell.model.check.problem import ERROR, Problem, Report, sorted_by_place

if TYPE_CHECKING:
    from appell.model.robot import Robot

Check = Callable[["Robot"], Iterator[Problem]]


def _structure() -> tuple[Check, ...]:
    """Checks that can be made of anything."""
    from appell.model.check import mass, numbers, structure

    return (
        structure.check_names, structure.check_joints, structure.check_tree, structure.check_mimic,
        numbers.check_finite, numbers.check_axes, numbers.check_limits, numbers.check_friction,
        mass.check_mass_properties,
    )  # fmt: skip


def inspect(robot: Robot, virtual: Collection[str] = ()) -> tuple[Problem, ...]:
    """All defects of a robot. Bodies named in `virtual` rightly have no mass."""
    from appell.model.check.moving import check_moving_links

    problems = [problem for check in _structure() for problem in check(robot)]
    if not any(problem.kind in STRUCTURAL for problem in problems):
        known = {f"link {name!r}" for name in virtual}
        problems += [p for p in check_moving_links(robot) if p.kind != "massless" or p.where not in known]
    return sorted_by_place(replace(problem, file=problem.file or robot.source) for problem in problems)


STRUCTURAL = frozenset((
    "missing", "name", "link", "joint-type", "two-parents", "cycle", "roots", "mimic", "axis-zero", "non-finite", "number",
))  # fmt: skip
"""Kinds of defect that leave no tree of bodies to compute with, not even its kinematics."""


def settle(problems: Collection[Problem], stacklevel: int = 3) -> None:
    """Raise one error with all errors, or give one warning with all warnings."""
    errors = tuple(problem for problem in problems if problem.severity == ERROR)
    if errors:
        raise ModelError(_sentence(errors), place=errors[0].place, problems=tuple(problems))
    if problems:
        warnings.warn(_sentence(tuple(problems)), ModelWarning, stacklevel=stacklevel)


def require_tree(robot: Robot) -> None:
    """Raise an error if the robot is not one tree of bodies with finite numbers."""
    problems = [problem for check in _structure() for problem in check(robot) if problem.kind in STRUCTURAL]
    if problems:
        settle(sorted_by_place(replace(problem, file=problem.file or robot.source) for problem in problems))


def _sentence(problems: tuple[Problem, ...]) -> str:
    if len(problems) == 1:
        return str(problems[0])
    return "\n  ".join([f"{len(problems)} defects of the robot description:", *map(str, problems)])


@overload
def check(source: Any, *, fix: Literal[False] = False) -> Report: ...
@overload
def check(source: Any, *, fix: Literal[True]) -> Robot: ...
def check(source: Any, *, fix: bool = False) -> Report | Robot:
    """Every defect of a robot description at once, or the nearest description without them.

    Args:
        source: whatever `appell.load` takes, or a `Robot`.
        fix: return a repaired robot instead of the report, and tell what was changed by one `appell.ModelWarning`.
            Mass properties become the nearest physically consistent ones (`appell.model.check.repair`); what has no
            nearest right value, such as a missing name, still raises `ModelError`.

    Returns:
        A report: iterate over it, print it, or ask for `.errors`, `.warnings`, `.ok`.

    Example:
        >>> import appell
        >>> appell.check("puma560").ok
        True
        >>> robot = appell.load("planar2r")
        >>> print(appell.check(robot))
        planar2r: no defects found
    """
    from appell.model.loaders import Reading, problems_of, read
    from appell.model.robot import Robot

    reading = Reading(source) if isinstance(source, Robot) else None
    try:
        reading = reading or read(source)
    except ModelError as error:
        if fix or not error.problems:
            raise
        return Report(error.problems[0].file or "description", error.problems)
    problems = problems_of(reading)
    if not fix:
        return Report(reading.robot.source or reading.robot.name, problems)
    from appell.model.check.repair import repair

    return repair(reading.robot, problems)
