"""Which quantities can be computed, from what, and by which methods.

A quantity is described once; an algorithm is a function over scalars, registered under a quantity and a method name.
Nothing outside this file knows the list.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import import_module
from typing import Any

from appell.checks import require_choice

Algorithm = Callable[..., Any]
"""`algorithm(tree, *inputs)` over sequences of scalars; returns scalars, nested as the output's shape."""


@dataclass(frozen=True)
class Quantity:
    """What a function takes and gives.

    Attributes:
        inputs: names of its arguments; `q` has nq entries, every other one nv.
        shape: of one result, letters or sums of them; "v" is nv, "p" the number of inertial parameters (other letters belong to
            systems that are no plain trees).
        default: the method that is used unless another is named.
        long_chain_default: a degree of freedom and the default for robots of more degrees, where another method is faster.
        needs_frame: whether it is of a frame of the robot (name and reference frame are then arguments).
        uses_mass: whether it depends on the inertial parameters of the robot.
        lumpable: methods that work from mass moments alone, so that mass may be lumped (`appell.model.parameters`).
    """

    name: str
    inputs: tuple[str, ...]
    shape: tuple[str | int, ...]
    default: str
    long_chain_default: tuple[int, str] | None = None
    uses_external_forces: bool = False
    uses_gravity: bool = True
    needs_frame: bool = False
    uses_mass: bool = True
    methods: dict[str, Algorithm] = field(default_factory=dict, compare=False)
    lumpable: set[str] = field(default_factory=set, compare=False)


def letters(size: str | int) -> list[str]:
    """The letters that a size is the sum of."""
    return size.split("+") if isinstance(size, str) else []


QUANTITIES = {
    quantity.name: quantity
    for quantity in (
        Quantity("inverse_dynamics", ("q", "qd", "qdd"), ("v",), "mata2002", uses_external_forces=True),
        Quantity(
            "forward_dynamics", ("q", "qd", "tau"), ("v",), "gibbs", (8, "articulated"), uses_external_forces=True
        ),
        Quantity(
            "inverse_dynamics_derivatives",
            ("q", "qd", "qdd"),
            ("v", "v+v+v"),
            "analytic",
            uses_external_forces=True,
        ),
        Quantity(
            "inverse_dynamics_second_derivatives",
            ("q", "qd", "qdd"),
            ("v", "v", "v+v+v+v"),
            "analytic",
            uses_external_forces=True,
        ),
        Quantity(
            "forward_dynamics_derivatives",
            ("q", "qd", "tau"),
            ("v", "v+v+v"),
            "analytic",
            uses_external_forces=True,
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
        Quantity("regressor", ("q", "qd", "qdd"), ("v", "p"), "mata2002", uses_mass=False),
        Quantity("actuator_jacobian", ("q",), ("v", "v"), "identity", uses_gravity=False, uses_mass=False),
        Quantity("joint_velocity_jacobian", ("q",), ("v", "v"), "identity", uses_gravity=False, uses_mass=False),
        Quantity("joint_velocities", ("q", "qd"), ("v",), "identity", uses_gravity=False, uses_mass=False),
        Quantity("joint_accelerations", ("q", "qd", "qdd"), ("v",), "identity", uses_gravity=False, uses_mass=False),
        Quantity("pose", ("q",), (4, 4), "recursive", uses_gravity=False, needs_frame=True, uses_mass=False),
        Quantity("jacobian", ("q",), (6, "v"), "recursive", uses_gravity=False, needs_frame=True, uses_mass=False),
        Quantity(
            "jacobian_derivatives",
            ("q",),
            (6, "v", "v"),
            "recursive",
            uses_gravity=False,
            needs_frame=True,
            uses_mass=False,
        ),
        Quantity(
            "jacobian_rate", ("q", "qd"), (6, "v"), "recursive", uses_gravity=False, needs_frame=True, uses_mass=False
        ),
    )
}

_MODULES = (
    "inverse_dynamics.mata2002", "inverse_dynamics.valera2003", "inverse_dynamics.newton_euler",
    "inverse_dynamics.shafei2018", "inverse_dynamics.hollerbach",
    "mass_matrix.gibbs_hessian", "mass_matrix.composite", "mass_matrix.shafei2018", "mass_matrix.hollerbach",
    "forward_dynamics.gibbs", "forward_dynamics.articulated", "forward_dynamics.noc",
    "coriolis_matrix", "energy", "kinematics", "centroidal", "regressor",
    "derivatives.analytic", "derivatives.automatic", "derivatives.forward",
    "derivatives.second",
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
    """`find_in` the functions of a tree."""
    _register_all()
    return find_in(QUANTITIES, SAME.get(quantity, quantity), method, degrees)


@lru_cache(maxsize=1)
def _register_all() -> None:
    for module in _MODULES:
        import_module(f"appell.algorithms.{module}")


def find_in(
    quantities: Mapping[str, Quantity], name: str, method: str | None = None, degrees: int = 0
) -> tuple[Quantity, str, Algorithm]:
    """The quantity, the method's name and its algorithm. Unknown names raise an error that lists the valid ones.

    Without a method, the default one for a robot of so many degrees of freedom.
    """
    quantity = quantities[require_choice("function", name, quantities)]
    least, long_chain_default = quantity.long_chain_default or (degrees, "")
    method = method or (long_chain_default if degrees > least else quantity.default)
    require_choice(f"method of {name}", method, quantity.methods)
    return quantity, method, quantity.methods[method]
