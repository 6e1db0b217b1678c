"""Progress bars on stderr, only if it is a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

Item = TypeVar("Item")
WIDTH = 24


def progress(items: Sequence[Item], what: str) -> Iterator[Item]:
    """The items in turn, with a progress bar.

    Example:
        >>> list(progress(["a", "b"], "letters"))
        ['a', 'b']
    """
    started = time.perf_counter()
    for done, item in enumerate(items):
        show(done / len(items), f"{what}: {item}", time.perf_counter() - started)
        yield item
    finish()


def show(fraction: float, text: str, seconds: float) -> None:
    """Redraw the bar: fraction from 0 to 1, text, elapsed time."""
    if sys.stderr.isatty():
        full = round(fraction * WIDTH)
        bar = "#" * full + "." * (WIDTH - full)
        sys.stderr.write(f"\r\x1b[K[{bar}] {fraction:4.0%}  {text}  {seconds:.0f} s")
        sys.stderr.flush()


def finish() -> None:
    """Remove the bar."""
    if sys.stderr.isatty():
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()


FIRST_AFTER, PERIOD = 1.0, 0.1
"""Delay of the first output, and time between two. [s]"""


class Progress:
    """A line on stderr with the progress of a computation; by default only on a terminal."""

    def __init__(
        self, name: str, duration: float, enabled: bool | None = None, what: str = "simulating", unit: str = "s"
    ) -> None:
        self.name, self.duration, self.what, self.unit = name, duration, what, unit
        self.active = sys.stderr.isatty() if enabled is None else enabled
        self._started = time.perf_counter()
        self._next = self._started + FIRST_AFTER

    def show(self, t: float) -> None:
        """Report that the motion, or other work, is computed up to t. [s, or another unit]"""
        if not self.active:
            return
        now = time.perf_counter()
        if now >= self._next:
            self._next = now + PERIOD
            text = f"{self.what} {self.name}: {t:.4g} of {self.duration:g} {self.unit}"
            show(t / self.duration, text, now - self._started)

    def between(self, first: float, last: float) -> Callable[[float], None]:
        """A function that reports a share from 0 to 1 as t from `first` to `last`."""
        return lambda share: self.show(first + share * (last - first))

    def finish(self) -> None:
        """Remove the line."""
        if self.active:
            finish()
