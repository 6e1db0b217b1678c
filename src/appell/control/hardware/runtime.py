"""The open controller: a controller at a fixed rate on the cards of a robot, from power-on to a stop.

    home      find the absolute position from potentiometers and index pulses (`homing`)
    approach  move to the beginning of the reference, at rest there
    follow    track the reference

Every period: read, estimate, check, compute, write, record. However a run ends - completed, failed check, error, signal - the
outputs are set to zero and the card is closed (`shutdown`).
"""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from os import PathLike
from typing import NamedTuple

import numpy as np

from appell.control.controller import MAX_TABLE_SIZE, Controller, signals_of
from appell.control.hardware.card import PUMA, Axes, Card, Commands, Readings
from appell.control.hardware.clock import Clock, RealClock
from appell.control.hardware.estimation import Estimate, HomingError, Observer, coarse_offset, home, search_end
from appell.control.hardware.record import NOT_ZERO, Run, as_run, outcome_of
from appell.control.hardware.record_file import Cycle, RunRecorder
from appell.control.hardware.safety import SafetyLimits, SafetyState, Stop, first_failed_check
from appell.control.hardware.shutdown import Outputs, Shutdown, StopSignal, StopSignals
from appell.control.observer import FaultAlarm, FaultDetector
from appell.control.references import ControlReference
from appell.deprecation import grouped_arguments, renamed_arguments
from appell.errors import ArgumentError, HardwareError
from appell.kinematics.trajectories.reference import joint_line

INDEX_SEARCH_TIME = 2.0
"""Minimum time of the index search. [s]"""
MIN_APPROACH_TIME = 0.5
"""Minimum time of the approach. [s]"""
MAX_VELOCITY = 0.5
"""Maximum joint velocity of index search and approach. [rad/s]"""
LONG_RUN_BLOCK = 100
"""Periods of a reference that are sampled at a time where there are more than `MAX_TABLE_SIZE`."""
MAX_PERIODS = 10**11
"""Largest number of periods of a run: a day at 1 MHz."""
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
        detector: stops the run at a collision or drive fault, `appell.control.FaultDetector`; of the controller's period.
        record: new file to which every period is appended as it comes, for `Run.load`; in memory without it.
    """

    bandwidth: float = 200.0
    tool: Tool | None = None
    detector: FaultDetector | None = None
    record: str | PathLike | None = None


class Samples(NamedTuple):
    """A reference at successive periods: signals of the law, q and qdd, each (N, ...)."""

    signals: np.ndarray
    q: np.ndarray
    qdd: np.ndarray


class RunStage(NamedTuple):
    """One part of a run: its reference in blocks of periods, and the samples of the first block."""

    name: str
    reference: ControlReference
    periods: int
    block: int
    first: Samples


class SafetyViolation(Exception):
    """A failed check, with its reason and a sentence."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.reason, self.detail = reason, detail


