"""Contacts that stick or slip, and joints that stick: their forces, and the mode that follows an instant.

While a mode lasts, the equations are linear (`mode_accelerations`): sticking rows have no acceleration, slipping contacts none
along their normal, and friction μ f_n against their slip,

    M qdd = F + J^T f,     J qdd + J̇ qd = 0 in these rows.

The mode itself follows from the contact problem with accelerations in the place of velocities (`solve_contacts`); a contact that
slips is given a large tangential acceleration in the direction of its slip, so that friction opposes it. Joints with Coulomb
friction that are at rest are bounded scalars of the same problem.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from appell import _native
from appell.simulation.contact.pairs import ContactState
from appell.simulation.contact.solver import ContactBlocks, ContactSolution, solve_contacts

OPEN, STICK, SLIP = 0, 1, 2
"""States of a block of rows."""
NORMAL_VELOCITY_TOL = 1e-9
"""Normal velocities below this count as zero. [m/s]"""
SLIP_TOL = 1e-6
"""Points that slip more slowly may come to stick, and slip, if at all, in the direction of their acceleration. [m/s]"""
TURNED = 0.866
"""Cosine of the angle beyond which such slow slip has turned."""
ACCELERATION_TOL = 1e-10
"""Accelerations below this part of the largest (or of 1 m/s²) count as zero."""
AIMED, ACCEPTABLE = 1e-2 * ACCELERATION_TOL, 1e-1 * ACCELERATION_TOL
"""Residuals of the contact problem, as such a part: that is aimed at, and that changes no state of a contact."""
FORCE_TOL = 1e-9
"""Forces may leave their bounds by this part of the largest (or of 1 N) before a mode ends."""
SLIP_ACCELERATION = 1e4
"""Tangential acceleration of slipping contacts in the contact problem, as part of the largest one."""
RELATIVE_ZERO = 1e-12


@dataclass(frozen=True)
class ContactMode:
    """Contacts that stay closed."""

    index: np.ndarray  # their numbers, (m,)
    sticking: np.ndarray  # mask of those that do not slip, (m,)
    starts_at_rest: np.ndarray  # mask of those that do not slip at the start of the mode, (m,)
    slip_direction: np.ndarray  # at the start; for contacts at rest the direction of their acceleration, (m, 3)
    mu: np.ndarray  # coefficients of friction, (m,)
    loads: np.ndarray | None = None  # forces in world axes, (m, 3), that those of dependent contacts are nearest to

    @property
    def carries(self) -> np.ndarray:
        """Mask of the contacts that may carry load; the others stay closed by these, (m,)."""
        if self.loads is None:
            return np.ones(len(self.index), dtype=bool)
        size = np.linalg.norm(self.loads, axis=-1)
        return size > FORCE_TOL * max(1.0, size.max(initial=0.0))

    @property
    def slack(self) -> np.ndarray:
        """Speeds that slip from rest may reach against its direction; of others, negative, those below which it may not turn."""
        return np.where(self.starts_at_rest, SLIP_TOL, -0.5 * SLIP_TOL)

    def at_start(self, slip: np.ndarray) -> ContactMode:
        """The same, sticking where slip (m, 3) is slow and not in the direction in which it starts."""
        aligned = np.sum(slip * self.slip_direction, axis=-1) >= TURNED * np.linalg.norm(slip, axis=-1)
        return replace(self, sticking=self.sticking | (self.starts_at_rest & ~aligned))

    def select(self, which: np.ndarray) -> ContactMode:
        """The same with some of its contacts (mask)."""
        return ContactMode(
            self.index[which], self.sticking[which], self.starts_at_rest[which], self.slip_direction[which], self.mu[which],
            None if self.loads is None else self.loads[which],
        )  # fmt: skip

    def with_slipping(self, index: np.ndarray) -> ContactMode:
        """The same with further contacts (numbers) that slip without friction, and no loads."""
        none = np.zeros(len(index), dtype=bool)
        return ContactMode(
            np.append(self.index, index), np.append(self.sticking, none), np.append(self.starts_at_rest, none),
            np.concatenate([self.slip_direction, np.zeros((len(index), 3))]), np.append(self.mu, np.zeros(len(index))),
        )  # fmt: skip

    def same_states(self, other: ContactMode) -> bool:
        """Whether the same contacts stick and slip."""
        return np.array_equal(self.index, other.index) and np.array_equal(self.sticking, other.sticking)


_NONE = np.zeros(0, dtype=bool)
NO_CONTACT = ContactMode(np.zeros(0, dtype=int), _NONE, _NONE, np.zeros((0, 3)), np.zeros(0))


class ModeRows(NamedTuple):
    """Rows of contacts (two tangents and the normal each) and of sticking joints, with their laws and states."""

    J: np.ndarray  # (n, nv)
    bias: np.ndarray  # J̇ qd, (n,)
    blocks: ContactBlocks
    states: np.ndarray  # OPEN, STICK or SLIP, (b,)
    friction_direction: np.ndarray  # of slipping contacts, along their tangents, (b, 2)

    def accelerations(
        self, M: np.ndarray, F: np.ndarray, bias: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """qdd (nv,) and forces f (n,), least-norm ones where rows are dependent; NaN where M is not positive definite."""
        qdd, f = np.empty(len(F)), np.empty(len(self.J))
        solve = _native.mode_accelerations or _mode_accelerations
        bias = self.bias if bias is None else bias
        solved = solve(
            M, F, self.J, bias, self.blocks.rows, self.blocks.limits, self.states, self.friction_direction, qdd, f
        )
        return (qdd, f) if solved else (np.full_like(qdd, np.nan), f)

    @classmethod
    def of_scalars(cls, J: np.ndarray, bias: np.ndarray) -> ModeRows:
        """Single rows, all sticking."""
        count = len(J)
        states, blocks = np.full(count, STICK, dtype=np.int32), ContactBlocks.bilateral(count)
        return cls(np.ascontiguousarray(J), bias, blocks, states, np.zeros((count, 2)))

    def without_friction(self) -> ModeRows:
        """The same with slipping contacts free of friction."""
        return self._replace(friction_direction=np.zeros_like(self.friction_direction))

    def joined(self, other: ModeRows) -> ModeRows:
        """These rows and others."""
        return ModeRows(
            np.concatenate([self.J, other.J]),
            np.concatenate([self.bias, other.bias]),
            self.blocks + other.blocks,
            np.concatenate([self.states, other.states]),
            np.concatenate([self.friction_direction, other.friction_direction]),
        )


def _mode_accelerations(M, F, J, bias, rows, limits, states, d, qdd, f) -> bool:
    """`_native.mode_accelerations` where the extension was not built."""
    wanted, columns, expand = [], [], []
    for (first, size, _), limit, state, direction in zip(rows.tolist(), limits, states.tolist(), d, strict=True):
        normal = first + size - 1
        for row in range(first, first + size) if state == STICK else (normal,) if state == SLIP else ():
            place = np.zeros(len(J))
            place[row] = 1.0
            if state == SLIP:
                place[first:normal] = limit * direction[: size - 1]
            wanted.append(row)
            columns.append(place @ J)
            expand.append(place)
    f[:] = 0.0
    if not (np.isfinite(M).all() and np.isfinite(F).all() and np.isfinite(J).all() and np.isfinite(bias).all()):
        return False
    free = np.linalg.solve(M, F)
    qdd[:] = free
    if wanted:
        response = np.linalg.solve(M, np.array(columns).T)
        x = np.linalg.lstsq(J[wanted] @ response, -(J[wanted] @ free) - bias[wanted], rcond=RELATIVE_ZERO)[0]
        f[:] = x @ np.array(expand)
        qdd[:] += response @ x
    return True


def tangents(normal: np.ndarray) -> np.ndarray:
    """Two orthogonal unit tangents of each normal (m, 3), as (m, 2, 3)."""
    if not len(normal):
        return np.zeros((0, 2, 3))
    first = np.cross(normal, np.eye(3)[np.argmin(np.abs(normal), axis=-1)])
    first /= np.linalg.norm(first, axis=-1, keepdims=True)
    return np.stack([first, np.cross(normal, first)], axis=1)


def contact_frames(contacts: ContactState) -> np.ndarray:
    """Two tangents and the normal of each contact, (m, 3, 3)."""
    return np.concatenate([tangents(contacts.normal), contacts.normal[:, None]], axis=1)


def frame_rows(contacts: ContactState, frames: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Jacobian rows (3m, nv) and acceleration biases (3m,) of contacts along their frames."""
    J = (frames @ contacts.J).reshape(-1, contacts.J.shape[-1])
    bias = np.einsum("cti,ci->ct", frames, contacts.acceleration_bias)
    bias[:, 2] += contacts.curvature_acceleration
    return J, bias.ravel()


