"""Calls of arms: batches, single states, scalar C, threads."""

from __future__ import annotations

from appell.table import Table
from appell_lab.bench.contest import Entry, Settings, contest, contest_table, difference
from appell_lab.bench.ours import batch, call, columns
from appell_lab.bench.peers import traced
from appell_lab.bench.peers.mujoco import mujoco
from appell_lab.bench.peers.pinocchio import pinocchio
from appell_lab.bench.subjects import arms, states
from appell_lab.bench.timing import SEVERAL_CORES, Contender, busy, cores, race

# --- batch --------------------------------------------------------------------------------------------------------------

BATCH_STATES = 4096
BATCH_GOALS = {
    ("puma560", "inverse_dynamics"): 30.0, ("puma560", "forward_dynamics"): 35.0,
    ("ur5", "inverse_dynamics"): 30.0, ("ur5", "forward_dynamics"): 35.0,
    ("panda arm", "inverse_dynamics"): 25.0, ("panda arm", "forward_dynamics"): 25.0,
}  # fmt: skip
"""Against Pinocchio's batch call with one thread."""

TRACED_GOAL = 5.0
"""Against Pinocchio's algorithms through CasADi."""


def batch_case(settings: Settings) -> list[Table]:
    """Batches of 4096 states of six- and seven-joint arms, one core."""
    rows = []
    for robot in arms(settings.robots):
        for function in ("inverse_dynamics", "forward_dynamics"):
            rows += batch_rows(robot, function, settings)
    return [
        contest_table(
            f"Batches of {BATCH_STATES} states, float64, one core",
            rows,
            "appell, rows: arrays (N, n) as they come; columns: arrays (n, N). Pinocchio's batch calls get columns.",
            "MuJoCo: a Python loop that writes a state and calls mj_inverse or mj_forward, contacts and limits off.",
        )
    ]


def batch_rows(robot, function: str, settings: Settings) -> list[tuple]:
    given = states(robot, BATCH_STATES)
    few = [array[:256] for array in given]
    peer, other = pinocchio(robot), mujoco(robot)
    right = peer.many(function, given) if peer else None
    ours, result = batch(robot, function, given)
    entries = [Entry(columns(robot, function, given))]
    if peer is not None and right is not None:
        entries.append(Entry(peer.batch(function, given), BATCH_GOALS[robot.name, function], 0.0))
        entries.append(Entry(peer.loop(function, few)))
        if traced.available():
            contender, out = traced.traced_pinocchio(peer, function, given)
            contender.call()
            entries.append(Entry(contender, TRACED_GOAL, difference(out, right)))
    if other is not None:
        far = None if right is None else difference(other.many(function, few), right[: len(few[0])])
        entries.append(Entry(other.loop(function, few), None, far))
    own = Entry(ours, None, None if right is None else difference(result, right))
    return contest(f"{robot.name}, {function}", own, entries, settings)


# --- single -------------------------------------------------------------------------------------------------------------

SINGLE_GOAL = 5.0
"""Against the same call of Pinocchio."""


def single_case(settings: Settings) -> list[Table]:
    """One state, one Python call, one core."""
    rows = []
    for robot in arms(settings.robots):
        given = states(robot, 1)
        for function in ("inverse_dynamics", "forward_dynamics", "mass_matrix"):
            ours, result = call(robot, function, given)
            peer = pinocchio(robot)
            entries, far = [], None
            if peer is not None:
                goal = None if function == "mass_matrix" else SINGLE_GOAL
                entries.append(Entry(peer.call(function, given), goal))
                far = difference(result, peer.one(function, [array[0] for array in given]))
            rows += contest(f"{robot.name}, {function}", Entry(ours, None, far), entries, settings)
    return [contest_table("One state, one Python call, float64, one core", rows, "Every call checks its arguments.")]


# --- scalar -------------------------------------------------------------------------------------------------------------

SCALAR_STATES = 1024
SCALAR_GOAL = 1.5
"""Against Pinocchio's algorithms through CasADi."""


def scalar_case(settings: Settings) -> list[Table]:
    """Generated scalar C, one state after the other in a C loop, one core."""
    rows = []
    for robot in arms(settings.robots) if traced.available() else ():
        given = states(robot, SCALAR_STATES)
        peer = pinocchio(robot)
        for function in ("inverse_dynamics", "forward_dynamics"):
            right = peer.many(function, given) if peer else None
            entries = []
            makers = [
                (traced.kernel, robot, None),
                (traced.exported, robot, None),
                (traced.traced_pinocchio, peer, SCALAR_GOAL),
            ]
            for make, subject, goal in makers:
                if subject is None:
                    continue
                contender, out = make(subject, function, given)
                contender.call()
                entries.append(Entry(contender, goal, None if right is None else difference(out, right)))
            rows += contest(f"{robot.name}, {function}", entries[0], entries[1:], settings)
    note = (
        "gcc -O3 -march=native, but for the scalar half of the kernel, which LLVM compiles. The exported code takes sine and "
        "cosine from libm, as CasADi's does; the kernel takes them in vectors."
    )
    return [contest_table(f"Scalar C, {SCALAR_STATES} states one by one, float64, one core", rows, note)]


# --- threads ------------------------------------------------------------------------------------------------------------

THREADS_STATES = 65536
THREADS_CALLS = 1500
THREADS_GOAL = 1.8


def threads_case(settings: Settings) -> list[Table]:
    """Two threads and one, 65536 states: the best of many calls in turns by the wall clock, since disturbances add time."""
    title = f"Two threads, {THREADS_STATES} rows, float64, two cores, best of {THREADS_CALLS} calls by the wall clock"
    columns = ("work", "1 thread, ns per state", "2 threads, ns per state", "faster by", "goal")
    if cores() < 2:
        return [Table(title, columns, (), ("This process may use one core only.",))]
    rows = []
    for robot in arms(settings.robots):
        given = states(robot, THREADS_STATES)
        for function in ("inverse_dynamics", "forward_dynamics"):
            calls = {threads: batch(robot, function, given, threads)[0].call for threads in (1, 2)}
            contenders = [Contender(str(threads), call, THREADS_STATES) for threads, call in calls.items()]
            timed = race(contenders, THREADS_CALLS, sample=1e-9, clock=SEVERAL_CORES)
            one, two = (float(timed.samples[str(threads)].min()) for threads in calls)
            rows.append((f"{robot.name}, {function}", one, two, one / two, THREADS_GOAL))
    missed = [f"below the goal: {row[0]}: {row[3]:.3g} of {THREADS_GOAL:g}" for row in rows if row[3] < THREADS_GOAL]
    return [Table(title, columns, tuple(rows), (*busy(), *missed))]
