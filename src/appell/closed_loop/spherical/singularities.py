"""Unreachable and singular configurations of a spherical parallel robot, and maps of its workspace."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from appell.checks import require_choice, require_finite, require_integer
from appell.closed_loop.spherical.jacobians import MIN_SINE, margins
from appell.closed_loop.spherical.kinematics import MIN_H
from appell.errors import ArgumentError, LoopClosureError, ModelError
from appell.plotting import COLOURS, new_figure, save_figure
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
UNREACHABLE_GREY = "0.85"


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
    """How far configurations (..., nq) are from unreachable and singular ones, and the `status` of each.

    A method of `SphericalRobot`; as a function it also takes compiled robots and files.

    Example:
        >>> import appell
        >>> appell.load("agile_wrist").singularity([[0.0, 0.0, 0.0], [0.0, 0.0, -1.5]]).status.tolist()
        ['regular', 'unreachable']
    """
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
    """Regular configurations drawn uniformly within the workspace, (count, nq). [rad]"""
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


@dataclass(frozen=True)
class WorkspaceMap:
    """Reach and singularities over a grid of two coordinates; rows are y, columns x.

    Attributes:
        over: names of the coordinates along x and y.
        at: names and values of all coordinates; those along x and y are the middle of the grid. [rad]
        x, y: values of the grid, (n,). [rad]
        singularities: a² + b² - c² and h of every leg, det Jact and cos q2 on the grid, (n, n) or (n, n, legs).
        status: of each configuration, (n, n).
    """

    robot_name: str
    leg_names: tuple[str, ...]
    over: tuple[str, str]
    at: Mapping[str, float]
    x: np.ndarray
    y: np.ndarray
    singularities: Singularities
    status: np.ndarray

    @property
    def reachable(self) -> np.ndarray:
        """Whether all legs reach, (n, n)."""
        return self.status != UNREACHABLE

    def plot(self, path: str | PathLike | None = None) -> Any:
        """Plot det Jact and the smallest |h| over the grid, with the borders of the workspace and the zero lines.

        Args:
            path: picture file, its format taken from the extension.

        Returns:
            The `matplotlib.figure.Figure`.
        """
        figure = new_figure(11.0, 4.6)
        left, right = figure.subplots(1, 2, sharex=True, sharey=True)
        grid = np.degrees(self.x), np.degrees(self.y)
        det = self.singularities.det
        size = float(np.nanpercentile(np.abs(det), 95)) if np.isfinite(det).any() else 1.0
        self._draw(figure, left, det, "det Jact", "RdBu", (-size, size))
        if np.isfinite(det).any() and np.nanmin(det) < 0.0 < np.nanmax(det):
            left.contour(*grid, det, levels=[0.0], colors="black", linewidths=1.2)
        smallest = np.abs(self.singularities.h).min(axis=-1)
        self._draw(figure, right, smallest, "smallest |h| of a leg", "viridis", (0.0, 1.0))
        for i, name in enumerate(self.leg_names):
            discriminant = self.singularities.discriminant[..., i]
            if discriminant.min() < 0.0 < discriminant.max():
                colour = COLOURS[i % len(COLOURS)]
                right.contour(*grid, discriminant, levels=[0.0], colors=colour, linewidths=1.5)
                right.plot([], [], color=colour, label=f"border of {name}")
        left.plot([], [], color="black", label="singular: det Jact = 0")
        for panel in (left, right):
            panel.fill_between([], [], color=UNREACHABLE_GREY, label="out of reach")
            panel.legend(loc="upper left", bbox_to_anchor=(0.0, -0.14), ncols=2, frameon=False, fontsize=8)
            panel.set_xlabel(f"{self.over[0]} [deg]")
        left.set_ylabel(f"{self.over[1]} [deg]")
        fixed = ", ".join(f"{name} = {np.degrees(x):g} deg" for name, x in self.at.items() if name not in self.over)
        left.set_title(f"{self.robot_name}{f' at {fixed}' if fixed else ''}", loc="left", fontsize=11)
        save_figure(figure, path)
        return figure

    def _draw(self, figure: Any, panel: Any, values: np.ndarray, label: str, colours: str, limits: tuple) -> None:
        """Colours over the grid, grey where it is out of reach."""
        panel.set_facecolor(UNREACHABLE_GREY)
        shown = np.ma.masked_invalid(np.where(self.reachable, values, np.nan))
        mesh = panel.pcolormesh(
            np.degrees(self.x), np.degrees(self.y), shown, cmap=colours, vmin=limits[0], vmax=limits[1], shading="nearest",
            rasterized=True,
        )  # fmt: skip
        figure.colorbar(mesh, ax=panel, label=label, extend="both" if limits[0] < 0 else "neither")
        panel.set_aspect("equal")


def workspace_map(
    robot: SphericalRobot,
    over: tuple[str, str] | None = None,
    span: tuple[float, float] = (-1.6, 1.6),
    points: int = 161,
    at: Mapping[str, float] | None = None,
) -> WorkspaceMap:
    """Reachable configurations and distances from singularities over two coordinates.

    Args:
        over: names of the coordinates along x and y; the second and third by default.
        span: range of both. [rad]
        points: per axis of the grid.
        at: values of other coordinates, 0 by default. [rad]

    Example:
        >>> import appell
        >>> found = appell.load("agile_wrist").workspace_map(points=9)
        >>> found.status.shape, found.status[4, 4].item()
        ((9, 9), 'regular')
    """
    names = robot.joint_names
    if len(names) < 2:
        raise ArgumentError(f"{robot.name} has {len(names)} coordinates; a map needs two.")
    over, fixed = over or (names[-2], names[-1]), dict(at or {})
    for name in (*over, *fixed):
        require_choice("coordinate", name, names)
    if len(over) != 2 or over[0] == over[1]:
        raise ArgumentError(f"over is {over!r}, expected the names of two coordinates: {', '.join(names)}.")
    if not span[0] < span[1] or not np.isfinite(span).all():
        raise ArgumentError(f"span is {span!r}, expected two increasing numbers [rad].")
    grid = np.linspace(*span, require_integer("points", points, 2))
    q = np.zeros((points, points, len(names)))
    for name, value in fixed.items():
        q[..., names.index(name)] = value
    q[..., names.index(over[0])] = grid[None, :]
    q[..., names.index(over[1])] = grid[:, None]
    measures = robot.singularity(q)
    middle = dict(zip(names, q[points // 2, points // 2].tolist(), strict=True))
    legs = tuple(leg.name for leg in robot.legs)
    return WorkspaceMap(robot.name, legs, (over[0], over[1]), middle, grid, grid, measures, measures.status)