def joint_rows(sticking: np.ndarray, nv: int) -> ModeRows:
    """The rows of sticking joints (indices)."""
    return ModeRows.of_scalars(np.eye(nv)[sticking], np.zeros(len(sticking)))


def mode_rows(contacts: ContactState, mode: ContactMode, sticking_joints: np.ndarray) -> ModeRows:
    """The rows of a mode in one state; `contacts` are those of the mode."""
    frames = contact_frames(contacts)
    J, bias = frame_rows(contacts, frames)
    direction = -np.einsum("cti,ci->ct", frames[:, :2], slip_direction(contacts, mode))
    states = np.where(mode.sticking, STICK, SLIP).astype(np.int32)
    rows = ModeRows(J, bias, ContactBlocks.points(mode.mu), states, direction)
    return rows if not len(sticking_joints) else rows.joined(joint_rows(sticking_joints, J.shape[1]))


def slip_direction(contacts: ContactState, mode: ContactMode) -> np.ndarray:
    """Unit vectors (m, 3) of slip in a mode, continued smoothly beyond a reversal.

    Slip that starts at rest is greater by its slack: it has a direction at once.
    """
    slip = contacts.slip_velocity + np.maximum(mode.slack, 0.0)[:, None] * mode.slip_direction
    speed = np.linalg.norm(slip, axis=-1)
    signed = np.where(np.sum(slip * mode.slip_direction, axis=-1) < 0.0, -speed, speed)
    moves = speed > NORMAL_VELOCITY_TOL
    return np.where(moves[:, None], slip / np.where(moves, signed, 1.0)[:, None], mode.slip_direction)


