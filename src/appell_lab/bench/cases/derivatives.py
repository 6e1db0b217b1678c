"""Derivatives of inverse and forward dynamics: batches, one state, products with directions, second derivatives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

import appell
from appell.robot.compiled import CompiledRobot
from appell.robot.robot import Robot
from appell.table import Table
from appell_lab.bench.contest import Entry, Settings, contest, contest_table, difference
from appell_lab.bench.ours import batch, call
from appell_lab.bench.peers.pinocchio import pinocchio
from appell_lab.bench.subjects import arms, chain, humanoid, iiwa14, states
from appell_lab.bench.timing import Contender

FUNCTIONS = ("inverse_dynamics", "forward_dynamics")
GOALS = {
    "puma560": (95.0, 69.0), "ur5": (95.0, 69.0), "panda arm": (50.0, 43.0), "iiwa14": (50.0, 43.0), "g1": (13.0, 10.0),
    "chain of 30": (15.0, None), "chain of 100": (15.0, None),
}  # fmt: skip
"""Derivatives of inverse and forward dynamics in batches, against one Python call of Pinocchio for each state."""

CALL_GOALS = (10.0, 9.0)
"""The same for one Python call for one state, of the Panda."""

MULTIPLE = 4.0
"""Products with directions and weights should take at most so many times the function."""

ARM_STATES, HUMANOID_STATES, SECOND_STATES = 4096, 256, 1024
CHAIN_STATES = {30: 512, 100: 64}


def derivatives_case(settings: Settings) -> list[Table]:
    """Derivatives of arms, a humanoid and long chains, one core."""
    return [batches(settings), single(settings), products(settings), second(settings)]


def all_arms(folder: Path) -> list[Robot]:
    """The arms of the other cases, and the iiwa 14."""
    return [robot for robot in (*arms(folder), iiwa14(folder)) if robot is not None]


def subjects(settings: Settings) -> Iterator[tuple[Robot, int]]:
    """Robots, and states of a batch: matrices of large robots that fit into the cache."""
    for robot in all_arms(settings.robots):
        yield robot, ARM_STATES
    if (robot := humanoid("g1", settings.robots)) is not None:
        yield robot, HUMANOID_STATES
    for n, count in CHAIN_STATES.items():
        yield replace(chain(n), name=f"chain of {n}"), count


def batches(settings: Settings) -> Table:
    """Beside the functions themselves and Pinocchio."""
    rows = []
    for robot, count in subjects(settings):
        given = states(robot, count)
        few, peer = [array[:64] for array in given], pinocchio(robot)
        for function, goal in zip(FUNCTIONS, GOALS[robot.name], strict=True):
            name = f"{function}_derivatives"
            ours, result = batch(robot, name, given)
            itself = replace(batch(robot, function, given)[0], name="the function itself")
            entries, far = [Entry(itself)], None
            if peer is not None:
                far = difference(result[:64], peer.many(name, few))
                entries.append(Entry(peer.loop(name, few), goal))
            rows += contest(f"{robot.name}, {count} states, {name}", Entry(ours, None, far), entries, settings)
    return contest_table(
        "Derivatives, batches of rows, float64, one core", rows, "Pinocchio has no batch call for derivatives."
    )


def single(settings: Settings) -> Table:
    """One state, one Python call."""
    rows = []
    for robot in all_arms(settings.robots):
        given, peer = states(robot, 1), pinocchio(robot)
        for function, goal in zip(FUNCTIONS, CALL_GOALS, strict=True):
            name = f"{function}_derivatives"
            ours, result = call(robot, name, given)
            entries, far = [], None
            if peer is not None:
                entries.append(Entry(peer.call(name, given), goal if robot.name == "panda arm" else None))
                far = difference(result, peer.one(name, [array[0] for array in given]))
            rows += contest(f"{robot.name}, {name}", Entry(ours, None, far), entries, settings)
    return contest_table("Derivatives, one state, one Python call, float64, one core", rows)


def products(settings: Settings) -> Table:
    """Products of the Jacobian with directions and weights, beside the function."""
    rows = []
    for robot in all_arms(settings.robots):
        given, dyn = states(robot, ARM_STATES), appell.compile(robot, threads=1)
        for function in FUNCTIONS:
            itself, result = batch(robot, function, given)
            entry = Entry(replace(itself, name="the function itself"), 1.0 / MULTIPLE)
            for contender in directional(dyn, function, given, result):
                rows += contest(f"{robot.name}, {function}", Entry(contender), [entry], settings)
    title = f"Products with the Jacobian, batches of {ARM_STATES} states, float64, one core"
    return contest_table(
        title, rows, "One direction, or one weight, for each state; with the checks and arrays of a call."
    )


def directional(
    dyn: CompiledRobot, function: str, given: Sequence[np.ndarray], result: np.ndarray
) -> Iterator[Contender]:
    """Products with one direction, and with one weight, for each state, into given arrays."""
    along, gradients = np.empty_like(result), np.empty((len(result), sum(array.shape[1] for array in given)))
    yield Contender("appell.jvp", lambda: appell.jvp(dyn, function, given, given, out=along), len(result))
    yield Contender("appell.vjp", lambda: appell.vjp(dyn, function, given, result, out=gradients), len(result))


def second(settings: Settings) -> Table:
    """Second derivatives of inverse dynamics, beside the first."""
    rows = []
    for robot in all_arms(settings.robots):
        given = states(robot, SECOND_STATES)
        ours, first = (batch(robot, f"inverse_dynamics_{order}derivatives", given)[0] for order in ("second_", ""))
        rows += contest(
            f"{robot.name}, inverse_dynamics", Entry(replace(ours, name="second derivatives")),
            [Entry(replace(first, name="first derivatives"))], settings,
        )  # fmt: skip
    return contest_table(f"Second derivatives, batches of {SECOND_STATES} states, float64, one core", rows)
