"""The card on Comedi, against a library with its functions that loops outputs back to inputs."""

from __future__ import annotations

import ctypes
import subprocess

import numpy as np
import pytest
from helpers.exported_c import C99, require

from appell.control import ComediCard, ComediChannel, ComediWiring, Commands
from appell.control.hardware.comedi import WrappedCounter
from appell.errors import ArgumentError, HardwareError

LOOPBACK = r"""
#include <string.h>
typedef struct { int open; unsigned data[8][16]; unsigned direction[8][16]; } comedi_t;
static comedi_t devices[2];
static int error = 0, failing = 0, calls = 0;
/* subdevices: 0 analog in (16 bits), 1 analog out (16 bits), 2 counters (24 bits), 3 digital; analog outputs lead to inputs. */
int loop_fail_after(int n) { failing = n; calls = 0; return 0; }
unsigned loop_get(int d, unsigned s, unsigned c) { return devices[d].data[s][c]; }
unsigned loop_direction(int d, unsigned s, unsigned c) { return devices[d].direction[s][c]; }
int loop_set(int d, unsigned s, unsigned c, unsigned v) { devices[d].data[s][c] = v; return 0; }
int loop_open(int d) { return devices[d].open; }
static int bad(void) { if (failing && ++calls > failing) { error = 5; return 1; } return 0; }
comedi_t *comedi_open(const char *name)
{
    int d = !strcmp(name, "/dev/comedi0") ? 0 : !strcmp(name, "/dev/comedi1") ? 1 : -1;
    if (d < 0) { error = 2; return 0; }
    devices[d].open++;
    return &devices[d];
}
int comedi_close(comedi_t *it) { it->open--; return 0; }
int comedi_errno(void) { return error; }
const char *comedi_strerror(int e) { return e == 2 ? "No such device" : "Input/output error"; }
unsigned comedi_get_maxdata(comedi_t *it, unsigned s, unsigned c) { (void)it; (void)c; return s == 2 ? 0xffffff : 0xffff; }
int comedi_data_read(comedi_t *it, unsigned s, unsigned c, unsigned range, unsigned aref, unsigned *data)
{
    (void)range; (void)aref;
    if (bad()) return -1;
    *data = it->data[s][c];
    return 1;
}
int comedi_data_write(comedi_t *it, unsigned s, unsigned c, unsigned range, unsigned aref, unsigned data)
{
    (void)range; (void)aref;
    if (bad()) return -1;
    it->data[s][c] = data;
    if (s == 1) it->data[0][c] = data;
    return 1;
}
int comedi_dio_config(comedi_t *it, unsigned s, unsigned c, unsigned d) { it->direction[s][c] = d; return bad() ? -1 : 1; }
int comedi_dio_read(comedi_t *it, unsigned s, unsigned c, unsigned *bit)
{
    if (bad()) return -1;
    *bit = it->data[s][c];
    return 1;
}
int comedi_dio_write(comedi_t *it, unsigned s, unsigned c, unsigned bit)
{
    if (bad()) return -1;
    it->data[s][c] = bit;
    return 1;
}
"""
ANALOG, COUNTERS = "/dev/comedi0", "/dev/comedi1"
WIRING = ComediWiring(
    potentiometers=tuple(ComediChannel(ANALOG, 0, k) for k in range(2)),
    counts=tuple(ComediChannel(COUNTERS, 2, k) for k in range(2)),
    latches=tuple(ComediChannel(COUNTERS, 2, 4 + k) for k in range(2)),
    pulses=tuple(ComediChannel(COUNTERS, 2, 8 + k) for k in range(2)),
    overheated=tuple(ComediChannel(ANALOG, 3, k) for k in range(2)),
    outputs=tuple(ComediChannel(ANALOG, 1, k) for k in range(2)),
    tool=(ComediChannel(ANALOG, 3, 4), ComediChannel(ANALOG, 3, 5)),
    enable=ComediChannel(ANALOG, 3, 6),
)


@pytest.fixture
def loopback(tmp_path):
    """A new copy of the library, so that every test has its own devices."""
    require("gcc")
    (tmp_path / "loop.c").write_text(LOOPBACK)
    target = tmp_path / "libcomedi.so.0"
    subprocess.run([*C99, "-shared", "-fPIC", "loop.c", "-o", str(target)], cwd=tmp_path, check=True)
    return str(target), ctypes.CDLL(str(target))


def test_outputs_reach_the_inputs(loopback):
    path, library = loopback
    card = ComediCard(WIRING, path)
    assert [library.loop_get(0, 1, k) for k in range(2)] == [32768, 32768]  # 0 V before anything else
    assert library.loop_get(0, 3, 6) == 0
    card.write(Commands((4095, 100), (True, False)))
    assert [library.loop_get(0, 1, k) for k in range(2)] == [65520, 1600]
    assert [library.loop_get(0, 3, k) for k in (4, 5, 6)] == [1, 0, 1]  # the first write enables the amplifiers
    assert [library.loop_direction(0, 3, k) for k in (0, 1, 4, 5, 6)] == [0, 0, 1, 1, 1]
    readings = card.read()
    assert readings.potentiometers == (4095, 100)
    assert (readings.tick, card.read().tick) == (1, 2)
    library.loop_set(0, 3, 1, 1)
    assert card.read().overheated == (False, True)
    card.close()
    assert [library.loop_get(0, 1, k) for k in range(2)] == [32768, 32768]
    assert [library.loop_get(0, 3, k) for k in (4, 5, 6)] == [0, 0, 0]
    assert (library.loop_open(0), library.loop_open(1)) == (0, 0)
    card.close()  # again
    with pytest.raises(HardwareError, match="is closed"):
        card.read()


