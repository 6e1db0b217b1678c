"""Safety checks; the run stops if one fails. To add a check: write it, list it in CHECKS."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from appell.control.hardware.card import Axes, Readings
from appell.control.hardware.estimation import Estimate, HomingResult
from appell.deprecation import renamed_fields


@renamed_fields(late="lateness", error="tracking_error")
@dataclass(frozen=True)
class SafetyLimits:
    """Limits beyond which a run is stopped.

    Attributes:
        lateness: of the beginning of a period; None for one period. [s]
        tracking_error: distance of a joint from its reference. [rad]
        disagreement: between encoder and potentiometer; the resolution of the potentiometer is 0.0023 rad. [rad]
        slip: distance of an index pulse from a whole turn of the motor, in counts.
    """

    lateness: float | None = None
    tracking_error: float = 0.1
    disagreement: float = 0.015
    slip: int = 2


class SafetyState(NamedTuple):
    """Inputs of the checks; `homing` is None before the absolute position is known."""

    axes: Axes
    limits: SafetyLimits
    readings: Readings
    last: Readings
    offset: np.ndarray
    homing: HomingResult | None
    estimate: Estimate
    reference: np.ndarray
    lateness: float
    period: float


class Stop(NamedTuple):
    """Reason of an early stop.

    Attributes:
        reason: `"over-temperature"`, `"lost encoder"`, `"missed deadline"`, `"following error"`, `"dead plant"`, `"homing"`,
            `"fault"` (a collision or drive fault), `"bad torque"`, `"bad tool"`, `"record"`, `"interrupted"`, `"error"` (an
            exception) or `"killed"`.
        detail: a sentence.
        time: since the run began. [s]
    """

    reason: str
    detail: str
    time: float


def over_temperature(now: SafetyState) -> str:
    hot = [i + 1 for i, switch in enumerate(now.readings.overheated) if switch]
    return f"the motors of joints {hot} are too hot." if hot else ""


def missed_deadline(now: SafetyState) -> str:
    limit = now.period if now.limits.lateness is None else now.limits.lateness
    late = not now.lateness <= limit  # also where it is not a number
    return f"a period began {1e3 * now.lateness:.3g} ms late, allowed {1e3 * limit:.3g} ms." if late else ""


def stale_readings(now: SafetyState) -> str:
    """A card that repeats or skips readings has failed."""
    step = now.readings.tick - now.last.tick
    return "" if step == 1 else f"the number of readings increases by {step} instead of 1."


def encoder_and_potentiometer(now: SafetyState) -> str:
    """Detects a count that does not follow the joint."""
    absolute = now.axes.angles(np.array(now.readings.counts) + now.offset)
    apart = np.abs(absolute - now.axes.coarse_angles(np.array(now.readings.potentiometers)))
    joint = int(np.argmax(apart))
    if apart[joint] <= now.limits.disagreement:
        return ""
    return f"encoder and potentiometer of joint {joint + 1} are {apart[joint]:.3g} rad apart."


def index_on_whole_turns(now: SafetyState) -> str:
    """Detects lost counts at the next index pulse."""
    if now.homing is None:
        return ""
    for i, (new, old) in enumerate(zip(now.readings.pulses, now.last.pulses, strict=True)):
        turn = int(now.axes.counts_per_turn[i])
        slip = (now.readings.latches[i] + int(now.homing.offset[i]) + turn // 2) % turn - turn // 2
        if new != old and abs(slip) > now.limits.slip:
            return f"the index pulse of joint {i + 1} is {slip} counts from a whole turn."
    return ""


def following_error(now: SafetyState) -> str:
    apart = np.abs(now.estimate.q - now.reference)
    joint = int(np.argmax(apart))
    if apart[joint] <= now.limits.tracking_error:
        return ""
    return f"joint {joint + 1} is {apart[joint]:.3g} rad from its reference, allowed {now.limits.tracking_error:.3g}."


CHECKS: tuple[tuple[str, Callable[[SafetyState], str]], ...] = (
    ("over-temperature", over_temperature),
    ("missed deadline", missed_deadline),
    ("dead plant", stale_readings),
    ("lost encoder", encoder_and_potentiometer),
    ("lost encoder", index_on_whole_turns),
    ("following error", following_error),
)
"""Reason and check, in order; a check returns a sentence if it fails, else an empty text."""


def first_failed_check(now: SafetyState) -> tuple[str, str] | None:
    """Reason and sentence of the first check that fails."""
    for reason, check in CHECKS:
        if detail := check(now):
            return reason, detail
    return None
