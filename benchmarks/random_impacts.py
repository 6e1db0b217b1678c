"""Random starts of Shafei's tree in its circular wall: distribution of impacts, with energy and walls checked.

python benchmarks/random_impacts.py [RUNS] [--restitution E] [--workers N] [--store FOLDER] [--plot FILE]

Runs are those of `appell.monte_carlo` over N worker processes; with a store the same command goes on where it was ended.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Mapping
from functools import cache, partial
from pathlib import Path

import numpy as np

import appell
from appell.simulation.contact.pairs import ContactPoints, contact_points_of
from appell.sweeps import Execution, MonteCarlo

WALL = appell.surfaces.Circle(radius=2.5)
DURATION = 1.5


@cache
def contact_points() -> ContactPoints:
    robot = appell.load("shafei_tree")
    return ContactPoints(robot, contact_points_of(robot, None))


def random_start(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Random angles, positions and speeds, with every point at least 1 cm inside the wall."""
    while True:
        q = np.concatenate([rng.uniform(-np.pi, np.pi, 10), rng.uniform(-1.5, 1.5, 2)])
        qd = np.concatenate([rng.uniform(-2.0, 2.0, 10), rng.uniform(-1.0, 1.0, 2)])
        positions, _ = contact_points().positions_and_velocities(q[None], qd[None])
        if WALL.gap(positions).min() > 0.01:
            return {"q0": q, "qd0": qd}


def run_one(robot: appell.Robot, q0: np.ndarray, qd0: np.ndarray, restitution: float = 1.0) -> dict[str, float]:
    """Simulate one start: impacts, the largest rise and change of energy [J], the smallest gap [m], whether all checks hold."""
    contact = appell.ContactOptions(restitution=restitution)
    motion = appell.simulate(robot, q0, qd0, DURATION, surfaces=[WALL], contact=contact)
    gap = float(WALL.gap(contact_points().positions_and_velocities(motion.q, motion.qd)[0]).min())
    rise = float(np.diff(motion.energy).max())
    change = float(np.abs(motion.energy - motion.energy[0]).max())
    at_impacts = max((impact.energy_after - impact.energy_before for impact in motion.impacts), default=0.0)
    ok = motion.status == "finished" and gap > -1e-9 and rise < 1e-5 and at_impacts < 1e-9
    ok = ok and (restitution < 1.0 or change < 1e-5)
    return {"impacts": len(motion.impacts), "energy_rise": rise, "energy_change": change, "smallest_gap": gap, "ok": ok}


def study(
    runs: int,
    restitution: float = 1.0,
    workers: int | None = None,
    store: str | os.PathLike | None = None,
    progress=None,
) -> MonteCarlo:
    """Many runs over worker processes; without workers in this one."""
    robot, run = appell.load("shafei_tree"), partial(run_one, restitution=restitution)
    if not workers:
        return appell.monte_carlo(robot, random_start, run, runs, store, execution=Execution(progress=progress))
    from distributed import Client, LocalCluster

    options = {"n_workers": workers, "threads_per_worker": 1, "host": "127.0.0.1", "dashboard_address": None}
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        client.upload_file(__file__)
        return appell.monte_carlo(robot, random_start, run, runs, store, client, execution=Execution(progress=progress))


def summary(found: MonteCarlo) -> str:
    results: Mapping[str, np.ndarray] = {name: np.asarray(values[:]) for name, values in found.results.items()}
    impacts = results["impacts"][np.isfinite(results["impacts"])].astype(int)
    counts = ", ".join(f"{k}: {count}" for k, count in enumerate(np.bincount(impacts)))
    bad = len(found) - int(np.nansum(results["ok"]))
    return "\n".join(
        [
            f"{len(found)} runs of {DURATION} s in {found.seconds:.1f} s, {bad} failed a check or were not finished",
            f"{impacts.sum()} impacts; runs by number of impacts: {counts}",
            f"energy changes by at most {np.nanmax(results['energy_change']):.2e} J",
            f"energy rises by at most {np.nanmax(results['energy_rise']):.2e} J",
            f"deepest point behind the wall: {max(0.0, -np.nanmin(results['smallest_gap'])):.2e} m",
            *(f"run {k}: {text}" for k, text in list(found.failures().items())[:5]),
        ]
    )


def plot(found: MonteCarlo, path: str) -> None:
    """The number of runs by the number of their impacts."""
    from appell.plotting import COLOURS, new_figure, save_figure, tidy

    impacts = np.concatenate([part.ravel() for part in found.parts("impacts")]).astype(int)
    figure = new_figure(7.0, 3.0)
    panel = figure.subplots()
    panel.bar(np.arange(impacts.max() + 1), np.bincount(impacts), color=COLOURS[0])
    panel.set(xlabel=f"impacts in {DURATION} s", ylabel="runs", title=f"{len(impacts)} random starts of Shafei's tree")
    tidy(panel)
    save_figure(figure, path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", nargs="?", type=int, default=1000)
    parser.add_argument("--restitution", type=float, default=1.0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--store")
    parser.add_argument("--plot")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        store = arguments.store or Path(folder, "impacts.zarr")
        found = study(arguments.runs, arguments.restitution, arguments.workers, store)
        print(summary(found))
        if arguments.plot:
            plot(found, arguments.plot)


if __name__ == "__main__":
    import random_impacts  # its functions travel by the name of the module, which workers are sent

    random_impacts.main()
