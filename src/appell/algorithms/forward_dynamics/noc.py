"""Forward dynamics by the natural orthogonal complement.

Source: J. Angeles, O. Ma, Dynamic simulation of n-axis serial robotic manipulators using a natural orthogonal complement,
Int. J. Robotics Research 7(5) (1988). The twists of all bodies are T qd; the mass matrix is T^T 𝓜 T with 𝓜 the block
diagonal of mass and inertia of the bodies, and the bias is T^T of the bodies' inertia forces at zero acceleration.
"""

from __future__ import annotations

from typing import NamedTuple

from appell.algebra import ZERO, Scalar, Scalars, Twist, Wrench
from appell.algorithms.inverse_dynamics.newton_euler import newton_euler
from appell.algorithms.inverse_dynamics.valera2003 import propagate_motion
from appell.algorithms.linear import elimination_order, solve
from appell.algorithms.mass_matrix.composite import JointSpaceMatrix
from appell.algorithms.mass_matrix.gibbs_hessian import Ancestor, partial_velocities
from appell.algorithms.registry import algorithm
from appell.model.tree import Link, Placement, Tree


class Column(NamedTuple):
    """One column of T for a body: the twist of its centre of mass per unit velocity of degree `degree` of link `link`'s joint."""

    link: int
    degree: int
    twist: Twist


@algorithm("forward_dynamics", "noc")
def forward_dynamics(tree: Tree, q: Scalars, qd: Scalars, tau: Scalars) -> list[Scalar]:
    """Accelerations qdd that tau gives at (q, qd).  [rad/s², m/s²]"""
    placements = tree.placements(q)
    T = orthogonal_complement(tree, placements)
    right = [force - own for force, own in zip(tau, bias(tree, placements, qd, T), strict=True)]
    return solve(inertia_matrix(tree, T), right, elimination_order(tree))


@algorithm("mass_matrix", "noc")
def mass_matrix(tree: Tree, q: Scalars) -> list[list[Scalar]]:
    """M(q) = T^T 𝓜 T.  [kg m², kg m, kg]"""
    return inertia_matrix(tree, orthogonal_complement(tree, tree.placements(q)))


def orthogonal_complement(tree: Tree, placements: list[Placement]) -> list[list[Column]]:
    """The columns of T for every body, in the body's frame, own joint first."""
    T = []
    for i, ancestors in enumerate(partial_velocities(tree, placements)):
        own = Ancestor(i, tree.links[i].kind.motion_subspace(), ZERO)
        com = tree.links[i].inertia.com
        T.append([
            Column(k, degree, Twist(unit.angular, unit.linear + unit.angular.cross(s + com)))
            for k, units, s in [own, *ancestors]
            for degree, unit in enumerate(units)
        ])  # fmt: skip
    return T


def inertia_matrix(tree: Tree, T: list[list[Column]]) -> list[list[Scalar]]:
    """T^T 𝓜 T."""
    sums: dict[tuple[int, int, int, int], Scalar] = {}
    for link, columns in zip(tree.links, T, strict=True):
        momenta = [momentum(link, column.twist) for column in columns]
        for n, first in enumerate(columns):
            for second, other in zip(columns[n:], momenta[n:], strict=True):
                key = (first.link, first.degree, second.link, second.degree)
                value = first.twist.angular @ other.angular + first.twist.linear @ other.linear
                sums[key] = sums[key] + value if key in sums else value
    D = JointSpaceMatrix(tree)
    for key, value in sums.items():
        D.add(*key, value)
    return D.M


def momentum(link: Link, twist: Twist) -> Twist:
    return Twist(link.inertia.inertia @ twist.angular, twist.linear * link.inertia.mass)


def bias(tree: Tree, placements: list[Placement], qd: Scalars, T: list[list[Column]]) -> list[Scalar]:
    """T^T of the inertia forces at zero acceleration, less the external forces."""
    motions = propagate_motion(tree, placements, qd, [0.0] * tree.nv)
    result: list[Scalar] = [0.0] * tree.nv
    for i, (link, motion, columns) in enumerate(zip(tree.links, motions, T, strict=True)):
        force, moment = newton_euler(link, motion)
        if i in tree.external:
            external = at_center(link, tree.external[i])
            force, moment = force - external.force, moment - external.moment
        for k, degree, twist in columns:
            v = tree.links[k].idx_v + degree
            own = twist.angular @ moment + twist.linear @ force
            result[v] = result[v] + own * tree.links[k].multiplier
    return result


def at_center(link: Link, wrench: Wrench) -> Wrench:
    """The wrench about the link's centre of mass instead of its origin."""
    return Wrench(wrench.force, wrench.moment - link.inertia.com.cross(wrench.force))
