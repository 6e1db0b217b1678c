"""Forward dynamics by articulated bodies.

Source: R. Featherstone, The calculation of robot dynamics using articulated-body inertias, Int. J. Robotics Research 2(1)
(1983), written with accelerations of origins instead of spatial accelerations, in link frames. Each degree of freedom is
eliminated by itself, which serves joints of any number of degrees.

Joints that mimic others are cut free and held by constraint forces, one more solution per such joint. Cut free they
accelerate a thousand times more than held, and as many digits are lost; one step of iterative refinement, with the forces
that inverse dynamics finds missing, brings them back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

from appell.algebra import ZERO, Mat3, Rotation, Scalar, Sym3, Twist, Vec3, Wrench, is_zero, skew
from appell.algorithms.forward_dynamics.mimic_constraints import MimicConstraints
from appell.algorithms.inverse_dynamics.mata2002 import inverse_dynamics, step_inward
from appell.algorithms.linear import reciprocal
from appell.algorithms.registry import algorithm
from appell.model.tree import BASE, Link, Placement, Tree


class ArticulatedInertia(NamedTuple):
    """Wrench of an articulated body from the acceleration of its handle: f = A a + B α, n = B^T a + C α."""

    A: Sym3
    B: Mat3
    C: Sym3

    @classmethod
    def of(cls, link: Link) -> ArticulatedInertia:
        """A rigid body: f = m a + α x γ, n = γ x a + H α."""
        m, gamma, _ = link.inertia
        return cls(Sym3(m, 0.0, 0.0, m, 0.0, m), skew(-gamma), link.inertia.at_origin)

    def __matmul__(self, t: Twist) -> Wrench:
        return Wrench(self.A @ t.linear + self.B @ t.angular, self.B.T @ t.linear + self.C @ t.angular)

    def plus(self, other: ArticulatedInertia) -> ArticulatedInertia:
        return ArticulatedInertia(self.A + other.A, self.B + other.B, self.C + other.C)

    def without(self, unit: Twist, U: Wrench, inverse: Scalar, rigid: bool) -> ArticulatedInertia:
        """I - U U^T / d. Without armature the rows along the freed direction are zero, and are made so exactly."""
        f, n = U.force * inverse, U.moment * inverse
        left = ArticulatedInertia(
            self.A - f.outer(U.force).upper(),
            self.B - f.outer(U.moment),
            self.C - n.outer(U.moment).upper(),
        )
        return left.masked(_kept(unit.linear), _kept(unit.angular)) if rigid else left

    def masked(self, linear: Vec3, angular: Vec3) -> ArticulatedInertia:
        """Rows and columns multiplied by 0 or 1."""
        A, B, C = self
        x, y, z = linear
        u, v, w = angular
        return ArticulatedInertia(
            Sym3(A.xx * x, A.xy * (x * y), A.xz * (x * z), A.yy * y, A.yz * (y * z), A.zz * z),
            Mat3(*(entry * (row * column) for (row, column), entry in zip(product(linear, angular), B, strict=True))),
            Sym3(C.xx * u, C.xy * (u * v), C.xz * (u * w), C.yy * v, C.yz * (v * w), C.zz * w),
        )

    def transformed(self, R: Rotation, s: Vec3) -> ArticulatedInertia:
        """The same seen from the parent's frame and origin: a_child = a - s~ α, n = n_child + s x f."""
        A, B, C, S = R.conjugate(self.A), R.conjugate_general(self.B), R.conjugate(self.C), skew(s)
        moved = B - A.full().dot(S)
        return ArticulatedInertia(A, moved, C + (S.dot(moved) - B.T.dot(S)).upper())


class EliminatedDof(NamedTuple):
    """One eliminated degree of freedom: its unit twist, U = I S, and 1 / (S · U)."""

    unit: Twist
    U: Wrench
    D_inv: Scalar


