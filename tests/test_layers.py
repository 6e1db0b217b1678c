"""Imports point down: a package uses only packages of lower layers (`helpers.layers`)."""

from __future__ import annotations

from collections import defaultdict

import pytest
from helpers.layers import LEVEL, MODULES, own_imports, package_of

IMPORTS = [each for each in own_imports() if package_of(each.user) != package_of(each.target)]


def test_every_package_has_a_layer():
    unknown = {name for name in MODULES if package_of(name) == "appell" and name != "appell"}
    assert not unknown, f"list these in LAYERS: {sorted(unknown)}"


@pytest.mark.parametrize("package", sorted(LEVEL))
def test_imports_point_down(package):
    """Imports for annotations alone count as well: a reader follows them, too."""
    wrong = [
        f"{each.user}:{each.line} imports {each.target}"
        for each in IMPORTS
        if package_of(each.user) == package and LEVEL[package_of(each.target)] >= LEVEL[package]
    ]
    assert not wrong, "\n".join(wrong)


def test_modules_form_no_circle():
    """Imports inside functions count, those for annotations alone do not."""
    graph: dict[str, set[str]] = defaultdict(set)
    for each in own_imports():
        if each.user != each.target and not each.typing:
            graph[each.user].add(each.target)
    assert cycles(graph) == []


def cycles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Groups of more than one vertex that reach each other (Tarjan 1972)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(v: str) -> None:
        index[v] = low[v] = len(index)
        stack.append(v)
        for w in sorted(graph[v]) if v in graph else ():
            if w not in index:
                visit(w)
            if w in stack:
                low[v] = min(low[v], low[w])
        if low[v] == index[v]:
            group = stack[stack.index(v) :]
            del stack[stack.index(v) :]
            if len(group) > 1:
                found.append(sorted(group))

    for v in sorted(graph):
        if v not in index:
            visit(v)
    return found
