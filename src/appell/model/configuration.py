"""Steps between configurations, joint by joint: coordinates live on curved spaces where joints turn freely."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from appell.arrays import as_batch, require_unit_quaternions
from appell.model.joints import KINDS

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from appell.model.description import Description
    from appell.model.joint import Joint


def neutral(robot: Description) -> np.ndarray:
    """Coordinates at which every child stands in its joint's frame."""
    return _joined([KINDS[joint.kind].neutral() for joint in robot.moving_joints])


def random(robot: Description, seed: int | np.random.Generator) -> np.ndarray:
    """Coordinates drawn within the limits of the joints."""
    rng = np.random.default_rng(seed)
    return _joined([
        KINDS[joint.kind].random(rng, joint.limits.lower, joint.limits.upper) for joint in robot.moving_joints
    ])  # fmt: skip


def integrate(robot: Description, q: ArrayLike, dv: ArrayLike) -> np.ndarray:
    """Coordinates after moving at the constant speeds dv for one second."""
    (start, speeds), lead = as_batch((("q", robot.nq), ("dv", robot.nv)), (q, dv))
    require_unit_quaternions("q", start, lead, robot.tree.quaternions)
    ends = [KINDS[joint.kind].integrate(start[:, i], speeds[:, k]) for joint, i, k in _slices(robot)]
    return _joined(ends, len(start)).reshape(*lead, robot.nq)


def difference(robot: Description, q0: ArrayLike, q1: ArrayLike) -> np.ndarray:
    """The constant speeds that lead from q0 to q1 in one second."""
    (start, end), lead = as_batch((("q0", robot.nq), ("q1", robot.nq)), (q0, q1))
    for name, array in (("q0", start), ("q1", end)):
        require_unit_quaternions(name, array, lead, robot.tree.quaternions)
    steps = [KINDS[joint.kind].difference(start[:, i], end[:, i]) for joint, i, _ in _slices(robot)]
    return _joined(steps, len(start)).reshape(*lead, robot.nv)


def _joined(parts: list[np.ndarray], count: int | None = None) -> np.ndarray:
    return np.concatenate(parts, axis=-1) if parts else np.zeros(0 if count is None else (count, 0))


def _slices(robot: Description) -> Iterator[tuple[Joint, slice, slice]]:
    for joint in robot.moving_joints:
        kind = KINDS[joint.kind]
        q, v = robot.first_coordinates[joint.name]
        yield joint, slice(q, q + kind.nq), slice(v, v + kind.nv)
