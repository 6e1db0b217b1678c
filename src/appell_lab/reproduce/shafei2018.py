"""Tables 1 to 3 and figures 12 to 19 of Shafei and Shafei 2018."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import lru_cache

import numpy as np

from appell.loading.catalogue.random import random_chain
from appell.loading.catalogue.shafei_tree import shafei_tree, start
from appell.model.body import Body
from appell.model.point import Point
from appell.robot.robot import Robot
from appell.simulation.contact.pairs import ContactOptions, ContactPoints
from appell.simulation.contact.surfaces import Circle
from appell.simulation.integrators import Integration
from appell.simulation.simulate import simulate
from appell.simulation.trajectory import Trajectory
from appell.table import Table
from appell_lab.reproduce import shafei2018_growth
from appell_lab.reproduce.cost import Polynomial
from appell_lab.reproduce.reproduction import Item, Reproduction
from appell_lab.reproduce.shafei2018_figures import figures
from appell_lab.reproduce.shafei2018_growth import TABLE_1, counted

SOURCE = (
    "A.M. Shafei, H.R. Shafei, Dynamic modeling of tree-type robotic systems by combining 3x3 rotation and 4x4 "
    "transformation matrices, Multibody System Dynamics (2018)"
)

WALL = Circle(radius=2.5)
"""The paper never states its wall; this one is inferred, because it gives its table 3."""
DURATION = 1.5
RESTITUTION = 1.0
BRANCHES = (4, 5, 4, 5)
"""Links of each branch of the tree, n_m."""

TABLE_3 = (
    (0.3851, ("O1", "O5"), 33.12, 6.32, 5.26),
    (0.5698, ("O2", "O4"), 25.38, 8.62, 31.42),
    (1.01, ("O8", "O11"), 36.87, 8.64, 4.12),
    (1.082, ("O3",), 0.0, 12.48, 57.46),
    (1.387, ("O1", "O5"), 34.108, 30.14, 15.96),
)
"""Table 3 as printed: time [s], points, angle of attack [deg], relative velocity [m/s], impulse on each point [N s]."""


PRINTED_START = -1.366
"""X1 and X2 at the start, as printed. [m]"""
ENERGY = 18.66
"""As printed. [J]"""
DRAWING = "a drawing, no data"
WALL_REMARK = "the wall is not stated in the paper: inferred from table 3"
ITEMS = (
    Item("Table 1", "operations of three formulations", "Table 1", "the paper gives no steps that could be counted again"),
    Item("Table 2", "parameters of the simulation", "Table 2", "the direction of gravity is not given"),
    Item("Table 3", "impacts", "Table 3", WALL_REMARK),
    Item("Figure 1", "the tree in its wall", remark=DRAWING),
    Item("Figures 2, 3", "places in the matrices of one branch", remark="diagrams; tested with (I), (II), (41), (42)"),
    Item("Figure 4", "the tree of the example", remark=f"{DRAWING}: the built-in robot shafei_tree"),
    Item("Figures 5 to 8", "matrices of the branches and of the tree", remark="diagrams; tested with the sum over branches"),
    Item("Figure 9", "the Jacobian of all points", remark="a diagram; tested with equation (43)"),
    Item("Figure 10", "the tree at an impact", remark=DRAWING),
    Item("Figure 11", "the matrix of the impact phase", remark="a diagram; tested with equation (47)"),
    Item("Figure 12", "operations against links", "figure12_operations_against_links"),
    Item("Figure 13", "operations against branches", "figure13_operations_against_branches"),
    Item("Figure 14", "positions along X1", "figure14_positions_X1", WALL_REMARK),
    Item("Figure 15", "velocities along X1", "figure15_velocities_X1", WALL_REMARK),
    Item("Figure 16", "positions along X2", "figure16_positions_X2", WALL_REMARK),
    Item("Figure 17", "velocities along X2", "figure17_velocities_X2", WALL_REMARK),
    Item("Figure 18", "configurations", "figure18_configurations", WALL_REMARK),
    Item("Figure 19", "energy", "figure19_energy"),
)  # fmt: skip


def reproduce() -> Reproduction:
    """Tables 1 to 3 with the results of this library, and the figures."""
    motion, seconds = timed_motion()
    tables = (table_1(), table_2(), table_3(motion, seconds))
    drawn = (*shafei2018_growth.figures(), *figures(shafei_tree(), motion, WALL.radius))
    return Reproduction("shafei2018", SOURCE, tables, figures=drawn, items=ITEMS)


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


def table_2() -> Table:
    """Parameters as printed and as the built-in robot has them."""
    robot = shafei_tree()
    links = [body for body in robot.bodies if body.mass]
    (mass,), (entries,) = {body.mass for body in links}, {body.inertia for body in links}
    p, _ = ContactPoints(robot, (Point("O1"), Point("O2"))).positions_and_velocities(*(np.array([x]) for x in start()))
    length = float(np.linalg.norm(p[0, 1] - p[0, 0]))
    rod = mass * length**2 / 12
    own = (entries[0], entries[3] - rod, entries[5] - rod)
    rows = (
        ("length of a link [m]", 1.0, length),
        ("mass per length [kg/m]", 1.0, mass / length),
        *((f"moment of inertia per length, {axis} [kg m]", printed, value / length)
          for axis, printed, value in zip(("x", "y", "z"), (5.89e-5, 2.94e-5, 2.94e-5), own, strict=True)),
        ("gravity [m/s²]", 9.81, float(np.linalg.norm(robot.gravity_vector))),
        ("torques of the joints [N m]", 0.0, 0.0),
        ("coefficient of restitution", 1.0, RESTITUTION),
    )  # fmt: skip
    notes = (
        f"The moments per length are those of the cross-sections; about its centre a link has {entries[5]:.6f} kg m² with that "
        f"of the thin rod, {rod:.6f} kg m². Gravity acts along -X2, which gives the printed energy of {ENERGY:g} J.",
    )
    return Table("Table 2. Parameters", ("parameter", "printed", "here"), rows, notes)


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
        _wall_note(),
        _start_note(),
        f"Energy: {motion.energy[0]:.6f} J, constant within {change:.1e} J (printed: {ENERGY:g} J).",
        f"Computed in {seconds:.2f} s at rtol = 1e-12 (printed: about 40 h).",
    )
    columns = ("impact", "from", "points", "t [s]", "angle [deg]", "velocity [m/s]", "impulse [N s]")
    return Table("Table 3. Impacts of the tree in its wall", columns, tuple(rows), notes)


def _wall_note() -> str:
    """How far the points of the first impact are from the centre at the printed time, without any wall."""
    robot, (time, points, *_) = shafei_tree(), TABLE_3[0]
    free = simulate(robot, *start(), time, method=Integration(rtol=1e-12))
    p, _ = ContactPoints(robot, [Point(name) for name in points]).positions_and_velocities(free.q[-1:], free.qd[-1:])
    reach = np.linalg.norm(p[0], axis=-1)
    return (
        f"The paper does not state its wall. A circle of {WALL.radius:g} m about the origin is inferred: in free motion "
        f"{' and '.join(points)} are {reach.min():.4f} and {reach.max():.4f} m from the origin at the first printed time, and "
        "this table follows from it."
    )


def _start_note() -> str:
    """What becomes of the table with the printed start."""
    q, qd = map(list, start())
    exact = q[-1]
    q[-2:] = [PRINTED_START] * 2
    motion = _motion(q, qd)
    groups = "; ".join(f"{' '.join(impact.points)} at {impact.time:.4f} s" for impact in motion.impacts)
    return (
        f"X1 = X2 = -(1 + √3)/2 = {exact:.6f} m at the start. With the printed {PRINTED_START} m the points of a pair do not "
        f"touch at the same time, and the impacts one after the other are others: {groups}."
    )


def timed_motion() -> tuple[Trajectory, float]:
    """The paper's simulation, dense enough for its figures, and the time it took. [s]"""
    begun = time.perf_counter()
    motion = _motion(*start())
    return motion, time.perf_counter() - begun


def _motion(q, qd) -> Trajectory:
    """Inside the wall, from a start."""
    return simulate(
        shafei_tree(), q, qd, DURATION, surfaces=[WALL], contact=ContactOptions(restitution=RESTITUTION),
        method=Integration(rtol=1e-12, max_step=0.01),
    )  # fmt: skip


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
