"""Tables 2 to 7, the identification and figures 3 to 5 of Valera et al. 2003."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from appell.algebra import Scalar, Vec3, Wrench
from appell.algorithms.inverse_dynamics.mata2002 import project_on_joints
from appell.algorithms.inverse_dynamics.valera2003 import VectorMotion, propagate_motion, rotational_moment
from appell.compiler.count import Counts, count_graph
from appell.loading.catalogue.random import random_chain
from appell.model.tree import Tree
from appell.table import Table
from appell_lab.reproduce import valera2003_control as control
from appell_lab.reproduce import valera2003_controllers as controllers
from appell_lab.reproduce import valera2003_parameters as parameters
from appell_lab.reproduce import valera2003_paul
from appell_lab.reproduce.cost import COLUMNS, SIX, SIZES, Cost, compared, counted, fit, operations, poly, printed
from appell_lab.reproduce.reproduction import Item, Reproduction

SOURCE = (
    "A. Valera, V. Mata, M. Vallés, F. Valero, N. Rosillo, F. Benimeli, Solving the inverse dynamic control for low cost "
    "real-time industrial robot control applications, Robotica 21(3) (2003) 261-269"
)

STEPS = {
    "1": ("rotation matrices", (4, 0), (0,)),
    "2": ("velocities and accelerations", (62, -75), (46, -61)),
    "3": ("derivatives of angular accelerations", (0,), (0,)),
    "4": ("rotational terms A", (24, -23), (18, -18)),
    "5": ("translational terms B", (31, -38), (26, -37)),
    "6": ("generalised forces", (0,), (1, 0)),
}
"""Table 2 as printed: products and sums of each step, coefficients from the highest power."""

TABLE_3 = {
    "Luh, Walker and Paul": printed((121, -112), 614, (90, -82), 458),
    "Valera et al. 2003": printed((121, -136), 590, (91, -116), 430),
}
"""Table 3 as printed."""


PAUL = printed((133, -74), 724, (97, -71), 511)
"""Below table 3, as printed: the same algorithm with Denavit-Hartenberg under Paul's convention."""

LINE_REMARK = "tool point and branch are not given; chosen here"
ITEMS = (
    Item("Table 1", "algorithms of other authors", remark="a list of methods, no numbers"),
    Item("Table 2", "operations of the vector form by its steps", "Table 2"),
    Item("Table 3", "operations of two algorithms, and in Paul's convention", "Table 3"),
    Item("Table 4", "three controllers", "Table 4", "laws only in the paper; errors computed here; gains not given"),
    Item("Table 5", "Denavit-Hartenberg parameters", "Table 5", "no column of θ"),
    Item("Table 6", "masses", "Table 6"),
    Item("Table 7", "centres of mass, inertias", "Table 7"),
    Item("Section 4", "identification by four methods", "Identification", "no results in the paper"),
    Item("Section 4", "execution times", "Execution time", "other computer"),
    Item("Figure 1", "Denavit-Hartenberg notation", remark="a drawing, no data"),
    Item("Figure 2", "architecture of the controller", remark="a diagram; built as appell.control (docs/howto/hardware.md)"),
    Item("Figure 3", "the prescribed trajectory", "figure3_prescribed_trajectory", LINE_REMARK),
    Item("Figure 4", "torques along it", "figure4_torques", LINE_REMARK),
    Item("Figure 5", "ramp and spline references", "figure5_ramp_and_spline_references", "the real robot's record is not "
         "published: simulated here"),
)  # fmt: skip


def reproduce() -> Reproduction:
    """Tables and figures with the counts and results of this library."""
    notes = (
        "Printed: the paper's own text. Counted: operations of this library's vector form, traced for general chains of "
        "n = 3 to 12 revolute joints; a formula is shown only if it gives all ten counts exactly.",
    )
    tables = (
        table_2(), table_3(), controllers.table_4(), parameters.table_5(), parameters.table_6(), parameters.table_7(),
        parameters.identification_table(), control.torque_table(), control.tracking_table(), control.computing_table(),
    )  # fmt: skip
    return Reproduction("valera2003", SOURCE, tables, notes, control.figures(), ITEMS)


def table_2() -> Table:
    """The vector form by its steps."""
    ours = counted_steps()
    rows = []
    for step, (what, products, sums) in STEPS.items():
        paper = poly(*products), poly(*sums)
        rows.append((step, what, "printed", paper[0], paper[0](SIX), paper[1], paper[1](SIX)))
        rows.append(("", "", "counted", *ours[step].cells))
    notes = (
        "Step 1: a rotation is applied here as two planar rotations of 4 products and 2 sums, so its matrix is never "
        "formed. The printed step 2 counts the same 8 products and 4 sums for a rotation, so the 4n products of step 1 are "
        "not needed there either.",
        "Step 4: its printed count has no rotation of alpha_j+1. That holds if alpha and beta are carried as one vector, "
        "as is done here; equations (17) and (25) as printed take one rotation more for each joint. The sum A + B of step 6 "
        "is then part of step 5.",
        "Steps are counted as differences: the algorithm as a whole, from the motion of the links on, and from alpha on.",
    )
    columns = ("step", "", "from", *COLUMNS)
    return Table("Table 2. Inverse dynamics in vector form, by steps", columns, tuple(rows), notes)


