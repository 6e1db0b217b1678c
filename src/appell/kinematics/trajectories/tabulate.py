"""References as tables of polynomials, for loops that have no time for inverse kinematics."""

from __future__ import annotations

import math

import numpy as np

from appell.errors import ArgumentError
from appell.kinematics.trajectories.piecewise import Piecewise
from appell.kinematics.trajectories.reference import JointReference, Reference

QUINTIC = np.array([
    [1.0, 0.0, 0.0, 0.0, 0.0, 0.0],
    [0.0, 1.0, 0.0, 0.0, 0.0, 0.0],
    [0.0, 0.0, 0.5, 0.0, 0.0, 0.0],
    [-10.0, -6.0, -1.5, 10.0, -4.0, 0.5],
    [15.0, 8.0, 1.5, -15.0, 7.0, -1.0],
    [-6.0, -3.0, -0.5, 6.0, -3.0, 0.5],
])  # fmt: skip
"""Coefficients of the polynomial of degree 5 on [0, 1] with given value, slope and curvature at 0, then at 1."""


def tabulated(reference: Reference, step: float = 0.02) -> JointReference:
    """The same motion as polynomials of degree 5 between points at most `step` apart. [s]

    Coordinates, speeds and accelerations are those of the reference at the points; between them coordinates differ by a
    sixth-order term in the step, about 1e-12 rad for ordinary motions. Accelerations are those of the polynomials and
    suffer from rounding where the step is much smaller than the default. A call takes a tenth of the time of one that solves
    inverse kinematics.

    Example:
        >>> import appell
        >>> line = appell.trajectories.valera2003_line(appell.load("puma560"))
        >>> fast = appell.trajectories.tabulated(line)
        >>> bool(abs(fast(1.234).q - line(1.234).q).max() < 1e-11)
        True
    """
    if not (step > 0.0 and math.isfinite(step)):
        raise ArgumentError(f"step is {step}, expected a positive number of seconds.")
    parts = [
        np.linspace(a, b, math.ceil((b - a) / step) + 1)[:-1]
        for a, b in zip(reference.breaks[:-1], reference.breaks[1:], strict=True)
    ]
    times = np.append(np.concatenate(parts), reference.breaks[-1])
    first, last = reference(times[:-1]), reference(np.nextafter(times[1:], 0.0))  # before a jump of acceleration
    if first.q.shape[-1] != first.qd.shape[-1]:
        raise ArgumentError(
            "the reference has quaternions among its coordinates; polynomials would not keep them unit."
        )
    h = np.diff(times)[:, None]
    ends = np.stack([first.q, h * first.qd, h**2 * first.qdd, last.q, h * last.qd, h**2 * last.qdd], axis=1)
    powers = h[:, None] ** np.arange(6)[:, None]
    return JointReference(Piecewise(times, QUINTIC @ ends / powers), reference.joint_names)
