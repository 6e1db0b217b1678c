"""Velocities and accelerations of all links by vector recursions, Valera 2003 eqs (9)-(12)."""

from __future__ import annotations

from typing import NamedTuple

from appell.algebra import ZERO, Vec3
from appell.model.tree import BASE, Link, Placement, Tree


class VectorMotion(NamedTuple):
    """Angular velocity, angular acceleration and acceleration of the origin, in the link's frame."""

    omega: Vec3
    omegad: Vec3
    rdd: Vec3

    def acceleration_of(self, r: Vec3) -> Vec3:
        """Acceleration of the point r of the link, (12)."""
        return self.rdd + self.omega.cross(self.omega.cross(r)) + self.omegad.cross(r)


def propagate_motion(tree: Tree, places: list[Placement], qd, qdd) -> list[VectorMotion]:
    """Motion of every link, parents first; gravity enters as the acceleration of the base."""
    motions: list[VectorMotion] = []
    for link, place in zip(tree.links, places, strict=True):
        parent = VectorMotion(ZERO, ZERO, -tree.gravity) if link.parent == BASE else motions[link.parent]
        motions.append(step_outward(link, place, parent, qd, qdd))
    return motions


def step_outward(link: Link, place: Placement, parent: VectorMotion, qd, qdd) -> VectorMotion:
    """Motion of a link from its parent's, (9)-(11)."""
    R, s = place
    joint, jointd = link.kind.twist(link.velocities(qd)), link.kind.twist(link.velocities(qdd))
    carried = R.T @ parent.omega
    omega = carried + joint.angular  # (9), with the factor rho that is missing in print
    omegad = R.T @ parent.omegad + jointd.angular + carried.cross(joint.angular)  # (10), likewise
    relative = jointd.linear + (carried + omega).cross(joint.linear)
    return VectorMotion(omega, omegad, R.T @ parent.acceleration_of(s) + relative)  # (11)
