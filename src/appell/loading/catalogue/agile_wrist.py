"""The agile wrist of Abedloo, Molaei and Taghirad 2014."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from appell.checks import as_real
from appell.deprecation import renamed_arguments
from appell.errors import ModelError, ModelWarning, warn_at_caller
from appell.model.body import Body, inertia_entries, inertia_tensors
from appell.model.pose import triple

if TYPE_CHECKING:
    from appell.closed_loop.spherical import SphericalRobot

GAMMA, BETA = math.acos(math.sqrt(3) / 3), math.asin(math.sqrt(3) / 3)
ARCS = (math.radians(80.0), math.radians(70.0))
DENSITY = 1.378
"""Section IV: angles of the base and the platform, arcs α1 and α2 [rad], mass of an arc per length [kg/m]."""
PLATFORM_MASS = 1.351
PLATFORM_INERTIA = (38.29e-4, 38.29e-4, 4.5e-4)
"""Of the platform [kg, kg m²]; the paper does not give the reference point, here it is the centre."""

VIRTUAL_BODIES = frozenset(("yaw_stage", "pitch_stage"))
"""Massless bodies of the spanning tree between the Euler angles."""


@renamed_arguments(assembly="working_mode")
def agile_wrist(
    working_mode: str | Sequence[str] = "plus",
    arc_radius: float = 0.10,
    platform_com: Sequence[float] = (0.0, 0.0, 0.0),
) -> SphericalRobot:
    """Three legs of three joints with the numbers of Abedloo 2014, section IV.

    q are the 321 Euler angles of the platform, the torques those of the three joints at the base. Data missing
    in the paper are arguments: the root of eq. (34) of the legs (`"plus"`, `"minus"`, or one per leg), the radius of both arcs
    [m], and the centre of mass of the platform [m]. The platform's inertia is taken about the centre.

    Example:
        >>> import appell
        >>> wrist = appell.robots.agile_wrist(working_mode=("plus", "plus", "minus"), platform_com=(0, 0, 0.05))
        >>> wrist.nv, round(sum(body.mass for body in wrist.bodies), 4)
        (3, 2.4333)
    """
    from appell.closed_loop.spherical import Axis, Leg, SphericalRobot

    if not 0.0 < as_real(arc_radius) < math.inf:
        raise ModelError(f"arc_radius is {arc_radius!r}, expected a positive number [m].")
    legs = tuple(
        Leg(
            f"leg{i + 1}",
            Axis(math.radians(120.0 * i), GAMMA - math.pi),
            ARCS,
            Axis(math.radians(120.0 * i), -BETA),
            tuple(arc(f"leg{i + 1}_link{j + 1}", angle, as_real(arc_radius)) for j, angle in enumerate(ARCS)),
        )
        for i in range(3)
    )
    return SphericalRobot("agile_wrist", legs, platform(platform_com)).with_working_modes(working_mode)


def arc(name: str, angle: float, radius: float) -> Body:
    """A thin wire along a circle about the centre, from the z axis towards -y."""
    mass = DENSITY * radius * angle
    com = np.array([0.0, radius * (math.cos(angle) - 1.0) / angle, radius * math.sin(angle) / angle])
    sine2, product = 0.5 - math.sin(2 * angle) / (4 * angle), -(math.sin(angle) ** 2) / (2 * angle)
    moments = mass * radius**2 * np.array([[0, 0, 0], [0, sine2, product], [0, product, 1 - sine2]])  # ∫ρρ^T dm
    return body_about_centre(name, mass, com, np.trace(moments) * np.eye(3) - moments)


def platform(com: Sequence[float]) -> Body:
    """The platform with this centre of mass."""
    try:
        centre = np.asarray(com, dtype=float)
    except (TypeError, ValueError):
        centre = np.full(3, np.nan)
    if centre.shape != (3,) or not np.isfinite(centre).all():
        raise ModelError(f"platform_com is {com!r}, expected three finite numbers [m].")
    body = body_about_centre("platform", PLATFORM_MASS, centre, np.diag(PLATFORM_INERTIA))
    if np.linalg.eigvalsh(inertia_tensors([body]))[0, 0] < 0.0:
        warn_at_caller(
            f"platform_com is {com!r} m: no body with its centre of mass there has so little inertia about the centre as "
            f"{PLATFORM_INERTIA} kg m². The dynamics are defined all the same.",
            ModelWarning,
        )
    return body


def body_about_centre(name: str, mass: float, com: np.ndarray, inertia: np.ndarray) -> Body:
    """A body whose inertia is given about the origin of its frame."""
    central = inertia - mass * (com @ com * np.eye(3) - np.outer(com, com))
    return Body(name, mass, triple(com), inertia_entries(central))
