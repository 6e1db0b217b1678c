"""A payload from recordings with and without it: the difference of the forces, in the parameters of the body that carries it.

The forces of the loaded robot are K_b β + L φ, L the ten columns of the carrying body. Both recordings are fitted at once, so
that the parameters β of the robot itself need not be known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from appell.errors import ArgumentError, IdentificationError
from appell.identification.findings import Finding
from appell.identification.fit import QRFactors, accumulate_qr, correlation_times
from appell.identification.identify import identify
from appell.identification.observations import Observations
from appell.identification.physical import with_minimum_inertia
from appell.identification.recording import Recording
from appell.identification.result import Identification
from appell.model.body import inertia_entries
from appell.robot.robot import Robot
from appell.table import Table

SIGNIFICANT = 3.0
"""Standard errors by which the mass of a payload must differ from zero."""


@dataclass(frozen=True)
class PayloadEstimate:
    """An identified payload.

    Attributes:
        at: the body that carries it.
        parameters: [m, m cx, m cy, m cz, Ixx, Ixy, Iyy, Ixz, Iyz, Izz] at the origin of this body. [kg, kg m, kg m²]
        standard_errors: of these, (10,).
        fit: of the robot without the payload.
        findings: a payload that does not show, or has no mass.
    """

    at: str
    parameters: np.ndarray
    standard_errors: np.ndarray
    fit: Identification = field(repr=False)
    findings: tuple[Finding, ...] = ()

    @property
    def mass(self) -> float:
        """Mass. [kg]"""
        return float(self.parameters[0])

    @property
    def com(self) -> np.ndarray:
        """Centre of mass in the frame of the body, (3,). [m]"""
        return self.parameters[1:4] / self.parameters[0]

    def on(self, robot: Robot) -> Robot:
        """The robot with the payload; its inertia is the nearest one of a body that exists."""
        if self.mass <= 0:
            raise IdentificationError(
                f"the payload has mass {self.mass:.4g} kg, expected more than 0. Identify it again."
            )
        m, *first, xx, xy, yy, xz, yz, zz = with_minimum_inertia(self.parameters, 1e-3, 1e-9)
        com = np.array(first) / m
        inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        central = inertia_entries(inertia - m * (com @ com * np.eye(3) - np.outer(com, com)))
        return robot.with_payload(m, com, central, at=self.at)

    def table(self) -> Table:
        """Values and standard errors."""
        names = ("m", "mx", "my", "mz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")
        rows = tuple(
            (name, float(v), float(e)) for name, v, e in zip(names, self.parameters, self.standard_errors, strict=True)
        )
        title = f"Payload at {self.at!r}, at its origin [kg, kg m, kg m²]"
        return Table(title, ("parameter", "value", "standard error"), rows, tuple(map(str, self.findings)))

    def __str__(self) -> str:
        return str(self.table())


def identify_payload(
    robot: Robot, unloaded: Recording | Sequence[Recording], loaded: Recording, *, at: str | None = None, **options: Any
) -> PayloadEstimate:
    """Mass, centre of mass and inertia of a payload, from recordings without and with it.

    Args:
        unloaded, loaded: recordings; they need not be of the same motion.
        at: the moving body that carries it; the last one by default.
        options: those of `appell.identify`.

    Example:
        >>> import appell, numpy as np
        >>> arm = appell.load("planar2r")
        >>> t = np.arange(0.0, 10.0, 0.005)
        >>> q, qd, qdd = appell.excitation(arm, 5.0, 3, iterations=0)(t)
        >>> forces = [each.inverse_dynamics(q, qd, qdd) for each in (arm, arm.with_payload(0.5, (0.1, 0.0, 0.0), at="link2"))]
        >>> found = identify_payload(arm, *(Recording(t, q, tau) for tau in forces), terms=())
        >>> round(found.mass, 3), found.com.round(3)[:2].tolist()
        (0.5, [0.1, 0.0])
    """
    bodies = [link.body for link in robot.tree.links]
    at = bodies[-1] if at is None else at
    if at not in bodies:
        raise ArgumentError(f"at is {at!r}, expected one of the moving bodies {', '.join(bodies)}.")
    fit = identify(robot, unloaded, **options)
    first = 10 * bodies.index(at)

    def carried(q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        return robot.regressor(q, qd, qdd, check=False)[..., first : first + 10]

    recordings = [unloaded] if isinstance(unloaded, Recording) else list(unloaded)
    parts = [*(fit.observe(each)[0] for each in recordings), fit.observe(loaded, carried, 10)[0]]
    values, errors, shown = _solve(parts, fit)
    mass, error, findings = values[-10], errors[-10], []
    if not shown[0] or mass < SIGNIFICANT * error:
        findings.append(
            Finding("payload", at, f"its mass is {mass:.3g} +- {error:.2g} kg: it does not show in the forces",
                    "Check that the second recording was made with the payload, and move the joints that carry it.")
        )  # fmt: skip
    return PayloadEstimate(at, values[-10:], np.where(shown, errors[-10:], np.inf), fit, tuple(findings))


def _solve(parts: Sequence[Observations], fit: Identification) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Values and standard errors of all parameters, and which of the payload's have an effect."""
    data = [accumulate_qr(rows.pieces(), rows.used, ~rows.trusted) for rows in parts]
    start = np.append(fit.base_parameters, np.zeros(10))
    A, z = _stacked(parts, data, start)
    A, z = _stacked(parts, data, np.linalg.lstsq(A, z, rcond=1e-10)[0])  # with the noise of each recording
    scale = np.linalg.norm(A, axis=0)
    unit = np.where(scale > 0.0, scale, 1.0)
    inverse = np.linalg.pinv(A / unit, rcond=1e-10) / unit[:, None]
    return inverse @ z, np.sqrt(np.sum(inverse**2, axis=1)), scale[-10:] > 1e-9 * scale.max()


def _stacked(
    parts: Sequence[Observations], data: Sequence[QRFactors], values: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Rows of all recordings in units of their noise for these values, the columns of the payload last."""
    blocks, sides = [], []
    for rows, factors in zip(parts, data, strict=True):
        own = values[: factors.size]
        residuals = (rows.forces - rows.predict(own))[rows.trusted]
        noise = np.mean(residuals**2, axis=0) * correlation_times(residuals)
        A, z = factors.stacked(1.0 / np.maximum(noise, 1e-24 * np.mean(rows.forces**2)))
        blocks.append(np.hstack([A, np.zeros((len(A), len(values) - factors.size))]))
        sides.append(z)
    return np.concatenate(blocks), np.concatenate(sides)
