"""Robots with closed loops for tests: the built-in ones and others, closed states of them, and an independent solution."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

import appell
from appell import LoopClosure, Pose
from appell.closed_loop.robot import ClosedLoopRobot

BUILT_IN = ("four_bar", "five_bar", "planar_3rrr", "delta", "stewart")
SPREAD = {"stewart": 0.15, "five_bar": 0.25}
"""How far joints are moved from the reference for random states. [rad, m]"""


class States(NamedTuple):
    """Closed configurations (N, nq), speeds and accelerations (N, nv)."""

    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray


@cache
def built_in(name: str) -> ClosedLoopRobot:
    return appell.load(name)


def states(robot: ClosedLoopRobot, count: int = 4, seed: int = 0) -> States:
    """Random closed states around the reference."""
    rng = np.random.default_rng(seed)
    tree, spread = robot.spanning_tree, SPREAD.get(robot.name, 0.3)
    start = tree.integrate(np.array(robot.reference_configuration), rng.uniform(-spread, spread, (count, tree.nv)))
    return States(
        robot.solve_loop_closure(start).q, rng.normal(size=(count, robot.nv)), rng.normal(size=(count, robot.nv))
    )


def spatial_loop(kind: str) -> ClosedLoopRobot:
    """A bar on a ball joint and a chain of six general joints, closed at its end by a closure of this kind."""
    rng = np.random.default_rng(3)
    builder = appell.RobotBuilder(f"spatial_{kind}")
    parent = "base"
    for i in range(6):
        axis = rng.normal(size=3)
        builder = builder.body(f"link{i}", mass=1.0 + 0.1 * i, com=(0.1, 0.05, -0.1), inertia=(0.02, 0.03, 0.04))
        builder = builder.revolute(
            f"joint{i}", parent=parent, child=f"link{i}", axis=axis / np.linalg.norm(axis), xyz=(0.3, 0.1, 0.1),
            rotor_inertia=0.01,
        )  # fmt: skip
        parent = f"link{i}"
    builder = builder.body("bar", mass=2.0, com=(0.2, 0.0, 0.0), inertia=(0.01, 0.05, 0.05))
    tree = builder.spherical("ball", parent="base", child="bar", xyz=(0.2, 0.5, 0.0)).build()
    q0 = np.array([0.3, -0.4, 0.5, 0.2, -0.3, 0.4, 0.1, 0.2, -0.1, np.sqrt(0.94)])
    end, bar = (tree.pose(q0, name) for name in ("link5", "bar"))
    meeting = np.linalg.inv(bar) @ end  # the closure's frame in the bar is where the chain's end stands at q0
    there = Pose.from_matrix(meeting[:3, 3], meeting[:3, :3] @ _crossed(kind))
    closure = LoopClosure("end", kind, "link5", "bar", Pose(), there, axis=(0.0, 0.6, 0.8))
    driven = ["joint0", "joint1", "joint2", "joint3", "joint4", "joint5", "ball"]
    return appell.close_loops(tree, [closure], actuated=driven, q=q0)


def _crossed(kind: str) -> np.ndarray:
    """The arms x and y of a universal joint may stand at any angle about its axes; elsewhere frames coincide."""
    return appell.Pose(rpy=(0.3, 0.0, 0.0)).rotation if kind == "universal" else np.eye(3)


def multiplier_solution(robot: ClosedLoopRobot, q: np.ndarray, qd: np.ndarray, torques: np.ndarray):
    """Accelerations of all joints and multipliers, from M v̇ + h = S^T τ + K^T λ and K v̇ + K̇ v = 0.

    M and h are the tree's; K̇ v is a difference quotient of K along the motion; nothing is reduced.
    """
    tree = robot.spanning_tree
    v = robot.joint_velocities(q, qd)
    K = robot.closure_jacobian(q)
    right = -bias(robot, q, v) + selected(robot, torques)
    matrix = np.block([[tree.mass_matrix(q), -K.T], [K, np.zeros((len(K), len(K)))]])
    found = np.linalg.lstsq(matrix, np.concatenate([right, -drift(robot, q, v)]), rcond=1e-11)[0]
    return found[: tree.nv], found[tree.nv :]


def bias(robot: ClosedLoopRobot, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    return robot.spanning_tree.bias(q, v)


def drift(robot: ClosedLoopRobot, q: np.ndarray, v: np.ndarray, step: float = 2e-3) -> np.ndarray:
    """K̇ v by central differences of sixth order."""
    weights = np.array([-1 / 60, 3 / 20, -3 / 4, 3 / 4, -3 / 20, 1 / 60])
    places = step * np.array([-3.0, -2.0, -1.0, 1.0, 2.0, 3.0])
    rows = robot.closure_jacobian(robot.spanning_tree.integrate(q, places[:, None] * v)) @ v
    return weights @ rows / step


def selected(robot: ClosedLoopRobot, torques: np.ndarray) -> np.ndarray:
    """S^T τ: forces of the actuators among those of all joints."""
    forces = np.zeros(robot.spanning_tree.nv)
    forces[list(robot.system.actuated)] = torques
    return forces
