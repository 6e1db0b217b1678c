"""Generated scalar C, one state after the other in a C loop, one core."""

from __future__ import annotations

from appell.table import Table
from appell_lab.bench.contest import Entry, Settings, contest, contest_table, difference
from appell_lab.bench.peers import traced
from appell_lab.bench.peers.pinocchio import pinocchio
from appell_lab.bench.subjects import arms, states

STATES = 1024
GOAL = 1.5
"""Against Pinocchio's algorithms through CasADi."""


def run(settings: Settings) -> list[Table]:
    rows = []
    for robot in arms(settings.robots) if traced.available() else ():
        given = states(robot, STATES)
        peer = pinocchio(robot)
        for function in ("inverse_dynamics", "forward_dynamics"):
            right = peer.many(function, given) if peer else None
            entries = []
            makers = [
                (traced.kernel, robot, None),
                (traced.exported, robot, None),
                (traced.traced_pinocchio, peer, GOAL),
            ]
            for make, subject, goal in makers:
                if subject is None:
                    continue
                contender, out = make(subject, function, given)
                contender.call()
                entries.append(Entry(contender, goal, None if right is None else difference(out, right)))
            rows += contest(f"{robot.name}, {function}", entries[0], entries[1:], settings)
    note = (
        "gcc -O3 -march=native; the kernel's scalar half with the options of appell.compile. The exported code takes sine and "
        "cosine from libm, as CasADi's does; the kernel takes them in vectors."
    )
    return [contest_table(f"Scalar C, {STATES} states one by one, float64, one core", rows, note)]
