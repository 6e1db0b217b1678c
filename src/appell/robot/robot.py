"""The robot: a description whose functions are evaluated."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from appell.model.description import Description
from appell.robot.functions import Dynamics

if TYPE_CHECKING:
    from appell.compiler.evaluate import Evaluator
    from appell.compiler.options import Options
    from appell.robot.compiled import CompiledRobot
    from appell.robot.simulation_model import TreeSimulationModel


@dataclass(frozen=True, repr=False)
class Robot(Description, Dynamics):
    """A tree of bodies joined by joints, in the order of the description.

    Coordinates q, speeds qd and forces tau follow the order of the joints; `joint_names` lists the joints that carry
    one. Leading dimensions of every array are a batch. Units are SI, spatial vectors are linear part first
    (`docs/conventions.md`).

    Attributes:
        bodies, joints: the description.
        gravity_vector: acceleration of free fall in the world frame. [m/s²]
        coupled: whether mimic joints follow their leader (True) or move on their own.
        initial_state: coordinates and speeds at which a motion of interest begins, where the description has one.

    Example:
        >>> import appell
        >>> robot = appell.load("puma560")
        >>> robot.nv, robot.joint_names[:2]
        (6, ('joint1', 'joint2'))
        >>> robot.mass_matrix([0.0] * 6).shape
        (6, 6)
    """

    @property
    def system(self) -> Any:
        """The robot as the compiler sees it."""
        return self.tree

    @cached_property
    def functions(self) -> Evaluator:  # pyright: ignore[reportIncompatibleVariableOverride]
        from appell.compiler.evaluate import Evaluator
        from appell.compiler.options import Options

        functions = Evaluator(self.tree, Options(eager=False))
        functions.owner = self
        return functions

    def compiled(self, options: Options) -> CompiledRobot:
        """The same functions with these options: what `appell.compile` returns."""
        from appell.robot.compiled import CompiledRobot

        return CompiledRobot(self, options)

    def simulation_model(self) -> TreeSimulationModel:
        """The interface that `appell.simulate` uses."""
        from appell.robot.simulation_model import TreeSimulationModel

        return TreeSimulationModel(self)

    generalized_regressor = Dynamics.regressor
    """The same as `regressor`, as robots with closed loops have it."""

    def random_configurations(self, count: int, rng: np.random.Generator) -> np.ndarray:
        """Configurations drawn uniformly within the joint limits, (count, nq)."""
        return np.array([self.random_configuration(rng) for _ in range(count)]).reshape(count, self.nq)

    @property
    def parameters(self) -> np.ndarray:
        """Inertial parameters, ten per link: [m, m cx, m cy, m cz, Ixx, Ixy, Iyy, Ixz, Iyz, Izz]. [kg, kg m, kg m²]

        Then the inertia of each rotor, felt at its joint, for the links that have one. `regressor @ parameters` is tau.
        Links are the moving ones in the order of `tree.links`, with all that is fixed to them; the numbers are taken at the
        origin and along the axes of the body that the link's joint carries.

        Example:
            >>> import appell
            >>> robot = appell.load("puma560")
            >>> robot.parameters.reshape(-1, 10)[1, 0].item() == robot.body("link2").mass
            True
        """
        return self.functions.parameters.copy()
