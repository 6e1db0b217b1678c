"""The PUMA 560 of Valera et al. 2003."""

from __future__ import annotations

import math

import numpy as np

from appell.robot.robot import Robot

RIGHT = math.pi / 2


def puma560() -> Robot:
    """Six revolute joints with the parameters of Valera et al. 2003, tables 5 to 7, as printed.

    The paper gives no offsets of theta; they are 0. Gravity is 9.81 m/s² along -z of the base. The inertias of links 2
    and 3 are large for their size (radii of gyration of 0.72 and 0.62 m), but they are what the paper used.
    """
    moments = (
        (1.612, 0.5091, 1.612), (0.4898, 8.0783, 8.2672), (3.3768, 0.3009, 3.3768),
        (0.181, 0.181, 0.1273), (0.0735, 0.0735, 0.1273), (0.0071, 0.0071, 0.0141),
    )  # fmt: skip
    return Robot.from_dh(
        alpha=[0.0, -RIGHT, 0.0, RIGHT, -RIGHT, RIGHT],
        a=[0.0, 0.0, 0.432, -0.02, 0.0, 0.0],
        d=[0.0, 0.0, -0.15, -0.433, 0.0, 0.0],
        mass=[10.521, 15.781, 8.767, 1.052, 1.052, 0.351],
        com=[
            (0.0, -0.054, 0.0), (0.1398, 0.0, 0.1491), (-0.32e-3, -0.197, 0.0),
            (0.0, 0.0, -0.057), (0.0, -0.007, 0.0), (0.0, 0.0, 0.0372),
        ],
        inertia=[np.diag(each) for each in moments],
        convention="valera2003",
        name="puma560",
    )  # fmt: skip
