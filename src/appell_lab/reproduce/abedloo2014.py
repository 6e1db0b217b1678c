"""The verification of Abedloo, Molaei and Taghirad 2014, section IV: the agile wrist under a PD loop, figures 5 to 7."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from scipy.integrate import solve_ivp

from appell.closed_loop.spherical import SphericalRobot
from appell.loading.catalogue.agile_wrist import agile_wrist
from appell.robot.compiled import compile
from appell.table import Table
from appell_lab.reproduce.abedloo2014_figures import figures
from appell_lab.reproduce.abedloo2014_plant import MultiplierModel, State
from appell_lab.reproduce.reproduction import Item, Reproduction

SOURCE = (
    "E. Abedloo, A. Molaei, H.D. Taghirad, Closed-form dynamic formulation of spherical parallel manipulators by Gibbs-Appell "
    "method, RSI/ISM International Conference on Robotics and Mechatronics (2014)"
)
AMPLITUDE = np.radians([10.0, 30.0, 20.0])
FREQUENCY = np.pi * np.array([1.0, 0.5, 1.5])
"""Eq. (52): q_i = a_i sin(b_i t). [rad, rad/s]"""
DURATION = 4.0
"""The time after which all three angles repeat; the paper gives none. [s]"""
STIFFNESS, DAMPING = 1e3, 3.0
"""Gains of the PD loop at each actuator; the paper gives none. [N m/rad, N m s/rad]"""
PRINTED = {
    "joint angles [rad]": 1e-7,
    "joint rates [rad/s]": 1e-6,
    "joint accelerations [rad/s²]": 1e-5,
    "torques [N m]": 1e-5,
}
"""Orders of the errors that the paper reports."""
SAMPLES = 401
STEP_RATIO = 3.0
DIAGRAM = "a drawing, no data"
CHOSEN = "duration, gains and some mass properties are not given; chosen here"
ITEMS = (
    Item("Section IV", "orders of the errors", "Section IV", CHOSEN),
    Item("Figures 1 to 3", "the wrist, a body, the axes", remark=f"{DIAGRAM}: the built-in robot agile_wrist"),
    Item(
        "Figure 4", "block diagram of the simulator", remark="a diagram; the simulator of section IV is built after it"
    ),
    Item("Figure 5", "trajectory of simulator and model", "figure5_trajectory", CHOSEN),
    Item("Figure 6", "torques of both, and their difference", "figure6_torques", CHOSEN),
    Item("Figure 7", "errors of angles, rates, accelerations", "figure7_errors", CHOSEN),
)


@dataclass(frozen=True)
class Verification:
    """Simulator and closed form at the same times.

    Attributes:
        t: (N,). [s]
        simulator: what the multiplier model shows.
        torques: of the PD loop, which the simulator was driven by, (N, 3). [N m]
        theta, thetad, thetadd, tau: the same from the closed form at the simulator's Euler angles, (N, 3).
        closure: largest residual of the simulator's loops.
        seconds: that the simulation took.
    """

    t: np.ndarray
    simulator: State
    torques: np.ndarray
    theta: np.ndarray
    thetad: np.ndarray
    thetadd: np.ndarray
    tau: np.ndarray
    closure: float
    seconds: float

    @property
    def errors(self) -> dict[str, np.ndarray]:
        """Simulator less closed form, (N, 3), named as the orders that the paper reports."""
        shown = self.simulator
        errors = (
            shown.theta - self.theta, shown.thetad - self.thetad, shown.thetadd - self.thetadd, self.torques - self.tau,
        )  # fmt: skip
        return dict(zip(PRINTED, errors, strict=True))


def reproduce() -> Reproduction:
    """The errors of section IV, printed and computed, and figures 5 to 7."""
    wrist = agile_wrist()
    verified = verification(wrist)
    return Reproduction(
        "abedloo2014",
        SOURCE,
        (errors_table(verified), coriolis_table(wrist)),
        figures=figures(verified, reference),
        items=ITEMS,
    )


def reference(t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Euler angles of eq. (52) with their rates and accelerations, (..., 3)."""
    phase = np.multiply.outer(t, FREQUENCY)
    sine, cosine = np.sin(phase), np.cos(phase)
    return AMPLITUDE * sine, AMPLITUDE * FREQUENCY * cosine, -AMPLITUDE * FREQUENCY**2 * sine


