"""Result of an identification, and the identified robot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from appell.checks import require_choice
from appell.deprecation import renamed_attributes
from appell.errors import IdentificationError
from appell.files import write_text
from appell.identification.base import BaseParameters, base_regressor
from appell.identification.cleaning import CleanRecording, clean_recording
from appell.identification.essential import EssentialParameters, essential_parameters
from appell.identification.findings import Finding
from appell.identification.identified_robot import identified_robot, urdf_comment
from appell.identification.lag import without_lag
from appell.identification.observations import Observations
from appell.identification.options import Estimator, Holdout, Transmission, at_joints
from appell.identification.physical import is_consistent
from appell.identification.recorded_motion import Decimation, default_decimation, usable_motions
from appell.identification.recording import Recording, as_recordings
from appell.identification.validation import RelativeError, Validation
from appell.robot.protocol import AnyRobot
from appell.robot.regressor_terms import RegressorTerm
from appell.robot.robot import Robot
from appell.table import Table

UNDETERMINED = 0.5
"""Standard error of a mass, relative to that of the prior, from which the data do not determine it."""


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
        relative_error: error of the predicted forces at held-out samples (at all samples if there are none), forces and
            predictions filtered alike.
        raw_error: the same on forces as recorded.
        cross_validation: the same as `relative_error` when each recording, or each fifth of one, is predicted from the others.
        training_error: the same at the samples of the fit.
        condition_number: condition number of the weighted regressor, columns of unit length.
        sigma: standard deviation of the residuals of each velocity. [N m, N]
        correlation: number of consecutive samples per independent one, for each velocity.
        prior: parameters Φ of the prior, (p,).
        physical: whether the links were fitted as physically consistent ones.
        cutoff: cut-off frequency of the filter, None without one. [Hz]
        t, measured, predicted, holdout_mask: times (n,), forces (n, nv), and which samples were held out, (n,).
        covariance: of the base parameters, (b, b).
        information: K^T K in units of the noise of independent samples, (b, b); also of parameters that are not excited.
        mass_errors: standard errors of the links' masses in a physical fit, (links,). [kg]
        transmission, lag: of the recordings; `validate` takes recordings of the same kind. [s]
        recordings: their names.
        steps: what was done to the data, and the choices with their evidence.
        findings: what is doubtful about data or result.
        cutoff_curve: cut-off frequencies [Hz] that were compared, with their prediction errors.
        condition_by_joint: condition number of the rows of each velocity, columns of unit length, (nv,).
        estimator: the options of the estimator.

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

    nominal_robot: AnyRobot
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
    _: KW_ONLY
    raw_error: RelativeError
    cross_validation: RelativeError
    covariance: np.ndarray = field(repr=False)
    information: np.ndarray = field(repr=False)
    mass_errors: np.ndarray | None = field(default=None, repr=False)
    transmission: Transmission | None = field(default=None, repr=False)
    lag: float = 0.0
    recordings: tuple[str, ...] = ()
    steps: tuple[str, ...] = field(default=(), repr=False)
    findings: tuple[Finding, ...] = ()
    cutoff_curve: tuple[tuple[float, float], ...] = field(default=(), repr=False)
    condition_by_joint: np.ndarray = field(default_factory=lambda: np.zeros(0), repr=False)
    estimator: Estimator = field(default=Estimator(), repr=False)

    @property
    def relative_standard_errors(self) -> np.ndarray:
        """Standard errors divided by the magnitudes of the values, (b,)."""
        return self.standard_errors / np.maximum(np.abs(self.base_parameters), np.finfo(float).tiny)

    @cached_property
    def essential(self) -> EssentialParameters:
        """The base parameters that the data distinguish from zero, with the others set to zero."""
        return essential_parameters(self.base_parameters, self.covariance)

    @property
    def link_names(self) -> tuple[str, ...]:
        """Bodies of the link parameters."""
        return tuple(name for name, _ in self.nominal_robot.system.parameter_bodies)

    @property
    def link_parameters(self) -> np.ndarray:
        """Inertial parameters of each link, (links, 10)."""
        return self.parameters[: 10 * len(self.link_names)].reshape(-1, 10)

    @property
    def consistent(self) -> np.ndarray:
        """Whether each link is physically consistent, (links,)."""
        return is_consistent(self.link_parameters)

    @property
    def mass_notes(self) -> tuple[str, ...]:
        """Which links' masses a physical fit determines, and which are the prior's."""
        if self.mass_errors is None:
            return ()
        masses, names = self.link_parameters[:, 0], self.link_names
        ratio = self.mass_errors / (2.0 * self.estimator.prior_std * masses)  # the mass is e^2θ of the prior's
        unknown = [name for name, each in zip(names, ratio, strict=True) if each > UNDETERMINED]
        if not unknown:
            return ("The motion determines the mass of every link.",)
        return (f"Not determined by the motion, masses of the prior: {', '.join(unknown)}.",)

    @cached_property
    def robot(self) -> Robot:
        """The robot with the identified parameters. Links that are not consistent raise `IdentificationError`."""
        robot = self.nominal_robot
        if not isinstance(robot, Robot):
            raise IdentificationError(
                f"{robot.name!r} is a {type(robot).__name__}: its links are determined in combinations only. Use `predict`, or "
                "the base parameters."
            )
        return identified_robot(robot, self.terms, self.parameters)

    def value(self, name: str) -> tuple[float, float]:
        """Value and standard error of the base parameter of a column, such as `"fv[joint1]"`."""
        names = [self.base.names[k] for k in self.base.independent]
        k = names.index(require_choice("base parameter", name, names))
        return float(self.base_parameters[k]), float(self.standard_errors[k])

    def predict(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> np.ndarray:
        """Actuator forces along a motion, friction and offsets included, (..., nv). [N m, N]"""
        return base_regressor(self.nominal_robot, self.base, self.terms, q, qd, qdd) @ self.base_parameters

    def prediction_std(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> np.ndarray:
        """Standard deviation of measured forces about `predict`: noise and uncertainty of the parameters, (..., nv)."""
        K = base_regressor(self.nominal_robot, self.base, self.terms, q, qd, qdd)
        return np.sqrt(np.einsum("...b,bc,...c->...", K, self.covariance, K) + self.sigma**2)

    def validate(self, recording: Recording | tuple[ArrayLike, ArrayLike, ArrayLike]) -> Validation:
        """Relative errors of the predicted forces along another recording of the same kind as those of the fit.

        It is cleaned and filtered like these; see `Validation` for the two errors.
        """
        rows, cleaned = self.observe(recording)
        measured, expected, _ = rows.predict_raw(self.base_parameters)
        predicted, kept, names = rows.predict(self.base_parameters), rows.trusted, self.nominal_robot.actuator_names
        return Validation(
            RelativeError.of(names, measured, expected), RelativeError.of(names, rows.forces[kept], predicted[kept]),
            rows.t, rows.forces, predicted, cleaned.findings,
        )  # fmt: skip

    def observe(
        self, recording: Recording | tuple[ArrayLike, ArrayLike, ArrayLike], extra: Any = None, extra_count: int = 0
    ) -> tuple[Observations, CleanRecording]:
        """Rows of another recording of the same kind, with the filter and lag of the fit; `extra` as in `Observations`."""
        robot = self.nominal_robot
        (given,) = as_recordings(recording)
        cleaned = clean_recording(robot, at_joints(robot, given, self.transmission))
        segments = [without_lag(segment, self.lag) for segment in cleaned.segments]
        decimation = Decimation.of(default_decimation(self.cutoff, segments))
        motions = usable_motions(robot, segments, self.cutoff, decimation)
        holdout = Holdout(every=0)
        return Observations(
            robot, self.terms, self.base, motions, decimation.factor, holdout, extra, extra_count
        ), cleaned

    def to_urdf(self, path: str | PathLike | None = None) -> str:
        """The robot with the identified parameters as URDF text, also written to `path` if one is given.

        A comment lists what URDF has no place for: offsets and other terms, and the rotor inertias for programs that do not read
        this library's attribute.
        """
        text = self.robot.to_urdf() + urdf_comment(self.base.names, self.parameters, 10 * len(self.link_names))
        if path is not None:
            write_text(path, text)
        return text

    def plot(self, path: str | PathLike | None = None) -> Any:
        """Measured and predicted forces of every joint over time, held-out samples shaded. Needs matplotlib.

        Returns:
            The `matplotlib.figure.Figure`.
        """
        from appell.identification.report import force_figure

        return force_figure(self, path)

    def report(self, path: str | PathLike, validations: Mapping[str, Validation] | None = None) -> None:
        """Write one HTML page: errors, parameters with their uncertainty, formulas, figures; also of validations by name."""
        from appell.identification.report import report

        report(self, validations or {}).write(path)

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
        errors = (self.relative_error, self.raw_error, self.cross_validation, self.training_error)
        rows = [
            (name, *(100 * error.joints[name] for error in errors), float(s), float(c))
            for name, s, c in zip(self.relative_error.joints, self.sigma, self.correlation, strict=True)
        ]
        total = ("all", *(100 * error.total for error in errors), None, None)
        samples = "held out" if self.holdout_mask.any() else "fitted"
        columns = (
            "joint", f"{samples}, filtered [%]", f"{samples}, as recorded [%]", "cross-validation, filtered [%]",
            "training, filtered [%]", "residual σ [N m, N]", "correlated samples",
        )  # fmt: skip
        notes = (
            "Filtered: forces and predictions passed the same low-pass filter. As recorded: no filter on the forces.",
            f"Cross-validation: each {'recording' if len(self.recordings) >= 3 else 'fifth of the recording'} is predicted from "
            "the others.",
        )
        return Table("Relative error of the predicted forces", columns, (*rows, total), notes)

    def essential_table(self) -> Table:
        """The essential base parameters when all others are zero."""
        found = self.essential
        errors = np.sqrt(np.maximum(np.diag(found.covariance), 0.0))
        rows = tuple(
            (name, float(value), float(error), float(100 * error / abs(value)))
            for name, value, error, kept in zip(self.base.base_names, found.values, errors, found.kept, strict=True)
            if kept
        )
        note = (
            f"{len(rows)} of {len(self.base)} base parameters; without the others the squared residuals grow by "
            f"{found.statistic:.3g} of their noise for each, not significant below {found.limit:.3g} (F-test)."
        )
        columns = ("essential parameter", "value", "standard error", "relative [%]")
        return Table("Essential parameters [SI units]", columns, rows, (note,))

    def findings_table(self) -> Table:
        """What is doubtful about data or result, with evidence and remedy."""
        rows = tuple((each.kind, each.where, each.evidence, each.remedy) for each in self.findings)
        notes = () if rows else ("None.",)
        return Table("Findings", ("finding", "where", "evidence", "remedy"), rows, notes)

    @property
    def notes(self) -> tuple[str, ...]:
        """Method, samples, filter and condition number, in a few sentences."""
        bias = "interleaved samples" if isinstance(self.estimator.instruments, str) else "the commanded coordinates"
        least = "Least squares" if self.estimator.instruments is None else f"Instrumental variables from {bias}"
        method = "Every link is physically consistent." if self.physical else f"{least} in the base parameters."
        samples = f"{len(self.t)} samples, {int(self.holdout_mask.sum())} of them held out"
        smooth = "not filtered" if self.cutoff is None else f"filtered at {self.cutoff:.4g} Hz"
        condition = f"condition number {self.condition_number:.4g}"
        return (f"{method} {samples}, {smooth}; {condition}.", f"{self.base.certificate}.")

    def __str__(self) -> str:
        found = [str(each) for each in self.findings]
        doubts = "\n".join(["Findings:", *found]) if found else "Findings: none."
        return "\n\n".join([str(self.error_table()), str(self.table()), "\n".join(["Steps:", *self.steps]), doubts])
