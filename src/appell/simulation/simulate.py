"""`appell.simulate`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from appell.checks import require_positive, require_real_array, require_vector
from appell.deprecation import grouped_arguments, renamed_arguments
from appell.errors import ArgumentError, SimulationError, SimulationWarning, warn_at_caller
from appell.names import as_vector
from appell.progress import Progress
from appell.robot.robot import Robot
from appell.robot.simulation_model import SimulationModel, simulation_model_of
from appell.simulation.actuation import ControllerProtocol, TauFunction, actuation_of
from appell.simulation.contact.compiled import contact_pairs
from appell.simulation.contact.environment import ContactEnvironment
from appell.simulation.contact.pairs import ContactOptions, contact_candidates, names_in_order
from appell.simulation.contact.stepper import Stepper
from appell.simulation.contact.surfaces import Surface
from appell.simulation.contact.surfaces.surface import require_surfaces
from appell.simulation.event_detector import EventDetector, EventFunction
from appell.simulation.integrators import AUTO, DEFAULT_DT, MOREAU, Integration, method_named
from appell.simulation.loop import ACCUMULATING, CONSTRAINT_TOL, NO_PROGRESS, SHORT_STEPS, SimulationLoop
from appell.simulation.monitors import DIVERGENCE_VELOCITY, PaceMonitor
from appell.simulation.phase import Environment
from appell.simulation.plant import Plant
from appell.simulation.records import Recorder, Sample, Work
from appell.simulation.stability import instability_reason
from appell.simulation.time_stepping import TimeSteppingRun, joined
from appell.simulation.trajectory import Trajectory
from appell.simulation.validity import check_run

INITIAL_CONSTRAINT_TOL = 1e-6
"""Largest distance of an initial state to the constraints; it is projected to them."""
REPORT, STOP = "report", "stop"
"""What happens at joint limits."""
MAX_STEPS, MAX_SAMPLES = 10**9, 10**8
"""Largest numbers of steps and controller periods, and of samples, within a simulation: they take a day, and the memory."""


@renamed_arguments(walls="surfaces", control="controller", sample="t_eval")
@grouped_arguments(
    "contact", ContactOptions,
    points="points", restitution="restitution", simultaneous="simultaneity_gap", max_impacts="max_impacts",
)  # fmt: skip
@grouped_arguments(
    "method", Integration, rtol="rtol", atol="atol", max_step="max_step", dt="dt", progress="progress"
)  # fmt: skip
def simulate(
    robot: Robot,
    q0: ArrayLike,
    qd0: ArrayLike,
    duration: float,
    *,
    tau: ArrayLike | TauFunction | None = None,
    controller: ControllerProtocol | None = None,
    effort_limits: ArrayLike | Mapping[str, float] | str | None = None,
    limits: str = "report",
    surfaces: Surface | Sequence[Surface] | None = (),
    contact: ContactOptions | None = None,
    events: EventFunction | Sequence[EventFunction] | None = (),
    method: str | Integration = "DOP853",
    t_eval: float | ArrayLike | None = None,
) -> Trajectory:
    """Simulate a robot from an initial state, with its actuators and with impacts and contact on surfaces.

    The equations of motion are integrated between events; see `docs/howto/simulate.md` for its use and
    `docs/theory/shafei2018.md` for impacts and contact. No point penetrates a surface by more than 1e-9 m. Equal arguments
    give equal bits.

    Args:
        robot: a `Robot`, also a compiled one, or any object with `simulation_model()` (`appell.robot.simulation_model`).
        q0, qd0: configuration (nq,) and generalized velocities (nv,) at t = 0, also by name: `{"elbow": 0.5}`. Impacts and
            contacts of points that touch a surface already are resolved first; a point up to 1e-6 m behind a surface is
            moved to it, one further behind is an error.
        duration: [s]
        tau: forces of the actuators (nu,), for a tree one per generalized velocity: constant, or a function of (t, q, qd);
            zero by default. Damping and friction of the joints (`Robot.passive_forces`) are added; joints with Coulomb
            friction stick and slip. [N m, N]
        controller: a controller instead: an object with `period` [s], `initial_memory(t, q, qd)` and
            `step(t, q, qd, memory)`, such as those of `appell.control`. It is sampled at multiples of its period
            (zero-order hold), or acts continuously if its period is None.
        effort_limits: largest forces of the actuators, a number, (nu,), numbers of some actuators by name, or `"robot"` for
            the effort limits of the joints; by default `controller.effort_limits` if it has them. Forces are clipped to
            them, and `Trajectory.saturated` marks where. [N m, N]
        limits: `"report"` lists joint limits that the motion exceeds in `Trajectory.limit_violations`; `"stop"` makes them
            stops without rebound.
        surfaces: contact surfaces such as `appell.surfaces.Circle(radius=2.5)`, or one of them.
        contact: contact points, restitution and further options of contact.
        events: functions of (t, q, qd), or one of them, whose zeros become `Trajectory.events`. The run stops at a zero of
            a function with the attribute `terminal = True`; `direction = 1` or `-1` selects rising or falling zeros.
        method: name of an integrator, or an `Integration` with tolerances or step, such as
            `appell.Integration("rk4", dt=1e-3)`. `"moreau"` is time stepping for many contacts and long runs: no point is
            deeper than 1e-6 m, and the energy changes by the recorded work.
        t_eval: sample period [s] or increasing sample times; by default every step of the integrator, and both sides of
            every impact. Time stepping ends steps at samples: times that are multiples of its step do not change the
            motion, and those between shorten steps. The last state of a run that ends early is always a sample.

    Raises:
        SimulationError: a point starts behind a surface, or the motion diverges: a number is no longer finite, or
            velocities above 1e4 rad/s or m/s grow so that more than 1e6 steps would be left. The error has `time`, `state`
            and `quantity`, the first bad number.

    Warns:
        SimulationWarning: the run ended early, or its energy balance is off by more than its tolerance explains. The reasons
            and remedies are `Trajectory.problems`.

    Example:
        >>> import appell
        >>> tree = appell.load("shafei_tree")
        >>> motion = appell.simulate(tree, *tree.initial_state, duration=0.6, surfaces=[appell.surfaces.Circle(radius=2.5)])
        >>> [(round(impact.time, 6), impact.points) for impact in motion.impacts]
        [(0.385192, ('O1', 'O5')), (0.569731, ('O2', 'O4'))]
    """
    model = simulation_model_of(robot)
    if any(isinstance(given, Mapping) for given in (q0, qd0, tau)):
        q0, qd0, tau = (robot.vector(*given) for given in (("q0", q0), ("qd0", qd0), ("tau", tau)))
    q, qd = _initial_state(model, q0, qd0)
    end, all_surfaces = require_positive("duration", duration), require_surfaces(surfaces)
    integration = method if isinstance(method, Integration) else Integration(method)
    stepping, automatic = method_named(integration.method).name == MOREAU, integration.method.lower() == AUTO
    if limits not in (REPORT, STOP):
        raise ArgumentError(
            f"limits is {limits!r}, expected {REPORT!r} or {STOP!r}. Largest forces of the actuators are `effort_limits`."
        )
    contact = ContactOptions() if contact is None else contact
    if not isinstance(contact, ContactOptions):
        raise ArgumentError(
            f"contact is a {type(contact).__name__}, expected options such as appell.ContactOptions(restitution=0.5)."
        )
    tracks_work = tau is not None or controller is not None or any(surface.friction for surface in all_surfaces)
    actuation = actuation_of(len(model.actuator_names), tau, controller, q, qd)
    plant = Plant(model, actuation, _effort_limits(model, controller, effort_limits), tracks_work)
    environment = Environment(plant)
    points, e = contact_candidates(model, q, all_surfaces, contact)
    if (all_surfaces or limits == STOP) and not stepping:
        gap = 100.0 * integration.rtol if contact.simultaneity_gap is None else contact.simultaneity_gap
        pairs = contact_pairs(model, points, all_surfaces, e, limits == STOP)
        environment = ContactEnvironment(plant, pairs, gap) if len(pairs) else environment
    fixed = stepping or automatic or method_named(integration.method).fixed
    periods = {
        "dt": (integration.dt or DEFAULT_DT) if fixed else None,
        "max_step": integration.max_step,
        "the controller's period": actuation.period,
    }
    kept = stepping or automatic or (fixed and t_eval is None)  # every step
    for name, step in periods.items():
        _require_long_enough(name, step, end, MAX_SAMPLES if kept else MAX_STEPS)
    times, detector = _sample_times(t_eval, end), EventDetector(plant, events)
    progress = Progress(model.name, end, integration.progress)
    problems: tuple[str, ...] = ()
    start = q, qd
    try:
        with np.errstate(over="ignore", invalid="ignore"):  # non-finite numbers are detected and named
            stepped_from, fallback_steps, implicit, status = None, (), (), NO_PROGRESS
            fields: dict[str, Any] = {}
            last: Sample | None = None
            if not stepping:
                recorder = Recorder(plant, times)
                options = (
                    {"stalled": ACCUMULATING, "hands_over": True, "pace": PaceMonitor(SHORT_STEPS)} if automatic else {}
                )
                loop = SimulationLoop(plant, environment, integration, recorder, detector, progress, **options)
                status = loop.run(q, qd, end, contact.max_impacts)
                fields = recorder.fields()
                fallback_steps, implicit = tuple(start for start, _ in loop.fallback_steps), tuple(loop.implicit)
                last = recorder.last
            if stepping or (automatic and status == NO_PROGRESS):
                stepped_from, q, qd = (0.0, q, qd) if last is None else last[:3]
                stepper = Stepper(model, points, all_surfaces, e, limits == STOP)
                later = times if times is None or last is None else times[times > stepped_from]
                run = TimeSteppingRun(plant, stepper, integration.dt or DEFAULT_DT, detector, progress, later)
                status = run.run(q, qd, end, contact.max_impacts, stepped_from)
                stepped, problems = run.fields(limits == STOP), run.problems()
                fields = stepped if last is None else joined(fields, stepped, last)
    except SimulationError as error:
        reason = instability_reason(plant, integration, *start)
        error.args = (f"{error} {reason}",) if reason else error.args
        raise
    finally:
        progress.finish()
    names = names_in_order(model.contact_tree, points, contact)
    motion = _trajectory(model, {**fields, "surfaces": all_surfaces}, names, detector, status)
    motion = replace(motion, stepped_from=stepped_from, fallback_steps=fallback_steps, implicit_intervals=implicit)
    problems += check_run(model, motion, integration, end, environment.residual)
    if problems or not np.abs(motion.qd).max(initial=0.0) <= DIVERGENCE_VELOCITY:
        reason = instability_reason(plant, integration, *start)
        problems += (reason,) if reason else ()
    if problems:
        warn_at_caller(f"the motion of {model.name!r} is not reliable: {' '.join(problems)}", SimulationWarning)
    return replace(motion, problems=problems)


def _require_long_enough(name: str, step: float | None, end: float, limit: int) -> None:
    """Raise for a step that would not reach the end within a day."""
    if step is not None and end > step * limit:
        raise ArgumentError(
            f"{name} is {step:g} s, expected at least {end / limit:g} s: a simulation of {end:g} s would not end within a day, "
            "or not have the memory for its steps. Choose a shorter duration or longer steps."
        )


def _initial_state(model: SimulationModel, q0: ArrayLike, qd0: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """The initial state, projected to the constraints."""
    q, qd = require_vector("q0", q0, model.nq), require_vector("qd0", qd0, model.nv)
    error = model.constraint_error(q, qd)
    if error > INITIAL_CONSTRAINT_TOL:
        raise ArgumentError(
            f"q0, qd0 miss the constraints of {model.name!r} (unit quaternions, closed loops) by {error:.3g}, "
            f"expected at most {INITIAL_CONSTRAINT_TOL:g}."
        )
    return model.project_to_constraints(q, qd) if error > CONSTRAINT_TOL else (q, qd)


def _effort_limits(model: SimulationModel, controller: Any, limits: Any) -> np.ndarray | None:
    """Largest forces of the actuators, by default those of the controller; None if all are infinite."""
    if limits is None:  # `limits` is the former name of `effort_limits`
        limits = getattr(controller, "effort_limits" if hasattr(controller, "effort_limits") else "limits", None)
    if limits is None:
        return None
    if isinstance(limits, str):
        if limits != "robot":
            raise ArgumentError(
                f"effort_limits is {limits!r}, expected numbers, or 'robot' for the effort limits of the joints."
            )
        effort = model.limits.effort
    else:
        size = len(model.actuator_names)
        limits = as_vector("effort_limits", limits, model.actuator_names, np.full(size, np.inf))
        effort = require_real_array("effort_limits", np.full(size, limits) if np.ndim(limits) == 0 else limits, (size,))
    if not (effort >= 0.0).all():
        raise ArgumentError(f"effort_limits are {effort.tolist()}, expected numbers >= 0.")
    return effort if np.isfinite(effort).any() else None


def _sample_times(t_eval: float | ArrayLike | None, end: float) -> np.ndarray | None:
    """Times of the samples; a period gives 0, period, 2 period, ... and the end if it is a multiple of the period."""
    if t_eval is None:
        return None
    if np.ndim(t_eval) == 0:
        period = require_positive("t_eval", t_eval)
        if period > end * (1.0 + 1e-12):
            raise ArgumentError(f"t_eval is {period:g} s, expected at most the duration of {end:g} s.")
        _require_long_enough("t_eval", period, end, MAX_SAMPLES)
        count = math.floor(end / period * (1.0 + 1e-12))
        return np.minimum(period * np.arange(count + 1), end)
    times = require_real_array("t_eval", t_eval)
    if times.ndim != 1 or not len(times) or not (np.diff(times) > 0.0).all() or not 0.0 <= times[0] <= times[-1] <= end:
        raise ArgumentError(f"t_eval must be a period or increasing times from 0 to the duration of {end:g} s.")
    return times


def _trajectory(
    model: SimulationModel, fields: dict[str, Any], points: Sequence[str], detector: EventDetector, status: str
) -> Trajectory:
    """The trajectory of all fields, with contact forces and intervals in the order of these points."""
    forces, place = fields["contact_forces"], {name: k for k, name in enumerate(points)}
    ordered = {
        "contact_forces": {name: forces[name] for name in points if name in forces},
        "contacts": tuple(sorted(fields["contacts"], key=lambda each: (each.start, place[each.point], each.surface))),
        "work": Work(*fields["work"].T),
    }
    return Trajectory(
        **{**fields, **ordered}, energy=model.energy(fields["q"], fields["qd"]),
        events=tuple(detector.events), status=status,
        robot_name=model.name, joint_names=model.joint_names,
        q_names=model.q_names, qd_names=model.qd_names, actuator_names=model.actuator_names,
    )  # fmt: skip
