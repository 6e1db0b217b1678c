"""The result of a simulation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import Any

import numpy as np

from appell.checks import require_choice
from appell.deprecation import renamed_attributes
from appell.names import entry_indices
from appell.plotting import COLOURS, lines, new_figure, save_figure, tidy
from appell.robot.simulation_model import LimitViolation
from appell.simulation import files
from appell.simulation.contact.surfaces import Surface
from appell.simulation.records import ContactInterval, Event, Impact, Work


@renamed_attributes(drive_names="actuator_names", excesses="limit_violations")
@dataclass(frozen=True)
class Trajectory:
    """A motion, sampled at N times.

    Where the samples are the steps of the integrator, an impact gives two samples at one time: before and after it, also at the
    start.

    Attributes:
        t: times, (N,). [s]
        q, qd, qdd: configurations (N, nq), generalized velocities and accelerations (N, nv).
        tau: forces of the actuators, within their limits, (N, nu). [N m, N]
        energy: kinetic plus potential, (N,). [J]
        work: of actuators, passive forces and contact since the start, integrated along with the motion.
        saturated: where actuators are at their effort limit, (N, nu).
        impacts: in order of time.
        contacts: time intervals in which points stay on surfaces, in order of their start.
        events: zeros of the event functions.
        limit_violations: time intervals in which joint limits are exceeded.
        status: `"finished"`, `"stopped by <event>"`, `"too many impacts"` or `"no progress"`; all but the first end before
            the duration is over.
        problems: reasons not to rely on the motion, each with a remedy: it ended early, or its energy balance is off by more
            than the tolerance explains. Empty for a good one; `appell.simulate` warns of them.
        joint_names, q_names, qd_names, actuator_names: names of the joints and of the entries of q, qd and tau.
        contact_forces: forces of the surfaces on every point that stays on one, by its name, (N, 3) along the world's axes; in
            the order of `ContactOptions.points`, of default points in that of their bodies.
            Impulses of impacts are apart, in `impacts`. Of time stepping they are, like qdd, means of the step before a sample:
            times the time between samples they are the momentum given. [N]
        surfaces: contact surfaces, in the order of their indices in `impacts` and `contacts`; of a file None for an
            `ImplicitSurface` or a surface of one's own, whose functions it cannot hold.
        stepped_from: time from which the motion is that of time stepping: 0 for `method="moreau"`, later where
            `method="auto"` has gone over to it, None where it is not used. [s]
        fallback_steps: times at which an event-driven run found no contact mode that lasts, and took one short step of time
            stepping. [s]
        implicit_intervals: times (start, end) between which an event-driven run moved on by implicit steps, since those of its
            integrator collapsed. [s]

    Example:
        >>> import appell
        >>> arm = appell.load("planar2r")
        >>> motion = appell.simulate(arm, [0.5, 0.0], [0.0, 0.0], duration=1.0, t_eval=0.25)
        >>> motion.t.tolist(), motion.q.shape, motion.status
        ([0.0, 0.25, 0.5, 0.75, 1.0], (5, 2), 'finished')
        >>> bool(abs(motion.energy - motion.energy[0]).max() < 1e-7)
        True
    """

    t: np.ndarray
    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray
    tau: np.ndarray
    energy: np.ndarray
    work: Work
    saturated: np.ndarray
    impacts: tuple[Impact, ...]
    contacts: tuple[ContactInterval, ...]
    events: tuple[Event, ...]
    limit_violations: tuple[LimitViolation, ...]
    status: str
    robot_name: str
    joint_names: tuple[str, ...]
    q_names: tuple[str, ...]
    qd_names: tuple[str, ...]
    actuator_names: tuple[str, ...]
    problems: tuple[str, ...] = ()
    contact_forces: Mapping[str, np.ndarray] = field(default_factory=dict)
    stepped_from: float | None = None
    fallback_steps: tuple[float, ...] = ()
    implicit_intervals: tuple[tuple[float, float], ...] = ()
    surfaces: tuple[Surface | None, ...] = ()

    def __len__(self) -> int:
        return len(self.t)

    def __repr__(self) -> str:
        return (
            f"Trajectory({self.robot_name!r}, {len(self)} samples to t = {self.t[-1]:g} s, "
            f"{len(self.impacts)} impacts, {self.status})"
        )

    @property
    def balance(self) -> np.ndarray:
        """Change of the energy minus all work, (N,): the error of the integrator. [J]

        Example:
            >>> import appell
            >>> arm = appell.load("planar2r")
            >>> motion = appell.simulate(arm, [0.5, 0.0], [0.0, 0.0], duration=1.0, tau=[3.0, 1.0])
            >>> bool(abs(motion.balance).max() < 1e-7 < abs(motion.work.actuators).max())
            True
        """
        return self.energy - self.energy[0] - self.work.total + self.work.total[0]

    save = files.save
    to_pandas = files.to_pandas
    to_csv = files.to_csv

    @classmethod
    def load(cls, path: str | PathLike) -> Trajectory:
        """Read a file of `save`.

        Raises:
            FileNotFoundError: there is no such file.
            ArgumentError: it is something else.
        """
        return cls(**files.load_fields(path))

    def plot(self, path: str | PathLike | None = None, joints: str | Sequence[str] | None = None) -> Any:
        """A figure of q, qd, tau (if not zero) and energy over time, impacts marked. Needs matplotlib.

        Args:
            path: file to write the figure to, its format taken from the name.
            joints: names of the joints to show, or one of them; all by default.

        Returns:
            The `matplotlib.figure.Figure`.
        """
        joints = [joints] if isinstance(joints, str) else joints
        for joint in joints or ():
            require_choice("joint", joint, self.joint_names)
        q_names, qd_names = self.q_names, self.qd_names
        curves = [("q [rad, m]", q_names, self.q), ("qd [rad/s, m/s]", qd_names, self.qd)]
        if self.tau.any():
            curves.append(("tau [N m, N]", self.actuator_names, self.tau))
        if self.contact_forces:
            sizes = [np.linalg.norm(force, axis=1) for force in self.contact_forces.values()]
            curves.append(("contact forces [N]", tuple(self.contact_forces), np.stack(sizes, axis=1)))
        figure = new_figure(9.0, 2.5 * (len(curves) + 1))
        panels = figure.subplots(len(curves) + 1, 1, sharex=True)
        for panel, (label, names, values) in zip(panels, curves, strict=False):
            shown = None if names == tuple(self.contact_forces) else joints
            lines(panel, self.t, _columns_of_joints(values, names, shown), label)
        _energy(panels[-1], self)
        for panel in panels:
            mark_impacts(panel, self)
        panels[0].set_title(_title(self), loc="left", fontsize=11)
        save_figure(figure, path)
        return figure


def _energy(panel: Any, trajectory: Trajectory) -> None:
    """Energy of the robot, and the work of the forces that change it."""
    t, work = trajectory.t, trajectory.work
    panel.plot(t, trajectory.energy, color=COLOURS[0], linewidth=1.5, label="kinetic + potential")
    shown = [trajectory.energy]
    for name, values, colour in zip(work._fields, work, COLOURS[1:], strict=False):
        if np.abs(values).max() > 0.0:
            panel.plot(t, values, "--", color=colour, linewidth=1.2, label=f"work of {name}")
            shown.append(values)
    if len(shown) > 1:
        panel.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    panel.set(ylabel="energy [J]", xlabel="time [s]", ylim=_span(np.concatenate(shown)))
    panel.ticklabel_format(useOffset=False)


def _title(trajectory: Trajectory) -> str:
    counts = {"impacts": trajectory.impacts, "contacts": trajectory.contacts, "events": trajectory.events}
    occurred = [f"{len(items)} {name if len(items) > 1 else name[:-1]}" for name, items in counts.items() if items]
    status = [] if trajectory.status == "finished" else [trajectory.status]
    return ", ".join([f"{trajectory.robot_name}: {trajectory.t[-1]:g} s", *occurred, *status])


def mark_impacts(panel: Any, trajectory: Trajectory) -> None:
    """A thin vertical line at every impact."""
    for impact in trajectory.impacts:
        panel.axvline(impact.time, color="0.8", linewidth=0.8, zorder=0)
    tidy(panel)


def _span(energy: np.ndarray) -> tuple[float, float]:
    """Limits of an energy axis: at least 1 % of the largest energy, so that rounding errors are not magnified."""
    low, high = float(energy.min()), float(energy.max())
    margin = max(0.05 * (high - low), 0.005 * max(abs(low), abs(high)), 1e-12)
    return low - margin, high + margin


def _columns_of_joints(values: np.ndarray, names: Sequence[str], joints: Sequence[str] | None) -> dict[str, np.ndarray]:
    """Columns by name; all joints by default."""
    indices = entry_indices(names)
    shown = range(len(names)) if joints is None else sorted(k for joint in joints for k in indices.get(joint, ()))
    return {names[k]: values[:, k] for k in shown}
