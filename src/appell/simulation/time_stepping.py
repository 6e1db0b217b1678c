"""Time stepping after Moreau and Jean with impacts at their time, `method="moreau"`: whole steps in compiled code.

`src/appell/_native/stepping.c` has the equations of a step, docs/theory/contact.md explains them. Controllers and functions of
the state are evaluated at the start of a step and held. Steps end at samples and at terminal events; event functions between
steps are those of states with linear velocities.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NoReturn

import numpy as np

from appell.errors import SimulationError
from appell.progress import Progress
from appell.robot.simulation_model import LimitViolation
from appell.simulation.contact.stepper import ACCEPTABLE, IMPACT, NOT_FINITE, Stepper
from appell.simulation.event_detector import EventDetector
from appell.simulation.linear_step import LinearStep, StateAtTime
from appell.simulation.loop import FINISHED, STOPPED, TOO_MANY_IMPACTS
from appell.simulation.plant import Plant, all_finite, first_nonfinite
from appell.simulation.records import ContactInterval, Impact, LimitMonitor, Sample

PORTION = 256
"""Steps of one call at most: signals are handled between calls."""
START_DEPTH = 1e-6
"""Depth behind a surface up to which a run may start. [m]"""

MIN_INERTIA = 1e-10
"""Least inertia that a generalized velocity moves while the others are free, with contacts. [kg m², kg]"""
MAX_MOVE = 1e3
"""A joint that moves further than this in a step diverges. [rad, m]"""
STOP_TOL = 2e-6
"""How far a joint may pass its stop. [rad, m]"""
NEAR = 1e-9
"""Times within this part of a step of each other are the same."""


@dataclass
class TimeSteppingRun:
    """One run, with its samples.

    Attributes:
        times: increasing times to sample at; None for every step, and both sides of every impact.
    """

    plant: Plant
    stepper: Stepper
    dt: float
    detector: EventDetector
    progress: Progress
    times: np.ndarray | None = None
    impacts: list[Impact] = field(default_factory=list)
    _blocks: list[tuple[np.ndarray, ...]] = field(default_factory=list)  # of samples: t, q, qd, work
    _held: list[tuple[int, np.ndarray, np.ndarray]] = field(default_factory=list)  # samples, tau, saturated of a block
    _forces: list[np.ndarray] = field(default_factory=list)  # rows (sample, contact, x, y, z)
    _count: int = 0
    _solver: tuple[int, int, float] = 0, 0, 0.0  # contact problems so far, those without solution, largest residual
    _before: Any = None  # the end of the path so far
    _tau: np.ndarray = field(default_factory=lambda: np.zeros(0))
    _saturated: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=bool))

    def run(self, q: np.ndarray, qd: np.ndarray, duration: float, max_impacts: int, start: float = 0.0) -> str:
        """Simulate from this state at the start to the end; returns the status."""
        actuation, native = self.plant.actuation, self.stepper.native
        try:
            native.start(q, qd)
        except FloatingPointError:
            self._raise_diverged(start, q, qd)
        self._require_no_penetration(q, qd)
        self._require_inertia(q, qd)
        t = start
        held = actuation.period is not None or actuation.constant
        first_multiple = min(math.ceil(start / self.dt - NEAR) * self.dt, duration)
        while t < duration:
            if t >= actuation.next_sample:
                actuation.sample(t, q, qd)
            self._tau, self._saturated = self.plant.tau(t, q, qd)
            if not all_finite(self._tau):
                self._raise_diverged(t, q, qd)
            if not self._blocks:
                self._append([t], q[None], qd[None], np.zeros((1, 3)))
                self.detector.begin(t, q, qd)
            end = self._next_stop(t, first_multiple if first_multiple - t > NEAR * self.dt else duration)
            steps = max(1, math.ceil((end - t) / self.dt * (1.0 - 1e-9)))
            dt = (end - t) / steps if steps * self.dt > (end - t) * (1.0 + 1e-9) or actuation.period else self.dt
            portion = min(steps, PORTION) if held and not self.detector.functions else 1
            status = self._steps(t, dt, portion, max_impacts)
            if status:
                return status
            t = end if portion == steps else t + portion * dt
            q, qd = self._blocks[-1][1][-1], self._blocks[-1][2][-1]
            self.progress.show(t)
        return FINISHED

    def _next_stop(self, t: float, end: float) -> float:
        """The first of an end, the controller's next sample and the next sample time."""
        stops = [end, self.plant.actuation.next_sample]
        if self.times is not None:
            k = int(self.times.searchsorted(t + NEAR * self.dt, side="right"))
            stops += self.times[k : k + 1].tolist()
        last = min(stops) + NEAR * self.dt
        return next(stop for stop in stops if stop <= last)

    def _steps(self, t: float, dt: float, steps: int, max_impacts: int) -> str | None:
        """So many steps from time t; returns the status where the run ends."""
        model, native = self.plant.model, self.stepper.native
        done = 0
        while done < steps:
            n = steps - done
            q, qd, work = np.empty((n, model.nq)), np.empty((n, model.nv)), np.empty((n, 3))
            rows = np.empty((self.stepper.contacts + 16 * n, 5))
            count, status, left, recorded = native.run(self._tau, dt, n, q, qd, work, rows)
            self._solver = native.steps + native.impacts, native.failures, native.worst_residual
            rows = rows[:recorded]
            rows[:, 0] += self._count
            self._forces.append(rows)
            times = t + dt * np.arange(done + 1, done + count + 1)
            done += count
            self._before = (
                self.plant.model.require_regular(q[:count], qd[:count], self._before) if count else self._before
            )
            stopped = self._append(times, q[:count], qd[:count], work[:count]) if count else None
            if stopped:
                return stopped
            last = self.stepper.vector("qd", model.nv)
            if status == NOT_FINITE or not np.abs(last).max(initial=0.0) * dt <= MAX_MOVE:
                self._raise_diverged(t + done * dt, self.stepper.vector("q", model.nq), last)
            if status == IMPACT:
                stopped = self._record_impact(t + (done + 1) * dt - left)
                if stopped:
                    return stopped
                if len(self.impacts) > max_impacts:
                    return TOO_MANY_IMPACTS
        return None

    def _append(self, times: Any, q: np.ndarray, qd: np.ndarray, work: np.ndarray) -> str | None:
        """Add samples; returns the status where an event ends the run."""
        times = np.asarray(times, dtype=float)
        if self.detector.functions and self._blocks:
            before = StateAtTime(*(block[-1] for block in self._blocks[-1]))
            after = StateAtTime(float(times[0]), q[0], qd[0], work[0])
            if after.t > before.t:
                step = LinearStep(self.plant, before, after, repeat=partial(self._repeated, before))
                step = self.detector.scan_linear(step)
                times, q, qd, work = (np.array([value]) for value in step.last)
            else:  # the other side of an impact
                self.detector.begin(*after[:3])
        count = len(times)
        self._blocks.append((times, q, qd, work))
        self._held.append((count, self._tau, self._saturated))
        self._count += count
        return STOPPED + self.detector.stopped_by if self.detector.stopped_by is not None else None

    def _repeated(self, before: StateAtTime, end: float) -> StateAtTime | None:
        """The state after the last step, made again with an earlier end; so are its contact forces."""
        found = self.stepper.step(before.q, before.qd, self._tau, end - before.t, warm=True)
        if found is None:
            return None
        found.forces[:, 0] = self._count
        self._forces[-1] = found.forces
        return StateAtTime(end, found.q, found.qd, before.work + found.work)

    # --- results ------------------------------------------------------------------------------------------------------

    def fields(self, stops: bool) -> dict[str, Any]:
        """Fields of the trajectory; accelerations and forces are means of the step in which a sample lies."""
        t, q, qd, work = (np.concatenate(parts) for parts in zip(*self._blocks, strict=True))
        counts, *held = zip(*self._held, strict=True)
        tau, saturated = (np.repeat(np.array(values), counts, axis=0) for values in held)
        rows = np.concatenate(self._forces)
        step = _step_ends(t)
        columns = [q, qd, _mean_accelerations(t, qd)[step], work, tau, saturated]
        violations = self._limit_violations(t, q, qd, stops)
        contacts = _intervals(self.stepper, t, rows, self.dt)
        forces = {name: force[step] for name, force in _forces(self.stepper, rows, len(t)).items()}
        if self.times is not None:
            times, near = self.times, NEAR * self.dt
            if len(times) and times[-1] > t[-1] + near:  # ended early
                times = np.append(times[times < t[-1] - near], t[-1])
            place = np.searchsorted(t, times + near, side="right") - 1
            columns = [column[place] for column in columns]
            forces, t = {name: force[place] for name, force in forces.items()}, times
        names = ("q", "qd", "qdd", "work", "tau", "saturated")
        return {
            "t": t, **dict(zip(names, columns, strict=True)), "impacts": tuple(self.impacts), "contacts": contacts,
            "contact_forces": forces, "limit_violations": violations,
        }  # fmt: skip

    def _limit_violations(
        self, t: np.ndarray, q: np.ndarray, qd: np.ndarray, stops: bool
    ) -> tuple[LimitViolation, ...]:
        """Limits that the samples exceed; stops may be passed by their tolerance."""
        lower, upper, velocity, _ = self.plant.model.limits
        slack = STOP_TOL if stops else 0.0
        nearest = np.clip(q, lower, upper)
        inside = np.where(np.abs(q - nearest) <= slack, nearest, q)
        beyond = np.any(np.hstack([inside < lower, inside > upper, np.abs(qd) > velocity]), axis=1)
        monitor = LimitMonitor(self.plant.model)
        for k in np.flatnonzero(beyond | np.concatenate([[False], beyond[:-1]])):
            monitor.check(float(t[k]), inside[k], qd[k])
        return monitor.finish(float(t[-1]))

    def problems(self) -> tuple[str, ...]:
        """Reasons not to rely on the run, with remedies."""
        problems, failures, residual = self._solver
        if not failures:
            return ()
        return (
            f"{failures} of {problems} contact problems were solved to "
            f"{residual:.1e} m/s only, expected {ACCEPTABLE:g} m/s. Choose a lower friction, fewer contact points, "
            'or method="moreau" with a smaller dt.',
        )

    # --- impacts ------------------------------------------------------------------------------------------------------

    def _record_impact(self, t: float) -> str | None:
        """The last impact of the stepper, with a sample on each side; returns the status where an event ends the run.

        Joints that hit their limits alone are no impact of the trajectory.
        """
        model, stepper = self.plant.model, self.stepper
        q, before, after = (
            stepper.vector(name, size) for name, size in (("q", model.nq), ("qd_before", model.nv), ("qd", model.nv))
        )
        impulses = stepper.vector("impulses", stepper.contacts, 3)
        hit = np.flatnonzero(impulses.any(axis=1))
        work = stepper.vector("work", 3)
        last = float(self._blocks[-1][0][-1])
        if t - last > NEAR * self.dt:
            work_before = np.array(work)
            work_before[2 if len(hit) else 1] -= stepper.native.energy - stepper.native.energy_before
            stopped = self._append([t], q[None], before[None], work_before[None])
            if stopped:
                return stopped
        t = max(t, last) if t - last > NEAR * self.dt else last
        stopped = self._append([t], q[None], after[None], work[None])
        if not len(hit):
            return stopped
        gaps = stepper.vector("gaps", stepper.all_contacts, 5)[hit]
        rates = stepper.vector("rates_before", stepper.all_contacts)[hit]
        speeds = np.linalg.norm(stepper.vector("velocities_before", len(stepper.points), 3), axis=1)
        normal = np.sum(impulses[hit] * gaps[:, 2:], axis=1)
        points, surfaces = hit % len(stepper.points), hit // len(stepper.points)
        speed = speeds[points]
        self.impacts.append(
            Impact(
                time=t, points=tuple(stepper.points[k] for k in points), surfaces=tuple(surfaces.tolist()), impulses=normal,
                friction_impulses=impulses[hit] - normal[:, None] * gaps[:, 2:], normal_velocity_change=gaps[:, 1] - rates,
                incidence=np.arccos(np.clip(np.abs(rates) / np.where(speed > 0.0, speed, 1.0), 0.0, 1.0)),
                energy_before=stepper.native.energy_before, energy_after=stepper.native.energy,
                q=q, qd_before=before, qd_after=after,
            )
        )  # fmt: skip
        return stopped

    # --- errors -------------------------------------------------------------------------------------------------------

    def _require_no_penetration(self, q: np.ndarray, qd: np.ndarray) -> None:
        stepper = self.stepper
        gaps = stepper.vector("gaps", stepper.all_contacts, 5)[:, 0]
        if not len(gaps) or gaps.min() >= -START_DEPTH:
            return
        deepest = int(np.argmin(gaps))
        if deepest >= stepper.contacts:
            limit, upper = divmod(deepest - stepper.contacts, 2)
            name, bound = stepper.limited[limit], "upper" if upper else "lower"
            raise SimulationError(
                f"joint {name!r} starts {-gaps[deepest]:.6g} beyond its {bound} limit. Start within the limits, or choose "
                "limits='report'.",
                time=0.0, state=np.concatenate([q, qd]), quantity=name,
            )  # fmt: skip
        point = stepper.points[deepest % len(stepper.points)]
        raise SimulationError(
            f"point {point!r} is {-gaps[deepest]:.6g} m behind the surface {stepper.surfaces[deepest // len(stepper.points)]} "
            "at the start. Start with every point on the allowed side, or leave this one out of the contact points.",
            time=0.0, state=np.concatenate([q, qd]), quantity=f"gap of {point}",
        )  # fmt: skip

    def _require_inertia(self, q: np.ndarray, qd: np.ndarray) -> None:
        """Raise where an impact would accelerate a joint without bounds."""
        if not self.stepper.contacts:
            return
        moved = 1.0 / np.diag(np.linalg.inv(self.plant.model.mass_matrix(q)))
        least = int(np.argmin(moved))
        if not moved[least] >= MIN_INERTIA:
            name = self.plant.model.qd_names[least]
            raise SimulationError(
                f"{name!r} moves an inertia of {moved[least]:.3g} only in the initial configuration, expected at least "
                f"{MIN_INERTIA:g} kg m² (kg): contacts would give it any velocity. Give its bodies inertia, its joint "
                "rotor_inertia (armature), or lock it.",
                time=0.0, state=np.concatenate([q, qd]), quantity=name,
            )  # fmt: skip

    def _raise_diverged(self, t: float, q: np.ndarray, qd: np.ndarray) -> NoReturn:
        cause, quantity = "velocities grow without end", self.plant.fastest(q, qd)
        if not np.isfinite(self._tau).all():
            cause, quantity = "forces of the actuators are not finite", first_nonfinite("tau", self._tau)
        raise SimulationError(
            f"the motion of {self.plant.model.name!r} cannot be continued beyond t = {t:.9g} s ({cause}): "
            f"{quantity}. Check the actuators, the initial state and bodies without inertia (`appell.check`), or choose a "
            "smaller dt.",
            time=t, state=np.concatenate([q, qd]), quantity=quantity,
        )  # fmt: skip


