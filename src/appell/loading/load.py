"""`appell.load`: a robot from a file, a text, an object of another library, or a name."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from typing import Any

from appell.checks import require_choice
from appell.errors import ArgumentError, ModelError
from appell.loading import catalogue
from appell.loading.loops import find
from appell.loading.source import ParsedRobot, Source, open_source
from appell.model.body import Body
from appell.model.check import inspect, raise_or_warn
from appell.model.check.problem import ERROR, Problem, sorted_by_place
from appell.model.check.repair import with_unit_axis
from appell.model.joint import Joint
from appell.robot.robot import Robot

LOADERS = ("urdf", "mjcf", "yourdfpy_object")
"""Modules of this package, each with `recognises(source)` and `read(source)`."""

BASES = ("fixed", "floating")
ROOT_JOINT = "root_joint"
NEUTRAL, AT_REST = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0), (0.0,) * 6
"""State of the floating joint in which the robot is at the place of a fixed one."""

MIMIC = {"couple": True, "ignore": False}
"""Whether a mimic joint follows its leader, for each value of the argument."""


def load(source: Any, *, base: str = "fixed", mimic: str = "couple", loops: Any = None) -> Any:
    """A robot from a file, text, object or name.

    Args:
        source: path of a URDF or MJCF file, its text, a `yourdfpy.URDF`, or a name of `appell.robots.names()`. A file
            with the name of a built-in robot is loaded as `"./name"`.
        base: `"fixed"`, or `"floating"`: a floating joint `root_joint` connects the root link to a new body `world`, and
            its seven coordinates and six velocities come first.
        mimic: `"couple"` makes mimic joints follow their leaders, `"ignore"` makes them independent.
        loops: closed loops: the path of a YAML file or its content as a mapping (`docs/howto/closed_loops.md`); `"ignore"`
            for the spanning tree alone. Default: the equalities `connect` and `weld` of an MJCF, or the file
            `robot.loops.yaml` next to `robot.urdf`.

    Returns:
        A `Robot`, or a `ClosedLoopRobot` where there are loops (of built-in robots also a `spherical.SphericalRobot`).

    Raises:
        ModelError: the description does not define the dynamics. `error.problems` lists all its defects, as
            `appell.check` does; defects that are not errors give one `appell.ModelWarning`.

    Example:
        >>> import appell
        >>> appell.load("planar2r")
        Robot('planar2r', 3 bodies, nq=2, nv=2, joints: joint1, joint2)
        >>> mass = "<inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1'/></inertial>"
        >>> joint = "<joint name='pivot' type='continuous'><parent link='base'/><child link='bob'/></joint>"
        >>> appell.load(f"<robot name='r'><link name='base'/><link name='bob'>{mass}</link>{joint}</robot>").joint_names
        ('pivot',)
    """
    require_choice("mimic", mimic, MIMIC)
    require_choice("base", base, BASES)
    parsed = read(source)
    if parsed.robot.closure_names:  # a built-in robot with closed loops
        if base != "fixed":
            raise ArgumentError(
                f"{parsed.robot.name} has closed loops; only robots without them can have a floating base."
            )
        raise_or_warn(problems_of(parsed))
        return parsed.robot
    robot = replace(parsed.robot, coupled=MIMIC[mimic])
    raise_or_warn(problems_of(replace(parsed, robot=robot)))
    robot = replace(robot, joints=tuple(map(with_unit_axis, robot.joints)))
    based = robot
    if base == "floating":
        based = with_floating_base(robot)
        raise_or_warn([problem for problem in inspect(based) if problem.severity == ERROR])
    closures = None if loops == "ignore" else (parsed.loops if loops is None else None) or find(loops, parsed.path)
    return based if closures is None else closures.closed(based)


def read(given: Any) -> ParsedRobot:
    """The robot of a description, before any check."""
    source = open_source(given, catalogue.names())
    if isinstance(given, str) and given in catalogue.names():
        return ParsedRobot(catalogue.build(given), virtual=catalogue.virtual_bodies(given))
    for name in LOADERS:
        loader = import_module(f"appell.loading.{name}")
        if loader.recognises(source):
            return replace(loader.read(source), path=source.path)
    raise ModelError(_unknown(source))


def with_floating_base(robot: Robot) -> Robot:
    """The robot with a floating joint from a new root `world` to its root body; its coordinates come first."""
    children = {joint.child for joint in robot.joints}
    (root,) = (body.name for body in robot.bodies if body.name not in children)
    world = _unused_name("world", robot.body_names)
    joint = Joint(_unused_name(ROOT_JOINT, [joint.name for joint in robot.joints]), "floating", world, root)
    start = robot.initial_state
    return replace(
        robot,
        bodies=(Body(world), *robot.bodies),
        joints=(joint, *robot.joints),
        initial_state=start and ((*NEUTRAL, *start[0]), (*AT_REST, *start[1])),
    )


def _unused_name(name: str, taken) -> str:
    while name in taken:
        name = f"{name}_"
    return name


def problems_of(parsed: ParsedRobot) -> tuple[Problem, ...]:
    """All defects: those of reading and those of the robot."""
    return sorted_by_place((*parsed.problems, *inspect(parsed.robot.spanning_tree, parsed.virtual)))


def _unknown(source: Source) -> str:
    if source.tag:
        place = f"{source.label}: " if source.label else ""
        return f"{place}the root element is <{source.tag}>, expected <robot> (URDF) or <mujoco> (MJCF)."
    return (
        f"cannot load a robot from {type(source.given).__name__}: expected a path, XML text, a yourdfpy.URDF "
        "or the name of a built-in robot."
    )
