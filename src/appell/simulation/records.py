"""Results of a simulation besides the samples, and the recorder that collects all of them during a run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from appell.deprecation import renamed_attributes
from appell.robot.simulation_model import LimitViolation, SimulationModel

if TYPE_CHECKING:
    from appell.simulation.linear_step import LinearStep
    from appell.simulation.phase import IntegratorStep, Phase
    from appell.simulation.plant import Plant

LIMIT_TOL = 1e-9
"""Smaller violations are rounding errors of joints at their limit. [rad, m, rad/s, m/s]"""


@renamed_attributes(walls="surfaces")
@dataclass(frozen=True)
class Impact:
    """All points that hit surfaces at one instant. Arrays have one entry or one row per point.

    Attributes:
        time: [s]
        points: names of the frames that received an impulse.
        surfaces: index of the surface that each of them hit, in the order given to `appell.simulate`.
        impulses: normal impulses towards the allowed side, never negative, (k,). [N s]
        friction_impulses: tangential impulses in the world frame, (k, 3). [N s]
        normal_velocity_change: jump of the normal velocity, 1 + e times the approach velocity, (k,). [m/s]
        incidence: angle between the velocity before the impact and the normal, (k,). [rad]
        energy_before, energy_after: kinetic plus potential energy of the robot. [J]
        q: configuration at the impact, (nq,).
        qd_before, qd_after: generalized velocities, (nv,).
    """

    time: float
    points: tuple[str, ...]
    surfaces: tuple[int, ...]
    impulses: np.ndarray
    friction_impulses: np.ndarray
    normal_velocity_change: np.ndarray
    incidence: np.ndarray
    energy_before: float
    energy_after: float
    q: np.ndarray = field(repr=False)
    qd_before: np.ndarray = field(repr=False)
    qd_after: np.ndarray = field(repr=False)


@renamed_attributes(wall="surface")
@dataclass(frozen=True)
class ContactInterval:
    """A time interval in which a point stays on a surface.

    Attributes:
        point, surface: name of the frame, index of the surface.
        start, end: [s]
    """

    point: str
    surface: int
    start: float
    end: float


@dataclass(frozen=True)
class Event:
    """A zero of an event function.

    Attributes:
        name: of the function.
        number: its index among the given functions.
        time: [s]
        q, qd: state there, (nq,), (nv,).
    """

    name: str
    number: int
    time: float
    q: np.ndarray = field(repr=False)
    qd: np.ndarray = field(repr=False)


@renamed_attributes(drives="actuators", joints="passive", walls="contact")
class Work(NamedTuple):
    """Work done on the robot since the start, each (N,). [J]

    Attributes:
        actuators: by their forces.
        passive: by damping and friction in the joints, never positive.
        contact: by impacts and by friction on surfaces, never positive.
    """

    actuators: np.ndarray
    passive: np.ndarray
    contact: np.ndarray

    @property
    def total(self) -> np.ndarray:
        """Sum of the three."""
        return self.actuators + self.passive + self.contact


class Sample(NamedTuple):
    """A state of the motion with its forces; `work` is that of actuators, passive forces and contact since the start, (3,)."""

    t: float
    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray
    tau: np.ndarray
    saturated: np.ndarray
    work: np.ndarray
    contact_forces: dict[str, np.ndarray]


class Recorder:
    """Collects samples during a run.

    Attributes:
        times: increasing times to sample at; None for every step, and both sides of every impact.
        last: the state in which the run has ended.
    """

    def __init__(self, plant: Plant, times: np.ndarray | None) -> None:
        self.plant, self.times = plant, times
        self.limit_monitor = LimitMonitor(plant.model)
        self.samples: list[Sample] = []
        self.impacts: list[Impact] = []
        self.contacts: list[ContactInterval] = []
        self.last: Sample | None = None
        self._impact_work = np.zeros(3)
        self._before_impact: Sample | None = None
        self._next = 0
        self._open: dict[tuple[str, int], float] = {}

    def begin(self, t: float, y: np.ndarray, phase: Phase, impacts: tuple[Impact, ...], work: np.ndarray) -> None:
        """A phase begins in this state, after these impacts and work beside them."""
        if impacts and self._before_impact is not None:
            self.samples.append(self._before_impact)
        self._before_impact = None
        self.impacts += [impact for impact in impacts if impact.points]
        self._impact_work += work
        for impact in impacts:  # of points, or of joints at their stops alone
            self._impact_work[2 if impact.points else 1] += impact.energy_after - impact.energy_before
        self.limit_monitor.check(t, *self.plant.split(y))
        if self.times is None:
            self.samples.append(self._sample(t, y, phase))
        self._update_contacts(t, phase.contacts)

    def accept(self, step: IntegratorStep | LinearStep, until: float, phase: Phase, last: bool) -> None:
        """A step is accepted from its start until this time, where the phase ends if it is the last."""
        if self.times is None:
            times = [] if last else [until]
        else:
            end = int(np.searchsorted(self.times, until, side="left"))
            times = self.times[self._next : end].tolist()
            self._next = max(end, self._next)
        for t in times:
            self.samples.append(self._sample(t, self.plant.project(step.state(t), phase), phase))
        self.limit_monitor.check(until, *self.plant.split(step.state(until)))

    def add_work(self, work: np.ndarray) -> None:
        """Work (3,) that the state vector does not have."""
        self._impact_work += work

    def end(self, t: float, y: np.ndarray, phase: Phase) -> None:
        """A phase ends in this state, which is a sample if an impact follows."""
        if self.times is None:
            self._before_impact = self._sample(t, y, phase)

    def finish(self, t: float, y: np.ndarray, phase: Phase, goes_on: bool = False) -> None:
        """The run ends in this state: a sample, where another method goes on from it only if it is asked for."""
        self.last = self._sample(t, y, phase)
        if self.times is None:
            asked = t > self.samples[-1].t
        else:
            left = self.times[self._next :]
            asked = len(left) and (left[0] <= t or not goes_on)
        self.samples += [self.last] if asked else []
        self._update_contacts(t, ())

    def fields(self) -> dict[str, Any]:
        """Fields of the trajectory."""
        last = self.last or self.samples[-1]
        samples, count = self.samples or [last], len(self.samples)
        columns = dict(zip(Sample._fields, zip(*samples, strict=True), strict=True))
        forces = columns.pop("contact_forces")
        names, none = dict.fromkeys(contact.point for contact in self.contacts), np.zeros(3)
        on_points = {name: np.array([sample.get(name, none) for sample in forces])[:count] for name in names}
        return {
            **{name: np.array(column)[:count] for name, column in columns.items()}, "contact_forces": on_points,
            "impacts": tuple(self.impacts), "contacts": tuple(self.contacts),
            "limit_violations": self.limit_monitor.finish(last.t),
        }  # fmt: skip

    def _sample(self, t: float, y: np.ndarray, phase: Phase) -> Sample:
        q, qd = self.plant.split(y)
        qdd, forces = phase.forces(t, q, qd)
        on_points: dict[str, np.ndarray] = {}
        for (point, _), force in zip(phase.contacts, forces, strict=False):  # forces of stops follow those of points
            on_points[point] = on_points.get(point, 0.0) + force
        return Sample(t, q, qd, qdd, *self.plant.tau(t, q, qd), self.plant.work(y) + self._impact_work, on_points)

    def _update_contacts(self, t: float, closed: tuple[tuple[str, int], ...]) -> None:
        for pair in [pair for pair in self._open if pair not in closed]:
            self.contacts.append(ContactInterval(*pair, self._open.pop(pair), t))
        for pair in closed:
            self._open.setdefault(pair, t)


class LimitMonitor:
    """Reports joint limits that a motion exceeds. It does not enforce them."""

    def __init__(self, model: SimulationModel) -> None:
        self.limits, self.violations = model.limits, list[LimitViolation]()
        self._names = (*model.q_names, *model.q_names, *model.qd_names)
        position, velocity = ("position",) * model.nq, ("velocity",) * model.nv
        self._quantities = (*position, *position, *velocity)
        self._bounds = ("lower",) * model.nq + ("upper",) * (model.nq + model.nv)
        self._open: dict[int, tuple[float, float]] = {}
        self._needed = any(np.isfinite(values).any() for values in self.limits[:3])

    def check(self, t: float, q: np.ndarray, qd: np.ndarray) -> None:
        """Compare a state of the motion with the limits."""
        if not self._needed:
            return
        lower, upper, velocity, _ = self.limits
        violation = np.concatenate([lower - q, q - upper, np.abs(qd) - velocity])
        violated = np.flatnonzero(violation > LIMIT_TOL).tolist()
        for i in [i for i in self._open if i not in violated]:
            self._close(i, t)
        for i in violated:
            start, worst = self._open.get(i, (t, 0.0))
            self._open[i] = (start, max(worst, float(violation[i])))

    def finish(self, t: float) -> tuple[LimitViolation, ...]:
        """All violations of a motion that ends at time t, in order of time."""
        for i in list(self._open):
            self._close(i, t)
        return tuple(sorted(self.violations, key=lambda violation: violation.start))

    def _close(self, i: int, t: float) -> None:
        start, worst = self._open.pop(i)
        self.violations.append(LimitViolation(self._names[i], self._quantities[i], self._bounds[i], start, t, worst))
