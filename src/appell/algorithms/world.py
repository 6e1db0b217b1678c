"""Where the links are and how they move, in the world frame."""

from __future__ import annotations

from typing import NamedTuple

from appell.algebra import ZERO, Mat3, Vec3
from appell.model.joints import Twist
from appell.model.tree import BASE, Tree


class WorldMotion(NamedTuple):
    """Rotation link to world, position of the link's origin, angular velocity and velocity of the origin."""

    R: Mat3
    p: Vec3
    omega: Vec3
    v: Vec3

    def units(self, subspace: tuple[Twist, ...]) -> tuple[Twist, ...]:
        """Unit twists of the link's joint along the world's axes."""
        return tuple(Twist(self.R @ unit.angular, self.R @ unit.linear) for unit in subspace)


def world_motion(tree: Tree, q, qd=None) -> list[WorldMotion]:
    """Motion of every link; at rest where qd is not given."""
    qd = [0.0] * tree.nv if qd is None else qd
    motions: list[WorldMotion] = []
    for link in tree.links:
        R, s = link.placement(q)
        before = WorldMotion(tree.base, ZERO, ZERO, ZERO) if link.parent == BASE else motions[link.parent]
        arm = before.R @ s
        rotation = R.T.rotate_columns(before.R.T).T
        joint = link.kind.twist(link.velocities(qd))
        motions.append(
            WorldMotion(
                rotation,
                before.p + arm,
                before.omega + rotation @ joint.angular,
                before.v + before.omega.cross(arm) + rotation @ joint.linear,
            )
        )
    return motions