@dataclass(frozen=True)
class ArticulatedFactors:
    """What depends on q alone: per link, its eliminated degrees of freedom and the inertia that is left."""

    tree: Tree
    placements: list[Placement]
    eliminated: list[list[EliminatedDof]]
    apparent_inertias: list[ArticulatedInertia]

    def solve(self, forces: list[list[Scalar]], biases: list[Wrench], drifts: list[Twist], base: Twist):
        """Joint accelerations from joint forces, bias wrenches of the bodies, drifts of the joints and the base's motion."""
        links = self.tree.links
        pushes, residues = list(biases), [list(force) for force in forces]
        for i in reversed(range(len(links))):
            residues[i], push = release(self.eliminated[i], residues[i], pushes[i])
            if links[i].parent != BASE:
                handed = propagate_bias_force(self.placements[i], self.apparent_inertias[i], push, drifts[i])
                pushes[links[i].parent] = pushes[links[i].parent].plus(handed)
        accelerations: list[Twist] = []
        for i, link in enumerate(links):
            parent = base if link.parent == BASE else accelerations[link.parent]
            residues[i], own = accelerate(self.eliminated[i], residues[i], self.placements[i], parent, drifts[i])
            accelerations.append(own)
        return residues

    def response(self, forces: list[list[Scalar]]):
        """Joint accelerations that joint forces alone give, from rest and without gravity."""
        n = len(self.tree.links)
        return self.solve(forces, [Wrench(ZERO, ZERO)] * n, [Twist(ZERO, ZERO)] * n, Twist(ZERO, ZERO))


@algorithm("forward_dynamics", "articulated", lumpable=True)
def forward_dynamics(tree: Tree, q: Sequence[Scalar], qd: Sequence[Scalar], tau: Sequence[Scalar]) -> list[Scalar]:
    """Accelerations qdd that tau gives at (q, qd).  [rad/s², m/s²]"""
    places = tree.placements(q)
    factors = factorise(tree, places)
    biases, drifts = velocity_terms(tree, places, qd)
    free = factors.solve(on_joints(tree, tau), biases, drifts, Twist(ZERO, -tree.gravity))
    if all(link.is_independent for link in tree.links):
        return of_leaders(tree, free)
    couplings = MimicConstraints.of(factors)
    qdd = of_leaders(tree, couplings.enforce(free))
    missing = [force - found for force, found in zip(tau, inverse_dynamics(tree, q, qd, qdd), strict=True)]
    change = of_leaders(tree, couplings.enforce(factors.response(on_joints(tree, missing))))
    return [a + b for a, b in zip(qdd, change, strict=True)]


def on_joints(tree: Tree, tau: Sequence[Scalar]) -> list[list[Scalar]]:
    """Per link, the forces on its joint: all on the leaders, none on followers."""
    return [[tau[link.idx_v + k] if link.is_independent else 0.0 for k in range(link.kind.nv)] for link in tree.links]


def of_leaders(tree: Tree, accelerations: list[list[Scalar]]) -> list[Scalar]:
    """q̈ from the accelerations of all joints."""
    qdd: list[Scalar] = [0.0] * tree.nv
    for link, own in zip(tree.links, accelerations, strict=True):
        if link.is_independent:
            qdd[link.idx_v : link.idx_v + link.kind.nv] = own
    return qdd


def factorise(tree: Tree, places: list[Placement]) -> ArticulatedFactors:
    """Articulated-body inertias, tips first."""
    inertias = [ArticulatedInertia.of(link) for link in tree.links]
    freed: list[list[EliminatedDof]] = [[] for _ in tree.links]
    for i in reversed(range(len(tree.links))):
        freed[i], inertias[i] = eliminate(tree.links[i], inertias[i])
        parent = tree.links[i].parent
        if parent != BASE:
            inertias[parent] = inertias[parent].plus(inertias[i].transformed(*places[i]))
    return ArticulatedFactors(tree, places, freed, inertias)


