"""Every writer of the library on a disk that fails. Runs with `faulty_disk.c` preloaded: TRIALS for each writer, FOLDER.

A trial is a process of its own that replaces a file while the disk fails at one of its calls. Prints one line of JSON: for
each writer the trials by outcome, and what was found that is neither the earlier file nor the new one.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random

import numpy as np

import appell
from appell.compiler import cache
from appell.compiler.archive import container
from appell.exporters import write_generated
from appell.plotting import new_figure, save_figure
from appell.report import Report
from appell.sweeps import States

DISK = ctypes.CDLL(None)
SHORT, FULL, KILL_BEFORE, KILL_AFTER = 1, 2, 3, 4
DONE, FAILED, FOREIGN, KILLED = 0, 1, 2, -9
NAMES = {DONE: "written", FAILED: "OSError", KILLED: "killed"}

Writer = Callable[[Path, int], object]
"""Writes version 0 or 1 of its files into a folder."""


def writers() -> dict[str, Writer]:
    """All of them, with what they write prepared."""
    robot = appell.load("planar2r")
    states = [States(*(np.random.default_rng(k).normal(size=(400, 2)) for _ in range(3))) for k in range(2)]
    sweeps = [appell.sweep(robot, ["mass_matrix"], each) for each in states]
    motions = [appell.simulate(robot, [0.1 + k, 0.2], [0, 0], 0.1) for k in range(2)]
    robots = [robot, robot.with_gravity((0, 0, -1.62))]
    reports = [Report(f"version {k}", notes=("a note",) * 2000) for k in range(2)]
    figures = [new_figure(3.0, 2.0) for _ in range(2)]
    for figure in figures:
        figure.set_layout_engine(None)  # its result depends on the one before
    figures[1].subplots().plot([0, 1], [0, 1])
    os.environ["APPELL_CACHE_DIR"] = tempfile.mkdtemp()

    def export(folder: Path, version: int) -> None:
        write_generated(folder, {name: f"/* {name} {version} */\n" * 3000 for name in ("a.h", "a.c")}, force=True)

    def store(folder: Path, version: int) -> None:
        os.environ["APPELL_CACHE_DIR"] = str(folder)
        cache.store("0" * 40, bytes([version]) * 40_000)

    return {
        "sweep npz": lambda folder, k: sweeps[k].save(folder / "sweep.npz"),
        "sweep parquet": lambda folder, k: sweeps[k].save(folder / "sweep.parquet"),
        "sweep csv": lambda folder, k: sweeps[k].save(folder / "sweep.csv"),
        "trajectory npz": lambda folder, k: motions[k].save(folder / "motion.npz"),
        "trajectory csv": lambda folder, k: motions[k].to_csv(folder / "motion.csv"),
        "figure": lambda folder, k: save_figure(figures[k], folder / "figure.png"),
        "report": lambda folder, k: reports[k].write(folder / "report.html"),
        "urdf": lambda folder, k: robots[k].to_urdf(folder / "robot.urdf"),
        "saved robot": lambda folder, k: container.write(folder / "a.appell", {"numbers": [k] * 20_000, "version": k}),
        "exported code": export,
        "cached kernel": store,
    }


def content(folder: Path) -> dict[str, bytes]:
    """The files of a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def attempt(write: Writer, folder: Path, kind: int, nth: int) -> int:
    """Write version 1 in another process; how it ended."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    outcome = FOREIGN
    try:
        DISK.faulty_disk(kind, nth)
        write(folder, 1)
        outcome = DONE
    except OSError:
        outcome = FAILED
    finally:
        os._exit(outcome)


def trial(write: Writer, folder: Path, random: Random, versions: list[dict], calls: int) -> tuple[int, list[str]]:
    """One write with one fault over the files of version 0, and the defects that it leaves."""
    kind, nth = random.choice((SHORT, FULL, KILL_BEFORE, KILL_AFTER)), random.randint(1, calls)
    outcome = attempt(write, folder, kind, nth)
    found, before, after = content(folder), *versions
    where = f"fault {kind} at call {nth} of {calls}, outcome {outcome}"
    defects = [] if outcome in NAMES else [f"{where}: a foreign exception"]
    for name in found.keys() | after.keys():
        if name.endswith(".partial"):
            if outcome != KILLED:
                defects.append(f"{where}: {name} was left")
        elif outcome == DONE and "appell/secret" not in after and found.get(name) != after[name]:
            defects.append(f"{where}: {name} was not written")
        elif found.get(name) not in (before.get(name), after.get(name)):
            defects.append(f"{where}: {name} is neither the earlier file nor the new one")
    return outcome, defects


def main(trials: int, place: str) -> None:
    results = {}
    for name, write in writers().items():
        random, outcomes, defects = Random(name), Counter(), []
        folder = Path(tempfile.mkdtemp(dir=place))
        write(folder, 0)
        versions = [content(folder)]
        DISK.faulty_disk(0, 0)
        write(folder, 1)
        calls = DISK.faulty_disk_calls()
        versions.append(content(folder))
        for _ in range(trials):
            earlier = versions[0] if random.random() < 0.8 else {}
            for path in [path for path in folder.rglob("*") if path.is_file()]:
                if path.name.endswith(".partial") or (not earlier and path.parent == folder):
                    path.unlink()
            for key, value in earlier.items():
                (folder / key).write_bytes(value)
            present = content(folder)
            outcome, found = trial(write, folder, random, [present, versions[1]], calls)
            outcomes[NAMES.get(outcome, "foreign exception")] += 1
            defects += found
        results[name] = {"calls": calls, **outcomes, "defects": defects}
    print(json.dumps(results))


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
