"""Compilation without Python's search for cycles of objects."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def garbage_collection_paused() -> Iterator[None]:
    """No search for cycles, which visits all operations of a long function again and again: a fifth of the time to compile it.

    Operations refer to each other by number, in no cycles. Where several threads compile, the search goes on with the end of the
    first one that paused it.
    """
    paused = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if paused:
            gc.enable()
