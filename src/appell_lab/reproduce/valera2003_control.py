"""Section 4 of Valera et al. 2003: the straight line, its torques, the controlled robot, and what the control law costs."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from appell.control import ComputedTorque, ComputedTorqueIntegral, PointToPoint
from appell.kinematics.trajectories import JointReference, PathReference, joint_line, joint_via_points, valera2003_line
from appell.loading.catalogue import build
from appell.plotting import COLOURS, new_figure, save_figure, tidy
from appell.simulation.integrators import Integration
from appell.simulation.simulate import simulate
from appell.table import Table
from appell_lab.bench.timing import Contender, race
from appell_lab.reproduce.line_figures import draw_arm, draw_each
from appell_lab.reproduce.reproduction import Figure

if TYPE_CHECKING:
    from appell.control import Controller
    from appell.simulation.trajectory import Trajectory

COMPUTERS = {"Pentium, 150 MHz": 0.225e-3, "Pentium II, 350 MHz": 0.061e-3}
"""Printed execution times of the control algorithms. [s]"""
KP, KD, KI = 400.0, 40.0, 2000.0
"""Gains [1/s², 1/s, 1/s³]; the paper gives none. Without the integral, errors decay in 1/20 s without overshoot."""
PERIOD = 1e-3
"""Of the controllers. [s]"""
KNOTS = 6
"""Points of the line through which the spline reference goes."""


@cache
def line() -> PathReference:
    """The line of section 4, in the branch of the reference values."""
    return valera2003_line(build("puma560"))


class Followed(NamedTuple):
    """A reference and the motion of the robot under inverse dynamics control."""

    reference: JointReference
    motion: Trajectory


@cache
def followed() -> dict[str, Followed]:
    """The two kinds of reference of figure 5, between the ends of the line, from rest."""
    robot, duration = line().motion.robot, line().duration
    times = np.linspace(0.0, duration, KNOTS)
    points = line()(times).q
    references = {
        "ramp": joint_line(robot, points[0], points[-1], duration=duration, profile="uniform"),
        "spline": joint_via_points(robot, points, times=times, profile="cubic"),
    }
    return {name: Followed(reference, _controlled(reference)) for name, reference in references.items()}


def _controlled(reference: JointReference) -> Trajectory:
    robot = line().motion.robot
    controller = ComputedTorque(robot, reference, kp=KP, kd=KD, period=PERIOD)
    rest = np.zeros(robot.nv)
    return simulate(
        robot, reference(0.0).q, rest, reference.duration, controller=controller,
        method=Integration("rk4", dt=PERIOD), t_eval=0.02,
    )  # fmt: skip


def torque_table() -> Table:
    """Torques along the line, figure 4 in numbers."""
    t, tau = torques()
    names = line().motion.robot.joint_names
    rows = [
        (name, float(tau[0, k]), float(tau[-1, k]), float(tau[:, k].min()), float(tau[:, k].max()))
        for k, name in enumerate(names)
    ]
    length = float(np.linalg.norm(np.diff(line().path(np.array([0.0, t[-1]])).pose[:, :3, 3], axis=0)))
    notes = (
        f"The line is {length:.6f} m long, so at 0.1 m/s it takes {t[-1]:.4f} s (printed: 8.6 s). Tool point and branch are "
        f"not given; here the wrist and {line().branch}. At both ends the velocity jumps, as printed.",
        f"Gravity alone gives these torques to {_without_gravity():.2g} N m: at 0.1 m/s the others are small.",
    )
    return Table(
        "Figure 4. Torques along the line [N m]", ("joint", "start", "end", "least", "greatest"), tuple(rows), notes
    )


def _without_gravity() -> float:
    """Largest torque along the line that is not gravity. [N m]"""
    t, tau = torques()
    return float(np.abs(tau - line().motion.robot.gravity(line()(t).q)).max())


def tracking_table() -> Table:
    """How far the controlled robot is from its references, figure 5 in numbers."""
    rows = []
    for name, (reference, motion) in followed().items():
        away = np.abs(motion.q - reference(motion.t).q)
        rows.append((name, reference.duration, float(away.max()), float(away[-1].max())))
    notes = (
        "The paper shows its real robot; this is the simulated one under tracking control by inverse dynamics, with "
        f"Kp = {KP:g} 1/s² and Kd = {KD:g} 1/s on the velocity error (table 4 prints the velocity), every {1e3 * PERIOD:g} ms.",
        "A ramp starts with a jump of the velocity, from which the error decays; a spline starts at rest. The paper prints no "
        "numbers: it says that the positions follow both references without problems.",
    )
    columns = ("reference", "duration [s]", "largest error [rad]", "at the end [rad]")
    return Table("Figure 5. Following ramp and spline references", columns, tuple(rows), notes)


def computing_table() -> Table:
    """Execution time of one period of each control law."""
    rows: list[tuple[Any, ...]] = [
        (f"the paper's, {computer}", 1e3 * seconds, None, None) for computer, seconds in COMPUTERS.items()
    ]
    slow, fast = COMPUTERS.values()
    for name, seconds in computing_times().items():
        rows.append((f"{name}, here", 1e3 * seconds, slow / seconds, fast / seconds))
    notes = (
        "One period: torques from state and reference, with the inverse dynamics of the PUMA, limits and the integral's "
        "memory, "
        "as native code called from Python, the call included.",
    )
    columns = ("control law", "time [ms]", *(f"times faster than {computer}" for computer in COMPUTERS))
    return Table("Execution time of the control algorithms", columns, tuple(rows), notes)


@cache
def computing_times() -> dict[str, float]:
    """Seconds of a period, timed in turns."""
    robot, reference = line().motion.robot, line()
    controllers: dict[str, Controller] = {
        "point to point": PointToPoint(robot, reference(0.0).q, kp=KP, kd=KD),
        "tracking": ComputedTorque(robot, reference, kp=KP, kd=KD),
        "tracking with integral action": ComputedTorqueIntegral(robot, reference, kp=KP, kd=KD, ki=KI),
    }
    q, qd, _ = reference(1.0)

    def contender(name: str, controller: Controller) -> Contender:
        step, signals, memory = controller.native_step, controller.signals(1.0), controller.initial_memory(1.0, q, qd)
        return Contender(name, lambda: step(q, qd, signals, memory))

    times = race([contender(*each) for each in controllers.items()], rounds=7, sample=0.01)
    return {name: 1e-9 * times.time(name).median for name in controllers}


def torques() -> tuple[np.ndarray, np.ndarray]:
    """Times and torques along the line."""
    t = np.linspace(0.0, line().duration, 400)
    return t, line().motion.robot.inverse_dynamics(*line()(t)).round(12)  # joint 6 carries nothing but rounding


def figures() -> tuple[Figure, ...]:
    """Figures 3, 4 and 5."""
    reference = line()
    t, tau = torques()
    names = reference.motion.robot.joint_names
    moments = (0.0, 0.5 * reference.duration, reference.duration)
    arm = draw_arm(reference, moments, "The prescribed trajectory")
    curves = draw_each(t, {name: tau[:, k] for k, name in enumerate(names)}, "torque [N m]", "Torques along the line")
    return (
        Figure("figure3_prescribed_trajectory", arm),
        Figure("figure4_torques", curves),
        Figure("figure5_ramp_and_spline_references", draw_following),
    )


def draw_following(path: Path) -> None:
    """Positions and references above, their differences below."""
    figure = new_figure(10.0, 6.0)
    panels = figure.subplots(2, 2, sharex=True, gridspec_kw={"height_ratios": (2, 1)})
    for column, (name, (reference, motion)) in zip(panels.T, followed().items(), strict=True):
        target = reference(motion.t).q
        for k, joint in enumerate(reference.joint_names):
            column[0].plot(motion.t, motion.q[:, k], color=COLOURS[k], linewidth=1.4, label=joint)
            column[0].plot(
                motion.t, target[:, k], "--", color="0.1", linewidth=0.8, label="reference" if k == 5 else None
            )
            column[1].plot(motion.t, motion.q[:, k] - target[:, k], color=COLOURS[k], linewidth=1.2)
        column[0].set_title(f"{name} reference", fontsize=11, loc="left")
        column[0].set_ylabel("position [rad]")
        column[1].set(ylabel="error [rad]", xlabel="time [s]", xlim=(0.0, motion.t[-1]))
        column[1].ticklabel_format(axis="y", scilimits=(0, 0))
        for panel in column:
            tidy(panel)
    panels[0, 1].legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    save_figure(figure, path)
