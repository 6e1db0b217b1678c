"""Sweeps into a store on a disk that fails. Runs with `faulty_disk.c` preloaded: TRIALS, FOLDER.

A trial is a process that sweeps into a new store, or goes on in one, while the disk fails or the process is killed at one of its
calls; then another one goes on without faults. Prints one line of JSON: the trials by outcome, and defects.
"""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import sys
from collections import Counter
from pathlib import Path
from random import Random

import appell
from appell.sweeps import Execution, random_states
from appell.sweeps import store as _store  # noqa: F401  loads Zarr before processes are forked

DISK = ctypes.CDLL(None)
FULL, KILL_BEFORE, KILL_AFTER = 2, 3, 4
DONE, FAILED, FOREIGN, KILLED = 0, 1, 2, -9
NAMES = {DONE: "written", FAILED: "error", KILLED: "killed", FOREIGN: "foreign exception"}


def sweep_once(store: Path, kind: int, nth: int) -> tuple[int, int]:
    """A sweep in a process of its own with a fault: how it ended, and the number of its calls of the disk."""
    reader, writer = os.pipe()
    child = os.fork()
    if child:
        os.close(writer)
        with os.fdopen(reader) as answer:
            calls = int(answer.read() or 0)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), calls
    outcome = FOREIGN
    try:
        robot = appell.load("planar2r")
        DISK.faulty_disk(kind, nth)
        appell.sweep(robot, ["gravity", "mass_matrix"], random_states(robot, 50), store, execution=Execution(10, 2))
        outcome = DONE
    except (appell.AppellError, OSError):
        outcome = FAILED
    finally:
        calls = DISK.faulty_disk_calls()
        DISK.faulty_disk(0, 0)
        os.write(writer, str(calls).encode())
        os._exit(outcome)


def content(store: Path) -> dict[str, bytes]:
    """The files of a store that have their names."""
    files = [path for path in store.rglob("*") if path.is_file() and not path.name.endswith(".partial")]
    return {str(path.relative_to(store)): path.read_bytes() for path in files}


def main(trials: int, place: Path) -> None:
    outcomes, defects, random = Counter(), [], Random(trials)
    whole, store = place / "whole.zarr", place / "s.zarr"
    _, calls = sweep_once(whole, 0, 0)
    expected = content(whole)
    for _ in range(trials):
        kind, nth = random.choice((FULL, KILL_BEFORE, KILL_AFTER)), random.randint(1, calls)
        outcome, _ = sweep_once(store, kind, nth)
        outcomes[NAMES[outcome]] += 1
        where = f"fault {kind} at call {nth} of {calls}, {NAMES[outcome]}"
        if any(expected.get(name) != found for name, found in content(store).items()):
            defects.append(f"{where}: a file that is not whole has its name")
        if sweep_once(store, 0, 0)[0] != DONE or content(store) != expected:
            defects.append(f"{where}: the next sweep did not complete it")
        if outcome == FOREIGN:
            defects.append(f"{where}: a foreign exception")
        shutil.rmtree(store)
    print(json.dumps({"calls": calls, **outcomes, "defects": defects}))


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
