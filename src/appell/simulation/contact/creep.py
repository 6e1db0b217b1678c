"""Implicit steps through times in which explicit ones collapse: many contacts slip slowly, stick and slip again.

The steps are those of time stepping (`_native/stepping.c`), implicit in the velocities of the contacts: none needs to know which
contacts stick, slip or lift. Every step is made once whole and once in halves; a third of the difference of both configurations
is the error of the halves. Points stay within `DEPTH` of their surface, and the energy changes by the recorded work. Impacts end
the steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from appell.simulation.contact.compiled import CompiledPairs
from appell.simulation.contact.impact import solve_impact
from appell.simulation.contact.mode import NO_CONTACT
from appell.simulation.contact.phase import CLOSED_GAP_TOL, project_to_surfaces
from appell.simulation.contact.stepper import IMPACT, STEPPED
from appell.simulation.linear_step import LinearStep, StateAtTime
from appell.simulation.phase import Phase
from appell.simulation.plant import Plant

DEPTH = 5e-10
"""Gap up to which contacts are closed, and depth that no point exceeds. [m]"""
REACH = 5e-9
"""Open contacts with gaps up to this take part in a step, so that it need not end where they close. [m]"""
FIRST_STEP, SHORTEST_STEP, LONGEST_STEP = 2e-5, 1e-5, 2e-3
"""Lengths of steps. [s]"""
SLOW_APPROACH = 1e-6
"""Normal velocities that are errors of a step. [m/s]"""
TOLERANCE = 100.0
"""Largest error of the configuration in a step, as multiple of rtol."""
MAX_GROWTH, SAFETY, ORDER = 2.0, 0.8, 2
"""Factors of the step size control, and order of the steps."""


@dataclass(frozen=True)
class CreepPhase(Phase):
    """The contacts of one implicit step, with mean accelerations and forces."""

    pairs: CompiledPairs
    index: np.ndarray  # numbers of the contacts with forces, (m,)
    qdd: np.ndarray
    contact_forces: np.ndarray  # (m, 3)

    @property
    def contacts(self) -> tuple[tuple[str, int], ...]:
        return tuple((self.pairs.point_name(i), self.pairs.surface_index(i)) for i in self.index.tolist())

    def forces(self, t: float, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self.qdd, self.contact_forces

    def project_to_constraints(self, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self.plant.model.project_to_constraints(q, qd)


@dataclass(frozen=True)
class CreepStep(LinearStep):
    """An implicit step with its contacts."""

    phase: CreepPhase


class Advanced(NamedTuple):
    """The state after implicit steps, the contacts and forces of the last one, and the status."""

    state: StateAtTime
    contacts: np.ndarray
    forces: np.ndarray
    status: int


def creep_steps(
    phase: Phase, pairs: CompiledPairs, mu: np.ndarray, t: float, y: np.ndarray, end: float, rtol: float,
    keeps_up: Callable[[int, float], bool] = lambda steps, time: True,
) -> Iterator[CreepStep]:  # fmt: skip
    """Implicit steps from a state, to the end or to an impact, with errors of the configuration up to TOLERANCE rtol.

    They end where `keeps_up` is false for their number and time.
    """
    plant, h, warm, state = phase.plant, FIRST_STEP, False, StateAtTime(t, *phase.plant.split(y), phase.plant.work(y))
    count = 0
    while state.t < end:
        h = min(h, end - state.t)
        whole = _advance(plant, pairs, state, h, 1, warm)
        halves, warm = _advance(plant, pairs, state, 0.5 * h, 2, True), True
        if halves.status not in (STEPPED, IMPACT):
            return
        error = _error(whole.state.q, halves.state.q, rtol) if halves.status == whole.status == STEPPED else 0.0
        factor = min(MAX_GROWTH, SAFETY * max(error, 1e-12) ** (-1.0 / (ORDER + 1)))
        if error > 1.0 and h > SHORTEST_STEP:
            h = max(factor * h, SHORTEST_STEP)
            continue
        after = halves.state
        qdd = (after.qd - state.qd) / max(after.t - state.t, SHORTEST_STEP)
        last = CreepPhase(plant, phase.joints, pairs, halves.contacts, qdd, halves.forces)
        yield CreepStep(plant, state, after, last, repeat=partial(_repeated, plant, pairs, state))
        state = after._replace(t=end) if end - after.t < SHORTEST_STEP * 1e-3 else after
        h, count = min(factor * h, LONGEST_STEP), count + 1
        if state.t == end or halves.status == IMPACT or not keeps_up(count, state.t - t):
            yield CreepStep(plant, state, settled(plant, pairs, mu, state), last)
            return


def _repeated(plant: Plant, pairs: CompiledPairs, state: StateAtTime, end: float) -> StateAtTime | None:
    """The state after a step from a state, in halves, that ends at this time."""
    halves = _advance(plant, pairs, state, 0.5 * (end - state.t), 2, True)
    return halves.state._replace(t=end) if halves.status == STEPPED else None


def settled(plant: Plant, pairs: CompiledPairs, mu: np.ndarray, state: StateAtTime) -> StateAtTime:
    """The state without the depths and slow normal velocities that steps leave at closed contacts, with their work."""
    t, q, qd, work = state
    before = plant.model.energy(q, qd)
    q = project_to_surfaces(plant, pairs, q, NO_CONTACT.index)
    contacts = pairs.state(q, qd)
    closed = contacts.select((contacts.gap <= CLOSED_GAP_TOL) & (contacts.gap_rate < SLOW_APPROACH))
    if len(closed.index) and closed.gap_rate.min() > -SLOW_APPROACH:
        qd = solve_impact(plant.model.mass_matrix(q), qd, closed, np.zeros(len(closed.index)), mu[closed.index]).qd
    return StateAtTime(t, q, qd, work + np.array([0.0, 0.0, plant.model.energy(q, qd) - before]))


def _error(coarse: np.ndarray, fine: np.ndarray, rtol: float) -> float:
    """The largest error of a configuration after two halves of a step, by that after a whole one, as part of TOLERANCE rtol times
    its size or 1."""
    return float((np.abs(coarse - fine) / ((2**ORDER - 1) * TOLERANCE * rtol * np.maximum(1.0, np.abs(fine)))).max())


def _advance(plant: Plant, pairs: CompiledPairs, state: StateAtTime, h: float, steps: int, warm: bool) -> Advanced:
    """The state after so many steps of h, or at the first impact, before it; `warm`: a step from a state nearby was the last."""
    stepper, (t, q, qd, work) = pairs.stepper, state
    native, nq, nv = stepper.native, len(q), len(qd)
    native.start(np.ascontiguousarray(q), np.ascontiguousarray(qd), warm)
    states = np.empty((steps, nq)), np.empty((steps, nv)), np.empty((steps, 3))
    rows = np.empty((stepper.contacts * (steps + 1) + 1, 5))
    usual = native.depth, native.reach
    native.depth, native.reach = DEPTH, REACH
    done, status, left, count = native.run(plant.tau(t, q, qd)[0], h, steps, *states, rows)
    native.depth, native.reach = usual
    rows = rows[:count]
    if status == IMPACT:
        more = stepper.vector("work", 3)
        more[2] -= native.energy - native.energy_before
        q, qd, t = stepper.vector("q", nq), stepper.vector("qd_before", nv), t + (done + 1) * h - left
        rows = rows[rows[:, 0] == rows[:, 0].max(initial=0.0)]
    elif status == STEPPED:
        q, qd, more, t = states[0][-1], states[1][-1], states[2][-1], t + steps * h
        rows = rows[rows[:, 0] == steps - 1]
    else:
        return Advanced(state, np.zeros(0, dtype=int), np.zeros((0, 3)), status)
    return Advanced(StateAtTime(t, q, qd, work + more), rows[:, 1].astype(int), rows[:, 2:].copy(), status)
