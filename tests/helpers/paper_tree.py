"""The tree of Shafei and Shafei 2018 and one in space, at one state, in the paper's own terms.

Functions of the algorithm run here on plain numbers; derivatives are exact, by a step along the imaginary axis.
"""

from __future__ import annotations

from functools import cache, cached_property

import numpy as np

import appell
from appell.algorithms.branches import BranchInertia, LinkTransform, transformations
from appell.algorithms.inverse_dynamics import shafei2018
from appell.robot.robot import Robot
from helpers.states import random_states

STEP = 1e-30


class Case:
    """A robot at one state, with what the tests ask for again and again."""

    def __init__(self, robot: Robot) -> None:
        self.robot, self.tree, self.links = robot, robot.tree, robot.tree.links
        self.q, self.qd, self.qdd = (array[0] for array in random_states(robot, 1))
        self.g = np.array([*self.tree.gravity, 0.0])

    @cached_property
    def T(self) -> np.ndarray:
        """T_i of every link, (links, 4, 4)."""
        return T(self, self.q)

    @cached_property
    def dT(self) -> np.ndarray:
        """T̂_i-1 U_1i of every link, (links, 4, 4)."""
        return np.array([array(place.dT[0]).real for place in places(self)])

    @cached_property
    def masses(self) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """B_1, B_2 and c of every link."""
        return [
            (array(B1).real, np.array([*B2.full()]).reshape(3, 3), array(m).real[:, 0])
            for B1, B2, m in (BranchInertia.of(link) for link in self.links)
        ]

    def between(self, j: int, i: int) -> np.ndarray:
        """^jT~_i, from link i to link j before it."""
        return np.linalg.solve(self.T[j], self.T[i])

    def axis(self, j: int, i: int) -> np.ndarray:
        """^iR_j x_j,3, the direction about which joint j turns, in frame i."""
        return self.between(j, i)[:3, :3].T @ np.array([*self.links[j].kind.motion_subspace()[0].angular])

    def without_gravity(self) -> Robot:
        return self.robot.with_gravity((0.0, 0.0, 0.0))


ROBOTS = {
    "paper": lambda: appell.load("shafei_tree"),
    "space": lambda: appell.robots.random_tree(6, seed=4, kinds=("revolute", "prismatic"), branching=0.5),
}


@cache
def case(name: str) -> Case:
    return Case(ROBOTS[name]())


def array(matrix) -> np.ndarray:
    """A matrix of the algorithm as numbers."""
    return np.array([[complex(x) for x in row] for row in matrix.rows])


def places(c: Case, q=None) -> list[LinkTransform]:
    return transformations(c.tree, list(c.q if q is None else q))


def T(c: Case, q) -> np.ndarray:
    """T_i of every link at q, (links, 4, 4)."""
    found = np.array([array(place.T) for place in places(c, q)])
    return found if np.iscomplexobj(q) else found.real


def motions(c: Case, q=None, qd=None, qdd=None):
    q, qd, qdd = (list(own if given is None else given) for own, given in ((c.q, q), (c.qd, qd), (c.qdd, qdd)))
    return shafei2018.propagate_motion(c.tree, transformations(c.tree, q), qd, qdd)


def column(c: Case, j: int) -> int:
    """The coordinate of link j's joint."""
    return c.links[j].idx_v


def on_the_way(c: Case, j: int, i: int) -> bool:
    return j in c.tree.ancestors(i)


def imaginary(function, x: np.ndarray, direction: np.ndarray) -> np.ndarray:
    """The exact derivative of a function of x along a direction."""
    return np.imag(function(x + 1j * STEP * direction)) / STEP
