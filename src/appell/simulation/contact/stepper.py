"""The compiled stepper of a robot (`src/appell/_native/stepping.c`), from its kernels, points, surfaces and joint limits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from appell import _native
from appell.algebra import Vec3
from appell.algorithms.coordinate_rates import quasi_velocity_joints
from appell.algorithms.function_spec import FunctionSpec
from appell.compiler.evaluate import Evaluator
from appell.errors import ArgumentError, CompileError
from appell.model.point import Point
from appell.model.tree import Tree
from appell.robot.simulation_model import SimulationModel
from appell.simulation.contact.solver import MAX_ITERATIONS
from appell.simulation.contact.surfaces import Surface
from appell.simulation.contact.surfaces.surface import NATIVE_NUMBERS

TOLERANCE, ACCEPTABLE = 1e-9, 1e-6
"""Residual that the contact solver aims at, and up to which one will do where contacts are too redundant for it. [m/s]"""
STEPPED, IMPACT, NOT_FINITE = 0, 1, 2
"""Statuses of a run of the compiled stepper."""
KERNELS = (
    "mass_matrix", "bias", "link_motion", "kinetic_energy", "potential_energy", "joint_velocities", "closure_step",
    "actuator_jacobian", "damping_matrix",
)  # fmt: skip
"""Functions in compiled code, those of closed loops last, in the order of the compiled stepper."""
NO_CONTACT_TREE = "contact with surfaces is not supported for {!r}. Simulate `robot.as_closed_loop(q)` in its place."
MAX_IMPACTS_PER_STEP = 100
JOINTS = {"floating": 0, "spherical": 1, "planar": 2}
"""Numbers of the quasi-velocity joints in compiled code."""


class SteppedState(NamedTuple):
    """q, qd and works (3,) after a step, and contact forces as rows (step, contact, x, y, z)."""

    q: np.ndarray
    qd: np.ndarray
    work: np.ndarray
    forces: np.ndarray


class Stepper:
    """The compiled stepper of a robot with points, surfaces and joint limits.

    Attributes:
        points: names of the points.
        contacts: pairs of points and surfaces, surface by surface.
        limited: names of the coordinates with stops.
        all_contacts: the same with two for each limited coordinate, its lower and its upper limit.
    """

    def __init__(
        self,
        model: SimulationModel,
        points: Sequence[Point],
        surfaces: Sequence[Surface],
        restitution: Sequence[float],
        stops: bool,
    ) -> None:
        robot = model.contact_tree
        if robot is None:
            raise ArgumentError(NO_CONTACT_TREE.format(model.name))
        if _native.Stepper is None:
            raise CompileError(
                "method 'moreau', and contact of closed loops, need the C extension of appell. Install it where a C compiler "
                "is found."
            )
        tree, self.surfaces, self.points = robot.tree, tuple(surfaces), tuple(map(str, points))
        self.rolls = any(point.radius for point in points)
        functions = model.contact_functions()
        kernels = [_kernel(functions.evaluators[name], name, model) for name in KERNELS if name in functions.evaluators]
        limits = _stops(tree, model) if stops else []
        numbers = [surface.native_numbers(e) for surface, e in zip(surfaces, restitution, strict=True)]
        self.native = _native.Stepper(
            tuple((library.one, library.work) for library in kernels), (model.nq, model.nv, robot.nv, len(model.actuator_names)),
            _integers([(JOINTS[j.kind], j.idx_q, j.idx_v) for j in quasi_velocity_joints(tree)], 3),
            _integers(_coordinates(tree), 2), _integers(functions.units, 2),
            _integers(functions.parents, 1),
            _numbers([_point(tree, point) for point in points], 8), _numbers(numbers, NATIVE_NUMBERS),
            _numbers(limits, 4),
            np.array(model.joint_friction.damping), np.array(model.joint_friction.friction),
            TOLERANCE, ACCEPTABLE, MAX_ITERATIONS, self._general, kernels,
        )  # fmt: skip
        self.contacts = len(self.points) * len(self.surfaces)
        self.limited = tuple(model.q_names[int(limit[0])] for limit in limits)
        self.all_contacts = self.contacts + 2 * len(limits)

    def _general(self, number: int, positions: memoryview, velocities: memoryview, out: memoryview) -> None:
        """Gaps, normals, curvature accelerations and rates of the normals (k, 8) of a surface without compiled form."""
        surface = self.surfaces[number]
        p, v = (np.frombuffer(values).reshape(-1, 3) for values in (positions, velocities))
        found = (
            surface.sphere_motion(p, v)
            if self.rolls
            else (*surface.gap_and_normal(p), surface.curvature_acceleration(p, v), np.zeros_like(p))
        )
        np.frombuffer(out)[:] = np.column_stack(found).ravel()

    def step(self, q: np.ndarray, qd: np.ndarray, tau: np.ndarray, h: float, warm: bool = False) -> SteppedState | None:
        """The state after one step of length h with all impacts in it, None where it is not finite.

        `warm`: the last step was from a state nearby, with forces near those of this one.
        """
        states, rows = (
            (np.empty((1, len(q))), np.empty((1, len(qd))), np.empty((1, 3))),
            np.empty((self.contacts + 1, 5)),
        )
        try:
            self.native.start(np.ascontiguousarray(q), np.ascontiguousarray(qd), warm)
        except FloatingPointError:
            return None
        for _ in range(MAX_IMPACTS_PER_STEP):
            done, status, _, count = self.native.run(tau, h, 1, *states, rows)
            if done:
                return SteppedState(states[0][0], states[1][0], states[2][0], rows[:count])
            if status != IMPACT:
                break
        return None

    def stop(self, contact: int) -> tuple[str, str]:
        """Coordinate and side, lower or upper, of a contact that is the stop of a joint."""
        limit, upper = divmod(contact - self.contacts, 2)
        return self.limited[limit], "upper" if upper else "lower"

    def vector(self, name: str, *shape: int) -> np.ndarray:
        """A vector of the state or of the last impact."""
        out = np.empty(shape)
        self.native.read(name, out)
        return out


def _kernel(functions: Evaluator, name: str, model: SimulationModel) -> Any:
    """The compiled code of a function for one state."""
    spec = FunctionSpec(name)
    functions.kernel(spec, [np.zeros(model.nq), np.zeros(model.nv)])
    library = getattr(functions.target, "libraries", {}).get(spec)
    if library is None or not library.one:
        raise CompileError(
            "method 'moreau', and contact of closed loops, need compiled code, which APPELL_NATIVE=0 or this machine does not "
            "allow."
        )
    return library


def _coordinates(tree: Tree) -> list[tuple[int, int]]:
    """Index in q and in qd of every coordinate with q̇ = qd."""
    plain = (link for link in tree.links if not link.kind.has_quasi_velocities)
    return sorted({(link.idx_q + k, link.idx_v + k) for link in plain for k in range(link.kind.nv)})


def _point(tree: Tree, point: Point) -> list[float]:
    """Link, position in its frame, radius, and the axis of a circle in its frame, zero of a sphere."""
    frame = tree.frames[point.body]
    axis = Vec3(0.0, 0.0, 0.0) if point.axis is None else frame.R @ Vec3(*point.axis)
    position = frame.p + frame.R @ Vec3(*point.offset)
    if frame.link < 0:
        position = tree.base @ position
    return [frame.link, *map(float, position), point.radius, *map(float, axis)]


def _stops(tree: Tree, model: SimulationModel) -> list[tuple[float, ...]]:
    """Indices in q and qd and limits of the coordinates that have some."""
    lower, upper = model.limits.lower, model.limits.upper
    return [(i, k, lower[i], upper[i]) for i, k in _coordinates(tree) if np.isfinite([lower[i], upper[i]]).any()]


def _integers(rows: Sequence, columns: int) -> np.ndarray:
    return np.array(rows, dtype=np.int32).reshape(-1, columns)


def _numbers(rows: Sequence, columns: int) -> np.ndarray:
    return np.array(rows, dtype=float).reshape(-1, columns)
