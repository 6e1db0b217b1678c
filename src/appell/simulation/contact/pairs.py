"""Contact points of a robot with their kinematics, in one graph for all points, and their pairs with surfaces.

Contacts are numbered surface by surface, point by point. The normal n points away from the surface; g is the gap.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from appell.algebra import ZERO, Scalar, Vec3
from appell.algorithms.kinematics import WorldMotion, world_motion
from appell.checks import require_choice, require_integer, require_positive
from appell.errors import ArgumentError
from appell.model.point import Point
from appell.model.tree import BASE, Frame, Tree
from appell.robot.default_points import Configurations, default_points
from appell.robot.robot import Robot
from appell.robot.simulation_model import SimulationModel
from appell.simulation.contact.surfaces import Plane, Surface
from appell.simulation.contact.surfaces.surface import require_restitution


@dataclass(frozen=True)
class ContactOptions:
    """Contact between a robot and the surfaces of `appell.simulate`.

    Attributes:
        points: points (`appell.Point`), or names of bodies whose origins can touch surfaces. By default those of the collision
            shapes (`Robot.contact_points`); for robots without shapes joint origins and tips.
        restitution: Newton's coefficient, from 0 to 1, of surfaces without their own.
        simultaneity_gap: gap up to which approaching points take part in the impact of another point, unless they need
            longer than this gap takes at 0.1 m/s. The default follows the accuracy of the integration: 100 rtol times 1 m,
            at least 1e-9. [m]
        max_impacts: number of impacts after which the run stops with the status `"too many impacts"`. With restitution 1, 500
            impacts within 10 ms end it, too.

    Example:
        >>> import appell
        >>> tree, wall = appell.load("shafei_tree"), appell.surfaces.Circle(radius=2.5)
        >>> contact = appell.ContactOptions(points=["O5"], restitution=0.5)
        >>> appell.simulate(tree, *tree.initial_state, 0.6, surfaces=wall, contact=contact).impacts[0].points
        ('O5',)
    """

    points: Sequence[str | Point] | None = None
    restitution: float | None = 1.0
    simultaneity_gap: float | None = None
    max_impacts: int = 100_000

    def __post_init__(self) -> None:
        if isinstance(self.points, (str, Point)):
            raise ArgumentError(f"points is {self.points!r}, expected a sequence, as in [{self.points!r}].")
        if self.restitution is not None:
            require_restitution("restitution", self.restitution)
        if self.simultaneity_gap is not None:
            require_positive("simultaneity_gap", self.simultaneity_gap)
        require_integer("max_impacts", self.max_impacts)


class PointKinematics(NamedTuple):
    """Positions p, velocities v = J qd, Jacobians J, and acceleration biases a = J̇ qd of k points; the same of the rotation."""

    p: np.ndarray
    v: np.ndarray
    J: np.ndarray
    a: np.ndarray
    omega: np.ndarray
    J_omega: np.ndarray
    alpha: np.ndarray


class ContactPoints:
    """Points of one robot, some with a radius around them."""

    def __init__(self, robot: Robot, points: Sequence[Point | str]) -> None:
        points = [Point(point) if isinstance(point, str) else point for point in points]
        self.names, self.nv, self.radius = tuple(map(str, points)), robot.nv, np.array([p.radius for p in points])
        self._graph, motion = _graphs(robot, tuple(points))
        self._motion = BufferedFunction(motion)
        self._paths: dict[int, BufferedFunction] = {}

    def positions_and_velocities(self, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Positions and velocities (N, k, 3) in the states q (N, nq), qd (N, nv). [m, m/s]"""
        count = len(q)
        if count not in self._paths:
            self._paths[count] = BufferedFunction(self._graph.map(count) if count > 1 else self._graph)
        p, v = self._paths[count](q, qd)
        return p.reshape(count, -1, 3), v.reshape(count, -1, 3)

    def kinematics(self, q: np.ndarray, qd: np.ndarray) -> PointKinematics:
        """p, v, a, omega, alpha (k, 3) and J, J_omega (k, 3, nv) in one state."""
        entries = zip(PointKinematics._fields, self._motion(q, qd), strict=True)
        return PointKinematics(*(x.reshape(-1, 3, self.nv) if "J" in name else x.reshape(-1, 3) for name, x in entries))


