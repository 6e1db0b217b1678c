"""Elimination of the mass matrix from the tips to the base: no zero between branches is filled."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.closeness import assert_close
from helpers.joint_trees import mixed_tree

import appell
from appell.algorithms.linear import elimination_order, factorise, substitute
from appell.algorithms.registry import find

TREES = [
    appell.load("shafei_tree"),
    appell.robots.random_tree(12, seed=3, kinds=("revolute", "prismatic"), branching=0.7),
    mixed_tree(8, 4),
]


@pytest.mark.parametrize("robot", TREES, ids=[robot.name for robot in TREES])
def test_factors_are_those_of_joints_and_their_ancestors(robot):
    """One factor for each pair of velocities of a joint and its ancestors, and no other (Featherstone 2005)."""
    tree = robot.tree
    q = robot.random_configuration(np.random.default_rng(1))
    M = find("mass_matrix", "composite")[2](tree, q.tolist())
    steps = factorise(M, elimination_order(tree))
    pairs = set()
    for i, link in enumerate(tree.links):
        own = list(range(link.idx_v, link.idx_v + link.kind.nv))
        pairs |= {(a, b) for a in own for b in own if b < a}
        for j in tree.ancestors(i)[1:]:
            other = tree.links[j]
            pairs |= {(a, b) for a in own for b in range(other.idx_v, other.idx_v + other.kind.nv)}
    found = {(step.unknown, i) for step in steps for i, _ in step.factors}
    assert {tuple(sorted(pair)) for pair in found} <= {tuple(sorted(pair)) for pair in pairs}
    rng = np.random.default_rng(2)
    b = rng.normal(size=robot.nv)
    x = np.array(substitute(steps, b.tolist()))
    assert_close(np.array(M, dtype=float) @ x, b, tolerance=1e-9)


def test_the_wrong_order_fills_zeros():
    """From the base to the tips the same matrix fills up, so that the test above can fail."""
    tree = TREES[0].tree
    q = TREES[0].random_configuration(np.random.default_rng(1))
    M = find("mass_matrix", "composite")[2](tree, q.tolist())
    order = elimination_order(tree)
    right, wrong = (sum(len(step.factors) for step in factorise(M, each)) for each in (order, order[::-1]))
    assert right < wrong
