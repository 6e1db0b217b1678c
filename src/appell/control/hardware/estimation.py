"""Joint angles and velocities from the signals: homing with potentiometers and index pulses, and a velocity observer.

Homing: the encoders count from their position at power-on; the potentiometers are absolute, but coarse. Index pulses are at
whole turns of a motor. Once each motor has passed one,

    absolute count at the pulse = k · (counts per turn),    k = round(potentiometer angle at the pulse, in turns)

if the potentiometers are accurate to well within half a turn of the motor.

Observer, with the reference acceleration q̈_d as input:

    predict   q̂ ← q̂ + T q̂̇ + T²/2 q̈_d,   q̂̇ ← q̂̇ + T q̈_d
    correct   r = q - q̂;   q̂ ← q̂ + (1 - p²) r,   q̂̇ ← q̂̇ + (1 - p)²/T r,   p = exp(-ω T)

Both error poles are at p. Differences of counts would have steps of one count per period (0.1 rad/s at 1 kHz); here one count
changes the velocity by (1 - p)²/T ≈ ω² T of it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from appell.control.hardware.card import Axes, Readings
from appell.deprecation import renamed_attributes
from appell.errors import HardwareError

MAX_INDEX_DISAGREEMENT = 0.3
"""Turns of the motor allowed between potentiometer and index: at half a turn the nearest pulse is ambiguous."""
SEARCH_TURNS = 1.05
"""Turns of the motor during the index search: at least one pulse."""


class HomingError(HardwareError):
    """The absolute position was not found."""


def coarse_offset(axes: Axes, readings: Readings) -> np.ndarray:
    """Absolute count minus the card's count, from the potentiometers, (n,)."""
    return axes.counts(axes.coarse_angles(np.array(readings.potentiometers))) - np.array(readings.counts)


def search_end(axes: Axes, q: np.ndarray) -> np.ndarray:
    """The end of the index search from q: past a pulse on every axis, towards the middle of the potentiometers. [rad]"""
    middle = 0.5 * (np.array(axes.lower) + np.array(axes.upper))
    return q + SEARCH_TURNS * 2.0 * np.pi / np.abs(axes.gear) * np.where(q > middle, -1.0, 1.0)


@renamed_attributes(doubt="index_disagreement")
@dataclass(frozen=True)
class HomingResult:
    """The absolute position of the encoders.

    Attributes:
        offset: absolute count minus the card's count, (n,).
        index_disagreement: turns of the motor between potentiometers and index pulses, (n,).
    """

    offset: np.ndarray
    index_disagreement: np.ndarray


def home(axes: Axes, start: Readings, now: Readings) -> HomingResult:
    """The offsets after an index search from the first readings to the present ones.

    Raises:
        HomingError: an index pulse is missing, or a potentiometer disagrees with it.
    """
    missing = [i + 1 for i, (before, after) in enumerate(zip(start.pulses, now.pulses, strict=True)) if after == before]
    if missing:
        raise HomingError(
            f"no index pulse on joints {missing} within a turn of the motor. Check the index wires of their encoders."
        )
    coarse = 0.5 * (coarse_offset(axes, start) + coarse_offset(axes, now))
    turns = (coarse + np.array(now.latches)) / axes.counts_per_turn
    disagreement = turns - np.rint(turns)
    if (np.abs(disagreement) > MAX_INDEX_DISAGREEMENT).any():
        joint = int(np.argmax(np.abs(disagreement)))
        raise HomingError(
            f"potentiometer and index of joint {joint + 1} disagree by {disagreement[joint]:+.2f} turns of the motor, expected "
            f"at most {MAX_INDEX_DISAGREEMENT}. Calibrate the potentiometer's range."
        )
    return HomingResult(np.rint(turns).astype(int) * axes.counts_per_turn - np.array(now.latches), disagreement)


class Estimate(NamedTuple):
    """Joint angles and velocities. [rad, rad/s]"""

    q: np.ndarray
    qd: np.ndarray

    def shifted(self, shift: np.ndarray) -> Estimate:
        """The same motion after a correction of the angles' origin."""
        return Estimate(self.q + shift, self.qd)


@dataclass(frozen=True)
class Observer:
    """Observer for a sampling period [s] and a bandwidth ω [rad/s]."""

    period: float
    bandwidth: float = 200.0

    def step(self, last: Estimate, measured: np.ndarray, qdd: np.ndarray) -> Estimate:
        """The estimate at a new measurement one period after the last one; qdd is the reference acceleration."""
        period, p = self.period, math.exp(-self.bandwidth * self.period)
        q = last.q + period * (last.qd + 0.5 * period * qdd)
        r = measured - q
        return Estimate(q + (1.0 - p * p) * r, last.qd + period * qdd + (1.0 - p) ** 2 / period * r)
