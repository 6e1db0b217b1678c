"""What an identification found."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from appell.identification.accuracy import RelativeError
from appell.identification.base import BaseParameters
from appell.identification.naming import of_links
from appell.identification.pseudo_inertia import is_consistent
from appell.robot.regressor_terms import RegressorTerm, append_terms
from appell.table import Table

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from appell.robot.robot import Robot


@dataclass(frozen=True)
class Identification:
    """Parameters of a robot found from its recorded motion; made by `appell.identify`.

    Attributes:
        source: the robot as it was described.
        blocks: columns beside the inertial parameters.
        base: which parameters motion and torque can tell, b of p.
        parameters: all parameters Φ, (p,): those nearest to the description's that have the base parameters found.
        base_parameters: the values found, (b,), in the order of `base.base_names`.
        standard_errors: of these, (b,); residuals that follow each other closely count as fewer samples.
        white_standard_errors: the same as if residuals were independent, as they are often published, (b,).
        relative_error: of the predicted forces on samples that were held out (of all where none were).
        training_error: the same on the samples of the fit.
        condition: condition number of the weighted regressor, columns of unit length.
        sigma: standard deviation of each speed's residuals. [N m, N]
        correlation: samples in a row that are worth one, for each speed.
        physical: whether every link is a body that can exist.
        cutoff: of the filter, None for no filter. [Hz]
        t, measured, predicted, held: times (n,), forces (n, nv) and which samples were held out of the fit.

    Example:
        >>> import appell, numpy as np
        >>> arm = appell.load("planar2r")
        >>> t = np.arange(0.0, 10.0, 0.005)
        >>> q, qd, qdd = appell.excitation(arm, 5.0, 3, iterations=0)(t)
        >>> found = appell.identify(arm, t, q, arm.inverse_dynamics(q, qd, qdd) + 0.3 * qd)
        >>> value, error = found.value("fv[joint1]")
        >>> bool(abs(value - 0.3) < 1e-3), found.relative_error.total < 1e-3
        (True, True)
    """

    source: Robot
    blocks: tuple[RegressorTerm, ...] = field(repr=False)
    base: BaseParameters = field(repr=False)
    parameters: np.ndarray = field(repr=False)
    base_parameters: np.ndarray = field(repr=False)
    standard_errors: np.ndarray = field(repr=False)
    white_standard_errors: np.ndarray = field(repr=False)
    relative_error: RelativeError
    training_error: RelativeError
    condition: float
    sigma: np.ndarray = field(repr=False)
    correlation: np.ndarray = field(repr=False)
    prior: np.ndarray = field(repr=False)
    physical: bool
    cutoff: float | None
    t: np.ndarray = field(repr=False)
    measured: np.ndarray = field(repr=False)
    predicted: np.ndarray = field(repr=False)
    held: np.ndarray = field(repr=False)

    @property
    def relative_standard_errors(self) -> np.ndarray:
        """Standard errors divided by the sizes of the values, (b,)."""
        return self.standard_errors / np.maximum(np.abs(self.base_parameters), np.finfo(float).tiny)

    @property
    def consistent(self) -> np.ndarray:
        """Whether each link, with `parameters`, is a body that can exist, (links,)."""
        return is_consistent(self.parameters[: 10 * len(self.source.tree.links)].reshape(-1, 10))

    @cached_property
    def robot(self) -> Robot:
        """The robot with the parameters found. Links that cannot exist raise `IdentificationError`."""
        from appell.identification.robots import identified_robot

        return identified_robot(self.source, self.blocks, self.parameters)

    def value(self, name: str) -> tuple[float, float]:
        """Value and standard error of the base parameter that belongs to a column, such as `"fv[joint1]"`."""
        from appell.errors import ArgumentError, unknown_name_message

        names = [self.base.names[k] for k in self.base.independent]
        if name not in names:
            raise ArgumentError(unknown_name_message("base parameter", name, names))
        k = names.index(name)
        return float(self.base_parameters[k]), float(self.standard_errors[k])

    def predict(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> np.ndarray:
        """Forces of the drives along a motion, friction and offsets included, (..., nv). [N m, N]"""
        K = append_terms(of_links(self.source, self.source.regressor(q, qd, qdd)), self.blocks, q, qd, qdd)
        return K[..., list(self.base.independent)] @ self.base_parameters

    def to_urdf(self, path: str | PathLike | None = None) -> str:
        """The robot with the parameters found as URDF text, also written to `path` if one is given."""
        return self.robot.to_urdf(path)

    def plot(self, path: str | PathLike | None = None) -> Any:
        """Measured and predicted forces of every joint over time, samples held out shaded. Needs matplotlib.

        Returns:
            The `matplotlib.figure.Figure`.
        """
        from appell.identification.plot import plot

        return plot(self, path)

    def report(self, path: str | PathLike) -> None:
        """Write everything to one HTML page: errors, parameters with their uncertainty, formulas, pictures."""
        from appell.identification.report import report

        report(self).write(path)

    def table(self) -> Table:
        """Base parameters with their standard errors, and what the description says."""
        own = self.base.of(self.prior)
        rows = tuple(
            (name, float(value), float(error), float(100 * relative), float(prior))
            for name, value, error, relative, prior in zip(
                self.base.base_names, self.base_parameters, self.standard_errors, self.relative_standard_errors, own,
                strict=True,
            )
        )  # fmt: skip
        columns = ("base parameter", "value", "standard error", "relative [%]", "description")
        return Table(f"{self.source.name}: base parameters [SI units]", columns, rows, self.notes)

    def error_table(self) -> Table:
        """Relative errors of the predicted forces, per joint and in all."""
        rows = [
            (name, 100 * self.relative_error.joints[name], 100 * self.training_error.joints[name], float(s), float(c))
            for name, s, c in zip(self.relative_error.joints, self.sigma, self.correlation, strict=True)
        ]
        total = ("all", 100 * self.relative_error.total, 100 * self.training_error.total, None, None)
        where = "held out [%]" if self.held.any() else "fitted [%]"
        columns = ("joint", where, "training [%]", "residual σ [N m, N]", "samples worth one")
        return Table("Relative error of the predicted forces", columns, (*rows, total))

    @property
    def notes(self) -> tuple[str, ...]:
        """How it was found, in a few sentences."""
        kind = "Every link is a body that can exist." if self.physical else "Least squares in the base parameters."
        samples = f"{len(self.t)} samples, {int(self.held.sum())} of them held out"
        smooth = "not filtered" if self.cutoff is None else f"filtered at {self.cutoff:.4g} Hz"
        return (f"{kind} {samples}, {smooth}; condition number {self.condition:.4g}.", f"{self.base.certificate}.")

    def __str__(self) -> str:
        return f"{self.error_table()}\n\n{self.table()}"
