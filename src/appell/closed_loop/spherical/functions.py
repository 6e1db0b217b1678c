"""The functions of spherical parallel robots: signatures and documentation, for robots and compiled robots alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

from appell.closed_loop.actuated import ActuatedFunctions
from appell.deprecation import renamed_arguments, renamed_attribute
from appell.robot.functions import direct

if TYPE_CHECKING:
    import numpy as np

    from appell.closed_loop.spherical.singularities import Singularities


class SphericalFunctions(ActuatedFunctions):
    """Functions of the state of a spherical parallel robot.

    q are the 321 Euler angles of the platform, R = Rz(q1) Ry(q2) Rx(q3), and qd, qdd their derivatives. (Legs of more than
    three joints add their first angles; a leg of fewer than three replaces the Euler angles by its own angles.) Leading
    dimensions are a batch. Common options:

    - `gravity`: another gravity vector [m/s²] for this call, (..., 3).
    - `external_forces`: `{body: wrench}` with wrenches (..., 6) that the world exerts, force then moment, at the centre and
      along the body's axes. The centre does not move, so only moments count. [N, N m]
    - `parameters`: other inertial parameters for this call, (..., 10 bodies), as `SphericalRobot.parameters` orders them.
    - `out`: array for the result. `check`: False skips the search for NaN and infinity: out of reach and at singularities
      results are then NaN, otherwise `appell.LoopClosureError` says which leg and which number.
    """

    __slots__ = ()

    _leg_count: int

    @direct
    def inverse_dynamics(
        self, q, qd, qdd, *, method=None, gravity=None, external_forces=None, parameters=None, out=None, check=True
    ) -> np.ndarray:
        """Torques of the actuators that give the accelerations qdd, (..., actuators). [N m]

        With more actuators than degrees of freedom those of smallest norm.

        Args:
            method: `"gibbs"` (gradient of the Gibbs function, eq. 15, default) or `"abedloo2014"` (M, C, G and Jact).

        Example:
            >>> import appell
            >>> wrist = appell.load("agile_wrist")
            >>> wrist.inverse_dynamics([0.0] * 3, [0.0] * 3, [0.0] * 3).round(4).tolist()
            [-0.1569, -0.1569, -0.1569]
        """
        return self.functions["inverse_dynamics", method](
            (q, qd, qdd), gravity, external_forces, parameters, out, check
        )

    @direct
    @renamed_arguments(torques="tau")
    def forward_dynamics(
        self, q, qd, tau, *, method=None, gravity=None, external_forces=None, parameters=None, out=None, check=True
    ) -> np.ndarray:
        """Accelerations qdd of the coordinates under torques of the actuators, (..., nv). [rad/s²]

        Example:
            >>> import appell
            >>> wrist = appell.load("agile_wrist")
            >>> tau = wrist.inverse_dynamics([0.1] * 3, [0.2] * 3, [0.3] * 3)
            >>> wrist.forward_dynamics([0.1] * 3, [0.2] * 3, tau).round(12).tolist()
            [0.3, 0.3, 0.3]
        """
        return self.functions["forward_dynamics", method](
            (q, qd, tau), gravity, external_forces, parameters, out, check
        )

    @direct
    def generalized_forces(
        self, q, qd, qdd, *, method=None, gravity=None, external_forces=None, parameters=None, out=None, check=True
    ) -> np.ndarray:
        """Q = M qdd + C qd + G on the coordinates, (..., nv); Q = Jact^T tau. [N m]

        Example:
            >>> import appell
            >>> wrist = appell.load("agile_wrist")
            >>> Q = wrist.generalized_forces([0.1] * 3, [0.2] * 3, [0.3] * 3)
            >>> tau = wrist.inverse_dynamics([0.1] * 3, [0.2] * 3, [0.3] * 3)
            >>> bool(abs(wrist.actuator_jacobian([0.1] * 3).T @ tau - Q).max() < 1e-14)
            True
        """
        return self.functions["generalized_forces", method](
            (q, qd, qdd), gravity, external_forces, parameters, out, check
        )

    @direct
    def mass_matrix(self, q, *, method=None, parameters=None, out=None, check=True) -> np.ndarray:
        """M(q) in the coordinates, eq. (21), (..., nv, nv). [kg m²]

        Example:
            >>> import appell
            >>> appell.load("agile_wrist").mass_matrix([0.0] * 3).diagonal().round(6).tolist()
            [0.002957, 0.00747, 0.00747]
        """
        return self.functions["mass_matrix", method]((q,), None, None, parameters, out, check)

    @direct
    def coriolis_matrix(self, q, qd, *, method=None, parameters=None, out=None, check=True) -> np.ndarray:
        """C(q, qd) in the coordinates, (..., nv, nv). [N m s]

        Args:
            method: `"christoffel"` (default: Ṁ - 2C is skew) or `"abedloo2014"` (eq. 21: the same C qd, not skew).

        Example:
            >>> import appell
            >>> appell.load("agile_wrist").coriolis_matrix([0.1] * 3, [0.0] * 3).any().item()
            False
        """
        return self.functions["coriolis_matrix", method]((q, qd), None, None, parameters, out, check)

    @direct
    def gravity(self, q, *, method=None, gravity=None, parameters=None, out=None, check=True) -> np.ndarray:
        """G(q), the forces on the coordinates that hold the robot still, (..., nv). [N m]

        Example:
            >>> import appell
            >>> appell.load("agile_wrist").gravity([0.0] * 3).round(4).tolist()
            [0.2718, 0.0, 0.0]
        """
        return self.functions["gravity", method]((q,), gravity, None, parameters, out, check)

    @direct
    def bias(
        self, q, qd, *, method=None, gravity=None, external_forces=None, parameters=None, out=None, check=True
    ) -> np.ndarray:
        """C(q, qd) qd + G(q), the forces on the coordinates at zero acceleration, (..., nv). [N m]

        Example:
            >>> import appell
            >>> appell.load("agile_wrist").bias([0.0] * 3, [0.1] * 3).shape
            (3,)
        """
        return self.functions["bias", method]((q, qd), gravity, external_forces, parameters, out, check)

    @direct
    def joint_angles(self, q, *, out=None, check=True) -> np.ndarray:
        """Inverse kinematics: angles of all joints, as `leg_joint_names` orders them, eqs (34) and (36), (..., joints). [rad]

        Example:
            >>> import appell
            >>> wrist = appell.load("agile_wrist")
            >>> wrist.joint_angles([0.0] * 3)[:3].round(3).tolist()
            [1.216, -1.507, 1.385]
        """
        return self.functions["joint_angles", None]((q,), None, None, None, out, check)

    @direct
    def joint_velocities(self, q, qd, *, out=None, check=True) -> np.ndarray:
        """Rates of all joints, eq. (40), (..., joints). [rad/s]

        Example:
            >>> import appell
            >>> appell.load("agile_wrist").joint_velocities([0.0] * 3, [0.0] * 3).any().item()
            False
        """
        return self.functions["joint_velocities", None]((q, qd), None, None, None, out, check)

    @direct
    def joint_accelerations(self, q, qd, qdd, *, out=None, check=True) -> np.ndarray:
        """Accelerations of all joints, eq. (41), (..., joints). [rad/s²]

        Example:
            >>> import appell
            >>> appell.load("agile_wrist").joint_accelerations([0.0] * 3, [0.0] * 3, [0.0] * 3).any().item()
            False
        """
        return self.functions["joint_accelerations", None]((q, qd, qdd), None, None, None, out, check)

    def pose(self, q, frame: str, *, out=None, check=True) -> np.ndarray:
        """Homogeneous transformation (..., 4, 4) of a body's frame; all origins are the centre.

        Example:
            >>> import appell
            >>> appell.load("agile_wrist").pose([0.0] * 3, "platform").tolist()[0]
            [1.0, 0.0, 0.0, 0.0]
        """
        return self.functions["pose", None, frame, "LOCAL_WORLD_ALIGNED"]((q,), None, None, None, out, check)

    def jacobian(
        self, q, frame: str, reference_frame: str = "LOCAL_WORLD_ALIGNED", *, out=None, check=True
    ) -> np.ndarray:
        """Jacobian of a body's twist for the rates of the coordinates, linear rows (which are zero) first, (..., 6, nv).

        Example:
            >>> import appell
            >>> appell.load("agile_wrist").jacobian([0.0] * 3, "platform")[3:].argmax(axis=0).tolist()  # about z, y, x
            [2, 1, 0]
        """
        return self.functions["jacobian", None, frame, reference_frame]((q,), None, None, None, out, check)

    def singularity(self, q) -> Singularities:
        """How far configurations are from unreachable and singular ones, and the `status` of each.

        Example:
            >>> import appell
            >>> found = appell.load("agile_wrist").singularity([[0.0, 0.0, 0.0], [0.0, 0.0, -1.5]])
            >>> found.status.tolist()
            ['regular', 'unreachable']
        """
        import numpy as np

        from appell.checks import require_finite
        from appell.closed_loop.spherical.singularities import split

        require_finite("q", np.asarray(q, dtype=float))
        values = self.functions["margins", None]((q,), None, None, None, None, False)
        return split(values, self._leg_count)

    singularities = renamed_attribute("singularities", "singularity")
