"""Inverse dynamics of a tree by its branches, 4x4 transformations for translation and 3x3 rotations for rotation.

Source: Shafei and Shafei 2018, sections 2 and 3 and the appendix, with the corrections of docs/theory/shafei2018.md.
    (14)  S = Σ Tr{T̈_i B_1i T̈_i^T} + ½ ω̇_i · B_2i ω̇_i + ω̇_i · (ω_i x B_2i ω_i)       the last term is missing in print
    (23)  τ_j = ∂S/∂q̈_j + ∂V/∂q_j            (19)  V = -g^T Σ T_i c_i
    (41)  τ_j = 2 Tr{T̂_j-1 U_1j Q_j} + x_j,3 · χ_j - g^T T̂_j-1 U_1j p_j
The appendix splits accelerations into the part of q̈ and the rest, (27) and (28), to solve for q̈. Here q̈ is given, and
steps 3 to 5 use the complete T̈_i and ω̇_i.
"""

from __future__ import annotations

from typing import NamedTuple

from appell.algebra import ZERO, Scalar, Scalars, Twist, Vec3, Wrench
from appell.algorithms.branches import BranchInertia, BranchLink, LinkTransform, branches, transformations
from appell.algorithms.homogeneous import IDENTITY, NULL, Matrix, column, screw
from appell.algorithms.registry import algorithm
from appell.model.tree import BASE, Tree


class BranchMotion(NamedTuple):
    """T_i of (3) with its derivatives, angular velocity and acceleration in the link's frame."""

    T: Matrix
    Td: Matrix
    Tdd: Matrix
    omega: Vec3
    omegad: Vec3


AT_REST = BranchMotion(IDENTITY, NULL, NULL, ZERO, ZERO)


class BranchSums(NamedTuple):
    """p_j, Q_j and χ_j of step 4: sums over link j and the rest of its branch, in frame j."""

    p: Matrix
    Q: Matrix
    chi: Vec3


ZERO_SUMS = BranchSums(column(ZERO, 0.0), NULL, ZERO)


@algorithm("inverse_dynamics", "shafei2018")
def inverse_dynamics(tree: Tree, q: Scalars, qd: Scalars, qdd: Scalars) -> list[Scalar]:
    """Generalised forces tau that give qdd at (q, qd).  [N m, N]"""
    transforms = transformations(tree, q)  # steps 1 and 2
    motions = propagate_motion(tree, transforms, qd, qdd)  # step 3
    tau: list[Scalar] = [0.0] * tree.nv
    for branch in branches(tree):  # assembled over the branches, section 3.1.3
        sums = sum_inward(tree, branch, transforms, motions)  # step 4
        for member, own in zip(branch, sums, strict=True):
            for k, force in enumerate(joint_forces(tree, member, transforms[member.i], own, qdd)):  # step 5
                v = member.link.idx_v + k
                tau[v] = tau[v] + force * member.link.multiplier
    return tau


@algorithm("bias", "shafei2018")
def bias(tree: Tree, q: Scalars, qd: Scalars) -> list[Scalar]:
    """C qd + g: the right-hand side -R of (25) for τ = 0, with T̈_v and ω̇_v in place of T̈ and ω̇."""
    return inverse_dynamics(tree, q, qd, [0.0] * tree.nv)


def propagate_motion(tree: Tree, transforms: list[LinkTransform], qd, qdd) -> list[BranchMotion]:
    """Step 3 for every link, and the recursion for T̈ that the appendix leaves out."""
    motions: list[BranchMotion] = []
    for link, transform in zip(tree.links, transforms, strict=True):
        previous = AT_REST if link.parent == BASE else motions[link.parent]
        joint, jointd = (link.kind.twist(link.velocities(rates)) for rates in (qd, qdd))
        motions.append(step_outward(transform, previous, joint, jointd))
    return motions


def step_outward(transform: LinkTransform, previous: BranchMotion, joint: Twist, jointd: Twist) -> BranchMotion:
    """Motion of a link from that of the previous link: T_i = T_i-1 E_i-1 A_i of (3), differentiated twice.

    With s the screw of the joint's twist, Ȧ = A s is (7) and Ä = A (s² + ṡ) is (8), where U_2 q̇² = A s².
    """
    s, sd = screw(joint), screw(jointd)
    Td = previous.Td @ transform.step + transform.T @ s
    Tdd = previous.Tdd @ transform.step + (previous.Td @ transform.step @ s) * 2.0 + transform.T @ (s @ s + sd)
    carried = transform.R.T @ previous.omega
    omegad = transform.R.T @ previous.omegad + jointd.angular + carried.cross(joint.angular)  # (31) + (32)
    return BranchMotion(transform.T, Td, Tdd, carried + joint.angular, omegad)


def sum_inward(
    tree: Tree, branch: list[BranchLink], transforms: list[LinkTransform], motions: list[BranchMotion]
) -> list[BranchSums]:
    """Step 4 for a branch, tip first."""
    sums, after = [], ZERO_SUMS
    for member in reversed(branch):
        motion = motions[member.i]
        own = own_sums(member.inertia, motion)
        if member.has_mass and member.i in tree.external:
            own = subtract_external(own, motion, tree.external[member.i])
        after = BranchSums(own.p + after.p, own.Q + after.Q, own.chi + after.chi)
        sums.append(after)
        after = step_inward(transforms[member.i], after)
    return sums[::-1]


def own_sums(masses: BranchInertia, motion: BranchMotion) -> BranchSums:
    """A link's own part of p, Q and χ. The gyroscopic moment ω x B_2 ω is what (13) and t_i of step 4 lack."""
    B1, B2, c = masses
    t = B2 @ motion.omegad + motion.omega.cross(B2 @ motion.omega)
    return BranchSums(c, B1 @ motion.Tdd.T, t)


def subtract_external(own: BranchSums, motion: BranchMotion, external: Wrench) -> BranchSums:
    """The sums less an external wrench at the link's origin; the work of its force is δ(T e_4) · T f."""
    lever = column(ZERO, 1.0) @ (motion.T @ column(external.force, 0.0)).T
    return BranchSums(own.p, own.Q - lever * 0.5, own.chi - external.moment)


def step_inward(transform: LinkTransform, sums: BranchSums) -> BranchSums:
    """The sums in the frame of the previous link: p and Q through E A, χ through R."""
    return BranchSums(transform.step @ sums.p, transform.step @ sums.Q, transform.R @ sums.chi)


def joint_forces(tree: Tree, member: BranchLink, transform: LinkTransform, sums: BranchSums, qdd) -> list[Scalar]:
    """(23) for every degree of freedom of a joint, by step 5. Rotors count once, in the branch that has the link's mass."""
    g, link = column(tree.gravity, 0.0), member.link
    forces = []
    for unit, dT, acceleration in zip(link.kind.motion_subspace(), transform.dT, link.velocities(qdd), strict=True):
        force = dT.trace(sums.Q) * 2.0 + unit.angular @ sums.chi - g.T.trace(dT @ sums.p)
        forces.append(force + acceleration * link.armature if member.has_mass else force)
    return forces