def test_counters_are_extended_and_begin_at_zero(loopback):
    path, library = loopback
    library.loop_set(1, 2, 0, 0xFFFFF0)
    card = ComediCard(WIRING, path)
    assert card.read().counts == (0, 0)
    library.loop_set(1, 2, 0, 0x10)
    library.loop_set(1, 2, 1, 0xFFFFFE)
    library.loop_set(1, 2, 4, 0x4)
    library.loop_set(1, 2, 8, 1)
    readings = card.read()
    assert readings.counts == (32, -2)
    assert readings.latches[0] == 20
    assert readings.pulses == (1, 0)
    card.close()


def test_wrapped_counter_follows_any_motion():
    rng = np.random.default_rng(0)
    true, counter = 0, WrappedCounter(1 << 16, 0)
    for step in rng.integers(-30000, 30000, 200).tolist():
        true += step
        assert counter.update(true % (1 << 16)) == true


def test_failures_are_errors_and_the_devices_are_closed(loopback):
    path, library = loopback
    card = ComediCard(WIRING, path)
    library.loop_fail_after(1)
    with pytest.raises(
        HardwareError, match=r"comedi_\w+ on /dev/comedi\d, subdevice \d, channel \d: Input/output error"
    ):
        card.read()
    with pytest.raises(HardwareError):
        card.close()
    library.loop_fail_after(0)
    card.close()
    assert library.loop_get(0, 1, 0) == 32768
    missing = ComediWiring(*(tuple(c._replace(device="/dev/none") for c in v) for v in (
        WIRING.potentiometers, WIRING.counts, WIRING.latches, WIRING.pulses, WIRING.overheated, WIRING.outputs,
    )), tool=WIRING.tool)  # fmt: skip
    with pytest.raises(HardwareError, match="open /dev/none: No such device"):
        ComediCard(missing, path)
    assert library.loop_open(0) == 0


def test_what_does_not_fit_is_refused():
    with pytest.raises(ArgumentError, match="one of each per axis"):
        ComediWiring(WIRING.potentiometers[:1], *(WIRING.counts,) * 5, tool=WIRING.tool)
    with pytest.raises(HardwareError, match="Install comedilib"):
        ComediCard(WIRING, "libnothing.so")


class Library:
    """Functions of libcomedi that record their calls; registers by subdevice and channel."""

    def __init__(self, registers):
        self.calls, self.registers = [], registers

    def __getattr__(self, name):
        def function(*arguments):
            self.calls.append((name, *arguments))
            if name in ("comedi_data_read", "comedi_dio_read"):
                arguments[-1]._obj.value = self.registers[arguments[1:3]]
            return {"comedi_open": 7, "comedi_get_maxdata": 255 if arguments[1:2] == (2,) else 1023}.get(name, 0)

        return function


def test_calls_of_the_library_in_order(monkeypatch):
    """10 bits for 12-bit codes, counters of 8 bits; the amplifiers are enabled once, after the first outputs, and off first."""
    registers = {(0, 0): 513, (2, 0): 250, (2, 4): 2, (2, 8): 3, (3, 0): 1}
    library = Library(registers)
    monkeypatch.setattr("appell.control.hardware.comedi.load_library", lambda name: library)
    channels = {
        name: getattr(WIRING, name)[:1] for name in ("potentiometers", "counts", "latches", "pulses", "overheated")
    }
    analog = (ComediChannel(ANALOG, 1, 0, range=2, reference=1),)
    card = ComediCard(ComediWiring(**channels, outputs=analog, tool=WIRING.tool, enable=WIRING.enable))
    off, zero = ("comedi_dio_write", 7, 3, 6, 0), ("comedi_data_write", 7, 1, 0, 2, 1, 512)
    tool = [("comedi_dio_write", 7, 3, k, 0) for k in (4, 5)]
    configured = [call for call in library.calls if call[0] == "comedi_dio_config"]
    assert configured == [("comedi_dio_config", 7, 3, k, d) for k, d in ((4, 1), (5, 1), (6, 1), (0, 0))]
    assert [call[1] for call in library.calls if call[0] == "comedi_open"] == [ANALOG.encode(), COUNTERS.encode()]
    assert library.calls[-4:] == [off, zero, *tool]
    library.calls.clear()
    for _ in range(2):
        card.write(Commands((4095,), (False, True)))
    outputs = [("comedi_data_write", 7, 1, 0, 2, 1, 1023), *(("comedi_dio_write", 7, 3, k, k - 4) for k in (4, 5))]
    assert library.calls == [*outputs, ("comedi_dio_write", 7, 3, 6, 1), *outputs]
    registers[2, 0] = 4  # ten counts on, through zero
    found = card.read()
    assert found == (1, (2052,), (10,), (8,), (3,), (True,))
    library.calls.clear()
    card.close()
    assert library.calls == [off, zero, *tool, *[("comedi_close", 7)] * 2]
    library.calls.clear()
    card.close()
    assert not library.calls
    again = ComediCard(ComediWiring(**channels, outputs=analog, tool=WIRING.tool))  # nothing enables
    library.calls.clear()
    again.write(Commands((2048,)))
    assert library.calls == [zero, *tool]
