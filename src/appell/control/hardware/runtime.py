"""The open controller: a controller at a fixed rate against the cards of a robot, from switching on to a stop.

    home      find the absolute position from potentiometers and index pulses (`homing`)
    approach  go to where the reference begins, at rest there
    follow    the reference

Every period: read, estimate, check, compute, write. Whatever ends a run - its time, a danger, an error, Ctrl-C - the outputs
are set to zero and the card is closed.
"""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from typing import NamedTuple

import numpy as np

from appell.control.controller import Controller, signals_of
from appell.control.hardware.axes import PUMA, Axes
from appell.control.hardware.card import Card
from appell.control.hardware.clock import Clock, RealClock
from appell.control.hardware.homing import HomingError, coarse_offset, home, search_end
from appell.control.hardware.observer import Estimate, Observer
from appell.control.hardware.record import Cycle, Recorder, Run
from appell.control.hardware.safety import Limits, Situation, Stop, find_danger
from appell.control.hardware.signals import Commands, Readings
from appell.control.references import Reference
from appell.errors import ArgumentError, HardwareError
from appell.kinematics.trajectories.joint_space import joint_line

SEARCH = 2.0
"""Time of the search for index pulses. [s]"""
PACE = 0.5
"""Fastest joint on a way. [rad/s]"""
SHORTEST = 0.5
"""Least time of the way to the start of the reference. [s]"""


TASK = "follow"
"""The stage in which the reference is followed."""

Tool = Callable[[float], tuple[bool, bool]]
"""The two outputs of the tool from the time since the reference began."""


class Stage(NamedTuple):
    """One part of a run, with its reference sampled at the periods: what the law reads, q and qdd, each (N, ...)."""

    name: str
    signals: np.ndarray
    q: np.ndarray
    qdd: np.ndarray


