"""Two threads against one, 65536 states.

Processor time says nothing about threads, so this is the wall clock. What disturbs it only ever adds time: the best of many
calls, taken in turns, is compared.
"""

from __future__ import annotations

from appell.table import Table
from appell_lab.bench.contest import Settings
from appell_lab.bench.ours import batch
from appell_lab.bench.subjects import arms, states
from appell_lab.bench.timing import SEVERAL_CORES, Contender, busy, cores, race

STATES = 65536
CALLS = 1500
GOAL = 1.8


def run(settings: Settings) -> list[Table]:
    title = f"Two threads, {STATES} rows, float64, two cores, best of {CALLS} calls by the wall clock"
    columns = ("work", "1 thread, ns a state", "2 threads, ns a state", "faster by", "goal")
    if cores() < 2:
        return [Table(title, columns, (), ("This process may use one core only.",))]
    rows = []
    for robot in arms(settings.robots):
        given = states(robot, STATES)
        for function in ("inverse_dynamics", "forward_dynamics"):
            calls = {threads: batch(robot, function, given, threads)[0].call for threads in (1, 2)}
            contenders = [Contender(str(threads), call, STATES) for threads, call in calls.items()]
            timed = race(contenders, CALLS, sample=1e-9, clock=SEVERAL_CORES)
            one, two = (float(timed.samples[str(threads)].min()) for threads in calls)
            rows.append((f"{robot.name}, {function}", one, two, one / two, GOAL))
    missed = [f"below the goal: {row[0]}: {row[3]:.3g} of {GOAL:g}" for row in rows if row[3] < GOAL]
    return [Table(title, columns, tuple(rows), (*busy(), *missed))]
