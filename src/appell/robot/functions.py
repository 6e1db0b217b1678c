"""The functions of a robot: one list of signatures, documented once, for trees, closed loops and compiled robots alike.

`Robot`, `ClosedLoopRobot`, `SphericalRobot` and `CompiledRobot` inherit `Dynamics`; which algorithm computes a function is
decided by the robot's system (`appell.algorithms.system`). Functions that a robot does not have raise an error that lists
those it has.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from appell.compiler.evaluate import Evaluator
from appell.compiler.fast_path import fast_path
from appell.deprecation import renamed_arguments, renamed_attributes
from appell.robot.constrained import ConstrainedDynamics
from appell.robot.derivatives import DynamicsDerivatives
from appell.robot.regressor_terms import append_actuator_terms, append_terms


@renamed_attributes(joint_speeds="joint_velocities", speed_map="joint_velocity_jacobian")
class Dynamics(DynamicsDerivatives, ConstrainedDynamics):
    """Functions of the state of a robot.

    q is the configuration (..., nq), qd the generalized velocity and qdd its rate (..., nv). For closed loops q holds all
    joints and must close the loops, and qd are the independent velocities (`qd_names`); for spherical robots q are the
    platform's Euler angles (and free joints of the legs). Leading dimensions are a batch and are broadcast; results have the
    same leading dimensions. One state may be given by name instead, `{"elbow": 0.5}`: other joints are as in
    `neutral_configuration`, other velocities and forces are zero. Common options:

    - `gravity`: another gravity vector [m/s²] for this call, (..., 3).
    - `external_forces`: `{frame: wrench}` with wrenches (..., 6) acting on the robot, force then moment, at the origin
      and along the axes of the named frame. [N, N m]
    - `parameters`: other inertial parameters for this call, (..., 10 links + rotors), as `Robot.parameters` orders them.
    - `out`: array for the result.
    - `check`: False skips the search for NaN and infinity, and for quaternions that are not of unit length. Where loops are
      singular or out of reach, results are then NaN instead of a `LoopClosureError`.
    """

    __slots__ = ()

    functions: Evaluator
    """`functions[function, method](inputs, gravity, external_forces, parameters, out, check)`."""
    rotors: int
    """Links with a rotor; the last ones of the parameters are theirs."""
    qd_names: tuple[str, ...]
    actuator_names: tuple[str, ...]
    closure_names: tuple[str, ...]

    @fast_path
    def inverse_dynamics(
        self, q, qd, qdd, *, method=None, gravity=None, external_forces=None, parameters=None, out=None, check=True
    ) -> np.ndarray:
        """Actuator forces tau that give the accelerations qdd: M(q) qdd + bias(q, qd) for trees. (..., actuators) [N m, N]

        For closed loops J_a^T tau = M qdd + bias, with the shortest tau where actuators are redundant (`actuator_null_space`).

        Args:
            method: of trees `"mata2002"` (tensor form of the Gibbs-Appell equations, default), `"valera2003"` (vector form),
                `"newton_euler"` (Luh, Walker and Paul), `"shafei2018"` (Gibbs-Appell by branches, 4x4 and 3x3 matrices),
                `"hollerbach"` (recursive Lagrangian, 4x4 matrices); of spherical robots `"gibbs"` (default) or
                `"abedloo2014"` (M, C, G and Jact).

        Example:
            >>> import appell
            >>> robot = appell.load("puma560")
            >>> robot.inverse_dynamics([0.0] * 6, [0.0] * 6, [0.0] * 6).round(3).tolist()
            [0.0, -68.691, 0.509, 0.0, 0.0, 0.0]
        """
        return self.functions["inverse_dynamics", method](
            (q, qd, qdd), gravity, external_forces, parameters, out, check
        )

    @fast_path
    @renamed_arguments(torques="tau")
    def forward_dynamics(
        self, q, qd, tau, *, method=None, gravity=None, external_forces=None, parameters=None, out=None, check=True
    ) -> np.ndarray:
        """Accelerations qdd = M(q)⁻¹ (J_a^T tau - bias(q, qd)), with J_a = 1 for trees. (..., nv) [rad/s², m/s²]

        Args:
            tau: actuator forces (..., actuators).
            method: of trees `"gibbs"` (Hessian of the Gibbs function and Cholesky), `"articulated"` (Featherstone), `"noc"`
                (Angeles and Ma).

        Example:
            >>> import appell
            >>> robot = appell.load("puma560")
            >>> tau = robot.gravity([0.1] * 6)
            >>> bool(abs(robot.forward_dynamics([0.1] * 6, [0.0] * 6, tau)).max() < 1e-12)
            True
        """
        return self.functions["forward_dynamics", method](
            (q, qd, tau), gravity, external_forces, parameters, out, check
        )

    @fast_path
    def mass_matrix(self, q, *, method=None, parameters=None, out=None, check=True) -> np.ndarray:
        """Mass matrix M(q), rotor inertia included; the Hessian of the Gibbs function in qdd. (..., nv, nv) [kg m², kg m, kg]

        Args:
            method: of trees `"gibbs_hessian"` (Mata 2002, section 4.2, default), `"composite"` (Walker and Orin), `"noc"`
                (Angeles and Ma), `"shafei2018"` (Gibbs-Appell by branches) or `"hollerbach"` (recursive Lagrangian).

        Example:
            >>> import appell
            >>> M = appell.load("puma560").mass_matrix([0.0] * 6)
            >>> bool((M == M.T).all())
            True
        """
        return self.functions["mass_matrix", method]((q,), None, None, parameters, out, check)

    @fast_path
    def bias(
        self, q, qd, *, method=None, gravity=None, external_forces=None, parameters=None, out=None, check=True
    ) -> np.ndarray:
        """Generalized forces at zero acceleration, C(q, qd) qd + g(q). (..., nv) [N m, N]

        Example:
            >>> import appell
            >>> appell.load("puma560").bias([0.0] * 6, [0.1] * 6).shape
            (6,)
        """
        return self.functions["bias", method]((q, qd), gravity, external_forces, parameters, out, check)

    @fast_path
    def gravity(self, q, *, method=None, gravity=None, parameters=None, out=None, check=True) -> np.ndarray:
        """Generalized forces g(q) that hold the robot at rest against gravity. (..., nv) [N m, N]

        Example:
            >>> import appell
            >>> robot = appell.load("puma560")
            >>> abs(robot.gravity([0.0] * 6, gravity=(0, 0, 0))).max().item()
            0.0
        """
        return self.functions["gravity", method]((q,), gravity, None, parameters, out, check)

    @fast_path
    def coriolis_matrix(self, q, qd, *, method=None, parameters=None, out=None, check=True) -> np.ndarray:
        """C(q, qd) of the Christoffel symbols: C qd are the velocity forces, Ṁ - 2C is skew. (..., nv, nv) [N m s, N s]

        Args:
            method: of spherical robots `"christoffel"` (default) or `"abedloo2014"` (eq. 21: the same C qd, not skew).

        Example:
            >>> import appell
            >>> appell.load("puma560").coriolis_matrix([0.0] * 6, [0.0] * 6).any().item()
            False
        """
        return self.functions["coriolis_matrix", method]((q, qd), None, None, parameters, out, check)

    @fast_path
    def center_of_mass(self, q, *, parameters=None, out=None, check=True) -> np.ndarray:
        """Centre of mass of the moving bodies in the world frame. (..., 3) [m]

        Example:
            >>> import appell
            >>> appell.load("puma560").center_of_mass([0.0] * 6).shape
            (3,)
        """
        return self.functions["center_of_mass", None]((q,), None, None, parameters, out, check)

    @fast_path
    def center_of_mass_jacobian(self, q, *, parameters=None, out=None, check=True) -> np.ndarray:
        """Jacobian of the centre of mass: its velocity in the world is J(q) qd. (..., 3, nv)

        Example:
            >>> import appell
            >>> appell.load("puma560").center_of_mass_jacobian([0.0] * 6).shape
            (3, 6)
        """
        return self.functions["center_of_mass_jacobian", None]((q,), None, None, parameters, out, check)

    @fast_path
    def centroidal_momentum(self, q, qd, *, parameters=None, out=None, check=True) -> np.ndarray:
        """Momentum of the moving bodies and its moment about their centre of mass, along the world's axes. (..., 6)

        Rotors are left out. [kg m/s, kg m²/s]

        Example:
            >>> import appell
            >>> robot = appell.load("puma560")
            >>> h = robot.centroidal_momentum([0.2] * 6, [1.0] * 6)
            >>> bool(abs(h - robot.centroidal_momentum_matrix([0.2] * 6).sum(axis=1)).max() < 1e-13)
            True
        """
        return self.functions["centroidal_momentum", None]((q, qd), None, None, parameters, out, check)

    @fast_path
    def centroidal_momentum_matrix(self, q, *, parameters=None, out=None, check=True) -> np.ndarray:
        """A(q) with centroidal_momentum = A(q) qd, linear rows first. (..., 6, nv) [kg, kg m, kg m²]

        Example:
            >>> import appell
            >>> appell.load("puma560").centroidal_momentum_matrix([0.0] * 6).shape
            (6, 6)
        """
        return self.functions["centroidal_momentum_matrix", None]((q,), None, None, parameters, out, check)

    @fast_path
    def kinetic_energy(self, q, qd, *, parameters=None, out=None, check=True) -> np.ndarray:
        """T = qd^T M(q) qd / 2, rotors included. [J]

        Example:
            >>> import appell
            >>> appell.load("puma560").kinetic_energy([0.0] * 6, [0.0] * 6).item()
            0.0
        """
        return self.functions["kinetic_energy", None]((q, qd), None, None, parameters, out, check)

    @fast_path
    def potential_energy(self, q, *, gravity=None, parameters=None, out=None, check=True) -> np.ndarray:
        """U = -Σ m_i g · r_i over the moving bodies, zero with all mass at the world's origin. [J]

        Example:
            >>> import appell
            >>> round(appell.load("puma560").potential_energy([0.0] * 6).item(), 6)
            26.983103
        """
        return self.functions["potential_energy", None]((q,), gravity, None, parameters, out, check)

    @fast_path
    def gibbs_function(self, q, qd, qdd, *, gravity=None, parameters=None, out=None, check=True) -> np.ndarray:
        """Gibbs function G, the energy of acceleration, in the form of Mata 2002 eqs (3) and (4). [J/s²]

        Gravity enters through the base's acceleration, terms without accelerations are left out, so that
        ∂G/∂qdd = tau (with closed loops, `generalized_forces`) and ∂²G/∂qdd² = M.

        Example:
            >>> import appell
            >>> appell.load("puma560").gibbs_function([0.0] * 6, [0.0] * 6, [0.0] * 6, gravity=(0, 0, 0)).item()
            0.0
        """
        return self.functions["gibbs_function", None]((q, qd, qdd), gravity, None, parameters, out, check)

    @fast_path
    @renamed_arguments(columns="terms")
    def regressor(self, q, qd, qdd, *, terms=(), gravity=None, out=None, check=True) -> np.ndarray:
        """K with `inverse_dynamics` = K Φ for the inertial parameters Φ = `parameters`. (..., actuators, 10 links + rotors)

        Rotors that the robot has come behind the links, in K as in Φ. Friction is in neither, as it is not in tau.

        Args:
            terms: regressor terms that replace the robot's own rotors, behind the columns of the links in the order given:
                names among `"rotor"`, `"viscous"`, `"coulomb"`, `"offset"` (nv columns each), or terms of
                `appell.identification`. They act on the generalized velocities; with closed loops the columns are the
                actuator forces that balance them.

        Example:
            >>> import appell
            >>> robot = appell.load("puma560")
            >>> q, qd, qdd = [0.3] * 6, [0.5] * 6, [1.0] * 6
            >>> tau = robot.regressor(q, qd, qdd) @ robot.parameters
            >>> bool(abs(tau - robot.inverse_dynamics(q, qd, qdd)).max() < 1e-12)
            True
            >>> robot.regressor(q, qd, qdd, terms=("rotor", "viscous", "coulomb", "offset")).shape
            (6, 84)
        """
        K = self.functions["regressor", None]((q, qd, qdd), gravity, None, None, None if terms else out, check)
        if not terms:
            return K
        K = K[..., : K.shape[-1] - self.rotors]
        if self.actuator_names == self.qd_names:
            return append_terms(K, terms, q, qd, qdd, out)
        return append_actuator_terms(K, self.actuator_jacobian(q, check=check), terms, q, qd, qdd, out)

    @fast_path
    @renamed_arguments(columns="terms")
    def generalized_regressor(self, q, qd, qdd, *, terms=(), gravity=None, out=None, check=True) -> np.ndarray:
        """K with `generalized_forces` = K Φ, also of mechanisms without actuators. (..., nv, 10 links + rotors)

        Example:
            >>> import appell
            >>> robot = appell.load("four_bar")
            >>> q = robot.initial_state[0]
            >>> forces = robot.generalized_regressor(q, [0.3], [1.0]) @ robot.parameters
            >>> bool(abs(forces - robot.generalized_forces(q, [0.3], [1.0])).max() < 1e-12)
            True
        """
        K = self.functions["generalized_regressor", None](
            (q, qd, qdd), gravity, None, None, None if terms else out, check
        )
        return append_terms(K[..., : K.shape[-1] - self.rotors], terms, q, qd, qdd, out) if terms else K

    @fast_path
    def generalized_forces(
        self, q, qd, qdd, *, method=None, gravity=None, external_forces=None, parameters=None, out=None, check=True
    ) -> np.ndarray:
        """Generalized forces M qdd + bias = J_a^T tau; for trees the same as `inverse_dynamics`. (..., nv) [N m, N]

        Example:
            >>> import appell
            >>> wrist = appell.load("agile_wrist")
            >>> state = [0.1] * 3, [0.2] * 3, [0.3] * 3
            >>> tau = wrist.inverse_dynamics(*state)
            >>> bool(abs(wrist.actuator_jacobian([0.1] * 3).T @ tau - wrist.generalized_forces(*state)).max() < 1e-14)
            True
        """
        return self.functions["generalized_forces", method](
            (q, qd, qdd), gravity, external_forces, parameters, out, check
        )

    @fast_path
    def actuator_jacobian(self, q, *, out=None, check=True) -> np.ndarray:
        """J_a(q): velocities of the actuated joints are J_a qd, and J_a^T tau acts on qd; 1 for trees. (..., actuators, nv)

        Example:
            >>> import appell
            >>> robot = appell.load("stewart")
            >>> robot.actuator_jacobian(robot.initial_state[0]).shape
            (6, 6)
        """
        return self.functions["actuator_jacobian", None]((q,), None, None, None, out, check)

    def actuator_null_space(self, q) -> np.ndarray:
        """Forces of redundant actuators without effect: columns N with J_a^T N = 0. (..., actuators, actuators - nv)

        Example:
            >>> import appell
            >>> robot = appell.load("five_bar")
            >>> robot.actuator_null_space(robot.initial_state[0]).shape
            (2, 0)
        """
        J = self.actuator_jacobian(q)
        left, _, _ = np.linalg.svd(J, full_matrices=True)
        return left[..., J.shape[-1] :]

    # --- joints and closures of closed loops; a tree is the case without closures -------------------------------------

    @fast_path
    def joint_velocities(self, q, qd, *, out=None, check=True) -> np.ndarray:
        """Velocities of all joints, G qd, in the order of the spanning tree (of spherical robots: of the legs). [rad/s, m/s]

        Example:
            >>> import appell
            >>> robot = appell.load("four_bar")
            >>> robot.joint_velocities(robot.initial_state[0], [2.0]).shape
            (3,)
        """
        return self.functions["joint_velocities", None]((q, qd), None, None, None, out, check)

    @fast_path
    def joint_accelerations(self, q, qd, qdd, *, out=None, check=True) -> np.ndarray:
        """Accelerations of all joints, G qdd + Ġ qd, in the order of `joint_velocities`. [rad/s², m/s²]

        Example:
            >>> import appell
            >>> robot = appell.load("four_bar")
            >>> robot.joint_accelerations(robot.initial_state[0], [2.0], [1.0])[0].item()
            1.0
        """
        return self.functions["joint_accelerations", None]((q, qd, qdd), None, None, None, out, check)

    @fast_path
    def joint_velocity_jacobian(self, q, *, out=None, check=True) -> np.ndarray:
        """G(q): velocities of all joints of the spanning tree are G qd. (..., tree nv, nv)

        Example:
            >>> import appell
            >>> robot = appell.load("four_bar")
            >>> robot.joint_velocity_jacobian(robot.initial_state[0])[0].tolist()
            [1.0]
        """
        return self.functions["joint_velocity_jacobian", None]((q,), None, None, None, out, check)

    @fast_path
    def closure_jacobian(self, q, *, out=None, check=True) -> np.ndarray:
        """K(q): the rates of the closures' residual are K times the velocities of all joints. (..., rows, tree nv)

        Example:
            >>> import appell
            >>> robot = appell.load("four_bar")
            >>> robot.closure_jacobian(robot.initial_state[0]).shape
            (5, 3)
        """
        return self.functions["closure_jacobian", None]((q,), None, None, None, out, check)

    def closure_error(self, q) -> np.ndarray:
        """Largest residual of the loop closures, (...). [m, rad]

        Example:
            >>> import appell
            >>> robot = appell.load("delta")
            >>> bool(robot.closure_error(robot.initial_state[0]) < 1e-12)
            True
        """
        return np.abs(self.functions["closure_residual", None]((q,), None, None, None, None, True)).max(axis=-1)

    @renamed_arguments(torques="tau")
    def constraint_forces(
        self, q, qd, tau, *, gravity=None, external_forces=None, parameters=None, check=True
    ) -> Mapping[str, np.ndarray]:
        """Wrench of every loop closure on its second body under actuator forces tau: name, (..., 6). [N, N m]

        Force first, at the origin of the closure's second frame, along the axes of the first body. Forces of redundant
        closures are not determined by rigid bodies; the shortest ones are given.

        Example:
            >>> import appell
            >>> robot = appell.load("four_bar")
            >>> robot.constraint_forces(robot.initial_state[0], [0.0], [0.0])["knee"].shape
            (6,)
        """
        wrenches = self.functions["constraint_forces", None](
            (q, qd, tau), gravity, external_forces, parameters, None, check
        )
        return {name: wrenches[..., i, :] for i, name in enumerate(self.closure_names)}

    @fast_path
    def joint_angles(self, q, *, out=None, check=True) -> np.ndarray:
        """Angles of all joints of a spherical robot's legs, Abedloo 2014 eqs (34) and (36). (..., joints) [rad]

        Example:
            >>> import appell
            >>> appell.load("agile_wrist").joint_angles([0.0] * 3)[:3].round(3).tolist()
            [1.216, -1.507, 1.385]
        """
        return self.functions["joint_angles", None]((q,), None, None, None, out, check)

    # --- frames -------------------------------------------------------------------------------------------------------

    def pose(self, q, frame: str, *, out=None, check=True) -> np.ndarray:
        """Homogeneous transformation (..., 4, 4) of a frame in the world. [m]

        Args:
            frame: name of a body.

        Example:
            >>> import appell
            >>> appell.load("puma560").pose([0.0] * 6, "link6")[:3, 3].round(3).tolist()
            [0.412, 0.15, 0.433]
        """
        return self.functions["pose", None, frame, "LOCAL_WORLD_ALIGNED"]((q,), None, None, None, out, check)

    def jacobian(
        self, q, frame: str, reference_frame: str = "LOCAL_WORLD_ALIGNED", *, out=None, check=True
    ) -> np.ndarray:
        """Jacobian J(q) of a frame's twist, linear rows first: [v; ω] = J qd. (..., 6, nv)

        Args:
            frame: name of a body.
            reference_frame: `"LOCAL"` (velocity of the origin, along the frame's axes), `"LOCAL_WORLD_ALIGNED"`
                (velocity of the origin, along the world's axes, default) or `"WORLD"` (velocity of the point at the
                world's origin, along the world's axes).

        Example:
            >>> import appell
            >>> appell.load("puma560").jacobian([0.0] * 6, "link6").shape
            (6, 6)
        """
        return self.functions["jacobian", None, frame, reference_frame]((q,), None, None, None, out, check)

    def jacobian_rate(
        self, q, qd, frame: str, reference_frame: str = "LOCAL_WORLD_ALIGNED", *, out=None, check=True
    ) -> np.ndarray:
        """Time derivative of `jacobian` along qd: the twist's rate is J qdd + Jdot qd. (..., 6, nv)

        Example:
            >>> import appell
            >>> appell.load("puma560").jacobian_rate([0.0] * 6, [0.0] * 6, "link6").any().item()
            False
        """
        return self.functions["jacobian_rate", None, frame, reference_frame]((q, qd), None, None, None, out, check)
