"""Contacts in compiled code: gaps, Jacobians and the motion of a mode from the kernels of a `Stepper`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from appell import _native
from appell.errors import CompileError
from appell.model.point import Point
from appell.robot.simulation_model import SimulationModel
from appell.simulation.contact.mode import SLIP, STICK, ContactMode
from appell.simulation.contact.pairs import (
    ContactPairs,
    ContactPoints,
    ContactState,
    InterpretedPairs,
)
from appell.simulation.contact.stepper import Stepper
from appell.simulation.contact.surfaces import Surface
from appell.simulation.joint_friction import JointFrictionState
from appell.simulation.plant import Plant

LOOK_AHEAD = 1e-4
"""Friction that would turn slip within a shorter time acts against the slip so much later (`motion.c`). [s]"""


@dataclass(frozen=True)
class CompiledPairs(ContactPairs):
    """Pairs of points and surfaces, and stops of joints, in compiled code."""

    stepper: Stepper

    def __len__(self) -> int:
        return self.stepper.all_contacts

    def gaps(self, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        out = np.empty((len(q), len(self), 2))
        q, qd = np.ascontiguousarray(q), np.ascontiguousarray(qd)
        if not _native.Motion.gaps(self.stepper.native, q, qd, out):
            out[:] = np.nan
        return out[..., 0], out[..., 1]

    def state(self, q: np.ndarray, qd: np.ndarray) -> ContactState:
        c, nv = len(self), len(qd)
        state = ContactState(
            np.arange(c), np.empty(c), np.empty((c, 3)), np.empty((c, 3)), np.empty((c, 3, nv)), np.empty((c, 3)), np.empty(c)
        )  # fmt: skip
        q, qd = np.ascontiguousarray(q), np.ascontiguousarray(qd)
        if not _native.Motion.contacts(self.stepper.native, q, qd, *state[1:]):
            return state._replace(gap=np.full(c, np.nan))
        return state

    def motion(self, mode: ContactMode, joints: JointFrictionState, plant: Plant) -> Any:
        """The equations of motion of a mode."""
        loads = np.zeros((len(mode.index) + len(joints.sticking_indices), 3))
        if mode.loads is not None:
            loads[: len(mode.index)] = mode.loads
        return _native.Motion(
            self.stepper.native,
            mode.index.astype(np.int32),
            np.where(mode.sticking, STICK, SLIP).astype(np.int32),
            mode.carries.astype(np.int32),
            mode.slack,
            np.ascontiguousarray(mode.slip_direction),
            joints.sticking_indices.astype(np.int32),
            -plant.friction * joints.slip_direction,
            loads,
            plant.added_inertia,
            plant.tracks_work,
            LOOK_AHEAD,
        )


def contact_pairs(
    model: SimulationModel,
    points: Sequence[Point],
    surfaces: tuple[Surface, ...],
    restitution: Sequence[float],
    stops: bool,
) -> ContactPairs:
    """The pairs of the points and surfaces of `contact_candidates`, with stops of joints where asked."""
    names, e = tuple(map(str, points)), tuple(restitution)
    try:
        stepper = Stepper(model, points, surfaces, e, stops)
    except CompileError:
        robot = model.contact_tree
        if robot is None or stops or robot.nv != model.nv or any(point.axis for point in points):
            raise
        return InterpretedPairs(names, surfaces, e, ContactPoints(robot, points))
    return CompiledPairs(names, surfaces, e, stepper)
