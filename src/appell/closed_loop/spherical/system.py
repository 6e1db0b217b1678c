"""Numerical model of a spherical parallel robot, and the list of its functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from appell.algebra import IDENTITY, AxisRotation, Inertia, Rotation, Scalar, Sym3, Vec3
from appell.algorithms.function_spec import FunctionSpec
from appell.algorithms.system import MAIN, System
from appell.closed_loop.spherical import dynamics, jacobians, kinematics
from appell.closed_loop.spherical.kinematics import DEPENDENT_JOINTS
from appell.closed_loop.spherical.leg import Leg, axis_rotation
from appell.closed_loop.system import quantity_of
from appell.model.body import Body
from appell.model.parameters import PER_LINK, inertia_of

if TYPE_CHECKING:
    from appell.closed_loop.spherical.robot import SphericalRobot

BodyIndex = tuple[int, int]
"""Index of a leg and of a body of it; the platform is (-1, 0)."""
PLATFORM: BodyIndex = (-1, 0)


@dataclass(frozen=True)
class LegModel:
    """A leg: constant rotations, arcs, and the mass properties of its bodies about the centre."""

    base: Rotation
    arcs: tuple[AxisRotation, ...]
    tip: Rotation
    inertias: tuple[Inertia, ...]
    sign: float
    actuated: tuple[int, ...]

    @property
    def joints(self) -> int:
        return len(self.arcs) + 1

    @classmethod
    def of(cls, leg: Leg) -> LegModel:
        arcs = tuple(axis_rotation(0, arc) for arc in leg.arcs)
        inertias = tuple(map(inertia_about_centre, leg.bodies))
        return cls(leg.base.rotation, arcs, leg.tip.rotation, inertias, leg.sign, leg.actuated)


QUANTITIES = {
    quantity.name: quantity
    for quantity in (
        quantity_of(
            "inverse_dynamics", "q qd qdd", ("a",), True, True,
            gibbs=dynamics.inverse_dynamics, abedloo2014=dynamics.paper_inverse_dynamics,
        ),
        quantity_of("generalized_forces", "q qd qdd", ("v",), True, True, gibbs=dynamics.generalized_forces),
        quantity_of("forward_dynamics", "q qd tau", ("v",), True, True, gibbs=dynamics.forward_dynamics),
        quantity_of(
            "inverse_dynamics_derivatives", "q qd qdd", ("a", "v+v+v"), True, True,
            automatic=dynamics.inverse_dynamics_derivatives,
        ),
        quantity_of(
            "inverse_dynamics_second_derivatives", "q qd qdd", ("a", "v", "v+v+v+v"), True, True,
            automatic=dynamics.inverse_dynamics_second_derivatives,
        ),
        quantity_of(
            "forward_dynamics_derivatives", "q qd tau", ("v", "v+v+a"), True, True,
            automatic=dynamics.forward_dynamics_derivatives,
        ),
        quantity_of("accelerations", "q qd forces", ("v",), True, True, gibbs=dynamics.accelerations),
        quantity_of("bias", "q qd", ("v",), True, True, gibbs=dynamics.bias),
        quantity_of("mass_matrix", "q", ("v", "v"), abedloo2014=jacobians.mass_matrix),
        quantity_of("gravity", "q", ("v",), gravity=True, abedloo2014=jacobians.gravity),
        quantity_of(
            "coriolis_matrix", "q qd", ("v", "v"),
            christoffel=jacobians.coriolis_matrix, abedloo2014=jacobians.paper_coriolis_matrix,
        ),
        quantity_of("regressor", "q qd qdd", ("a", "p"), gravity=True, gibbs=dynamics.regressor),
        quantity_of("generalized_regressor", "q qd qdd", ("v", "p"), gravity=True, gibbs=dynamics.generalized_regressor),
        quantity_of("actuator_jacobian", "q", ("a", "v"), abedloo2014=jacobians.actuator_jacobian),
        quantity_of("kinetic_energy", "q qd", (), gibbs=dynamics.kinetic_energy),
        quantity_of("potential_energy", "q", (), gravity=True, gibbs=dynamics.potential_energy),
        quantity_of("center_of_mass", "q", (3,), gibbs=dynamics.center_of_mass),
        quantity_of("gibbs_function", "q qd qdd", (), gravity=True, gibbs=dynamics.gibbs_function),
        quantity_of("joint_angles", "q", ("j",), abedloo2014=kinematics.joint_angles),
        quantity_of("joint_velocities", "q qd", ("j",), abedloo2014=kinematics.joint_velocities),
        quantity_of("joint_accelerations", "q qd qdd", ("j",), abedloo2014=kinematics.joint_accelerations),
        quantity_of("pose", "q", (4, 4), abedloo2014=kinematics.pose),
        quantity_of("jacobian", "q", (6, "v"), abedloo2014=jacobians.jacobian),
        quantity_of("margins", "q", ("m",), abedloo2014=jacobians.margins),
    )
}  # fmt: skip
"""All functions. Letters in shapes: v coordinates, a actuators, j joints of all legs, p parameters, m margins."""


@dataclass(frozen=True)
class SphericalSystem(System):
    """Numerical model of a spherical parallel robot.

    The joints of the leg `guide`, which has fewer than three, are the platform's coordinates; None if these are Euler angles.
    """

    legs: tuple[LegModel, ...]
    platform: Inertia
    gravity: Vec3  # acceleration of free fall in the world
    guide: int | None
    names: tuple[tuple[str, BodyIndex], ...]
    leg_names: tuple[str, ...]
    external: Mapping[BodyIndex, Vec3] = field(default_factory=dict)  # moments on bodies, along their axes
    platform_place = PLATFORM
    quantities = QUANTITIES
    kind = "spherical"
    sources = (Path(__file__).parent,)
    main = (*MAIN, "generalized_forces", "actuator_jacobian", "joint_angles", "margins")

    @classmethod
    def of(cls, robot: SphericalRobot) -> SphericalSystem:
        names = [(robot.platform.name, PLATFORM)]
        names += [(body.name, (i, j)) for i, leg in enumerate(robot.legs) for j, body in enumerate(leg.bodies)]
        return cls(
            tuple(map(LegModel.of, robot.legs)), inertia_about_centre(robot.platform), Vec3(*robot.gravity_vector), robot.guide,
            tuple(names), tuple(leg.name for leg in robot.legs),
        )  # fmt: skip

    @property
    def parts(self) -> tuple[str, ...]:
        return self.leg_names

    @property
    def parameter_bodies(self) -> tuple[tuple[str, int], ...]:
        return tuple((name, 2) for name, _ in self.names)  # all rotate about z

    @property
    def angles(self) -> tuple[int, ...]:
        return tuple(range(self.nv))

    @property
    def guided(self) -> int:
        """Coordinates of the platform."""
        return 3 if self.guide is None else self.legs[self.guide].joints

    @property
    def free_velocities(self) -> tuple[tuple[int, ...], ...]:
        """For each leg the indices of the coordinates that are angles of its joints."""
        indices, start = [], self.guided
        for i, leg in enumerate(self.legs):
            if i == self.guide:
                indices.append(tuple(range(leg.joints)))
            else:
                indices.append(tuple(range(start, start + leg.joints - DEPENDENT_JOINTS)))
                start += leg.joints - DEPENDENT_JOINTS
        return tuple(indices)

    @property
    def nv(self) -> int:
        """Degrees of freedom."""
        return self.guided + sum(leg.joints - DEPENDENT_JOINTS for i, leg in enumerate(self.legs) if i != self.guide)

    def free_angles(self, q: Sequence[Scalar]) -> list[list[Scalar]]:
        """Angles of the free joints of each leg."""
        return [[q[k] for k in own] for own in self.free_velocities]

    @property
    def sizes(self) -> dict[str, int]:
        nv, actuators = self.nv, sum(len(leg.actuated) for leg in self.legs)
        return {
            "q": nv, "qd": nv, "qdd": nv, "forces": nv, "v": nv, "tau": actuators, "a": actuators,
            "j": sum(leg.joints for leg in self.legs), "m": 2 * len(self.legs) + 2 + nv,
            "p": PER_LINK * (1 + sum(len(leg.inertias) for leg in self.legs)),
        }  # fmt: skip

    @property
    def fingerprint_data(self) -> object:
        legs = [
            ([leg.base.factors, leg.arcs, leg.tip.factors], leg.inertias, leg.sign, leg.actuated) for leg in self.legs
        ]
        return legs, self.platform, self.gravity, self.guide

    @property
    def frames(self) -> Mapping[str, Any]:
        return dict(self.names)

    def with_inputs(self, spec: FunctionSpec, entries: Mapping[str, Sequence[Scalar]], lump: bool) -> SphericalSystem:
        system = self.with_parameters(entries["parameters"]) if spec.parameter_input else self
        if spec.gravity_input:
            system = replace(system, gravity=Vec3(*entries["gravity"]))
        wrenches = entries.get("external_forces", ())
        external: dict[BodyIndex, Vec3] = {}
        for k, name in enumerate(spec.force_frames):  # forces at the centre do no work; only moments count
            place, moment = self.frames[name], Vec3(*wrenches[6 * k + 3 : 6 * k + 6])
            external[place] = external[place] + moment if place in external else moment
        return replace(system, external=external)

    @property
    def parameters(self) -> list[Scalar]:
        """Ten parameters per body about the centre, the platform first, in the order of `appell.model.parameters`."""
        entries: list[Scalar] = []
        for mass, gamma, J in (self.platform, *(each for leg in self.legs for each in leg.inertias)):
            tensor = J.complement()
            entries += [mass, *gamma, tensor.xx, tensor.xy, tensor.yy, tensor.xz, tensor.yz, tensor.zz]
        return entries

    def with_parameters(self, entries: Sequence[Scalar]) -> SphericalSystem:
        """The same robot with these parameters, which may be symbols."""
        bodies = [inertia_of(entries[k : k + PER_LINK], IDENTITY) for k in range(0, len(entries), PER_LINK)]
        platform, *rest = bodies
        legs = []
        for leg in self.legs:
            own, rest = rest[: len(leg.inertias)], rest[len(leg.inertias) :]
            legs.append(replace(leg, inertias=tuple(own)))
        return replace(self, platform=platform, legs=tuple(legs))

    def raise_nonfinite_cause(self, function: str, inputs: Mapping[str, np.ndarray]) -> None:
        from appell.closed_loop.spherical.singularities import require_regular

        require_regular(self, inputs["q"], function)


def inertia_about_centre(body: Body) -> Inertia:
    """Mass properties about the centre."""
    return Inertia.at_center(body.mass, Vec3(*body.com), Sym3(*body.inertia))
