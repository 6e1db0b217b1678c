"""Figures 12 and 13 of Shafei and Shafei 2018: operations of three formulations against links and branches.

A tree of n_b branches of n_m links each, all at one point that two coordinates move, as the paper's formulas describe it; the
geometry has no zeros.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from pathlib import Path

import numpy as np

from appell.compiler.count import Counts, count_operations
from appell.loading.catalogue.random import random_chain
from appell.model.body import Body
from appell.model.joint import Joint
from appell.plotting import COLOURS, new_figure, save_figure, tidy
from appell.robot.robot import Robot
from appell_lab.reproduce.cost import Polynomial, poly
from appell_lab.reproduce.reproduction import Figure

TABLE_1: dict[str, tuple[str, Polynomial, Polynomial]] = {
    "Lagrange, 4x4 matrices (Hollerbach)": ("hollerbach", poly(340, 1296, 504), poly("463/2", "2111/2", 350)),
    "Gibbs-Appell, 3x3 matrices (Mata et al.)": ("mata2002", poly(186, 57, -162), poly(148, 145, -215)),
    "Gibbs-Appell, both (Shafei, Shafei)": ("shafei2018", poly("507/2", "1631/2", 297), poly(146, 643, 165)),
}
"""Table 1 as printed: this library's method, products and sums of one branch, polynomials in its number of links n_m."""

INERTIA_METHODS = {"hollerbach": "hollerbach", "mata2002": "gibbs_hessian", "shafei2018": "shafei2018"}
"""The inertia matrix that belongs to each of them."""

LINKS, BRANCHES_FIXED = (1, 2, 4, 6), 4
"""Figure 12: links of a branch that are counted, and the paper's number of branches."""
BRANCHES, LINKS_FIXED = (1, 2, 4, 6), 4
"""Figure 13: numbers of branches that are counted, and the paper's links of a branch."""


@lru_cache(maxsize=16)
def counted(robot: Robot, method: str) -> Counts:
    """Operations of bias and inertia matrix."""
    parts = (count_operations(robot, "bias", method), count_operations(robot, "mass_matrix", INERTIA_METHODS[method]))
    return Counts(*(sum(counts) for counts in zip(*parts, strict=True)))


def star(branches: int, links: int) -> Robot:
    """Equal branches at one point that X1 and X2 move."""
    bodies, joints = [Body("base"), Body("guide"), Body("carriage")], [
        Joint("X1", "prismatic", "base", "guide", axis=(1.0, 0.0, 0.0)),
        Joint("X2", "prismatic", "guide", "carriage", axis=(0.0, 1.0, 0.0)),
    ]  # fmt: skip
    for k in range(branches):
        chain = random_chain(links, seed=k)
        names = {"base": "carriage", **{body.name: f"b{k}_{body.name}" for body in chain.bodies[1:]}}
        bodies += [replace(body, name=names[body.name]) for body in chain.bodies[1:]]
        joints += [
            replace(joint, name=f"b{k}_{joint.name}", parent=names[joint.parent], child=names[joint.child])
            for joint in chain.joints
        ]
    return Robot(f"star{branches}x{links}", tuple(bodies), tuple(joints))


@cache
def growth(fixed: str) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Counted operations, products and sums together, of each formulation; `fixed` is "branches" or "links"."""
    found = {}
    for authors, (method, _, _) in TABLE_1.items():
        sizes = [(BRANCHES_FIXED, n) for n in LINKS] if fixed == "branches" else [(n, LINKS_FIXED) for n in BRANCHES]
        counts = [counted(star(*size), method) for size in sizes]
        found[authors] = np.array(LINKS if fixed == "branches" else BRANCHES), np.array([c.mul + c.add for c in counts])
    return found


def printed(fixed: str, n: Sequence[int]) -> dict[str, np.ndarray]:
    """Operations by the formulas of table 1."""

    def of(products: Polynomial, sums: Polynomial, x: int) -> int:
        branches, links = (BRANCHES_FIXED, x) if fixed == "branches" else (x, LINKS_FIXED)
        return int(branches * (products(links) + sums(links)))

    return {authors: np.array([of(products, sums, x) for x in n]) for authors, (_, products, sums) in TABLE_1.items()}


def figures() -> tuple[Figure, ...]:
    """Both."""
    return (
        Figure("figure12_operations_against_links", _drawing("branches"), _notes("branches")),
        Figure("figure13_operations_against_branches", _drawing("links"), _notes("links")),
    )


def _notes(fixed: str) -> tuple[str, ...]:
    """The order of the three, printed and counted, at the largest size."""
    ours = growth(fixed)
    size = int(next(iter(ours.values()))[0][-1])
    theirs = printed(fixed, [size])
    other = f"{BRANCHES_FIXED} branches" if fixed == "branches" else f"{LINKS_FIXED} links in each branch"
    what = "links in each branch" if fixed == "branches" else "branches"

    def order(values: dict[str, int]) -> str:
        return " < ".join(f"{name} ({values[name]})" for name in sorted(values, key=lambda name: values[name]))

    return (
        f"Products and sums together, {other}. At {size} {what}, printed: {order({k: int(v[0]) for k, v in theirs.items()})}; "
        f"counted: {order({k: int(v[1][-1]) for k, v in ours.items()})}.",
        "Counted: bias and inertia matrix of trees whose branches share no link, geometry without zeros.",
    )


def _drawing(fixed: str) -> Callable[[Path], None]:
    def draw(path: Path) -> None:
        figure = new_figure(8.0, 4.8)
        panel = figure.subplots()
        ours = growth(fixed)
        x = list(range(1, int(max(n[-1] for n, _ in ours.values())) + 1))
        for k, (authors, values) in enumerate(printed(fixed, x).items()):
            panel.semilogy(x, values, "--", color=COLOURS[k], linewidth=1.4, label=f"{authors}, printed")
            panel.semilogy(
                *ours[authors], "o-", color=COLOURS[k], linewidth=1.4, markersize=4, label=f"{authors}, counted"
            )
        label = "links in each of 4 branches" if fixed == "branches" else "branches of 4 links"
        panel.set(xlabel=label, ylabel="products and sums", xticks=x)
        panel.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
        tidy(panel)
        save_figure(figure, path)

    return draw
