"""Options of `appell.simulate` that are rarely changed, in two groups."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from appell.checks import require_in_range, require_integer, require_positive
from appell.errors import ArgumentError
from appell.simulation.contact.surfaces.surface import require_restitution
from appell.simulation.integrators import METHODS, method_named


@dataclass(frozen=True)
class Integration:
    """Integrator of `appell.simulate` with its settings.

    Attributes:
        method: adaptive (SciPy's): `"DOP853"`, `"RK45"`, `"RK23"`, `"Radau"`, `"BDF"` or `"LSODA"`; fixed step:
            `"semi_implicit_euler"`, `"rk4"` or `"midpoint"` (symplectic, second order).
        rtol, atol: relative and absolute tolerance of adaptive integrators; atol = rtol by default, at least 1e-20.
        max_step: their longest step. [s]
        dt: step of fixed-step integrators, 1e-3 by default. [s]
        progress: whether to show the progress of a long run; by default where stderr is a terminal.

    Example:
        >>> import appell
        >>> arm = appell.load("planar2r")
        >>> motion = appell.simulate(arm, [0.5, 0], [0, 0], 1.0, method=appell.Integration("rk4", dt=0.01))
        >>> len(motion)
        101
    """

    method: str = "DOP853"
    rtol: float = 1e-9
    atol: float | None = None
    max_step: float = math.inf
    dt: float | None = None
    progress: bool | None = None

    def __post_init__(self) -> None:
        method = method_named(self.method)
        require_positive("rtol", self.rtol)
        require_positive("max_step", self.max_step, infinite=True)
        if self.atol is not None:
            require_in_range("atol", self.atol)
        if self.dt is not None and not method.fixed:
            fixed = ", ".join(name for name, method in METHODS.items() if method.fixed)
            raise ArgumentError(
                f"dt is given, but {method.name} chooses its steps itself. Give max_step or t_eval, or one of the methods "
                f"{fixed}."
            )
        if self.dt is not None:
            require_positive("dt", self.dt)


@dataclass(frozen=True)
class ContactOptions:
    """Contact between a robot and the surfaces of `appell.simulate`.

    Attributes:
        points: names of the frames whose origins can touch surfaces; joint origins and tips by default.
        restitution: Newton's coefficient, from 0 to 1, of surfaces without their own.
        simultaneity_gap: gap up to which approaching points take part in the impact of another point, unless they need
            longer than this gap takes at 0.1 m/s. The default follows the accuracy of the integration: 100 rtol times 1 m,
            at least 1e-9. [m]
        max_impacts: number of impacts after which the run stops with the status `"too many impacts"`.

    Example:
        >>> import appell
        >>> tree, wall = appell.load("shafei_tree"), appell.surfaces.Circle(radius=2.5)
        >>> contact = appell.ContactOptions(points=["O5"], restitution=0.5)
        >>> appell.simulate(tree, *tree.initial_state, 0.6, surfaces=wall, contact=contact).impacts[0].points
        ('O5',)
    """

    points: Sequence[str] | None = None
    restitution: float | None = 1.0
    simultaneity_gap: float | None = None
    max_impacts: int = 100_000

    def __post_init__(self) -> None:
        if isinstance(self.points, str):
            raise ArgumentError(
                f"points is the text {self.points!r}, expected a sequence of frame names, as in [{self.points!r}]."
            )
        if self.restitution is not None:
            require_restitution("restitution", self.restitution)
        if self.simultaneity_gap is not None:
            require_positive("simultaneity_gap", self.simultaneity_gap)
        require_integer("max_impacts", self.max_impacts)
