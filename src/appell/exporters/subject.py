"""What is exported: the functions of one robot with everything that a reader of the code wants to know."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from appell.algorithms.system import find_for, signature
from appell.compiler.emit import plan
from appell.compiler.forms import Form, StraightLine, choose
from appell.compiler.schedule import ordered

if TYPE_CHECKING:
    from collections.abc import Mapping

    from appell.algorithms.request import Request
    from appell.robot.robot import Robot


class Result(NamedTuple):
    """How a function's result is called and described, in ASCII."""

    name: str
    what: str
    unit: str


RESULTS = {
    "inverse_dynamics": Result("tau", "Generalised forces tau = M(q) qdd + bias(q, qd)", "N m, N"),
    "forward_dynamics": Result("qdd", "Accelerations qdd = M(q)^-1 (tau - bias(q, qd))", "rad/s^2, m/s^2"),
    "mass_matrix": Result("M", "Generalised inertia matrix M(q), rotor inertia included", "kg m^2, kg m, kg"),
    "bias": Result("h", "Forces at zero acceleration, h = C(q, qd) qd + g(q)", "N m, N"),
    "gravity": Result("g", "Forces g(q) that hold the robot still against gravity", "N m, N"),
    "coriolis_matrix": Result("C", "Matrix C(q, qd) of the Christoffel symbols: dM/dt - 2 C is skew", "N m s, N s"),
    "kinetic_energy": Result("T", "Kinetic energy T = qd' M(q) qd / 2", "J"),
    "potential_energy": Result("U", "Potential energy U, zero with all mass at the world's origin", "J"),
    "gibbs_function": Result("G", "Gibbs function G: dG/dqdd = tau, its Hessian in qdd is M", "J/s^2"),
    "center_of_mass": Result("com", "Mass centre of the moving bodies in the world", "m"),
    "center_of_mass_jacobian": Result("J", "Jacobian of the mass centre: its velocity is J qd", "m/s per unit of qd"),
    "centroidal_momentum": Result("h", "Momentum and its moment about the mass centre", "kg m/s, kg m^2/s"),
    "centroidal_momentum_matrix": Result("A", "Matrix of the centroidal momentum h = A qd", "kg, kg m, kg m^2"),
    "pose": Result("pose", "Homogeneous transformation from the frame to the world", "m"),
    "jacobian": Result("J", "Jacobian: [v; omega] = J qd, linear rows first", "m/s, rad/s per unit of qd"),
    "jacobian_rate": Result("Jd", "Rate of the Jacobian along qd", "m/s^2, rad/s^2 per unit of qd"),
}
"""A function that is not listed exports too, with a plain description."""


@dataclass(frozen=True)
class Exported:
    """One function.

    Attributes:
        name: in the target language.
        inputs: name and entries of each input.
        shape: of the result; its entries are written by rows.
        form: its operations.
    """

    name: str
    request: Request
    method: str
    inputs: tuple[tuple[str, int], ...]
    shape: tuple[int, ...]
    form: Form

    @property
    def result(self) -> Result:
        function = self.request.function
        return RESULTS.get(function, Result("result", function.replace("_", " "), "SI"))


@dataclass(frozen=True)
class Subject:
    """A robot and the functions of it that are exported."""

    robot: Robot
    prefix: str
    dtype: str
    functions: tuple[Exported, ...]

    @classmethod
    def of(cls, robot: Robot, requests: Mapping[str, Request], prefix: str, dtype: str) -> Subject:
        functions = []
        for name, request in requests.items():
            expected = signature(robot.system, request)
            _, method, _ = find_for(robot.system, request.function, request.method)
            form = in_order(choose(robot.system, request))
            functions.append(Exported(name, request, method, expected.inputs, expected.shape, form))
        return cls(robot, prefix, dtype, tuple(functions))


def in_order(form: Form) -> Form:
    """Straight-line code in an order that suits processors: compilers of others keep it."""
    return StraightLine(plan(ordered(form.planned.listed))) if isinstance(form, StraightLine) else form
