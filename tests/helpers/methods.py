"""Methods of every function, and the reference frames of Jacobians."""

from __future__ import annotations

from appell.robot.robot import Robot

METHODS = {
    "inverse_dynamics": ("mata2002", "valera2003", "newton_euler", "shafei2018", "hollerbach"),
    "bias": ("mata2002", "valera2003", "newton_euler", "shafei2018", "hollerbach"),
    "mass_matrix": ("gibbs_hessian", "composite", "shafei2018", "hollerbach", "noc"),
    "forward_dynamics": ("gibbs", "articulated", "noc"),
}
"""Every method of every function that has several."""


def methods_for(function: str, robot: Robot) -> tuple[str | None, ...]:
    """The methods of a function; for long robots without those of 4x4 matrices, which take long to trace."""
    names = METHODS.get(function, (None,))
    return names if robot.nv <= 20 else tuple(name for name in names if name not in ("shafei2018", "hollerbach"))


REFERENCE_FRAMES = ("LOCAL", "WORLD", "LOCAL_WORLD_ALIGNED")
