"""Functions that all robots with closed loops share, spherical ones too: energies, regressors, the actuator map."""

from __future__ import annotations

from typing import TYPE_CHECKING

from appell.deprecation import renamed_arguments
from appell.robot.functions import Energies, direct
from appell.robot.regressor_terms import append_actuator_terms, append_terms

if TYPE_CHECKING:
    import numpy as np


class ActuatedFunctions(Energies):
    """What joins the forces of the actuators to the forces on the independent speeds."""

    __slots__ = ()

    @direct
    @renamed_arguments(columns="terms")
    def regressor(self, q, qd, qdd, *, terms=(), gravity=None, out=None, check=True) -> np.ndarray:
        """K with `inverse_dynamics` = K Φ: forces of the actuators for the parameters Φ = `parameters`. (..., actuators, p)

        Args:
            terms: regressor terms that replace the robot's own rotors, as in `Robot.regressor`: friction, rotors and offsets
                of the independent velocities, as the actuator forces that balance them.

        Example:
            >>> import appell
            >>> robot = appell.load("four_bar")
            >>> tau = robot.regressor(robot.reference_configuration, [0.3], [1.0]) @ robot.parameters
            >>> bool(abs(tau - robot.inverse_dynamics(robot.reference_configuration, [0.3], [1.0])).max() < 1e-12)
            True
        """
        K = self.functions["regressor", None]((q, qd, qdd), gravity, None, None, None if terms else out, check)
        if not terms:
            return K
        K = K[..., : K.shape[-1] - self.rotors]
        return append_actuator_terms(K, self.actuator_jacobian(q, check=check), terms, q, qd, qdd, out)

    @direct
    @renamed_arguments(columns="terms")
    def generalized_regressor(self, q, qd, qdd, *, terms=(), gravity=None, out=None, check=True) -> np.ndarray:
        """K with `generalized_forces` = K Φ for the parameters Φ = `parameters`, also of passive mechanisms. (..., nv, p)

        Args:
            terms: regressor terms that replace the robot's own rotors, as in `Robot.regressor`: friction, rotors and offsets
                of the independent velocities.

        Example:
            >>> import appell
            >>> robot = appell.load("four_bar")
            >>> forces = robot.generalized_regressor(robot.reference_configuration, [0.3], [1.0]) @ robot.parameters
            >>> bool(abs(forces - robot.generalized_forces(robot.reference_configuration, [0.3], [1.0])).max() < 1e-12)
            True
        """
        given = None if terms else out
        K = self.functions["generalized_regressor", None]((q, qd, qdd), gravity, None, None, given, check)
        if not terms:
            return K
        return append_terms(K[..., : K.shape[-1] - self.rotors], terms, q, qd, qdd, out)

    @direct
    def actuator_jacobian(self, q, *, out=None, check=True) -> np.ndarray:
        """J_a(q): rates of the actuated joints are J_a qd, and J_a^T tau act on the speeds, (..., actuators, nv).

        Example:
            >>> import appell
            >>> robot = appell.load("stewart")
            >>> robot.actuator_jacobian(robot.reference_configuration).shape
            (6, 6)
        """
        return self.functions["actuator_jacobian", None]((q,), None, None, None, out, check)
