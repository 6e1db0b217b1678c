"""A robot with base parameters only: the same motion from fewer numbers.

Parameters that combine with others are set to zero and their share is added to the base parameters. The equations of motion
stay the same, and most mass parameters vanish from the kernels. The base parameters are chosen among those of the recursions,
m, γ and the entries of Euler's tensor J in the link's frame, after lumping (`appell.model.parameters.lumped`).
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np

from appell.algebra import Inertia, Sym3, Vec3
from appell.algorithms.function_spec import FunctionSpec
from appell.algorithms.system import TreeSystem
from appell.compiler.count import Counts, count_graph, count_operations
from appell.compiler.evaluate import Evaluator, evaluator_of
from appell.compiler.trace import trace
from appell.identification.base import choose_columns, random_regressors, state_count
from appell.model.parameters import PER_LINK, lumped, parameters
from appell.model.tree import Tree
from appell.robot.functions import Dynamics
from appell.robot.robot import Robot
from appell.table import Table

COUNTED_FUNCTIONS = ("inverse_dynamics", "forward_dynamics", "mass_matrix", "bias", "gravity")


class BaseRobot(Dynamics):
    """Inverse and forward dynamics, mass matrix, bias and gravity of a robot from its base parameters; made by `base_robot`.

    Its mass parameters are not those of physical bodies (masses are zero, moments of inertia may be negative). Potential
    energy differs from the robot's by a constant; centre of mass and momentum have no meaning.

    Attributes:
        robot: the original robot.
        tree: the same links with the base parameters as mass properties.
    """

    def __init__(self, robot: Robot, tree: Tree) -> None:
        self.robot, self.tree = robot, tree

    @cached_property
    def functions(self) -> Evaluator:
        return evaluator_of(self.system, owner=self)

    @property
    def system(self) -> TreeSystem:
        """The robot as the compiler sees it."""
        return TreeSystem(self.tree)

    @property
    def numbers(self) -> int:
        """Number of nonzero mass parameters."""
        return _numbers(self.tree)

    def operations(self, function: str) -> Counts:
        """Operations of a compiled function; `appell.count_operations` has those of the original robot."""
        return count_graph(trace(self.system, FunctionSpec(function)).graph)

    def table(self) -> Table:
        """Products and sums as the papers count, of the compiled robot, and of this one."""
        rows = []
        for function in COUNTED_FUNCTIONS:
            written = count_operations(self.robot, function)
            compiled = count_operations(self.robot, function, compiled=True)
            counts = (written, compiled, self.operations(function))
            rows.append((function, *(f"{count.mul} / {count.add}" for count in counts)))
        return Table(
            f"{self.robot.name}: products / sums, {_numbers(self.robot.tree)} mass parameters, {self.numbers} of the base robot",
            ("function", "as written", "compiled (lumped)", "base robot"),
            tuple(rows),
        )


def base_robot(robot: Robot, seed: int = 0) -> BaseRobot:
    """The robot with base parameters only.

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
    start = lumped(robot.tree)
    T = to_parameters(start)
    K = random_regressors(robot, (), np.random.default_rng([seed, 1]))(state_count(robot, len(T))) @ T
    choice = choose_columns(K, _preferred_moments(len(start.links)))
    values = choice.B @ np.concatenate([moments(link.inertia) for link in start.links])
    kept = np.zeros(T.shape[1])
    kept[list(choice.independent)] = np.where(np.abs(values) > 1e-13 * np.abs(values).max(initial=0.0), values, 0.0)
    pairs = zip(start.links, kept.reshape(-1, PER_LINK), strict=True)
    links = tuple(replace(link, inertia=_inertia(own)) for link, own in pairs)
    return BaseRobot(robot, replace(robot.tree, links=links))


def to_parameters(tree: Tree) -> np.ndarray:
    """T with Φ = T μ for the ten moments μ = (m, γ, J) of every link in its own frame."""
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


def _preferred_moments(links: int) -> list[int]:
    """Moments in order of preference: those that lumping removes (γz, Jzz, m) come last."""
    return [PER_LINK * i + k for own in ((4, 1, 2, 5, 6, 8, 7), (3, 9, 0)) for i in range(links) for k in own]


def _numbers(tree: Tree) -> int:
    return int(sum(np.count_nonzero(moments(link.inertia)) for link in tree.links))
