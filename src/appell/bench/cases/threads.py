"""Two threads against one, 65536 states."""

from __future__ import annotations

from appell.bench.contest import Entry, Settings, contest, contest_table
from appell.bench.ours import batch
from appell.bench.subjects import arms, states
from appell.bench.timing import SEVERAL_CORES, Contender, cores
from appell.table import Table

STATES = 65536
GOAL = 1.8


def run(settings: Settings) -> list[Table]:
    title = f"Two threads, {STATES} rows, float64, two cores, by the wall clock"
    if cores() < 2:
        return [contest_table(title, (), "This process may use one core only.")]
    rows = []
    for robot in arms(settings.robots):
        given = states(robot, STATES)
        for function in ("inverse_dynamics", "forward_dynamics"):
            one, two = (batch(robot, function, given, threads)[0] for threads in (1, 2))
            entry = Entry(Contender("appell, 1 thread", one.call, STATES), GOAL)
            ours = Entry(Contender("appell, 2 threads", two.call, STATES))
            rows += contest(f"{robot.name}, {function}", ours, [entry], settings, SEVERAL_CORES)
    return [contest_table(title, rows)]