def joined(first: dict[str, Any], second: dict[str, Any], last: Sample) -> dict[str, Any]:
    """Fields of a trajectory whose second part begins in the last state of the first; works go on, and so do intervals."""
    begin = int(len(second["t"]) > 0 and second["t"][0] == last.t)  # the same state
    arrays = ("t", "q", "qd", "qdd", "work", "tau", "saturated")
    second = {**second, "work": second["work"] + last.work}
    none = [np.zeros((len(fields["t"]), 3)) for fields in (first, second)]
    forces = [fields.get("contact_forces", {}) for fields in (first, second)]
    names = dict.fromkeys([*forces[0], *forces[1]])
    return {
        **{name: np.concatenate([first[name], second[name][begin:]]) for name in arrays},
        "impacts": (*first["impacts"], *second["impacts"]),
        "contacts": _joined_intervals(first["contacts"], second["contacts"], last.t),
        "limit_violations": _joined_intervals(first["limit_violations"], second["limit_violations"], last.t),
        "contact_forces": {
            name: np.concatenate([forces[0].get(name, none[0]), forces[1].get(name, none[1])[begin:]]) for name in names
        },
    }  # fmt: skip


def _joined_intervals(first: Sequence[Any], second: Sequence[Any], t: float) -> tuple[Any, ...]:
    """Contact intervals, or limit violations, of two parts; those that end and begin at time t are one."""
    going_on = {_subject(each): each for each in second if each.start == t}
    whole = [_with_rest(each, going_on.pop(_subject(each), None) if each.end == t else None) for each in first]
    rest = [each for each in second if each.start != t or _subject(each) in going_on]
    return tuple(sorted([*whole, *rest], key=lambda each: each.start))