def force_margin(rows: ModeRows, f: np.ndarray, joint_friction: np.ndarray, tolerance: float = FORCE_TOL) -> float:
    """How far the forces are from leaving their bounds; negative where contact would pull, or friction is too weak."""
    count = len(rows.states) - len(joint_friction)
    contact = f[: 3 * count].reshape(-1, 3)
    tol = tolerance * max(1.0, float(np.abs(f).max(initial=0.0)))
    margins = [joint_friction - np.abs(f[3 * count :]), contact[:, 2]]
    sticking = rows.states[:count] == STICK
    if sticking.any():
        margins.append((rows.blocks.limits[:count] * contact[:, 2] - np.linalg.norm(contact[:, :2], axis=-1))[sticking])
    return tol + min((float(margin.min()) for margin in margins if len(margin)), default=tol)


class ContactProblem(NamedTuple):
    """A problem of `solve_contacts` with the tangential rows of contacts with friction only."""

    G: np.ndarray
    c: np.ndarray
    blocks: ContactBlocks
    rows: np.ndarray  # their numbers among all rows
    size: int  # number of all rows

    @classmethod
    def of(cls, G: np.ndarray, c: np.ndarray, mu: np.ndarray, bounds: np.ndarray) -> ContactProblem:
        """From all rows: three of each contact, then one of each bounded scalar."""
        rough = mu > 0.0
        needed = np.append(
            np.stack([rough, rough, np.ones_like(rough)], axis=1).ravel(), np.ones(len(bounds), dtype=bool)
        )
        sizes = np.append(np.where(rough, 3, 1), np.ones(len(bounds), dtype=int))
        rows = np.zeros((len(sizes), 3), dtype=np.int32)
        rows[1:, 0], rows[:, 1], rows[len(mu) :, 2] = np.cumsum(sizes)[:-1], sizes, 1
        places = np.flatnonzero(needed)
        blocks = ContactBlocks(rows, np.append(mu, bounds).astype(float))
        return cls(np.ascontiguousarray(G[np.ix_(places, places)]), c[places], blocks, places, len(c))

    def solve(self, start: np.ndarray | None, tolerance: float, acceptable: float | None = None) -> ContactSolution:
        return solve_contacts(
            self.G, self.c, self.blocks, start=start, tolerance=tolerance, acceptable=acceptable, check=False
        )

    def expand(self, p: np.ndarray) -> np.ndarray:
        """Impulses of all rows."""
        result = np.zeros(self.size)
        result[self.rows] = p
        return result


class NextMode(NamedTuple):
    """The mode after an instant.

    `forces` are those of its contacts in world axes, (m, 3); `joint_directions` are the slip directions of the joints at rest, 0
    for those that stick; `residual` is the error of the contact law, relative to the accelerations; `jams` a mask of slipping
    contacts that Coulomb's law stops at once.
    """

    mode: ContactMode
    forces: np.ndarray
    joint_directions: np.ndarray
    residual: float
    jams: np.ndarray


def joint_slip(M: np.ndarray, qdd: np.ndarray, joints: np.ndarray, friction: np.ndarray) -> tuple[np.ndarray, float]:
    """Slip directions of joints at rest (indices), 0 for those that stick, and the relative residual.

    Friction of all of them reduces their accelerations as far as possible (Gauss' principle).
    """
    units = np.eye(len(qdd))[joints]
    scale = max(1.0, float(np.abs(qdd).max(initial=0.0)))
    G = units @ np.linalg.solve(M, units.T)
    solution = ContactProblem.of(G, qdd[joints], np.zeros(0), friction).solve(None, AIMED * scale, ACCEPTABLE * scale)
    return _directions(solution.impulses, friction), solution.residual / scale


