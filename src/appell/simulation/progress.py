"""The progress of a long run, on a terminal."""

from __future__ import annotations

import sys
import time

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
            from appell.cli.progress import show

            self._next = now + PERIOD
            show(t / self.duration, f"simulating {self.name}: {t:.4g} of {self.duration:g} s", now - self._begun)

    def finish(self) -> None:
        """Remove the line."""
        if self.active:
            from appell.cli.progress import finish

            finish()
