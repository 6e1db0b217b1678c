"""The inertia matrix of 4096 states, one core."""

from __future__ import annotations

from appell.table import Table
from appell_lab.bench.contest import Entry, Settings, contest, contest_table, difference
from appell_lab.bench.ours import batch, columns
from appell_lab.bench.peers.pinocchio import pinocchio
from appell_lab.bench.subjects import arms, states

STATES = 4096
GOAL = 25.0
"""Against `pin.crba` in a Python loop."""


def run(settings: Settings) -> list[Table]:
    rows = []
    for robot in arms(settings.robots):
        given = states(robot, STATES)
        ours, result = batch(robot, "mass_matrix", given)
        peer = pinocchio(robot)
        entries = [Entry(columns(robot, "mass_matrix", given))]
        far = None
        if peer is not None:
            few = [array[:256] for array in given]
            entries.append(Entry(peer.loop("mass_matrix", few), GOAL))
            far = difference(result[: len(few[0])], peer.many("mass_matrix", few[:1]))
        rows += contest(f"{robot.name}, mass_matrix", Entry(ours, None, far), entries, settings)
    note = "Pinocchio has no batch call for the inertia matrix; crba fills one triangle, appell writes both."
    return [contest_table(f"Inertia matrix, batch of {STATES} states, float64, one core", rows, note)]
