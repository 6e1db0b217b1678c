"""Rigs for tests of the open controller: the arm in this process behind the interface of a card, and short tasks."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

import numpy as np

import appell
from appell.control import Commands, Readings, StepClock
from appell.control.hardware.arm import SimulatedArm, parse_fault
from appell.control.hardware.card import PUMA as AXES
from appell.control.hardware.card import input_codes

PUMA = appell.load("puma560")
START = (0.0, -1.2, 2.9, 2.3, 1.0, -0.9)
GOAL = (0.1, -1.1, 3.0, 2.4, 1.1, -0.8)


class LocalCard:
    """A card whose robot is in this process; `spoil` may change what is read."""

    def __init__(
        self,
        start=START,
        faults=(),
        period: float = 1e-3,
        spoil: Callable[[Readings], Readings] = lambda x: x,
        **options,
    ):
        self.arm = SimulatedArm(PUMA, AXES, np.array(start), [parse_fault(text, 6) for text in faults], **options)
        self.period, self.spoil = period, spoil
        self.truth: list[np.ndarray] = []
        self.closed = False

    def read(self) -> Readings:
        if self.arm.tick:
            self.arm.advance(self.period)
        self.truth.append(self.arm.q.copy())
        return self.spoil(self.arm.readings())

    def write(self, commands: Commands) -> None:
        self.arm.apply(commands)
        self.written = commands

    def close(self) -> None:
        self.arm.switch_off()
        self.closed = True


class StillCard:
    """A card whose robot does not move, with all outputs that were accepted; `on_write` and `on_close` may raise."""

    def __init__(self, on_write=lambda commands: None, on_close=lambda: None):
        self.ticks, self.accepted, self.on_write, self.on_close, self.closed = 0, [], on_write, on_close, False
        self.potentiometers = tuple(input_codes(AXES.potentiometer_volts(np.array(START))).tolist())

    def read(self) -> Readings:
        self.ticks += 1
        return Readings(self.ticks, self.potentiometers, (0,) * 6, (0,) * 6, (0,) * 6, (False,) * 6)

    def write(self, commands: Commands) -> None:
        self.on_write(commands)
        self.accepted.append(commands)

    def close(self) -> None:
        self.on_close()
        self.accepted.append(Commands.zero(6))
        self.closed = True

    @property
    def at_zero(self) -> bool:
        return not self.accepted or self.accepted[-1] == Commands.zero(6)


class HomedCard(StillCard):
    """A still card that passes the index search without moving, and forgets its outputs: for long runs with wide limits."""

    def __init__(self):
        super().__init__()
        offset = AXES.counts(AXES.coarse_angles(np.array(self.potentiometers)))
        turns = np.rint(offset / AXES.counts_per_turn).astype(int)
        self.latches = tuple((turns * AXES.counts_per_turn - offset).tolist())

    def read(self) -> Readings:
        return super().read()._replace(latches=self.latches, pulses=(int(self.ticks > 1),) * 6)

    def write(self, commands: Commands) -> None:
        self.accepted = [commands]


class FileCard(StillCard):
    """A still card that writes the time and the codes of its outputs to a file; it fails, hangs or exits at some reading."""

    def __init__(self, path: str, fault: str = "", tick: int = 20):
        super().__init__()
        self.path, self.fault, self.tick = path, fault, tick

    def read(self) -> Readings:
        if self.fault and self.ticks == self.tick:
            {"fail": self.fail, "hang": lambda: time.sleep(60.0), "exit": lambda: os._exit(3)}[self.fault]()
        return super().read()

    def fail(self) -> None:
        raise OSError("no such device")

    def write(self, commands: Commands) -> None:
        super().write(commands)
        with open(self.path, "a") as file:
            file.write(f"{time.monotonic()} {' '.join(map(str, commands.codes))}\n")

    def close(self) -> None:
        super().close()
        with open(self.path, "a") as file:
            file.write(f"{time.monotonic()} closed\n")


def short_task(seconds: float = 0.3, law=appell.control.ComputedTorque, **options):
    """A controller with a short way to go."""
    move = appell.trajectories.joint_line(PUMA, GOAL, np.add(GOAL, 0.05), duration=seconds)
    return law(PUMA, move, **{"kp": 400.0, "kd": 40.0, **options})


def driven(card, controller=None, **options):
    """A run in virtual time."""
    return appell.control.run(controller or short_task(), card, **{"clock": StepClock(), **options})


def assert_safe(card: LocalCard, run) -> None:
    """Outputs at zero, drives off, and the run says so."""
    assert set(run.outputs.codes) == {2048}
    assert set(card.written.codes) == {2048}
    assert card.closed
    assert not card.arm.powered
    assert set(card.arm.commands.codes) == {2048}
