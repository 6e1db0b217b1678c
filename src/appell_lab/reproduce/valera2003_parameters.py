"""Tables 5 to 7 of Valera et al. 2003 and its identification: the PUMA's parameters, and how they are found from a motion."""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from appell.identification.base import base_parameters
from appell.identification.excitation import excitation
from appell.identification.identify import identify
from appell.identification.options import Estimator, Filtering, Holdout
from appell.identification.result import Identification
from appell.loading.catalogue import build
from appell.table import Table

TABLE_5 = (
    (0.0, 0.0, 0.0), (-math.pi / 2, 0.0, 0.0), (0.0, 0.432, -0.15),
    (math.pi / 2, -0.02, -0.433), (-math.pi / 2, 0.0, 0.0), (math.pi / 2, 0.0, 0.0),
)  # fmt: skip
"""As printed: α [rad], a, d [m]."""
TABLE_6 = (10.521, 15.781, 8.767, 1.052, 1.052, 0.351)
"""As printed. [kg]"""
TABLE_7 = (
    (0.0, -0.054, 0.0), (0.1398, 0.0, 0.1491), (-0.32e-3, -0.197, 0.0),
    (0.0, 0.0, -0.057), (0.0, -0.007, 0.0), (0.0, 0.0, 0.0372),
)  # fmt: skip
"""As printed: centres of mass. [m]"""
INERTIAS = (
    (1.612, 0.5091, 1.612), (0.4898, 8.0783, 8.2672), (3.3768, 0.3009, 3.3768),
    (0.181, 0.181, 0.1273), (0.0735, 0.0735, 0.1273), (0.0071, 0.0071, 0.0141),
)  # fmt: skip
"""As printed below table 7: diagonals of the inertia tensors about the centres of mass. [kg m²]"""
SOLVERS = {
    "qr": "QR decomposition", "svd": "singular value decomposition", "pinv": "pseudo-inverse", "ridge": "ridge regression",
}  # fmt: skip
"""The paper's four ways to solve tau = K Φ."""
NOISE = 0.01
"""Standard deviation of the measured torques, relative to the root mean square of each joint."""
PERIOD, DURATION = 0.01, 10.0
"""Of the recorded motion. [s]"""


def table_5() -> Table:
    """Denavit-Hartenberg parameters, read off the poses of the links at zero angles."""
    robot = build("puma560")
    poses = [np.eye(4), *(robot.pose(np.zeros(6), f"link{i}") for i in range(1, 7))]
    rows = []
    for joint, (printed, before, after) in enumerate(zip(TABLE_5, poses[:-1], poses[1:], strict=True), start=1):
        T = np.linalg.solve(before, after)
        alpha = math.atan2(T[2, 1], T[2, 2])
        d = -(T[:3, 3] @ T[:3, 2])
        rows.append((joint, *printed, alpha, float(T[0, 3]), float(d)))
    notes = (
        "Read off the poses of the built-in robot at zero angles. The sign of d is the paper's: O_i lies at -d along z_i. "
        "There is "
        "no column of θ; the offsets are taken as 0.",
    )
    columns = ("joint", "α printed [rad]", "a [m]", "d [m]", "α here", "a", "d")
    return Table("Table 5. Denavit-Hartenberg parameters", columns, tuple(rows), notes)


def table_6() -> Table:
    """Masses."""
    rows = tuple(
        (i, printed, body.mass) for i, (printed, body) in enumerate(zip(TABLE_6, _links(), strict=True), start=1)
    )
    return Table("Table 6. Masses of the links", ("link", "printed [kg]", "here [kg]"), rows)


def table_7() -> Table:
    """Centres of mass, and the inertia tensors printed below them."""
    rows = []
    for i, (center, diagonal, body) in enumerate(zip(TABLE_7, INERTIAS, _links(), strict=True), start=1):
        xx, _, _, yy, _, zz = body.inertia
        rows.append((i, "printed", *center, *diagonal))
        rows.append(("", "here", *body.com, xx, yy, zz))
    gyration = [math.sqrt(max(diagonal) / mass) for diagonal, mass in zip(INERTIAS, TABLE_6, strict=True)]
    consistent = all(sum(diagonal) >= 2.0 * max(diagonal) for diagonal in INERTIAS)
    notes = (
        f"Used as printed. The radii of gyration of links 2 and 3, {gyration[1]:.2f} and {gyration[2]:.2f} m, are large for "
        "links "
        f"of {TABLE_5[2][1]:g} and {-TABLE_5[3][2]:g} m; the tensors {'satisfy' if consistent else 'violate'} the triangle "
        "inequality.",
    )
    columns = ("link", "from", "x [m]", "y [m]", "z [m]", "Ixx [kg m²]", "Iyy", "Izz")
    return Table("Table 7. Centres of mass and inertias", columns, tuple(rows), notes)


def _links():
    return [body for body in build("puma560").bodies if body.mass]


@cache
def identifications() -> dict[str, Identification]:
    """Parameters of the PUMA by each solver, from one motion and torques with noise."""
    robot = build("puma560")
    motion = excitation(robot, duration=DURATION, terms=(), iterations=0)
    t = np.arange(0.0, DURATION, PERIOD)
    q, qd, qdd = motion(t)
    tau = robot.inverse_dynamics(q, qd, qdd)
    noise = NOISE * np.sqrt(np.mean(tau**2, axis=0)) * np.random.default_rng(0).normal(size=tau.shape)
    return {
        solver: identify(
            robot, t, q, tau + noise, qd=qd, qdd=qdd, terms=(), filtering=Filtering(None, 1), holdout=Holdout(every=5),
            estimator=Estimator(solver),
        )
        for solver in SOLVERS
    }  # fmt: skip


def identification_table() -> Table:
    """The four solvers side by side, for the PUMA with known parameters."""
    robot = build("puma560")
    base = base_parameters(robot)
    true = base.of(robot.parameters)
    found = identifications()
    rows = []
    for solver, fit in found.items():
        error = fit.base_parameters - true
        within = float(np.mean(np.abs(error) <= 2.0 * fit.standard_errors))
        rows.append((
            SOLVERS[solver], 100 * float(np.linalg.norm(error) / np.linalg.norm(true)), 100 * within,
            100 * fit.relative_error.total, float(np.abs(fit.base_parameters - found["qr"].base_parameters).max()),
        ))  # fmt: skip
    torque = float(np.sqrt(np.mean(found["qr"].sigma ** 2)))
    notes = (
        f"tau = K Φ has {len(base.names)} parameters, of which {len(base)} combinations show in the torques "
        f"({base.certificate}); "
        "the paper does not say which it solves for. Φ is ordered there as m, mc, Ixx, Ixy, Ixz, Iyy, Iyz, Izz.",
        f"Simulated: {DURATION:g} s of a random Fourier series, sampled every {1e3 * PERIOD:g} ms, torques with noise of "
        f"{100 * NOISE:g} % of each joint's root mean square; the residuals of the fit are {torque:.2g} N m. A fifth is "
        "left out of "
        f"the fit and predicted. The condition number of the observations is {found['qr'].condition_number:.3g}, so that "
        "the four agree.",
        "The paper prints no results of its identification but the tables 5 to 7 that the others follow from.",
    )
    columns = (
        "solver", "error of Φ_b [%]", "within 2 standard errors [%]", "torque error, held out [%]", "difference to QR",
    )  # fmt: skip
    return Table("Identification: tau = K Φ by four methods", columns, tuple(rows), notes)
