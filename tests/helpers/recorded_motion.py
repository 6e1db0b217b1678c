"""Recordings for tests of identification: a simulated PUMA with noise, and the real TX40 of the shared data."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import cache
from typing import NamedTuple

import numpy as np

import appell
from appell.identification import MotionLimits, Transmission
from appell.identification.base import nominal_parameters
from appell.identification.excitation import FourierMotion
from appell.robot.regressor_terms import Coulomb, Coupling, Offset, RegressorTerm, Rotor, Viscous
from appell.robot.robot import Robot
from helpers.shared_data import shared

TERMS = (Rotor(), Viscous(), Coulomb(0.05), Offset())


class Recorded(NamedTuple):
    """What sensors saw, and the truth: all parameters, and forces without noise."""

    t: np.ndarray
    q: np.ndarray
    tau: np.ndarray
    truth: np.ndarray
    clean: np.ndarray


@cache
def lossy_puma() -> Robot:
    """The PUMA with rotors and friction."""
    robot = appell.load("puma560")
    rng = np.random.default_rng(3)
    joints = (
        replace(
            joint,
            damping=float(rng.uniform(1, 3)),
            friction=float(rng.uniform(1, 4)),
            rotor_inertia=float(rng.uniform(0.1, 0.5)),
        )
        for joint in robot.joints
    )
    return replace(robot, joints=tuple(joints))


@cache
def puma_motion(seed: int = 0) -> FourierMotion:
    """A motion that shows all parameters."""
    return appell.excitation(
        lossy_puma(), 10.0, 5, limits=MotionLimits(velocity=2.0, acceleration=6.0), iterations=2, seed=seed
    )


@cache
def puma_recording(motion: int = 0, seed: int = 0, angle: float = 1e-5, force: float = 0.01) -> Recorded:
    """Three periods at 250 Hz, with noise of the encoders [rad] and of the forces, relative to each joint's."""
    robot, move = lossy_puma(), puma_motion(motion)
    rng = np.random.default_rng([seed, 5])
    t = np.arange(0.0, 3 * move.duration, 4e-3)
    states = move(t)
    truth = nominal_parameters(robot, TERMS)
    truth[-robot.nv :] = rng.normal(size=robot.nv)
    clean = robot.regressor(*states, terms=TERMS) @ truth
    size = np.sqrt((clean**2).mean(axis=0))
    tau = clean + force * size * rng.normal(size=clean.shape)
    return Recorded(t, states[0] + angle * rng.normal(size=states[0].shape), tau, truth, clean)


# --- the TX40 -----------------------------------------------------------------------------------------------------------------

WIDTH = 0.05
TX40_TERMS: tuple[RegressorTerm, ...] = (Rotor(), Viscous(), Coulomb(WIDTH), Offset(), Coupling(4, 5, WIDTH))

GEARS = np.diag([32.0, 32.0, 45.0, -48.0, 45.0, 32.0])
GEARS[5, 4] = 32.0
TX40_TRANSMISSION = Transmission(GEARS, [0.0, -np.pi / 2, np.pi / 2, 0.0, 0.0, 0.0])

PUBLISHED = {
    "fv": (8.05, 5.53, 1.97, 1.11, 1.86, 0.65),
    "fc": (7.14, 8.26, 6.34, 2.48, 3.03, 0.282),
    "Ia": (0.362, 0.362, 0.0988, 0.0313, 0.0468, 0.0105),
}
PUBLISHED_COUPLING = {"Iam": 0.00964, "fvm": 0.616, "fcm": 1.95}


@cache
def tx40() -> Robot:
    """Its description has a last link without inertia, which is given some."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", appell.ModelWarning)
        return appell.check(shared("data/tx40/tx40.urdf"), fix=True)


@cache
def tx40_recording() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Times, motor angles and motor torques."""
    position, current = (
        np.loadtxt(shared(f"data/tx40/motor_{name}.csv.gz"), delimiter=",", skiprows=1)
        for name in ("position", "current")
    )
    return np.arange(len(position)) * 2e-4, position, current
