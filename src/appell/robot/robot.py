"""The robot: a description whose functions are evaluated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from appell.algorithms.system import TreeSystem
from appell.errors import ArgumentError
from appell.model.actuator import transmission
from appell.model.description import Description
from appell.model.joint_friction import joint_friction, passive_forces
from appell.names import as_vector
from appell.robot.distances import distances
from appell.robot.protocol import AnyRobot

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from appell.robot.simulation_model import TreeSimulationModel


@dataclass(frozen=True, repr=False)
class Robot(Description, AnyRobot):
    """A tree of bodies joined by joints, in the order of the description.

    q, qd and tau follow the order of the joints; `joint_names` lists the joints with coordinates. Leading
    dimensions of every array are a batch. Units are SI, spatial vectors are linear part first (`docs/conventions.md`).

    Attributes:
        bodies, joints: the description.
        gravity_vector: acceleration of free fall in the world frame. [m/s²]
        coupled: whether mimic joints follow their leader (True) or move on their own.
        initial_state: q and qd at which a motion of interest begins, if the description has one.

    Example:
        >>> import appell
        >>> robot = appell.load("puma560")
        >>> robot.nv, robot.joint_names[:2]
        (6, ('joint1', 'joint2'))
        >>> robot.mass_matrix([0.0] * 6).shape
        (6, 6)
    """

    closure_names = closures = ()
    """Loop closures: a tree has none."""

    @cached_property
    def system(self) -> TreeSystem:
        """The numerical model that the compiler takes."""
        return TreeSystem(self.tree, joint_friction(self))

    @property
    def actuator_names(self) -> tuple[str, ...]:
        """A name for every entry of tau: each generalized velocity has an actuator of its own."""
        return self.qd_names

    @property
    def spanning_tree(self) -> Robot:
        """The robot itself: it has no loop closures."""
        return self

    def passive_forces(self, q: ArrayLike = (), qd: ArrayLike | None = None) -> np.ndarray:
        """Forces of damping, Coulomb friction and springs on the joints. (..., nv) [N m, N]

        They are -(damping qd + friction sign(qd) + stiffness (q - springref)), and not part of `inverse_dynamics` and `bias`:
        M qdd + bias = tau + passive_forces(q, qd). Without springs they do not depend on q: `passive_forces(qd)` is the same.

        Example:
            >>> import appell
            >>> appell.robots.random_chain(2, seed=1).passive_forces([1.0, 0.0])[1].item() == 0.0
            True
        """
        return passive_forces(self, q, qd)

    def generalized_forces(self, forces: Mapping[str, float], q: ArrayLike | None = None) -> np.ndarray:
        """Generalized forces tau (nv,) of forces of the robot's `actuators`, by name; zero for actuators that are not named.

        Joints get gear times the force, thrusters J^T times their wrench. [N m, N]

        Args:
            q: configuration (nq,); for thrusters only.

        Example:
            >>> import appell
            >>> from dataclasses import replace
            >>> from appell.model.actuator import Actuator
            >>> robot = replace(appell.load("planar2r"), actuators=(Actuator("motor", ("joint2",), (50.0,)),))
            >>> robot.generalized_forces({"motor": 0.2}).tolist()
            [0.0, 10.0]
        """
        names = tuple(actuator.name for actuator in self.actuators)
        given = as_vector("forces", dict(forces), names, np.zeros(len(names)))
        tau = transmission(self) @ given
        for actuator, force in zip(self.actuators, given.tolist(), strict=True):
            if actuator.frame and force:
                if q is None:
                    raise ArgumentError(
                        f"the force of actuator {actuator.name!r} depends on q: give the configuration."
                    )
                tau = tau + force * np.array(actuator.wrench) @ self.jacobian(q, actuator.frame, "LOCAL")
        return tau

    def vector(self, name: str, given: Any) -> Any:
        """The argument `name` of a function from values by name; tau also from forces of the robot's `actuators`."""
        motors = {actuator.name for actuator in self.actuators} - set(self.qd_names)
        if name != "tau" or not isinstance(given, Mapping) or not motors & set(given):
            return super().vector(name, given)
        joints = {entry: value for entry, value in given.items() if entry not in motors}
        return super().vector(name, joints) + self.generalized_forces({n: given[n] for n in given if n in motors})

    def simulation_model(self) -> TreeSimulationModel:
        """The interface that `appell.simulate` uses."""
        from appell.robot.simulation_model import TreeSimulationModel

        return TreeSimulationModel(self)

    distances = distances

    def random_configurations(self, count: int, rng: np.random.Generator) -> np.ndarray:
        """Configurations drawn uniformly within the joint limits, (count, nq)."""
        return np.array([self.random_configuration(rng) for _ in range(count)]).reshape(count, self.nq)
