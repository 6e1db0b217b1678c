"""Damping and dry friction of the joints."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from appell.arrays import as_batch

if TYPE_CHECKING:
    from appell.model.description import Description


class JointFriction(NamedTuple):
    """Damping [N m s, N s/m] and Coulomb friction [N m, N] per entry of qd: forces are -(damping qd + friction sign(qd)).

    A mimic joint adds multiplier² damping and |multiplier| friction to its leader.
    """

    damping: tuple[float, ...]
    friction: tuple[float, ...]

    def forces(self, qd: np.ndarray) -> np.ndarray:
        """Forces on the joints at the velocity qd (..., nv)."""
        return -(np.array(self.damping) * qd + np.array(self.friction) * np.sign(qd))


def joint_friction(robot: Description) -> JointFriction:
    """Damping and friction of all joints, mapped to the entries of qd."""
    damping, friction = [0.0] * robot.nv, [0.0] * robot.nv
    joints = {joint.name: joint for joint in robot.joints}
    for link in robot.tree.links:
        joint = joints[link.name]
        for k in range(link.idx_v, link.idx_v + link.kind.nv):
            damping[k] += link.multiplier**2 * joint.damping
            friction[k] += abs(link.multiplier) * joint.friction
    return JointFriction(tuple(damping), tuple(friction))


def passive_forces(robot: Description, qd: ArrayLike) -> np.ndarray:
    """Damping and Coulomb friction as forces on the joints, -(damping qd + friction sign(qd)). [N m, N]

    They are not part of `inverse_dynamics` and `bias`: M qdd + bias = tau + passive_forces(qd).

    Example:
        >>> import appell
        >>> appell.robots.random_chain(2, seed=1).passive_forces([1.0, 0.0])[1].item() == 0.0
        True
    """
    (velocity,), batch_shape = as_batch((("qd", robot.nv),), (qd,))
    return joint_friction(robot).forces(velocity).reshape(*batch_shape, robot.nv)
