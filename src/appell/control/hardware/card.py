"""Data acquisition cards: the interface to hardware, its signals as Valera et al. 2003, section 3, and their converters.

Six potentiometers (0-5 V, 12-bit converter), six incremental encoders (channels A, B and index), six thermal switches; six
analog outputs (±10 V, 12-bit converter), two digital outputs for the tool. docs/howto/hardware.md shows a card of one's own.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

BITS = 12
CODES = 2**BITS
"""Levels of the converters in both directions."""
POTENTIOMETER_VOLTS = 5.0
OUTPUT_VOLTS = 10.0
ZERO_CODE = CODES // 2
"""Code of an analog output for 0 V."""


class Readings(NamedTuple):
    """All inputs at one time.

    Attributes:
        tick: number of the reading; increases by one.
        potentiometers: codes of the voltages, 0 to 4095.
        counts: of the encoders, four per line, from zero at power-on of the card.
        latches: counts at the last index pulse.
        pulses: number of index pulses since power-on of the card.
        overheated: thermal switches, true when a motor is too hot.
    """

    tick: int
    potentiometers: tuple[int, ...]
    counts: tuple[int, ...]
    latches: tuple[int, ...]
    pulses: tuple[int, ...]
    overheated: tuple[bool, ...]


class Commands(NamedTuple):
    """All outputs: codes of the amplifier voltages (2048 is 0 V), and the two outputs of the tool."""

    codes: tuple[int, ...]
    tool: tuple[bool, bool] = (False, False)

    @classmethod
    def zero(cls, n: int) -> Commands:
        """All voltages zero, tool off: the safe stop."""
        return cls((ZERO_CODE,) * n)


class Card(Protocol):
    """Interface of data acquisition cards. Where the hardware fails, `read` and `write` raise `HardwareError`."""

    def read(self) -> Readings:
        """All inputs now. A simulation in virtual time first advances by one period."""
        ...

    def write(self, commands: Commands) -> None:
        """Set all outputs; they hold until the next call. The first call switches the actuators on."""
        ...

    def close(self) -> None:
        """Set all outputs to zero and switch the actuators off."""
        ...


def input_codes(volts: np.ndarray) -> np.ndarray:
    """Codes of the input converter: 0 V gives 0, 5 V and more 4095."""
    return np.clip(np.floor(volts / POTENTIOMETER_VOLTS * CODES), 0, CODES - 1).astype(int)


def input_volts(codes: np.ndarray) -> np.ndarray:
    """The middle of the voltages with these codes. [V]"""
    return (np.asarray(codes) + 0.5) / CODES * POTENTIOMETER_VOLTS


def output_codes(volts: np.ndarray) -> np.ndarray:
    """The codes nearest to voltages, limited to the range of the converter: 0 to 4095."""
    return np.clip(np.rint(volts / OUTPUT_VOLTS * ZERO_CODE) + ZERO_CODE, 0, CODES - 1).astype(int)


def output_volts(codes: np.ndarray) -> np.ndarray:
    """The voltages of codes: -10 V to 9.995 V in steps of 4.88 mV. [V]"""
    return (np.asarray(codes) - ZERO_CODE) / ZERO_CODE * OUTPUT_VOLTS
