"""Passive drops of robots on a floor: how many finish, in what time, with which energy balance, gain and depth.

python benchmarks/drops.py FILES... [--method moreau] [--postures 5] [--restitution 0 0.5] [--seconds 20] [--runs runs.csv]

Each robot is dropped, floating, from 0.3 m at seeded random postures, with friction 0.6. `--runs` keeps one line per run as it
ends; runs that it has already are not repeated. The tables are made of all runs: one line per robot, then the counts. A run is
slow beyond so many seconds of processor.
"""

from __future__ import annotations

import argparse
import csv
import signal
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import numpy as np

import appell
from appell.model.tree import require_tree
from appell.simulation.contact.pairs import contact_points_of

HEIGHT, FRICTION = 0.3, 0.6
LOADING_SECONDS = 120.0


@dataclass(frozen=True)
class Run:
    """One run: an outcome (refused, finished, failed, slow) with its reason or its warnings; sizes, errors and processor time."""

    robot: str
    method: str
    seed: int
    restitution: float
    outcome: str
    reason: str = ""
    speeds: int = 0
    points: int = 0
    warned: bool = False
    balance: float = 0.0
    gain: float = 0.0
    depth: float = 0.0
    seconds: float = 0.0

    @property
    def key(self) -> tuple:
        return self.robot, self.method, self.seed, self.restitution

    @classmethod
    def read(cls, line: dict[str, str]) -> Run:
        kinds = {"str": str, "int": int, "float": float, "bool": lambda text: text == "True"}
        return cls(**{field.name: kinds[str(field.type)](line[field.name]) for field in fields(cls)})


class OutOfTime(BaseException):
    """The processor time of a run is spent."""


@contextmanager
def processor_limit(seconds: float) -> Iterator[None]:
    """Raise `OutOfTime` after so much processor time."""

    def stop(*_: object) -> None:
        raise OutOfTime

    signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)


def heights(robot: appell.Robot, points: list[appell.Point], q: np.ndarray) -> np.ndarray:
    """Height of the lowest place of each point, (..., k). [m]"""
    poses = {point.body: robot.pose(q, point.body) for point in points}
    places = [
        poses[point.body][..., 2, :3] @ point.offset + poses[point.body][..., 2, 3] - point.radius for point in points
    ]
    return np.stack(places, axis=-1)


def posture(robot: appell.Robot, points: list[appell.Point], seed: int) -> np.ndarray:
    """A seeded configuration with its lowest point 0.3 m above the floor."""
    q = robot.random_configuration(seed)
    q[:3] = 0.0
    q[2] = HEIGHT - heights(robot, points, q).min()
    return q


def drop(
    robot: appell.Robot, points: list[appell.Point], seed: int, restitution: float, method: str, duration: float
) -> dict:
    """The fields of one run."""
    contact = appell.ContactOptions(points=points, restitution=restitution)
    floor = appell.surfaces.Plane(friction=FRICTION)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        motion = appell.simulate(
            robot, posture(robot, points, seed), np.zeros(robot.nv), duration, surfaces=floor, contact=contact, method=method
        )  # fmt: skip
    energy, finished = motion.energy, motion.status == "finished"
    texts = "; ".join(str(warning.message).partition("\n")[0] for warning in caught)
    return {
        "outcome": "finished" if finished else "failed",
        "reason": texts[:400] if finished else f"{motion.status} at {motion.t[-1]:.6g} s",
        "warned": bool(caught),
        "balance": float(np.abs(motion.balance).max()),
        "gain": float((energy - np.minimum.accumulate(energy)).max()),
        "depth": float(-heights(robot, points, motion.q).min()),
    }


