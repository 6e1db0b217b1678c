"""Compiled kernels on disk: reused, and never trusted blindly."""

from __future__ import annotations

import errno
import os
import subprocess
import sys

import numpy as np
import pytest
from helpers.closeness import assert_close

import appell
from appell.compiler import cache
from appell.compiler.fingerprint import source_digest
from appell.compiler.options import Options
from appell.compiler.targets.llvm import build
from appell.files import write_bytes
from appell.robot.compiled import CompiledRobot

ROBOT = appell.robots.random_chain(2, seed=51)
STATE = np.array([0.3, -0.7])
SHARED = build.builder_for(None, "float64").name("runtime", source_digest())
"""The entry of the cache that all kernels share."""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("APPELL_CACHE_DIR", str(tmp_path / "cache"))
    cache.warn_unused.cache_clear()
    return tmp_path / "cache" / "appell"


@pytest.fixture
def built(monkeypatch):
    """Counts how often a kernel is compiled."""
    runs, original = [], build.compile_text

    def counted(text, *rest):
        runs.extend([1] if "@appell_work" in text else [])
        return original(text, *rest)

    monkeypatch.setattr(build, "compile_text", counted)
    return runs


def torque() -> np.ndarray:
    return appell.compile(ROBOT).gravity(STATE)


@pytest.fixture(scope="module")
def expected():
    return ROBOT.gravity(STATE)


def test_the_second_time_nothing_is_compiled(folder, built, expected):
    assert_close(torque(), expected)
    np.testing.assert_array_equal(torque(), torque())
    assert len(built) == 1


def test_the_cache_needs_no_tracing(folder, monkeypatch, expected):
    torque()
    monkeypatch.setattr("appell.compiler.lowering.trace", None)
    monkeypatch.setattr("appell.compiler.provider.trace", None)
    assert_close(torque(), expected)


def test_another_robot_request_or_precision_is_another_kernel(folder, built):
    torque()
    appell.compile(appell.robots.random_chain(2, seed=52)).gravity(STATE)
    appell.compile(ROBOT).gravity(STATE, gravity=(0, 0, -1))
    appell.compile(ROBOT, dtype="float32").gravity(STATE)
    appell.compile(ROBOT).bias(STATE, STATE)
    appell.compile(ROBOT.with_gravity((0, 0, -1.62))).gravity(STATE)
    assert len(built) == 6


@pytest.mark.parametrize(
    ("options", "version"), [({"isa": "plain"}, None), ({}, (99, 0, 0))], ids=["instruction set", "LLVM"]
)
def test_another_processor_or_version_of_llvm_is_another_kernel(folder, built, monkeypatch, options, version):
    torque()
    if version:
        monkeypatch.setattr(build.binding(), "llvm_version_info", version)
    CompiledRobot(ROBOT, Options(**options)).gravity(STATE)
    assert len(built) == 2


def test_another_version_of_the_algorithms_is_another_kernel(folder, built, monkeypatch):
    torque()
    monkeypatch.setattr("appell.compiler.provider.source_digest", lambda *more: "later")
    torque()
    assert len(built) == 2


DAMAGES = {
    "cut": lambda content: content[: len(content) // 2],
    "empty": lambda content: b"",
    "changed": lambda content: content[:500] + bytes([content[500] ^ 1]) + content[501:],
    "foreign": lambda content: b"#!/bin/sh\nexit 1\n",
    "another digest": lambda content: content[:-1] + bytes([content[-1] ^ 1]),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_what_is_damaged_is_built_again(folder, built, expected, damage):
    torque()
    (path,) = (path for path in folder.glob("*.code") if path.stem != SHARED)
    write_bytes(path, DAMAGES[damage](path.read_bytes()))  # a new file: what is loaded already must keep its content
    assert_close(torque(), expected)
    assert len(built) == 2
    torque()
    assert len(built) == 2  # and is whole again


def test_files_of_a_crashed_process_do_no_harm(folder, built, expected):
    folder.mkdir(mode=0o700, parents=True)
    (folder / f".{'0' * 40}.code.{'0' * 32}.partial").write_bytes(b"half of something")
    assert_close(torque(), expected)


def test_a_file_in_place_of_the_folder(folder, expected):
    folder.parent.mkdir()
    folder.write_text("in the way")
    assert_close(torque(), expected)


@pytest.mark.parametrize("call", ["write", "replace"])
def test_a_full_disk(folder, built, monkeypatch, expected, call):
    def fail(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    if call == "write":
        monkeypatch.setattr(cache, "write_bytes", fail)
    else:
        monkeypatch.setattr(os, call, fail)
    assert_close(torque(), expected)
    monkeypatch.undo()
    assert not list(folder.iterdir())


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder(folder, expected):
    folder.mkdir(mode=0o500, parents=True)
    assert_close(torque(), expected)


def test_its_size_is_bounded(folder, monkeypatch):
    torque()
    size = sum(path.stat().st_size for path in folder.iterdir())
    monkeypatch.setattr(cache, "LIMIT", 3 * size)
    for seed in range(60, 68):
        appell.compile(appell.robots.random_chain(2, seed=seed)).gravity(STATE)
        assert sum(path.stat().st_size for path in folder.iterdir()) <= 3 * size


def test_what_was_used_last_is_kept(tmp_path):
    names = [letter * 40 + ".code" for letter in "abc"]
    for age, name in enumerate(names):
        path = tmp_path / name
        path.write_bytes(bytes(100))
        os.utime(path, (1e9 - age, 1e9 - age))
    cache.trim(tmp_path, 250)
    assert [path.name for path in tmp_path.iterdir()] == names[:1]


WORKER = """
import sys
import numpy as np
import appell
robot = appell.robots.random_chain(3, seed=53)
q = np.array([0.1, 0.2, 0.3])
dyn = appell.compile(robot)
print(dyn.gravity(q).tobytes().hex(), dyn.bias(q, q).tobytes().hex())
"""


def test_processes_at_the_same_time(folder):
    environment = {**os.environ, "APPELL_CACHE_DIR": str(folder.parent)}
    started = [
        subprocess.Popen([sys.executable, "-c", WORKER], env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    answers = {process.communicate(timeout=120)[0] for process in started}
    assert all(process.returncode == 0 for process in started)
    assert len(answers) == 1
    assert len(list(folder.glob("*.code"))) == 3  # two kernels and what they share
    assert not list(folder.glob(".*"))


def test_the_default_folder_is_the_users(tmp_path, monkeypatch):
    monkeypatch.delenv("APPELL_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "somewhere"))
    assert cache.private_folder() == tmp_path / "somewhere/appell"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache.private_folder() == tmp_path / ".cache/appell"
