"""Defects of a robot description, all at once, each with place, severity and remedy.

The kinds of defect and their severities are listed in `appell.model.check.problem.SEVERITY`. A check is a function that
yields the problems of a robot; to add one, write it and list it in CHECKS.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from appell.errors import ModelError, ModelWarning
from appell.model.check import mass, structure
from appell.model.check.pivots import check_moving_links
from appell.model.check.problem import ERROR, Problem, sorted_by_place

if TYPE_CHECKING:
    from appell.model.description import Description

Check = Callable[["Description"], Iterator[Problem]]


CHECKS: tuple[Check, ...] = (
    structure.check_names, structure.check_joints, structure.check_tree, structure.check_mimic,
    structure.check_finite, structure.check_axes, structure.check_limits, structure.check_friction,
    mass.check_mass_properties,
)  # fmt: skip
"""Checks that need no valid tree."""


def inspect(robot: Description, virtual: Collection[str] = ()) -> tuple[Problem, ...]:
    """All defects of a robot. Bodies named in `virtual` may be massless."""
    problems = [problem for check in CHECKS for problem in check(robot)]
    if not any(problem.kind in STRUCTURAL for problem in problems):
        known = {f"link {name!r}" for name in virtual}
        problems += [p for p in check_moving_links(robot) if p.kind != "massless" or p.where not in known]
    return sorted_by_place(replace(problem, file=problem.file or robot.source) for problem in problems)


STRUCTURAL = frozenset((
    "missing", "name", "link", "joint-type", "two-parents", "cycle", "roots", "mimic", "axis-zero", "non-finite", "number",
))  # fmt: skip
"""Kinds of defect without a valid tree: not even the kinematics can be computed."""


def raise_or_warn(problems: Collection[Problem], stacklevel: int = 3) -> None:
    """Raise one error that lists all problems, or give one warning if none is an error."""
    errors = tuple(problem for problem in problems if problem.severity == ERROR)
    if errors:
        raise ModelError(_sentence(errors), place=errors[0].place, problems=tuple(problems))
    if problems:
        warnings.warn(_sentence(tuple(problems)), ModelWarning, stacklevel=stacklevel)


def require_tree(robot: Description) -> None:
    """Raise if the robot is not one tree of bodies with finite numbers."""
    problems = [problem for check in CHECKS for problem in check(robot) if problem.kind in STRUCTURAL]
    if problems:
        raise_or_warn(sorted_by_place(replace(problem, file=problem.file or robot.source) for problem in problems))


def _sentence(problems: tuple[Problem, ...]) -> str:
    if len(problems) == 1:
        return str(problems[0])
    return "\n  ".join([f"{len(problems)} defects of the robot description:", *map(str, problems)])
