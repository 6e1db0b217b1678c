"""Other robots and functions in batches: mass matrices, long chains, humanoids."""

from __future__ import annotations

from appell.table import Table
from appell_lab.bench.contest import Entry, Settings, contest, contest_table, difference, rounded, span
from appell_lab.bench.ours import batch, columns
from appell_lab.bench.peers import traced
from appell_lab.bench.peers.pinocchio import pinocchio
from appell_lab.bench.subjects import arms, chain, humanoid, states
from appell_lab.bench.timing import race

# --- mass_matrix --------------------------------------------------------------------------------------------------------

MASS_MATRIX_STATES = 4096
MASS_MATRIX_GOAL = 25.0
"""Against `pin.crba` in a Python loop."""


def mass_matrix_case(settings: Settings) -> list[Table]:
    """The mass matrix of 4096 states, one core."""
    rows = []
    for robot in arms(settings.robots):
        given = states(robot, MASS_MATRIX_STATES)
        ours, result = batch(robot, "mass_matrix", given)
        peer = pinocchio(robot)
        entries = [Entry(columns(robot, "mass_matrix", given))]
        far = None
        if peer is not None:
            few = [array[:256] for array in given]
            entries.append(Entry(peer.loop("mass_matrix", few), MASS_MATRIX_GOAL))
            far = difference(result[: len(few[0])], peer.many("mass_matrix", few[:1]))
        rows += contest(f"{robot.name}, mass_matrix", Entry(ours, None, far), entries, settings)
    note = "Pinocchio has no batch call for the mass matrix; crba fills one triangle, appell writes both."
    return [contest_table(f"Mass matrix, batch of {MASS_MATRIX_STATES} states, float64, one core", rows, note)]


# --- chains -------------------------------------------------------------------------------------------------------------

CHAIN_STATES = 1024
CHAIN_GOALS = {30: (20.0, 10.0), 100: (20.0, 10.0), 300: (10.0, 6.0)}
"""Joints: inverse and forward dynamics against Pinocchio's batch call with one thread."""

MAX_TRACED_JOINTS = 30
"""Joints up to which the code of a traced graph is compiled: it takes minutes beyond."""

LENGTHS = (3, 10, 30, 100, 300, 1000)


def chains_case(settings: Settings) -> list[Table]:
    """General chains of up to 1000 joints, one core."""
    return [chain_times(settings), growth(settings)]


def chain_times(settings: Settings) -> Table:
    """Against Pinocchio."""
    rows = []
    for n, goals in CHAIN_GOALS.items():
        robot = chain(n)
        given = states(robot, CHAIN_STATES)
        peer = pinocchio(robot)
        for function, goal in zip(("inverse_dynamics", "forward_dynamics"), goals, strict=True):
            ours, result = batch(robot, function, given)
            entries, far = [], None
            if peer is not None:
                few = [array[:64] for array in given]
                far = difference(result[: len(few[0])], peer.many(function, few))
                entries.append(Entry(peer.batch(function, given), goal))
                if n <= MAX_TRACED_JOINTS and traced.available() and not settings.quick:
                    entries.append(Entry(traced.traced_pinocchio(peer, function, given)[0], 5.0))
            rows += contest(f"chain of {n}, {function}", Entry(ours, None, far), entries, settings)
    return contest_table(f"General revolute chains, batch of {CHAIN_STATES} states, float64, one core", rows)


def growth(settings: Settings) -> Table:
    """Cost of inverse dynamics over the number of joints."""
    rows = []
    for n in LENGTHS:
        robot = chain(n)
        ours, _ = batch(robot, "inverse_dynamics", states(robot, CHAIN_STATES))
        taken = race([ours], settings.rounds, settings.sample).time(ours.name)
        rows.append((n, rounded(taken.median), span(taken.low, taken.high), taken.median / n))
    columns = ("joints", "ns per state", "quartiles", "ns per joint and state")
    return Table(f"Inverse dynamics over the length of a chain, batch of {CHAIN_STATES} states", columns, tuple(rows))


# --- floating -----------------------------------------------------------------------------------------------------------

HUMANOID_STATES = 4096
HUMANOIDS = ("g1", "talos_reduced")
HUMANOID_GOALS = {"inverse_dynamics": 12.0, "forward_dynamics": 10.0}
"""Against Pinocchio's batch call with one thread."""


def floating_case(settings: Settings) -> list[Table]:
    """Batches of 4096 states of humanoids on a floating base, one core."""
    rows = []
    for robot in filter(None, (humanoid(name, settings.robots) for name in HUMANOIDS)):
        given, peer = states(robot, HUMANOID_STATES), pinocchio(robot)
        few = [array[:64] for array in given]
        for function, goal in HUMANOID_GOALS.items():
            ours, result = batch(robot, function, given)
            entries, far = [], None
            if peer is not None:
                far = difference(result[: len(few[0])], peer.many(function, few))
                entries.append(Entry(peer.batch(function, given), goal))
            work = f"{robot.name}, {robot.nv} degrees of freedom, {function}"
            rows += contest(work, Entry(ours, None, far), entries, settings)
    return [contest_table(f"Humanoids on a floating base, batch of {HUMANOID_STATES} rows, float64, one core", rows)]