def eliminate(link: Link, inertia: ArticulatedInertia) -> tuple[list[EliminatedDof], ArticulatedInertia]:
    """Free the link's joint, degree by degree; the inertia that is left is felt through the freed joint."""
    where = f"joint {link.name!r}" + (
        "" if link.is_independent else " (freed from its leader; method 'gibbs' leaves it coupled)"
    )
    freed = []
    for unit in link.kind.motion_subspace():
        U = inertia @ unit
        inverse = reciprocal(unit.angular @ U.moment + unit.linear @ U.force + link.armature, where)
        freed.append(EliminatedDof(unit, U, inverse))
        inertia = inertia.without(unit, U, inverse, rigid=is_zero(link.armature))
    return freed, inertia


def release(freed: list[EliminatedDof], forces: list[Scalar], push: Wrench) -> tuple[list[Scalar], Wrench]:
    """What the joint's forces have left to accelerate with, and the push that goes on through the joint."""
    residues = []
    for (unit, U, inverse), force in zip(freed, forces, strict=True):
        u = force - (unit.angular @ push.moment + unit.linear @ push.force)
        push = push.plus(U.times(u * inverse))
        residues.append(u)
    return residues, push


def propagate_bias_force(place: Placement, left: ArticulatedInertia, push: Wrench, drift: Twist) -> Wrench:
    """The push on the parent: the link's own and what it takes to follow the drift of its joint."""
    return step_inward(place, push.plus(left @ drift))


def accelerate(
    freed: list[EliminatedDof], residues: list[Scalar], place: Placement, parent: Twist, drift: Twist
) -> tuple[list[Scalar], Twist]:
    """Accelerations of the joint and of the link from the parent's."""
    R, s = place
    linear = R.T @ (parent.linear + parent.angular.cross(s)) + drift.linear
    own = Twist(R.T @ parent.angular + drift.angular, linear)
    accelerations = []
    for (unit, U, inverse), u in zip(reversed(freed), reversed(residues), strict=True):
        qdd = (u - (U.force @ own.linear + U.moment @ own.angular)) * inverse
        own = Twist(own.angular + unit.angular * qdd, own.linear + unit.linear * qdd)
        accelerations.insert(0, qdd)
    return accelerations, own


def velocity_terms(tree: Tree, places: list[Placement], qd) -> tuple[list[Wrench], list[Twist]]:
    """Per link, the wrench of its own rotation (less external forces) and the drift of its joint."""
    omegas: list[Vec3] = []
    biases, drifts = [], []
    for i, link in enumerate(tree.links):
        before = ZERO if link.parent == BASE else omegas[link.parent]
        omega, drift = step_velocity(link, places[i], before, qd)
        bias = gyroscopic_wrench(link, omega)
        biases.append(bias.minus(tree.external[i]) if i in tree.external else bias)
        drifts.append(drift)
        omegas.append(omega)
    return biases, drifts


def step_velocity(link: Link, place: Placement, before: Vec3, qd) -> tuple[Vec3, Twist]:
    """Angular velocity of the link and its drift: the acceleration that speeds alone give it over its parent."""
    R, s = place
    joint = link.kind.twist(link.velocities(qd))
    carried = R.T @ before
    omega = carried + joint.angular
    centripetal = R.T @ before.cross(before.cross(s))
    return omega, Twist(carried.cross(joint.angular), centripetal + (carried + omega).cross(joint.linear))


def gyroscopic_wrench(link: Link, omega: Vec3) -> Wrench:
    """Wrench that keeps a body turning about its origin: ω x (ω x γ), ω x H ω."""
    return Wrench(omega.cross(omega.cross(link.inertia.gamma)), omega.cross(link.inertia.at_origin @ omega))


def _kept(direction: Vec3) -> Vec3:
    """0 for a coordinate axis that is itself the freed direction, 1 for the others."""
    return Vec3(*(0.0 if entry == 1.0 else 1.0 for entry in direction))
