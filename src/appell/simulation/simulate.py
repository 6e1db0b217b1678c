"""`appell.simulate`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from appell.errors import ArgumentError
from appell.impact.contacts import Contacts
from appell.impact.points import Points, chosen_points
from appell.impact.surfaces import Surface
from appell.impact.surfaces.surface import check_restitution
from appell.impact.walls import Walls
from appell.simulation.loop import Integrator, Loop
from appell.simulation.mechanism import mechanism_of
from appell.simulation.methods import method_named
from appell.simulation.phase import Environment, Free
from appell.simulation.plant import Plant, Torque
from appell.simulation.recorder import Recorder
from appell.simulation.trajectory import Trajectory

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from appell.model.robot import Robot


def simulate(
    robot: Robot,
    q0: ArrayLike,
    qd0: ArrayLike,
    duration: float,
    *,
    tau: ArrayLike | Torque | None = None,
    walls: Sequence[Surface] = (),
    restitution: float | None = None,
    points: Sequence[str] | None = None,
    simultaneous: float | None = None,
    max_impacts: int = 100_000,
    method: str = "DOP853",
    rtol: float = 1e-9,
    atol: float | None = None,
    max_step: float = math.inf,
    sample: float | ArrayLike | None = None,
) -> Trajectory:
    """The motion of a robot from a state, with the impacts of its points on walls.

    Between events the equations of motion are integrated; `docs/theory/shafei2018.md` says what happens at them. No point
    is ever behind a wall by more than 1e-9 m. Equal arguments give equal bits.

    Args:
        q0, qd0: coordinates (nq,) and speeds (nv,) at t = 0. Where points touch a wall already, their impact or contact
            comes first; a point that is behind a wall is an error.
        duration: [s]
        tau: forces of the drives (nv,), constant, or a function of (t, q, qd) that returns them; none by default.
            Damping and friction of the joints are added (`Robot.passive_forces`). [N m, N]
        walls: surfaces such as `appell.Circle(radius=2.5)`.
        restitution: Newton's coefficient, from 0 to 1, of the walls that have none of their own; 1 by default.
        points: names of the frames that can touch walls; joint origins and tips by default.
        simultaneous: gap up to which approaching points are taken to touch when another point does. The default follows
            the accuracy of the integration: 100 rtol times 1 m, at least 1e-9. [m]
        max_impacts: after so many the run stops with the status `"too many impacts"`.
        method: `"DOP853"`, `"RK45"`, `"RK23"`, `"Radau"`, `"BDF"` or `"LSODA"`, SciPy's integrators with their dense output.
        rtol, atol: relative and absolute tolerance of the integrator; atol = rtol by default.
        max_step: longest step. [s]
        sample: period [s], or increasing times, of the samples; without it every step of the integrator is one, and both
            sides of every impact.

    Raises:
        SimulationError: a point starts behind a wall, or the motion diverges: the error has `time`, `state` and
            `quantity`, the first bad number.

    Example:
        >>> import appell
        >>> tree = appell.load("shafei_tree")
        >>> motion = appell.simulate(tree, *tree.initial_state, duration=0.6, walls=[appell.Circle(radius=2.5)])
        >>> [(round(impact.time, 6), impact.points) for impact in motion.impacts]
        [(0.385192, ('O1', 'O5')), (0.569731, ('O2', 'O4'))]
    """
    q, qd = _state("q0", q0, robot.nq), _state("qd0", qd0, robot.nv)
    end = _positive("duration", duration)
    rtol = _positive("rtol", rtol)
    integrator = Integrator(
        method_named(method), rtol, rtol if atol is None else _positive("atol", atol), _positive("max_step", max_step)
    )
    mechanism = mechanism_of(robot)
    plant = Plant(mechanism, tau)
    environment: Environment = Free(plant)
    if len(walls):
        pairs = _contacts(robot, q, walls, restitution, points)
        environment = Walls(
            plant, pairs, 100.0 * rtol if simultaneous is None else _positive("simultaneous", simultaneous)
        )
    recorder = Recorder(plant, _sample_times(sample, end))
    status = Loop(plant, environment, integrator, recorder).run(q, qd, end, max_impacts)
    return _trajectory(plant, recorder, status)


def _contacts(robot: Robot, q: np.ndarray, walls, restitution: float | None, points: Sequence[str] | None) -> Contacts:
    for wall in walls:
        if not isinstance(wall, Surface):
            raise ArgumentError(
                f"walls has a {type(wall).__name__}, expected surfaces such as appell.Circle(radius=2.5)."
            )
    default = 1.0 if restitution is None else check_restitution(restitution, "restitution")
    names = chosen_points(robot, points)
    if not names:
        raise ArgumentError(f"robot {robot.name!r} has no moving points to touch the walls. Name some as `points`.")
    e = tuple(default if wall.restitution is None else wall.restitution for wall in walls)
    contacts = Contacts(Points(robot, names), tuple(walls), e)
    contacts.verify(q)
    return contacts


def _state(name: str, values: ArrayLike, size: int) -> np.ndarray:
    array = np.array(values, dtype=float)
    if array.shape != (size,):
        raise ArgumentError(f"{name} has shape {array.shape}, expected ({size},).")
    if not np.isfinite(array).all():
        bad = int(np.flatnonzero(~np.isfinite(array))[0])
        raise ArgumentError(f"{name}[{bad}] is {array[bad]}, expected a finite number.")
    return array


def _positive(name: str, value: float) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not value > 0.0:
        raise ArgumentError(f"{name} is {value!r}, expected a positive number.")
    return float(value)


def _sample_times(sample: float | ArrayLike | None, end: float) -> np.ndarray | None:
    """Times of the samples; a period gives 0, period, 2 period, ... and the end if it is a multiple of it."""
    if sample is None:
        return None
    if isinstance(sample, (int, float)):
        period = _positive("sample", sample)
        count = math.floor(end / period * (1.0 + 1e-12))
        return np.minimum(period * np.arange(count + 1), end)
    times = np.asarray(sample, dtype=float)
    if times.ndim != 1 or not len(times) or (np.diff(times) <= 0.0).any() or times[0] < 0.0 or times[-1] > end:
        raise ArgumentError(f"sample must be a period or increasing times from 0 to the duration of {end:g} s.")
    return times


def _trajectory(plant: Plant, recorder: Recorder, status: str) -> Trajectory:
    robot = plant.mechanism
    t, q, qd, qdd, tau = (np.array(column) for column in zip(*recorder.samples, strict=True))
    return Trajectory(
        t=t, q=q, qd=qd, qdd=qdd, tau=tau, energy=plant.mechanism.energy(q, qd),
        impacts=tuple(recorder.impacts), contacts=tuple(recorder.contacts), status=status,
        robot_name=robot.name, joint_names=robot.joint_names,
    )  # fmt: skip
