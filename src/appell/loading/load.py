"""`appell.load` and `appell.check`: a robot, or its defects, from a file, a text, an object of another library or a name."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import replace
from importlib import import_module
from typing import Any, Literal, overload

from appell.checks import require_choice
from appell.errors import ArgumentError, ModelError
from appell.loading import catalogue, descriptions
from appell.loading.loops import find
from appell.loading.source import ParsedRobot, open_source
from appell.loading.xacro_macros import SUFFIX, expanded
from appell.model.body import Body
from appell.model.check import KINEMATICS_ONLY, STRUCTURAL, inspect, raise_or_warn
from appell.model.check.problem import ERROR, CheckReport, Problem, sorted_by_place
from appell.model.check.repair import repair, with_unit_axis
from appell.model.joint import Joint
from appell.model.tree_builder import root_body
from appell.names import unused_name
from appell.robot.robot import Robot

READERS = {"robot": "urdf", "sdf": "sdf", "mujoco": "mjcf", "yourdfpy.URDF": "yourdfpy_object"}
"""Module of this package with `read(source)`, for each root element of XML and each class of another library."""

BASES = ("fixed", "floating")
ROOT_JOINT = "root_joint"
NEUTRAL, AT_REST = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0), (0.0,) * 6
"""State of the floating joint in which the robot is at the place of a fixed one."""

MIMIC = {"couple": True, "ignore": False}
"""Whether a mimic joint follows its leader, for each value of the argument."""


def load(
    source: Any,
    *,
    base: str = "fixed",
    mimic: str = "couple",
    loops: Any = None,
    xacro_args: Mapping[str, Any] | None = None,
) -> Any:
    """A robot from a file, text, object or name.

    Args:
        source: path of a URDF, xacro, SDF or MJCF file, its text, a `yourdfpy.URDF`, a name of `appell.robots.names()`, or a
            name that the package `robot_descriptions` has in its cache on this machine, such as `"panda"`. A file with the
            name of a built-in robot is loaded as `"./name"`.
        base: `"fixed"`, or `"floating"`: a floating joint `root_joint` connects the root link to a new body `world`, and
            its seven coordinates and six velocities come first.
        mimic: `"couple"` makes mimic joints follow their leaders, `"ignore"` makes them independent.
        loops: closed loops: the path of a YAML file or its content as a mapping (`docs/howto/closed_loops.md`); `"ignore"`
            for the spanning tree alone. Default: the equalities `connect` and `weld` of an MJCF, or the file
            `robot.loops.yaml` next to `robot.urdf`.
        xacro_args: arguments of a xacro file by name. Files that end in `.xacro` are expanded in any case, others if it is given
            (`{}` for no arguments).

    Returns:
        A `Robot`, or a `ClosedLoopRobot` where there are loops (of built-in robots also a `spherical.SphericalRobot`).

    Raises:
        ModelError: the description is not a tree of bodies that can be read. `error.problems` lists all its defects, as
            `appell.check` does. Other defects give one `appell.ModelWarning`; a robot without mass has kinematics, and its
            functions that need mass raise.

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
    parsed = read(source, xacro_args)
    if parsed.robot.closure_names:  # a built-in robot with closed loops
        if base != "fixed":
            name = parsed.robot.name
            raise ArgumentError(f"{name} has closed loops; only robots without them can have a floating base.")
        raise_or_warn(problems_of(parsed))
        return parsed.robot
    closures = None if loops == "ignore" else (parsed.loops if loops is None else None) or find(loops, parsed.path)
    robot = replace(parsed.robot, coupled=MIMIC[mimic])
    problems = problems_of(replace(parsed, robot=robot))
    if not any(problem.kind in STRUCTURAL for problem in problems):
        robot = replace(robot, joints=tuple(map(with_unit_axis, robot.joints)))
        if robot.document is not None:  # axes of another length are no changes
            robot = replace(robot, document=replace(robot.document, robot=replace(robot, document=None)))
        if base == "floating":
            robot = with_floating_base(robot)
            problems = sorted_by_place((*problems, *(p for p in inspect(robot) if p.severity == ERROR)))
    if closures is None or any(p.severity == ERROR and p.kind not in KINEMATICS_ONLY for p in problems):
        raise_or_warn(problems)
        return robot
    loop_robot = closures.closed(robot)
    if not loop_robot.system.tree.mass_defects:  # every motion that the loops allow moves inertia
        problems = tuple(problem for problem in problems if problem.kind != "singular")
    raise_or_warn(problems)
    return loop_robot


