"""Defects of a robot description, all at once, each with place, severity and remedy.

The kinds of defect and their severities are listed in `appell.model.check.problem.SEVERITY`. A check is a function that
yields the problems of a robot; to add one, write it and list it in CHECKS.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from appell.errors import ModelError, ModelWarning, warn_at_caller
from appell.model.check import mass, structure
from appell.model.check.pivots import check_moving_links
from appell.model.check.problem import ERROR, Problem, sorted_by_place

if TYPE_CHECKING:
    from appell.model.description import Description

Check = Callable[["Description"], Iterator[Problem]]


KINEMATICS_ONLY = frozenset(("mass-data", "negative-mass", "singular"))
"""Kinds of defect that leave the kinematics defined, but not the equations of motion."""


CHECKS: tuple[Check, ...] = (
    structure.check_names, structure.check_joints, structure.check_tree, structure.check_mimic,
    structure.check_finite, structure.check_axes, structure.check_limits, structure.check_friction,
    mass.check_mass_properties, mass.check_units,
)  # fmt: skip
"""Checks that need no valid tree."""


def inspect(robot: Description, virtual: Collection[str] = ()) -> tuple[Problem, ...]:
    """All defects of a robot. Bodies named in `virtual` may be massless."""
    problems = [problem for check in CHECKS for problem in check(robot)]
    if not any(problem.kind in STRUCTURAL for problem in problems):
        known = {f"link {name!r}" for name in virtual}
        problems += [p for p in check_moving_links(robot) if p.kind != "massless" or p.where not in known]
    return sorted_by_place(replace(problem, file=problem.file or robot.source) for problem in problems)


def mass_defects(robot: Description) -> dict[str, Problem]:
    """Defects of the mass properties of a tree that leave its mass matrix not positive definite, by link."""
    child = {f"joint {joint.name!r}": joint.child for joint in robot.joints}
    link = {f"link {body.name!r}": body.name for body in robot.bodies}
    checks = (mass.check_mass_properties, structure.check_friction, check_moving_links)
    found = (problem for check in checks for problem in check(robot) if problem.kind in KINEMATICS_ONLY)
    return {(child | link)[problem.where]: problem for problem in found}


STRUCTURAL = frozenset((
    "missing", "name", "link", "joint-type", "two-parents", "cycle", "roots", "mimic", "axis-zero", "non-finite", "number",
))  # fmt: skip
"""Kinds of defect without a valid tree: not even the kinematics can be computed."""


def raise_or_warn(problems: Collection[Problem], allowed: Collection[str] = KINEMATICS_ONLY) -> None:
    """Raise one error that lists all errors but those of the kinds `allowed`, or give one warning if there are none."""
    errors = tuple(problem for problem in problems if problem.severity == ERROR and problem.kind not in allowed)
    if errors:
        raise ModelError(_sentence(errors), place=errors[0].place, problems=tuple(problems))
    if problems:
        text = _sentence(tuple(problems))
        if any(problem.kind in KINEMATICS_ONLY for problem in problems):
            text += "\n  Only kinematics is defined: functions that need mass raise an error until it is given."
        warn_at_caller(text, ModelWarning)


def require_tree(robot: Description) -> None:
    """Raise if the robot is not one tree of bodies with finite numbers."""
    problems = [problem for check in CHECKS for problem in check(robot) if problem.kind in STRUCTURAL]
    if problems:
        raise_or_warn(sorted_by_place(replace(problem, file=problem.file or robot.source) for problem in problems))


MOST_OF_A_KIND = 3
"""Defects of one kind that a message has in full."""


def _sentence(problems: tuple[Problem, ...]) -> str:
    if len(problems) == 1:
        return str(problems[0])
    by_kind = {kind: [p for p in problems if p.kind == kind] for kind in dict.fromkeys(p.kind for p in problems)}
    lines = [f"{len(problems)} defects of the robot description:"]
    for kind, own in by_kind.items():
        lines += map(str, own[:MOST_OF_A_KIND])
        if len(own) > MOST_OF_A_KIND:
            others = ", ".join(problem.where for problem in own[MOST_OF_A_KIND:])
            lines.append(f"and {len(own) - MOST_OF_A_KIND} more of the kind {kind!r}: {others}")
    return "\n  ".join(lines)
