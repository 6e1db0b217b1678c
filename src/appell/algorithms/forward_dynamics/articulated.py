"""Forward dynamics by articulated bodies.

Source: R. Featherstone, The calculation of robot dynamics using articulated-body inertias, Int. J. Robotics Research 2(1)
(1983), written with accelerations of origins instead of spatial accelerations, in link frames. Each degree of freedom is
eliminated by itself, which serves joints of any number of degrees.

Symbols are those of Featherstone's Rigid Body Dynamics Algorithms: S a unit twist of a joint, U = I^A S, D = S · U, u the
joint force less S · p^A, p^A the bias force, I^a the apparent inertia, c the velocity-product acceleration.

Mimic joints are released and coupled again by constraint forces, one more solution per such joint. Released they
accelerate about a thousand times more than coupled, and as many digits are lost; one step of iterative refinement with the
residual of inverse dynamics restores them.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

from appell.algebra import ZERO, Mat3, Rotation, Scalar, Scalars, Sym3, Twist, Vec3, Wrench, is_zero, skew
from appell.algorithms.inverse_dynamics.mata2002 import inverse_dynamics, step_inward
from appell.algorithms.linear import reciprocal, solve
from appell.algorithms.registry import algorithm
from appell.model.tree import BASE, Link, Placement, Tree


class ArticulatedInertia(NamedTuple):
    """Articulated-body inertia I^A: the wrench f = A a + B α, n = B^T a + C α for the acceleration (a, α) of the link."""

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

    def without(self, unit: Twist, U: Wrench, D_inv: Scalar, rigid: bool) -> ArticulatedInertia:
        """I^a = I^A - U U^T / D. Without armature the rows along S are zero, and are set to zero exactly."""
        f, n = U.force * D_inv, U.moment * D_inv
        apparent = ArticulatedInertia(
            self.A - f.outer(U.force).upper(),
            self.B - f.outer(U.moment),
            self.C - n.outer(U.moment).upper(),
        )
        return apparent.masked(_mask(unit.linear), _mask(unit.angular)) if rigid else apparent

    def masked(self, linear: Vec3, angular: Vec3) -> ArticulatedInertia:
        """Rows and columns multiplied by masks of 0 and 1."""
        A, B, C = self
        x, y, z = linear
        u, v, w = angular
        return ArticulatedInertia(
            Sym3(A.xx * x, A.xy * (x * y), A.xz * (x * z), A.yy * y, A.yz * (y * z), A.zz * z),
            Mat3(*(entry * (row * column) for (row, column), entry in zip(product(linear, angular), B, strict=True))),
            Sym3(C.xx * u, C.xy * (u * v), C.xz * (u * w), C.yy * v, C.yz * (v * w), C.zz * w),
        )

    def transformed(self, R: Rotation, s: Vec3) -> ArticulatedInertia:
        """The same in the parent's frame, at its origin: a_child = a - s~ α, n = n_child + s x f."""
        A, B, C, S = R.conjugate(self.A), R.conjugate_general(self.B), R.conjugate(self.C), skew(s)
        B_parent = B - A.full().dot(S)
        return ArticulatedInertia(A, B_parent, C + (S.dot(B_parent) - B.T.dot(S)).upper())


class EliminatedDof(NamedTuple):
    """One eliminated degree of freedom: its unit twist S, U = I^A S, and 1 / D with D = S · U + armature."""

    unit: Twist
    U: Wrench
    D_inv: Scalar


@dataclass(frozen=True)
class ArticulatedFactors:
    """The part that depends on q alone: per link, its eliminated degrees of freedom and its apparent inertia I^a."""

    tree: Tree
    placements: list[Placement]
    eliminated: list[list[EliminatedDof]]
    apparent_inertias: list[ArticulatedInertia]

    def solve(
        self, forces: list[list[Scalar]], bias_forces: list[Wrench], velocity_products: list[Twist], base: Twist
    ) -> list[list[Scalar]]:
        """Joint accelerations from joint forces, bias forces p^A, velocity products c and the base's acceleration."""
        links = self.tree.links
        p, u, qdd = list(bias_forces), list(forces), list(forces)
        for i in reversed(range(len(links))):
            u[i], bias_force = eliminate_forces(self.eliminated[i], forces[i], p[i])
            if links[i].parent != BASE:
                place, apparent = self.placements[i], self.apparent_inertias[i]
                passed = propagate_bias_force(place, apparent, bias_force, velocity_products[i])
                p[links[i].parent] = p[links[i].parent].plus(passed)
        accelerations: list[Twist] = []
        for i, link in enumerate(links):
            parent = base if link.parent == BASE else accelerations[link.parent]
            qdd[i], own = accelerate(self.eliminated[i], u[i], self.placements[i], parent, velocity_products[i])
            accelerations.append(own)
        return qdd

    def response(self, forces: list[list[Scalar]]) -> list[list[Scalar]]:
        """Joint accelerations of joint forces alone, at rest and without gravity."""
        n = len(self.tree.links)
        return self.solve(forces, [Wrench(ZERO, ZERO)] * n, [Twist(ZERO, ZERO)] * n, Twist(ZERO, ZERO))


