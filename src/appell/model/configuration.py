"""Configurations of a robot: neutral, random, and steps between them (methods of `Description`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from appell.arrays import as_batch, require_unit_quaternions
from appell.model.joint import Joint
from appell.model.joints import KINDS

if TYPE_CHECKING:
    from appell.model.description import Description


def neutral_configuration(robot: Description) -> np.ndarray:
    """The configuration of the description: zeros, and identity quaternions. (nq,)"""
    return _joined([KINDS[joint.kind].neutral() for joint in robot.moving_joints])


def random_configuration(robot: Description, seed: int | np.random.Generator = 0) -> np.ndarray:
    """A configuration drawn uniformly within the joint limits (unlimited angles from [-π, π]). (nq,)

    Example:
        >>> import appell
        >>> appell.load("puma560").random_configuration(seed=1).shape
        (6,)
    """
    rng = np.random.default_rng(seed)
    return _joined([
        KINDS[joint.kind].random(rng, joint.limits.lower, joint.limits.upper) for joint in robot.moving_joints
    ])  # fmt: skip


def integrate(robot: Description, q: ArrayLike, dv: ArrayLike) -> np.ndarray:
    """The configuration q ⊕ dv, reached from q with the constant velocity dv after one second. (..., nq)

    For floating, planar and spherical joints this is not a sum: dv are quasi-velocities (`docs/conventions.md`), and
    quaternions stay of unit length.

    Example:
        >>> import appell
        >>> robot = appell.load("puma560")
        >>> robot.integrate([0.0] * 6, [0.1] * 6).tolist()
        [0.1, 0.1, 0.1, 0.1, 0.1, 0.1]
    """
    (start, velocity), batch_shape = as_batch((("q", robot.nq), ("dv", robot.nv)), (q, dv))
    require_unit_quaternions("q", start, batch_shape, robot.tree.quaternions)
    ends = [KINDS[joint.kind].integrate(start[:, i], velocity[:, k]) for joint, i, k in _slices(robot)]
    return _joined(ends, len(start)).reshape(*batch_shape, robot.nq)


def difference(robot: Description, q0: ArrayLike, q1: ArrayLike) -> np.ndarray:
    """The constant velocity from q0 to q1 in one second: integrate(q0, difference(q0, q1)) = q1. (..., nv)

    Example:
        >>> import appell
        >>> robot = appell.load("puma560")
        >>> robot.difference([0.0] * 6, [0.1] * 6).tolist()
        [0.1, 0.1, 0.1, 0.1, 0.1, 0.1]
    """
    (start, end), batch_shape = as_batch((("q0", robot.nq), ("q1", robot.nq)), (q0, q1))
    for name, array in (("q0", start), ("q1", end)):
        require_unit_quaternions(name, array, batch_shape, robot.tree.quaternions)
    steps = [KINDS[joint.kind].difference(start[:, i], end[:, i]) for joint, i, _ in _slices(robot)]
    return _joined(steps, len(start)).reshape(*batch_shape, robot.nv)


def _joined(parts: list[np.ndarray], count: int | None = None) -> np.ndarray:
    return np.concatenate(parts, axis=-1) if parts else np.zeros(0 if count is None else (count, 0))


def _slices(robot: Description) -> Iterator[tuple[Joint, slice, slice]]:
    for joint in robot.moving_joints:
        kind = KINDS[joint.kind]
        q, v = robot.first_coordinates[joint.name]
        yield joint, slice(q, q + kind.nq), slice(v, v + kind.nv)