class BufferedFunction:
    """A CasADi function with its own buffers, for a low cost per call. Not thread-safe."""

    def __init__(self, graph: Any) -> None:
        self._buffer, self._run = graph.buffer()
        self._inputs = [np.zeros(graph.numel_in(i)) for i in range(graph.n_in())]
        self._outputs = [np.zeros(graph.numel_out(i)) for i in range(graph.n_out())]
        for i, array in enumerate(self._inputs):
            self._buffer.set_arg(i, memoryview(array.data))
        for i, array in enumerate(self._outputs):
            self._buffer.set_res(i, memoryview(array.data))

    def __call__(self, *inputs: np.ndarray) -> list[np.ndarray]:
        """All results, flattened column by column."""
        for buffer, values in zip(self._inputs, inputs, strict=True):
            buffer[:] = values.ravel()
        self._run()
        return [array.copy() for array in self._outputs]


@lru_cache(maxsize=64)
def _graphs(robot: Robot, points: tuple[Point, ...]) -> tuple[Any, Any]:
    """Functions (q, qd) -> (p, v) and (q, qd) -> `PointKinematics`; every result is one column, flattened by rows."""
    import casadi

    tree = robot.tree
    q, qd = casadi.SX.sym("q", tree.nq), casadi.SX.sym("qd", tree.nv)
    velocities = [qd[i] for i in range(tree.nv)]
    motions = world_motion(tree, [q[i] for i in range(tree.nq)], velocities)
    columns: list[list[Any]] = [[] for _ in PointKinematics._fields]
    for point in points:
        found = _point(tree, motions, moved_frame(tree, point), velocities)
        for column, name, entries in zip(columns, found._fields, found, strict=True):
            column += [entry for row in entries for entry in row] if "J" in name else entries
    results = [casadi.densify(casadi.vertcat(*map(casadi.SX, column))) for column in columns]
    paths = casadi.Function("paths", [q, qd], casadi.cse(results[:2]))
    return paths, casadi.Function("motion", [q, qd], casadi.cse(results))


def _point(tree: Tree, motions: list[WorldMotion], frame: Frame, velocities: Sequence[Scalar]) -> PointKinematics:
    """Motion of a frame's origin p. The joint's unit twist (e, u) at p_i moves it by u + e x (p - p_i)."""
    p, v = _origin(tree, motions, frame)
    J, J_omega = ([[0.0] * tree.nv for _ in range(3)] for _ in range(2))
    a = alpha = ZERO
    for i in tree.ancestors(frame.link):
        link, motion = tree.links[i], motions[i]
        for k, (e, u) in enumerate(motion.units(link.kind.motion_subspace()), start=link.idx_v):
            column = u + e.cross(p - motion.p)
            axis_rate = motion.omega.cross(u) + motion.omega.cross(e).cross(p - motion.p)
            rate = link.multiplier * velocities[k]
            a, alpha = a + (axis_rate + e.cross(v - motion.v)) * rate, alpha + motion.omega.cross(e) * rate
            for row, entry in zip((*J, *J_omega), (*column, *e), strict=True):
                row[k] = row[k] + entry * link.multiplier
    omega = ZERO if frame.link == BASE else motions[frame.link].omega
    return PointKinematics(p, v, J, a, omega, J_omega, alpha)  # type: ignore[arg-type]


def moved_frame(tree: Tree, point: Point) -> Frame:
    """The frame of a point's body, with its origin at the point."""
    body = tree.frames[point.body]
    return Frame(body.link, body.R, body.p + body.R @ Vec3(*point.offset))


