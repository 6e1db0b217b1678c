"""The simulated robot behind its cards: dynamics, encoders, potentiometers, thermal switches, and fault injection.

Before the first output and after the last one the actuators are off and the brakes hold the arm still.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from appell.algorithms.runge_kutta import rk4_step
from appell.checks import require_choice
from appell.control.hardware.card import Axes, Commands, Readings, input_codes
from appell.errors import ArgumentError
from appell.robot.compiled import compile
from appell.robot.robot import Robot

MAX_STEP = 1e-3
"""Longest step of the integration. [s]"""
THERMAL_TIME_CONSTANT = 600.0
"""Time in which a motor reaches 63 % of a new temperature; assumed. [s]"""
LEVELS = ((0, 0), (1, 0), (1, 1), (0, 1))
"""Channels A and B over the four counts of a line, forwards: A leads."""
PHASES = {pair: k for k, pair in enumerate(LEVELS)}
JOINT_FAULTS = ("overheat", "encoder", "drive")
"""The thermal switch of a motor opens; channel A of an encoder breaks; an amplifier gives no torque."""
PROCESS_FAULTS = ("die", "hang")
"""The plant process exits without a message; it stops responding."""


class Fault(NamedTuple):
    """A fault to inject: `joint` counts from 0, `time` is the plant's. [s]"""

    kind: str
    joint: int
    time: float


def parse_fault(text: str, n: int) -> Fault:
    """A fault of a robot with n joints from text such as `overheat:2@1.5` or `die@0.8`; there joints count from 1.

    Example:
        >>> parse_fault("overheat:2@1.5", 6)
        Fault(kind='overheat', joint=1, time=1.5)
    """
    match = re.fullmatch(r"(\w+)(?::(\d+))?@(\d+\.?\d*)", text.strip())
    if match is None:
        raise ArgumentError(f"fault {text!r} is not valid, expected for example overheat:2@1.5 or die@0.8.")
    kind, joint, time = match[1], int(match[2] or 0), float(match[3])
    require_choice("fault", kind, (*JOINT_FAULTS, *PROCESS_FAULTS))
    if kind in JOINT_FAULTS and not 1 <= joint <= n:
        raise ArgumentError(f"fault {text!r} has joint {joint}, expected 1 to {n}.")
    return Fault(kind, joint - 1, time)


def encoder_channels(count: int, counts_per_turn: int) -> tuple[int, int, int]:
    """Channels A, B and index of an encoder at an absolute count."""
    return *LEVELS[count % 4], int(count % counts_per_turn == 0)


@dataclass
class Counter:
    """A channel of a counter card: counts every edge of A and B, and latches the count at the rising edge of the index."""

    last: tuple[int, int, int]
    count: int = 0
    latch: int = 0
    pulses: int = 0

    def update(self, channels: tuple[int, int, int]) -> None:
        """New levels of the channels. A change of both A and B has no direction and is not counted."""
        step = (PHASES[channels[:2]] - PHASES[self.last[:2]]) % 4
        self.count += {1: 1, 3: -1}.get(step, 0)
        if channels[2] and not self.last[2]:
            self.latch = self.count
            self.pulses += 1
        self.last = channels


class SimulatedArm:
    """A robot with its motors, encoders, potentiometers and thermal switches.

    Attributes:
        time: since power-on. [s]
        q, qd: the true state, hidden from the controller. [rad, rad/s]
        commands: the present outputs.
        powered: whether the actuators are on.
        heat: temperature rise of the motors relative to that at which their switches open, (n,). Losses are proportional to
            the square of the torque: d heat/dt = ((tau / continuous)² - heat) / thermal.
    """

    def __init__(
        self,
        robot: Robot,
        axes: Axes,
        q: ArrayLike,
        faults: Sequence[Fault] = (),
        thermal: float = THERMAL_TIME_CONSTANT,
    ) -> None:
        self.robot, self.axes, self.faults, self.thermal = robot, axes, tuple(faults), thermal
        self.heat = np.zeros(len(axes))
        self.dynamics = compile(robot, threads=1)
        self.time, self.tick = 0.0, 0
        self.q, self.qd = np.array(q, dtype=float), np.zeros(len(axes))
        self.commands, self.powered = Commands.zero(len(axes)), False
        self.counts = axes.counts(self.q)
        self.counters = [Counter(self.channels(i, int(count))) for i, count in enumerate(self.counts)]
        self.passive = any(joint.damping or joint.friction for joint in robot.joints)
        self.acceleration(self.q, self.qd)  # compiles the kernel before a controller is waiting

    def apply(self, commands: Commands) -> None:
        """New outputs; the first ones switch the actuators on."""
        self.commands, self.powered = commands, True

    def switch_off(self) -> None:
        """Outputs zero, actuators off, brakes on."""
        self.commands, self.powered = Commands.zero(len(self.axes)), False
        self.qd = np.zeros(len(self.axes))

    def advance(self, seconds: float) -> None:
        """Integrate under the present outputs."""
        steps = max(1, int(np.ceil(seconds / MAX_STEP * (1.0 - 1e-9))))
        for _ in range(steps):
            if self.powered:
                self.q, self.qd = self.next_state(seconds / steps)
            self.time += seconds / steps
            load = self.axes.torques(np.array(self.commands.codes)) / np.array(self.axes.continuous)
            self.heat = self.heat + (load**2 - self.heat) * seconds / steps / self.thermal
            self.update_counters()

    def next_state(self, h: float) -> tuple[np.ndarray, np.ndarray]:
        """The state after a step of the classical Runge-Kutta method."""
        q, qd = rk4_step(lambda c, y: np.stack([y[1], self.acceleration(*y)]), np.stack([self.q, self.qd]), h)
        return q, qd

    def acceleration(self, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        tau = self.axes.torques(np.array(self.commands.codes))
        for joint in range(len(tau)) if self.faults else ():
            tau[joint] *= not self.has_failed("drive", joint)
        forces = tau + self.robot.passive_forces(qd) if self.passive else tau
        return self.dynamics.forward_dynamics(q, qd, forces, check=False)

    def update_counters(self) -> None:
        """Pass every level between the last and the present counts to the counters."""
        counts = self.axes.counts(self.q)
        for i, (before, after) in enumerate(zip(self.counts.tolist(), counts.tolist(), strict=True)):
            step = 1 if after > before else -1
            for count in range(before + step, after + step, step) if after != before else ():
                self.counters[i].update(self.channels(i, count))
        self.counts = counts

    def channels(self, joint: int, count: int) -> tuple[int, int, int]:
        """Channels of an encoder; a broken channel A is low."""
        a, b, index = encoder_channels(count, int(self.axes.counts_per_turn[joint]))
        return (0 if self.has_failed("encoder", joint) else a), b, index

    def has_failed(self, kind: str, joint: int = -1) -> bool:
        return any(f.kind == kind and f.joint == joint and f.time <= self.time for f in self.faults)

    def readings(self) -> Readings:
        """All inputs of the cards now."""
        self.tick += 1
        return Readings(
            self.tick,
            tuple(input_codes(self.axes.potentiometer_volts(self.q)).tolist()),
            tuple(counter.count for counter in self.counters),
            tuple(counter.latch for counter in self.counters),
            tuple(counter.pulses for counter in self.counters),
            tuple(bool(heat > 1.0) or self.has_failed("overheat", i) for i, heat in enumerate(self.heat)),
        )
