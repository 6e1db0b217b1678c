"""The functions of a robot to export: their names in C, their signatures and their operations."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import cast

from appell.algorithms.function_spec import FunctionSpec, as_function_spec, optional_inputs
from appell.algorithms.result_text import ResultText, result_text
from appell.compiler.lowering import LoweredFunction, StraightLine, lower_function
from appell.compiler.schedule import ordered
from appell.errors import ArgumentError
from appell.robot.robot import Robot

Selection = str | FunctionSpec | Iterable[str | FunctionSpec] | Mapping[str, str | FunctionSpec]
"""One function, several, or several under names chosen by the user."""
MAX_PREFIX = 60
"""Letters of a robot's name that are used in names of files."""


@dataclass(frozen=True)
class ExportedFunction:
    """One function.

    Attributes:
        name: in the target language.
        inputs: name and number of entries of each input.
        shape: of the result; its entries are written by rows.
        lowered: its operations.
    """

    name: str
    spec: FunctionSpec
    method: str
    inputs: tuple[tuple[str, int], ...]
    shape: tuple[int, ...]
    lowered: LoweredFunction

    @property
    def result(self) -> ResultText:
        return result_text(self.spec.function)


@dataclass(frozen=True)
class ExportedRobot:
    """A robot, its exported functions, and the prefix of their names."""

    robot: Robot
    prefix: str
    dtype: str
    functions: tuple[ExportedFunction, ...]

    @classmethod
    def build(
        cls,
        robot: Robot,
        functions: Selection,
        prefix: str,
        dtype: str,
        runtime_parameters: bool = False,
        force_frames: Iterable[str] = (),
    ) -> ExportedRobot:
        exported = []
        for name, chosen in select(functions, prefix).items():
            spec = with_inputs(robot, chosen, runtime_parameters, tuple(force_frames))
            expected = robot.system.signature(spec)
            _, method, _ = robot.system.find(spec.function, spec.method)
            lowered = lower_function(robot.system, spec)
            if isinstance(
                lowered, StraightLine
            ):  # in an order that hides latency: a foreign compiler keeps the given one
                lowered = StraightLine(ordered(lowered.listed))
            exported.append(ExportedFunction(name, spec, method, expected.inputs, expected.shape, lowered))
        return cls(robot, prefix, dtype, tuple(exported))


def with_inputs(robot: Robot, spec: FunctionSpec, parameters: bool, force_frames: tuple[str, ...]) -> FunctionSpec:
    """The function with inertial parameters and external forces as arguments, where it depends on them."""
    quantity, _, _ = robot.system.find(spec.function, spec.method)
    forces = force_frames if quantity.uses_external_forces else ()
    return replace(
        spec,
        parameter_input=spec.parameter_input or (parameters and not quantity.needs_frame),
        force_frames=(*spec.force_frames, *(frame for frame in forces if frame not in spec.force_frames)),
    )


def select(functions: Selection, prefix: str) -> dict[str, FunctionSpec]:
    """The functions by their names in C, which must differ."""
    if isinstance(functions, Mapping):
        own = cast("Mapping[str, str | FunctionSpec]", functions)
        named = [(valid_identifier(name, "name"), as_function_spec(function)) for name, function in own.items()]
    else:
        specs = map(as_function_spec, [functions] if isinstance(functions, (str, FunctionSpec)) else functions)
        named = [(default_name(spec), spec) for spec in specs]
    if not named:
        raise ArgumentError('no functions to export. Name at least one, such as "inverse_dynamics".')
    selected: dict[str, FunctionSpec] = {}
    for own_name, spec in named:
        name = f"{prefix}_{own_name}"
        if name in selected:
            raise ArgumentError(
                f"two functions to export are called {name!r}: {selected[name]} and {spec}. "
                'Give names of your own: functions={"name": "function:frame", ...}.'
            )
        selected[name] = spec
    return selected


def default_name(spec: FunctionSpec) -> str:
    """The function with all its options, as an identifier.

    Example:
        >>> default_name(FunctionSpec("pose", frame="tool-0"))
        'pose_tool_0'
    """
    parts = [spec.function, spec.method, spec.frame]
    if spec.reference != FunctionSpec.reference:
        parts.append(spec.reference.lower())
    parts += optional_inputs(spec)
    return identifier("_".join(part for part in parts if part))


def default_prefix(robot_name: str) -> str:
    """The beginning of a robot's name as a C identifier that leaves room in the name of a file."""
    return identifier(robot_name[:MAX_PREFIX])


def identifier(text: str) -> str:
    """The text with everything that C does not allow in a name replaced by underscores.

    Example:
        >>> identifier("2-link arm")
        'robot_2_link_arm'
    """
    name = re.sub(r"[^0-9a-zA-Z]+", "_", text).strip("_") or "robot"
    return f"robot_{name}" if name[0].isdigit() else name


def valid_identifier(name: str, argument: str) -> str:
    """The name itself; raises ArgumentError unless C and file systems allow it."""
    if not re.fullmatch(r"[a-zA-Z][0-9a-zA-Z_]{0,199}", name):
        raise ArgumentError(
            f"{argument} {name!r} is not a C identifier. Use up to 200 letters, digits and underscores, a letter first."
        )
    return name