def _origin(tree: Tree, motions: list[WorldMotion], frame: Frame) -> tuple[Vec3, Vec3]:
    """Position and velocity of a frame's origin."""
    link = WorldMotion(tree.base, ZERO, ZERO, ZERO) if frame.link == BASE else motions[frame.link]
    arm = link.R @ frame.p
    return link.p + arm, link.v + link.omega.cross(arm)


def contact_points_of(
    robot: Robot, given: Sequence[str | Point] | None, configurations: Configurations | None = None
) -> tuple[Point, ...]:
    """Validated contact points, one of each name; the default ones if None, told apart at some configurations."""
    points = [point if isinstance(point, Point) else Point(point) for point in given or ()]
    for point in points:
        require_choice("body", point.body, robot.body_names)
        if robot.tree.frames[point.body].link == BASE:
            raise ArgumentError(
                f"contact point {str(point)!r} is fixed to the world, and cannot touch a surface. Name points of moving bodies."
            )
    if given is None:
        points = default_points(robot, configurations)
    return tuple({str(point): point for point in sorted(points, key=lambda point: point.radius)}.values())


class ContactState(NamedTuple):
    """Some contacts in one state of the robot."""

    index: np.ndarray  # type: ignore[assignment]  # their numbers, (c,)
    gap: np.ndarray  # g, negative behind the surface, (c,). [m]
    normal: np.ndarray  # n, (c, 3)
    velocity: np.ndarray  # of the point, (c, 3). [m/s]
    J: np.ndarray  # Jacobian of the point, (c, 3, nv)
    acceleration_bias: np.ndarray  # acceleration of the point at qdd = 0, (c, 3). [m/s²]
    curvature_acceleration: np.ndarray  # (c,); g̈ = n · (J qdd + acceleration_bias) + curvature_acceleration. [m/s²]

    @property
    def J_n(self) -> np.ndarray:
        """Rows n^T J: ġ = J_n qd, (c, nv)."""
        return np.einsum("ci,cij->cj", self.normal, self.J)

    @property
    def gap_rate(self) -> np.ndarray:
        """ġ, (c,). [m/s]"""
        return np.sum(self.normal * self.velocity, axis=-1)

    @property
    def gap_acceleration_bias(self) -> np.ndarray:
        """g̈ at qdd = 0, (c,). [m/s²]"""
        return np.sum(self.normal * self.acceleration_bias, axis=-1) + self.curvature_acceleration

    @property
    def slip_velocity(self) -> np.ndarray:
        """Tangential velocity, (c, 3). [m/s]"""
        return self.velocity - self.gap_rate[:, None] * self.normal

    def select(self, which: np.ndarray) -> ContactState:
        """The contacts of a mask or of a list of positions."""
        return ContactState(*(values[which] for values in self))