@algorithm("forward_dynamics", "articulated", lumpable=True)
def forward_dynamics(tree: Tree, q: Scalars, qd: Scalars, tau: Scalars) -> list[Scalar]:
    """Accelerations qdd that tau gives at (q, qd).  [rad/s², m/s²]"""
    placements = tree.placements(q)
    factors = factorise(tree, placements)
    released = factors.solve(joint_forces(tree, tau), *velocity_terms(tree, placements, qd), Twist(ZERO, -tree.gravity))
    if all(link.is_independent for link in tree.links):
        return independent_accelerations(tree, released)
    constraints = MimicConstraints.of(factors)
    qdd = independent_accelerations(tree, constraints.enforce(released))
    residual = [force - own for force, own in zip(tau, inverse_dynamics(tree, q, qd, qdd), strict=True)]
    correction = constraints.enforce(factors.response(joint_forces(tree, residual)))
    return [a + b for a, b in zip(qdd, independent_accelerations(tree, correction), strict=True)]


def joint_forces(tree: Tree, tau: Scalars) -> list[list[Scalar]]:
    """Per link, the forces on its joint: tau on independent joints, zero on mimic joints."""
    return [[tau[link.idx_v + k] if link.is_independent else 0.0 for k in range(link.kind.nv)] for link in tree.links]


def independent_accelerations(tree: Tree, accelerations: list[list[Scalar]]) -> list[Scalar]:
    """q̈ out of the accelerations of all joints."""
    qdd: list[Scalar] = [0.0] * tree.nv
    for link, own in zip(tree.links, accelerations, strict=True):
        if link.is_independent:
            qdd[link.idx_v : link.idx_v + link.kind.nv] = own
    return qdd


def factorise(tree: Tree, placements: list[Placement]) -> ArticulatedFactors:
    """Articulated-body inertias, tips first."""
    inertias = [ArticulatedInertia.of(link) for link in tree.links]
    eliminated: list[list[EliminatedDof]] = [[] for _ in tree.links]
    for i in reversed(range(len(tree.links))):
        eliminated[i], inertias[i] = eliminate(tree.links[i], inertias[i])
        parent = tree.links[i].parent
        if parent != BASE:
            inertias[parent] = inertias[parent].plus(inertias[i].transformed(*placements[i]))
    return ArticulatedFactors(tree, placements, eliminated, inertias)


def eliminate(link: Link, inertia: ArticulatedInertia) -> tuple[list[EliminatedDof], ArticulatedInertia]:
    """Eliminate the joint's degrees of freedom one by one; returns them with the apparent inertia I^a."""
    released = "" if link.is_independent else " (released from its leader; method 'gibbs' keeps it coupled)"
    where = f"joint {link.name!r}{released}"
    eliminated = []
    for unit in link.kind.motion_subspace():
        U = inertia @ unit
        D_inv = reciprocal(unit.angular @ U.moment + unit.linear @ U.force + link.armature, where)
        eliminated.append(EliminatedDof(unit, U, D_inv))
        inertia = inertia.without(unit, U, D_inv, rigid=is_zero(link.armature))
    return eliminated, inertia


def eliminate_forces(
    eliminated: list[EliminatedDof], forces: list[Scalar], bias_force: Wrench
) -> tuple[list[Scalar], Wrench]:
    """u = τ - S · p^A per degree of freedom, and the bias force p^A + U u / D that acts through the joint."""
    remaining = []
    for (unit, U, D_inv), force in zip(eliminated, forces, strict=True):
        u = force - (unit.angular @ bias_force.moment + unit.linear @ bias_force.force)
        bias_force = bias_force.plus(U.times(u * D_inv))
        remaining.append(u)
    return remaining, bias_force


def propagate_bias_force(
    placement: Placement, apparent: ArticulatedInertia, bias_force: Wrench, velocity_product: Twist
) -> Wrench:
    """The bias force on the parent, p^A + I^a c in its frame."""
    return step_inward(placement, bias_force.plus(apparent @ velocity_product))


