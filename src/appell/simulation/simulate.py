"""`appell.simulate`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from appell.checks import require_integer, require_positive
from appell.errors import ArgumentError
from appell.progress import Progress
from appell.robot.simulation_model import SimulationModel, simulation_model_of
from appell.simulation.arguments import effort_of, options_of, sample_times, start_of, surfaces_of
from appell.simulation.contact.contacts import Contacts
from appell.simulation.contact.points import Points, chosen_points
from appell.simulation.contact.surfaces import Surface
from appell.simulation.contact.surfaces.surface import check_restitution
from appell.simulation.contact.walls import Walls
from appell.simulation.drive import Controller, Torque, drive_of
from appell.simulation.events import EventFunction, Watch
from appell.simulation.loop import Loop
from appell.simulation.methods import method_named
from appell.simulation.phase import Environment, Free
from appell.simulation.plant import Plant
from appell.simulation.recorder import Recorder
from appell.simulation.trajectory import Trajectory, Work

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from appell.robot.robot import Robot


def simulate(
    robot: Robot,
    q0: ArrayLike,
    qd0: ArrayLike,
    duration: float,
    *,
    tau: ArrayLike | Torque | None = None,
    control: Controller | None = None,
    limits: ArrayLike | str | None = None,
    walls: Surface | Sequence[Surface] | None = (),
    restitution: float | None = None,
    points: Sequence[str] | None = None,
    simultaneous: float | None = None,
    max_impacts: int = 100_000,
    events: EventFunction | Sequence[EventFunction] | None = (),
    method: str = "DOP853",
    rtol: float = 1e-9,
    atol: float | None = None,
    max_step: float = math.inf,
    dt: float | None = None,
    sample: float | ArrayLike | None = None,
    progress: bool | None = None,
) -> Trajectory:
    """The motion of a robot from a state, with its drives and with the impacts of its points on walls.

    Between events the equations of motion are integrated; `docs/howto/simulate.md` shows how to use it, and
    `docs/theory/shafei2018.md` says what happens at walls. No point is ever behind a wall by more than 1e-9 m. Equal
    arguments give equal bits.

    Args:
        robot: a `Robot`, also a compiled one, or anything with a `simulation_model()` (`appell.robot.simulation_model`).
        q0, qd0: coordinates (nq,) and speeds (nv,) at t = 0. Where points touch a wall already, their impact or contact
            comes first; a point that is behind a wall is an error.
        duration: [s]
        tau: forces of the drives (nu,), of a tree one for each speed: constant, or a function of (t, q, qd) that returns
            them; none by default. Damping and friction of the joints (`Robot.passive_forces`) are added; joints with Coulomb
            friction stick and slide. [N m, N]
        control: a controller instead: an object with `period` [s], `start(t, q, qd)` and `step(t, q, qd, memory)`, as
            `appell.control` makes them. With a period it is asked exactly at its multiples, and its forces are held in
            between; with the period None it acts continuously.
        limits: greatest forces of the drives, a number or (nu,), or `"robot"` for the effort limits of the joints; by
            default those of the controller, if it has `limits`. Forces are cut off there, and `Trajectory.saturated` says
            when. [N m, N]
        walls: surfaces such as `appell.Circle(radius=2.5)`, or one of them.
        restitution: Newton's coefficient, from 0 to 1, of the walls that have none of their own; 1 by default.
        points: names of the frames that can touch walls; joint origins and tips by default.
        simultaneous: gap up to which approaching points are taken to touch when another point does, unless they need
            longer than this gap takes at 0.1 m/s. The default follows the accuracy of the integration: 100 rtol times 1 m,
            at least 1e-9. [m]
        max_impacts: after so many the run stops with the status `"too many impacts"`.
        events: functions of (t, q, qd), or one of them, whose zeros become `Trajectory.events`. With an attribute
            `terminal = True` the run stops at the zero; `direction = 1` or `-1` looks at rising or falling ones alone.
        method: adaptive, SciPy's: `"DOP853"`, `"RK45"`, `"RK23"`, `"Radau"`, `"BDF"` or `"LSODA"`; of fixed step:
            `"semi_implicit_euler"`, `"rk4"` or `"midpoint"` (symplectic, second order).
        rtol, atol: relative and absolute tolerance of the adaptive ones; atol = rtol by default, at least 1e-20.
        max_step: their longest step. [s]
        dt: step of the fixed ones, 1e-3 by default. [s]
        sample: period [s], or increasing times, of the samples; without it every step of the integrator is one, and both
            sides of every impact. The last state of a run that ends early is one in any case.
        progress: whether to show how far a long run is; by default where stderr is a terminal.

    Raises:
        SimulationError: a point starts behind a wall, or the motion diverges: the error has `time`, `state` and
            `quantity`, the first bad number. A motion diverges where a number is no longer finite, or where speeds above
            1e4 rad/s or m/s grow so that more than 1e6 steps would be left.

    Example:
        >>> import appell
        >>> tree = appell.load("shafei_tree")
        >>> motion = appell.simulate(tree, *tree.initial_state, duration=0.6, walls=[appell.Circle(radius=2.5)])
        >>> [(round(impact.time, 6), impact.points) for impact in motion.impacts]
        [(0.385192, ('O1', 'O5')), (0.569731, ('O2', 'O4'))]
    """
    model = simulation_model_of(robot)
    q, qd = start_of(model, q0, qd0)
    end, how, surfaces = require_positive("duration", duration), method_named(method), surfaces_of(walls)
    options, most = options_of(how, rtol, atol, max_step, dt), require_integer("max_impacts", max_impacts)
    default = 1.0 if restitution is None else check_restitution(restitution, "restitution")
    works = tau is not None or control is not None or any(wall.friction for wall in surfaces)
    effort = effort_of(model, getattr(control, "limits", None) if limits is None else limits)
    plant = Plant(model, drive_of(len(model.actuator_names), tau, control, q, qd), effort, works)
    around: Environment = Free(plant)
    if surfaces:
        pairs = _contacts(model, q, surfaces, default, points)
        window = 100.0 * options.rtol if simultaneous is None else require_positive("simultaneous", simultaneous)
        around = Walls(plant, pairs, window)
    recorder, watch = Recorder(plant, sample_times(sample, end)), Watch(plant, events)
    line = Progress(model.name, end, progress)
    try:
        with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is found and named
            status = Loop(plant, around, how, options, recorder, watch, line).run(q, qd, end, most)
    finally:
        line.finish()
    return _trajectory(plant, recorder, watch, status)


def _contacts(
    model: SimulationModel,
    q: np.ndarray,
    walls: tuple[Surface, ...],
    restitution: float,
    points: Sequence[str] | None,
) -> Contacts:
    robot = model.contact_tree
    if robot is None:
        raise ArgumentError(f"{model.name!r} has closed loops: only trees can touch walls.")
    names = chosen_points(robot, points)
    if not names:
        raise ArgumentError(f"robot {robot.name!r} has no moving points to touch the walls. Name some as `points`.")
    e = tuple(restitution if wall.restitution is None else wall.restitution for wall in walls)
    contacts = Contacts(Points(robot, names), walls, e)
    contacts.verify(q)
    return contacts


def _trajectory(plant: Plant, recorder: Recorder, watch: Watch, status: str) -> Trajectory:
    model = plant.model
    t, q, qd, qdd, tau, saturated, work = (np.array(column) for column in zip(*recorder.samples, strict=True))
    return Trajectory(
        t=t, q=q, qd=qd, qdd=qdd, tau=tau, energy=model.energy(q, qd), work=Work(*work.T), saturated=saturated,
        impacts=tuple(recorder.impacts), contacts=tuple(recorder.contacts), events=tuple(watch.found),
        excesses=recorder.excess.finish(float(t[-1])), status=status,
        robot_name=model.name, joint_names=model.joint_names,
        q_names=model.q_names, qd_names=model.qd_names, drive_names=model.actuator_names,
    )  # fmt: skip
