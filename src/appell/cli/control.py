"""`appell control run | show | plant | export`: the open controller with a simulated PUMA, that PUMA, and controllers as C."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import appell
from appell.cli.common import (
    FAILED,
    LAWS,
    Command,
    add_dtype,
    add_effort_limit,
    add_renamed_options,
    load_robot,
    parse_effort_limit,
    print_result,
    write_files,
)
from appell.errors import ArgumentError

if TYPE_CHECKING:
    from appell.control.controller import Controller
    from appell.control.hardware.record import Run
    from appell.control.hardware.record_file import Cycle
    from appell.robot.robot import Robot

GAINS = {"kp": 400.0, "kd": 40.0, "ki": 2000.0}
"""Default gains: 20 rad/s, critically damped. [1/s², 1/s, 1/s³]"""

REST = (0.0, -1.2, 2.9, 2.3, 1.0, -0.9)
"""Joint angles of the simulated PUMA at power-on. [rad]"""


def add_run(parser: argparse.ArgumentParser) -> None:
    add_law(parser)
    add = parser.add_argument
    add("--duration", type=float, metavar="S", help="part of the line to follow [s] (default: all of it)")
    add("--virtual-time", action="store_true", help="virtual instead of real time, as fast as possible")
    add("--port", type=int, help="port of a running `appell control plant` (default: start one)")
    add(
        "--mass-scale",
        type=float,
        default=1.0,
        metavar="RATIO",
        help="ratio of model masses to true masses (default: 1)",
    )
    add(
        "--max-lateness",
        type=float,
        default=20.0,
        metavar="MS",
        help="lateness that stops the run [ms] (default: %(default)s)",
    )
    add(
        "--priority", type=int, metavar="N", help="real-time priority, 1 to 99, if the system allows it (default: none)"
    )
    add_fault(parser)
    add("--record", metavar="FILE", help="append every period to a new file as it comes")
    add("--plot", metavar="FILE", help="write a figure of error, outputs and timing")
    former = {"--virtual": "--virtual-time", "--masses": "--mass-scale", "--late": "--max-lateness"}
    add_renamed_options(parser, former)


def add_plant(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--robot", default="puma560", help="file or built-in name (default: %(default)s)")
    add(
        "--virtual-time",
        type=float,
        metavar="HZ",
        help="virtual time: one period per reading, at this rate [Hz] (default: real time)",
    )
    add(
        "--watchdog",
        type=float,
        default=0.5,
        metavar="S",
        help="time without outputs that stops it [s] (default: %(default)s)",
    )
    add(
        "--start",
        default=",".join(map(str, REST)),
        help="joint angles [rad], separated by commas (default: %(default)s)",
    )
    add_fault(parser)
    add("--ground-truth", metavar="FILE", help="write the true motion (.npz)")
    add_renamed_options(parser, {"--virtual": "--virtual-time", "--truth": "--ground-truth"})


def add_export(parser: argparse.ArgumentParser) -> None:
    add_law(parser)
    units = "Gains of pd and pd_gravity are in N m/rad and N m s/rad, of the other laws in 1/s^2, 1/s and 1/s^3."
    parser.epilog = units
    add_effort_limit(parser)
    compensate = "add the damping of the joints times the measured velocity to the forces"
    parser.add_argument("--compensate-damping", action="store_true", help=compensate)
    add_dtype(parser)
    parser.add_argument("--out", default=".", metavar="DIR", help="folder of the files (default: the current one)")
    parser.add_argument("--prefix", help="prefix of all names and files (default: names of the robot and the law)")
    parser.add_argument("--force", action="store_true", help="replace files that were not generated")
    add_renamed_options(parser, {"--limit": "--effort-limit"})


def add_show(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", help="record of `appell control run --record`")
    parser.add_argument("--plot", metavar="FILE", help="write a figure of error, outputs and timing")


def add_law(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--law", choices=LAWS, default="computed_torque", help="control law (default: %(default)s)")
    parser.add_argument("--rate", type=float, default=1000.0, metavar="HZ", help="sampling rate [Hz] (default: 1000)")
    for name, default in GAINS.items():
        parser.add_argument(f"--{name}", type=float, help=f"gain of the law (default: {default:g})")


def add_fault(parser: argparse.ArgumentParser) -> None:
    faults = "fault to inject: overheat:2@1.5, encoder:3@4, drive:2@3, die@2, hang@2"
    parser.add_argument("--fault", action="append", default=[], help=faults)


def run_controller(arguments: argparse.Namespace) -> int | None:
    from appell.control.hardware.clock import set_realtime_priority

    robot = appell.load("puma560")
    reference = appell.trajectories.valera2003_line(robot, profile="trapezoidal", acceleration=0.2)
    model = appell.control.scaled_masses(robot, arguments.mass_scale)
    compensated = arguments.law not in ("pd", "pd_gravity")
    inertia = 1.0 if compensated else model.mass_matrix(reference(0.0).q).diagonal()
    controller = make_controller(arguments, model, reference, inertia)
    if arguments.priority and not set_realtime_priority(arguments.priority):
        print("appell: warning: the system did not grant real-time priority.", file=sys.stderr)
    virtual = arguments.virtual_time
    rate, port = arguments.rate if virtual else None, arguments.port
    result = appell.control.run(
        controller,
        appell.control.SimulatedCard(rate=rate, faults=arguments.fault, port=port),
        duration=arguments.duration,
        clock=appell.control.StepClock() if virtual else appell.control.RealClock(),
        limits=appell.control.SafetyLimits(lateness=1e-3 * arguments.max_lateness),
        callback=None if arguments.json or not sys.stdout.isatty() else Display(arguments.rate),
        options=appell.control.RunOptions(record=arguments.record),
    )
    print_run(arguments, result)
    return None if result.ok else FAILED


def show_record(arguments: argparse.Namespace) -> None:
    print_run(arguments, appell.control.Run.load(arguments.file))


def print_run(arguments: argparse.Namespace, result: Run) -> None:
    """Tables of a run, and its figure where one was named."""
    written = [f"written: {path}" for path in write_files(arguments, plot=result.plot)]
    texts = [str(result.table()), str(result.timing_table()), *written]
    print_result(arguments, "\n\n".join(texts), {**result.as_dict(), "picture": arguments.plot})


def run_plant(arguments: argparse.Namespace) -> None:
    from appell.control.hardware.arm import SimulatedArm, parse_fault
    from appell.control.hardware.plant import serve_arm

    axes = appell.control.PUMA
    try:
        start = [float(x) for x in arguments.start.split(",")]
    except ValueError:
        raise ArgumentError(f"--start is {arguments.start!r}, expected angles separated by commas.") from None
    if len(start) != len(axes):
        raise ArgumentError(f"--start has {len(start)} angles, expected {len(axes)}.")
    faults = [parse_fault(text, len(axes)) for text in arguments.fault]
    arm = SimulatedArm(appell.load(arguments.robot), axes, start, faults)
    period = 1.0 / arguments.virtual_time if arguments.virtual_time else None
    serve_arm(arm, period, arguments.watchdog, Path(arguments.ground_truth) if arguments.ground_truth else None)


def run_export(arguments: argparse.Namespace) -> None:
    from appell.algorithms.actuated_joints import ActuatedJoints

    robot = load_robot(arguments)
    joints = ActuatedJoints.of(robot.nq, robot.nv, robot.system.free)
    controller = make_controller(arguments, robot, [0.0] * len(joints.v))
    files = appell.control.export(controller, arguments.out, arguments.dtype, arguments.prefix, arguments.force)
    print_result(arguments, "\n".join(f"written: {file}" for file in files), {"files": [str(file) for file in files]})


def make_controller(arguments: argparse.Namespace, model: Robot, reference: Any, inertia: Any = 1.0) -> Controller:
    """The controller of the law; gains are multiplied by an inertia where the law does not compensate it."""
    from appell.control.controller import CONTROLLERS

    if not arguments.rate > 0.0:
        raise ArgumentError(f"--rate is {arguments.rate:g}, expected a positive number of periods per second.")
    controller = CONTROLLERS[arguments.law]
    given = {name: getattr(arguments, name) for name in controller.law.gains}
    gains = {name: inertia * (GAINS[name] if value is None else value) for name, value in given.items()}
    limit = parse_effort_limit(getattr(arguments, "effort_limit", None))
    options = {"effort_limit": limit, "compensate_damping": getattr(arguments, "compensate_damping", False)}
    return controller(model, reference, period=1.0 / arguments.rate, **options, **gains)


class Display:
    """A table on the terminal, updated ten times per second."""

    UPDATE_PERIOD = 0.1

    def __init__(self, rate: float) -> None:
        self.step, self.cycles, self.drawn = max(1, round(rate * self.UPDATE_PERIOD)), 0, 0

    def __call__(self, cycle: Cycle) -> None:
        self.cycles += 1
        if self.cycles % self.step:
            return
        from appell.control.hardware.card import output_volts

        lines = [
            f"{cycle.stage:9s} t {cycle.time:7.2f} s   law {1e6 * cycle.compute_time:6.2f} us   "
            f"late {1e6 * cycle.lateness:7.1f} us"
        ]
        lines.append("joint       q [rad]   error [mrad]   torque [N m]   output [V]")
        columns = (cycle.q, 1e3 * (cycle.q - cycle.reference), cycle.tau, output_volts(cycle.codes))
        for i, (q, error, tau, volts) in enumerate(zip(*columns, strict=True)):
            lines.append(f"{i + 1:5d}  {q:12.5f}  {error:13.4f}  {tau:13.3f}  {volts:11.3f}")
        back = f"\x1b[{self.drawn}A" if self.drawn else ""
        sys.stdout.write(back + "".join(f"\x1b[K{line}\n" for line in lines))
        sys.stdout.flush()
        self.drawn = len(lines)


ACTIONS = (
    Command("run", "run the open controller on Valera's line", add_run, run_controller),
    Command(
        "plant",
        "start the simulated robot as a process, for `run` or your own controller",
        add_plant,
        run_plant,
        json=False,
    ),
    Command("export", "write a controller as a C step function", add_export, run_export, robot=True),
    Command("show", "tables and figure of a recorded run, also of one that was killed", add_show, show_record),
)
COMMAND = Command("control", "run controllers against a simulated robot, or export them as C", actions=ACTIONS)
