"""The result of a rollout, with its derivatives."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

import numpy as np

from appell.errors import ArgumentError
from appell.robot.compiled import CompiledRobot
from appell.rollouts.adjoint import RolloutGradient, rollout_vjp
from appell.rollouts.plan import RolloutPlan
from appell.rollouts.plot import RolloutStates
from appell.rollouts.sensitivity import rollout_jvp


class Rollout(RolloutStates):
    """Times (T,) [s], configurations and velocities (..., T, n), or (n, T, ...) in columns, of the saved states."""

    _source: tuple[CompiledRobot, RolloutPlan] | None = None

    @classmethod
    def of(cls, t: np.ndarray, q: Any, qd: Any, dyn: CompiledRobot, plan: RolloutPlan) -> Rollout:
        """The result of a plan."""
        result = cls(t, q, qd)
        result._source = dyn, plan.with_arrays(lambda name, value: deepcopy(value))  # the caller may change its arrays
        return result

    def __reduce__(self) -> tuple[Any, ...]:
        return Rollout, tuple(self)

    def jvp(
        self,
        q0: Any = None,
        qd0: Any = None,
        controls: Any = None,
        *,
        gains: Mapping[str, Any] | None = None,
        parameters: Any = None,
    ) -> RolloutStates:
        """Changes of the states to first order, from changes of the arguments of the rollout (forward sensitivity).

        The states and their changes take all steps inside one compiled loop on the CPU.

        Args:
            q0, qd0, controls, gains, parameters: directions, of the shapes of the arguments of `appell.rollout` or broadcast to
                them; zero where they are not given. The one of q0 is a generalized velocity (..., nv). Those of q0 and qd0 may
                be given by name. Parameters can be changed where they were given.

        Returns:
            States with the same times, and directions in place of q and qd. NumPy arrays.

        Example:
            >>> import appell
            >>> dyn = appell.compile(appell.load("planar2r"))
            >>> motion = appell.rollout(dyn, [0.3, 0.1], [0.0, 0.0], steps=50, dt=1e-3)
            >>> motion.jvp(qd0=[1.0, 0.0]).q[-1, 0].round(3).item()
            0.05
        """
        dyn, plan = self._origin()
        named = controls if isinstance(controls, Mapping) else {plan.law.signals[0]: controls}
        if not isinstance(gains, Mapping | None):
            raise ArgumentError(f"gains is {gains!r}, expected directions by name: {', '.join(plan.gains) or 'none'}.")
        start = {name: dyn.vector(f"tangent of {name}", value) for name, value in (("q0", q0), ("qd0", qd0))}
        given = {**start, **named, **(gains or {}), "parameters": parameters}
        q, qd = rollout_jvp(dyn, plan, {name: value for name, value in given.items() if value is not None})
        return RolloutStates(self.t, q, qd)

    def vjp(self, q: Any = None, qd: Any = None) -> RolloutGradient:
        """Gradient of a weighted sum of the states in all arguments of the rollout (adjoint).

        With the gradient of a loss in the states as weights, this is the gradient of the loss. All steps run inside one compiled
        loop, forward and back. On the CPU every thread keeps up to 4 MB of states, or those of about 2 √T of T steps where these
        are more, and takes the other steps again. On a GPU all states are in memory, for as many robots at a time as fit.

        Args:
            q, qd: weights of the saved states, of the shapes of `q` and `qd`; zero where they are not given.

        Returns:
            Gradients in arrays of the shapes of the arguments, but with nv entries for q0: named tuple (q0, qd0, controls, gains,
            parameters). NumPy arrays, or arrays of the library whose arrays on a GPU were given.

        Example:
            >>> import appell, numpy as np
            >>> dyn = appell.compile(appell.load("planar2r"))
            >>> motion = appell.rollout(dyn, [0.3, 0.1], [0.0, 0.0], [0.0, 0.0], steps=50, dt=1e-3)
            >>> last = np.zeros_like(motion.q)
            >>> last[-1, 0] = 1.0  # the first joint at the end
            >>> gradient = motion.vjp(q=last)
            >>> gradient.qd0[0].round(3).item(), gradient.controls["tau"].shape
            (0.05, (2,))
        """
        return rollout_vjp(*self._origin(), q, qd)

    def _origin(self) -> tuple[CompiledRobot, RolloutPlan]:
        if self._source is None:
            raise ArgumentError(
                "a rollout that was copied or loaded has no derivatives. Use the result of appell.rollout."
            )
        return self._source
