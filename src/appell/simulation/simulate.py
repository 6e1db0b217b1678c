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
from appell.simulation.drive import Controller, Torque, drive_of, vector
from appell.simulation.events import EventFunction, Watch
from appell.simulation.loop import DRIFT, Loop
from appell.simulation.mechanism import Mechanism, TreeMechanism, mechanism_of
from appell.simulation.methods import DT, METHODS, Method, Options, method_named
from appell.simulation.phase import Environment, Free
from appell.simulation.plant import Plant
from appell.simulation.progress import Progress
from appell.simulation.recorder import Recorder
from appell.simulation.trajectory import Trajectory, Work

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from appell.model.robot import Robot

CLOSED = 1e-6
"""How far an initial state may be from the mechanism's constraints; it is brought onto them."""


def simulate(
    robot: Robot,
    q0: ArrayLike,
    qd0: ArrayLike,
    duration: float,
    *,
    tau: ArrayLike | Torque | None = None,
    control: Controller | None = None,
    limits: ArrayLike | str | None = None,
    walls: Sequence[Surface] = (),
    restitution: float | None = None,
    points: Sequence[str] | None = None,
    simultaneous: float | None = None,
    max_impacts: int = 100_000,
    events: Sequence[EventFunction] = (),
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
        robot: a `Robot`, or anything with a `mechanism()` (`appell.simulation.mechanism`).
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
        walls: surfaces such as `appell.Circle(radius=2.5)`.
        restitution: Newton's coefficient, from 0 to 1, of the walls that have none of their own; 1 by default.
        points: names of the frames that can touch walls; joint origins and tips by default.
        simultaneous: gap up to which approaching points are taken to touch when another point does. The default follows
            the accuracy of the integration: 100 rtol times 1 m, at least 1e-9. [m]
        max_impacts: after so many the run stops with the status `"too many impacts"`.
        events: functions of (t, q, qd) whose zeros become `Trajectory.events`. With an attribute `terminal = True` the run
            stops at the zero; `direction = 1` or `-1` looks at rising or falling ones alone.
        method: adaptive, SciPy's: `"DOP853"`, `"RK45"`, `"RK23"`, `"Radau"`, `"BDF"` or `"LSODA"`; of fixed step:
            `"semi_implicit_euler"`, `"rk4"` or `"midpoint"` (symplectic, second order).
        rtol, atol: relative and absolute tolerance of the adaptive ones; atol = rtol by default.
        max_step: their longest step. [s]
        dt: step of the fixed ones, 1e-3 by default. [s]
        sample: period [s], or increasing times, of the samples; without it every step of the integrator is one, and both
            sides of every impact.
        progress: whether to show how far a long run is; by default where stderr is a terminal.

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
    mechanism = mechanism_of(robot)
    q, qd = _state("q0", q0, mechanism.nq), _state("qd0", qd0, mechanism.nv)
    q, qd = _closed(mechanism, q, qd)
    end, how = _positive("duration", duration), method_named(method)
    options = _options(how, rtol, atol, max_step, dt)
    works = tau is not None or control is not None or any(wall.friction for wall in walls if isinstance(wall, Surface))
    effort = _effort(getattr(control, "limits", None) if limits is None else limits, mechanism)
    plant = Plant(mechanism, drive_of(len(mechanism.drive_names), tau, control, q, qd), effort, works)
    around: Environment = Free(plant)
    if len(walls):
        pairs = _contacts(mechanism, q, walls, restitution, points)
        window = 100.0 * options.rtol if simultaneous is None else _positive("simultaneous", simultaneous)
        around = Walls(plant, pairs, window)
    recorder, watch = Recorder(plant, _sample_times(sample, end)), Watch(plant, events)
    line = Progress(mechanism.name, end, progress)
    try:
        with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is found and named
            status = Loop(plant, around, how, options, recorder, watch, line).run(q, qd, end, max_impacts)
    finally:
        line.finish()
    return _trajectory(plant, recorder, watch, status)


def _options(method: Method, rtol: float, atol: float | None, max_step: float, dt: float | None) -> Options:
    if dt is not None and not method.fixed:
        fixed = ", ".join(name for name, each in METHODS.items() if each.fixed)
        raise ArgumentError(
            f"dt is given, but {method.name} chooses its steps itself. Give max_step or sample, or one of the methods {fixed}."
        )
    rtol = _positive("rtol", rtol)
    return Options(
        rtol, rtol if atol is None else _positive("atol", atol), _positive("max_step", max_step),
        DT if dt is None else _positive("dt", dt),
    )  # fmt: skip


def _effort(limits: ArrayLike | str | None, mechanism: Mechanism) -> np.ndarray | None:
    """Greatest forces of the drives, or None where no drive has a limit."""
    if limits is None:
        return None
    if isinstance(limits, str):
        if limits != "robot":
            raise ArgumentError(
                f"limits is {limits!r}, expected numbers, or 'robot' for the joints' own effort limits."
            )
        effort = mechanism.bounds.effort
    else:
        drives = len(mechanism.drive_names)
        every = np.full(drives, limits) if np.ndim(limits) == 0 else limits
        effort = vector(every, drives, "limits")
    if not (effort >= 0.0).all():
        raise ArgumentError(f"limits are {effort.tolist()}, expected numbers from 0 up.")
    return effort if np.isfinite(effort).any() else None


def _closed(mechanism: Mechanism, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The state on the mechanism's constraints; one that is far from them is refused."""
    drift = mechanism.drift(q, qd)
    if drift > CLOSED:
        raise ArgumentError(
            f"q0, qd0 miss the constraints of {mechanism.name!r} (unit quaternions, closed loops) by {drift:.3g}, "
            f"expected at most {CLOSED:g}."
        )
    return mechanism.tidied(q, qd) if drift > DRIFT else (q, qd)


def _contacts(
    mechanism: Mechanism, q: np.ndarray, walls, restitution: float | None, points: Sequence[str] | None
) -> Contacts:
    if not isinstance(mechanism, TreeMechanism):
        raise ArgumentError(f"{mechanism.name!r} has closed loops: only trees can touch walls.")
    robot = mechanism.robot
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


def _trajectory(plant: Plant, recorder: Recorder, watch: Watch, status: str) -> Trajectory:
    mechanism = plant.mechanism
    t, q, qd, qdd, tau, saturated, work = (np.array(column) for column in zip(*recorder.samples, strict=True))
    return Trajectory(
        t=t, q=q, qd=qd, qdd=qdd, tau=tau, energy=mechanism.energy(q, qd), work=Work(*work.T), saturated=saturated,
        impacts=tuple(recorder.impacts), contacts=tuple(recorder.contacts), events=tuple(watch.found),
        excesses=recorder.excess.finish(float(t[-1])), status=status,
        robot_name=mechanism.name, joint_names=mechanism.joint_names,
        q_names=mechanism.q_names, qd_names=mechanism.qd_names, drive_names=mechanism.drive_names,
    )  # fmt: skip