def accelerate(
    eliminated: list[EliminatedDof], forces: list[Scalar], placement: Placement, parent: Twist, velocity_product: Twist
) -> tuple[list[Scalar], Twist]:
    """Accelerations of the joint, q̈ = (u - U · a) / D, and of the link, from the parent's."""
    R, s = placement
    linear = R.T @ (parent.linear + parent.angular.cross(s)) + velocity_product.linear
    own = Twist(R.T @ parent.angular + velocity_product.angular, linear)
    accelerations = []
    for (unit, U, D_inv), u in zip(reversed(eliminated), reversed(forces), strict=True):
        qdd = (u - (U.force @ own.linear + U.moment @ own.angular)) * D_inv
        own = Twist(own.angular + unit.angular * qdd, own.linear + unit.linear * qdd)
        accelerations.insert(0, qdd)
    return accelerations, own


def velocity_terms(tree: Tree, placements: list[Placement], qd) -> tuple[list[Wrench], list[Twist]]:
    """Per link, its bias force (gyroscopic wrench less external forces) and its velocity product."""
    omegas: list[Vec3] = []
    bias_forces, velocity_products = [], []
    for i, link in enumerate(tree.links):
        parent = ZERO if link.parent == BASE else omegas[link.parent]
        omega, velocity_product = step_velocity(link, placements[i], parent, qd)
        bias_force = gyroscopic_wrench(link, omega)
        bias_forces.append(bias_force.minus(tree.external[i]) if i in tree.external else bias_force)
        velocity_products.append(velocity_product)
        omegas.append(omega)
    return bias_forces, velocity_products


def step_velocity(link: Link, placement: Placement, parent: Vec3, qd) -> tuple[Vec3, Twist]:
    """Angular velocity of the link and its velocity product c: its acceleration relative to the parent at q̈ = 0."""
    R, s = placement
    joint = link.kind.twist(link.velocities(qd))
    carried = R.T @ parent
    omega = carried + joint.angular
    centripetal = R.T @ parent.cross(parent.cross(s))
    return omega, Twist(carried.cross(joint.angular), centripetal + (carried + omega).cross(joint.linear))


def gyroscopic_wrench(link: Link, omega: Vec3) -> Wrench:
    """Inertia wrench of a body that rotates with constant ω about its origin: ω x (ω x γ), ω x H ω."""
    return Wrench(omega.cross(omega.cross(link.inertia.gamma)), omega.cross(link.inertia.at_origin @ omega))


class MimicConstraint(NamedTuple):
    """A mimic joint, its leader, and their ratio:  a_k · q̈ = q̈_k - multiplier q̈_leader = 0."""

    follower: int
    leader: int
    multiplier: Scalar

    def residual(self, accelerations: list[list[Scalar]]) -> Scalar:
        """a_k · q̈."""
        return accelerations[self.follower][0] - accelerations[self.leader][0] * self.multiplier


@dataclass(frozen=True)
class MimicConstraints:
    """All mimic constraints of a robot and the accelerations of a unit of each constraint force.

    The forces λ solve S λ = -a · q̈_released, where S_kl is a_k applied to the accelerations of a unit force l.
    """

    constraints: list[MimicConstraint]
    responses: list[list[list[Scalar]]]

    @classmethod
    def of(cls, factors: ArticulatedFactors) -> MimicConstraints:
        links = factors.tree.links
        leader = {link.idx_v: i for i, link in enumerate(links) if link.is_independent}
        followers = [(i, link) for i, link in enumerate(links) if not link.is_independent]
        constraints = [MimicConstraint(i, leader[link.idx_v], link.multiplier) for i, link in followers]
        responses = []
        for constraint in constraints:
            forces: list[list[Scalar]] = [[0.0] * link.kind.nv for link in links]
            forces[constraint.follower][0] = 1.0
            forces[constraint.leader][0] = -constraint.multiplier
            responses.append(factors.response(forces))
        return cls(constraints, responses)

    def enforce(self, released: list[list[Scalar]]) -> list[list[Scalar]]:
        """The accelerations that satisfy the constraints."""
        S = [[constraint.residual(response) for response in self.responses] for constraint in self.constraints]
        forces = solve(S, [-constraint.residual(released) for constraint in self.constraints], range(len(S)))
        accelerations = [list(own) for own in released]
        for response, force in zip(self.responses, forces, strict=True):
            for own, change in zip(accelerations, response, strict=True):
                own[:] = [a + b * force for a, b in zip(own, change, strict=True)]
        return accelerations


def _mask(direction: Vec3) -> Vec3:
    """0 for a coordinate axis along the eliminated direction, 1 for the others."""
    return Vec3(*(0.0 if entry == 1.0 else 1.0 for entry in direction))
