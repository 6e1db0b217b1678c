"""Tables of the replayed line: tables 6 and 7 of Mata 2002, tables 3 and 4 of Provenzano 2002, and why errors grow."""

from __future__ import annotations

from functools import cache

import numpy as np

from appell.control import ComputedTorque
from appell.kinematics.inverse import BRANCHES
from appell.simulation.integrators import Integration
from appell.simulation.simulate import simulate
from appell.table import Table
from appell_lab.bench.timing import Contender, race
from appell_lab.reproduce.mata2002_growth import growth
from appell_lab.reproduce.mata2002_methods import METHODS, ForwardDynamics
from appell_lab.reproduce.mata2002_replay import BRANCH, INTERVAL, TOLERANCE, Outcome, replay, run

ERRORS = (
    (6.91878269e-4, 1.28209533e-3, 2.84439095e-3),
    (1.73972101e-2, 1.66087380e-3, 9.22318761e-2),
    (8.54693990e-4, 1.66087459e-3, 3.13261587e-3),
    (1.73972067e-2, 4.05637323e-2, 9.22318581e-2),
    (1.78259578e-2, 4.17630699e-2, 9.54221869e-3),
    (6.91878269e-4, 1.21908065e-3, 2.43724278e-3),
)
"""Table 6 as printed: mean errors of q [rad], qd [rad/s] and qdd [rad/s²] of joints 1 to 6."""
EFFORT = {"CRBA": (0.65, 1122), "ABA": (0.71, 1089), "GA": (0.59, 1092)}
"""Table 7 as printed: seconds on a Pentium II of 400 MHz, and evaluations of the function."""
SPEED = 0.1
"""Of the line, as printed. [m/s]"""
BATCH = 256
GROWTH = "Why replayed torques lead away: growth of small differences along the line"


@cache
def outcome(branch: str = BRANCH, method: str = "GA") -> Outcome:
    """The replay with torques known every 0.1 s."""
    return run(replay(branch), method)


@cache
def exact_outcome() -> Outcome:
    """The replay with torques known at all times."""
    return run(replay(), "GA", replay().exact)


def errors_table(title: str) -> Table:
    """Mean errors of the replay, printed and computed, and their ratios."""
    ours, small = outcome().errors.T, exact_outcome().errors.T
    rows = []
    for joint, (paper, mine, exact) in enumerate(zip(ERRORS, ours, small, strict=True), start=1):
        ratios = (paper[1] / paper[0], paper[2] / paper[0], *(exact[1:] / exact[0]).tolist())
        rows.append((joint, *paper, *mine.tolist(), *ratios))
    line = replay().line
    length = float(np.linalg.norm(np.diff(line.path(np.array([0.0, line.duration])).pose[:, :3, 3], axis=0)))
    notes = (
        "Not given in print, chosen here: the robot (the PUMA of Valera 2003), the tool point (the wrist), the branch of the "
        f"inverse kinematics ({BRANCH}), and how torques are supplied between the instants: by straight lines.",
        f"The paper prints {SPEED:g} m/s and {line.duration:g} s; its line is {length:.5f} m long, which takes "
        f"{length / SPEED:.3f} s at {SPEED:g} m/s, or {length / line.duration:.4f} m/s for {line.duration:g} s. The duration "
        "is kept here.",
        "What is large and what is small depends on these choices. With torques exact at all times the largest mean error "
        f"is {exact_outcome().errors[0].max():.2g} rad: errors of this experiment are those of its torques, amplified.",
        "Ratios: where one motion that grows like exp(λ t) governs, qd/q and qdd/q are λ and λ² for all joints; here they are "
        f"those of exact torques, whose errors stay small. Two printed entries do not fit: qd of joint 2, {ERRORS[1][1]:.3g}, "
        f"whose digits are those of joint 3 (probably {ERRORS[3][1]:.3g}, as joint 4), and qdd of joint 5, {ERRORS[4][2]:.3g} "
        f"(probably {10 * ERRORS[4][2]:.3g}: the exponent).",
        f"GA, CRBA and ABA stay within {apart():.1g} rad of each other here: practically the same, as the paper says.",
    )
    columns = (
        "joint", "q printed [rad]", "qd [rad/s]", "qdd [rad/s²]", "q here", "qd", "qdd",
        "qd/q printed", "qdd/q", "qd/q here", "qdd/q",
    )  # fmt: skip
    return Table(title, columns, tuple(rows), notes)


