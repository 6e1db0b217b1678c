"""Table 4 of Valera et al. 2003: its controllers side by side, on the modelled robot, on a heavier one and on one with friction.

The paper lists the laws and says in words how they differ: without an integral, errors of the model and static friction leave a
position error. Here each follows a spline through the points of figure 5 in 2 s and then holds its end.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from appell.control import ComputedTorque, ComputedTorqueIntegral, Controller, PointToPoint, scaled_masses
from appell.kinematics.trajectories import JointReference, joint_via_points
from appell.kinematics.trajectories.reference import ReferenceState
from appell.robot.robot import Robot
from appell.simulation.integrators import Integration
from appell.simulation.simulate import simulate
from appell.table import Table
from appell_lab.reproduce import valera2003_control as section_4

HEAVIER = 1.1
"""Masses of the heavier robot, relative to the model of the controllers."""
FRICTION = (2.0, 2.0, 2.0, 0.1, 0.1, 0.02)
"""Coulomb friction of the robot with friction. [N m]"""
DURATION, REST = 2.0, 1.0
"""Of the reference, and after its end. [s]"""
LAWS = {
    "point to point": "-Kd q̇ - Kp e",
    "tracking, as printed": "q̈_d - Kd q̇ - Kp e",
    "tracking": "q̈_d - Kd ė - Kp e",
    "tracking with integral action": "q̈_d - Kd ė - Kp e - Ki ∫ e dt",
}


@dataclass(frozen=True)
class WithoutVelocity:
    """A reference whose velocities are given as zero: tracking by it is the printed law, -Kd q̇."""

    reference: JointReference

    @property
    def duration(self) -> float:
        return self.reference.duration

    def __call__(self, t: float | np.ndarray) -> ReferenceState:
        q, qd, qdd = self.reference(t)
        return ReferenceState(q, 0.0 * qd, qdd)


def plants() -> dict[str, Robot]:
    """Robots that the controllers move."""
    robot = section_4.line().motion.robot
    rough = replace(
        robot,
        joints=tuple(replace(joint, friction=friction) for joint, friction in zip(robot.joints, FRICTION, strict=True)),
    )
    return {"as modelled": robot, "heavier": scaled_masses(robot, HEAVIER), "with friction": rough}


def controllers(target: JointReference) -> dict[str, Controller]:
    """The rows of table 4, and the tracking law as it is printed."""
    robot = section_4.line().motion.robot
    gains: dict[str, Any] = {"kp": section_4.KP, "kd": section_4.KD, "period": section_4.PERIOD}
    return {
        "point to point": PointToPoint(robot, target(DURATION).q, **gains),
        "tracking, as printed": ComputedTorque(robot, WithoutVelocity(target), **gains),
        "tracking": ComputedTorque(robot, target, **gains),
        "tracking with integral action": ComputedTorqueIntegral(robot, target, ki=section_4.KI, **gains),
    }


@cache
def reference() -> JointReference:
    """The points of the spline of figure 5, in less time."""
    line, times = section_4.line(), np.linspace(0.0, 1.0, section_4.KNOTS)
    return joint_via_points(line.motion.robot, line(line.duration * times).q, times=DURATION * times, profile="cubic")


@cache
def errors() -> dict[str, dict[str, tuple[float, float]]]:
    """Largest error of a joint, and that at the end, of each law on each robot. [rad]"""
    target = reference()
    begin = target(0.0).q
    found: dict[str, dict[str, tuple[float, float]]] = {}
    for law, controller in controllers(target).items():
        found[law] = {}
        for name, plant in plants().items():
            motion = simulate(
                plant, begin, np.zeros(plant.nv), DURATION + REST, controller=controller,
                method=Integration("rk4", dt=section_4.PERIOD), t_eval=0.05,
            )  # fmt: skip
            away = np.abs(motion.q - controller.signals(motion.t)[:, : plant.nv]).max(axis=1)
            found[law][name] = float(away.max()), float(away[-1])
    return found


def table_4() -> Table:
    """Errors of the laws side by side."""
    names = tuple(plants())
    rows = [(law, LAWS[law], *(value for name in names for value in each[name])) for law, each in errors().items()]
    found = errors()
    fastest = float(np.abs(reference()(np.linspace(0.0, DURATION, 500)).qd).max())
    with_integral, without = found["tracking with integral action"], found["tracking"]
    removed = ", ".join(f"{name} from {without[name][1]:.2g} to {with_integral[name][1]:.2g} rad" for name in names[1:])
    friction = ", ".join(f"{x:g}" for x in FRICTION)
    lag = section_4.KD / section_4.KP * fastest
    notes = (
        f"e = q - q_d. The spline through the points of figure 5 takes {DURATION:g} s, and all hold its end for {REST:g} s. "
        "Point "
        "to point is given its end from the start, and its error counts from there.",
        f"Heavier: {HEAVIER:g} times the masses of the model; with friction: {friction} N m in the joints. Gains: Kp = "
        f"{section_4.KP:g} 1/s², Kd = {section_4.KD:g} 1/s, Ki = {section_4.KI:g} 1/s³; the paper gives none.",
        f"The printed tracking law lags behind by up to Kd/Kp times the velocity, {lag:.2g} rad here "
        f"({found['tracking, as printed'][names[0]][0]:.2g} rad simulated): the velocity of the law must be that of the error.",
        f"The integral takes out what the paper says it does. Error at the end: {removed}.",
    )
    columns = ("controller", "v", *(text for name in names for text in (f"{name}: largest [rad]", "at the end [rad]")))
    return Table("Table 4. Inverse dynamics controllers", columns, tuple(rows), notes)
