"""`appell.check`: all defects of a robot description."""

from __future__ import annotations

from typing import Any, Literal, overload

from appell.errors import ModelError
from appell.loading.load import problems_of, read
from appell.loading.source import ParsedRobot
from appell.model.check.problem import CheckReport
from appell.model.check.repair import repair
from appell.robot.robot import Robot


@overload
def check(source: Any, *, fix: Literal[False] = False) -> CheckReport: ...


@overload
def check(source: Any, *, fix: Literal[True]) -> Robot: ...


def check(source: Any, *, fix: bool = False) -> CheckReport | Robot:
    """All defects of a robot description, or the nearest description without defects.

    Args:
        source: whatever `appell.load` takes, or a `Robot`.
        fix: return a repaired robot instead of the report; one `appell.ModelWarning` lists the changes. Mass properties
            become the nearest physically consistent ones (`appell.model.check.repair`); defects without a nearest valid
            value, such as a missing name, raise `ModelError`.

    Returns:
        A report with `.errors`, `.warnings` and `.ok`; iterable and printable.

    Example:
        >>> import appell
        >>> appell.check("puma560").ok
        True
        >>> robot = appell.load("planar2r")
        >>> print(appell.check(robot))
        planar2r: no defects found
    """
    parsed = ParsedRobot(source) if isinstance(source, Robot) else None
    try:
        parsed = parsed or read(source)
    except ModelError as error:
        if fix or not error.problems:
            raise
        return CheckReport(error.problems[0].file or "description", error.problems)
    problems = problems_of(parsed)
    if not fix:
        return CheckReport(parsed.robot.source or parsed.robot.name, problems)
    return repair(parsed.robot, problems)
