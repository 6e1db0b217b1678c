"""Fixed steps keep their order where feet land, slip, stick and lift off: energy balance and error of q by the step.

python benchmarks/fixed_steps.py FOLDER [CASES...] [--method rk4] [--steps 1e-3 5e-4 2.5e-4]

FOLDER has the URDF files. Go2 and HyQ stand on four feet whose joints follow sines under a PD law; a G1 lands on eight points
of its soles and tips over under a PD law with the gains of `appell.control.default_gains`, continuous and with samples of 1 ms;
ANYmal C drops passively on its collision shapes. Errors are those against DOP853 with rtol 1e-10
at 0.9 s or at the end; which points of a sole lift off first when the G1 tips over, from 1 s on, depends on rounding.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from drops import heights, posture

import appell
from appell.simulation.contact.pairs import contact_points_of

LAST_SAMPLE = 90
"""Number of the sample at which configurations are compared."""
Case = tuple[appell.Robot, list[appell.Point], np.ndarray, dict, float]
"""Robot, contact points, initial configuration, arguments of `appell.simulate`, duration."""


def floating(folder: Path, name: str) -> appell.Robot:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", appell.ModelWarning)
        return appell.load(folder / f"{name}.urdf", base="floating")


def raised(robot: appell.Robot, points: list[appell.Point], q: np.ndarray) -> np.ndarray:
    """The configuration with its lowest point 2 cm above the floor."""
    q[2] += 0.02 - heights(robot, points, q).min()
    return q


def walking(folder: Path, name: str, feet: str, leg: list[float], kp: float, kd: float) -> Case:
    """A quadruped whose joints follow sines."""
    robot, points = floating(folder, name), [appell.Point(body) for body in feet.split()]
    q = robot.neutral_configuration()
    q[7:] = leg
    q, reference, phases = raised(robot, points, q), q[7:].copy(), 0.7 * np.arange(12)

    def tau(t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        return np.append(
            np.zeros(6), kp * (reference + 0.3 * np.sin(12.0 * t + phases) - q[7:]) - kd * qd[6:]
        )  # fmt: skip

    return robot, points, q, {"tau": tau}, 0.9


def soles(folder: Path, period: float | None) -> Case:
    """A G1 that lands on its soles."""
    robot = floating(folder, "g1")
    points = [
        appell.Point(f"{side}_ankle_roll_link", (x, y, -0.03))
        for side in ("left", "right") for x in (-0.05, 0.12) for y in (-0.03, 0.03)
    ]  # fmt: skip
    q = robot.neutral_configuration()
    angles = {"hip_pitch_joint": -0.3, "knee_joint": 0.6, "ankle_pitch_joint": -0.3}
    for name, (first, _) in robot.first_coordinates.items():
        q[first] += sum(angle for ending, angle in angles.items() if name.endswith(ending))
    q = raised(robot, points, q)
    gains = appell.control.default_gains(robot, q=q)
    return (
        robot,
        points,
        q,
        {"controller": appell.control.PD(robot, q[7:], kp=gains["kp"], kd=gains["kd"], period=period)},
        2.0,
    )


def passive(folder: Path, name: str) -> Case:
    """A passive drop."""
    robot = floating(folder, name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", appell.ModelWarning)
        points = list(contact_points_of(robot, None))
    return robot, points, posture(robot, points, 0), {}, 0.6


HYQ_LEG = [0.0, 0.75, -1.5, 0.0, -0.75, 1.5, 0.0, 0.75, -1.5, 0.0, -0.75, 1.5]
CASES: dict[str, Callable[[Path], Case]] = {
    "go2": lambda folder: walking(
        folder, "go2", "FL_foot FR_foot RL_foot RR_foot", [0.0, 0.8, -1.5] * 4, 40.0, 1.0
    ),
    "hyq": lambda folder: walking(folder, "hyq", "lf_foot rf_foot lh_foot rh_foot", HYQ_LEG, 600.0, 20.0),
    "g1": lambda folder: soles(folder, None),
    "g1_sampled": lambda folder: soles(folder, 1e-3),
    "anymal_c": lambda folder: passive(folder, "anymal_c"),
}  # fmt: skip


def run(case: Case, method: str | appell.Integration) -> tuple[appell.Trajectory, float]:
    """The motion and its processor time. [s]"""
    robot, points, q, options, duration = case
    start = time.process_time()
    motion = appell.simulate(
        robot, q, np.zeros(robot.nv), duration, surfaces=appell.surfaces.Plane(friction=0.6), method=method, t_eval=0.01,
        contact=appell.ContactOptions(points, restitution=0.0), **options,
    )  # fmt: skip
    return motion, time.process_time() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("cases", nargs="*", default=list(CASES))
    parser.add_argument("--method", default="rk4")
    parser.add_argument("--steps", type=float, nargs="+", default=[1e-3, 5e-4, 2.5e-4])
    options = parser.parse_args()
    print("| robot | dt [ms] | balance [J] | error of q [rad, m] | impacts | seconds of processor |")
    print("|---|---|---|---|---|---|")
    for name in options.cases:
        case = CASES[name](options.folder)
        exact, spent = run(case, appell.Integration(rtol=1e-10))
        print(
            f"| {name} | DOP853 | {np.abs(exact.balance).max():.1e} | | {len(exact.impacts)} | {spent:.1f} |",
            flush=True,
        )
        for dt in options.steps:
            motion, spent = run(case, appell.Integration(options.method, dt=dt))
            error = np.abs(motion.q - exact.q)[: LAST_SAMPLE + 1][-1].max()
            print(
                f"| {name} | {1e3 * dt:g} | {np.abs(motion.balance).max():.1e} | {error:.1e} | {len(motion.impacts)} | "
                f"{spent:.1f} |{'' if motion.status == 'finished' else ' ' + motion.status}",
                flush=True,
            )  # fmt: skip


if __name__ == "__main__":
    main()
