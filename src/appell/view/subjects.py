"""The subject of anything that can be shown."""

from __future__ import annotations

from functools import singledispatch
from pathlib import Path
from typing import Any

from appell.closed_loop.robot import ClosedLoopRobot
from appell.closed_loop.spherical.robot import SphericalRobot
from appell.errors import ArgumentError
from appell.robot.robot import Robot
from appell.view.loops import LoopSubject
from appell.view.spherical import SphericalSubject
from appell.view.subject import RobotSubject, Subject


@singledispatch
def subject_of(thing: Any, folder: Path | None = None) -> Subject:
    """What shows a robot; its meshes are looked for in the folder. A thing that is a subject is taken as it is.

    Example:
        >>> import appell
        >>> type(subject_of(appell.load("delta"))).__name__
        'LoopSubject'
    """
    if isinstance(thing, Subject):
        return thing
    raise ArgumentError(
        f"cannot show a {type(thing).__name__}. Give a robot, or an object like appell.view.subject.Subject."
    )


@subject_of.register
def _(thing: Robot, folder: Path | None = None) -> Subject:
    return RobotSubject.of(thing, folder)


@subject_of.register
def _(thing: ClosedLoopRobot, folder: Path | None = None) -> Subject:
    return LoopSubject.of(thing, folder)


@subject_of.register
def _(thing: SphericalRobot, folder: Path | None = None) -> Subject:
    return SphericalSubject.of(thing)