def effort_table(title: str) -> Table:
    """Evaluations and times of the three methods, printed and measured."""
    costs = evaluation_times()
    rows = []
    for method, (seconds, evaluations) in EFFORT.items():
        mine = outcome(method=method)
        rows.append((
            method, seconds, seconds / EFFORT["GA"][0], evaluations, 1e6 * seconds / evaluations,
            1e3 * mine.seconds, mine.evaluations, 1e-3 * costs[method], costs[method] / costs["GA"],
        ))  # fmt: skip
    order = " < ".join(sorted(costs, key=lambda method: costs[method]))
    ratio = EFFORT["GA"][0] / EFFORT["GA"][1] * 1e9 / costs["GA"]
    runs = {method: outcome(method=method) for method in METHODS}
    shares = [1e-9 * costs[method] * each.evaluations / each.seconds for method, each in runs.items()]
    printed_order = " < ".join(sorted(EFFORT, key=lambda method: EFFORT[method][0]))
    notes = (
        f"One evaluation: forward dynamics alone, native code, a mean over batches of {BATCH} states of the motion. It takes GA "
        f"about {ratio:.2g} times less than the paper's time for an evaluation with its share of the integration.",
        f"Order of the times of one evaluation here: {order}; printed: {printed_order}.",
        f"Of the time of a whole run the methods take {100 * min(shares):.2g} to {100 * max(shares):.2g} %; the rest is the "
        "integrator in Python.",
        f"{_evaluations_note()} How many there are depends on the error measure and the first step of the integrator, which are "
        f"not given; here every interval of {INTERVAL:g} s is begun anew.",
    )
    columns = (
        "method", "printed [s]", "to GA", "evaluations", "each [us]",
        "here [ms]", "evaluations", "each [us]", "to GA",
    )  # fmt: skip
    return Table(title, columns, tuple(rows), notes)


def apart() -> float:
    """Largest difference of a coordinate between the replays of the three methods. [rad]"""
    return max(float(np.abs(outcome(method=method).q - outcome().q).max()) for method in METHODS)


def _evaluations_note() -> str:
    """Whether the numbers of evaluations differ between the methods, and by how much the motions do."""
    counts = {outcome(method=method).evaluations for method in METHODS}
    here = "are equal" if len(counts) == 1 else f"range from {min(counts)} to {max(counts)}"
    printed = [evaluations for _, evaluations in EFFORT.values()]
    return (
        f"The printed numbers of evaluations range from {min(printed)} to {max(printed)}. Here they {here}: the motions of the "
        f"methods differ by {apart():.1g} rad, at a tolerance of {TOLERANCE:g}."
    )


@cache
def evaluation_times() -> dict[str, float]:
    """Nanoseconds of one evaluation of each method, timed in turns."""
    case = replay()
    q, qd, _ = case.line(np.linspace(0.0, case.line.duration, BATCH))
    tau = case.robot.inverse_dynamics(q, qd, np.zeros_like(q))
    functions = {method: ForwardDynamics(case.robot, method) for method in METHODS}
    contenders = [Contender(name, lambda f=f: f(q, qd, tau), BATCH) for name, f in functions.items()]
    times = race(contenders, rounds=7, sample=0.01)
    return {name: times.time(name).median for name in METHODS}


def controlled_error() -> float:
    """Largest error of a joint where a controller follows the line. [rad]"""
    case = replay()
    controller = ComputedTorque(case.robot, case.line, kp=400.0, kd=40.0, period=1e-3)
    q, qd, _ = case.reference
    motion = simulate(
        case.robot, q[0], qd[0], case.line.duration, controller=controller, method=Integration("rk4", dt=1e-3), t_eval=INTERVAL
    )  # fmt: skip
    return float(np.abs(motion.q - case.line(motion.t).q).max())


def growth_table() -> Table:
    """Growth rates by linearisation and in the simulation, for every branch."""
    rows = []
    for branch in BRANCHES:
        if branch.endswith("/flip"):
            continue  # the flipped wrist has the same mass distribution: all rates are equal
        linear, simulated = growth(replay(branch)), outcome(branch)
        low, high = linear.eigenvalues.min(), linear.eigenvalues.max()
        rows.append((
            branch.removesuffix("/no_flip"), float(low), float(high), linear.rate, float(linear.amplification[-1]),
            simulated.rate, float(simulated.errors[0].max()),
        ))  # fmt: skip
    rates = [*(row[3] for row in rows), *(row[5] for row in rows), exact_outcome().rate]
    printed = [qd / q for k, (q, qd, _) in enumerate(ERRORS) if k != 1]
    notes = (
        f"Along this line small differences grow by {min(rates):.2f} to {max(rates):.2f} 1/s, linearised or simulated, "
        "whatever the integration does: the arm is held up by torques alone, as an upside-down pendulum. In "
        f"{replay().line.duration:g} s a difference "
        f"grows by a factor of about {np.median([row[4] for row in rows]):.1g}, and no tolerance of an integrator is small "
        f"enough. The printed errors, qd/q = {min(printed):.1f} to {max(printed):.1f} 1/s, show the same growth.",
        "A controller with feedback takes it out: under tracking control every 1 ms (`appell.control.ComputedTorque`) no joint "
        f"leaves the line by more than {controlled_error():.1g} rad.",
    )
    columns = (
        "branch", "eigenvalue from [1/s]", "to", "rate, linearised [1/s]", "amplification in 5 s",
        "rate, simulated [1/s]", "mean error [rad]",
    )  # fmt: skip
    return Table(GROWTH, columns, tuple(rows), notes)
