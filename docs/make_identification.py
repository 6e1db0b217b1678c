"""Studies behind docs/theory/identification.md: defects of recordings, two-file prediction, coverage of intervals.

    python docs/make_identification.py defects | files | coverage [number of recordings]

Everything is seeded; each study prints a table in Markdown.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

import appell
from appell.identification import Coulomb, Filtering, Offset, Recording, Rotor, Transmission, Viscous
from appell_lab.recordings import Plant, random_motion, record

ROBOTS = Path(__file__).parents[2] / "shared" / "robots"


def ur_like(seed: int) -> tuple[appell.Robot, Recording, Recording]:
    """A UR10 at 91 Hz with stamps 10 and 12 ms apart, coloured noise of 4 % of the forces; two motions of 30 s."""
    robot = appell.load(ROBOTS / "ur10.urdf")
    plant = Plant.of(robot, seed, force=0.04, colour=0.5, encoder=2e-5)
    motions = (random_motion(robot, seed + k, 20.0, 6, 0.8) for k in (0, 100))
    first, second = (
        record(plant, motion, 30.0, 0.011, seed + 100 * k, uneven=True) for k, motion in enumerate(motions)
    )
    return robot, first, second


def panda_like(seed: int) -> tuple[appell.Robot, Recording, Recording]:
    """A Panda at 1 kHz that moves below 0.43 Hz, with vibrations of 1e-4 rad at 58, 66 and 87 Hz; two motions of 40 s."""
    robot = appell.load(ROBOTS / "panda.urdf").lock({"panda_finger_joint1": 0.0})
    plant = Plant.of(robot, seed, force=0.01, lines=1e-4, stribeck=0.1)
    motions = (random_motion(robot, seed + k, 14.0, 6, 0.5) for k in (0, 100))
    first, second = (record(plant, motion, 40.0, 0.001, seed + 100 * k) for k, motion in enumerate(motions))
    return robot, first, second


# --- defects -----------------------------------------------------------------------------------------------------------------


def spikes(share: float) -> Callable[[Recording], Recording]:
    def damage(recording: Recording) -> Recording:
        rng = np.random.default_rng(1)
        hit = rng.random(recording.tau.shape) < share
        return replace(recording, tau=recording.tau + hit * 2.0 * np.abs(recording.tau).max(axis=0))

    return damage


def at(array: str, rows, column: int, value: float) -> Callable[[Recording], Recording]:
    def damage(recording: Recording) -> Recording:
        changed = getattr(recording, array).copy()
        changed[rows, column] = value
        return replace(recording, **{array: changed})

    return damage


def gap(recording: Recording) -> Recording:
    kept = (recording.t < 10.0) | (recording.t > 11.5)
    return Recording(recording.t[kept], recording.q[kept], recording.tau[kept])


def late(recording: Recording) -> Recording:
    return Recording(recording.t[2:], recording.q[2:], recording.tau[:-2])


def stuck(recording: Recording) -> Recording:
    k = 500 + int(np.argmax(np.abs(np.diff(recording.q[500:1500, 1]))))
    return at("q", slice(k, k + 60), 1, float(recording.q[k, 1]))(recording)


def repeated(recording: Recording) -> Recording:
    t = recording.t.copy()
    t[1000::300] = t[999::300][: len(t[1000::300])]
    return replace(recording, t=t)


def shuffled_stamps(recording: Recording) -> Recording:
    jitter = 0.002 * np.random.default_rng(2).uniform(-1, 1, len(recording.t))
    return replace(recording, t=recording.t + jitter)


def clipped(recording: Recording) -> Recording:
    limit = 0.6 * np.abs(recording.tau[:, 1]).max()
    tau = recording.tau.copy()
    tau[:, 1] = np.clip(tau[:, 1], -limit, limit)
    return replace(recording, tau=tau)


DEFECTS: dict[str, Callable[[Recording], Recording]] = {
    "none": lambda recording: recording,
    "1 % spikes of twice the largest force": spikes(0.01),
    "5 % spikes": spikes(0.05),
    "one position of 1000 rad": at("q", 1200, 2, 1000.0),
    "forces of 1e305 in 3 samples": at("tau", [700, 701, 1500], 1, 1e305),
    "300 positions missing in a row": at("q", slice(900, 1200), 3, np.nan),
    "2 % of the forces missing": at("tau", np.random.default_rng(3).choice(2700, 54, replace=False), 0, np.nan),
    "no samples for 1.5 s": gap,
    "encoder stuck for 0.66 s": stuck,
    "repeated time stamps": repeated,
    "stamps off by up to 2 ms": shuffled_stamps,
    "forces late by 22 ms": late,
    "force of joint 3 with the opposite sign": lambda r: replace(r, tau=r.tau * [1, 1, -1, 1, 1, 1]),
    "force of joint 6 with the opposite sign": lambda r: replace(r, tau=r.tau * [1, 1, 1, 1, 1, -1]),
    "forces of joints 2 and 3 exchanged": lambda r: replace(r, tau=r.tau[:, [0, 2, 1, 3, 4, 5]]),
    "positions of joints 2 and 3 exchanged": lambda r: replace(r, q=r.q[:, [0, 2, 1, 3, 4, 5]]),
    "force of joint 2 clipped at 60 %": clipped,
    "force of joint 4 zero": lambda r: replace(r, tau=r.tau * [1, 1, 1, 0, 1, 1]),
    "the first 800 samples": lambda r: Recording(r.t[:800], r.q[:800], r.tau[:800]),
    "the first 100 samples": lambda r: Recording(r.t[:100], r.q[:100], r.tau[:100]),
}  # fmt: skip


def defects(seed: int = 0) -> None:
    """Each defect in the recording of the fit; the error on a clean recording of another motion, forces as recorded."""
    robot, first, second = ur_like(seed)
    rows = [(name, lambda damage=damage: appell.identify(robot, damage(first))) for name, damage in DEFECTS.items()]
    for name, constants in (
        ("torque constant of joint 2 negative", [1, -1, 1, 1, 1, 1]),
        ("torque constant zero", [1, 0, 1, 1, 1, 1]),
    ):
        gains = Transmission(torque_constants=np.array(constants, dtype=float))
        rows.append(
            (name, lambda gains=gains: replace(appell.identify(robot, first, transmission=gains), transmission=None))
        )
    print("| defect | found | other motion, error [%] |\n|---|---|---|")
    for name, identified in rows:
        try:
            fit = identified()
        except appell.AppellError as error:
            print(f"| {name} | error: {str(error).split('. ')[0]} | |")
            continue
        kinds = {
            kind: [each.where for each in fit.findings if each.kind == kind] for kind in (e.kind for e in fit.findings)
        }
        steps = [step.split(":")[0] if step.startswith("forces") else step.partition(": ")[2] for step in fit.steps[:3]]
        notes = [step for step in steps if step.startswith(("forces", "split", "dropped"))]
        found = (
            "; ".join([*(f"{kind} ({', '.join(dict.fromkeys(where))})" for kind, where in kinds.items()), *notes])
            or "nothing"
        )
        other = late(second) if "late" in name else second  # the same sensors
        print(f"| {name} | {found} | {100 * fit.validate(other).raw.total:.2f} |", flush=True)


# --- two files ---------------------------------------------------------------------------------------------------------------


def files(count: int = 3) -> None:
    """Default options against the best of 28 choices of cut-off frequency and width, by the error on the second recording."""
    print("| robot | seed | default [%] | filtered [%] | cut-off [Hz] | best choice [%] | its cut-off, width | ratio |")
    print("|---|---|---|---|---|---|---|---|")
    for name, make in (("UR10", ur_like), ("Panda", panda_like)):
        for seed in range(count):
            robot, first, second = make(seed)
            fit = appell.identify(robot, first)
            own = fit.validate(second)
            tried = []
            for cutoff in (1.0, 2.0, 3.0, 5.0, 8.0, 12.0, 20.0):
                for width in (0.002, 0.005, 0.01, 0.03):
                    terms = (Rotor(), Viscous(), Coulomb(width), Offset())
                    other = appell.identify(robot, first, terms=terms, filtering=Filtering(cutoff))
                    tried.append((other.validate(second).raw.total, cutoff, width))
            error, cutoff, width = min(tried)
            print(
                f"| {name} | {seed} | {100 * own.raw.total:.2f} | {100 * own.filtered.total:.2f} | {fit.cutoff:.2g} | "
                f"{100 * error:.2f} | {cutoff:g}, {width:g} | {own.raw.total / error:.3f} |",
                flush=True,
            )


# --- coverage ----------------------------------------------------------------------------------------------------------------


def covered(seed: int, colour: float) -> np.ndarray:
    """Which 95 % intervals of the base parameters hold the true values, for a PUMA with coloured noise of 5 %."""
    robot = appell.load("puma560")
    plant = Plant.of(robot, 0, force=0.05, colour=colour, encoder=1e-6, stribeck=0.0, width=0.01)
    recording = record(plant, random_motion(robot, seed, 10.0, 5, 1.0), 30.0, 0.004, seed)
    fit = appell.identify(robot, recording)
    tail = {"Ia": plant.rotor, "fv": plant.viscous, "fc": plant.coulomb, "offset": plant.offset}
    names = [name for name in fit.base.names if name.partition("[")[0] in tail]
    parts = [tail[symbol] for symbol in dict.fromkeys(name.partition("[")[0] for name in names)]
    inertial = plant.robot.parameters[: 10 * len(robot.tree.links)]
    rest = np.zeros(len(fit.base.names) - len(inertial) - len(names))
    truth = fit.base.of(np.concatenate([inertial, *parts, rest]))
    return np.abs(fit.base_parameters - truth) < 1.96 * fit.standard_errors


def coverage(count: int = 100) -> None:
    """Share of true values in 95 % intervals over recordings with other motions and noise."""
    print("| correlation of successive noise samples | recordings | intervals | coverage [%] |\n|---|---|---|---|")
    for colour in (0.0, 0.8, 0.95):
        inside = np.concatenate([covered(seed, colour) for seed in range(count)])
        print(f"| {colour} | {count} | {len(inside)} | {100 * inside.mean():.1f} |", flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore", appell.IdentificationWarning)
    study = {"defects": defects, "files": files, "coverage": coverage}[sys.argv[1]]
    study(*map(int, sys.argv[2:]))
