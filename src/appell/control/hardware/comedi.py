"""A card of real converters and counters through Comedi, the Linux drivers for data acquisition (libcomedi, called by ctypes).

Tested against a library that loops outputs back to inputs; not tested on hardware. `docs/howto/hardware.md` has the order of
first tests, with motors unplugged.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

from appell.control.hardware.card import CODES, Commands, Readings
from appell.errors import ArgumentError, HardwareError

LIBRARY = "libcomedi.so.0"
INPUT, OUTPUT = 0, 1
"""Directions of digital channels (COMEDI_INPUT, COMEDI_OUTPUT)."""
UNSIGNED, POINTER, TEXT = ctypes.c_uint, ctypes.c_void_p, ctypes.c_char_p
PLACE = (POINTER, UNSIGNED, UNSIGNED)
"""Device, subdevice, channel."""
FUNCTIONS = {
    "comedi_open": ((TEXT,), POINTER),
    "comedi_close": ((POINTER,), ctypes.c_int),
    "comedi_errno": ((), ctypes.c_int),
    "comedi_strerror": ((ctypes.c_int,), TEXT),
    "comedi_get_maxdata": (PLACE, UNSIGNED),
    "comedi_data_read": ((*PLACE, UNSIGNED, UNSIGNED, ctypes.POINTER(UNSIGNED)), ctypes.c_int),
    "comedi_data_write": ((*PLACE, UNSIGNED, UNSIGNED, UNSIGNED), ctypes.c_int),
    "comedi_dio_config": ((*PLACE, UNSIGNED), ctypes.c_int),
    "comedi_dio_read": ((*PLACE, ctypes.POINTER(UNSIGNED)), ctypes.c_int),
    "comedi_dio_write": ((*PLACE, UNSIGNED), ctypes.c_int),
}
"""Functions of libcomedi that are called: arguments and result."""


class ComediChannel(NamedTuple):
    """A channel of a device, such as `ComediChannel("/dev/comedi0", 0, 3)`; `reference` 0 is ground, 2 differential."""

    device: str
    subdevice: int
    channel: int
    range: int = 0
    reference: int = 0


@dataclass(frozen=True)
class ComediWiring:
    """Which channel has which signal, one entry per axis.

    Attributes:
        potentiometers: analog inputs with a range of 0 to 5 V.
        counts: counters of the encoders in quadrature, four counts per line; of any width, extended in software.
        latches: counters that hold the count at the last index pulse.
        pulses: counters of index pulses.
        overheated: digital inputs of the thermal switches, 1 when a motor is too hot.
        outputs: analog outputs with a range of -10 to 10 V.
        tool: the two digital outputs of the tool.
        enable: digital output that switches the amplifiers on; None where nothing does.
    """

    potentiometers: tuple[ComediChannel, ...]
    counts: tuple[ComediChannel, ...]
    latches: tuple[ComediChannel, ...]
    pulses: tuple[ComediChannel, ...]
    overheated: tuple[ComediChannel, ...]
    outputs: tuple[ComediChannel, ...]
    tool: tuple[ComediChannel, ComediChannel]
    enable: ComediChannel | None = None

    def __post_init__(self) -> None:
        sizes = {each.name: len(getattr(self, each.name)) for each in fields(self)[:6]}
        if len(set(sizes.values())) != 1 or len(self.tool) != 2:
            raise ArgumentError(
                f"wiring has {sizes} and {len(self.tool)} tool channels, expected one of each per axis, and two."
            )

    @property
    def digital_outputs(self) -> tuple[ComediChannel, ...]:
        return self.tool if self.enable is None else (*self.tool, self.enable)

    @property
    def devices(self) -> tuple[str, ...]:
        """Device files, each once."""
        vectors = (getattr(self, each.name) for each in fields(self)[:6])
        return tuple(dict.fromkeys(channel.device for vector in (*vectors, self.digital_outputs) for channel in vector))


@dataclass
class WrappedCounter:
    """A counter of limited width, extended: the least change that explains two readings counts."""

    size: int
    last: int
    count: int = 0

    def update(self, raw: int) -> int:
        """The count since the first reading.

        Example:
            >>> counter = WrappedCounter(16, 14)
            >>> [counter.update(raw) for raw in (15, 1, 14)]
            [1, 3, 0]
        """
        self.count, self.last = self.near(raw), raw
        return self.count

    def near(self, raw: int) -> int:
        """The count of another register of the same width, nearest to the present count."""
        return self.count + (raw - self.last + self.size // 2) % self.size - self.size // 2


@dataclass
class ComediCard:
    """A `Card` of converters, counters and digital channels that Comedi drives.

    All outputs are set to 0 V and off when it is made. Between two readings a counter must change by less than half its range. If
    the process is killed the outputs stay as they are: use hardware whose watchdog sets them to 0 V, or `WatchdogCard`.

    Args:
        wiring: channels of all signals.
        library: file name of libcomedi.
    """

    wiring: ComediWiring
    library: str = LIBRARY
    tick: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self.comedi = load_library(self.library)
        self.devices: dict[str, Any] = {}
        self.enabled = False
        try:
            for path in self.wiring.devices:
                self.devices[path] = self.comedi.comedi_open(path.encode()) or self.fail(f"open {path}")
            for channel in self.wiring.digital_outputs:
                self.call("comedi_dio_config", channel, OUTPUT)
            for channel in self.wiring.overheated:
                self.call("comedi_dio_config", channel, INPUT)
            wired = self.wiring
            analog = (*wired.potentiometers, *wired.outputs)
            self.levels = {channel: self.comedi.comedi_get_maxdata(*self.place(channel)) + 1 for channel in analog}
            self.counters = [
                WrappedCounter(self.comedi.comedi_get_maxdata(*self.place(channel)) + 1, self.data(channel))
                for channel in wired.counts
            ]
            self.set_zero()
        except HardwareError:
            self.release()
            raise

    def read(self) -> Readings:
        wired = self.wiring
        self.tick += 1
        codes = [self.data(channel) * CODES // self.levels[channel] for channel in wired.potentiometers]
        counts = tuple(c.update(self.data(channel)) for c, channel in zip(self.counters, wired.counts, strict=True))
        latches = tuple(c.near(self.data(channel)) for c, channel in zip(self.counters, wired.latches, strict=True))
        pulses = tuple(self.data(channel) for channel in wired.pulses)
        return Readings(self.tick, tuple(codes), counts, latches, pulses, tuple(map(self.bit, wired.overheated)))

    def write(self, commands: Commands) -> None:
        self.set_outputs(commands)
        if not self.enabled and self.wiring.enable is not None:
            self.call("comedi_dio_write", self.wiring.enable, 1)
        self.enabled = True

    def close(self) -> None:
        """Amplifiers off, outputs at zero, devices closed; raises if one of these fails, and may be called again."""
        if self.devices:
            self.set_zero()
            self.release()

    def set_zero(self) -> None:
        """Amplifiers off first, then all outputs."""
        if self.wiring.enable is not None:
            self.call("comedi_dio_write", self.wiring.enable, 0)
        self.enabled = False
        self.set_outputs(Commands.zero(len(self.wiring.outputs)))

    def set_outputs(self, commands: Commands) -> None:
        for channel, code in zip(self.wiring.outputs, commands.codes, strict=True):
            level = code * self.levels[channel] // CODES
            self.call("comedi_data_write", channel, channel.range, channel.reference, level)
        for channel, on in zip(self.wiring.tool, commands.tool, strict=True):
            self.call("comedi_dio_write", channel, int(on))

    def data(self, channel: ComediChannel) -> int:
        """A sample of an analog input or a counter."""
        value = UNSIGNED()
        self.call("comedi_data_read", channel, channel.range, channel.reference, ctypes.byref(value))
        return value.value

    def bit(self, channel: ComediChannel) -> bool:
        value = UNSIGNED()
        self.call("comedi_dio_read", channel, ctypes.byref(value))
        return bool(value.value)

    def call(self, name: str, channel: ComediChannel, *arguments: Any) -> None:
        """A function of a channel, which returns a negative number where it fails."""
        if channel.device not in self.devices:
            raise HardwareError(f"{channel.device} is closed.")
        if getattr(self.comedi, name)(*self.place(channel), *arguments) < 0:
            self.fail(f"{name} on {channel.device}, subdevice {channel.subdevice}, channel {channel.channel}")

    def place(self, channel: ComediChannel) -> tuple[Any, int, int]:
        return self.devices[channel.device], channel.subdevice, channel.channel

    def fail(self, what: str) -> None:
        reason = self.comedi.comedi_strerror(self.comedi.comedi_errno())
        raise HardwareError(f"{what}: {(reason or b'unknown error').decode(errors='replace')}.")

    def release(self) -> None:
        """Close the devices."""
        for path in list(self.devices):
            if self.comedi.comedi_close(self.devices.pop(path)) < 0:
                self.fail(f"close {path}")


def load_library(name: str) -> ctypes.CDLL:
    """libcomedi with the types of the functions that are called."""
    try:
        library = ctypes.CDLL(name)
        for function, (arguments, result) in FUNCTIONS.items():
            getattr(library, function).argtypes, getattr(library, function).restype = arguments, result
    except (OSError, AttributeError) as error:
        raise HardwareError(f"{name} cannot be used: {error}. Install comedilib, or name its file.") from None
    return library
