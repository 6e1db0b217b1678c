"""Delay and false alarms of `appell.control.FaultDetector`, measured on simulated faults of the PUMA.

The PUMA of Valera 2003 follows the spline of its figure 5 in 2 s under computed torque. The detector has a model with other
masses, velocities with noise, and torques as commanded. Faults: a force on a link at a random point and in a random direction,
and a drive that gives only part of its torque. All runs are integrated together, as lanes of a batch.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

import numpy as np

from appell.algorithms.runge_kutta import rk4_step
from appell.control import FaultAlarm, FaultDetector, MomentumObserver, scaled_masses, thresholds
from appell.kinematics.trajectories import JointReference, joint_via_points, valera2003_line
from appell.loading.catalogue import build
from appell.plotting import COLOURS, new_figure, save_figure, tidy
from appell.robot.compiled import CompiledRobot, compile
from appell.table import Table

PERIOD = 1e-3
DURATION = 2.0
"""Of a run. [s]"""
RUNS = 120
"""Of each kind of fault."""
QUIET_RUNS = 600
"""Without a fault, besides those of the calibration."""
CALIBRATION_RUNS = 120
GAIN = 50.0
"""Of the observer. [1/s]"""
MODEL_ERROR = 0.02
"""Standard deviation of the masses of the model, relative."""
NOISE = 5e-4
"""Standard deviation of the velocities. [rad/s]"""
FORCE, REACH = (30.0, 100.0), 0.1
"""Range of the forces of collisions [N], and distance of their point from the centre of mass of the link [m]."""
LOSS = (0.3, 1.0)
"""Range of the part of its torque that a failing drive loses."""
KP, KD = 400.0, 40.0


@dataclass(frozen=True)
class Faults:
    """One fault per run.

    Attributes:
        joint: of the drive or of the link that is struck, from 0; -1 for none, (N,).
        time: (N,). [s]
        force: of a collision, in the world, zero for drive faults, (N, 3). [N]
        point: where it acts, from the centre of mass of the link, in its frame, (N, 3). [m]
        loss: part of its torque that a drive loses, (N,).
    """

    joint: np.ndarray
    time: np.ndarray
    force: np.ndarray
    point: np.ndarray
    loss: np.ndarray

    @property
    def collision(self) -> np.ndarray:
        return np.asarray(self.force.any(axis=1))


@dataclass(frozen=True)
class Outcome:
    """Alarms of all runs, and the largest torque of each fault relative to the threshold of its joint, (N,)."""

    faults: Faults
    alarms: list[FaultAlarm | None]
    size: np.ndarray


@lru_cache(maxsize=1)
def reference() -> JointReference:
    """The spline of figure 5, in the time of a run."""
    line, times = valera2003_line(build("puma560")), np.linspace(0.0, 1.0, 6)
    return joint_via_points(build("puma560"), line(line.duration * times).q, times=DURATION * times, profile="cubic")


def quiet(count: int) -> Faults:
    """No fault."""
    return Faults(
        np.full(count, -1), np.full(count, np.inf), np.zeros((count, 3)), np.zeros((count, 3)), np.zeros(count)
    )


def drawn(kind: str, rng: np.random.Generator) -> Faults:
    """Random faults of one kind, on all joints in turn."""
    joint, time = np.arange(RUNS) % 6, rng.uniform(0.3, DURATION - 0.4, RUNS)
    if kind == "drive":
        return Faults(joint, time, np.zeros((RUNS, 3)), np.zeros((RUNS, 3)), rng.uniform(*LOSS, RUNS))
    directions = rng.normal(size=(2, RUNS, 3))
    direction, point = directions / np.linalg.norm(directions, axis=-1)[..., None]
    return Faults(joint, time, direction * rng.uniform(*FORCE, RUNS)[:, None], REACH * point, np.zeros(RUNS))


def residuals(faults: Faults, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Residuals (steps, N, 6) of runs with these faults, from a start a little off the reference; largest true values (N, "
    "6)."""
    robot = build("puma560")
    plant, observer = compile(robot, threads=1), MomentumObserver(model(), gain=GAIN, period=PERIOD)
    N, steps = len(faults.joint), round(DURATION / PERIOD)
    times = np.arange(steps) * PERIOD
    q_d, qd_d, qdd_d = reference()(times)
    q = q_d[0] + rng.normal(scale=0.01, size=(N, 6))
    qd = np.zeros((N, 6))
    lanes, active = np.arange(N), faults.joint >= 0
    state, found, tau, size = None, [], np.zeros((N, 6)), np.zeros((N, 6))
    for k in range(steps):
        seen = qd + rng.normal(scale=NOISE, size=qd.shape)
        state = observer.initial_state(q, seen) if state is None else observer.step(state, q, seen, tau)
        found.append(state.residual)
        v = qdd_d[k] - KD * (seen - qd_d[k]) - KP * (q - q_d[k])
        tau = observer.dynamics.inverse_dynamics(q, seen, v, check=False)
        struck = active & (times[k] >= faults.time)
        applied = tau.copy()
        applied[lanes[struck], faults.joint[struck]] *= 1.0 - faults.loss[struck]
        pushed = struck & faults.collision
        if pushed.any():
            hits = faults.joint[pushed], faults.force[pushed], faults.point[pushed]
            applied[pushed] += contact_torques(plant, q[pushed], *hits)
        size = np.maximum(size, np.abs(applied - tau))

        def rate(c, y, applied=applied):
            return np.stack([y[1], plant.forward_dynamics(y[0], y[1], applied, check=False)])

        q, qd = rk4_step(rate, np.stack([q, qd]), PERIOD)
    return np.array(found), size


