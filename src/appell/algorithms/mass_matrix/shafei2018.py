"""Mass matrix of a tree by its branches, 4x4 transformations combined with 3x3 rotations.

Source: Shafei and Shafei 2018, section 3.1, and steps 6 and 7 of the appendix; corrections in docs/theory/shafei2018.md.
    (I)   I_jk = 2 Tr{T̂_j-1 U_1j ^jF~_k U_1k^T T̂_k-1^T} + x_j,3 · ^jΠ_k x_k,3
    (36)  ^jF~_k = Σ ^jT~_i B_1i ^kT~_i^T         (38)  ^jΠ_k = Σ ^jR_i B_2i ^iR_k         over i >= max(j, k)
(II) and (37)-(40), the rows of the base's translations X_1 and X_2, are the same with U_3 for U_1 and E_0 for A: here they
are joints as all others (`appell.algorithms.branches`).
"""

from __future__ import annotations

from collections.abc import Iterator

from appell.algebra import Mat3, Scalar, Scalars
from appell.algorithms.branches import BranchLink, LinkTransform, branches, transformations
from appell.algorithms.homogeneous import NULL, Matrix
from appell.algorithms.mass_matrix.composite import JointSpaceMatrix
from appell.algorithms.registry import algorithm
from appell.model.tree import Tree

Element = tuple[int, int, int, int]
"""Link j, degree of freedom of its joint, link k nearer to the base, degree of freedom of its joint."""


@algorithm("mass_matrix", "shafei2018")
def mass_matrix(tree: Tree, q: Scalars) -> list[list[Scalar]]:
    """M(q).  [kg m², kg m, kg]"""
    transforms = transformations(tree, q)  # steps 1 and 2
    sums: dict[Element, Scalar] = {}
    for branch in branches(tree):  # assembled over the branches, section 3.1.3
        for element, value in branch_inertia(branch, [transforms[member.i] for member in branch]):
            sums[element] = sums[element] + value if element in sums else value
    M = JointSpaceMatrix(tree)
    for element, value in sums.items():
        M.add(*element, value)
    return M.M


def branch_inertia(branch: list[BranchLink], transforms: list[LinkTransform]) -> Iterator[tuple[Element, Scalar]]:
    """Step 7: the elements of a branch's mass matrix, (I)."""
    F, Pi = composite_moments(branch, transforms)
    for j, last in enumerate(branch):
        for row, (unit, dT) in enumerate(zip(last.link.kind.motion_subspace(), transforms[j].dT, strict=True)):
            for k in range(j + 1):
                first = branch[k]
                degrees = list(enumerate(zip(first.link.kind.motion_subspace(), transforms[k].dT, strict=True)))
                rotation, translation = Pi[k, j] @ unit.angular, dT @ F[k, j].T
                for degree, (other, dT_k) in degrees[: row + 1] if k == j else degrees:
                    value = translation.trace(dT_k.T) * 2.0 + other.angular @ rotation
                    yield (last.i, row, first.i, degree), value


def composite_moments(
    branch: list[BranchLink], transforms: list[LinkTransform]
) -> tuple[dict[tuple[int, int], Matrix], dict[tuple[int, int], Mat3]]:
    """Step 6: ^jF~_k and ^jΠ_k for j <= k, by recursion from the tip."""
    F: dict[tuple[int, int], Matrix] = {}
    Pi: dict[tuple[int, int], Mat3] = {}
    F_after, Pi_after = NULL, Mat3(*[0.0] * 9)
    for k in reversed(range(len(branch))):
        F[k, k] = branch[k].inertia.B1 + F_after
        Pi[k, k] = branch[k].inertia.B2.full() + Pi_after
        F_after = transforms[k].step @ F[k, k] @ transforms[k].step.T
        Pi_after = transforms[k].R.conjugate_general(Pi[k, k])
        for j in reversed(range(k)):
            F[j, k] = transforms[j + 1].step @ F[j + 1, k]
            Pi[j, k] = transforms[j + 1].R.rotate_columns(Pi[j + 1, k])
    return F, Pi
