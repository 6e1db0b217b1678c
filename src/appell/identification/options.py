"""Options of `appell.identify`, grouped by what is set together."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from appell.checks import as_real, require_finite, require_integer, require_positive, require_real_array
from appell.deprecation import renamed_attributes
from appell.errors import ArgumentError
from appell.identification.recording import Recording, require_shapes
from appell.model.tree import require_tree
from appell.robot.protocol import AnyRobot
from appell.robot.robot import Robot


@renamed_attributes(coordinates="joint_coordinates", torques="joint_forces")
@dataclass(frozen=True)
class Transmission:
    """From recordings at the motors to the joints: motor angles = N (q - offset), tau = N^T motor torques.

    Attributes:
        ratio: gear ratios (nv,), or the matrix N (nv, nv) where motors drive several joints; None for direct drives.
        offset: joint coordinates at motor angle zero, (nv,). [rad, m]
        torque_constants: motor torques per recorded current, a number, (nv,) or (nv, nv); None for recorded torques. [N m/A]

    Example:
        >>> wrist = Transmission([[45.0, 0.0], [32.0, 32.0]])
        >>> wrist.joint_forces([[1.0, 1.0]]).tolist()
        [[77.0, 32.0]]
    """

    ratio: ArrayLike | None = None
    offset: ArrayLike = 0.0
    torque_constants: ArrayLike | None = None

    @property
    def matrix(self) -> np.ndarray | None:
        """N, (nv, nv); None for direct drives."""
        if self.ratio is None:
            return None
        N = np.asarray(self.ratio, dtype=float)
        N = np.diag(N) if N.ndim == 1 else N
        if N.ndim != 2 or N.shape[0] != N.shape[1] or not np.isfinite(N).all() or np.linalg.matrix_rank(N) < len(N):
            raise ArgumentError(f"ratio has shape {N.shape}, expected ratios (nv,) or an invertible matrix (nv, nv).")
        return N

    def joint_coordinates(self, motor_angles: ArrayLike) -> np.ndarray:
        """Joint coordinates for motor angles (N, nv)."""
        angles, N = np.asarray(motor_angles, dtype=float), self.matrix
        return (angles if N is None else np.linalg.solve(N, angles.T).T) + self.offset

    def joint_forces(self, recorded: ArrayLike) -> np.ndarray:
        """Generalized forces of recorded motor torques or currents (N, nv): forces with the same power."""
        torques, N = np.asarray(recorded, dtype=float), self.matrix
        if self.torque_constants is not None:
            constants = np.asarray(self.torque_constants, dtype=float)
            torques = torques @ constants.T if constants.ndim == 2 else torques * constants
        return torques if N is None else torques @ N

    def require_size(self, robot: AnyRobot) -> None:
        """Raise unless the numbers fit the robot's joints."""
        N, n = self.matrix, robot.nv
        if N is not None and (robot.nq, n) != (len(N), len(N)):
            raise ArgumentError(f"transmission has {len(N)} joints, {robot.name!r} has nq = {robot.nq} and nv = {n}.")
        name, constants = "torque_constants", self.torque_constants
        shape = () if constants is None else require_finite(name, require_real_array(name, constants)).shape
        if shape not in ((), (1,), (n,), (n, n)):
            raise ArgumentError(f"{name} has shape {shape}, expected ({n},), one per joint, or ({n}, {n}).")


def at_joints(robot: AnyRobot, recording: Recording, transmission: Transmission | None) -> Recording:
    """The recording in joint coordinates and forces."""
    require_shapes(robot, recording)
    if transmission is None:
        return recording
    transmission.require_size(robot)
    q, tau = transmission.joint_coordinates(recording.q), transmission.joint_forces(recording.tau)
    return replace(recording, q=q, tau=tau, qd=None)  # velocities are not those of the joints


