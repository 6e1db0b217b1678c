"""The signals between a controller and a robot, as Valera et al. 2003, section 3, wire them, and their converters.

Six potentiometers (0-5 V through a 12-bit converter), six incremental encoders (channels A, B and index), six thermal
switches; six analog outputs (±10 V from a 12-bit converter), two outputs for the tool.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

BITS = 12
CODES = 2**BITS
"""Levels of the converters in both directions."""

POTENTIOMETER_VOLTS = 5.0
OUTPUT_VOLTS = 10.0
ZERO = CODES // 2
"""Code of an analog output for 0 V."""


class Readings(NamedTuple):
    """What the cards know of the robot at one moment.

    Attributes:
        tick: number of the reading; it grows by one.
        potentiometers: codes of the voltages, 0 to 4095.
        counts: of the encoders, four a line, from zero where the card was switched on.
        latches: the count at the last index pulse.
        pulses: index pulses since the card was switched on.
        overheated: thermal switches, true when a motor is too hot.
    """

    tick: int
    potentiometers: tuple[int, ...]
    counts: tuple[int, ...]
    latches: tuple[int, ...]
    pulses: tuple[int, ...]
    overheated: tuple[bool, ...]


class Commands(NamedTuple):
    """What the cards put out: codes of the voltages at the amplifiers (2048 is 0 V), and the tool's two outputs."""

    codes: tuple[int, ...]
    tool: tuple[bool, bool] = (False, False)

    @classmethod
    def zero(cls, n: int) -> Commands:
        """No voltage anywhere, tool off: the safe stop."""
        return cls((ZERO,) * n)


def input_codes(volts: np.ndarray) -> np.ndarray:
    """What the input converter makes of voltages: 0 V gives 0, 5 V and more 4095.

    Example:
        >>> input_codes(np.array([-1.0, 2.5, 5.0])).tolist()
        [0, 2048, 4095]
    """
    return np.clip(np.floor(volts / POTENTIOMETER_VOLTS * CODES), 0, CODES - 1).astype(int)


def input_volts(codes: np.ndarray) -> np.ndarray:
    """The middle of the voltages that have these codes. [V]"""
    return (np.asarray(codes) + 0.5) / CODES * POTENTIOMETER_VOLTS


def output_codes(volts: np.ndarray) -> np.ndarray:
    """The codes nearest to voltages, limited to what the converter has: 0 to 4095.

    Example:
        >>> output_codes(np.array([-12.0, 0.0, 10.0])).tolist()
        [0, 2048, 4095]
    """
    return np.clip(np.rint(volts / OUTPUT_VOLTS * ZERO) + ZERO, 0, CODES - 1).astype(int)


def output_volts(codes: np.ndarray) -> np.ndarray:
    """The voltages of codes: -10 V to 9.995 V in steps of 4.88 mV. [V]"""
    return (np.asarray(codes) - ZERO) / ZERO * OUTPUT_VOLTS
