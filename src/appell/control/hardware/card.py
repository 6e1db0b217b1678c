"""Data acquisition cards: the interface to hardware, its signals as Valera et al. 2003, section 3, and their converters.

Six potentiometers (0-5 V, 12-bit converter), six incremental encoders (channels A, B and index), six thermal switches; six
analog outputs (±10 V, 12-bit converter), two digital outputs for the tool. docs/howto/hardware.md shows a card of one's own.

`Axes` is the transmission between joints and signals: gear, encoder, potentiometer, amplifier and motor of each axis.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np

from appell.errors import ArgumentError

BITS = 12
CODES = 2**BITS
"""Levels of the converters in both directions."""
POTENTIOMETER_VOLTS = 5.0
OUTPUT_VOLTS = 10.0
ZERO_CODE = CODES // 2
"""Code of an analog output for 0 V."""
COUNTS_PER_LINE = 4
"""Counts per line of an encoder: every edge of A and of B."""


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
    """Interface of data acquisition cards. Where the hardware fails, all calls raise `HardwareError`.

    At the end of a run `write` and `close` are called from another thread, and repeated if they fail.
    """

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


@dataclass(frozen=True)
class Axes:
    """The actuators and sensors of a robot, one entry per joint.

    Attributes:
        lines: of the encoder on the motor shaft, per turn.
        gear: turns of the motor per turn of the joint, negative where the direction changes.
        torque: at the joint with 10 V at the amplifier. [N m]
        continuous: continuous torque at the joint, at which the thermal switch does not open. [N m]
        lower, upper: joint angles at which the potentiometer gives 0 V and 5 V. [rad]
    """

    lines: tuple[int, ...]
    gear: tuple[float, ...]
    torque: tuple[float, ...]
    continuous: tuple[float, ...]
    lower: tuple[float, ...]
    upper: tuple[float, ...]

    def __post_init__(self) -> None:
        sizes = {name: len(value) for name, value in vars(self).items()}
        if len(set(sizes.values())) != 1:
            raise ArgumentError(f"axes have different numbers of entries: {sizes}. Give one of each per joint.")

    def __len__(self) -> int:
        return len(self.lines)

    @cached_property
    def counts_per_turn(self) -> np.ndarray:
        """Counts per turn of the motor, (n,)."""
        return COUNTS_PER_LINE * np.array(self.lines)

    @cached_property
    def angle_per_count(self) -> np.ndarray:
        """Joint angle per count, with the sign of the gear, (n,). [rad]"""
        return 2.0 * math.pi / (self.counts_per_turn * np.array(self.gear))

    @property
    def resolution(self) -> np.ndarray:
        """Joint angle per count, (n,). [rad]"""
        return np.abs(self.angle_per_count)

    def counts(self, q: np.ndarray) -> np.ndarray:
        """Absolute counts at joint angles; index pulses are at whole turns of the motor."""
        return np.floor(q / self.angle_per_count).astype(int)

    def angles(self, counts: np.ndarray) -> np.ndarray:
        """The middle of the joint angles with these absolute counts. [rad]"""
        return (np.asarray(counts) + 0.5) * self.angle_per_count

    def potentiometer_volts(self, q: np.ndarray) -> np.ndarray:
        lower, upper = np.array(self.lower), np.array(self.upper)
        return POTENTIOMETER_VOLTS * (q - lower) / (upper - lower)

    def coarse_angles(self, codes: np.ndarray) -> np.ndarray:
        """Joint angles from codes of the potentiometers. [rad]"""
        lower, upper = np.array(self.lower), np.array(self.upper)
        return lower + (upper - lower) * input_volts(codes) / POTENTIOMETER_VOLTS

    def output_codes(self, tau: np.ndarray) -> np.ndarray:
        """Codes of the analog outputs for joint torques, limited to ±10 V."""
        return output_codes(tau / np.array(self.torque) * OUTPUT_VOLTS)

    def outputs(self, tau: np.ndarray, residue: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Codes for joint torques, and the rounding error to add in the next period.

        The converter's step is 0.01 N m at the wrist, which accelerates it by 0.7 rad/s²; with the rounding error carried
        over, the mean torque is exact. Torque lost to saturation is not carried over.
        """
        desired = tau + residue
        codes = self.output_codes(desired)
        step = np.array(self.torque) / ZERO_CODE
        return codes, np.clip(desired - self.torques(codes), -step, step)

    def torques(self, codes: np.ndarray) -> np.ndarray:
        """Joint torques from codes of the analog outputs. [N m]"""
        return output_volts(codes) / OUTPUT_VOLTS * np.array(self.torque)


PUMA = Axes(
    lines=(200, 200, 250, 250, 250, 250),
    gear=(-62.6111, 107.815, -53.7063, 76.0364, 71.923, 76.686),
    torque=(97.6, 186.4, 89.4, 24.2, 20.1, 21.3),
    continuous=(48.8, 93.2, 44.7, 12.1, 10.05, 10.65),
    lower=(-1.5 * math.pi,) * 6,
    upper=(1.5 * math.pi,) * 6,
)
"""A PUMA. Lines: Valera et al. 2003, section 3. Gear ratios: Corke and Armstrong-Hélouvry, A search for consensus among model
parameters reported for the PUMA 560 robot, 1994 (couplings within the wrist are left out). Torques at full output: the largest
joint torques in Armstrong, Khatib and Burdick, The explicit dynamic model and inertial parameters of the PUMA 560 arm, 1986.
Assumed, without a source: half of that as continuous torque; potentiometers on the joint shaft with a range of three quarters
of a turn to each side."""
