"""Damping, dry friction and springs of the joints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from appell.algebra import Scalar, Scalars
from appell.arrays import as_batch
from appell.errors import ArgumentError

if TYPE_CHECKING:
    from appell.model.description import Description


class Spring(NamedTuple):
    """A spring at a joint: its deflection is multiplier q[idx_q] + offset, its force -multiplier stiffness deflection.

    The multiplier is 1 unless it is the spring of a mimic joint, which acts on its leader.
    """

    idx_q: int
    idx_v: int
    stiffness: float  # [N m/rad, N/m]
    offset: float
    multiplier: float = 1.0

    def deflection(self, q: Scalars) -> Scalar:
        """Of the joint from where the spring is at rest. [rad, m]"""
        return q[self.idx_q] * self.multiplier + self.offset

    def force(self, q: Scalars) -> Scalar:
        """The force at `idx_v`. [N m, N]"""
        return self.deflection(q) * (-self.multiplier * self.stiffness)


class JointFriction(NamedTuple):
    """Damping [N m s, N s/m] and Coulomb friction [N m, N] per entry of qd, and springs: the passive forces of the joints.

    A mimic joint adds multiplier² damping and |multiplier| friction to its leader.
    """

    damping: tuple[float, ...]
    friction: tuple[float, ...]
    springs: tuple[Spring, ...] = ()

    def forces(self, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """Forces on the joints, -(damping qd + friction sign(qd)) and those of springs, in states (..., nq), (..., nv)."""
        return spring_forces(self.springs, q, -(np.array(self.damping) * qd + np.array(self.friction) * np.sign(qd)))


def spring_forces(springs: Sequence[Spring], q: np.ndarray, forces: np.ndarray) -> np.ndarray:
    """Forces (..., nv) with those of springs added in configurations (..., nq)."""
    if springs:
        forces = np.array(forces)
        for spring in springs:
            forces[..., spring.idx_v] += spring.force(np.moveaxis(q, -1, 0))  # type: ignore[arg-type]
    return forces


def spring_energy(springs: Sequence[Spring], q: np.ndarray) -> np.ndarray | float:
    """Energy Σ stiffness deflection² / 2 of springs in configurations (..., nq). [J]"""
    entries = np.moveaxis(np.asarray(q), -1, 0)
    return sum(0.5 * spring.stiffness * spring.deflection(entries) ** 2 for spring in springs)  # type: ignore[arg-type]


def joint_friction(robot: Description) -> JointFriction:
    """Damping, friction and springs of all joints, mapped to the entries of qd."""
    damping, friction, springs = [0.0] * robot.nv, [0.0] * robot.nv, []
    joints = {joint.name: joint for joint in robot.joints}
    for link in robot.tree.links:
        joint = joints[link.name]
        for k in range(link.idx_v, link.idx_v + link.kind.nv):
            damping[k] += link.multiplier**2 * joint.damping
            friction[k] += abs(link.multiplier) * joint.friction
        if joint.stiffness and link.kind.nq == 1:
            offset = link.mimic_offset - joint.springref
            springs.append(Spring(link.idx_q, link.idx_v, joint.stiffness, offset, link.multiplier))
    return JointFriction(tuple(damping), tuple(friction), tuple(springs))


def passive_forces(robot: Description, q: ArrayLike, qd: ArrayLike | None = None) -> np.ndarray:
    """Forces of damping, Coulomb friction and springs on the joints, (..., nv); documented at `Robot.passive_forces`."""
    found = joint_friction(robot)
    if qd is None:
        if found.springs:
            raise ArgumentError(f"{robot.name!r} has springs: passive_forces needs q and qd.")
        (velocity,), batch_shape = as_batch((("qd", robot.nv),), (q,))
        return found._replace(springs=()).forces(velocity, velocity).reshape(*batch_shape, robot.nv)
    if not found.springs and np.size(q) == 0:
        return passive_forces(robot, qd)
    (place, velocity), batch_shape = as_batch((("q", robot.nq), ("qd", robot.nv)), (q, qd))
    return found.forces(place, velocity).reshape(*batch_shape, robot.nv)
