"""Forward dynamics by the three methods of section 5, each compiled with the robot's constants.

GA is the paper's: Hessian of the Gibbs function, bias, linear system. CRBA has composite bodies about their centres of mass
(`appell_lab.reproduce.walker_orin`), the Newton-Euler bias and the same linear system. ABA is Featherstone's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from appell.algebra import Scalar
from appell.algorithms.linear import elimination_order, solve
from appell.algorithms.registry import Algorithm, Quantity, find
from appell.algorithms.system import System
from appell.compiler.evaluate import evaluator_of
from appell.compiler.options import Options
from appell_lab.reproduce.walker_orin import central_bodies, mass_matrix

if TYPE_CHECKING:
    from appell.model.tree import Tree
    from appell.robot.robot import Robot


def gibbs_appell(system: Arm, q: Sequence[Scalar], qd: Sequence[Scalar], tau: Sequence[Scalar]) -> list[Scalar]:
    """Mata 2002, section 3."""
    return _algorithm("forward_dynamics", "gibbs")(system.tree, q, qd, tau)


def composite_rigid_body(system: Arm, q: Sequence[Scalar], qd: Sequence[Scalar], tau: Sequence[Scalar]) -> list[Scalar]:
    """Walker and Orin 1982."""
    tree = system.tree
    bias = _algorithm("bias", "newton_euler")(tree, q, qd)
    right = [force - rest for force, rest in zip(tau, bias, strict=True)]
    return solve(mass_matrix(tree, central_bodies(tree), q), right, elimination_order(tree))


def articulated_body(system: Arm, q: Sequence[Scalar], qd: Sequence[Scalar], tau: Sequence[Scalar]) -> list[Scalar]:
    """Featherstone 1987."""
    return _algorithm("forward_dynamics", "articulated")(system.tree, q, qd, tau)


METHODS: dict[str, Algorithm] = {"CRBA": composite_rigid_body, "ABA": articulated_body, "GA": gibbs_appell}
"""In the order of table 7."""


@dataclass(frozen=True)
class Arm(System):
    """A robot with the three methods as one function each."""

    tree: Tree
    quantities = {  # noqa: RUF012
        "forward_dynamics": Quantity("forward_dynamics", ("q", "qd", "tau"), ("v",), "GA", methods=METHODS)
    }

    @property
    def sizes(self) -> Mapping[str, int]:
        return dict.fromkeys(("q", "qd", "tau", "v"), self.tree.nv)

    @property
    def fingerprint_data(self) -> object:
        return self.tree.links, self.tree.gravity, self.tree.base


class ForwardDynamics:
    """One method for one robot, as native code: qdd (..., n) of q, qd and tau."""

    def __init__(self, robot: Robot, method: str) -> None:
        self._function = evaluator_of(Arm(robot.tree), Options(threads=1))["forward_dynamics", method]

    def __call__(self, q: np.ndarray, qd: np.ndarray, tau: np.ndarray) -> np.ndarray:
        return self._function((q, qd, tau))


def _algorithm(quantity: str, method: str) -> Algorithm:
    return find(quantity, method)[2]
