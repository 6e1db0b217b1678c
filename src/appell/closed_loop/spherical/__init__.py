"""Spherical parallel robots in closed form (Abedloo 2014): `appell.spherical`.

Example:
    >>> from appell import spherical
    >>> Axis, Leg = spherical.Axis, spherical.Leg
    >>> legs = [Leg(f"leg{i}", Axis(2.0 * i, -2.2), (1.4, 1.2), Axis(2.0 * i, -0.6)) for i in range(3)]
    >>> platform = spherical.Body("platform", 1.0, (0, 0, 0.1), (0.01, 0, 0, 0.01, 0, 0.01))
    >>> robot = spherical.SphericalRobot("wrist", tuple(legs), platform)
    >>> robot.nv, len(robot.actuator_names)
    (3, 3)
"""

from appell.closed_loop.spherical.leg import Axis, Leg
from appell.closed_loop.spherical.robot import SphericalRobot
from appell.closed_loop.spherical.singularities import singularity
from appell.model.body import Body

__all__ = ["Axis", "Body", "Leg", "SphericalRobot", "singularity"]
