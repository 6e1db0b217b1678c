"""Mechanisms with closed loops that fall on a floor: energy balance, momentum across impacts, depth, closure, time.

python benchmarks/loop_drops.py [NAMES...] [--postures 5] [--duration 1.0]

Each built-in mechanism is released at seeded configurations, 3 cm above a floor of friction 0.6 under its default contact points,
with restitution 0 and 0.5. One line per mechanism and method: runs that finish, worst balance of energy, worst error of momentum
across an impact as part of the momentum, deepest point, worst error of the loops, time of the slowest run. The five-bar and the
3-RRR fall into singular configurations, which is an error that names them.
"""

from __future__ import annotations

import argparse
import time
from typing import Any, NamedTuple

import numpy as np

import appell
from appell.simulation.contact.pairs import contact_candidates

NAMES = ("four_bar", "delta", "stewart")


class Drop(NamedTuple):
    """Results of one run."""

    finished: bool
    balance: float
    momentum: float
    depth: float
    closure: float
    time: float


def drop(robot: Any, seed: int, restitution: float, method: appell.Integration, duration: float) -> Drop:
    """One run; one that raises an error has not finished."""
    up = np.array(robot.gravity_vector) / -np.linalg.norm(robot.gravity_vector)
    q = robot.random_configurations(1, np.random.default_rng(seed))[0]
    plane, options = appell.surfaces.Plane(tuple(up)), appell.ContactOptions(restitution=restitution)
    bodies = [p.body for p in contact_candidates(robot.simulation_model(), q, (plane,), options)[0]]
    height = min(float(up @ robot.pose(q, body)[:3, 3]) for body in bodies) - 0.03
    floor = appell.surfaces.Plane(tuple(up), tuple(height * up), friction=0.6)
    start = time.process_time()
    try:
        motion = appell.simulate(robot, q, np.zeros(robot.nv), duration, surfaces=floor, contact=options, method=method)
    except appell.SimulationError as error:
        print(f"{robot.name}, posture {seed}: {error}")
        return Drop(False, 0.0, 0.0, 0.0, 0.0, time.process_time() - start)
    spent = time.process_time() - start
    depth = -min(float(floor.gap(robot.pose(motion.q, body)[:, :3, 3]).min()) for body in bodies)
    error = max((momentum_error(robot, impact, up) for impact in motion.impacts), default=0.0)
    closure = float(robot.closure_error(motion.q).max())
    return Drop(motion.status == "finished", float(np.abs(motion.balance).max()), error, depth, closure, spent)


def momentum_error(robot: Any, impact: Any, normal: np.ndarray) -> float:
    """How far M (qd⁺ - qd⁻) is from the impulses on the points, as part of the momentum."""
    M = robot.mass_matrix(impact.q)
    left = M @ (impact.qd_after - impact.qd_before)
    for name, along, friction in zip(impact.points, impact.impulses, impact.friction_impulses, strict=True):
        left -= robot.jacobian(impact.q, name)[:3].T @ (along * normal + friction)
    return float(np.abs(left).max() / max(np.abs(M @ impact.qd_before).max(), 1e-3))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=NAMES)
    parser.add_argument("--postures", type=int, default=5)
    parser.add_argument("--duration", type=float, default=1.0)
    options = parser.parse_args()
    print("| robot | method | finished | balance [J] | momentum | depth [m] | loops [m] | CPU [s] |")
    print("|---|---|---|---|---|---|---|---|")
    for name in options.names:
        robot = appell.load(name)
        for method in (appell.Integration(rtol=1e-11), appell.Integration("moreau")):
            drop(robot, 0, 0.0, method, 1e-3)  # compiles
            cases = [(seed, e) for seed in range(options.postures) for e in (0.0, 0.5)]
            runs = [drop(robot, seed, e, method, options.duration) for seed, e in cases]
            worst = Drop(*map(max, zip(*runs, strict=True)))
            print(
                f"| {name} | {method.method} | {sum(run.finished for run in runs)}/{len(runs)} | {worst.balance:.1e} | "
                f"{worst.momentum:.1e} | {max(worst.depth, 0.0):.1e} | {worst.closure:.1e} | {worst.time:.2f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