@dataclass(frozen=True)
class Filtering:
    """Zero-phase low-pass filter of the recording.

    Attributes:
        cutoff: cut-off frequency [Hz]; `"auto"` chooses it by cross-validation, None does not filter.
        decimation: one sample in this many is kept, after regressor and forces passed the same filter. By default about
            five samples per period of the cut-off frequency, and at least 2000 of all.
    """

    cutoff: float | str | None = "auto"
    decimation: int | None = None

    def __post_init__(self) -> None:
        if isinstance(self.cutoff, str) and self.cutoff != "auto":
            raise ArgumentError(f"cutoff is {self.cutoff!r}, expected a frequency [Hz], 'auto' or None.")
        if self.decimation is not None:
            require_integer("decimation", self.decimation, 1)


@dataclass(frozen=True)
class Estimator:
    """Least squares: solver, weights and prior.

    Attributes:
        solver: `"qr"`, `"svd"`, `"pinv"` or `"ridge"` (parameter by generalized cross-validation).
        weights: weights of the joints: `"equal"`, `"residual"` (1 / variance of the residuals of a first fit), `"iterated"`
            (repeated until they converge), `"robust"` (with Huber weights of the samples), or numbers (nv,).
        prior: a robot of the same structure with parameters for what the motion does not determine; the robot by default.
        prior_std: relative standard deviation of the prior's links in a physical fit.
        instruments: instrumental variables against the bias from noisy positions: `"interleaved"` (even samples against odd
            ones), or the commanded coordinates (N, nq) at the samples of one recording; None for least squares.
        essential: set base parameters to zero that the data do not tell from it, as far as the error does not grow significantly.
    """

    solver: str = "qr"
    weights: str | ArrayLike = "iterated"
    prior: Robot | None = None
    prior_std: float = 1.0
    instruments: str | ArrayLike | None = None
    essential: bool = False

    def __post_init__(self) -> None:
        require_positive("prior_std", self.prior_std)
        if isinstance(self.instruments, str) and self.instruments != "interleaved":
            raise ArgumentError(
                f"instruments is {self.instruments!r}, expected 'interleaved', commanded coordinates (N, nq), or None."
            )
        if self.instruments is not None and isinstance(self.weights, str) and self.weights == "robust":
            raise ArgumentError("instruments and weights='robust' do not go together. Use weights='iterated'.")

    def joint_weights(self, robot: AnyRobot) -> str | np.ndarray:
        """The name of a weighting, or positive weights (nv,)."""
        if isinstance(self.weights, str):
            return self.weights
        weights = require_real_array("weights", self.weights)
        shape = (len(robot.actuator_names),)
        if weights.shape != shape or not (np.isfinite(weights) & (weights > 0)).all():
            got = f"has shape {weights.shape}" if weights.shape != shape else f"is {weights.tolist()}"
            raise ArgumentError(f"weights {got}, expected ({shape[0]},) positive numbers, one per joint, or a name.")
        return weights

    def prior_robot(self, robot: AnyRobot) -> AnyRobot:
        """The prior, with the same parents and joint types as the robot."""
        if self.prior is None:
            return robot
        revolute = {"continuous": "revolute"}  # they differ in their limits only
        own, other = (
            [(link.parent, revolute.get(link.kind.name, link.kind.name)) for link in require_tree(name, each).links]
            for name, each in (("robot", robot), ("prior", self.prior))
        )
        if own == other:
            return self.prior
        first = next((k for k, (a, b) in enumerate(zip(own, other, strict=False)) if a != b), None)
        where = (
            ""
            if first is None
            else f" The first joint that differs is {require_tree('robot', robot).links[first].name!r}."
        )
        raise ArgumentError(
            f"prior {self.prior.name!r} does not have the structure of {robot.name!r}: {len(other)} moving links, expected "
            f"{len(own)} with the same joint types and parents.{where}"
        )


@dataclass(frozen=True)
class Holdout:
    """Samples that are left out of the fit, to test its prediction.

    Attributes:
        every: one block of time in this many is left out; 0 fits all samples.
        block: length of a block. [s]
    """

    every: int = 5
    block: float = 0.5

    def __post_init__(self) -> None:
        every = as_real(self.every)
        if not every.is_integer() or every < 0 or every == 1:
            raise ArgumentError(f"every is {self.every!r}, expected 0 (fit all samples) or an integer >= 2.")
        require_positive("block", self.block, "s")
