"""`appell.check`: all defects of a robot description."""

from __future__ import annotations

from typing import Any, Literal, overload

from appell.errors import ModelError
from appell.loading.load import problems_of, read
from appell.loading.parsed import ParsedRobot
from appell.model.check.problem import CheckReport
from appell.model.check.repair import repair
from appell.robot.robot import Robot


@overload
def check(source: Any, *, fix: Literal[False] = False) -> CheckReport: ...


@overload
def check(source: Any, *, fix: Literal[True]) -> Robot: ...


def check(source: Any, *, fix: bool = False) -> CheckReport | Robot:
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
    reading = ParsedRobot(source) if isinstance(source, Robot) else None
    try:
        reading = reading or read(source)
    except ModelError as error:
        if fix or not error.problems:
            raise
        return CheckReport(error.problems[0].file or "description", error.problems)
    problems = problems_of(reading)
    if not fix:
        return CheckReport(reading.robot.source or reading.robot.name, problems)
    return repair(reading.robot, problems)
