"""Tables 1 to 7 and figures 2 and 3 of Mata, Provenzano, Valero and Cuadrado 2002."""

from __future__ import annotations

from appell.table import Table
from appell_lab.reproduce import mata2002_figures, mata2002_simulation, two_bodies
from appell_lab.reproduce.cost import (
    COLUMNS,
    LARGEST,
    SIX,
    SIZES,
    Cost,
    compared,
    counted,
    exceptions,
    operations,
    printed,
)  # fmt: skip
from appell_lab.reproduce.reproduction import Item, Reproduction

SOURCE = (
    "V. Mata, S. Provenzano, F. Valero, J.I. Cuadrado, Serial-robot dynamics algorithms for moderately large numbers of "
    "joints, Mechanism and Machine Theory 37 (2002) 739-755"
)

GIBBS_APPELL = ("Mata et al. 2002", "Gibbs-Appell")
TABLE_1 = {
    ("Luh et al. 1980", "Newton-Euler"): printed((150, -48), 852, (131, -48), 738),
    ("Angeles et al. 1989", "Kane"): printed((105, -109), 521, (90, -105), 435),
    ("Balafoutis and Patel 1991", "Newton-Euler"): printed((93, -69), 489, (81, -66), 420),
    GIBBS_APPELL: printed((96, -101), 475, (84, -100), 404),
}
TABLE_2 = {
    ("Walker and Orin 1982", "CRBA"): printed((12, 56, -27), 741, (7, 67, -56), 598),
    ("Angeles and Ma 1988", "NOC"): printed((1, 17, -21, 8), 710, (1, 14, -16, 5), 629),
    GIBBS_APPELL: printed((11.5, 19.5, -49), 482, (8.5, 31.5, -69), 426),
}
TABLE_3 = {
    "inertia matrix D": printed((11.5, 19.5, -49), 482, (8.5, 31.5, -69), 426),
    "bias vector": printed((96, -108), 468, (83, -105), 393),
    "Cholesky decomposition": printed(("1/6", "1/2", "1/3", 0), 56, ("1/6", "1/2", "1/3", 0), 56),
    "linear system": printed((1, 0, 0), 36, (1, -1, 0), 30),
    "total": printed(("1/6", 13, "695/6", -157), 1042, ("1/6", 10, "683/6", -174), 905),
}
TABLE_4 = {"CRBA": (1627, 1261), "ABA": (1533, 1415), "NOC": (1353, 1165), "GA": (1042, 905)}
"""Tables as printed in the paper; table 5 is in `two_bodies`, tables 6 and 7 are in `mata2002_simulation`."""

REPLAY_REMARK = "robot, tool point, branch and torques between the instants are not given; chosen here"
ITEMS = (
    Item("Table 1", "operations of inverse dynamics", "Table 1", "rows of other authors are quoted"),
    Item("Table 2", "operations of the inertia matrix", "Table 2", "rows of other authors are quoted"),
    Item("Table 3", "operations of forward dynamics by its parts", "Table 3"),
    Item("Table 4", "operations of forward dynamics, four methods", "Table 4", "rows of other authors are quoted"),
    Item("Table 5", "errors in single precision", "Table 5", "m2 is garbled in print: inferred"),
    Item("Table 6", "errors of the replayed line", "Table 6", REPLAY_REMARK),
    Item("Table 7", "times and evaluations of three methods", "Table 7", "other computer; the integrator is not given"),
    Item("Figure 1", "the two bodies", remark="a drawing, no data: the built-in robot mata_two_body"),
    Item("Figure 2", "accelerations in both precisions, condition number", "figure2_accelerations_and_condition_number"),
    Item("Figure 3", "initial and final position of the line", "figure3_initial_and_final_position", REPLAY_REMARK),
    Item("Figure 4", "block diagram of the experiment", remark="a diagram, no data"),
)  # fmt: skip

HESSIAN = ("mass_matrix", "gibbs_hessian")
BIAS_VECTOR = ("bias", "mata2002")
FORWARD = ("forward_dynamics", "gibbs")
SOLUTION = {"without": (HESSIAN, BIAS_VECTOR)}
"""What is left of `FORWARD` without these is the solution of the linear system."""
FORWARD_METHODS = {
    "CRBA": ("Walker and Orin 1982", (("mass_matrix", "composite"), ("bias", "newton_euler"), FORWARD), SOLUTION),
    "ABA": ("Featherstone 1987", (("forward_dynamics", "articulated"),), {}),
    "NOC": ("Angeles and Ma 1988", (("forward_dynamics", "noc"),), {}),
    "GA": ("Mata et al. 2002", (FORWARD,), {}),
}
"""Forward dynamics by the papers' names, and what is counted for them here."""


def reproduce() -> Reproduction:
    """All tables with the counts and results of this library."""
    notes = (
        "Printed: the paper's own text; its rows of other authors are quoted as it quotes them. Counted: operations of "
        "this library's algorithms, traced for general chains of n = 3 to 12 revolute joints; a formula is shown only if "
        "it gives all ten counts exactly.",
        "Tracing drops every operation that no result needs or whose operand is a known 0 or 1. Near the base, where "
        f"much is zero, less remains than the printed constants assume. {comparison()}",
        "Products and sums are counted as in the paper; divisions are neither, and are given on their own.",
    )
    tables = (
        table_1(), table_2(), table_3(), table_4(), two_bodies.table_5(),
        mata2002_simulation.errors_table("Table 6. Mean errors of the replayed line"),
        mata2002_simulation.effort_table("Table 7. Processing time and evaluations of the function"),
        mata2002_simulation.growth_table(),
    )  # fmt: skip
    return Reproduction(
        "mata2002", SOURCE, tables, notes, (mata2002_figures.figure_2(), *mata2002_figures.figures(3)), ITEMS
    )