@overload
def check(
    source: Any, *, fix: Literal[False] = False, density: float | None = None, xacro_args: Any = None
) -> CheckReport: ...


@overload
def check(source: Any, *, fix: Literal[True], density: float | None = None, xacro_args: Any = None) -> Robot: ...


def check(
    source: Any, *, fix: bool = False, density: float | None = None, xacro_args: Mapping[str, Any] | None = None
) -> CheckReport | Robot:
    """All defects of a robot description, or the nearest description without defects.

    Args:
        source: whatever `appell.load` takes, or a `Robot`.
        fix: return a repaired robot instead of the report; one `appell.ModelWarning` lists the changes. Mass properties
            become the nearest physically consistent ones (`appell.model.check.repair`); defects without a nearest valid
            value, such as a missing name, raise `ModelError`.
        density: with `fix`, of links without mass, which is then estimated from their shapes
            (`Robot.with_estimated_inertia`). [kg/m³]
        xacro_args: as for `appell.load`.

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
        parsed = parsed or read(source, xacro_args)
    except ModelError as error:
        if fix or not error.problems:
            raise
        return CheckReport(error.problems[0].file or "description", error.problems)
    problems = problems_of(parsed)
    if not fix:
        return CheckReport(parsed.robot.source or parsed.robot.name, problems)
    if density is not None and not any(problem.kind in STRUCTURAL for problem in problems):
        parsed = replace(parsed, robot=parsed.robot.with_estimated_inertia(density))
        problems = problems_of(parsed)
    return repair(parsed.robot, problems)


def read(given: Any, xacro_args: Mapping[str, Any] | None = None) -> ParsedRobot:
    """The robot of a description, before any check."""
    if isinstance(given, str) and given in catalogue.ROBOTS:
        return ParsedRobot(catalogue.build(given), virtual=catalogue.virtual_bodies(given))
    if isinstance(given, str) and re.fullmatch(r"[\w-]+", given) and not os.path.exists(given):
        named = descriptions.find(given)
        if named is not None:
            given = named.path
            xacro_args = xacro_args if named.xacro_args is None else {**named.xacro_args, **(xacro_args or {})}
    source = open_source(given)
    if source.text and (xacro_args is not None or (source.path and source.path.suffix == SUFFIX)):
        source = expanded(source, xacro_args or {})
    if source.kind in READERS:
        parsed = import_module(f"appell.loading.{READERS[source.kind]}").read(source)
        folder = "" if source.path is None else str(source.path.resolve().parent)
        return replace(parsed, robot=replace(parsed.robot, folder=folder), path=source.path)
    if source.text:
        place = f"{source.label}: " if source.label else ""
        raise ModelError(
            f"{place}the root element is <{source.kind}>, expected <robot> (URDF), <sdf> or <mujoco> (MJCF)."
        )
    raise ModelError(
        f"cannot load a robot from {source.label}: expected a path, XML text, a yourdfpy.URDF or the name of a robot."
    )


def with_floating_base(robot: Robot) -> Robot:
    """The robot with a floating joint from a new root `world` to its root body; its coordinates come first."""
    world = unused_name("world", robot.body_names)
    joint = Joint(unused_name(ROOT_JOINT, [joint.name for joint in robot.joints]), "floating", world, root_body(robot))
    start = robot.initial_state
    return replace(
        robot,
        bodies=(Body(world), *robot.bodies),
        joints=(joint, *robot.joints),
        initial_state=start and ((*NEUTRAL, *start[0]), (*AT_REST, *start[1])),
    )


def problems_of(parsed: ParsedRobot) -> tuple[Problem, ...]:
    """All defects: those of reading and those of the robot."""
    return sorted_by_place((*parsed.problems, *inspect(parsed.robot.spanning_tree, parsed.virtual)))
