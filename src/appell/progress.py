"""Progress of long work, on a terminal's stderr only: files and pipes stay clean."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from typing import TypeVar

Item = TypeVar("Item")
WIDTH = 24


def progress(items: Sequence[Item], what: str) -> Iterator[Item]:
    """The items one after the other, with a bar that shows how many are done.

    Example:
        >>> list(progress(["a", "b"], "letters"))
        ['a', 'b']
    """
    begun = time.perf_counter()
    for done, item in enumerate(items):
        show(done / len(items), f"{what}: {item}", time.perf_counter() - begun)
        yield item
    finish()


def show(share: float, text: str, seconds: float) -> None:
    """Redraw the bar: a share from 0 to 1, what is going on, and for how long."""
    if sys.stderr.isatty():
        full = round(share * WIDTH)
        bar = "#" * full + "." * (WIDTH - full)
        sys.stderr.write(f"\r\x1b[K[{bar}] {share:4.0%}  {text}  {seconds:.0f} s")
        sys.stderr.flush()


def finish() -> None:
    """Remove the bar."""
    if sys.stderr.isatty():
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()


QUIET, PERIOD = 1.0, 0.1
"""Nothing is shown before this time, then again after this one. [s]"""


class Progress:
    """A line on stderr that says how far a run is; silent where stderr is no terminal, or if it is told to be."""

    def __init__(self, name: str, duration: float, wanted: bool | None) -> None:
        self.name, self.duration = name, duration
        self.active = sys.stderr.isatty() if wanted is None else wanted
        self._begun = time.perf_counter()
        self._next = self._begun + QUIET

    def show(self, t: float) -> None:
        """The motion is known up to t. [s]"""
        if not self.active:
            return
        now = time.perf_counter()
        if now >= self._next:
            self._next = now + PERIOD
            show(t / self.duration, f"simulating {self.name}: {t:.4g} of {self.duration:g} s", now - self._begun)

    def finish(self) -> None:
        """Remove the line."""
        if self.active:
            finish()
