"""`appell.load`: a robot from a file, a text, an object of another library, or a name."""

from __future__ import annotations

import math
from dataclasses import replace
from importlib import import_module
from typing import Any

from appell.errors import ArgumentError, ModelError, unknown_name_message
from appell.loading.loops import find
from appell.loading.parsed import ParsedRobot
from appell.loading.source import Source, open_source
from appell.model.check.problem import ERROR, Problem, sorted_by_place
from appell.model.check.structure import has_axis
from appell.model.floating_base import with_floating_base
from appell.model.joint import Joint
from appell.robot.robot import Robot

ROUNDING = 1e-12


LOADERS = ("named", "urdf", "mjcf", "yourdfpy_object")


BASES = {"fixed": lambda robot: robot, "floating": with_floating_base}


MIMIC = {"couple": True, "ignore": False}
"""Whether a mimic joint follows its leader, for each value of the argument."""


def load(source: Any, *, base: str = "fixed", mimic: str = "couple", loops: Any = None) -> Any:
    """A robot from a file, text, object or name.

    Args:
        source: path of a URDF or MJCF file, its text, a `yourdfpy.URDF`, or a name of `appell.robots.names()`. A file
            that has the name of a built-in robot is reached as `"./name"`.
        base: `"fixed"` (the root link stands still) or `"floating"` (it moves freely: a joint `root_joint` from a new
            body `world` carries it, and its seven coordinates and six speeds come first).
        mimic: `"couple"` makes mimic joints follow their leaders, `"ignore"` gives them coordinates of their own.
        loops: closed loops: the path of a YAML file or its content as a mapping (`docs/howto/closed_loops.md`); `"ignore"`
            for the tree alone. By default what belongs to the description: equalities `connect` and `weld` of an MJCF, or
            the file `robot.loops.yaml` beside `robot.urdf`.

    Returns:
        A `Robot`, or a `ClosedLoopRobot` where there are loops (of built-in robots also a `spherical.SphericalRobot`).

    Raises:
        ModelError: the description leaves the dynamics without meaning. `error.problems` are all its defects, as
            `appell.check` lists them; those that are not errors are told by one `appell.ModelWarning`.

    Example:
        >>> import appell
        >>> appell.load("planar2r")
        Robot('planar2r', 3 bodies, nq=2, nv=2, joints: joint1, joint2)
        >>> mass = "<inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1'/></inertial>"
        >>> joint = "<joint name='pivot' type='continuous'><parent link='base'/><child link='bob'/></joint>"
        >>> appell.load(f"<robot name='r'><link name='base'/><link name='bob'>{mass}</link>{joint}</robot>").joint_names
        ('pivot',)
    """
    from appell.model.check import inspect, raise_or_warn

    if mimic not in MIMIC:
        raise ArgumentError(unknown_name_message("mimic", mimic, MIMIC))
    if base not in BASES:
        raise ArgumentError(unknown_name_message("base", base, BASES))
    reading = read(source)
    if not isinstance(reading.robot, Robot):  # a mechanism with loops: how it moves is its own
        if base != "fixed":
            raise ArgumentError(
                f"{reading.robot.name} has closed loops; only robots without them can have a floating base."
            )
        raise_or_warn(problems_of(reading))
        return reading.robot
    robot = replace(reading.robot, coupled=MIMIC[mimic])
    raise_or_warn(problems_of(replace(reading, robot=robot)))
    robot = replace(robot, joints=tuple(map(_with_unit_axis, robot.joints)))
    based = BASES[base](robot)
    if based is not robot:  # a root that moves must meet inertia too
        raise_or_warn([problem for problem in inspect(based) if problem.severity == ERROR])
    found = None if loops == "ignore" else (reading.loops if loops is None else None) or find(loops, reading.path)
    return based if found is None else found.closed(based)


def read(given: Any) -> ParsedRobot:
    """The robot as its description has it, right or wrong."""
    from appell.loading.catalogue import names

    source = open_source(given, names())
    for name in LOADERS:
        loader = import_module(f"appell.loading.{name}")
        if loader.recognises(source):
            return replace(loader.read(source), path=source.path)
    raise ModelError(_unknown(source))


def _with_unit_axis(joint: Joint) -> Joint:
    """The joint with its axis of length 1; an axis that is so up to rounding keeps its numbers."""
    length = math.hypot(*joint.axis)
    if abs(length - 1.0) <= ROUNDING or not has_axis(joint):
        return joint
    x, y, z = (value / length for value in joint.axis)
    return replace(joint, axis=(x, y, z))


def problems_of(reading: ParsedRobot) -> tuple[Problem, ...]:
    """What could not be read, and what is wrong with what could."""
    from appell.model.check import inspect

    robot = getattr(reading.robot, "spanning_tree", reading.robot)  # of a mechanism with loops
    return sorted_by_place((*reading.problems, *inspect(robot, reading.virtual)))


def _unknown(source: Source) -> str:
    if source.tag:
        place = f"{source.label}: " if source.label else ""
        return f"{place}the root element is <{source.tag}>, expected <robot> (URDF) or <mujoco> (MJCF)."
    return (
        f"cannot load a robot from {type(source.given).__name__}: expected a path, XML text, a yourdfpy.URDF "
        "or the name of a built-in robot."
    )
