"""Saved robots from others: bounded in memory, complete in operations, and no exception that is not ours."""

from __future__ import annotations

import gzip
import hashlib
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from helpers.closeness import assert_close

import appell
from appell.compiler.archive import container
from appell.compiler.archive.container import FORMAT

LOAD = """
import resource, sys
import appell, appell.loading.compiled
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    appell.load_compiled(sys.argv[1])
except appell.CompileError:
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def write(path: Path, text: bytes) -> Path:
    """A file with a right checksum around any text."""
    packed = gzip.compress(text)
    head = f"appell compiled robot, format {FORMAT}, sha256 {hashlib.sha256(packed).hexdigest()}\n"
    path.write_bytes(head.encode() + packed)
    return path


@pytest.fixture(scope="module")
def content(tmp_path_factory) -> dict:
    path = tmp_path_factory.mktemp("robot") / "chain.appell"
    robot = appell.robots.random_tree(30, seed=4, kinds=("revolute", "prismatic"))
    appell.compile(robot).save(path, functions=["mass_matrix"])
    return container.read(path)


@pytest.mark.parametrize("entry", [b"[],", b"{},", b'{"a":1},', "\N{ROBOT FACE}".encode()])
def test_a_small_file_takes_little_memory(tmp_path, entry):
    text = b'{"robot":[' + entry * (40 * 2**20 // len(entry)) + b"0]}"
    path = write(tmp_path / "robot", text)
    assert path.stat().st_size < 200_000
    run = subprocess.run([sys.executable, "-c", LOAD, path], capture_output=True, text=True)
    assert int(run.stdout) < 200_000, run.stderr  # kB


def test_memory_is_bounded_by_what_a_robot_needs(content, tmp_path):
    form = content["functions"][0]["form"]
    for name in ("row", "nq", "nv"):
        container.write(tmp_path / "robot", replaced(content, form, {name: 10**5}))
        with pytest.raises(appell.CompileError, match="not written by appell"):
            appell.load_compiled(tmp_path / "robot")


def replaced(content: dict, form: dict, fields: dict) -> dict:
    """The content with other fields of the first form."""
    function = {**content["functions"][0], "form": {**form, **fields}}
    return {**content, "functions": [function]}


@pytest.mark.parametrize("number", ["1" + "0" * 400, "-1" + "0" * 400, "1e999", "1" + "0" * 5000])
def test_numbers_that_no_float_holds(content, tmp_path, number):
    text = json.dumps(content).replace('"gravity_vector": [0.0', f'"gravity_vector": [{number}')
    assert number in text
    with pytest.raises(appell.CompileError, match=str(tmp_path)):
        appell.load_compiled(write(tmp_path / "robot", text.encode()))


@pytest.mark.parametrize("text", [b"", b"[" * 100_000, b"\xff\xfe{}", b'{"robot": NaN}', b"{}", b"[]", b"nul"])
def test_other_content(tmp_path, text):
    with pytest.raises(appell.CompileError, match=str(tmp_path)):
        appell.load_compiled(write(tmp_path / "robot", text))


def test_a_robot_with_loops_without_a_compiler(tmp_path, monkeypatch):
    """Its actuator forces have the operation `sign`."""
    robot = appell.load("four_bar")
    path = tmp_path / "four_bar.appell"
    appell.compile(robot).save(path)
    monkeypatch.setenv("APPELL_NATIVE", "0")
    loaded, q = appell.load_compiled(path), robot.reference_configuration
    assert_close(loaded.mass_matrix(q), robot.mass_matrix(q), tolerance=1e-12)
    for each in loaded.store.functions:
        inputs = tuple(q if name == "q" else np.zeros(size) for name, size in each.signature.inputs)
        out = np.full(each.signature.entries, np.nan)
        assert loaded.store.interpreted(each.spec, "float64").run(inputs, out), each.spec
