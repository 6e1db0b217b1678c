"""Passive drops of robots on a floor: how many finish, in what time, with which energy balance, gain and depth.

python benchmarks/drops.py FILES... [--method moreau] [--postures 5] [--duration 1.0]

Each robot is dropped, floating, from 0.3 m at seeded random postures, with restitution 0 and 0.5 and friction 0.6. One line per
robot: runs that finish, warnings, worst balance and gain of energy, deepest point, processor time of the slowest run.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path

import numpy as np

import appell
from appell.model.tree import require_tree
from appell.simulation.contact.pairs import contact_points_of

HEIGHT, FRICTION = 0.3, 0.6


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
    robot: appell.Robot, points: list[appell.Point], seed: int, restitution: float, options: argparse.Namespace
) -> dict:
    """One run: status, balance, gain, depth and time."""
    contact = appell.ContactOptions(points=points, restitution=restitution)
    floor = appell.surfaces.Plane(friction=FRICTION)
    start = time.process_time()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        motion = appell.simulate(
            robot, posture(robot, points, seed), np.zeros(robot.nv), options.duration, surfaces=floor, contact=contact,
            method=options.method,
        )  # fmt: skip
    energy = motion.energy
    return {
        "finished": motion.status == "finished", "warned": bool(caught), "balance": float(np.abs(motion.balance).max()),
        "gain": float((energy - np.minimum.accumulate(energy)).max()), "depth": float(-heights(robot, points, motion.q).min()),
        "time": time.process_time() - start,
    }  # fmt: skip


def row(path: Path, options: argparse.Namespace) -> str:
    """The line of one robot, or why it is refused."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            robot = appell.load(path)
            if not any(joint.kind == "floating" for joint in robot.joints):
                robot = appell.load(path, base="floating")
            require_tree("the robot", robot)
            points = list(contact_points_of(robot, None))
            floor, contact = appell.surfaces.Plane(friction=FRICTION), appell.ContactOptions(points=points)
            start = posture(robot, points, 0), np.zeros(robot.nv)
            appell.simulate(robot, *start, 1e-3, surfaces=floor, contact=contact, method=options.method)  # compiles
    except appell.AppellError as error:
        return f"| {path.stem} | refused: {str(error).splitlines()[0][:80]} |"
    runs, errors = [], []
    for seed in range(options.postures):
        for restitution in (0.0, 0.5):
            try:
                runs.append(drop(robot, points, seed, restitution, options))
            except appell.AppellError as error:  # noqa: PERF203
                errors.append(str(error).splitlines()[0][:80])
    if not runs:
        return f"| {path.stem} | refused: {errors[0]} |"
    worst = {name: max(run[name] for run in runs) for name in ("balance", "gain", "depth", "time")}
    return (
        f"| {path.stem} | {robot.nv} | {len(points)} | {sum(run['finished'] for run in runs)}/{2 * options.postures} | "
        f"{sum(run['warned'] for run in runs)} | {worst['balance']:.1e} | {worst['gain']:.1e} | {worst['depth']:.1e} | "
        f"{worst['time']:.2f} |{' ' + errors[0] if errors else ''}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--method", default="moreau")
    parser.add_argument("--postures", type=int, default=5)
    parser.add_argument("--duration", type=float, default=1.0)
    options = parser.parse_args()
    print("| robot | speeds | points | finished | warned | balance [J] | gain [J] | depth [m] | slowest [s] |")
    print("|---|---|---|---|---|---|---|---|---|")
    for path in options.files:
        print(row(path, options), flush=True)


if __name__ == "__main__":
    main()
