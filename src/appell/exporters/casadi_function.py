"""Functions of robots for nonlinear programs and integrators of CasADi."""

from __future__ import annotations

from typing import TYPE_CHECKING

from appell.algorithms.function_spec import FunctionSpec, as_function_spec
from appell.compiler.provider import TracedProvider
from appell.compiler.trace import trace
from appell.errors import ArgumentError
from appell.robot.functions import Dynamics

if TYPE_CHECKING:
    import casadi


def casadi_function(robot: Dynamics, function: str | FunctionSpec) -> casadi.Function:
    """A function of a robot as a `casadi.Function` over SX: inputs are columns, results columns or matrices.

    Its derivatives by q are those by coordinates, which floating, planar and spherical joints have more of than velocities.
    Results with more dimensions, such as `jacobian_derivatives`, have all but the first side by side. Configurations are not
    checked: quaternions must be of unit length, loops closed.

    Args:
        function: as in `appell.jvp`; a `FunctionSpec` can add gravity, external forces and inertial parameters as inputs.

    Example:
        >>> import appell
        >>> f = appell.casadi_function(appell.load("planar2r"), "forward_dynamics")
        >>> f.name_in(), f.size_out(0)
        (['q', 'qd', 'tau'], (2, 1))
        >>> f([0.0, 0.0], [0.0, 0.0], [1.0, 0.0]).shape
        (2, 1)
    """
    spec = as_function_spec(function)
    provider = robot.functions.provider
    if not isinstance(provider, TracedProvider):
        raise ArgumentError("functions of a file have no CasADi graph. Use the robot it was made of.")
    import casadi

    if not spec.parameter_input:
        provider.require_mass(spec.function)
    traced = trace(provider.system, spec)
    symbols = [casadi.SX.sym(name, size) for name, size in traced.inputs]
    entries, rows = traced.graph(*symbols), traced.shape[0] if traced.shape else 1
    result = casadi.reshape(entries, entries.numel() // max(rows, 1), rows).T
    return casadi.Function(spec.function, symbols, [result], [name for name, _ in traced.inputs], ["result"])
