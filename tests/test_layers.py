"""Imports point down: what each package of the library may use. The picture in CONTRIBUTING.md is made from the same table."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

SOURCE = Path(__file__).resolve().parents[1] / "src"

LAYERS: tuple[tuple[str, ...], ...] = (
    ("appell.errors", "appell.version", "appell.deprecation", "appell._native"),
    ("appell.checks",),
    ("appell.arrays", "appell.plotting", "appell.progress", "appell.files", "appell.table"),
    ("appell.algebra",),
    ("appell.model",),
    ("appell.algorithms",),
    ("appell.compiler",),
    ("appell.robot", "appell.report"),
    ("appell.closed_loop",),
    ("appell.loading",),
    (
        "appell.kinematics", "appell.simulation", "appell.identification", "appell.rollouts", "appell.sweeps",
        "appell.symbolic", "appell.exporters",
    ),
    ("appell.control",),
    ("appell.view",),
    ("appell",),
    ("appell_lab",),
    ("appell.cli",),
    ("appell.__main__",),
)  # fmt: skip
"""Packages and modules, lowest first. A module imports from its own package and from lower rows; packages of one row do not
import each other. `appell` is the package's own `__init__`."""

LEVEL = {name: level for level, row in enumerate(LAYERS) for name in row}


class Import(NamedTuple):
    """An import of one of our modules by another; `typing` marks those under `if TYPE_CHECKING`."""

    user: str
    target: str
    line: int
    typing: bool


def module_names() -> dict[str, Path]:
    """All modules by name."""
    found = {}
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


MODULES = module_names()


def own_imports() -> Iterator[Import]:
    """Every import between our modules, also those inside functions and module names given as text."""
    for name, path in MODULES.items():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        typing = {
            id(node)
            for block in ast.walk(tree)
            if isinstance(block, ast.If) and "TYPE_CHECKING" in ast.unparse(block.test)
            for node in ast.walk(block)
        }
        for node in ast.walk(tree):
            for target in targets(node):
                if target.partition(".")[0] in ("appell", "appell_lab"):
                    yield Import(name, target, node.lineno, id(node) in typing)  # type: ignore[attr-defined]


def targets(node: ast.AST) -> Iterator[str]:
    """Modules that a statement imports."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module:
        for alias in node.names:
            full = f"{node.module}.{alias.name}"
            yield full if full in MODULES else node.module
    elif isinstance(node, ast.Constant) and isinstance(node.value, str) and "." in node.value and node.value in MODULES:
        yield node.value


def package_of(module: str) -> str:
    """The entry of LAYERS that a module belongs to."""
    fitting = [name for name in LEVEL if name != "appell" and (module == name or module.startswith(f"{name}."))]
    return max(fitting, key=len, default="appell")


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


@pytest.mark.skip(reason="two rings of modules are left")
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