def comparison() -> str:
    """For which n the counted formulas of tables 1 to 3 are above the printed ones, in words."""
    pairs = (
        ("inverse dynamics", (("inverse_dynamics", "mata2002"),), TABLE_1[GIBBS_APPELL]),
        ("the Hessian", (HESSIAN,), TABLE_2[GIBBS_APPELL]),
        ("composite bodies", (("mass_matrix", "composite"),), TABLE_2["Walker and Orin 1982", "CRBA"]),
        ("the inertia matrix of NOC", (("mass_matrix", "noc"),), TABLE_2["Angeles and Ma 1988", "NOC"]),
        ("the bias vector", (BIAS_VECTOR,), TABLE_3["bias vector"]),
        ("forward dynamics", (FORWARD,), TABLE_3["total"]),
    )
    above = [text for name, parts, paper in pairs for text in exceptions(counted(*parts), paper, name)]
    names = ", ".join(name for name, _, _ in pairs)
    rule = f"The counted formulas of {names} are at most the printed ones for n = {SIZES[0]} to {LARGEST}"
    return f"{rule}, except {'; '.join(above)}." if above else f"{rule}."


def table_1() -> Table:
    """Inverse dynamics."""
    ours = {method: counted(("inverse_dynamics", method)) for method in ("mata2002", "valera2003", "newton_euler")}
    notes = (
        f"For n = 6 the tensor form needs {compared(ours['mata2002'], TABLE_1[GIBBS_APPELL], 'printed')}. The recursion "
        "is the paper's, with mass moments about the joint instead of the centre of mass, known before the motion starts.",
    )
    return cost_table("Table 1. Inverse dynamics", TABLE_1, ours, notes)


def table_2() -> Table:
    """Inertia matrix."""
    ours = {method: counted(("mass_matrix", method)) for method in ("gibbs_hessian", "composite", "noc")}
    notes = (
        f"For n = 6 the Hessian needs {compared(ours['gibbs_hessian'], TABLE_2[GIBBS_APPELL], 'printed')}. The paper's "
        "total is the sum of its step counts, which include products and sums that the result does not need; its step 3 "
        "counts no product for the third column of R, which takes 2(n - 1).",
        "Composite bodies with moments about the joints, method 'composite', need "
        f"{compared(ours['composite'], ours['gibbs_hessian'], 'the Hessian')} in this count; the printed row of Walker and "
        "Orin is of their own, mass-centred form.",
    )
    return cost_table("Table 2. Inertia matrix", TABLE_2, ours, notes)


def table_3() -> Table:
    """Forward dynamics by its parts."""
    solution = counted(FORWARD, **SOLUTION)
    ours = {"inertia matrix D": counted(HESSIAN), "bias vector": counted(BIAS_VECTOR), "total": counted(FORWARD)}
    rows = []
    for part, paper in TABLE_3.items():
        rows += both(part, paper, ours.get(part))
        if part == "linear system":
            rows.append(("both of these", "counted", *solution.cells))
    return Table(
        "Table 3. Forward dynamics by its parts", ("part", "from", *COLUMNS), tuple(rows), tuple(solution_notes())
    )


def table_4() -> Table:
    """Forward dynamics by four methods, n = 6."""
    return forward_table("Table 4. Forward dynamics, n = 6", TABLE_4)


def cost_table(title: str, paper: dict[tuple[str, str], Cost], ours: dict[str, Cost], notes: tuple[str, ...]) -> Table:
    """Printed rows, then counted ones."""
    rows = [(authors, principle, "printed", *cost.cells) for (authors, principle), cost in paper.items()]
    rows += [("appell", method, "counted", *cost.cells) for method, cost in ours.items()]
    return Table(title, ("authors", "method", "from", *COLUMNS), tuple(rows), notes)


def both(part: str, paper: Cost, ours: Cost | None) -> list[tuple]:
    """A row of printed and, where there is one, of counted costs."""
    rows = [(part, "printed", *paper.cells)]
    return rows if ours is None else [*rows, ("", "counted", *ours.cells)]


def solution_notes() -> list[str]:
    """How the linear system is solved here and what the paper's counts leave out."""
    divisions = operations(*FORWARD, SIX).div
    return [
        "The linear system is solved here by M = L^T D L without square roots, in place of a Cholesky decomposition; "
        f"its counts include the n sums of tau - bias. It takes {divisions} divisions for n = 6. The papers count neither "
        "divisions nor square roots, and print n³/6 + n²/2 + n/3 sums for a decomposition that has (n³ - n)/6.",
    ]


def forward_table(title: str, paper: dict[str, tuple[int, int]]) -> Table:
    """Forward dynamics for n = 6: printed and counted products and sums."""
    rows = []
    for name, (products, sums) in paper.items():
        authors, parts, rest = FORWARD_METHODS[name]
        ours = counted(*parts, **rest)
        rows.append((authors, name, products, ours.products_six, sums, ours.sums_six))
    columns = ("authors", "method", "products printed", "counted", "sums printed", "counted")
    notes = (
        "Counted CRBA: inertia matrix 'composite', bias 'newton_euler' and the same solution of the linear system as GA.",
        "The counted algorithms all use rotations of 8 products and 4 sums and mass moments about the joints. The printed "
        "rows of other authors are of their own forms and were counted by them.",
    )
    return Table(title, columns, tuple(rows), notes)
