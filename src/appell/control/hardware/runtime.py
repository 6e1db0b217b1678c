"""The open controller: a controller at a fixed rate on the cards of a robot, from power-on to a stop.

    home      find the absolute position from potentiometers and index pulses (`homing`)
    approach  move to the beginning of the reference, at rest there
    follow    track the reference

Every period: read, estimate, check, compute, write. However a run ends - completed, failed check, error, Ctrl-C - the outputs
are set to zero and the card is closed.
"""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from appell.control.controller import Controller, signals_of
from appell.control.hardware.card import PUMA, Axes, Card, Commands, Readings
from appell.control.hardware.clock import Clock, RealClock
from appell.control.hardware.estimation import Estimate, HomingError, Observer, coarse_offset, home, search_end
from appell.control.hardware.record import Cycle, Run, as_run
from appell.control.hardware.safety import SafetyLimits, SafetyState, Stop, first_failed_check
from appell.control.references import ControlReference
from appell.deprecation import grouped_arguments, renamed_arguments
from appell.errors import ArgumentError, HardwareError
from appell.kinematics.trajectories.joint_space import joint_line

INDEX_SEARCH_TIME = 2.0
"""Minimum time of the index search. [s]"""
MIN_APPROACH_TIME = 0.5
"""Minimum time of the approach. [s]"""
MAX_VELOCITY = 0.5
"""Maximum joint velocity of index search and approach. [rad/s]"""
FOLLOW = "follow"
"""The stage in which the reference is tracked."""

Tool = Callable[[float], tuple[bool, bool]]
"""The two outputs of the tool as functions of the time since the beginning of the reference."""


@dataclass(frozen=True)
class RunOptions:
    """Further options of `run`.

    Attributes:
        bandwidth: of the velocity observer. [rad/s]
        tool: the two outputs of the tool as a function of the time along the reference [s]; both off without it, and in all
            other stages.
    """

    bandwidth: float = 200.0
    tool: Tool | None = None


class RunStage(NamedTuple):
    """One part of a run with the samples of its reference: signals of the law, q and qdd, each (N, ...)."""

    name: str
    signals: np.ndarray
    q: np.ndarray
    qdd: np.ndarray


