"""Readings and commands as bytes, over a local socket.

A message is a letter and content of fixed size: `R` requests readings, `W` carries commands, `Q` ends the connection. Only `R`
has a reply.
"""

from __future__ import annotations

import socket
import struct

from appell.control.hardware.card import Commands, Readings
from appell.errors import HardwareError

READ, WRITE, QUIT = b"R", b"W", b"Q"


class Codec:
    """Messages for n axes."""

    def __init__(self, n: int) -> None:
        self.n = n
        self.reading = struct.Struct(f"<Q{n}H{n}q{n}q{n}Q{n}?")
        self.command = struct.Struct(f"<{n}H2?")

    def pack_readings(self, readings: Readings) -> bytes:
        tick, *vectors = readings
        return self.reading.pack(tick, *(x for vector in vectors for x in vector))

    def unpack_readings(self, content: bytes) -> Readings:
        tick, *flat = self.reading.unpack(content)
        vectors = [tuple(flat[k : k + self.n]) for k in range(0, len(flat), self.n)]
        return Readings(tick, *vectors)

    def pack_commands(self, commands: Commands) -> bytes:
        return self.command.pack(*commands.codes, *commands.tool)

    def unpack_commands(self, content: bytes) -> Commands:
        *codes, first, second = self.command.unpack(content)
        return Commands(tuple(codes), (first, second))


def receive(connection: socket.socket, size: int) -> bytes:
    """Exactly `size` bytes; raises if the connection ends or times out before."""
    content = bytearray()
    while len(content) < size:
        try:
            part = connection.recv(size - len(content))
        except TimeoutError:
            raise HardwareError(f"no reply within {connection.gettimeout():g} s.") from None
        except OSError as error:
            raise HardwareError(f"the connection broke: {error.strerror or error}.") from None
        if not part:
            raise HardwareError("the connection was closed by the other side.")
        content += part
    return bytes(content)


def send(connection: socket.socket, content: bytes) -> None:
    try:
        connection.sendall(content)
    except OSError as error:
        raise HardwareError(f"the connection broke: {error.strerror or error}.") from None
