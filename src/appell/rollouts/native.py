"""Rollouts on the CPU: one compiled loop, or a batch call for every step, which defines what the kernels compute.

In the loop a SIMD lane is a robot, and its state stays in fast memory for all steps.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np

from appell.algorithms.coordinate_rates import coordinate_rates, normalize_quaternions
from appell.algorithms.function_spec import Signature
from appell.algorithms.laws import Signals, Vector
from appell.arrays import require_unit_quaternions
from appell.checks import require_finite
from appell.compiler.fingerprint import source_digest
from appell.compiler.lowering import StraightLine
from appell.compiler.provider import Kernel
from appell.compiler.targets.llvm.build import Builder
from appell.compiler.targets.llvm.ir import Real
from appell.compiler.targets.llvm.library import Library
from appell.compiler.targets.llvm.rollout import rollout_text
from appell.compiler.targets.llvm.step import Sizes
from appell.compiler.targets.llvm.target import CpuTarget
from appell.errors import ArgumentError
from appell.model.joint_friction import JointFriction
from appell.robot.compiled import CompiledRobot
from appell.rollouts.integrators import INTEGRATORS, Integrator
from appell.rollouts.plan import RolloutPlan, empty_states, join_columns, signal_rows, split_states, state_rows

LONGEST = 40_000
"""Operations of a rate beyond which a batch call for every step, whose kernels may be rolled, is as fast and sooner ready."""
OPERATIONS_PER_CALL = 200_000_000
"""Operations of the longest call, about a hundredth of a second: signals are handled between calls."""
LONGEST_CALLS = 10
"""How many of these 64 robots may take where all steps are one call: signals are handled between 64 robots and the next."""
SETTINGS_BYTES = 48
"""Size of SETTINGS of a rollout."""
MIN_LANES, MAX_LANES = 8, 64
"""Robots that take as long as one does, and robots that one thread computes at a time."""


class BatchModel:
    """A compiled robot for control laws, which work on lists of lanes."""

    def __init__(self, dyn: CompiledRobot, parameters: np.ndarray | None) -> None:
        self.dyn = dyn
        self.axis = 0 if dyn.options.layout == "columns" else -1
        self.options = {"check": False, "parameters": None if parameters is None else self.joined([*parameters.T])}

    def inverse_dynamics(self, q: Vector, qd: Vector, qdd: Vector) -> Vector:
        return self.lanes(self.dyn.inverse_dynamics(*map(self.joined, (q, qd, qdd)), **self.options))

    def forward_dynamics(self, q: Vector, qd: Vector, tau: Vector) -> Vector:
        return self.lanes(self.dyn.forward_dynamics(*map(self.joined, (q, qd, tau)), **self.options))

    def gravity(self, q: Vector) -> Vector:
        return self.lanes(self.dyn.gravity(self.joined(q), **self.options))

    def mass_matrix(self, q: Vector) -> list[Vector]:
        M = self.dyn.mass_matrix(self.joined(q), **self.options)
        return [list(row) for row in (M if self.axis == 0 else np.moveaxis(M, (-2, -1), (0, 1)))]

    def joined(self, lanes: Vector) -> np.ndarray:
        return np.stack(np.broadcast_arrays(*lanes), axis=self.axis).astype(self.dyn.options.dtype, copy=False)

    def lanes(self, array: np.ndarray) -> Vector:
        return list(np.moveaxis(array, self.axis, 0))


class BatchRolloutModel:
    """A `RolloutModel`: the robot under its control law."""

    def __init__(self, model: BatchModel, plan: RolloutPlan, signals: Signals, gains: Signals) -> None:
        self.model, self.plan, self.signals, self.gains = model, plan, signals, gains
        self.friction = cast(JointFriction, model.dyn.friction)

    def coordinate_rates(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        qd, joints = v[: self.plan.nv], self.plan.quasi_velocity_joints
        return np.array(coordinate_rates(joints, [*q], [*qd])) if joints else qd

    def velocity_rates(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        joints, nv = self.plan.joints, self.plan.nv
        law, size = joints.applied(self.plan.law), joints.size(self.plan.law)
        qd, memories = v[:nv], v[nv:].reshape(-1, size, v.shape[-1])
        memory = {name: [*vector] for name, vector in zip(law.memory, memories, strict=True)}
        tau = law.torque(self.model, [*q], [*qd], self.signals, self.gains, memory)
        if self.plan.passive_forces:
            tau = [a + b for a, b in zip(tau, self.friction.forces(q.T, qd.T).T, strict=True)]
        qdd = self.model.forward_dynamics([*q], [*qd], tau)
        rates = law.rates([*q], [*qd], self.signals)
        return np.array([*qdd, *(lane for name in law.memory for lane in rates[name])])


def run_steps(dyn: CompiledRobot, plan: RolloutPlan) -> tuple[np.ndarray, np.ndarray]:
    """q and qd, (..., T, n), or (n, T, ...) in columns."""
    dtype = dyn.options.dtype
    result, saved = empty_states(np, plan, dtype)
    q, qd = (
        np.broadcast_to(state_rows(np, x, plan), (len(saved), x.shape[0 if plan.columns else -1])).T for x in plan.start
    )
    v = np.concatenate([qd, np.zeros((plan.memory, len(saved)), dtype)])
    gains = {name: [*state_rows(np, x, plan).T] for name, x in plan.gains.items()}
    signals = {name: signal_rows(np, x, plan) for name, x in plan.signals.items()}
    model = BatchModel(dyn, None if plan.parameters is None else state_rows(np, plan.parameters, plan))
    step = INTEGRATORS[plan.integrator].step
    for k in range(plan.steps):
        values = {name: [*x[:, k // plan.hold].T] for name, x in signals.items()}
        q, v = step(BatchRolloutModel(model, plan, values, gains), q, v, plan.dt)
        q = np.array(normalize_quaternions(plan.quasi_velocity_joints, [*q])) if plan.quasi_velocity_joints else q
        if (k + 1) % plan.save_every == 0:
            saved[:, k // plan.save_every, : plan.nq] = q.T
            saved[:, k // plan.save_every, plan.nq :] = v[: plan.nv].T
    return split_states(result, plan)


def run(dyn: CompiledRobot, plan: RolloutPlan, check: bool) -> tuple[np.ndarray, np.ndarray]:
    """q and qd, (..., T, n), or (n, T, ...) in columns."""
    plan = with_numbers(plan, dyn.options.dtype)
    if check:
        plan.with_arrays(require_finite)
        plan.require_unit_quaternions(np, require_unit_quaternions)
    library = _library(dyn, plan)
    return run_steps(dyn, plan) if library is None else _compiled(dyn, plan, library)


def source(dyn: CompiledRobot, plan: RolloutPlan, rule: Integrator, real: Real) -> str | None:
    """LLVM IR of a rollout, or None where straight-line code would be too long."""
    listed = dyn.state_rate(plan.law, plan.passive_forces, plan.runtime_parameters)[1]()
    if len(listed.operations) > LONGEST:
        return None
    return rollout_text(StraightLine(listed), real, rule.tableau, sizes_of(plan), plan.quaternions)


def sizes_of(plan: RolloutPlan) -> Sizes:
    """Those of a plan with arrays."""
    return Sizes(plan.nq, plan.nv, plan.state_size, plan.signal_count, plan.constant_count)


def builder_of(dyn: CompiledRobot) -> Builder | None:
    """Makes native code for the CPU, also of robots compiled for a GPU; None where LLVM does not run."""
    return CpuTarget(dyn.options).builder


def _library(dyn: CompiledRobot, plan: RolloutPlan) -> Library | None:
    """The compiled loop, or None where LLVM does not run, the robot is too long, or its file does not have the law."""
    builder = builder_of(dyn)
    if builder is None or not dyn.functions.provider.has_rate(plan.law, plan.runtime_parameters):
        return None
    rule = INTEGRATORS[plan.integrator]
    rate = dyn.state_rate(plan.law, plan.passive_forces, plan.runtime_parameters)[0]
    name = builder.name("rollout", rate, rule.name, plan.quasi_velocity_joints, source_digest(Path(__file__).parent))

    def build() -> Library | None:
        found = builder.cached(name, "batch")
        text = None if found else source(dyn, plan, rule, builder.real)
        return builder.compiled(name, "batch", text) if text else found

    return dyn.functions.program(name, build)


def _compiled(dyn: CompiledRobot, plan: RolloutPlan, library: Library) -> tuple[np.ndarray, np.ndarray]:
    """A rollout in as few calls as signals allow; one that starts where another ended gives the same bits."""
    dtype, stages = np.dtype(dyn.options.dtype), INTEGRATORS[plan.integrator].stages
    result, seen = empty_states(np, plan, dtype)
    signals = join_columns(np, [signal_rows(np, x, plan) for x in plan.signals.values()], 3, dtype)
    constants = join_columns(np, [state_rows(np, x, plan) for x in plan.constants], 2, dtype)
    q, qd = (state_rows(np, x, plan) for x in plan.start)
    longest = longest_call(library, stages, len(seen))
    steps, every, hold = plan.last, plan.save_every, plan.hold
    sizes = (plan.nq, plan.nv, signals.shape[-1], constants.shape[-1], SETTINGS_BYTES // dtype.itemsize)
    signature = Signature(tuple((str(k), size) for k, size in enumerate(sizes)), (plan.nq + plan.nv,))
    kernel = library.kernel(signature, dtype.name, dyn.options.threads, min(steps, longest) * stages)
    portions = [(0, steps)] if plan.memory else step_portions(steps, longest, every, hold)
    for first, last in portions:
        counts = last - first, min(every, last - first), hold
        settings = settings_of(counts, (signals, seen), plan.dt, dtype.name)
        given = (q, qd, signals[:, first // hold], constants, settings)
        inputs = tuple(np.broadcast_to(array, (len(seen), array.shape[-1])) for array in given)
        if last - first > longest:
            run_interruptible(kernel, inputs, seen[:, 0])
        else:
            kernel.run(inputs, seen[:, first // every])
        end = seen[:, (last - 1) // every]
        q, qd = end[:, : plan.nq], end[:, plan.nq :]
    return split_states(result, plan)


def run_at_once(
    dyn: CompiledRobot, plan: RolloutPlan, library: Library, inputs: Sequence[np.ndarray], out: np.ndarray
) -> None:
    """All steps in one call: inputs (N, n) or, shared by all robots, (1, n), and a result (N, m)."""
    stages = INTEGRATORS[plan.integrator].stages
    signature = Signature(tuple((str(k), array.shape[-1]) for k, array in enumerate(inputs)), (out.shape[-1],))
    kernel = library.kernel(signature, dyn.options.dtype, dyn.options.threads, plan.last * stages)
    rows = tuple(np.broadcast_to(array, (len(out), array.shape[-1])) for array in inputs)
    if plan.last > LONGEST_CALLS * longest_call(library, stages, len(out)):
        run_interruptible(kernel, rows, out)
    else:
        kernel.run(rows, out)


def step_portions(steps: int, longest: int, every: int, hold: int) -> Iterator[tuple[int, int]]:
    """First step and end of portions of at most `longest` steps.

    A kernel counts steps from its first one. So a portion that does not begin with a saved state (`every`) or a new signal
    (`hold`) ends with the next one at the latest, and one with several saved states ends with one.
    """
    common = math.lcm(every, hold)
    if common <= longest:
        longest -= longest % common
    first = 0
    while first < steps:
        last = min(first + longest, steps, *(first - first % each + each for each in (every, hold) if first % each))
        if last - first > every:
            last -= last % every
        yield first, last
        first = last


def run_interruptible(kernel: Kernel, inputs: tuple[np.ndarray, ...], out: np.ndarray) -> None:
    """Run a kernel in another thread, so that this one handles signals. After an error the kernel still runs to its end."""
    errors: list[BaseException] = []

    def run() -> None:
        try:
            kernel.run(inputs, out)
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(0.1)
    if errors:
        raise errors[0]


def longest_call(library: Library, stages: int, robots: int) -> int:
    """Steps of the longest call that does not keep signals waiting."""
    lanes = min(max(robots, MIN_LANES), MAX_LANES)
    return max(OPERATIONS_PER_CALL // max(library.cost * stages * lanes, 1), 1)


def settings_of(counts: Sequence[int], arrays: Sequence[np.ndarray], dt: float, dtype: str) -> np.ndarray:
    """SETTINGS of a kernel, bit for bit, as numbers of its type: counts, then from one time to the next of arrays (N, T, n)."""
    times = (array.strides[1] // array.itemsize for array in arrays)
    whole = np.array([*counts, *times], np.int64)
    return np.frombuffer(whole.tobytes() + np.float64(dt).tobytes(), dtype)[None]


def with_numbers(plan: RolloutPlan, dtype: str) -> RolloutPlan:
    """The same with arrays of this type that kernels can read."""

    def numbers(name: str, value: Any) -> np.ndarray:
        array = np.asarray(value)
        if array.dtype.kind not in "fiub":
            raise ArgumentError(f"{name} must be an array of real numbers, got {type(value).__name__}.")
        return np.require(array, dtype, ["ALIGNED"])

    return plan.with_arrays(numbers)
