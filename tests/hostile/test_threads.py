"""Threads that share a robot."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from helpers.python_kernels import python_kernel

from appell import _native

pytestmark = pytest.mark.skipif(_native.Kernel is None, reason="the C extension was not built")


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
        [sys.executable, script, "20"],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONMALLOC": "debug"},
    )
    assert done.returncode == 0, done.stderr
