"""Threads of BLAS: the matrices of an identification are small, and several threads only wait for each other."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Let BLAS use one thread, where the extra `identify` (threadpoolctl) is installed."""
    try:
        from threadpoolctl import threadpool_limits
    except ImportError:
        yield
        return
    with threadpool_limits(1, user_api="blas"):
        yield