def table_3() -> Table:
    """Inverse dynamics in vector form and by Newton-Euler."""
    ours = {
        "Luh, Walker and Paul": ("newton_euler", counted(("inverse_dynamics", "newton_euler"))),
        "Valera et al. 2003": ("valera2003", counted(("inverse_dynamics", "valera2003"))),
    }
    rows = []
    for authors, paper in TABLE_3.items():
        method, cost = ours[authors]
        rows += [(authors, "", "printed", *paper.cells), ("", method, "counted", *cost.cells)]
    vector, luh = ours["Valera et al. 2003"][1], ours["Luh, Walker and Paul"][1]
    paul = counted_paul()
    rows += [("Paul's convention", "", "printed", *PAUL.cells), ("", "vector form", "counted", *paul.cells)]
    notes = (
        f"For n = 6 the vector form needs {compared(vector, TABLE_3['Valera et al. 2003'], 'printed')}, Newton-Euler "
        f"{compared(luh, TABLE_3['Luh, Walker and Paul'], 'printed')}.",
        f"Counted with one set of rules, the vector form needs {compared(vector, luh, 'Newton-Euler')}. "
        f"{_printed_difference()}",
        "Under Paul's convention frames are at the far end of the links and joints turn about z of the frame before; the "
        "counted "
        f"vector form needs {compared(paul, PAUL, 'printed')} for n = 6, and "
        f"{compared(paul, vector, 'with frames at the joints')}.",
    )
    return Table(
        "Table 3. Inverse dynamics, two formulations", ("algorithm", "method", "from", *COLUMNS), tuple(rows), notes
    )


@cache
def counted_paul() -> Cost:
    """The vector form with Denavit-Hartenberg under Paul's convention."""
    counts = {n: valera2003_paul.count(n) for n in SIZES}
    products, sums = ({n: getattr(each, kind) for n, each in counts.items()} for kind in ("mul", "add"))
    return Cost(fit(products), products[SIX], fit(sums), sums[SIX])


def _printed_difference() -> str:
    """In what the two printed formulas differ, in words."""
    luh, vector = TABLE_3.values()
    texts = []
    for what, a, b in (("products", luh.products, vector.products), ("sums", luh.sums, vector.sums)):
        constant, slope = (int(y - x) for x, y in zip(a.coefficients, b.coefficients, strict=True))  # type: ignore[union-attr]
        texts.append(f"{slope:+d} per joint and {constant:+d} in the constant for {what}" if slope else
                     f"{constant:+d} in the constant alone for {what}")  # fmt: skip
    return f"The printed formulas differ by {', by '.join(texts)}; a constant is how the first links were counted."


def counted_steps() -> dict[str, Cost]:
    """Every step of the vector form for all sizes."""
    counts = {n: steps_of_chain(n) for n in SIZES}

    def cost(step: str) -> Cost:
        products = {n: steps[step].mul for n, steps in counts.items()}
        sums = {n: steps[step].add for n, steps in counts.items()}
        return Cost(fit(products), products[SIX], fit(sums), sums[SIX])

    return {step: cost(step) for step in STEPS}


def steps_of_chain(n: int) -> dict[str, Counts]:
    """Operations of each step for the general chain of n joints."""
    tree = random_chain(n).tree
    whole = operations("inverse_dynamics", "valera2003", n)
    from_motion, from_alpha = (count_graph(remainder(tree, known)) for known in ("motion", "alpha"))
    nothing = Counts(0, 0)
    return {
        "1": nothing, "2": _less(whole, from_motion), "3": nothing,
        "4": _less(from_motion, from_alpha), "5": from_alpha, "6": nothing,
    }  # fmt: skip


def remainder(tree: Tree, known: str) -> Any:
    """The graph of the algorithm's steps after its motion (steps 4 to 6) or its rotational moments (5 and 6) are known."""
    import casadi

    names = ("q", "qd", "qdd")
    q, qd, qdd = inputs = [casadi.SX.sym(name, tree.nv) for name in names]
    placements = tree.placements(_entries(q))
    motions = propagate_motion(tree, placements, _entries(qd), _entries(qdd))
    centers = [motion.acceleration_of(link.inertia.com) for link, motion in zip(tree.links, motions, strict=True)]
    symbols: list[Any] = []
    motions = [VectorMotion(*(_fresh(vector, symbols) for vector in motion)) for motion in motions]
    centers = [_fresh(vector, symbols) for vector in centers]
    alphas = [rotational_moment(link, motion) for link, motion in zip(tree.links, motions, strict=True)]
    if known == "alpha":
        alphas = [_fresh(vector, symbols) for vector in alphas]
    forces = [center * link.inertia.mass for link, center in zip(tree.links, centers, strict=True)]
    wrenches = [
        Wrench(force, alpha - force.cross(link.inertia.com))
        for link, force, alpha in zip(tree.links, forces, alphas, strict=True)
    ]
    tau = project_on_joints(tree, placements, _entries(qdd), wrenches)
    return casadi.Function("remainder", [*inputs, *symbols], [casadi.densify(casadi.vertcat(*tau))])


def _entries(vector: Any) -> Sequence[Scalar]:
    return [vector[i] for i in range(vector.numel())]


def _fresh(vector: Vec3, symbols: list[Any]) -> Vec3:
    """The vector with new symbols for entries that are not constant, so that what led to them is not counted again."""
    import casadi

    entries = []
    for entry in vector:
        if not casadi.SX(entry).is_constant():
            entry = casadi.SX.sym(f"known{len(symbols)}")
            symbols.append(entry)
        entries.append(entry)
    return Vec3(*entries)


def _less(a: Counts, b: Counts) -> Counts:
    return Counts(*(x - y for x, y in zip(a, b, strict=True)))
