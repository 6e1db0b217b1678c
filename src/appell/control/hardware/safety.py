"""What must be true for a robot to go on. To add a check: write it, list it in CHECKS."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from appell.control.hardware.axes import Axes
from appell.control.hardware.homing import Homed
from appell.control.hardware.observer import Estimate
from appell.control.hardware.signals import Readings


@dataclass(frozen=True)
class Limits:
    """When a run is stopped.

    Attributes:
        late: a period that begins later than this has missed its deadline; None for one period. [s]
        error: distance between the robot and its reference. [rad]
        disagreement: distance between encoder and potentiometer; the potentiometer's own step is 0.0023 rad. [rad]
        slip: counts by which an index pulse may come elsewhere than a whole number of turns after the others.
    """

    late: float | None = None
    error: float = 0.1
    disagreement: float = 0.015
    slip: int = 2


class Situation(NamedTuple):
    """All that a check sees: `homed` is None before the robot knows where it is."""

    axes: Axes
    limits: Limits
    readings: Readings
    last: Readings
    offset: np.ndarray
    homed: Homed | None
    estimate: Estimate
    reference: np.ndarray
    late: float
    period: float


class Stop(NamedTuple):
    """Why a run ended before its time.

    Attributes:
        reason: `"over-temperature"`, `"lost encoder"`, `"missed deadline"`, `"following error"`, `"dead plant"`, `"homing"`,
            `"bad torque"` or `"interrupted"`.
        detail: a sentence.
        time: since the run began. [s]
    """

    reason: str
    detail: str
    time: float


def over_temperature(now: Situation) -> str:
    hot = [i + 1 for i, switch in enumerate(now.readings.overheated) if switch]
    return f"the motors of joints {hot} are too hot." if hot else ""


def missed_deadline(now: Situation) -> str:
    limit = now.period if now.limits.late is None else now.limits.late
    return f"a period began {1e3 * now.late:.3g} ms late, allowed {1e3 * limit:.3g} ms." if now.late > limit else ""


def stale_readings(now: Situation) -> str:
    """A card whose readings stand still is no longer there, even if it answers."""
    step = now.readings.tick - now.last.tick
    return "" if step == 1 else f"readings jump by {step} instead of 1."


def encoder_and_potentiometer(now: Situation) -> str:
    """A count that stands still, or runs away, while the joint does not."""
    absolute = now.axes.angles(np.array(now.readings.counts) + now.offset)
    apart = np.abs(absolute - now.axes.coarse_angles(np.array(now.readings.potentiometers)))
    joint = int(np.argmax(apart))
    if apart[joint] <= now.limits.disagreement:
        return ""
    return f"encoder and potentiometer of joint {joint + 1} are {apart[joint]:.3g} rad apart."


def index_on_whole_turns(now: Situation) -> str:
    """Lost counts show where the next index pulse comes."""
    if now.homed is None:
        return ""
    for i, (new, old) in enumerate(zip(now.readings.pulses, now.last.pulses, strict=True)):
        turn = int(now.axes.turn[i])
        slip = (now.readings.latches[i] + int(now.homed.offset[i]) + turn // 2) % turn - turn // 2
        if new != old and abs(slip) > now.limits.slip:
            return f"the index pulse of joint {i + 1} came {slip} counts beside a whole turn."
    return ""


def following_error(now: Situation) -> str:
    apart = np.abs(now.estimate.q - now.reference)
    joint = int(np.argmax(apart))
    if apart[joint] <= now.limits.error:
        return ""
    return f"joint {joint + 1} is {apart[joint]:.3g} rad from its reference, allowed {now.limits.error:.3g}."


CHECKS: tuple[tuple[str, Callable[[Situation], str]], ...] = (
    ("over-temperature", over_temperature),
    ("missed deadline", missed_deadline),
    ("dead plant", stale_readings),
    ("lost encoder", encoder_and_potentiometer),
    ("lost encoder", index_on_whole_turns),
    ("following error", following_error),
)
"""Reason and check, in the order in which they are asked; a check answers with a sentence where something is wrong."""


def find_danger(now: Situation) -> tuple[str, str] | None:
    """The first check that fails, with its sentence."""
    for reason, check in CHECKS:
        if detail := check(now):
            return reason, detail
    return None
