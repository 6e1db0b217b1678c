"""The layers of the library, and the imports between its modules."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

SOURCE = Path(__file__).resolve().parents[2] / "src"

LAYERS: tuple[tuple[str, ...], ...] = (
    ("appell.errors", "appell.version", "appell._native"),
    ("appell.checks", "appell.deprecation", "appell.files", "appell.former_modules", "appell.meshes"),
    ("appell.arrays", "appell.columns", "appell.names", "appell.plotting", "appell.progress", "appell.table"),
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