@dataclass(frozen=True)
class ContactPairs:
    """All pairs of points and surfaces."""

    names: tuple[str, ...]  # of the points
    surfaces: tuple[Surface, ...]
    restitution: tuple[float, ...]  # e of each surface

    def __len__(self) -> int:
        return self.count

    @property
    def count(self) -> int:
        """Number of pairs; contacts beyond it are stops of joints."""
        return len(self.surfaces) * len(self.names)

    def point_name(self, contact: int) -> str:
        return self.names[contact % len(self.names)]

    def surface_index(self, contact: int) -> int:
        return contact // len(self.names)

    def per_contact(self, values: Sequence[float]) -> np.ndarray:
        """Values of each surface, repeated for each contact; 0 for stops of joints."""
        result = np.zeros(len(self))
        result[: self.count] = np.repeat(np.asarray(values, dtype=float), len(self.names))
        return result

    @abstractmethod
    def gaps(self, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """g and ġ of all contacts, (N, c) each, in the states q (N, nq), qd (N, nv)."""

    @abstractmethod
    def state(self, q: np.ndarray, qd: np.ndarray) -> ContactState:
        """All contacts in one state."""


@dataclass(frozen=True)
class InterpretedPairs(ContactPairs):
    """Pairs whose kinematics are interpreted, where there is no compiled code."""

    points: ContactPoints

    def gaps(self, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        p, v = self.points.positions_and_velocities(q, qd)
        spheres = self.points.radius.any()
        pairs = [s.distance_and_normal(p) if spheres else s.gap_and_normal(p) for s in self.surfaces]
        gap = np.concatenate([gap - self.points.radius for gap, _ in pairs], axis=-1)
        return gap, np.concatenate([np.sum(normal * v, axis=-1) for _, normal in pairs], axis=-1)

    def state(self, q: np.ndarray, qd: np.ndarray) -> ContactState:
        points, radius = self.points.kinematics(q, qd), self.points.radius
        found = [_touching(points, radius, surface) for surface in self.surfaces]
        return ContactState(np.arange(len(self)), *map(np.concatenate, zip(*found, strict=True)))


def _touching(points: PointKinematics, radius: np.ndarray, surface: Surface) -> tuple[np.ndarray, ...]:
    """Gap, normal, velocity, Jacobian and accelerations of all points at a surface, as in `ContactState`.

    A sphere touches with the point at r = -radius n from its centre, whose velocity is v + ω x r. Its rate along the surface is
    a + α x r - radius ω x ṅ; the gap is that of the centre, less the radius.
    """
    p, v = points.p, points.v
    if not radius.any():
        return *surface.gap_and_normal(p), v, points.J, points.a, surface.curvature_acceleration(p, v)
    gap, normal, curvature, turn = surface.sphere_motion(p, v)
    arm = -radius[:, None] * normal
    J = points.J + np.cross(points.J_omega, arm[:, :, None], axis=1)
    extra = np.cross(points.alpha, arm) - radius[:, None] * np.cross(points.omega, turn)
    along = extra - np.sum(extra * normal, axis=1, keepdims=True) * normal
    return gap - radius, normal, v + np.cross(points.omega, arm), J, points.a + along, curvature


def contact_candidates(
    model: SimulationModel, q: np.ndarray, surfaces: tuple[Surface, ...], options: ContactOptions
) -> tuple[list[Point], list[float]]:
    """Points, and restitution of each surface, for arguments of `appell.simulate`; none without surfaces."""
    robot = model.contact_tree
    if robot is None or not surfaces:
        return [], [0.0] * len(surfaces)
    closed = None
    if robot.nv != model.nv and options.points is None:
        closed = tuple(tuple(model.random_configuration(seed).tolist()) for seed in (1, 2))
    points = list(contact_points_of(robot, options.points, closed))
    if not points:
        raise ArgumentError(f"robot {robot.name!r} has no moving points for contact. Name some as contact points.")
    circles = [str(point) for point in points if point.axis is not None]
    if circles and not all(isinstance(surface, Plane) for surface in surfaces):
        raise ArgumentError(
            f"{circles[0]!r} is a circle, which can touch planes only. Name spheres or points in its place."
        )
    poses = {point.body: robot.pose(q, point.body) for point in points}
    positions = np.array([(poses[point.body] @ [*point.offset, 1.0])[:3] for point in points])
    for surface in surfaces:
        surface.require_consistent(positions)
        for point in points:
            surface.require_fit(str(point), point.radius)
    return points, restitution_of(surfaces, options)


def names_in_order(robot: Robot | None, points: Sequence[Point], options: ContactOptions) -> tuple[str, ...]:
    """Names of contact points: those of the options in their order, default ones in that of the bodies."""
    if robot is None or options.points is not None:
        return tuple(dict.fromkeys(map(str, options.points or ())))
    place = {name: k for k, name in enumerate(robot.body_names)}
    return tuple(map(str, sorted(points, key=lambda point: place[point.body])))


def restitution_of(surfaces: tuple[Surface, ...], options: ContactOptions) -> list[float]:
    default = 1.0 if options.restitution is None else options.restitution
    return [default if surface.restitution is None else surface.restitution for surface in surfaces]