def _directions(load: np.ndarray, friction: np.ndarray) -> np.ndarray:
    return np.where(np.abs(load) < friction * (1.0 - RELATIVE_ZERO), 0.0, -np.sign(load))


def _can_stick(
    M: np.ndarray, qdd: np.ndarray, J: np.ndarray, bias: np.ndarray, mu: np.ndarray, friction: np.ndarray
) -> bool:
    """Whether forces of least norm, within their bounds, hold all contacts and joints.

    The contact problem may have other solutions, in which redundant contacts are unloaded so far that they slip.
    """
    states = np.append(np.where(mu > 0.0, STICK, SLIP), np.full(len(friction), STICK)).astype(np.int32)
    blocks = ContactBlocks.points(mu) + ContactBlocks.bounded(friction)
    rows = ModeRows(np.ascontiguousarray(J), bias, blocks, states, np.zeros((len(states), 2)))
    return force_margin(rows, rows.accelerations(M, M @ qdd)[1], friction, 0.0) >= 0.0


def next_mode(
    M: np.ndarray, qdd: np.ndarray, contacts: ContactState, mu: np.ndarray, joints: np.ndarray, friction: np.ndarray,
    opposed: np.ndarray | None = None,
) -> NextMode:  # fmt: skip
    """The contacts that stay closed and the joints that stick.

    Args:
        qdd: accelerations without contact and without friction of these joints, (nv,).
        contacts: without normal velocity.
        mu: their coefficients of friction.
        joints, friction: indices of joints at rest, and their Coulomb friction.
        opposed: unit vectors (m, 3) that friction of slipping contacts acts against, by default their slip.
    """
    m, frames = len(contacts.index), contact_frames(contacts)
    J, bias = frame_rows(contacts, frames)
    units = np.eye(len(qdd))[joints]
    J, bias = np.concatenate([J, units]), np.append(bias, np.zeros(len(units)))
    a = J @ qdd + bias
    scale = max(1.0, float(np.abs(a).max(initial=0.0)))
    speed = np.linalg.norm(contacts.slip_velocity, axis=-1)
    slips = (speed > SLIP_TOL) & (mu > 0.0)
    if not slips.any() and _can_stick(M, qdd, J, bias, mu, friction):
        none, rough = np.zeros(m, dtype=bool), mu > 0.0
        zero = np.zeros((m, 3))
        mode = ContactMode(contacts.index, rough, speed <= SLIP_TOL, zero, mu)
        return NextMode(mode, zero, np.zeros(len(joints)), 0.0, none)
    direction = contacts.slip_velocity / np.where(speed > 0.0, speed, 1.0)[:, None]
    against = direction if opposed is None else np.where(slips[:, None], opposed, direction)
    along = SLIP_ACCELERATION * scale * np.einsum("cti,ci->ct", frames[:, :2], against)
    columns = np.linalg.solve(M, J.T)
    G, c = J @ columns, a.copy()
    in_frames = c[: 3 * m].reshape(-1, 3)
    in_frames[slips, :2] = along[slips]
    problem = ContactProblem.of(G, c, mu, friction)
    solution = problem.solve(None, AIMED * scale, ACCEPTABLE * scale)
    force = problem.expand(solution.impulses)
    if slips.any():  # once more, so that their slip keeps its direction exactly
        in_frames[slips, :2] -= (G @ force)[: 3 * m].reshape(-1, 3)[slips, :2]
        problem = ContactProblem.of(G, c, mu, friction)
        solution = problem.solve(solution.impulses, AIMED * scale, ACCEPTABLE * scale)
        force = problem.expand(solution.impulses)
    w = (c + G @ force)[: 3 * m].reshape(-1, 3)
    tol = max(ACCELERATION_TOL * scale, 10.0 * solution.residual)
    closed = w[:, 2] <= tol
    jams = slips & (np.sum(w[:, :2] * along, axis=-1) < 0.99 * np.sum(along * along, axis=-1))
    size = np.linalg.norm(w[:, :2], axis=-1)
    at_rest = ~slips
    sticking = (mu > 0.0) & at_rest & (size <= tol)
    starts = np.einsum("ct,cti->ci", w[:, :2] / np.where(size > 0.0, size, 1.0)[:, None], frames[:, :2])
    directions = np.where(speed[:, None] > SLIP_TOL, direction, starts)
    rest = speed <= SLIP_TOL
    forces = np.einsum("ct,cti->ci", force[: 3 * m].reshape(-1, 3), frames)[closed]
    mode = ContactMode(contacts.index[closed], sticking[closed], rest[closed], directions[closed], mu[closed])
    return NextMode(mode, forces, _directions(force[3 * m :], friction), solution.residual / scale, jams)
