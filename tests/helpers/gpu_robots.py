"""Robots for tests on a GPU, saved where CasADi is: `python -m helpers.gpu_robots FOLDER` in `tests`."""

from __future__ import annotations

import sys
from pathlib import Path

import appell
from helpers.joint_trees import mixed_tree

LAWS = ("torque", "pd", "computed_torque", "integral_tracking")


def save(folder: Path) -> None:
    """A PUMA with control laws and with run-time parameters, a tree with floating, planar and spherical joints, derivatives."""
    folder.mkdir(parents=True, exist_ok=True)
    appell.compile(appell.load("puma560")).save(folder / "puma560.appell", rollouts=LAWS)
    runtime = appell.compile(appell.load("puma560"), parameters="runtime")
    runtime.save(folder / "puma560-runtime.appell", rollouts=["torque"])
    appell.compile(mixed_tree(4, 29)).save(folder / "free.appell", rollouts=["torque"])
    first, second = "inverse_dynamics_derivatives", "forward_dynamics_derivatives"
    more = ("inverse_dynamics_second_derivatives", "forward_dynamics", "regressor")
    appell.compile(appell.load("puma560")).save(folder / "derivatives.appell", functions=[first, second, *more])
    loops = ("coriolis_matrix", "kinetic_energy", "gibbs_function")
    appell.compile(appell.robots.random_chain(30, seed=1)).save(
        folder / "chain30.appell", functions=[first, second, *loops]
    )
    quadruped = Path(__file__).parents[3] / "shared" / "robots" / "go2.urdf"
    if quadruped.exists():
        go2 = appell.load(quadruped, base="floating")
        appell.compile(go2).save(folder / "go2.appell", functions=[first, second])


if __name__ == "__main__":
    save(Path(sys.argv[1]))