def verification(wrist: SphericalRobot, duration: float = DURATION, samples: int = SAMPLES) -> Verification:
    """Figure 4: the PD loop moves the multiplier model along eq. (52); the closed form follows its motion."""
    model, closed = MultiplierModel(wrist), compile(wrist, threads=1)
    actuated, n = list(wrist.actuated), model.tree.nv

    def torques(t: float, theta: np.ndarray, thetad: np.ndarray) -> np.ndarray:
        q, qd, _ = reference(np.asarray(t))
        theta_d, thetad_d = (
            closed.joint_angles(q, check=False)[actuated],
            closed.joint_velocities(q, qd, check=False)[actuated],
        )
        return STIFFNESS * (theta_d - theta) + DAMPING * (thetad_d - thetad)

    def rate(t: float, y: np.ndarray) -> np.ndarray:
        x, xd = y[:n], y[n:]
        tau = torques(t, x[model.actuated], xd[model.actuated])
        return np.concatenate([xd, model.acceleration(x, xd, tau)])

    begun = time.perf_counter()
    q0, qd0, _ = reference(np.asarray(0.0))
    guess = wrist.joint_angles(q0)[[wrist.leg_joint_names.index(name) for name in model.tree.joint_names]]
    t = np.linspace(0.0, duration, samples)
    start = np.concatenate(model.start(q0, qd0, guess))
    solution = solve_ivp(rate, (0.0, duration), start, method="DOP853", t_eval=t, rtol=1e-7, atol=1e-9)
    x, xd = solution.y[:n].T, solution.y[n:].T
    xdd = np.array([rate(*each)[n:] for each in zip(t, solution.y.T, strict=True)])
    seconds = time.perf_counter() - begun
    shown = model.read(x, xd, xdd)
    state = shown.q, shown.qd, shown.qdd
    return Verification(
        t,
        shown,
        np.array([torques(*each) for each in zip(t, shown.theta, shown.thetad, strict=True)]),
        closed.joint_angles(shown.q)[:, actuated],
        closed.joint_velocities(*state[:2])[:, actuated],
        closed.joint_accelerations(*state)[:, actuated],
        closed.inverse_dynamics(*state),
        max(float(np.abs(model.closed(each)[0]).max()) for each in x),
        seconds,
    )


def errors_table(verified: Verification) -> Table:
    """Largest differences between simulator and closed form."""
    largest = {name: float(np.abs(error).max()) for name, error in verified.errors.items()}
    rows = tuple((name, f"{PRINTED[name]:.0e}", f"{error:.1e}") for name, error in largest.items())
    q = reference(verified.t)[0]
    notes = (
        "Simulator: legs and platform as a tree with loop closures and Lagrange multipliers, driven along eq. (52) by a PD loop "
        f"of {STIFFNESS:g} N m/rad and {DAMPING:g} N m s/rad at each actuator; the closed form is evaluated at its Euler angles.",
        "Chosen, since the paper does not give them: arcs of radius 0.10 m, inertia of the platform about the centre, "
        f"which is its centre of mass, the root + of eq. (34), {DURATION:g} s, the gains.",
        f"Loops of the simulator stay closed to {verified.closure:.1e}; it follows eq. (52) to "
        f"{float(np.abs(verified.simulator.q - q).max()):.1e} rad. Simulated in {verified.seconds:.1f} s.",
    )
    return Table("Section IV. Errors of the closed form", ("error", "printed, order", "computed, largest"), rows, notes)


def coriolis_table(wrist: SphericalRobot) -> Table:
    """C of eq. (21) and that of the Christoffel symbols along eq. (52)."""
    q, qd, _ = reference(np.linspace(0.0, DURATION, 41))
    Md, other = (
        (wrist.mass_matrix(q + step * qd) - wrist.mass_matrix(q - step * qd)) / (2 * step)
        for step in (1e-5, STEP_RATIO * 1e-5)
    )
    apart = float(np.abs(Md - other).max())
    forces = wrist.bias(q, qd) - wrist.gravity(q)
    rows = []
    for label, method in (("eq. (21), as printed", "abedloo2014"), ("Christoffel symbols", "christoffel")):
        C = wrist.coriolis_matrix(q, qd, method=method)
        S = Md - 2.0 * C
        wrong = float(np.abs(np.einsum("nij,nj->ni", C, qd) - forces).max())
        rows.append((label, f"{wrong:.1e}", f"{float(np.abs(S + S.transpose(0, 2, 1)).max()):.1e}"))
    notes = (
        "Both give the velocity forces; only the second has the skew Ṁ - 2C on which passivity-based control relies. Ṁ by "
        f"central differences, which two steps {STEP_RATIO:g} times apart give within {apart:.0e} N m s.",
    )
    columns = ("C", "error of C q̇ [N m]", "symmetric part of Ṁ - 2C [N m s]")
    return Table("Two Coriolis matrices along eq. (52)", columns, tuple(rows), notes)
