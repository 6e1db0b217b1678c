"""Batches of 4096 states of humanoids on a floating base, one core."""

from __future__ import annotations

from appell.table import Table
from appell_lab.bench.contest import Entry, Settings, contest, contest_table, difference
from appell_lab.bench.ours import batch
from appell_lab.bench.peers.pinocchio import pinocchio
from appell_lab.bench.subjects import humanoid, states

STATES = 4096
HUMANOIDS = ("g1", "talos_reduced")
GOALS = {"inverse_dynamics": 12.0, "forward_dynamics": 10.0}
"""Against Pinocchio's batch call with one thread."""


def run(settings: Settings) -> list[Table]:
    rows = []
    for robot in filter(None, (humanoid(name, settings.robots) for name in HUMANOIDS)):
        given, peer = states(robot, STATES), pinocchio(robot)
        few = [array[:64] for array in given]
        for function, goal in GOALS.items():
            ours, result = batch(robot, function, given)
            entries, far = [], None
            if peer is not None:
                far = difference(result[: len(few[0])], peer.many(function, few))
                entries.append(Entry(peer.batch(function, given), goal))
            work = f"{robot.name}, {robot.nv} degrees of freedom, {function}"
            rows += contest(work, Entry(ours, None, far), entries, settings)
    return [contest_table(f"Humanoids on a floating base, batch of {STATES} rows, float64, one core", rows)]
