"""An incremental encoder and the counter that listens to it, at the level of their three wires."""

from __future__ import annotations

from dataclasses import dataclass

LEVELS = ((0, 0), (1, 0), (1, 1), (0, 1))
"""Channels A and B through the four counts of a line, turning forwards: A leads."""

FORWARDS = {pair: k for k, pair in enumerate(LEVELS)}


def wires(count: int, turn: int) -> tuple[int, int, int]:
    """Channels A, B and index of an encoder with so many counts a turn, at an absolute count.

    Example:
        >>> [wires(count, 800) for count in (-1, 0, 1)]
        [(0, 1, 0), (0, 0, 1), (1, 0, 0)]
    """
    return *LEVELS[count % 4], int(count % turn == 0)


@dataclass
class Counter:
    """A counter card's channel: counts every edge of A and B, and keeps the count at the rising edge of the index.

    Example:
        >>> counter = Counter(wires(798, 800))
        >>> for count in (799, 800, 801):
        ...     counter.see(wires(count, 800))
        >>> counter.count, counter.latch, counter.pulses
        (3, 2, 1)
    """

    last: tuple[int, int, int]
    count: int = 0
    latch: int = 0
    pulses: int = 0

    def see(self, now: tuple[int, int, int]) -> None:
        """The wires have these levels now. Both channels changing at once is no step: which way is not known."""
        step = (FORWARDS[now[:2]] - FORWARDS[self.last[:2]]) % 4
        self.count += {1: 1, 3: -1}.get(step, 0)
        if now[2] and not self.last[2]:
            self.latch = self.count
            self.pulses += 1
        self.last = now
