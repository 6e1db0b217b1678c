"""Compiled derivatives of rollouts against those that are taken step by step, without native code."""

from __future__ import annotations

from itertools import cycle

import numpy as np
import pytest
from helpers.closeness import assert_close
from helpers.joint_trees import MOVING_KINDS, mixed_tree, tree_of

import appell
from appell.rollouts import native_derivatives
from appell.rollouts.integrators import INTEGRATORS

ROBOTS = {**{kind: (lambda kind=kind: tree_of(kind)) for kind in MOVING_KINDS}, "mixed": lambda: mixed_tree(5, 268)}
LAYOUTS, SHAPES, DTYPES = ("rows", "columns", "columns", "rows"), ((11,), (), (3, 3)), ["float64"] * 4 + ["float32"]
CASES = list(zip(ROBOTS, cycle(INTEGRATORS), cycle(LAYOUTS), cycle(SHAPES), cycle(DTYPES), strict=False))


def motion_of(robot, integrator="rk4", layout="rows", shape=(), dtype="float64", steps=7, **more) -> appell.Rollout:
    """A rollout of random states and torques, which change within the intervals of saved states."""
    rng, columns = np.random.default_rng(1), layout == "columns"
    q0 = np.reshape([robot.random_configuration(rng) for _ in range(int(np.prod(shape)))], (*shape, robot.nq))
    qd0, tau = rng.normal(size=(*shape, robot.nv)), rng.normal(size=(*shape, -(-steps // 3), robot.nv))
    if columns:
        q0, qd0, tau = np.moveaxis(q0, -1, 0), np.moveaxis(qd0, -1, 0), np.moveaxis(tau, (-1, -2), (0, 1))
    dyn = appell.compile(robot, layout=layout, dtype=dtype, **more)
    options = appell.RolloutOptions(integrator)
    return appell.rollout(dyn, q0, qd0, tau, steps=steps, dt=2e-3, control_every=3, save_every=2, options=options)


def derivatives(motion: appell.Rollout, seed: int = 2) -> list[np.ndarray]:
    """The adjoint of random weights, then the forward sensitivity to random directions of q0, qd0 and torques."""
    rng = np.random.default_rng(seed)
    gradient = motion.vjp(rng.normal(size=motion.q.shape), rng.normal(size=motion.qd.shape))
    adjoint = [gradient.q0, gradient.qd0, gradient.controls["tau"]]
    along = motion.jvp(*(rng.normal(size=each.shape) for each in adjoint))
    return [*adjoint, along.q, along.qd]


def assert_all_close(found: list[np.ndarray], expected: list[np.ndarray], tolerance: float) -> None:
    for a, b in zip(found, expected, strict=True):
        assert a.dtype == b.dtype
        assert_close(a, b, tolerance=tolerance, scale=float(np.abs(b).max()))


@pytest.mark.parametrize(("name", "integrator", "layout", "shape", "dtype"), CASES)
def test_kernels_compute_what_single_steps_do(name, integrator, layout, shape, dtype, monkeypatch) -> None:
    motion = motion_of(ROBOTS[name](), integrator, layout, shape, dtype)
    found = derivatives(motion)
    monkeypatch.setenv("APPELL_NATIVE", "0")
    assert_all_close(found, derivatives(motion), 2000 * float(np.finfo(dtype).eps))


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_steps_that_are_taken_again_give_the_same_bits(integrator, monkeypatch) -> None:
    """Segments of 5 steps, the last one shorter, in place of one segment; torques change within them."""
    motion = motion_of(mixed_tree(4, 29), integrator, shape=(9,), steps=24)
    once = derivatives(motion)
    monkeypatch.setattr(native_derivatives, "SEGMENT", 0)
    for found, expected in zip(derivatives(motion), once, strict=True):
        np.testing.assert_array_equal(found, expected)


def test_threads_do_not_change_a_bit() -> None:
    robot = appell.load("planar2r")
    one, two = (derivatives(motion_of(robot, shape=(500,), steps=200, threads=threads)) for threads in (1, 2))
    for found, expected in zip(one, two, strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("law", ["integral_tracking", "computed_torque"])
def test_memory_gains_and_parameters(law, monkeypatch) -> None:
    """Gains differ from robot to robot, inertial parameters are shared; the last steps are not saved."""
    robot, rng = appell.load("planar2r"), np.random.default_rng(4)
    gains = {"kp": rng.uniform(5, 9, size=(5, 2)), "kd": 2.0}
    gains |= {"ki": [0.5, 0.7]} if law == "integral_tracking" else {}
    motion = appell.rollout(
        appell.compile(robot), *rng.normal(size=(2, 5, 2)), {"q": rng.normal(size=(4, 2)), "qd": rng.normal(size=(5, 4, 2))},
        law=law, gains=gains, parameters=robot.parameters, steps=11, dt=0.01, control_every=3, save_every=4,
    )  # fmt: skip
    weights, along = rng.normal(size=motion.q.shape), rng.normal(size=robot.parameters.shape)

    def found() -> list[np.ndarray]:
        gradient = motion.vjp(qd=weights)
        changes = motion.jvp(parameters=along, gains={"kp": 1.0}, controls={"qd": 2.0})
        return [gradient.q0, *gradient.controls.values(), *gradient.gains.values(), gradient.parameters, *changes[1:]]

    compiled = found()
    assert not compiled[1][3].any()
    monkeypatch.setenv("APPELL_NATIVE", "0")
    assert_all_close(compiled, found(), 1e-12)


@pytest.mark.parametrize("native", ["1", "0"])
def test_the_time_of_derivatives_that_are_not_finite(native, monkeypatch) -> None:
    monkeypatch.setenv("APPELL_NATIVE", native)
    dyn = appell.compile(appell.load("planar2r"))
    motion = appell.rollout(dyn, [0.1, 0.2], [0.0, 0.0], [0.0, 0.0], steps=9, dt=0.1, save_every=3)
    weights = np.zeros((3, 2))
    weights[1] = 1.7e308  # of the state after 6 steps, at 0.6 s
    with pytest.raises(appell.SimulationError, match=r"gradient of the rollout is not finite at t = 0\.[45] s"):
        motion.vjp(weights, weights)
    with pytest.raises(appell.SimulationError, match=r"forward sensitivity of the rollout is not finite at t = 0\.3 s"):
        motion.jvp(controls=[1.7e308, -1.7e308])


@pytest.mark.parametrize("native", ["1", "0"])
def test_weights_and_directions_of_any_real_type(native, monkeypatch) -> None:
    monkeypatch.setenv("APPELL_NATIVE", native)
    motion = appell.rollout(appell.compile(appell.load("planar2r")), [0, 0], [1, 2], steps=3, dt=0.01)
    ones = np.ones((3, 2))
    for same in (ones.astype(int), ones.astype(np.float32), ones.tolist(), np.broadcast_to(1.0, (3, 2))):
        assert_close(motion.vjp(same, same).q0, motion.vjp(ones, ones).q0, tolerance=0.0)
    assert_close(motion.jvp(np.array([1, 0])).q, motion.jvp([1.0, 0.0]).q, tolerance=0.0)
