"""A robot behind the signals of its cards: what a controller would read, and what its outputs do.

Before the first output and after the last one the drives are off and the brakes hold the arm still.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from appell.control.hardware.axes import Axes
from appell.control.hardware.encoder import Counter, wires
from appell.control.hardware.faults import Fault
from appell.control.hardware.signals import Commands, Readings, input_codes
from appell.robot.compiled import compile

if TYPE_CHECKING:
    from appell.robot.robot import Robot

LONGEST = 1e-3
"""Longest step of the integration. [s]"""
THERMAL = 600.0
"""Time in which a motor takes on 63 % of a new temperature; assumed. [s]"""


class Arm:
    """A robot with its motors, encoders, potentiometers and thermal switches, in its own time.

    Attributes:
        time: since it was switched on. [s]
        q, qd: the true state, which no controller sees. [rad, rad/s]
        commands: the outputs that act now.
        powered: whether the drives are on.
        heat: rise of the motors' temperatures over the one at which their switches open, (n,). Losses go with the square of
            the torque: d heat/dt = ((tau / continuous)² - heat) / thermal.
    """

    def __init__(
        self, robot: Robot, axes: Axes, q: ArrayLike, faults: Sequence[Fault] = (), thermal: float = THERMAL
    ) -> None:
        self.robot, self.axes, self.faults, self.thermal = robot, axes, tuple(faults), thermal
        self.heat = np.zeros(len(axes))
        self.dynamics = compile(robot, threads=1)
        self.time, self.tick = 0.0, 0
        self.q, self.qd = np.array(q, dtype=float), np.zeros(len(axes))
        self.commands, self.powered = Commands.zero(len(axes)), False
        self.absolute = axes.counts(self.q)
        self.counters = [Counter(self.wires(i, int(count))) for i, count in enumerate(self.absolute)]
        self.passive = any(joint.damping or joint.friction for joint in robot.joints)
        self.acceleration(self.q, self.qd)  # compiled now rather than while a controller waits

    def apply(self, commands: Commands) -> None:
        """New outputs; the first ones switch the drives on."""
        self.commands, self.powered = commands, True

    def switch_off(self) -> None:
        """Outputs at zero, drives off, brakes on."""
        self.commands, self.powered = Commands.zero(len(self.axes)), False
        self.qd = np.zeros(len(self.axes))

    def advance(self, seconds: float) -> None:
        """Move on under the present outputs."""
        steps = max(1, int(np.ceil(seconds / LONGEST * (1.0 - 1e-9))))
        for _ in range(steps):
            if self.powered:
                self.q, self.qd = self.moved(seconds / steps)
            self.time += seconds / steps
            load = self.axes.torques(np.array(self.commands.codes)) / np.array(self.axes.continuous)
            self.heat = self.heat + (load**2 - self.heat) * seconds / steps / self.thermal
            self.turn_encoders()

    def moved(self, h: float) -> tuple[np.ndarray, np.ndarray]:
        """The state after a step of the classical rule of Runge and Kutta."""
        q, v1 = self.q, self.qd
        a1 = self.acceleration(q, v1)
        v2 = v1 + h / 2 * a1
        a2 = self.acceleration(q + h / 2 * v1, v2)
        v3 = v1 + h / 2 * a2
        a3 = self.acceleration(q + h / 2 * v2, v3)
        v4 = v1 + h * a3
        a4 = self.acceleration(q + h * v3, v4)
        return q + h / 6 * (v1 + 2 * v2 + 2 * v3 + v4), v1 + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4)

    def acceleration(self, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        tau = self.axes.torques(np.array(self.commands.codes))
        forces = tau + self.robot.passive_forces(qd) if self.passive else tau
        return self.dynamics.forward_dynamics(q, qd, forces, check=False)

    def turn_encoders(self) -> None:
        """Let the counters see every level that the wires went through."""
        now = self.axes.counts(self.q)
        for i, (before, after) in enumerate(zip(self.absolute.tolist(), now.tolist(), strict=True)):
            way = 1 if after > before else -1
            for count in range(before + way, after + way, way) if after != before else ():
                self.counters[i].see(self.wires(i, count))
        self.absolute = now

    def wires(self, joint: int, count: int) -> tuple[int, int, int]:
        """Channels of an encoder; a broken channel A is low."""
        a, b, index = wires(count, int(self.axes.turn[joint]))
        return (0 if self.has_failed("encoder", joint) else a), b, index

    def has_failed(self, kind: str, joint: int = -1) -> bool:
        return any(f.kind == kind and f.joint == joint and f.time <= self.time for f in self.faults)

    def readings(self) -> Readings:
        """What the cards know now."""
        self.tick += 1
        return Readings(
            self.tick,
            tuple(input_codes(self.axes.potentiometer_volts(self.q)).tolist()),
            tuple(counter.count for counter in self.counters),
            tuple(counter.latch for counter in self.counters),
            tuple(counter.pulses for counter in self.counters),
            tuple(bool(heat > 1.0) or self.has_failed("overheat", i) for i, heat in enumerate(self.heat)),
        )
