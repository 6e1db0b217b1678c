"""Compilation needs no disk, no temporary folder and no other process."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

CALLS = """
import os, resource, signal, subprocess, sys
import numpy as np
import appell

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))  # a full disk: no file can grow

def no_process(*_, **__):
    raise AssertionError("a process was started")

subprocess.Popen = os.fork = os.posix_spawn = no_process
for seed in range(40):
    robot = appell.robots.random_chain(2, seed=seed)
    q = np.array([0.3, -0.7])
    np.testing.assert_allclose(appell.compile(robot).gravity(q), robot.gravity(q), rtol=1e-12, atol=1e-12)
print("done")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="limits of files")
@pytest.mark.parametrize("cache", ["cache", "file/cache"])
def test_a_full_disk(tmp_path, cache):
    (tmp_path / "temporary").mkdir()
    (tmp_path / "file").write_text("in the way")
    environment = {
        **os.environ,
        "TMPDIR": str(tmp_path / "temporary"),
        "APPELL_CACHE_DIR": str(tmp_path / cache),
        "PATH": "",
    }
    run = subprocess.run([sys.executable, "-c", CALLS], env=environment, capture_output=True, text=True)
    assert (run.stdout, run.stderr) == ("done\n", "")
    assert not list((tmp_path / "temporary").iterdir())
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and path.name != "file"]
