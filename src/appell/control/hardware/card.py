"""What a controller asks of its hardware: the one thing to write for a real card (docs/howto/hardware.md)."""

from __future__ import annotations

from typing import Protocol

from appell.control.hardware.signals import Commands, Readings


class Card(Protocol):
    """Data acquisition cards behind one interface.

    Where the hardware no longer answers, `read` and `write` raise `appell.errors.HardwareError`.
    """

    def read(self) -> Readings:
        """All inputs, now. A simulation in its own time moves on by one period before it answers."""
        ...

    def write(self, commands: Commands) -> None:
        """Set all outputs; they hold until the next call. The first call switches the drives on."""
        ...

    def close(self) -> None:
        """Switch the drives off. Outputs are at zero afterwards, whatever was written before."""
        ...
