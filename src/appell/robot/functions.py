"""The functions of a robot, in one place for everything that can answer them.

`Dynamics` holds the public signatures and their documentation; `Robot` and compiled robots inherit it and say only how a
request is evaluated.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from typing import TYPE_CHECKING, Any, TypeVar

from appell import _native
from appell.deprecation import renamed_arguments
from appell.robot.regressor_terms import append_terms

if TYPE_CHECKING:
    import numpy as np

    from appell.compiler.evaluate import Evaluator

Method = TypeVar("Method", bound=Callable[..., Any])


class _Direct:
    """A method whose plain calls go straight to native code as soon as there is some.

    An instance gets its own callable when the method is first looked up: the C extension's `Function`, which passes on to
    the method whatever needs Python.
    """

    def __init__(self, method: Callable[..., Any]) -> None:
        self.method = method
        update_wrapper(self, method)  # type: ignore[arg-type]

    def __get__(self, instance: object, owner: type | None = None) -> Callable[..., Any]:
        if instance is None:
            return self.method
        bound = self.method.__get__(instance)
        if _native.Function is None:
            return bound
        return vars(instance).setdefault(self.method.__name__, _native.Function(bound))


def direct(method: Method) -> Method:
    """Mark a method of `Dynamics` that takes nothing but the state and options."""
    return _Direct(method)  # type: ignore[return-value]


class Energies:
    """What every kind of robot answers in the same way: its energies, as functions of the state."""

    __slots__ = ()

    functions: Evaluator
    """What answers: `functions[function, method](inputs, gravity, external_forces, parameters, out, check)`."""

    @property
    def rotors(self) -> int:
        """Links with a rotor, as far as that is known; the last ones of the parameters are theirs."""
        return 0

    @direct
    def kinetic_energy(self, q, qd, *, parameters=None, out=None, check=True) -> np.ndarray:
        """T = qd^T M(q) qd / 2, rotors included. [J]

        Example:
            >>> import appell
            >>> appell.load("puma560").kinetic_energy([0.0] * 6, [0.0] * 6).item()
            0.0
        """
        return self.functions["kinetic_energy", None]((q, qd), None, None, parameters, out, check)

    @direct
    def potential_energy(self, q, *, gravity=None, parameters=None, out=None, check=True) -> np.ndarray:
        """U = -Σ m_i g · r_i over the moving bodies, zero with all mass at the world's origin. [J]

        Example:
            >>> import appell
            >>> round(appell.load("puma560").potential_energy([0.0] * 6).item(), 6)
            26.983103
        """
        return self.functions["potential_energy", None]((q,), gravity, None, parameters, out, check)

    @direct
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


class Dynamics(Energies):
    """Functions of the state of a robot.

    Every argument may have leading dimensions, which are a batch and are broadcast; results have the same leading
    dimensions. Common options:

    - `gravity`: another gravity vector [m/s²] for this call, (..., 3).
    - `external_forces`: `{frame: wrench}` with wrenches (..., 6) acting on the robot, force then moment, at the origin
      and along the axes of the named frame. [N, N m]
    - `parameters`: other inertial parameters for this call, (..., 10 links + rotors), as `Robot.parameters` orders them.
    - `out`: array for the result.
    - `check`: False skips the search for NaN and infinity, and for quaternions that are not of unit length.
    """

    __slots__ = ()

    @direct
    def inverse_dynamics(
        self, q, qd, qdd, *, method=None, gravity=None, external_forces=None, parameters=None, out=None, check=True
    ) -> np.ndarray:
        """Generalised forces tau = M(q) qdd + bias(q, qd) that give the accelerations qdd. [N m, N]

        Args:
            q: coordinates (..., nq); qd, qdd: speeds and accelerations (..., nv).
            method: `"mata2002"` (tensor form of the Gibbs-Appell equations, default), `"valera2003"` (vector form),
                `"newton_euler"` (Luh, Walker and Paul), `"shafei2018"` (Gibbs-Appell by branches, 4x4 and 3x3 matrices),
                `"hollerbach"` (recursive Lagrangian, 4x4 matrices).

        Returns:
            (..., nv).

        Example:
            >>> import appell
            >>> robot = appell.load("puma560")
            >>> robot.inverse_dynamics([0.0] * 6, [0.0] * 6, [0.0] * 6).round(3).tolist()
            [0.0, -68.691, 0.509, 0.0, 0.0, 0.0]
        """
        return self.functions["inverse_dynamics", method](
            (q, qd, qdd), gravity, external_forces, parameters, out, check
        )

    @direct
    def forward_dynamics(
        self, q, qd, tau, *, method=None, gravity=None, external_forces=None, parameters=None, out=None, check=True
    ) -> np.ndarray:
        """Accelerations qdd = M(q)⁻¹ (tau - bias(q, qd)). [rad/s², m/s²]

        Args:
            q: coordinates (..., nq); qd: speeds, tau: generalised forces (..., nv).
            method: `"gibbs"` (Hessian of the Gibbs function and Cholesky), `"articulated"` (Featherstone), `"noc"`
                (Angeles and Ma).

        Returns:
            (..., nv).

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

    @direct
    def mass_matrix(self, q, *, method=None, parameters=None, out=None, check=True) -> np.ndarray:
        """Inertia matrix M(q), rotor inertia included; the Hessian of the Gibbs function in qdd. [kg m², kg m, kg]

        Args:
            q: coordinates (..., nq).
            method: `"gibbs_hessian"` (Mata 2002, section 4.2, default), `"composite"` (Walker and Orin), `"noc"`
                (Angeles and Ma), `"shafei2018"` (Gibbs-Appell by branches) or `"hollerbach"` (recursive Lagrangian).

        Returns:
            (..., nv, nv), symmetric.

        Example:
            >>> import appell
            >>> M = appell.load("puma560").mass_matrix([0.0] * 6)
            >>> bool((M == M.T).all())
            True
        """
        return self.functions["mass_matrix", method]((q,), None, None, parameters, out, check)

    @direct
    def bias(
        self, q, qd, *, method=None, gravity=None, external_forces=None, parameters=None, out=None, check=True
    ) -> np.ndarray:
        """Forces at zero acceleration, C(q, qd) qd + g(q). [N m, N]

        Example:
            >>> import appell
            >>> appell.load("puma560").bias([0.0] * 6, [0.1] * 6).shape
            (6,)
        """
        return self.functions["bias", method]((q, qd), gravity, external_forces, parameters, out, check)

    @direct
    def gravity(self, q, *, method=None, gravity=None, parameters=None, out=None, check=True) -> np.ndarray:
        """Forces g(q) that hold the robot still against gravity. [N m, N]

        Example:
            >>> import appell
            >>> robot = appell.load("puma560")
            >>> abs(robot.gravity([0.0] * 6, gravity=(0, 0, 0))).max().item()
            0.0
        """
        return self.functions["gravity", method]((q,), gravity, None, parameters, out, check)

    @direct
    def coriolis_matrix(self, q, qd, *, method=None, parameters=None, out=None, check=True) -> np.ndarray:
        """C(q, qd) of the Christoffel symbols: C qd are the velocity forces, Ṁ - 2C is skew. [N m s, N s]

        Returns:
            (..., nv, nv).

        Example:
            >>> import appell
            >>> appell.load("puma560").coriolis_matrix([0.0] * 6, [0.0] * 6).any().item()
            False
        """
        return self.functions["coriolis_matrix", method]((q, qd), None, None, parameters, out, check)

    @direct
    def center_of_mass(self, q, *, parameters=None, out=None, check=True) -> np.ndarray:
        """Mass centre of the moving bodies in the world frame, (..., 3). [m]

        Example:
            >>> import appell
            >>> appell.load("puma560").center_of_mass([0.0] * 6).shape
            (3,)
        """
        return self.functions["center_of_mass", None]((q,), None, None, parameters, out, check)

    @direct
    def center_of_mass_jacobian(self, q, *, parameters=None, out=None, check=True) -> np.ndarray:
        """Jacobian of the mass centre of the moving bodies: its velocity in the world is J(q) qd. (..., 3, nv)

        Example:
            >>> import appell
            >>> appell.load("puma560").center_of_mass_jacobian([0.0] * 6).shape
            (3, 6)
        """
        return self.functions["center_of_mass_jacobian", None]((q,), None, None, parameters, out, check)

    @direct
    def centroidal_momentum(self, q, qd, *, parameters=None, out=None, check=True) -> np.ndarray:
        """Momentum of the moving bodies and its moment about their mass centre, along the world's axes. (..., 6)

        Rotors are left out. [kg m/s, kg m²/s]

        Example:
            >>> import appell
            >>> robot = appell.load("puma560")
            >>> h = robot.centroidal_momentum([0.2] * 6, [1.0] * 6)
            >>> bool(abs(h - robot.centroidal_momentum_matrix([0.2] * 6).sum(axis=1)).max() < 1e-13)
            True
        """
        return self.functions["centroidal_momentum", None]((q, qd), None, None, parameters, out, check)

    @direct
    def centroidal_momentum_matrix(self, q, *, parameters=None, out=None, check=True) -> np.ndarray:
        """A(q) with centroidal_momentum = A(q) qd, linear rows first. (..., 6, nv) [kg, kg m, kg m²]

        Example:
            >>> import appell
            >>> appell.load("puma560").centroidal_momentum_matrix([0.0] * 6).shape
            (6, 6)
        """
        return self.functions["centroidal_momentum_matrix", None]((q,), None, None, parameters, out, check)

    @direct
    @renamed_arguments(columns="terms")
    def regressor(self, q, qd, qdd, *, terms=(), gravity=None, out=None, check=True) -> np.ndarray:
        """K(q, qd, qdd) with tau = K Φ for the inertial parameters Φ = `parameters`. (..., nv, 10 links + rotors)

        Rotors that the robot has come behind the links, in K as in Φ. Friction is in neither, as it is not in tau.

        Args:
            q: coordinates (..., nq); qd, qdd: speeds and accelerations (..., nv).
            terms: regressor terms that replace the robot's own rotors, behind the columns of the links in the order given:
                names among `"rotor"`, `"viscous"`, `"coulomb"`, `"offset"` (nv columns each), or terms of
                `appell.identification`.

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
        return append_terms(K[..., : K.shape[-1] - self.rotors], terms, q, qd, qdd, out)

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
