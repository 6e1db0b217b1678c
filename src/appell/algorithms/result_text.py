"""Names, descriptions and units of the results of functions, for exported code and stored results."""

from __future__ import annotations

from typing import NamedTuple


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
    "jacobian_derivatives": ResultText("H", "Derivatives of the Jacobian by q in its tangent space, the last index", "SI"),
    "jacobian_rate": ResultText("Jd", "Rate of the Jacobian along qd", "m/s^2, rad/s^2 per unit of qd"),
}  # fmt: skip
"""Texts by function; `result_text` has a plain one for functions that are not listed."""


def result_text(function: str) -> ResultText:
    """Name, description and unit of the result of a function."""
    return RESULTS.get(function, ResultText("result", function.replace("_", " "), "SI"))
