"""Runs of vectors in matrices with links side by side: every element is written, and nothing of it overwritten."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import appell
from appell.algorithms.function_spec import FunctionSpec
from appell.compiler.rolled.link_parallel import LinkParallel
from appell.compiler.rolled.programs import link_parallel
from appell.compiler.targets.llvm.link_parallel.runs import Relation, Relations


def form_of(links: int, branching: float, kinds: tuple[str, ...]) -> LinkParallel:
    robot = appell.robots.random_tree(links, seed=links, kinds=kinds, branching=branching)
    form = link_parallel(robot.system.recursion, FunctionSpec("coriolis_matrix"))
    assert form is not None
    return form


@pytest.mark.parametrize("kinds", [("revolute",), ("revolute", "prismatic")])
@pytest.mark.parametrize("branching", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("links", [1, 2, 7, 8, 9, 21])
def test_the_last_write_of_every_element_is_its_own(links, branching, kinds):
    """Whole vectors are written into rows of two matrices side by side; those of mixed kinds end with their row."""
    form, n, matrices = form_of(links, branching, kinds), links, 2
    for lanes in (2, 4, 8, 16):
        written = np.full(n * matrices * n, -1)
        for kind, b, row, rows in Relations(form, lanes).runs():
            for r, m in product(range(row, row + rows), range(matrices)):
                start = (r * matrices + m) * n
                end = (b + 1) * lanes if kind.relation is not Relation.MIXED else min(n, (b + 1) * lanes)
                own = np.arange(start + b * lanes, start + end)
                written[own] = np.where(own < start + n, own, -2)
        np.testing.assert_array_equal(written, np.arange(len(written)))


@pytest.mark.parametrize("lanes", [2, 4])
def test_kinds_name_the_relation_of_all_links(lanes):
    form = form_of(61, 0.1, ("revolute", "prismatic"))
    found, links = Relations(form, lanes), form.rolled.links
    ancestors = {links[i].v: {links[j].v for j in each} for i, each in enumerate(form.ancestors)}
    seen = set()
    for (relation, group), b, row, rows in found.runs():
        seen.add(relation)
        columns = range(b * lanes, min(found.nv, (b + 1) * lanes))
        pairs = set(product(range(row, row + rows), columns))
        beyond, before = (
            {(r, v) for r, v in pairs if r in ancestors[v]},
            {(r, v) for r, v in pairs if v in ancestors[r]},
        )
        if relation is Relation.APART:
            assert not beyond | before
            assert all(r != v for r, v in pairs)
        if relation is Relation.BEYOND:
            assert beyond == pairs
            assert {found.group_at[r] for r, _ in pairs} == {group}
        if relation is Relation.BEFORE:
            assert before == pairs
            assert {found.group_at[v] for _, v in pairs} == {group}
    assert seen == set(Relation)
