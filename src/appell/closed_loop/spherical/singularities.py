"""Unreachable and singular configurations of a spherical parallel robot."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from appell.checks import require_finite
from appell.closed_loop.spherical.actuation import MIN_SINE
from appell.closed_loop.spherical.kinematics import margins
from appell.closed_loop.spherical.rates import MIN_H
from appell.errors import LoopClosureError, ModelError
from appell.robot.functions import Dynamics

if TYPE_CHECKING:
    from appell.closed_loop.spherical.robot import SphericalRobot
    from appell.closed_loop.spherical.system import SphericalSystem

REGULAR, UNREACHABLE, LEG, ACTUATORS, GIMBAL = (
    "regular", "unreachable", "leg singularity", "actuator singularity", "gimbal lock",
)  # fmt: skip
STATUSES = (REGULAR, UNREACHABLE, LEG, ACTUATORS, GIMBAL)
MIN_DISCRIMINANT, MIN_ACTUATOR_SINE, MIN_COSINE = 0.02, 0.1, 0.1
"""Distances of random configurations from stretched legs, actuator singularities and gimbal lock."""
DRAWS, BATCH = 200, 1000


class Singularities(NamedTuple):
    """Distances of configurations from the borders of the workspace and from singularities.

    Attributes:
        discriminant: a² + b² - c² of eq. (34) for each leg, (..., legs); negative where the leg does not reach.
        h: (v x w) · u of eq. (39) for each leg, (..., legs): zero where the leg is stretched or folded, NaN out of reach.
        det: det Jact of eq. (50), (...,); zero where the actuators cannot hold the platform. 0 where Jact is not square.
        euler: cos q2, which is -det E of eq. (26), (...,); zero in gimbal lock. 1 where no Euler angles are used.
        actuators: sine of the smallest angle between a column of Jact (over Ω) and those before it, (...,).
    """

    discriminant: np.ndarray
    h: np.ndarray
    det: np.ndarray
    euler: np.ndarray
    actuators: np.ndarray

    @property
    def status(self) -> np.ndarray:
        """The first that applies, (...,): `"unreachable"`, `"leg singularity"`, `"actuator singularity"`, `"gimbal lock"` or
        `"regular"`."""
        return self.named()

    def named(self, rounding: float = 0.0) -> np.ndarray:
        """The status, with bounds widened by `rounding`."""
        smallest = self.discriminant.min(axis=-1)
        faults = [
            smallest < 0.0,
            smallest < MIN_H**2 + rounding,
            ~(self.actuators**2 >= MIN_SINE**2 + rounding),
            self.euler**2 < MIN_H**2 + rounding,
        ]
        return np.select(faults, STATUSES[1:], REGULAR)


def singularity(robot: Dynamics, q: ArrayLike) -> Singularities:
    """How far configurations (..., nq) are from unreachable and singular ones; of robots, compiled robots and files."""
    q = require_finite("q", np.asarray(q, dtype=float))
    return split(robot.functions["margins", None]((q,), check=False), len(robot.closure_names))


def split(values: np.ndarray, legs: int) -> Singularities:
    """From the values of the function `margins`, (..., m)."""
    with np.errstate(invalid="ignore"):
        actuators = np.sqrt(np.maximum(values[..., 2 * legs + 2 :], 0.0)).min(axis=-1)
    return Singularities(
        values[..., :legs], values[..., legs : 2 * legs], values[..., 2 * legs], values[..., 2 * legs + 1], actuators
    )


def singularity_measures(system: SphericalSystem, q: np.ndarray) -> Singularities:
    """Of configurations (..., nq), evaluated in NumPy arrays."""
    lanes = list(np.asarray(q, dtype=float).reshape(-1, q.shape[-1]).T)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        entries = [np.broadcast_to(entry, lanes[0].shape) for entry in margins(system, lanes)]
    return split(np.stack(entries, axis=-1).reshape(*q.shape[:-1], -1), len(system.legs))


def require_regular(system: SphericalSystem, q: np.ndarray, function: str) -> None:
    """Raise for the first of configurations (..., nq) that is not regular.

    Gimbal lock affects forward dynamics only, an actuator singularity inverse dynamics only.
    """
    measures = singularity_measures(system, q)
    status = measures.named(rounding=64.0 * float(np.finfo(q.dtype).eps))
    if function != "forward_dynamics":
        status = np.where(status == GIMBAL, REGULAR, status)
    if function != "inverse_dynamics":
        status = np.where(status == ACTUATORS, REGULAR, status)
    bad = np.argwhere(status != REGULAR)
    if not len(bad):
        return
    index = tuple(int(k) for k in bad[0])
    place = f"q[{', '.join(map(str, index))}]" if index else "q"
    text = f"{function}: {place} = ({', '.join(f'{value:.6g}' for value in q[index])})"
    raise _error(system, Singularities(*(part[index] for part in measures)), str(status[index]), text, index)


def _error(
    system: SphericalSystem, at: Singularities, status: str, text: str, index: tuple[int, ...]
) -> LoopClosureError:
    """The error for one configuration."""
    leg = int(np.argmin(at.discriminant))
    name, value = system.leg_names[leg], float(at.discriminant[leg])
    if status == UNREACHABLE:
        message = (
            f"{text} is out of reach: leg {name!r} has a² + b² - c² = {value:.6g}, negative (eq. 34 has no root). "
            "Turn the platform less, or give the leg other arcs."
        )
    elif status == LEG:
        value = float(np.sqrt(value))
        message = (
            f"{text} is a singularity of leg {name!r}, stretched or folded: h = {value:.9g}, expected at least {MIN_H:g}. "
            "Its joint rates are not defined there."
        )
    elif status == ACTUATORS:
        name, value = "actuators", float(at.det)
        message = (
            f"{text} is a singularity of the actuators: det Jact = {value:.3g}, the sine of the angle between its columns "
            f"{float(at.actuators):.9g}, expected at least {MIN_SINE:g}. No torques can hold the platform there."
        )
    else:
        name, value = "euler angles", float(at.euler)
        message = (
            f"{text} is gimbal lock: cos q2 = {value:.3g}, so no rates of the Euler angles follow from the platform's angular "
            "velocity. Stay away from q2 = ±90 degrees."
        )
    return LoopClosureError(message, status=status, where=name, value=value, index=index)


def random_configurations(robot: SphericalRobot, count: int, rng: np.random.Generator) -> np.ndarray:
    """Uniformly distributed regular configurations (count, nq) within the workspace. [rad]"""
    configurations = np.zeros((0, robot.nq))
    for _ in range(DRAWS):
        q = rng.uniform(-np.pi, np.pi, (BATCH, robot.nq))
        at = singularity_measures(robot.system, q)
        fit = (at.discriminant.min(axis=-1) > MIN_DISCRIMINANT) & (np.abs(at.euler) > MIN_COSINE)
        if len(robot.actuator_names) >= robot.nv:
            fit &= at.actuators > MIN_ACTUATOR_SINE
        configurations = np.concatenate([configurations, q[fit]])
        if len(configurations) >= count:
            return configurations[:count]
    raise ModelError(
        f"{robot.name}: {len(configurations)} of {DRAWS * BATCH} random configurations are within the workspace and regular, "
        f"expected {count}. Give the legs longer arcs, or other axes."
    )
