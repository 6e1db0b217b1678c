"""Threads that share a robot."""

import ctypes
import os
import subprocess
import sys
import threading
import weakref
from pathlib import Path

import numpy as np
import pytest

from appell import _native

BATCH = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 4, ctypes.c_ssize_t, ctypes.c_void_p)

pytestmark = pytest.mark.skipif(_native.Kernel is None, reason="the C extension was not built")


class CodeInMemory:
    """Stands for the library that a kernel keeps loaded."""


def python_kernel(batch, grain: int = 1) -> tuple[object, weakref.ref]:
    """A kernel of one input and one result of two entries that runs a Python function of n, and its library."""
    library = CodeInMemory()
    library.code = BATCH(lambda *arguments: batch(arguments[4]) or 0)  # type: ignore[attr-defined]
    address = ctypes.cast(library.code, ctypes.c_void_p).value  # type: ignore[attr-defined]
    kernel = _native.Kernel(library, address, address, 0, (2,), (2,), False, 1, grain)
    return kernel, weakref.ref(library)


def test_a_call_holds_its_kernel_while_another_is_bound():
    inside, leave = threading.Event(), threading.Event()

    def wait(n):
        inside.set()
        leave.wait(10)

    function = _native.Function(lambda q: q)
    kernel, code = python_kernel(wait)
    _native.bind(function, kernel, None, True)
    del kernel
    caller = threading.Thread(target=function, args=(np.zeros((64, 2)),))
    caller.start()
    assert inside.wait(10)
    _native.bind(function, python_kernel(lambda n: 0)[0], None, True)
    alive = code() is not None
    leave.set()
    caller.join()
    assert alive
    assert code() is None


def test_first_calls_in_many_threads_share_one_kernel():
    script = Path(__file__).with_name("thread_rounds.py")
    done = subprocess.run(
        [sys.executable, script, "20"], capture_output=True, text=True, env={**os.environ, "PYTHONMALLOC": "debug"}
    )
    assert done.returncode == 0, done.stderr
