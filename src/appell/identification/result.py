"""Result of an identification, and the identified robot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from appell.checks import require_choice
from appell.deprecation import renamed_attributes
from appell.errors import IdentificationError
from appell.identification.base import BaseParameters, base_regressor
from appell.identification.observations import Observations, default_decimation, filtered_motion
from appell.identification.options import Holdout
from appell.identification.physical import is_consistent
from appell.identification.recording import require_recording, require_usable
from appell.model.body import Body, inertia_entries
from appell.model.joint import Joint
from appell.model.pose import triple
from appell.robot.regressor_terms import Coulomb, RegressorTerm, Rotor, Viscous
from appell.robot.robot import Robot
from appell.table import Table


@dataclass(frozen=True)
class RelativeError:
    """|predicted - measured| / |measured|, norms over samples: of each joint, and of all together.

    Example:
        >>> str(RelativeError({"elbow": 0.08, "wrist": 0.2}, 0.1))
        '10.00 % (elbow 8.00 %, wrist 20.00 %)'
    """

    joints: Mapping[str, float]
    total: float

    @classmethod
    def of(cls, names: tuple[str, ...], measured: np.ndarray, predicted: np.ndarray) -> RelativeError:
        """Relative error of forces (N, nv)."""
        error = np.linalg.norm(predicted - measured, axis=0)
        size = np.linalg.norm(measured, axis=0)
        joints = {name: float(a / b) if b > 0 else float(a > 0) for name, a, b in zip(names, error, size, strict=True)}
        total = float(np.linalg.norm(error) / max(np.linalg.norm(size), np.finfo(float).tiny))
        return cls(joints, total)

    def __str__(self) -> str:
        joints = ", ".join(f"{name} {100 * value:.2f} %" for name, value in self.joints.items())
        return f"{100 * self.total:.2f} % ({joints})"


@renamed_attributes(source="nominal_robot", blocks="terms", condition="condition_number", held="holdout_mask")
@dataclass(frozen=True)
class Identification:
    """Identified parameters of a robot; made by `appell.identify`.

    Attributes:
        nominal_robot: the robot as described.
        terms: regressor terms besides the link inertias.
        base: the base parameters, b identifiable combinations of p parameters.
        parameters: all parameters Φ, (p,): the nearest to the description's with these base parameters.
        base_parameters: identified values, (b,), in the order of `base.base_names`.
        standard_errors: standard errors of these, (b,), with the correlation of successive residuals.
        white_standard_errors: the same for uncorrelated residuals, as often published, (b,).
        relative_error: error of the predicted forces at held-out samples (at all samples if there are none).
        training_error: the same at the samples of the fit.
        condition_number: condition number of the weighted regressor, columns of unit length.
        sigma: standard deviation of the residuals of each velocity. [N m, N]
        correlation: number of consecutive samples per independent one, for each velocity.
        prior: parameters Φ of the prior, (p,).
        physical: whether the links were fitted as physically consistent ones.
        cutoff: cut-off frequency of the filter, None without one. [Hz]
        t, measured, predicted, holdout_mask: times (n,), forces (n, nv), and which samples were held out, (n,).

    Example:
        >>> import appell, numpy as np
        >>> arm = appell.load("planar2r")
        >>> t = np.arange(0.0, 10.0, 0.005)
        >>> q, qd, qdd = appell.excitation(arm, 5.0, 3, iterations=0)(t)
        >>> fit = appell.identify(arm, t, q, arm.inverse_dynamics(q, qd, qdd) + 0.3 * qd)
        >>> value, error = fit.value("fv[joint1]")
        >>> bool(abs(value - 0.3) < 1e-3), fit.relative_error.total < 1e-3
        (True, True)
    """

    nominal_robot: Robot
    terms: tuple[RegressorTerm, ...] = field(repr=False)
    base: BaseParameters = field(repr=False)
    parameters: np.ndarray = field(repr=False)
    base_parameters: np.ndarray = field(repr=False)
    standard_errors: np.ndarray = field(repr=False)
    white_standard_errors: np.ndarray = field(repr=False)
    relative_error: RelativeError
    training_error: RelativeError
    condition_number: float
    sigma: np.ndarray = field(repr=False)
    correlation: np.ndarray = field(repr=False)
    prior: np.ndarray = field(repr=False)
    physical: bool
    cutoff: float | None
    t: np.ndarray = field(repr=False)
    measured: np.ndarray = field(repr=False)
    predicted: np.ndarray = field(repr=False)
    holdout_mask: np.ndarray = field(repr=False)

    @property
    def relative_standard_errors(self) -> np.ndarray:
        """Standard errors divided by the magnitudes of the values, (b,)."""
        return self.standard_errors / np.maximum(np.abs(self.base_parameters), np.finfo(float).tiny)

    @property
    def link_parameters(self) -> np.ndarray:
        """Inertial parameters of each link, (links, 10)."""
        return self.parameters[: 10 * len(self.nominal_robot.tree.links)].reshape(-1, 10)

    @property
    def consistent(self) -> np.ndarray:
        """Whether each link is physically consistent, (links,)."""
        return is_consistent(self.link_parameters)

    @cached_property
    def robot(self) -> Robot:
        """The robot with the identified parameters. Links that are not consistent raise `IdentificationError`."""
        return identified_robot(self.nominal_robot, self.terms, self.parameters)

    def value(self, name: str) -> tuple[float, float]:
        """Value and standard error of the base parameter of a column, such as `"fv[joint1]"`."""
        names = [self.base.names[k] for k in self.base.independent]
        k = names.index(require_choice("base parameter", name, names))
        return float(self.base_parameters[k]), float(self.standard_errors[k])

    def predict(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> np.ndarray:
        """Actuator forces along a motion, friction and offsets included, (..., nv). [N m, N]"""
        return base_regressor(self.nominal_robot, self.base, self.terms, q, qd, qdd) @ self.base_parameters

    def validate(self, recording: tuple[ArrayLike, ArrayLike, ArrayLike]) -> RelativeError:
        """Relative error of the predicted forces along another recording (t, q, tau) of the joints, with the same filter."""
        robot = self.nominal_robot
        checked = require_recording(robot, *recording)
        require_usable(robot, checked)
        motion = filtered_motion(robot, checked, self.cutoff)
        decimation = default_decimation(self.cutoff, checked.period)
        rows = Observations(robot, self.terms, self.base, motion, decimation, Holdout(every=0))
        return RelativeError.of(robot.qd_names, rows.forces, rows.predict(self.base_parameters))

    def to_urdf(self, path: str | PathLike | None = None) -> str:
        """The robot with the identified parameters as URDF text, also written to `path` if one is given."""
        return self.robot.to_urdf(path)

    def plot(self, path: str | PathLike | None = None) -> Any:
        """Measured and predicted forces of every joint over time, held-out samples shaded. Needs matplotlib.

        Returns:
            The `matplotlib.figure.Figure`.
        """
        from appell.identification.report import force_figure

        return force_figure(self, path)

    def report(self, path: str | PathLike) -> None:
        """Write one HTML page: errors, parameters with their uncertainty, formulas, figures."""
        from appell.identification.report import report

        report(self).write(path)

    def table(self) -> Table:
        """Base parameters with their standard errors, and their values in the description."""
        rows = tuple(
            (name, float(value), float(error), float(100 * relative), float(prior))
            for name, value, error, relative, prior in zip(
                self.base.base_names, self.base_parameters, self.standard_errors, self.relative_standard_errors,
                self.base.of(self.prior), strict=True,
            )
        )  # fmt: skip
        columns = ("base parameter", "value", "standard error", "relative [%]", "description")
        return Table(f"{self.nominal_robot.name}: base parameters [SI units]", columns, rows, self.notes)

    def error_table(self) -> Table:
        """Relative errors of the predicted forces, per joint and in all."""
        rows = [
            (name, 100 * self.relative_error.joints[name], 100 * self.training_error.joints[name], float(s), float(c))
            for name, s, c in zip(self.relative_error.joints, self.sigma, self.correlation, strict=True)
        ]
        total = ("all", 100 * self.relative_error.total, 100 * self.training_error.total, None, None)
        samples = "held out [%]" if self.holdout_mask.any() else "fitted [%]"
        columns = ("joint", samples, "training [%]", "residual σ [N m, N]", "correlated samples")
        return Table("Relative error of the predicted forces", columns, (*rows, total))

    @property
    def notes(self) -> tuple[str, ...]:
        """Method, samples, filter and condition number, in a few sentences."""
        method = "Every link is physically consistent." if self.physical else "Least squares in the base parameters."
        samples = f"{len(self.t)} samples, {int(self.holdout_mask.sum())} of them held out"
        smooth = "not filtered" if self.cutoff is None else f"filtered at {self.cutoff:.4g} Hz"
        condition = f"condition number {self.condition_number:.4g}"
        return (f"{method} {samples}, {smooth}; {condition}.", f"{self.base.certificate}.")

    def __str__(self) -> str:
        return f"{self.error_table()}\n\n{self.table()}"


def identified_robot(robot: Robot, terms: Sequence[RegressorTerm], parameters: np.ndarray) -> Robot:
    """The robot with these parameters of links, rotors and friction; a description has no place for offsets and custom terms.

    The mass of bodies fixed to a moving body is part of that body.
    """
    links = robot.tree.links
    link_parameters = parameters[: 10 * len(links)].reshape(-1, 10)
    inconsistent = [link.body for link, ok in zip(links, is_consistent(link_parameters), strict=True) if not ok]
    if inconsistent:
        raise IdentificationError(
            f"the parameters of {', '.join(inconsistent)} are not physically consistent: their pseudo-inertias are not positive "
            "definite. Motion and torque determine combinations only; identify with physical=True to get consistent links."
        )
    moving = {name for name, frame in robot.tree.frames.items() if frame.link >= 0}
    massless = {"mass": 0.0, "com": (0.0, 0.0, 0.0), "inertia": (0.0,) * 6}
    bodies = {body.name: replace(body, **massless) if body.name in moving else body for body in robot.bodies}
    for link, values in zip(links, link_parameters, strict=True):
        bodies[link.body] = _with_parameters(robot.body(link.body), values)
    return replace(robot, bodies=tuple(bodies.values()), joints=_joints(robot, terms, parameters[10 * len(links) :]))


def _with_parameters(body: Body, values: np.ndarray) -> Body:
    """A body with ten parameters at its origin."""
    m, *first = (float(x) for x in values[:4])
    com = np.array(first) / m
    xx, xy, yy, xz, yz, zz = values[4:]
    central = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) - m * (com @ com * np.eye(3) - np.outer(com, com))
    return replace(body, mass=m, com=triple(com), inertia=inertia_entries(central))


def _joints(robot: Robot, terms: Sequence[RegressorTerm], values: np.ndarray) -> tuple[Joint, ...]:
    """Joints with the rotor inertia and friction of the terms."""
    by_type: dict[type, np.ndarray] = {}
    for term in terms:
        size = len(term.names(robot))
        by_type[type(term)], values = values[:size], values[size:]
    joints = {joint.name: joint for joint in robot.joints}
    for name, (_, k) in robot.first_coordinates.items():
        changes = {
            field: max(float(by_type[kind][k]), 0.0)
            for field, kind in (("damping", Viscous), ("friction", Coulomb))
            if kind in by_type
        }
        if Rotor in by_type:
            changes["rotor_inertia"] = float(by_type[Rotor][k]) / joints[name].gear_ratio ** 2
        joints[name] = replace(joints[name], **changes)
    return tuple(joints.values())
