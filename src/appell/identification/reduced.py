"""The same motion from fewer numbers: a robot of its base parameters alone.

All parameters that combine with others are set to zero and their share is given to the base parameters, so the equations
of motion stay the same while most of the mass numbers vanish from the kernels. The choice is made among the numbers that
the recursions read, m, γ and the entries of Euler's tensor J in the link's frame, and begins where lumping
(`appell.model.parameters`) ends.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from appell.algebra import Inertia, Sym3, Vec3
from appell.algorithms.request import Request
from appell.compiler.count import Counts, count_graph, count_operations
from appell.compiler.evaluate import Evaluator
from appell.compiler.options import Options
from appell.compiler.trace import trace
from appell.identification.base import choose_columns, random_regressors
from appell.model.parameters import PER_LINK, parameters
from appell.model.tree import Tree
from appell.robot.functions import Dynamics
from appell.table import Table

if TYPE_CHECKING:
    from appell.robot.robot import Robot

COUNTED = ("inverse_dynamics", "forward_dynamics", "mass_matrix", "bias", "gravity")


class BaseRobot(Dynamics):
    """Inverse and forward dynamics, inertia matrix, bias and gravity of a robot from its base parameters alone.

    Made by `base_robot`. Its mass numbers describe no bodies that exist (masses are zero, moments of inertia may be
    negative); potential energy differs from the robot's by a constant, mass centre and momentum have no meaning.

    Attributes:
        robot: the robot it came from.
        tree: the same links with the base parameters as mass properties.
    """

    def __init__(self, robot: Robot, tree: Tree) -> None:
        self.robot, self.tree = robot, tree

    @cached_property
    def functions(self) -> Evaluator:  # pyright: ignore[reportIncompatibleVariableOverride]
        functions = Evaluator(self.tree, Options(eager=False))
        functions.owner = self
        return functions

    @property
    def numbers(self) -> int:
        """Mass numbers that are not zero."""
        return _numbers(self.tree)

    def operations(self, function: str) -> Counts:
        """Operations of a compiled function of this robot; `appell.count_operations` has those of the original one."""
        return count_graph(trace(self.tree, Request(function)).graph)

    def table(self) -> Table:
        """Products and sums with the robot's own numbers as the papers count, of its compiled functions, and of these."""
        rows = []
        for function in COUNTED:
            written = count_operations(self.robot, function)
            compiled = count_operations(self.robot, function, compiled=True)
            own = self.operations(function)
            rows.append((function, *(f"{each.mul} / {each.add}" for each in (written, compiled, own))))
        return Table(
            f"{self.robot.name}: products / sums, {_numbers(self.robot.tree)} mass numbers, {self.numbers} of the base robot",
            ("function", "as written", "compiled (lumped)", "base robot"),
            tuple(rows),
        )


def base_robot(robot: Robot, seed: int = 0) -> BaseRobot:
    """The robot with its base parameters as the only ones.

    Example:
        >>> import appell, numpy as np
        >>> robot = appell.load("puma560")
        >>> base = base_robot(robot)
        >>> q, qd, qdd = np.full((3, 6), 0.4)
        >>> bool(abs(base.inverse_dynamics(q, qd, qdd) - robot.inverse_dynamics(q, qd, qdd)).max() < 1e-11)
        True
        >>> base.numbers
        17
    """
    from appell.model.parameters import lumped

    start = lumped(robot.tree)
    T = to_parameters(start)
    K = random_regressors(robot, (), np.random.default_rng([seed, 1]))(40 + 4 * T.shape[1] // max(robot.nv, 1)) @ T
    found = choose_columns(K, _least_work(len(start.links)))
    values = found.B @ np.concatenate([moments(link.inertia) for link in start.links])
    kept = np.zeros(T.shape[1])
    kept[list(found.independent)] = np.where(np.abs(values) > 1e-13 * np.abs(values).max(initial=0.0), values, 0.0)
    links = (
        replace(link, inertia=_inertia(own)) for link, own in zip(start.links, kept.reshape(-1, PER_LINK), strict=True)
    )
    return BaseRobot(robot, replace(robot.tree, links=tuple(links)))


def to_parameters(tree: Tree) -> np.ndarray:
    """T with Φ = T μ, where μ are the ten moments (m, γ, J) of every link in its own frame."""
    size = PER_LINK * len(tree.links)
    T = np.zeros((size, size))
    for k in range(PER_LINK):
        unit = _inertia(np.eye(PER_LINK)[k])
        column = np.array(parameters(replace(tree, links=tuple(replace(link, inertia=unit) for link in tree.links))))
        for i in range(len(tree.links)):
            own = slice(PER_LINK * i, PER_LINK * (i + 1))
            T[own, PER_LINK * i + k] = column[own]
    return T


def moments(inertia: Inertia) -> np.ndarray:
    """[m, γx, γy, γz, Jxx, Jxy, Jxz, Jyy, Jyz, Jzz]."""
    return np.array([inertia.mass, *inertia.gamma, *inertia.J], dtype=float)


def _inertia(entries: np.ndarray) -> Inertia:
    mass, x, y, z, *J = (float(value) for value in entries)
    return Inertia(mass, Vec3(x, y, z), Sym3(*J))


def _least_work(links: int) -> list[int]:
    """Moments in the order in which they are kept: those that lumping takes away (m, γz, Jzz) come last."""
    order = (4, 1, 2, 5, 6, 8, 7, 3, 9, 0)
    rank = {k: place for place, k in enumerate(order)}
    return sorted(range(PER_LINK * links), key=lambda n: (rank[n % PER_LINK] >= 7, n // PER_LINK, rank[n % PER_LINK]))


def _numbers(tree: Tree) -> int:
    return int(sum(np.count_nonzero(moments(link.inertia)) for link in tree.links))