class SafetyViolation(Exception):
    """A failed check, with its reason and a sentence."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.reason, self.detail = reason, detail


class Runtime:
    """State of one run; started by `run`."""

    def __init__(
        self, controller: Controller, card: Card, axes: Axes, clock: Clock, limits: SafetyLimits, options: RunOptions,
        callback: Callable[[Cycle], None] | None,
    ) -> None:  # fmt: skip
        if controller.period is None:
            raise ArgumentError("period of the controller is None; a sampled controller is needed.")
        if controller.robot.nv != len(axes):
            raise ArgumentError(f"the controller has {controller.robot.nv} joints, the axes are {len(axes)}.")
        self.controller, self.card, self.axes, self.clock, self.limits = controller, card, axes, clock, limits
        self.period: float = controller.period
        self.observer, self.callback, self.tool = Observer(self.period, options.bandwidth), callback, options.tool
        self.cycles: list[Cycle] = []
        self.tick, self.homing, self.qdd = 0, None, np.zeros(len(axes))
        self.residue = np.zeros(len(axes))
        self.step = controller.native_step  # compiled before the first period
        self.readings: Readings
        self.offset: np.ndarray
        self.estimate: Estimate

    def run(self, reference: ControlReference, duration: float) -> Run:
        stop: Stop | None = None
        try:
            follow = self.stage(FOLLOW, reference, duration)
            with no_garbage_collection():
                self.first_reading()
                self.track(self.move_to("home", search_end(self.axes, self.estimate.q), INDEX_SEARCH_TIME))
                self.apply_homing()
                self.track(self.move_to("approach", follow.q[0], MIN_APPROACH_TIME))
                self.track(follow)
        except SafetyViolation as violation:
            stop = Stop(violation.reason, violation.detail, self.time)
        except HomingError as error:
            stop = Stop("homing", str(error), self.time)
        except HardwareError as error:
            stop = Stop("dead plant", str(error), self.time)
        except KeyboardInterrupt:
            stop = Stop("interrupted", "stopped from the keyboard.", self.time)
        finally:
            with suppress(HardwareError):  # the connection may be lost
                self.card.write(Commands.zero(len(self.axes)))
        return as_run(self.cycles, self.controller, self.axes, real_time=self.clock.real, stop=stop, homing=self.homing)

    @property
    def time(self) -> float:
        return self.tick * self.period

    def first_reading(self) -> None:
        """The initial estimate, from the potentiometers."""
        self.readings = self.first = self.card.read()
        self.offset = coarse_offset(self.axes, self.readings)
        self.estimate = Estimate(self.measured(self.readings), np.zeros(len(self.axes)))

    def apply_homing(self) -> None:
        """Use the exact offsets, and shift the estimate by the error of the potentiometers."""
        self.homing = home(self.axes, self.first, self.readings)
        before, self.offset = self.measured(self.readings), self.homing.offset
        self.estimate = self.estimate.shifted(self.measured(self.readings) - before)

    def move_to(self, name: str, goal: np.ndarray, min_duration: float) -> RunStage:
        """From the present configuration to a goal, at rest at both ends."""
        start = self.estimate.q
        duration = max(min_duration, 15.0 / 8.0 * float(np.abs(goal - start).max()) / MAX_VELOCITY)
        return self.stage(name, joint_line(self.controller.robot, start, goal, duration=duration), duration)

    def measured(self, readings: Readings) -> np.ndarray:
        return self.axes.angles(np.array(readings.counts) + self.offset)

    def stage(self, name: str, reference: ControlReference, duration: float) -> RunStage:
        """A reference sampled at every period, in advance."""
        times = self.period * np.arange(max(1, math.ceil(duration / self.period - 1e-9)))
        q, _, qdd = reference(times)
        return RunStage(name, np.ascontiguousarray(signals_of(self.controller.law, reference, times)), q, qdd)

    def track(self, stage: RunStage) -> None:
        """Run one stage; the memory of the controller is kept from stage to stage."""
        if not self.tick:
            self.memory = self.controller.initial_memory(self.time, self.estimate.q, self.estimate.qd)
            self.clock.start()
        for k in range(len(stage.q)):
            self.cycle(stage, k)

    def cycle(self, stage: RunStage, k: int) -> None:
        """One period."""
        self.tick += 1
        lateness = self.clock.wait(self.tick, self.period)
        start_time = time.perf_counter()
        last, self.readings = self.readings, self.card.read()
        read = time.perf_counter()
        self.estimate = self.observer.step(self.estimate, self.measured(self.readings), self.qdd)
        self.qdd = stage.qdd[k]
        state = SafetyState(
            self.axes, self.limits, self.readings, last, self.offset, self.homing, self.estimate, stage.q[k], lateness,
            self.period,
        )  # fmt: skip
        if failed := first_failed_check(state):
            raise SafetyViolation(*failed)
        (q, qd), signals, memory, step = self.estimate, stage.signals[k], self.memory, self.step
        before = time.perf_counter()
        result = step(q, qd, signals, memory)
        computed = time.perf_counter()
        if result is None:
            raise SafetyViolation("bad torque", "a torque is not finite. Check the reference.")
        tau, self.memory = result[: len(self.axes)], result[len(self.axes) :]
        codes, self.residue = self.axes.outputs(tau, self.residue)
        tool = self.tool(k * self.period) if self.tool and stage.name == FOLLOW else (False, False)
        self.card.write(Commands(tuple(codes.tolist()), tool))
        cycle = Cycle(
            self.time, stage.name, self.estimate.q, stage.q[k], tau, codes, start_time, lateness, computed - before,
            time.perf_counter() - read,
        )  # fmt: skip
        self.cycles.append(cycle)
        if self.callback:
            self.callback(cycle)


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Disable Python's garbage collector, which would delay single periods."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@renamed_arguments(watch="callback")
@grouped_arguments("options", RunOptions, bandwidth="bandwidth", tool="tool")
def run(
    controller: Controller,
    card: Card,
    *,
    axes: Axes = PUMA,
    duration: float | None = None,
    clock: Clock | None = None,
    limits: SafetyLimits | None = None,
    callback: Callable[[Cycle], None] | None = None,
    options: RunOptions | None = None,
) -> Run:
    """Run a controller on a robot's cards: home, approach the beginning of the reference, track it, stop.

    Args:
        controller: one of `appell.control` with a period.
        card: the hardware, such as `appell.control.SimulatedCard`; always closed at the end.
        axes: gears, encoders, potentiometers and amplifiers of the robot.
        duration: of the last stage; that of the reference by default. [s]
        clock: timing of the periods; real time by default.
        limits: limits beyond which the run is stopped.
        callback: called after every period with its `Cycle`.
        options: bandwidth of the velocity observer and outputs of the tool.

    Example:
        >>> import appell
        >>> robot = appell.load("puma560")
        >>> start, end = [0.0, -1.2, 2.9, 2.3, 1.0, -0.9], [0.1, -1.1, 3, 2.4, 1, -0.9]
        >>> move = appell.trajectories.joint_line(robot, start, end, duration=0.5)
        >>> controller = appell.control.ComputedTorque(robot, move, kp=400.0, kd=40.0, period=4e-3)
        >>> card = appell.control.SimulatedCard(rate=250.0)
        >>> result = appell.control.run(controller, card, clock=appell.control.StepClock())
        >>> result.ok, bool((abs(result.tracking_error()) < 3 * result.resolution).all())
        (True, True)

    Returns:
        The record of the run, also of one that was stopped: `Run.stop` has the reason. Outputs are zero in either case.
    """
    with closing(card):
        reference: ControlReference = controller.reference  # type: ignore[assignment]
        length = getattr(reference, "duration", math.inf) if duration is None else duration
        if not (math.isfinite(length) and length > 0.0):
            raise ArgumentError(f"duration is {length!r}, expected a positive number of seconds. Give `duration`.")
        runtime = Runtime(
            controller, card, axes, clock or RealClock(), limits or SafetyLimits(), options or RunOptions(), callback
        )
        return runtime.run(reference, length)
