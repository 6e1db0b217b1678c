"""One state, one Python call, one core."""

from __future__ import annotations

from appell.table import Table
from appell_lab.bench.contest import Entry, Settings, contest, contest_table, difference
from appell_lab.bench.ours import call
from appell_lab.bench.peers.pinocchio import pinocchio
from appell_lab.bench.subjects import arms, states

GOAL = 5.0
"""Against the same call of Pinocchio."""


def run(settings: Settings) -> list[Table]:
    rows = []
    for robot in arms(settings.robots):
        given = states(robot, 1)
        for function in ("inverse_dynamics", "forward_dynamics", "mass_matrix"):
            ours, result = call(robot, function, given)
            peer = pinocchio(robot)
            entries, far = [], None
            if peer is not None:
                goal = None if function == "mass_matrix" else GOAL
                entries.append(Entry(peer.call(function, given), goal))
                far = difference(result, peer.one(function, [array[0] for array in given]))
            rows += contest(f"{robot.name}, {function}", Entry(ours, None, far), entries, settings)
    return [contest_table("One state, one Python call, float64, one core", rows, "Every call checks its arguments.")]
