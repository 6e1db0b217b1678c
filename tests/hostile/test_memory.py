"""Many calls without growth of memory."""

import gc
import os

import numpy as np
import pytest

import appell
from appell.errors import AppellError

pytestmark = pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="this system has no /proc")
ALLOWED = 2_000_000
"""Bytes that the allocator may keep for itself."""
BATCH = np.full((400, 2), 0.3)
STATE, OUT, NOT_FINITE = np.array([0.1, 0.2]), np.empty(2), np.array([0.1, np.nan])


def attempt(call):
    try:
        call()
    except AppellError:
        return
    raise AssertionError("no error")


CALLS = {
    "one state": lambda dyn: dyn.gravity(STATE),
    "one state with out": lambda dyn: dyn.gravity(STATE, out=OUT, check=False),
    "a batch": lambda dyn: dyn.inverse_dynamics(BATCH, BATCH, BATCH),
    "lists": lambda dyn: dyn.gravity([0.1, 0.2]),
    "an error": lambda dyn: attempt(lambda: dyn.gravity(NOT_FINITE)),
    "another robot": lambda dyn: appell.compile(dyn.robot).gravity(STATE),
}


def resident_bytes() -> int:
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def growth(name: str, count: int) -> int:
    dyn, call = appell.compile(appell.load("planar2r")), CALLS[name]
    for _ in range(count // 10):
        call(dyn)
    before = resident_bytes()
    for _ in range(count):
        call(dyn)
    return resident_bytes() - before


COUNTS = {
    "one state": 10**5, "one state with out": 10**5, "a batch": 20_000, "lists": 20_000, "an error": 10_000,
    "another robot": 100,
}  # fmt: skip


@pytest.mark.parametrize(("name", "count"), COUNTS.items())
def test_memory_does_not_grow(name, count):
    assert growth(name, count) < ALLOWED


@pytest.mark.slow
@pytest.mark.parametrize(("name", "count"), [("one state", 10**8), ("a batch", 10**7), ("an error", 10**6)])
def test_memory_does_not_grow_for_long(name, count):
    assert growth(name, count) < ALLOWED