def loaded(path: Path, method: str) -> tuple[appell.Robot, list[appell.Point]]:
    """The floating robot, compiled, and its contact points."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        robot = appell.load(path)
        require_tree("the robot", robot)
        if not any(joint.kind == "floating" for joint in robot.joints):
            robot = appell.load(path, base="floating")
        points = list(contact_points_of(robot, None))
        drop(robot, points, 0, 0.0, method, 1e-3)
    return robot, points


def runs_of(path: Path, options: argparse.Namespace, done: set[tuple]) -> Iterator[Run]:
    """The runs of one robot that are not done yet."""
    cases = [(seed, e) for seed in range(options.postures) for e in options.restitution]
    cases = [case for case in cases if (path.stem, options.method, *case) not in done]
    if not cases or (path.stem, options.method, -1, 0.0) in done:
        return
    try:
        with processor_limit(LOADING_SECONDS):
            robot, points = loaded(path, options.method)
    except (appell.AppellError, OutOfTime) as error:
        reason = first_line(error) or f"not loaded within {LOADING_SECONDS:g} s"
        yield Run(path.stem, options.method, -1, 0.0, "refused", reason)
        return
    for seed, restitution in cases:
        start = time.process_time()
        try:
            with processor_limit(options.seconds):
                found = drop(robot, points, seed, restitution, options.method, options.duration)
        except appell.AppellError as error:
            found = {"outcome": "failed", "reason": first_line(error)}
        except OutOfTime:
            found = {"outcome": "slow"}
        seconds = time.process_time() - start
        sizes = {"speeds": robot.nv, "points": len(points), "seconds": seconds}
        yield Run(path.stem, options.method, seed, restitution, **found, **sizes)


def first_line(error: BaseException) -> str:
    return str(error).partition("\n")[0][:160]


def robot_row(runs: list[Run]) -> str:
    """The line of one robot, or why it is refused."""
    first = runs[0]
    if first.outcome == "refused":
        return f"| {first.robot} | | | refused: {first.reason} | | | | | |"
    finished = [run for run in runs if run.outcome == "finished"]
    worst = [
        f"{max((getattr(run, name) for run in finished), default=np.nan):.1e}" for name in ("balance", "gain", "depth")
    ]
    warned, slowest = sum(run.warned for run in finished), max(run.seconds for run in runs)
    reasons = "; ".join(sorted({run.reason or run.outcome for run in runs if run.outcome != "finished"}))
    return (
        f"| {first.robot} | {first.speeds} | {first.points} | {len(finished)}/{len(runs)} | {warned} | "
        f"{' | '.join(worst)} | {slowest:.2f} |{' ' + reasons if reasons else ''}"
    )


def print_tables(runs: list[Run]) -> None:
    """One line per robot, then the counts of all."""
    print("| robot | speeds | points | finished | warned | balance [J] | gain [J] | depth [m] | slowest [s] |")
    print("|---|---|---|---|---|---|---|---|---|")
    robots = {run.robot: [other for other in runs if other.robot == run.robot] for run in runs}
    for name in sorted(robots):
        print(robot_row(robots[name]))
    counts = Counter(run.outcome for run in runs)
    print(f"\n{len(robots)} robots: " + ", ".join(f"{count} {outcome}" for outcome, count in counts.most_common()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--method", default="moreau", help="moreau, or an event-driven one such as DOP853")
    parser.add_argument("--postures", type=int, default=5)
    parser.add_argument("--restitution", type=float, nargs="+", default=[0.0, 0.5])
    parser.add_argument("--duration", type=float, default=1.0)
    parser.add_argument("--seconds", type=float, default=20.0, help="processor time of one run")
    parser.add_argument("--runs", type=Path, help="CSV file of the runs")
    options = parser.parse_args()
    runs: list[Run] = []
    if options.runs and options.runs.exists():
        with options.runs.open(newline="") as file:
            runs = [Run.read(line) for line in csv.DictReader(file)]
    done = {run.key for run in runs}
    for path in options.files:
        for run in runs_of(path, options, done):
            runs.append(run)
            if options.runs:
                with options.runs.open("a", newline="") as file:
                    writer = csv.DictWriter(file, [field.name for field in fields(Run)])
                    if not file.tell():
                        writer.writeheader()
                    writer.writerow(asdict(run))
    print_tables([run for run in runs if run.method == options.method])


if __name__ == "__main__":
    main()