class Runtime:
    """State of one run; started by `run`."""

    def __init__(
        self, controller: Controller, outputs: Outputs, axes: Axes, clock: Clock, limits: SafetyLimits,
        options: RunOptions, callback: Callable[[Cycle], None] | None, signals: StopSignals,
    ) -> None:  # fmt: skip
        self.controller, self.outputs, self.axes, self.clock, self.limits = controller, outputs, axes, clock, limits
        self.period: float = controller.period  # type: ignore[assignment]
        self.observer, self.callback, self.tool = Observer(self.period, options.bandwidth), callback, options.tool
        self.signals, self.detector = signals, options.detector
        self.tick, self.homing, self.qdd = 0, None, np.zeros(len(axes))
        self.residue = self.applied = np.zeros(len(axes))
        self.readings: Readings
        self.offset: np.ndarray
        self.estimate: Estimate
        header = {
            "law": controller.law.name, "nominal_period": self.period, "real_time": clock.real,
            "resolution": axes.resolution.tolist(), "joint_names": controller.robot.joint_names,
        }  # fmt: skip
        self.step = controller.native_step  # compiled before the first period
        self.recorder = RunRecorder(options.record, header)

    def run(self, duration: float) -> tuple[str, str] | None:
        """All stages; reason and sentence of an early stop."""
        try:
            follow = self.stage(FOLLOW, self.controller.reference, duration)  # type: ignore[arg-type]
            with no_garbage_collection():
                self.first_reading()
                self.track(self.move_to("home", search_end(self.axes, self.estimate.q), INDEX_SEARCH_TIME))
                self.apply_homing()
                self.track(self.move_to("approach", follow.first.q[0], MIN_APPROACH_TIME))
                self.track(follow)
        except SafetyViolation as violation:
            return violation.reason, violation.detail
        except HomingError as error:
            return "homing", str(error)
        except HardwareError as error:
            return "dead plant", str(error)
        return None

    def result(self, stop: Stop | None, shutdown: Shutdown) -> Run:
        """The record of the run, closed."""
        outcome = outcome_of(stop, self.outputs.accepted, shutdown, self.homing)
        return as_run(self.recorder.header, self.recorder.close(outcome), outcome)

    @property
    def time(self) -> float:
        return self.tick * self.period

    def first_reading(self) -> None:
        """The initial estimate, from the potentiometers."""
        self.readings = self.first = self.outputs.card.read()
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
        """A reference sampled at every period in advance; a long one in blocks."""
        periods = max(1, math.ceil(duration / self.period - 1e-9))
        block = periods if periods <= MAX_TABLE_SIZE else LONG_RUN_BLOCK
        return RunStage(name, reference, periods, block, self.samples(reference, 0, block))

    def samples(self, reference: ControlReference, start: int, count: int) -> Samples:
        times = self.period * np.arange(start, start + count)
        q, _, qdd = reference(times)
        return Samples(np.ascontiguousarray(signals_of(self.controller.law, reference, times)), q, qdd)

    def track(self, stage: RunStage) -> None:
        """Run one stage; the memory of the controller is kept from stage to stage."""
        if not self.tick:
            self.memory = self.controller.initial_memory(self.time, self.estimate.q, self.estimate.qd)
            self.clock.start()
        for start in range(0, stage.periods, stage.block):
            count = min(stage.block, stage.periods - start)
            samples = self.samples(stage.reference, start, count) if start else stage.first
            for k in range(count):
                self.cycle(stage.name, start + k, *(values[k] for values in samples))

    def detect(self, stage: str, k: int) -> FaultAlarm | None:
        """A fault that the detector reports while the reference is tracked; times are those of the run."""
        q, qd = self.estimate
        if stage != FOLLOW or not self.detector:
            return None
        if not k:
            self.detector_state = self.detector.initial_state(q, qd)
            return None
        self.detector_state, alarm = self.detector.step(self.detector_state, q, qd, self.applied)
        start = self.time - k * self.period
        return alarm and replace(alarm, time=alarm.time + start, onset=alarm.onset + start)

    def cycle(self, stage: str, k: int, signals: np.ndarray, reference: np.ndarray, qdd: np.ndarray) -> None:
        """Period number k of a stage."""
        self.tick += 1
        lateness = self.clock.wait(self.tick, self.period)
        start_time = time.perf_counter()
        last, self.readings = self.readings, self.outputs.card.read()
        read = time.perf_counter()
        self.estimate = self.observer.step(self.estimate, self.measured(self.readings), self.qdd)
        self.qdd = qdd
        state = SafetyState(
            self.axes, self.limits, self.readings, last, self.offset, self.homing, self.estimate, reference, lateness,
            self.period,
        )  # fmt: skip
        if failed := first_failed_check(state):
            raise SafetyViolation(*failed)
        if self.detector and (alarm := self.detect(stage, k)):
            raise SafetyViolation("fault", str(alarm))
        (q, qd), memory, step = self.estimate, self.memory, self.step
        before = time.perf_counter()
        result = step(q, qd, signals, memory)
        computed = time.perf_counter()
        if result is None:
            raise SafetyViolation("bad torque", "a torque is not finite. Check the reference.")
        tau, self.memory = result[: len(self.axes)], result[len(self.axes) :]
        codes, self.residue = self.axes.outputs(tau, self.residue)
        tool = tool_outputs(self.tool, k * self.period) if self.tool and stage == FOLLOW else (False, False)
        self.outputs.write(Commands(tuple(codes.tolist()), tool))
        self.applied = self.axes.torques(codes)
        cycle = Cycle(
            self.time, stage, q, qd, reference, tau, codes, start_time, lateness, computed - before,
            time.perf_counter() - read,
        )  # fmt: skip
        try:
            self.recorder.add(cycle)
        except OSError as error:
            raise SafetyViolation("record", f"the record cannot be written: {error.strerror}.") from None
        if self.callback:
            self.callback(cycle)
        self.signals.check()


