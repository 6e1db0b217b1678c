"""General chains of up to 1000 joints, one core."""

from __future__ import annotations

from appell.table import Table
from appell_lab.bench.contest import Entry, Settings, contest, contest_table, difference, rounded, span
from appell_lab.bench.ours import batch
from appell_lab.bench.peers import traced
from appell_lab.bench.peers.pinocchio import pinocchio
from appell_lab.bench.subjects import chain, states
from appell_lab.bench.timing import race

STATES = 1024
GOALS = {30: (20.0, 10.0), 100: (20.0, 10.0), 300: (10.0, 6.0)}
"""Joints: inverse and forward dynamics against Pinocchio's batch call with one thread."""

TRACED_UP_TO = 30
"""Joints up to which the code of a traced graph is compiled: it takes minutes beyond."""

LENGTHS = (3, 10, 30, 100, 300, 1000)


def run(settings: Settings) -> list[Table]:
    return [speed(settings), growth(settings)]


def speed(settings: Settings) -> Table:
    """Against Pinocchio."""
    rows = []
    for n, goals in GOALS.items():
        robot = chain(n)
        given = states(robot, STATES)
        peer = pinocchio(robot)
        for function, goal in zip(("inverse_dynamics", "forward_dynamics"), goals, strict=True):
            ours, result = batch(robot, function, given)
            entries, far = [], None
            if peer is not None:
                few = [array[:64] for array in given]
                far = difference(result[: len(few[0])], peer.many(function, few))
                entries.append(Entry(peer.batch(function, given), goal))
                if n <= TRACED_UP_TO and traced.available() and not settings.quick:
                    entries.append(Entry(traced.traced_pinocchio(peer, function, given)[0], 5.0))
            rows += contest(f"chain of {n}, {function}", Entry(ours, None, far), entries, settings)
    return contest_table(f"General revolute chains, batch of {STATES} states, float64, one core", rows)


def growth(settings: Settings) -> Table:
    """Cost of inverse dynamics over the number of joints."""
    rows = []
    for n in LENGTHS:
        robot = chain(n)
        ours, _ = batch(robot, "inverse_dynamics", states(robot, STATES))
        taken = race([ours], settings.rounds, settings.sample).time(ours.name)
        rows.append((n, rounded(taken.median), span(taken.low, taken.high), taken.median / n))
    columns = ("joints", "ns a state", "quartiles", "ns a joint and state")
    return Table(f"Inverse dynamics of longer and longer chains, batch of {STATES} states", columns, tuple(rows))
