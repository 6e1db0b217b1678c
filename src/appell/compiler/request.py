"""The name of one function of a robot, with all its options. Needs nothing but Python."""

from __future__ import annotations

from dataclasses import dataclass

REFERENCE_FRAMES = ("LOCAL", "WORLD", "LOCAL_WORLD_ALIGNED")


@dataclass(frozen=True)
class Request:
    """Which function of a robot is wanted.

    Attributes:
        function, method: names in `appell.algorithms.registry`.
        gravity: whether the gravity vector is an input (3 entries) instead of a constant.
        forces: names of the frames on which an external wrench is an input (6 entries each, in the order given).
        frame, reference: of poses and Jacobians.
        parameters: whether the inertial parameters of all links are an input (10 entries each) instead of constants.
    """

    function: str
    method: str | None = None
    gravity: bool = False
    forces: tuple[str, ...] = ()
    frame: str | None = None
    reference: str = "LOCAL_WORLD_ALIGNED"
    parameters: bool = False