def contact_torques(
    plant: CompiledRobot, q: np.ndarray, links: np.ndarray, force: np.ndarray, point: np.ndarray
) -> np.ndarray:
    """J^T F of forces at points of links, held over a period, (N, 6)."""
    tau = np.zeros_like(q)
    for link in np.unique(links):
        lanes, name = links == link, f"link{link + 1}"
        J = plant.jacobian(q[lanes], name)
        R = plant.pose(q[lanes], name)[:, :3, :3]
        arm = np.einsum("nij,nj->ni", R, point[lanes] + build("puma560").body(name).com)
        moment = np.cross(arm, force[lanes])
        tau[lanes] = np.einsum("nij,ni->nj", J, np.concatenate([force[lanes], moment], axis=1))
    return tau


@lru_cache(maxsize=1)
def model():
    """The detector's robot: masses of the links that are somewhat wrong."""
    robot = build("puma560")
    factors = 1.0 + MODEL_ERROR * np.random.default_rng(7).normal(size=len(robot.bodies))
    return scaled_masses(robot, factors)


@cache
def detector() -> FaultDetector:
    """Thresholds from runs without faults."""
    observer = MomentumObserver(model(), gain=GAIN, period=PERIOD)
    return FaultDetector(observer, thresholds(residuals(quiet(CALIBRATION_RUNS), np.random.default_rng(1))[0]))


@cache
def outcome(kind: str) -> Outcome:
    """All runs with faults of one kind, or without ("quiet")."""
    rng = np.random.default_rng({"quiet": 2, "drive": 3, "collision": 4}[kind])
    faults = quiet(QUIET_RUNS) if kind == "quiet" else drawn(kind, rng)
    series, size = residuals(faults, rng)
    alarms = [detector().detect(series[:, k]) for k in range(series.shape[1])]
    return Outcome(faults, alarms, (size / np.asarray(detector().threshold)).max(axis=1))


def early(alarm: FaultAlarm | None, time: float) -> bool:
    """Whether an alarm is false: reported before its fault."""
    return alarm is not None and alarm.time < time


