"""Draw the packages of the library and their imports: `python docs/make_layers.py` writes docs/pictures/layers.svg.

An arrow leads from a package to one that it imports; arrows that follow from others are left out, and so are those to the
modules at the bottom, which every package may use. Long arrows pass between the boxes of the rows in between.
"""

from __future__ import annotations

import sys
from html import escape
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from helpers.layers import LAYERS, own_imports, package_of  # noqa: E402

PICTURE = ROOT / "docs" / "pictures" / "layers.svg"
PURPOSES = {
    "appell.cli": "commands",
    "appell_lab": "benchmarks, papers",
    "appell": "public names",
    "appell.view": "browser, pictures",
    "appell.control": "controllers, hardware",
    "appell.kinematics": "inverse, trajectories",
    "appell.simulation": "motion, contact",
    "appell.identification": "parameters from data",
    "appell.rollouts": "fixed-step batches",
    "appell.sweeps": "many states",
    "appell.symbolic": "SymPy equations",
    "appell.exporters": "C and CUDA source",
    "appell.loading": "files to robots",
    "appell.closed_loop": "robots with loops",
    "appell.robot": "robots with functions",
    "appell.report": "HTML pages",
    "appell.compiler": "graph, C, CUDA, cache",
    "appell.algorithms": "the equations",
    "appell.model": "robots as data",
    "appell.algebra": "vectors, rotations",
}
SHARED_ROWS = 3
"""The lowest rows of LAYERS: modules that every package may use."""
BOX_WIDTH, BOX_HEIGHT, GAP, LANE, ROW_HEIGHT, MARGIN = 142, 44, 18, 26, 84, 20
"""Sizes in pixels; a lane is the room of a long arrow beside a box."""
SWEEPS, PULL = 60, 0.9
"""Rounds of the placement, and how far a node moves from the middle of the picture towards its neighbours."""

Node = tuple[int, str]
"""Row from the top, and package; in rows above that of the package, a point of the arrows to it."""


def package_imports() -> dict[str, set[str]]:
    """Packages above the shared rows, with those that they import."""
    shared = {name for row in LAYERS[:SHARED_ROWS] for name in row} | {"appell.__main__"}
    imports: dict[str, set[str]] = {name: set() for row in LAYERS for name in row if name not in shared}
    for each in own_imports():
        user, target = package_of(each.user), package_of(each.target)
        if user != target and user not in shared and target not in shared:
            imports[user].add(target)
    return imports


def reduced(imports: dict[str, set[str]]) -> list[tuple[str, str]]:
    """The imports that do not follow from others (transitive reduction)."""

    def reached(package: str) -> set[str]:
        return imports[package].union(*(reached(target) for target in imports[package]))

    return [
        (user, target)
        for user, targets in imports.items()
        for target in sorted(targets)
        if not any(target in reached(other) for other in targets - {target})
    ]


def segments(arrows: list[tuple[str, str]], row: dict[str, int]) -> set[tuple[Node, Node]]:
    """Arrows cut at every row; those to the same package share their points."""
    pieces = set()
    for user, target in arrows:
        path = [(row[user], user), *((k, target) for k in range(row[user] + 1, row[target] + 1))]
        pieces.update(pairwise(path))
    return pieces