def _subject(interval: Any) -> tuple:
    """The entries of an interval other than its times and size."""
    return tuple(value for name, value in vars(interval).items() if name not in ("start", "end", "worst"))


def _with_rest(interval: Any, rest: Any) -> Any:
    """The interval with the one that follows it at once."""
    if rest is None:
        return interval
    worst = {"worst": max(interval.worst, rest.worst)} if hasattr(interval, "worst") else {}
    return replace(interval, end=rest.end, **worst)


def _step_ends(t: np.ndarray) -> np.ndarray:
    """Index of the sample that ends the step before each sample; of those at the start, the first step.

    Both sides of an impact are those of the step before it.
    """
    ends = np.flatnonzero(np.diff(t) > 0.0) + 1
    place = np.searchsorted(ends, np.arange(len(t)), side="right") - 1
    return ends[np.maximum(place, 0)] if len(ends) else np.zeros(len(t), dtype=int)


def _mean_accelerations(t: np.ndarray, qd: np.ndarray) -> np.ndarray:
    """Mean accelerations (N, nv) between each sample and the one before it, zero where no time passes."""
    spans = np.diff(t, prepend=t[0])[:, None]
    return np.diff(qd, axis=0, prepend=qd[:1]) * (spans > 0.0) / np.where(spans > 0.0, spans, 1.0)


