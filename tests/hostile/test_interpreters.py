"""Subinterpreters and free-threaded Python: refused at import, or run with the lock of the interpreter."""

import subprocess
import sys
import sysconfig

import pytest

from appell import _native

pytestmark = pytest.mark.skipif(_native.Kernel is None, reason="the C extension was not built")

IN_A_SUBINTERPRETER = """
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
try:
    failure = interpreters.run_string(interpreters.create(), "import appell._native, numpy")
except interpreters.RunFailedError as error:
    failure = error
print(getattr(failure, "msg", failure))
import appell._native
assert appell._native.Kernel is not None
"""


def test_a_subinterpreter_is_refused_by_name():
    done = subprocess.run([sys.executable, "-c", IN_A_SUBINTERPRETER], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "main interpreter alone" in done.stdout or "does not support loading in subinterpreters" in done.stdout


@pytest.mark.skipif(not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="this Python is not free-threaded")
def test_free_threaded_python_runs_with_its_lock():
    code = "import sys, appell._native; print(sys._is_gil_enabled())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "True", done.stderr
