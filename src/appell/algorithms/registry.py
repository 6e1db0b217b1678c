"""Which quantities can be computed, from what, and by which methods.

A quantity is described once; an algorithm is a function over scalars, registered under a quantity and a method name.
Nothing outside this file knows the list.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from appell.errors import ArgumentError, unknown_name_message

Algorithm = Callable[..., Any]
"""`algorithm(tree, *inputs)` over sequences of scalars; returns scalars, nested as the output's shape."""


@dataclass(frozen=True)
class Quantity:
    """What a function takes and gives.

    Attributes:
        inputs: names of its arguments; `q` has nq entries, every other one nv.
        shape: of one result; "v" stands for nv, "p" for the number of inertial parameters (other letters belong to
            systems that are no plain trees).
        default: the method that is used unless another is named.
        long: a degree of freedom and the default for robots of more degrees, where another method is faster.
        forces: whether external forces enter.
        gravity: whether gravity enters.
        frame: whether it is of a frame of the robot (name and reference frame are then arguments).
    """

    name: str
    inputs: tuple[str, ...]
    shape: tuple[str | int, ...]
    default: str
    long_chain_default: tuple[int, str] | None = None
    uses_external_forces: bool = False
    uses_gravity: bool = True
    needs_frame: bool = False
    methods: dict[str, Algorithm] = field(default_factory=dict, compare=False)
    lumpable: set[str] = field(default_factory=set, compare=False)
    """Methods that work from mass moments alone, so that mass may be lumped (`appell.model.parameters`)."""


QUANTITIES = {
    quantity.name: quantity
    for quantity in (
        Quantity("inverse_dynamics", ("q", "qd", "qdd"), ("v",), "mata2002", uses_external_forces=True),
        Quantity(
            "forward_dynamics", ("q", "qd", "tau"), ("v",), "gibbs", (8, "articulated"), uses_external_forces=True
        ),
        Quantity("mass_matrix", ("q",), ("v", "v"), "gibbs_hessian", (20, "composite"), uses_gravity=False),
        Quantity("bias", ("q", "qd"), ("v",), "mata2002", uses_external_forces=True),
        Quantity("gravity", ("q",), ("v",), "mata2002"),
        Quantity("coriolis_matrix", ("q", "qd"), ("v", "v"), "gibbs", uses_gravity=False),
        Quantity("kinetic_energy", ("q", "qd"), (), "gibbs", uses_gravity=False),
        Quantity("potential_energy", ("q",), (), "gibbs"),
        Quantity("gibbs_function", ("q", "qd", "qdd"), (), "gibbs"),
        Quantity("center_of_mass", ("q",), (3,), "gibbs", uses_gravity=False),
        Quantity("center_of_mass_jacobian", ("q",), (3, "v"), "composite", uses_gravity=False),
        Quantity("centroidal_momentum", ("q", "qd"), (6,), "composite", uses_gravity=False),
        Quantity("centroidal_momentum_matrix", ("q",), (6, "v"), "composite", uses_gravity=False),
        Quantity("regressor", ("q", "qd", "qdd"), ("v", "p"), "mata2002"),
        Quantity("actuator_jacobian", ("q",), ("v", "v"), "identity", uses_gravity=False),
        Quantity("joint_velocity_jacobian", ("q",), ("v", "v"), "identity", uses_gravity=False),
        Quantity("joint_velocities", ("q", "qd"), ("v",), "identity", uses_gravity=False),
        Quantity("joint_accelerations", ("q", "qd", "qdd"), ("v",), "identity", uses_gravity=False),
        Quantity("pose", ("q",), (4, 4), "recursive", uses_gravity=False, needs_frame=True),
        Quantity("jacobian", ("q",), (6, "v"), "recursive", uses_gravity=False, needs_frame=True),
        Quantity("jacobian_rate", ("q", "qd"), (6, "v"), "recursive", uses_gravity=False, needs_frame=True),
    )
}

_MODULES = (
    "inverse_dynamics.mata2002", "inverse_dynamics.valera2003", "inverse_dynamics.newton_euler",
    "inverse_dynamics.shafei2018", "inverse_dynamics.hollerbach",
    "mass_matrix.gibbs_hessian", "mass_matrix.composite", "mass_matrix.shafei2018", "mass_matrix.hollerbach",
    "forward_dynamics.gibbs", "forward_dynamics.articulated", "forward_dynamics.noc",
    "coriolis_matrix", "energy", "kinematics", "centroidal", "regressor",
    "actuation",
)  # fmt: skip


def algorithm(quantity: str, method: str, *, lumpable: bool = False) -> Callable[[Algorithm], Algorithm]:
    """Register the decorated function as a method of a quantity.

    `lumpable` says that the result does not change when mass is lumped (`appell.model.parameters`) and that the method never
    divides by a mass: its kernels are then made from the lumped robot.
    """

    def register(function: Algorithm) -> Algorithm:
        QUANTITIES[quantity].methods[method] = function
        if lumpable:
            QUANTITIES[quantity].lumpable.add(method)
        return function

    return register


SAME = {"generalized_forces": "inverse_dynamics", "generalized_regressor": "regressor"}
"""Functions that are the same for a tree and differ for closed loops."""


def find(quantity: str, method: str | None = None, degrees: int = 0) -> tuple[Quantity, str, Algorithm]:
    """The quantity, the method's name and its algorithm; names that do not exist are answered with the valid ones.

    Without a method, the default one for a robot of so many degrees of freedom.
    """
    for module in _MODULES:
        import_module(f"appell.algorithms.{module}")
    quantity = SAME.get(quantity, quantity)
    if quantity not in QUANTITIES:
        raise ArgumentError(unknown_name_message("function", quantity, QUANTITIES))
    found = QUANTITIES[quantity]
    name = method or (
        found.long_chain_default[1]
        if found.long_chain_default and degrees > found.long_chain_default[0]
        else found.default
    )
    if name not in found.methods:
        raise ArgumentError(unknown_name_message(f"method of {quantity}", name, found.methods))
    return found, name, found.methods[name]
