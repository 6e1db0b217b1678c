"""Tables 1 to 4 and figure 1 of Provenzano and Mata 2002."""

from __future__ import annotations

from appell.table import Table
from appell_lab.reproduce import mata2002, mata2002_figures, mata2002_simulation
from appell_lab.reproduce.cost import COLUMNS, SIX, counted, printed
from appell_lab.reproduce.reproduction import Item, Reproduction

SOURCE = (
    "S.E. Provenzano, V. Mata, Resolución del problema dinámico directo de cadenas abiertas utilizando las ecuaciones de "
    "Gibbs-Appell, Revista Ciencia e Ingeniería 23(1) (2002)"
)

INERTIA_MATRIX = printed((11.5, 19.5, -49), 482, (8.5, 31.5, -69), 426)
BIAS = printed((96, -108), 468, (83, -105), 393)
LINEAR_SYSTEM = printed(("1/6", 1.5, "1/3", 0), 92, ("1/6", 1.5, "-2/3", 0), 66)
TOTAL = printed(("1/6", 13, "695/6", -157), 1042, ("1/6", 10, "683/6", -174), 905)
"""Table 1 as printed; the rows are the paper's."""

TABLE_2 = {"CRBA": (1627, 1261), "NOC": (1353, 1165), "ABA": (1533, 1415), "GA": (1042, 905)}
"""Table 2 as printed: products and sums for n = 6. The paper's Spanish names are MCRC, CNO, MCA and GAH."""


ITEMS = (
    Item("Table 1", "operations of forward dynamics by its parts", "Table 1", "one printed number is wrong: see its note"),
    Item("Table 2", "operations of forward dynamics, four methods", "Table 2", "rows of other authors are quoted"),
    Item("Table 3", "errors of the replayed line", "Table 3", mata2002.REPLAY_REMARK),
    Item("Table 4", "times and evaluations of three methods", "Table 4", "times are of another computer"),
    Item("Figure 1", "initial and final position of the line", "figure1_initial_and_final_position", mata2002.REPLAY_REMARK),
    Item("Figure 2", "block diagram of the experiment", remark="a diagram, no data"),
)  # fmt: skip


def reproduce() -> Reproduction:
    """All tables with the counts and results of this library."""
    notes = (
        "Section 4 is the experiment of Mata et al. 2002, section 5.2, with the same numbers in print; GAH, MCRC and MCA are "
        "GA, CRBA and ABA here.",
    )
    tables = (
        table_1(), table_2(),
        mata2002_simulation.errors_table("Table 3. Mean errors of the replayed line"),
        mata2002_simulation.effort_table("Table 4. Processing time and evaluations of the function"),
        mata2002_simulation.growth_table(),
    )  # fmt: skip
    return Reproduction("provenzano2002", SOURCE, tables, notes, mata2002_figures.figures(1), ITEMS)


def table_1() -> Table:
    """Forward dynamics by its parts."""
    solution = counted(mata2002.FORWARD, **mata2002.SOLUTION)
    pairs = (
        ("inertia matrix D", INERTIA_MATRIX, counted(mata2002.HESSIAN)),
        ("bias vector", BIAS, counted(mata2002.BIAS_VECTOR)),
        ("linear system", LINEAR_SYSTEM, solution),
        ("total", TOTAL, counted(mata2002.FORWARD)),
    )
    rows = [row for part, paper, ours in pairs for row in mata2002.both(part, paper, ours)]
    exact = LINEAR_SYSTEM.sums(SIX) if LINEAR_SYSTEM.sums else None
    notes = (
        f"The printed sums of the linear system are {LINEAR_SYSTEM.sums_six} for n = 6, its own formula gives {exact}, "
        f"and the printed total of {TOTAL.sums_six} is computed with {exact}.",
        *mata2002.solution_notes(),
    )
    return Table("Table 1. Forward dynamics by its parts", ("part", "from", *COLUMNS), tuple(rows), notes)


def table_2() -> Table:
    """Forward dynamics by four methods, n = 6."""
    return mata2002.forward_table("Table 2. Forward dynamics, n = 6", TABLE_2)