def placed(pieces: set[tuple[Node, Node]], row: dict[str, int]) -> dict[Node, float]:
    """Horizontal positions: each node near the mean of its neighbours, without overlaps in a row."""
    nodes = sorted({node for piece in pieces for node in piece} | {(k, name) for name, k in row.items()})
    neighbours: dict[Node, list[Node]] = {node: [] for node in nodes}
    for upper, lower in sorted(pieces):
        neighbours[upper].append(lower)
        neighbours[lower].append(upper)
    rows: dict[int, list[Node]] = {}
    for node in nodes:
        rows.setdefault(node[0], []).append(node)

    def half(node: Node) -> float:
        return (BOX_WIDTH + GAP) / 2 if row[node[1]] == node[0] else LANE / 2

    x = {node: float(i * BOX_WIDTH) for own in rows.values() for i, node in enumerate(own)}
    for _ in range(SWEEPS):
        for own in rows.values():
            center = sum(x.values()) / len(x)
            wanted = {
                node: center
                + PULL * sum(x[other] - center for other in neighbours[node]) / max(len(neighbours[node]), 1)
                for node in own
            }
            own.sort(key=lambda node: (wanted[node], node))
            right, spots = float("-inf"), {}
            for node in own:
                spots[node] = max(wanted[node], right + half(node))
                right = spots[node] + half(node)
            shift = sum(wanted[node] - spots[node] for node in own) / len(own)
            x.update({node: spot + shift for node, spot in spots.items()})
    left = min(x[k, name] for name, k in row.items()) - BOX_WIDTH / 2 - MARGIN
    left = min(left, min(x.values()) - MARGIN)
    return {node: round(value - left, 1) for node, value in x.items()}


def svg() -> str:
    """The picture."""
    levels = [[name for name in names if name in PURPOSES] for names in reversed(LAYERS[SHARED_ROWS:])]
    row = {name: k for k, names in enumerate(names for names in levels if names) for name in names}
    pieces = segments(reduced(package_imports()), row)
    x = placed(pieces, row)
    width = max(max(x[k, name] + BOX_WIDTH / 2 for name, k in row.items()), max(x.values())) + MARGIN
    top = {k: MARGIN + k * ROW_HEIGHT for k in range(max(row.values()) + 2)}
    parts = []
    for (k, name), (below, target) in sorted(pieces):
        x0, x1 = x[k, name], x[below, target]
        y0, middle, y1 = top[k] + BOX_HEIGHT, (top[k] + BOX_HEIGHT + top[below]) / 2, top[below]
        end = ' marker-end="url(#head)"' if row[target] == below else ""
        through = "" if end else f" V{y1 + BOX_HEIGHT:g}"
        parts.append(f'<path d="M{x0:g},{y0:g} C{x0:g},{middle:g} {x1:g},{middle:g} {x1:g},{y1:g}{through}"{end}/>')
    boxes = [
        box(x[k, name], top[k], BOX_WIDTH, name.removeprefix("appell."), PURPOSES[name]) for name, k in row.items()
    ]
    shared = ", ".join(name.removeprefix("appell.") for names in LAYERS[:SHARED_ROWS] for name in names)
    boxes.append(box(width / 2, top[max(top)], width - 2 * MARGIN, shared, "used by every package"))
    height = top[max(top)] + BOX_HEIGHT + MARGIN
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}"',
        '     font-family="system-ui, Segoe UI, Roboto, Helvetica, Arial, sans-serif" text-anchor="middle">',
        f'<rect width="{width:g}" height="{height:g}" fill="#ffffff"/>',
        '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0,0 L8,4 L0,8 z" fill="#5b6570"/></marker></defs>',
        '<g fill="none" stroke="#5b6570" stroke-width="1.2">',
        *parts,
        "</g>",
        *boxes,
        "</svg>",
        "",
    ])  # fmt: skip


def box(center: float, top: float, width: float, name: str, purpose: str) -> str:
    return (
        f'<rect x="{center - width / 2:g}" y="{top:g}" width="{width:g}" height="{BOX_HEIGHT}" rx="5" fill="#eaf2f8" '
        'stroke="#0072b2"/>\n'
        f'<text x="{center:g}" y="{top + 18:g}" font-size="14" font-weight="600" fill="#1b1f24">{escape(name)}</text>\n'
        f'<text x="{center:g}" y="{top + 35:g}" font-size="11.5" fill="#5b6570">{escape(purpose)}</text>'
    )


if __name__ == "__main__":
    PICTURE.write_text(svg(), encoding="utf-8")