def table() -> Table:
    """Detected faults, delays, names and false alarms."""
    rows = []
    for kind in ("collision", "drive"):
        result = outcome(kind)
        pairs = [*zip(result.faults.joint.tolist(), result.faults.time.tolist(), result.alarms, strict=True)]
        right = [(j, t, alarm) for j, t, alarm in pairs if alarm and not early(alarm, t)]
        delays = 1e3 * np.array([alarm.time - t for _, t, alarm in right])
        named = np.mean([alarm.joint == f"joint{j + 1}" for j, _, alarm in right])
        kinds = np.mean([alarm.kind == kind for _, _, alarm in right])
        large = result.size > 2.0
        caught = [alarm is not None and not early(alarm, t) for _, t, alarm in pairs]
        rows.append((
            kind, len(pairs), 100 * float(np.mean(caught)), 100 * float(np.mean(np.array(caught)[large])),
            float(np.median(delays)), float(np.percentile(delays, 95)), 100 * float(named), 100 * float(kinds),
        ))  # fmt: skip
    false = sum(alarm is not None for alarm in outcome("quiet").alarms)
    hours = QUIET_RUNS * DURATION / 3600.0
    size = ", ".join(f"{x:.2g}" for x in np.asarray(detector().threshold))
    notes = (
        f"False alarms: {false} in {QUIET_RUNS} runs of {DURATION:g} s without a fault ({hours:.2f} h of motion, of other "
        "starts and "
        f"noise than the {CALIBRATION_RUNS} runs of the calibration). Thresholds: {size} N m.",
        f"PUMA under computed torque every {1e3 * PERIOD:g} ms; the model's masses are wrong by {100 * MODEL_ERROR:g} % "
        "(standard "
        f"deviation), velocities have noise of {NOISE:g} rad/s. Collisions: {FORCE[0]:g} to {FORCE[1]:g} N in any direction "
        f"{REACH:g} m from the centre of mass of a link. Drive faults: a drive loses {100 * LOSS[0]:g} to {100 * LOSS[1]:g} "
        "% of its torque. Gain "
        f"{GAIN:g} 1/s, {detector().samples} samples.",
        "What is not detected are drives that carry little torque, and forces with little leverage. The joint of a "
        "collision is "
        "the outermost one that is pushed beyond its threshold; a force through the axis of a joint is felt further in.",
    )
    columns = (
        "fault", "runs", "detected [%]", "of those beyond 2 thresholds [%]", "delay, median [ms]",
        "95 % [ms]", "joint "
        "named [%]", "kind named [%]",
    )  # fmt: skip
    return Table("Faults of the PUMA, detected by the momentum observer", columns, tuple(rows), notes)


def draw(path: Path) -> None:
    """Residuals relative to their thresholds, of a collision and of a drive fault."""
    rng = np.random.default_rng(5)
    faults = Faults(
        np.array([2, 1]),
        np.array([0.8, 0.8]),
        np.array([[0.0, 40.0, -40.0], [0.0, 0.0, 0.0]]),
        np.zeros((2, 3)),
        np.array([0.0, 0.6]),
    )
    series = residuals(faults, rng)[0] / np.asarray(detector().threshold)
    t = np.arange(len(series)) * PERIOD
    figure = new_figure(9.0, 5.4)
    titles = ("57 N on link 3", "the drive of joint 2 loses 60 % of its torque")
    panels = figure.subplots(2, 1, sharex=True)
    for k, (panel, title) in enumerate(zip(panels, titles, strict=True)):
        for j in range(6):
            panel.plot(t, series[:, k, j], color=COLOURS[j], linewidth=1.2, label=f"joint {j + 1}")
        alarm = detector().detect(series[:, k] * np.asarray(detector().threshold))
        if alarm is not None:
            panel.axvline(alarm.time, color="0.3", linewidth=0.9, linestyle="--")
        panel.axhspan(-1.0, 1.0, color="0.93", zorder=0)
        panel.set(xlim=(0.7, 1.1), ylim=(-8, 8), ylabel="residual / threshold")
        panel.set_title(f"{title}: {alarm}", fontsize=10, loc="left")
        tidy(panel)
    panels[-1].legend(frameon=False, fontsize=8, ncols=6, loc="lower center")
    panels[-1].set_xlabel("time [s]")
    save_figure(figure, path)


if __name__ == "__main__":
    print(table())
    draw(Path("faults.png"))
