"""PUMAs with uncertain masses under computed torque: time of a Monte Carlo study over one and over two workers.

python benchmarks/monte_carlo_scaling.py [runs] [rounds]

The study is that of `appell montecarlo puma560`, with a period of 2 ms. One and two workers alternate; the shortest times count.
"""

from __future__ import annotations

import sys
import tempfile
from functools import partial
from pathlib import Path

import numpy as np
from local_cluster import local_cluster, processor_seconds

import appell
from appell.cli.montecarlo import draw_scales, track


def seconds(runs: int, workers: int, period: float = 2e-3) -> tuple[float, float]:
    """Wall-clock time of a study, without the start of the workers, and processor time of all workers. [s]"""
    robot = appell.load("puma560")
    t = np.linspace(0.0, 2.0, round(2.0 / period) + 1)
    reference = appell.trajectories.joint_line(robot, np.zeros(6), np.ones(6), duration=2.0)
    run = partial(track, reference=tuple(reference(t)), period=period, gains=(100.0, 20.0))
    dyn, draw = appell.compile(robot, parameters="runtime", threads=1), partial(draw_scales, links=6, spread=0.2)
    options = {"batch": True, "rollouts": ["torque"]}
    with tempfile.TemporaryDirectory() as folder, local_cluster(workers) as (client, _, (_, *pids)):
        appell.monte_carlo(dyn, draw, run, 20, Path(folder, "first.zarr"), client, chunk=1, **options)
        before = processor_seconds(pids)
        study = appell.monte_carlo(dyn, draw, run, runs, Path(folder, "s.zarr"), client, **options)
        return study.seconds, processor_seconds(pids) - before


def main(runs: int = 10_000, rounds: int = 2) -> None:
    times = [[seconds(runs, workers) for workers in (1, 2)] for _ in range(rounds)]
    (one, one_processor), (two, two_processor) = np.min(times, axis=0)
    print(f"{runs} runs: {one:.1f} s with one worker, {two:.1f} s with two, {one / two:.2f} times as fast;")
    print(f"processor time of the workers: {one_processor:.1f} s with one, {two_processor:.1f} s with two")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
