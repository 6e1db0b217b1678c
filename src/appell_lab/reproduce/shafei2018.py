"""Tables 1 and 3 and figures 14 to 19 of Shafei and Shafei 2018."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import lru_cache

import numpy as np

from appell.compiler.count import Counts, count_operations
from appell.loading.catalogue.random import random_chain
from appell.loading.catalogue.shafei_tree import shafei_tree, start
from appell.model.body import Body
from appell.robot.robot import Robot
from appell.simulation.contact.pairs import ContactOptions
from appell.simulation.contact.surfaces import Circle
from appell.simulation.integrators import Integration
from appell.simulation.simulate import simulate
from appell.simulation.trajectory import Trajectory
from appell.table import Table
from appell_lab.reproduce.cost import Polynomial, poly
from appell_lab.reproduce.reproduction import Reproduction
from appell_lab.reproduce.shafei2018_figures import figures

SOURCE = (
    "A.M. Shafei, H.R. Shafei, Dynamic modeling of tree-type robotic systems by combining 3x3 rotation and 4x4 "
    "transformation matrices, Multibody System Dynamics (2018)"
)

WALL = Circle(radius=2.5)
"""The paper never states its wall; this one gives its table 3."""
DURATION = 1.5
BRANCHES = (4, 5, 4, 5)
"""Links of each branch of the tree, n_m."""

TABLE_1: dict[str, tuple[str, Polynomial, Polynomial]] = {
    "Lagrange, 4x4 matrices (Hollerbach)": ("hollerbach", poly(340, 1296, 504), poly("463/2", "2111/2", 350)),
    "Gibbs-Appell, 3x3 matrices (Mata et al.)": ("mata2002", poly(186, 57, -162), poly(148, 145, -215)),
    "Gibbs-Appell, both (Shafei, Shafei)": ("shafei2018", poly("507/2", "1631/2", 297), poly(146, 643, 165)),
}
"""Table 1 as printed: this library's method, products and sums of one branch, polynomials in its number of links n_m."""

INERTIA_METHODS = {"hollerbach": "hollerbach", "mata2002": "gibbs_hessian", "shafei2018": "shafei2018"}
"""The inertia matrix that belongs to each of them."""

TABLE_3 = (
    (0.3851, ("O1", "O5"), 33.12, 6.32, 5.26),
    (0.5698, ("O2", "O4"), 25.38, 8.62, 31.42),
    (1.01, ("O8", "O11"), 36.87, 8.64, 4.12),
    (1.082, ("O3",), 0.0, 12.48, 57.46),
    (1.387, ("O1", "O5"), 34.108, 30.14, 15.96),
)
"""Table 3 as printed: time [s], points, angle of attack [deg], relative velocity [m/s], impulse on each point [N s]."""


def reproduce() -> Reproduction:
    """Tables 1 and 3 with the results of this library, and the figures."""
    motion, seconds = timed_motion()
    return Reproduction(
        "shafei2018", SOURCE, (table_1(), table_3(motion, seconds)), figures=figures(shafei_tree(), motion, WALL.radius)
    )


def table_1() -> Table:
    """Operations for the equations of motion of a tree."""
    rows = []
    for authors, (method, products, sums) in TABLE_1.items():
        rows.append((authors, "printed", products, _of_tree(products), sums, _of_tree(sums)))
        for kind, robot in (("spatial", spatial_tree()), ("planar", shafei_tree())):
            count = counted(robot, method)
            rows.append(("", f"counted, {kind} tree", None, count.mul, None, count.add))
    notes = (
        "Printed: cited counts, for one branch of n_m links; the paper gives no steps that could be checked. For the tree they "
        f"are summed over its branches of {', '.join(map(str, BRANCHES))} links.",
        "Counted: bias and inertia matrix by this library's methods, each tree as a whole: a link that belongs to several "
        "branches is computed once (by the method shafei2018 once for each branch, without mass in all but one, as the paper "
        "does), and zeros of the geometry cost nothing. The spatial tree has the same branches and no zeros.",
    )
    columns = ("formulation", "from", "products of a branch", "tree", "sums of a branch", "tree")
    return Table("Table 1. Operations for the equations of motion", columns, tuple(rows), notes)


def table_3(motion: Trajectory, seconds: float) -> Table:
    """The impacts of the simulation."""
    rows = []
    for number, (impact, (t, points, angle, jump, impulse)) in enumerate(
        zip(motion.impacts, TABLE_3, strict=True), start=1
    ):
        rows.append((str(number), "printed", " ".join(points), *(f"{value:g}" for value in (t, angle, jump, impulse))))
        computed = (np.degrees(impact.incidence[0]), impact.normal_velocity_change[0], impact.impulses[0])
        rows.append(("", "computed", " ".join(impact.points), *(f"{value:.6f}" for value in (impact.time, *computed))))
    change = float(np.abs(motion.energy - motion.energy[0]).max())
    notes = (
        "The velocity is the jump along the surface normal, (1 + e) times the approach velocity; the angle lies between the "
        "velocity before the impact and the normal. The impulse acts on each of the points.",
        "X1 = X2 = -(1 + √3)/2 at the start. With the printed -1.366 m the points of a pair do not touch at the same time, and "
        "impacts one after the other do not lead to this table.",
        f"Energy: {motion.energy[0]:.6f} J, constant within {change:.1e} J (printed: 18.66 J).",
        f"Computed in {seconds:.2f} s at rtol = 1e-12 (printed: about 40 h).",
    )
    columns = ("impact", "from", "points", "t [s]", "angle [deg]", "velocity [m/s]", "impulse [N s]")
    return Table("Table 3. Impacts of the tree in its wall", columns, tuple(rows), notes)


def timed_motion() -> tuple[Trajectory, float]:
    """The paper's simulation, dense enough for its figures, and the time it took. [s]"""
    begun = time.perf_counter()
    motion = simulate(
        shafei_tree(),
        *start(),
        DURATION,
        surfaces=[WALL],
        contact=ContactOptions(restitution=1.0),
        method=Integration(rtol=1e-12, max_step=0.01),
    )
    return motion, time.perf_counter() - begun


@lru_cache(maxsize=16)
def counted(robot: Robot, method: str) -> Counts:
    """Operations of bias and inertia matrix."""
    parts = (count_operations(robot, "bias", method), count_operations(robot, "mass_matrix", INERTIA_METHODS[method]))
    return Counts(*(sum(counts) for counts in zip(*parts, strict=True)))


@lru_cache(maxsize=1)
def spatial_tree() -> Robot:
    """A tree with the branches of the paper's, and geometry and mass properties without zeros."""
    flat, general = shafei_tree(), random_chain(len(shafei_tree().joints), seed=1)
    bodies = tuple(
        Body(body.name, other.mass, other.com, other.inertia) if body.mass else body
        for body, other in zip(flat.bodies, general.bodies * 2, strict=False)
    )
    joints = tuple(
        replace(joint, origin=other.origin, axis=other.axis) if joint.kind == "continuous" else joint
        for joint, other in zip(flat.joints, general.joints, strict=True)
    )
    return replace(flat, name="spatial_tree", bodies=bodies, joints=joints, initial_state=None)


def _of_tree(branch: Polynomial) -> int:
    """A count summed over the branches."""
    return int(sum(branch(links) for links in BRANCHES))