def _forces(stepper: Stepper, rows: np.ndarray, count: int) -> dict[str, np.ndarray]:
    """Forces on the points that touch, (count, 3) each, from rows (sample, contact, x, y, z)."""
    sample, point = rows[:, 0].astype(int), rows[:, 1].astype(int) % max(len(stepper.points), 1)
    result = {}
    for k in np.unique(point):
        result[stepper.points[k]] = np.zeros((count, 3))
        np.add.at(result[stepper.points[k]], sample[point == k], rows[point == k, 2:])
    return result


def _intervals(stepper: Stepper, t: np.ndarray, rows: np.ndarray, dt: float) -> tuple[ContactInterval, ...]:
    """Intervals in which a point has a contact force on a surface, without gaps of more than a step."""
    intervals = []
    for contact in np.unique(rows[:, 1].astype(int)):
        samples = np.unique(rows[rows[:, 1] == contact, 0].astype(int))
        surface, point = divmod(int(contact), len(stepper.points))
        for run in np.split(samples, np.flatnonzero(np.diff(t[samples]) > 1.5 * dt) + 1):
            start, end = float(t[max(run[0] - 1, 0)]), float(t[run[-1]])
            intervals.append(ContactInterval(stepper.points[point], surface, start, end))
    return tuple(sorted(intervals, key=lambda interval: interval.start))
