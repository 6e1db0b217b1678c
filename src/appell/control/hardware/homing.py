"""Start-up: where the robot is, from potentiometers and index pulses.

The encoders count from wherever they were switched on; the potentiometers are absolute, but coarse. An index pulse comes at
every whole turn of a motor, so once each motor has turned past one,

    absolute count at the pulse = k · (counts a turn),    k = round(the potentiometer's angle there, in turns)

holds as long as the potentiometers are right to well within half a turn of the motor.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from appell.control.hardware.axes import Axes
from appell.control.hardware.signals import Readings
from appell.errors import HardwareError

MARGIN = 0.3
"""Turns of the motor by which potentiometer and index may disagree: at half a turn the next pulse is as near."""
OVERLAP = 1.05
"""Turns of the motor that a search moves: one pulse comes for sure."""


class HomingError(HardwareError):
    """The robot does not find out where it is."""


def coarse_offset(axes: Axes, readings: Readings) -> np.ndarray:
    """Absolute count minus the card's count, as the potentiometers see it, (n,)."""
    return axes.counts(axes.coarse_angles(np.array(readings.potentiometers))) - np.array(readings.counts)


def search_end(axes: Axes, q: np.ndarray) -> np.ndarray:
    """Where to go from q to pass an index pulse on every axis: towards the middle of the potentiometers. [rad]"""
    middle = 0.5 * (np.array(axes.lower) + np.array(axes.upper))
    return q + OVERLAP * 2.0 * np.pi / np.abs(axes.gear) * np.where(q > middle, -1.0, 1.0)


@dataclass(frozen=True)
class Homed:
    """A robot that knows where it is.

    Attributes:
        offset: absolute count minus the card's count, (n,).
        doubt: turns of the motor by which the potentiometers disagree with the index pulses, (n,).
    """

    offset: np.ndarray
    doubt: np.ndarray


def home(axes: Axes, start: Readings, now: Readings) -> Homed:
    """The offsets after a search that began with the first readings.

    Raises:
        HomingError: an index pulse is missing, or a potentiometer disagrees with it.
    """
    missing = [i + 1 for i, (before, after) in enumerate(zip(start.pulses, now.pulses, strict=True)) if after == before]
    if missing:
        raise HomingError(
            f"no index pulse on joints {missing} within a turn of the motor. Look at their encoders' index wires."
        )
    seen = 0.5 * (coarse_offset(axes, start) + coarse_offset(axes, now))
    turns = (seen + np.array(now.latches)) / axes.turn
    doubt = turns - np.rint(turns)
    if (np.abs(doubt) > MARGIN).any():
        joint = int(np.argmax(np.abs(doubt)))
        raise HomingError(
            f"potentiometer and index of joint {joint + 1} disagree by {doubt[joint]:+.2f} turns of the motor, expected "
            f"at most {MARGIN}. Calibrate the potentiometer's range."
        )
    return Homed(np.rint(turns).astype(int) * axes.turn - np.array(now.latches), doubt)
