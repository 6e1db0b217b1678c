"""The functions of a robot with closed loops, in one place for the robot and its compiled form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from appell.closed_loop.actuated import ActuatedFunctions
from appell.deprecation import renamed_arguments, renamed_attribute
from appell.robot.functions import direct

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


class LoopDynamics(ActuatedFunctions):
    """Functions of the state of a robot with closed loops.

    The state is q, the coordinates of **all** joints (..., nq), which must close the loops (`solve_loop_closure`), and qd, the
    **independent** speeds (..., nv) that `qd_names` lists. Leading dimensions are a batch. Options are those of a plain
    robot: `gravity`, `external_forces`, `parameters`, `out`, `check` (`appell.robot.functions.Dynamics`). Where the
    loops are open by more than 1e-4, or the configuration is singular, `check=True` raises a `LoopClosureError` that names it;
    with `check=False` the result is not finite there.
    """

    __slots__ = ()

    _closure_names: tuple[str, ...]

    @direct
    def inverse_dynamics(
        self, q, qd, qdd, *, gravity=None, external_forces=None, parameters=None, out=None, check=True
    ) -> np.ndarray:
        """Forces of the actuators that give the accelerations qdd of the independent speeds, (..., actuators). [N m, N]

        With more actuators than degrees of freedom the shortest vector of forces; `actuator_null_space` is what may be
        added.

        Example:
            >>> import appell
            >>> robot = appell.load("four_bar")
            >>> robot.inverse_dynamics(robot.reference_configuration, [0.0], [0.0]).shape
            (1,)
        """
        return self.functions["inverse_dynamics", None]((q, qd, qdd), gravity, external_forces, parameters, out, check)

    @direct
    @renamed_arguments(torques="tau")
    def forward_dynamics(
        self, q, qd, tau, *, gravity=None, external_forces=None, parameters=None, out=None, check=True
    ) -> np.ndarray:
        """Accelerations of the independent speeds under forces (..., actuators) of the actuators, (..., nv).

        Example:
            >>> import appell
            >>> robot = appell.load("five_bar")
            >>> tau = robot.inverse_dynamics(robot.reference_configuration, [0.3, 0.1], [1.0, 2.0])
            >>> robot.forward_dynamics(robot.reference_configuration, [0.3, 0.1], tau).round(9).tolist()
            [1.0, 2.0]
        """
        return self.functions["forward_dynamics", None]((q, qd, tau), gravity, external_forces, parameters, out, check)

    @direct
    def generalized_forces(
        self, q, qd, qdd, *, gravity=None, external_forces=None, parameters=None, out=None, check=True
    ) -> np.ndarray:
        """Forces on the independent speeds, M qdd + bias = J_a^T tau, (..., nv). [N m, N]

        Example:
            >>> import appell
            >>> robot = appell.load("four_bar")
            >>> robot.generalized_forces(robot.reference_configuration, [0.0], [0.0]).shape
            (1,)
        """
        return self.functions["generalized_forces", None](
            (q, qd, qdd), gravity, external_forces, parameters, out, check
        )

    @direct
    def mass_matrix(self, q, *, parameters=None, out=None, check=True) -> np.ndarray:
        """M(q) of the independent speeds, G^T M_tree G, (..., nv, nv). [kg m², kg m, kg]

        Example:
            >>> import appell
            >>> robot = appell.load("delta")
            >>> robot.mass_matrix(robot.reference_configuration).shape
            (3, 3)
        """
        return self.functions["mass_matrix", None]((q,), None, None, parameters, out, check)

    @direct
    def bias(self, q, qd, *, gravity=None, external_forces=None, parameters=None, out=None, check=True) -> np.ndarray:
        """Forces on the independent speeds at zero acceleration, C(q, qd) qd + g(q), (..., nv). [N m, N]

        Example:
            >>> import appell
            >>> robot = appell.load("four_bar")
            >>> robot.bias(robot.reference_configuration, [1.0]).shape
            (1,)
        """
        return self.functions["bias", None]((q, qd), gravity, external_forces, parameters, out, check)

    @direct
    def gravity(self, q, *, gravity=None, parameters=None, out=None, check=True) -> np.ndarray:
        """Forces on the independent speeds that hold the robot still, (..., nv). [N m, N]

        Example:
            >>> import appell
            >>> robot = appell.load("four_bar")
            >>> abs(robot.gravity(robot.reference_configuration, gravity=(0, 0, 0))).max().item()
            0.0
        """
        return self.functions["gravity", None]((q,), gravity, None, parameters, out, check)

    @direct
    def coriolis_matrix(self, q, qd, *, parameters=None, out=None, check=True) -> np.ndarray:
        """C(q, qd) with C qd the velocity forces and Ṁ - 2C skew, (..., nv, nv). [N m s, N s]

        Example:
            >>> import appell
            >>> robot = appell.load("five_bar")
            >>> robot.coriolis_matrix(robot.reference_configuration, [0.0, 0.0]).any().item()
            False
        """
        return self.functions["coriolis_matrix", None]((q, qd), None, None, parameters, out, check)

    @direct
    def center_of_mass(self, q, *, parameters=None, out=None, check=True) -> np.ndarray:
        """Mass centre of the moving bodies in the world frame, (..., 3). [m]

        Example:
            >>> import appell
            >>> robot = appell.load("delta")
            >>> bool(abs(robot.center_of_mass(robot.reference_configuration)[:2]).max() < 1e-12)
            True
        """
        return self.functions["center_of_mass", None]((q,), None, None, parameters, out, check)

    @direct
    def joint_velocity_jacobian(self, q, *, out=None, check=True) -> np.ndarray:
        """G(q): speeds of all joints are G qd, (..., joints' speeds, nv).

        Example:
            >>> import appell
            >>> robot = appell.load("four_bar")
            >>> robot.joint_velocity_jacobian(robot.reference_configuration)[0].tolist()
            [1.0]
        """
        return self.functions["joint_velocity_jacobian", None]((q,), None, None, None, out, check)

    @direct
    def joint_velocities(self, q, qd, *, out=None, check=True) -> np.ndarray:
        """Speeds of all joints, G qd, in the order of the tree. [rad/s, m/s]

        Example:
            >>> import appell
            >>> robot = appell.load("four_bar")
            >>> robot.joint_velocities(robot.reference_configuration, [2.0]).shape
            (3,)
        """
        return self.functions["joint_velocities", None]((q, qd), None, None, None, out, check)

    @direct
    def joint_accelerations(self, q, qd, qdd, *, out=None, check=True) -> np.ndarray:
        """Accelerations of all joints, G qdd + Ġ qd, in the order of the tree. [rad/s², m/s²]

        Example:
            >>> import appell
            >>> robot = appell.load("four_bar")
            >>> robot.joint_accelerations(robot.reference_configuration, [2.0], [1.0])[0].item()
            1.0
        """
        return self.functions["joint_accelerations", None]((q, qd, qdd), None, None, None, out, check)

    @direct
    def closure_jacobian(self, q, *, out=None, check=True) -> np.ndarray:
        """K(q): the rates of the closures' residual are K times the speeds of all joints, (..., rows, joints' speeds).

        Example:
            >>> import appell
            >>> robot = appell.load("four_bar")
            >>> robot.closure_jacobian(robot.reference_configuration).shape
            (5, 3)
        """
        return self.functions["closure_jacobian", None]((q,), None, None, None, out, check)

    def closure_error(self, q: ArrayLike) -> np.ndarray:
        """How far the loops are open, the largest residual, (...). [m, rad]

        Example:
            >>> import appell
            >>> robot = appell.load("delta")
            >>> bool(robot.closure_error(robot.reference_configuration) < 1e-12)
            True
        """
        return np.abs(self.functions["closure_residual", None]((q,), None, None, None, None, True)).max(axis=-1)

    @renamed_arguments(torques="tau")
    def constraint_forces(
        self, q, qd, tau, *, gravity=None, external_forces=None, parameters=None, check=True
    ) -> Mapping[str, np.ndarray]:
        """Wrench of every closure on its second body while actuators exert these forces: name, (..., 6). [N, N m]

        Force first, at the origin of the closure's second frame, along the axes of the first body. Forces of redundant
        closures are not determined by rigid bodies; given are the shortest ones.

        Example:
            >>> import appell
            >>> robot = appell.load("four_bar")
            >>> robot.constraint_forces(robot.reference_configuration, [0.0], [0.0])["knee"].shape
            (6,)
        """
        found = self.functions["constraint_forces", None](
            (q, qd, tau), gravity, external_forces, parameters, None, check
        )
        return {name: found[..., i, :] for i, name in enumerate(self._closure_names)}

    def actuator_null_space(self, q: ArrayLike) -> np.ndarray:
        """Forces of redundant actuators that do nothing: columns N with J_a^T N = 0, (..., actuators, actuators - nv).

        Example:
            >>> import appell
            >>> robot = appell.load("five_bar")
            >>> robot.actuator_null_space(robot.reference_configuration).shape
            (2, 0)
        """
        J = self.actuator_jacobian(q)
        left, _, _ = np.linalg.svd(J, full_matrices=True)
        return left[..., J.shape[-1] :]

    def pose(self, q, frame: str, *, out=None, check=True) -> np.ndarray:
        """Homogeneous transformation (..., 4, 4) of a body's frame in the world. [m]

        Example:
            >>> import appell
            >>> robot = appell.load("delta")
            >>> robot.pose(robot.reference_configuration, "platform").shape
            (4, 4)
        """
        return self.functions["pose", None, frame, "LOCAL_WORLD_ALIGNED"]((q,), None, None, None, out, check)

    def jacobian(
        self, q, frame: str, reference_frame: str = "LOCAL_WORLD_ALIGNED", *, out=None, check=True
    ) -> np.ndarray:
        """Jacobian of a frame's twist for the independent speeds, linear rows first, (..., 6, nv).

        Example:
            >>> import appell
            >>> robot = appell.load("five_bar")
            >>> robot.jacobian(robot.reference_configuration, "tip").shape
            (6, 2)
        """
        return self.functions["jacobian", None, frame, reference_frame]((q,), None, None, None, out, check)

    joint_speeds = renamed_attribute("joint_speeds", "joint_velocities")
    speed_map = renamed_attribute("speed_map", "joint_velocity_jacobian")
