"""A thousand random starts of Shafei's tree in its circular wall, over all cores, with energy and walls checked.

python benchmarks/random_impacts.py [runs] [restitution]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from typing import NamedTuple

import numpy as np

import appell
from appell.simulation.contact.pairs import ContactPoints, default_contact_points

WALL = appell.surfaces.Circle(radius=2.5)
DURATION = 1.5


class Result(NamedTuple):
    """One run: whether all checks hold, its impacts, the largest rise of energy [J], the smallest gap [m]."""

    seed: int
    ok: bool
    status: str
    impacts: int
    energy_rise: float
    energy_change: float
    smallest_gap: float


@cache
def tree() -> tuple[appell.Robot, ContactPoints]:
    robot = appell.load("shafei_tree")
    return robot, ContactPoints(robot, default_contact_points(robot))


def random_start(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Random angles, positions and speeds, with every point at least 1 cm inside the wall."""
    rng = np.random.default_rng(seed)
    while True:
        q = np.concatenate([rng.uniform(-np.pi, np.pi, 10), rng.uniform(-1.5, 1.5, 2)])
        qd = np.concatenate([rng.uniform(-2.0, 2.0, 10), rng.uniform(-1.0, 1.0, 2)])
        positions, _ = tree()[1].positions_and_velocities(q[None], qd[None])
        if WALL.gap(positions).min() > 0.01:
            return q, qd


def run_one(seed: int, restitution: float = 1.0) -> Result:
    """Simulate one start and check energy and walls in every sample."""
    robot, points = tree()
    try:
        motion = appell.simulate(
            robot,
            *random_start(seed),
            DURATION,
            surfaces=[WALL],
            contact=appell.ContactOptions(restitution=restitution),
        )
    except appell.SimulationError as error:
        return Result(seed, False, str(error), 0, np.nan, np.nan, np.nan)
    gap = float(WALL.gap(points.positions_and_velocities(motion.q, motion.qd)[0]).min())
    rise = float(np.diff(motion.energy).max())
    change = float(np.abs(motion.energy - motion.energy[0]).max())
    at_impacts = max((impact.energy_after - impact.energy_before for impact in motion.impacts), default=0.0)
    ok = motion.status == "finished" and gap > -1e-9 and rise < 1e-5 and at_impacts < 1e-9
    ok = ok and (restitution < 1.0 or change < 1e-5)
    return Result(seed, ok, motion.status, len(motion.impacts), rise, change, gap)


def study(seeds: Iterable[int], restitution: float = 1.0, workers: int | None = None) -> list[Result]:
    """Many runs, one process for each core."""
    run_one(0, restitution)  # compile before the processes start
    with ProcessPoolExecutor(workers) as pool:
        return list(pool.map(partial(run_one, restitution=restitution), seeds, chunksize=8))


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    restitution = float(sys.argv[2]) if len(sys.argv) > 2 else 1.0
    start = time.perf_counter()
    results = study(range(runs), restitution)
    bad = [result for result in results if not result.ok]
    print(f"{runs} runs of {DURATION} s at e = {restitution:g} in {time.perf_counter() - start:.1f} s")
    print(f"{sum(result.impacts for result in results)} impacts, at most {max(r.impacts for r in results)} in a run")
    print(f"energy changes by at most {max(r.energy_change for r in results):.2e} J")
    print(f"energy rises by at most {max(r.energy_rise for r in results):.2e} J")
    print(f"deepest point behind the wall: {max(0.0, -min(r.smallest_gap for r in results)):.2e} m")
    print(f"{len(bad)} runs failed a check" + "".join(f"\n  {result}" for result in bad))


if __name__ == "__main__":
    main()
