"""Batches of 4096 states of six- and seven-joint arms, one core."""

from __future__ import annotations

from appell.table import Table
from appell_lab.bench.contest import Entry, Settings, contest, contest_table, difference
from appell_lab.bench.ours import batch, columns
from appell_lab.bench.peers import traced
from appell_lab.bench.peers.mujoco import mujoco
from appell_lab.bench.peers.pinocchio import pinocchio
from appell_lab.bench.subjects import arms, states

STATES = 4096
GOALS = {
    ("puma560", "inverse_dynamics"): 30.0, ("puma560", "forward_dynamics"): 35.0,
    ("ur5", "inverse_dynamics"): 30.0, ("ur5", "forward_dynamics"): 35.0,
    ("panda arm", "inverse_dynamics"): 25.0, ("panda arm", "forward_dynamics"): 25.0,
}  # fmt: skip
"""Against Pinocchio's batch call with one thread."""

GOAL_TRACED = 5.0
"""Against Pinocchio's algorithms through CasADi."""


def run(settings: Settings) -> list[Table]:
    rows = []
    for robot in arms(settings.robots):
        for function in ("inverse_dynamics", "forward_dynamics"):
            rows += contest_of(robot, function, settings)
    return [
        contest_table(
            f"Batches of {STATES} states, float64, one core",
            rows,
            "appell, rows: arrays (N, n) as they come; columns: arrays (n, N). Pinocchio's batch calls get columns.",
            "MuJoCo: a Python loop that writes a state and calls mj_inverse or mj_forward, contacts and limits off.",
        )
    ]


def contest_of(robot, function: str, settings: Settings) -> list[tuple]:
    given = states(robot, STATES)
    few = [array[:256] for array in given]
    peer, other = pinocchio(robot), mujoco(robot)
    right = peer.many(function, given) if peer else None
    ours, result = batch(robot, function, given)
    entries = [Entry(columns(robot, function, given))]
    if peer is not None and right is not None:
        entries.append(Entry(peer.batch(function, given), GOALS[robot.name, function], 0.0))
        entries.append(Entry(peer.loop(function, few)))
        if traced.available():
            contender, out = traced.traced_pinocchio(peer, function, given)
            contender.call()
            entries.append(Entry(contender, GOAL_TRACED, difference(out, right)))
    if other is not None:
        far = None if right is None else difference(other.many(function, few), right[: len(few[0])])
        entries.append(Entry(other.loop(function, few), None, far))
    own = Entry(ours, None, None if right is None else difference(result, right))
    return contest(f"{robot.name}, {function}", own, entries, settings)
