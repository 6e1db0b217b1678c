"""The functions of a robot to export: their names in C, their signatures and their operations."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, cast

from appell.algorithms.function_spec import FunctionSpec, as_function_spec, optional_inputs
from appell.compiler.lowering import LoweredFunction, StraightLine, lower_function
from appell.compiler.schedule import ordered
from appell.errors import ArgumentError
from appell.robot.robot import Robot

Selection = str | FunctionSpec | Iterable[str | FunctionSpec] | Mapping[str, str | FunctionSpec]
"""One function, several, or several under names chosen by the user."""
MAX_PREFIX = 60
"""Letters of a robot's name that are used in names of files."""


class ResultText(NamedTuple):
    """Name, description and unit of a function's result, in ASCII."""

    name: str
    description: str
    unit: str


RESULTS = {
    "inverse_dynamics": ResultText("tau", "Generalised forces tau = M(q) qdd + bias(q, qd)", "N m, N"),
    "forward_dynamics": ResultText("qdd", "Accelerations qdd = M(q)^-1 (tau - bias(q, qd))", "rad/s^2, m/s^2"),
    "mass_matrix": ResultText("M", "Mass matrix M(q), rotor inertia included", "kg m^2, kg m, kg"),
    "bias": ResultText("h", "Forces at zero acceleration, h = C(q, qd) qd + g(q)", "N m, N"),
    "inverse_dynamics_derivatives": ResultText(
        "D", "Derivatives [dtau/dq, dtau/dqd, dtau/dqdd] side by side, by q in its tangent space", "SI"
    ),
    "forward_dynamics_derivatives": ResultText(
        "D", "Derivatives [dqdd/dq, dqdd/dqd, dqdd/dtau] side by side, by q in its tangent space", "SI"
    ),
    "inverse_dynamics_second_derivatives": ResultText(
        "D", "Second derivatives of tau by (q, q), (q, qd), (q, qdd), (qd, qd) side by side, by q in its tangent space", "SI"
    ),
    "gravity": ResultText("g", "Forces g(q) that hold the robot still against gravity", "N m, N"),
    "coriolis_matrix": ResultText("C", "Matrix C(q, qd) of the Christoffel symbols: dM/dt - 2 C is skew", "N m s, N s"),
    "kinetic_energy": ResultText("T", "Kinetic energy T = qd' M(q) qd / 2", "J"),
    "potential_energy": ResultText("U", "Potential energy U, zero with all mass at the world's origin", "J"),
    "gibbs_function": ResultText("G", "Gibbs function G: dG/dqdd = tau, its Hessian in qdd is M", "J/s^2"),
    "center_of_mass": ResultText("com", "Centre of mass of the moving bodies in the world", "m"),
    "center_of_mass_jacobian": ResultText("J", "Jacobian of the centre of mass: its velocity is J qd", "m/s per unit of qd"),
    "centroidal_momentum": ResultText("h", "Momentum and its moment about the centre of mass", "kg m/s, kg m^2/s"),
    "centroidal_momentum_matrix": ResultText("A", "Matrix of the centroidal momentum h = A qd", "kg, kg m, kg m^2"),
    "pose": ResultText("pose", "Homogeneous transformation from the frame to the world", "m"),
    "jacobian": ResultText("J", "Jacobian: [v; omega] = J qd, linear rows first", "m/s, rad/s per unit of qd"),
    "jacobian_rate": ResultText("Jd", "Rate of the Jacobian along qd", "m/s^2, rad/s^2 per unit of qd"),
}  # fmt: skip
"""Functions that are not listed are exported with a plain description."""


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
        function = self.spec.function
        return RESULTS.get(function, ResultText("result", function.replace("_", " "), "SI"))


@dataclass(frozen=True)
class ExportedRobot:
    """A robot, its exported functions, and the prefix of their names."""

    robot: Robot
    prefix: str
    dtype: str
    functions: tuple[ExportedFunction, ...]

    @classmethod
    def build(cls, robot: Robot, functions: Selection, prefix: str, dtype: str) -> ExportedRobot:
        exported = []
        for name, spec in select(functions, prefix).items():
            expected = robot.system.signature(spec)
            _, method, _ = robot.system.find(spec.function, spec.method)
            lowered = lower_function(robot.system, spec)
            if isinstance(
                lowered, StraightLine
            ):  # in an order that hides latency: a foreign compiler keeps the given one
                lowered = StraightLine(ordered(lowered.listed))
            exported.append(ExportedFunction(name, spec, method, expected.inputs, expected.shape, lowered))
        return cls(robot, prefix, dtype, tuple(exported))


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
