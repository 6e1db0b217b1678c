"""Pairs of a contact point and a surface.

Contacts are numbered surface by surface, point by point. The normal n points away from the surface; g is the gap.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from appell.errors import ArgumentError
from appell.robot.simulation_model import SimulationModel
from appell.simulation.contact.points import ContactPoints, contact_point_names
from appell.simulation.contact.surfaces import Surface
from appell.simulation.options import ContactOptions


class ContactState(NamedTuple):
    """Some contacts in one state of the robot.

    Attributes:
        index: their numbers, (c,).
        gap: g, negative behind the surface, (c,). [m]
        normal: n, (c, 3).
        velocity: of the point, (c, 3). [m/s]
        J: Jacobian of the point, (c, 3, nv).
        acceleration_bias: acceleration of the point at qdd = 0, (c, 3). [m/s²]
        curvature_acceleration: (c,); g̈ = n · (J qdd + acceleration_bias) + curvature_acceleration. [m/s²]
    """

    index: np.ndarray  # type: ignore[assignment]
    gap: np.ndarray
    normal: np.ndarray
    velocity: np.ndarray
    J: np.ndarray
    acceleration_bias: np.ndarray
    curvature_acceleration: np.ndarray

    @property
    def J_n(self) -> np.ndarray:
        """Rows n^T J: ġ = J_n qd, (c, nv)."""
        return np.einsum("ci,cij->cj", self.normal, self.J)

    @property
    def gap_rate(self) -> np.ndarray:
        """ġ, (c,). [m/s]"""
        return np.sum(self.normal * self.velocity, axis=-1)

    @property
    def gap_acceleration_bias(self) -> np.ndarray:
        """g̈ at qdd = 0, (c,). [m/s²]"""
        return np.sum(self.normal * self.acceleration_bias, axis=-1) + self.curvature_acceleration

    @property
    def slip_velocity(self) -> np.ndarray:
        """Tangential velocity, (c, 3). [m/s]"""
        return self.velocity - self.gap_rate[:, None] * self.normal

    def restricted_to(self, velocities: np.ndarray | slice) -> ContactState:
        """The same with the Jacobian columns of some generalized velocities; the others are zero."""
        return self if isinstance(velocities, slice) else self._replace(J=self.J[..., velocities])

    def select(self, which: np.ndarray) -> ContactState:
        """The contacts of a mask or of a list of positions."""
        return ContactState(*(values[which] for values in self))


@dataclass(frozen=True)
class ContactPairs:
    """All pairs of points and surfaces.

    Attributes:
        restitution: e of each surface.
    """

    points: ContactPoints
    surfaces: tuple[Surface, ...]
    restitution: tuple[float, ...]

    def __len__(self) -> int:
        return len(self.surfaces) * len(self.points.names)

    def point_name(self, contact: int) -> str:
        return self.points.names[contact % len(self.points.names)]

    def surface_index(self, contact: int) -> int:
        return contact // len(self.points.names)

    def per_contact(self, values: Sequence[float]) -> np.ndarray:
        """Values of each surface, repeated for each contact."""
        return np.repeat(np.asarray(values, dtype=float), len(self.points.names))

    def gaps(self, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """g and ġ of all contacts, (N, c) each, in the states q (N, nq), qd (N, nv)."""
        p, v = self.points.positions_and_velocities(q, qd)
        pairs = [surface.gap_and_normal(p) for surface in self.surfaces]
        gap = np.concatenate([gap for gap, _ in pairs], axis=-1)
        return gap, np.concatenate([np.sum(normal * v, axis=-1) for _, normal in pairs], axis=-1)

    def state(self, q: np.ndarray, qd: np.ndarray) -> ContactState:
        """All contacts in one state."""
        points = self.points.kinematics(q, qd)
        pairs = [surface.gap_and_normal(points.p) for surface in self.surfaces]
        copies = len(self.surfaces)
        return ContactState(
            np.arange(len(self)),
            np.concatenate([gap for gap, _ in pairs]),
            np.concatenate([normal for _, normal in pairs]),
            np.tile(points.v, (copies, 1)),
            np.tile(points.J, (copies, 1, 1)),
            np.tile(points.a, (copies, 1)),
            np.concatenate([surface.curvature_acceleration(points.p, points.v) for surface in self.surfaces]),
        )


def contact_pairs(
    model: SimulationModel, q: np.ndarray, surfaces: tuple[Surface, ...], options: ContactOptions
) -> ContactPairs:
    """The pairs for arguments of `appell.simulate`; surfaces are validated at the points of the configuration q."""
    robot = model.contact_tree
    if robot is None:
        raise ArgumentError(f"{model.name!r} has closed loops: contact is supported for trees only.")
    names = contact_point_names(robot, options.points)
    if not names:
        raise ArgumentError(f"robot {robot.name!r} has no moving points for contact. Name some as contact points.")
    default = 1.0 if options.restitution is None else options.restitution
    e = tuple(default if surface.restitution is None else surface.restitution for surface in surfaces)
    points = ContactPoints(robot, names)
    positions = points.kinematics(q, np.zeros(robot.nv)).p
    for surface in surfaces:
        surface.require_consistent(positions)
    return ContactPairs(points, surfaces, e)