class Danger(Exception):
    """A check failed: its reason and its sentence."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.reason, self.detail = reason, detail


class Runtime:
    """One run of a controller. `run` is the way in."""

    def __init__(
        self, controller: Controller, card: Card, axes: Axes, clock: Clock, limits: Limits, bandwidth: float,
        watch: Callable[[Cycle], None] | None, tool: Tool,
    ) -> None:  # fmt: skip
        if controller.period is None:
            raise ArgumentError("the controller acts at every instant; hardware needs one with a period.")
        if controller.robot.nv != len(axes):
            raise ArgumentError(f"the controller moves {controller.robot.nv} joints, the axes are {len(axes)}.")
        self.controller, self.card, self.axes, self.clock, self.limits = controller, card, axes, clock, limits
        self.period: float = controller.period
        self.observer, self.watch, self.tool = Observer(self.period, bandwidth), watch, tool
        self.recorder = Recorder()
        self.tick, self.homed, self.qdd = 0, None, np.zeros(len(axes))
        self.residue = np.zeros(len(axes))
        self.step = controller.native_step  # compiled now rather than in the first period
        self.readings: Readings
        self.offset: np.ndarray
        self.estimate: Estimate

    def run(self, reference: Reference, duration: float) -> Run:
        stop: Stop | None = None
        try:
            task = self.stage(TASK, reference, duration)
            with without_collection():
                self.switch_on()
                self.follow(self.way("home", search_end(self.axes, self.estimate.q), SEARCH))
                self.find_home()
                self.follow(self.way("approach", task.q[0], SHORTEST))
                self.follow(task)
        except Danger as danger:
            stop = Stop(danger.reason, danger.detail, self.time)
        except HomingError as error:
            stop = Stop("homing", str(error), self.time)
        except HardwareError as error:
            stop = Stop("dead plant", str(error), self.time)
        except KeyboardInterrupt:
            stop = Stop("interrupted", "stopped from the keyboard.", self.time)
        finally:
            zero = Commands.zero(len(self.axes))
            with suppress(HardwareError):  # there may be nobody left to tell
                self.card.write(zero)
        return self.recorder.run(self.controller, self.axes, self.clock.real, stop, zero, self.homed)

    @property
    def time(self) -> float:
        return self.tick * self.period

    def switch_on(self) -> None:
        """Where the robot is, as well as the potentiometers know."""
        self.readings = self.card.read()
        self.offset = coarse_offset(self.axes, self.readings)
        self.first = self.readings
        self.estimate = Estimate(self.measured(self.readings), np.zeros(len(self.axes)))

    def find_home(self) -> None:
        """Take the exact offsets over; the estimate moves by what the potentiometers were wrong."""
        self.homed = home(self.axes, self.first, self.readings)
        before, self.offset = self.measured(self.readings), self.homed.offset
        self.estimate = self.estimate.moved(self.measured(self.readings) - before)

    def way(self, name: str, goal: np.ndarray, seconds: float) -> Stage:
        """From where the robot is to a point, at rest at both, in at least so many seconds."""
        start = self.estimate.q
        duration = max(seconds, 15.0 / 8.0 * float(np.abs(goal - start).max()) / PACE)
        return self.stage(name, joint_line(self.controller.robot, start, goal, duration=duration), duration)

    def measured(self, readings: Readings) -> np.ndarray:
        return self.axes.angles(np.array(readings.counts) + self.offset)

    def stage(self, name: str, reference: Reference, duration: float) -> Stage:
        """A reference at every period, looked up before its time comes."""
        times = self.period * np.arange(max(1, math.ceil(duration / self.period - 1e-9)))
        q, _, qdd = reference(times)
        return Stage(name, np.ascontiguousarray(signals_of(self.controller.law, reference, times)), q, qdd)

    def follow(self, stage: Stage) -> None:
        """One stage, period by period; what the controller remembers stays from stage to stage."""
        if not self.tick:
            self.memory = self.controller.start(self.time, self.estimate.q, self.estimate.qd)
            self.clock.start()
        for k in range(len(stage.q)):
            self.cycle(stage, k)

    def cycle(self, stage: Stage, k: int) -> None:
        """One period."""
        self.tick += 1
        late = self.clock.wait(self.tick, self.period)
        begun = time.perf_counter()
        last, self.readings = self.readings, self.card.read()
        got = time.perf_counter()
        self.estimate = self.observer.step(self.estimate, self.measured(self.readings), self.qdd)
        self.qdd = stage.qdd[k]
        situation = Situation(
            self.axes, self.limits, self.readings, last, self.offset, self.homed, self.estimate, stage.q[k], late,
            self.period,
        )  # fmt: skip
        danger = find_danger(situation)
        if danger:
            raise Danger(*danger)
        (q, qd), signals, memory, step = self.estimate, stage.signals[k], self.memory, self.step
        asked = time.perf_counter()
        result = step(q, qd, signals, memory)
        computed = time.perf_counter()
        if result is None:
            raise Danger("bad torque", "a torque is not finite. Look at the reference.")
        tau, self.memory = result[: len(self.axes)], result[len(self.axes) :]
        codes, self.residue = self.axes.outputs(tau, self.residue)
        tool = self.tool(k * self.period) if stage.name == TASK else (False, False)
        self.card.write(Commands(tuple(codes.tolist()), tool))
        cycle = Cycle(
            self.time, stage.name, self.estimate.q, stage.q[k], tau, codes, begun, late, computed - asked,
            time.perf_counter() - got,
        )  # fmt: skip
        self.recorder.add(cycle)
        if self.watch:
            self.watch(cycle)


def tool_off(t: float) -> tuple[bool, bool]:
    return False, False


@contextmanager
def without_collection() -> Iterator[None]:
    """Python's garbage collector would stop a period now and then."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def run(
    controller: Controller,
    card: Card,
    *,
    axes: Axes = PUMA,
    duration: float | None = None,
    clock: Clock | None = None,
    limits: Limits | None = None,
    bandwidth: float = 200.0,
    tool: Tool | None = None,
    watch: Callable[[Cycle], None] | None = None,
) -> Run:
    """Run a controller against a robot's cards: home, go to the start of the reference, follow it, stop.

    Args:
        controller: one of `appell.control` with a period.
        card: the hardware, such as `appell.control.SimulatedCard`; it is closed in the end, whatever happens.
        axes: gears, encoders, potentiometers and amplifiers of the robot.
        duration: of the last part; the reference's by default. [s]
        clock: what keeps the period; the computer's clock by default.
        limits: when the run is stopped.
        bandwidth: of the observer that finds speeds. [rad/s]
        tool: the tool's two outputs from the time along the reference [s]; both off without it, and before and after.
        watch: called after every period with what happened in it.

    Example:
        >>> import appell
        >>> robot = appell.load("puma560")
        >>> start, end = [0.0, -1.2, 2.9, 2.3, 1.0, -0.9], [0.1, -1.1, 3, 2.4, 1, -0.9]
        >>> move = appell.trajectories.joint_line(robot, start, end, duration=0.5)
        >>> controller = appell.control.Tracking(robot, move, kp=400.0, kd=40.0, period=4e-3)
        >>> card = appell.control.SimulatedCard(rate=250.0)
        >>> result = appell.control.run(controller, card, clock=appell.control.StepClock())
        >>> result.ok, bool((abs(result.following()) < 3 * result.resolution).all())
        (True, True)

    Returns:
        What happened, also where the run was stopped: `Run.stop` says why. Outputs are at zero in either case.
    """
    with closing(card):
        reference: Reference = controller.reference  # type: ignore[assignment]
        length = getattr(reference, "duration", math.inf) if duration is None else duration
        if not (math.isfinite(length) and length > 0.0):
            raise ArgumentError(f"duration is {length!r}, expected a positive number of seconds. Give `duration`.")
        keeper, allowed = clock or RealClock(), limits or Limits()
        runtime = Runtime(controller, card, axes, keeper, allowed, bandwidth, watch, tool or tool_off)
        return runtime.run(reference, length)
