"""The inertia matrix from its elements between joints."""

from __future__ import annotations

from appell.algebra import Scalar
from appell.model.tree import Tree


class JointSpaceMatrix:
    """Collects D_jk between joints of links j and k and gives M in the independent speeds.

    Joints that mimic others add to their leader's row and column; rotor inertia is on the diagonal.
    """

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.M: list[list[Scalar]] = [[0.0] * tree.nv for _ in range(tree.nv)]

    def add(self, j: int, row: int, k: int, column: int, value: Scalar) -> None:
        """Element between degree `row` of link j's joint and degree `column` of link k's, k on the way to the base."""
        first, second = self.tree.links[j], self.tree.links[k]
        a, b = first.idx_v + row, second.idx_v + column
        if j == k and row == column:
            value = value + first.armature
        value = value * (first.multiplier * second.multiplier)
        if (j, row) != (k, column) and a == b:
            value = value + value  # two joints of one leader: the element and its mirror image
        self.M[a][b] = self.M[a][b] + value
        if a != b:
            self.M[b][a] = self.M[a][b]

    def matrix(self) -> list[list[Scalar]]:
        return self.M