def tool_outputs(tool: Tool, t: float) -> tuple[bool, bool]:
    """The outputs of the tool at a time, two truth values."""
    outputs = tool(t)
    if not (isinstance(outputs, (tuple, list)) and [type(x) in (bool, np.bool_) for x in outputs] == [True, True]):
        raise SafetyViolation("bad tool", f"the tool is {outputs!r} at t = {t:g} s, expected two truth values.")
    return bool(outputs[0]), bool(outputs[1])


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
        options: bandwidth of the velocity observer, outputs of the tool, file of the record.

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
        The record of the run, also of one that was stopped: `Run.stop` has the reason. Outputs are zero in either case, or
        `Run.shutdown` has the calls of the card that failed.

    Raises:
        HardwareError: an error of the program ended the run, and the outputs could not be brought to zero.
    """
    outputs = Outputs(card, len(axes), controller.period or 0.0)
    runtime = stop = failure = None
    with StopSignals() as signals:
        try:
            try:
                signals.arm()
                length = checked_duration(controller, axes, duration)
                require_same_period(controller, options)
                runtime = Runtime(
                    controller, outputs, axes, clock or RealClock(), limits or SafetyLimits(), options or RunOptions(),
                    callback, signals,
                )  # fmt: skip
                stop = runtime.run(length)
            finally:
                signals.armed = False
        except (KeyboardInterrupt, StopSignal):
            how = "from the keyboard" if signals.first in ("", "SIGINT") else f"by {signals.first}"
            stop = ("interrupted", f"stopped {how}.")
        except BaseException as error:
            failure, stop = error, ("error", f"{type(error).__name__}: {error}")
        shutdown = outputs.zero()
        result = runtime.result(stop and Stop(*stop, runtime.time), shutdown) if runtime and shutdown else None
    if failure and shutdown and not shutdown.zero:
        raise HardwareError(NOT_ZERO.format(shutdown.detail)) from failure
    if failure:
        raise failure
    if result is None:
        raise KeyboardInterrupt("before the first period")
    return result


def require_same_period(controller: Controller, options: RunOptions | None) -> None:
    """The detector is sampled at the controller's period."""
    detector = options.detector if options else None
    if detector and detector.observer.period != controller.period:
        raise ArgumentError(
            f"period of the detector's observer is {detector.observer.period:g} s, that of the controller "
            f"{controller.period:g} s. "
            "Give both the same."
        )


def checked_duration(controller: Controller, axes: Axes, duration: float | None) -> float:
    """The duration of the last stage, and whether the controller fits the axes. [s]"""
    if controller.period is None:
        raise ArgumentError("period of the controller is None; a sampled controller is needed.")
    if controller.robot.nv != len(axes):
        raise ArgumentError(f"the controller has {controller.robot.nv} joints, the axes are {len(axes)}.")
    length = getattr(controller.reference, "duration", math.inf) if duration is None else duration
    if not (math.isfinite(length) and length > 0.0):
        raise ArgumentError(f"duration is {length!r}, expected a positive number of seconds. Give `duration`.")
    if length + INDEX_SEARCH_TIME > MAX_PERIODS * controller.period:
        raise ArgumentError(
            f"period of the controller is {controller.period:g} s, too short for a run of {length:g} s."
        )
    return length
