"""The compiled stepper of a robot (`src/appell/_native/stepping.c`), from its kernels, points, surfaces and joint limits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from appell import _native
from appell.algebra import Vec3
from appell.algorithms.coordinate_rates import quasi_velocity_joints
from appell.algorithms.function_spec import FunctionSpec
from appell.algorithms.link_motion import LinkMotionSystem, unit_twists
from appell.algorithms.springs import SprungSystem
from appell.compiler.evaluate import Evaluator, evaluator_of
from appell.compiler.options import Options
from appell.errors import ArgumentError, CompileError
from appell.model.point import Point
from appell.model.tree import Tree
from appell.robot.simulation_model import SimulationModel
from appell.simulation.contact.solver import MAX_ITERATIONS
from appell.simulation.contact.surfaces import Surface
from appell.simulation.contact.surfaces.surface import NATIVE_NUMBERS

TOLERANCE, ACCEPTABLE = 1e-9, 1e-6
"""Residual that the contact solver aims at, and up to which one will do where contacts are too redundant for it. [m/s]"""
JOINTS = {"floating": 0, "spherical": 1, "planar": 2}
"""Numbers of the quasi-velocity joints in compiled code."""


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
        if robot is None or not hasattr(model, "dynamics") or robot.nv != model.nv:
            raise ArgumentError(f"method 'moreau' is for trees, and {model.name!r} has closed loops.")
        if _native.Stepper is None:
            raise CompileError(
                "method 'moreau' needs the C extension of appell. Install it where a C compiler is found."
            )
        tree, self.surfaces, self.points = robot.tree, tuple(surfaces), tuple(map(str, points))
        q, qd = robot.neutral_configuration(), np.zeros(robot.nv)
        dynamics: Evaluator = model.dynamics.functions  # type: ignore[attr-defined]
        own = dynamics.program("link motion", lambda: evaluator_of(LinkMotionSystem(tree), Options(threads=1)))
        springs, sprung = model.joint_friction.springs, dynamics
        if springs:
            sprung = dynamics.program("springs", lambda: evaluator_of(SprungSystem(tree, springs), Options(threads=1)))
        kernels = [
            _kernel(dynamics, "mass_matrix", q), _kernel(sprung, "bias", q, qd), _kernel(own, "link_motion", q, qd),
            _kernel(dynamics, "kinetic_energy", q, qd), _kernel(sprung, "potential_energy", q),
        ]  # fmt: skip
        limits = _stops(tree, model) if stops else []
        numbers = [surface.native_numbers(e) for surface, e in zip(surfaces, restitution, strict=True)]
        self.native = _native.Stepper(
            tuple((library.one, library.work) for library in kernels), (robot.nq, robot.nv),
            _integers([(JOINTS[j.kind], j.idx_q, j.idx_v) for j in quasi_velocity_joints(tree)], 3),
            _integers(_coordinates(tree), 2), _integers(unit_twists(tree), 2),
            _integers([[link.parent] for link in tree.links], 1),
            _numbers([_point(tree, point) for point in points], 5), _numbers(numbers, NATIVE_NUMBERS),
            _numbers(limits, 4),
            np.array(model.joint_friction.damping), np.array(model.joint_friction.friction),
            TOLERANCE, ACCEPTABLE, MAX_ITERATIONS, self._general, kernels,
        )  # fmt: skip
        self.contacts = len(self.points) * len(self.surfaces)
        self.limited = tuple(model.q_names[int(limit[0])] for limit in limits)
        self.all_contacts = self.contacts + 2 * len(limits)

    def _general(self, number: int, positions: memoryview, velocities: memoryview, out: memoryview) -> None:
        """Gaps, normals and curvature accelerations (k, 5) of a surface without compiled form."""
        surface = self.surfaces[number]
        p, v = (np.frombuffer(values).reshape(-1, 3) for values in (positions, velocities))
        gap, normal = surface.gap_and_normal(p)
        curvature = surface.curvature_acceleration(p, v)
        np.frombuffer(out)[:] = np.column_stack([gap, normal, curvature]).ravel()

    def vector(self, name: str, *shape: int) -> np.ndarray:
        """A vector of the state or of the last impact."""
        out = np.empty(shape)
        self.native.read(name, out)
        return out


def _kernel(functions: Evaluator, name: str, *inputs: np.ndarray) -> Any:
    """The compiled code of a function for one state."""
    spec = FunctionSpec(name)
    functions.kernel(spec, list(inputs))
    library = getattr(functions.target, "libraries", {}).get(spec)
    if library is None or not library.one:
        raise CompileError("method 'moreau' needs compiled code, which APPELL_NATIVE=0 or this machine does not allow.")
    return library


def _coordinates(tree: Tree) -> list[tuple[int, int]]:
    """Index in q and in qd of every coordinate with q̇ = qd."""
    plain = (link for link in tree.links if not link.kind.has_quasi_velocities)
    return sorted({(link.idx_q + k, link.idx_v + k) for link in plain for k in range(link.kind.nv)})


def _point(tree: Tree, point: Point) -> list[float]:
    """Link, position in its frame and radius."""
    frame = tree.frames[point.body]
    position = frame.p + frame.R @ Vec3(*point.offset)
    if frame.link < 0:
        position = tree.base @ position
    return [frame.link, *map(float, position), point.radius]


def _stops(tree: Tree, model: SimulationModel) -> list[tuple[float, ...]]:
    """Indices in q and qd and limits of the coordinates that have some."""
    lower, upper = model.limits.lower, model.limits.upper
    return [(i, k, lower[i], upper[i]) for i, k in _coordinates(tree) if np.isfinite([lower[i], upper[i]]).any()]


def _integers(rows: Sequence, columns: int) -> np.ndarray:
    return np.array(rows, dtype=np.int32).reshape(-1, columns)


def _numbers(rows: Sequence, columns: int) -> np.ndarray:
    return np.array(rows, dtype=float).reshape(-1, columns)
