"""Rotation about the axis without limits. One angle, not a point on the circle."""

from __future__ import annotations

from appell.model.joints.revolute import Revolute


class Continuous(Revolute):
    """q is an angle [rad], not limited to one turn."""

    name = "continuous"
    limited = False
