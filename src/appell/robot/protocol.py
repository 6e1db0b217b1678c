"""Members that every robot has: trees, closed loops and spherical robots."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import cached_property
from operator import attrgetter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from appell.algorithms.system import System
from appell.checks import require_vector
from appell.compiler.evaluate import Evaluator, evaluator_of
from appell.names import as_vector
from appell.robot.functions import Dynamics

if TYPE_CHECKING:
    from typing_extensions import Self

    from appell.robot.robot import Robot


def delegated(path: str, doc: str | None = None) -> Any:
    """A property that reads an attribute of an attribute: `nq = delegated("spanning_tree.nq")`."""
    return property(attrgetter(path), doc=doc)


class AnyRobot(Dynamics, ABC):
    """A robot of any kind. Code that takes robots uses these members and never asks for a class.

    Its functions of the state are those of `Dynamics`.

    Attributes:
        name, source: of the robot, and where its description comes from.
        nq, nv: numbers of coordinates and of generalized velocities.
        joint_names: joints that carry coordinates.
        q_names, qd_names, actuator_names: a name for every entry of q, qd and tau.
        body_names: bodies, which are also frames.
        closure_names: loop closures, or legs; empty for trees.
        closures: the loop closures; empty for trees and spherical robots.
        spanning_tree: the robot without its loop closures; a tree is its own.
        first_coordinates: indices of the first coordinate and velocity of each joint in q and qd.
        gravity_vector: [m/s²]
        initial_state: configuration and velocity at which a motion of interest begins, if there is one.
        rotors: links with a rotor; the last ones of `parameters` are theirs.
        system: the numerical model that the compiler takes.
    """

    name: str
    source: str
    nq: int
    nv: int
    joint_names: tuple[str, ...]
    q_names: tuple[str, ...]
    body_names: tuple[str, ...]
    closures: tuple[Any, ...]
    spanning_tree: Robot
    first_coordinates: Mapping[str, tuple[int, int]]
    gravity_vector: tuple[float, float, float]
    initial_state: tuple[tuple[float, ...], tuple[float, ...]] | None
    system: System

    @cached_property
    def functions(self) -> Evaluator:
        """Its functions, compiled where that pays."""
        return evaluator_of(self.system, owner=self)

    @property
    def parameters(self) -> np.ndarray:
        """Inertial parameters, ten per link: [m, m cx, m cy, m cz, Ixx, Ixy, Iyy, Ixz, Iyz, Izz]. [kg, kg m, kg m²]

        Then the reflected inertia of each rotor, for the links that have one. `regressor @ parameters` is tau. Links are the
        moving ones in the order of `tree.links`, with all that is fixed to them; the numbers are taken at the origin and
        along the axes of the body that the link's joint carries. Spherical robots: bodies about the centre, platform first.

        Example:
            >>> import appell
            >>> robot = appell.load("puma560")
            >>> robot.parameters.reshape(-1, 10)[1, 0].item() == robot.body("link2").mass
            True
        """
        return self.functions.parameters.copy()

    @abstractmethod
    def with_gravity(self, gravity: Sequence[float]) -> Self:
        """The same robot under another gravity vector [m/s²]."""

    @abstractmethod
    def neutral_configuration(self) -> np.ndarray:
        """A configuration (nq,) to start from: zeros and unit quaternions for trees, the reference configuration of loops."""

    def configuration(self, q: ArrayLike | Mapping[str, ArrayLike]) -> np.ndarray:
        """A configuration (nq,) from values by name; joints that are not named are as in `neutral_configuration`.

        Functions of one state take such a dictionary themselves. For closed loops the named joints are moved and the others
        follow, as in `solve_loop_closure`.

        Args:
            q: a number per entry of `q_names`, or all entries of a joint by its name; an array (nq,) is returned as it is.

        Example:
            >>> import appell
            >>> robot = appell.load("puma560")
            >>> robot.configuration({"joint3": 0.5}).tolist()
            [0.0, 0.0, 0.5, 0.0, 0.0, 0.0]
            >>> bool((robot.gravity({"joint3": 0.5}) == robot.gravity([0.0, 0.0, 0.5, 0.0, 0.0, 0.0])).all())
            True
        """
        return require_vector("q", as_vector("q", q, self.q_names, self.neutral_configuration()), self.nq)

    def state(
        self, q: ArrayLike | Mapping[str, ArrayLike], qd: ArrayLike | Mapping[str, ArrayLike] = MappingProxyType({})
    ) -> tuple[np.ndarray, np.ndarray]:
        """A configuration (nq,) and velocities (nv,) from values by name; velocities that are not named are zero.

        Example:
            >>> import appell
            >>> q, qd = appell.load("planar2r").state({"joint2": 0.5}, {"joint1": 1.0})
            >>> q.tolist(), qd.tolist()
            ([0.0, 0.5], [1.0, 0.0])
        """
        return self.configuration(q), require_vector("qd", self.vector("qd", qd), self.nv)

    def vector(self, name: str, given: Any) -> Any:
        """The argument `name` of a function (q, qd, qdd, tau, reference) from values by name; anything but a mapping as it is."""
        if name in ("q", "q0", "q1", "reference") and isinstance(given, Mapping):
            return self.configuration(given)
        names = self.actuator_names if name == "tau" else self.qd_names
        return as_vector(name, given, names, np.zeros(len(names)))

    @abstractmethod
    def random_configurations(self, count: int, rng: np.random.Generator) -> np.ndarray:
        """Random valid configurations (count, nq): within joint limits, with closed loops, not singular."""

    def random_configuration(self, seed: int | np.random.Generator = 0) -> np.ndarray:
        """One of `random_configurations`, (nq,)."""
        return self.random_configurations(1, np.random.default_rng(seed))[0]

    @abstractmethod
    def passive_forces(self, q: ArrayLike, qd: ArrayLike) -> np.ndarray:
        """Generalized forces of damping and friction, (..., nv); not part of `inverse_dynamics` and `bias`. [N m, N]"""

    @abstractmethod
    def simulation_model(self) -> Any:
        """The interface that `appell.simulate` uses, a `SimulationModel`."""

    def __getstate__(self) -> dict[str, Any]:
        return {each.name: getattr(self, each.name) for each in fields(self)}  # type: ignore[arg-type]  # derived anew
