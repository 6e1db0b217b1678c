"""Signals and other threads during long native calls: signals are handled within 0.2 s, and other threads go on."""

import signal
import threading
import time

import numpy as np
import pytest

import appell
from appell import _native
from appell.algorithms.function_spec import FunctionSpec
from appell.rollouts import native
from appell.rollouts.native import step_portions

LATENCY = 0.2
LAWS = {"torque": {}, "integral_tracking": {"gains": {"kp": 100.0, "kd": 10.0, "ki": 1.0}}}

needs_alarm = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no timers with signals")


class Alarm(Exception):
    pass


def interrupt_latency(call) -> float:
    """Seconds from a signal to the end of a call; the best of five, since other programs take time, too."""
    latencies = []
    for _ in range(5):
        rung = []

        def ring(number, frame, rung=rung):
            rung.append(time.perf_counter())
            raise Alarm

        former = signal.signal(signal.SIGALRM, ring)
        due = time.perf_counter() + 0.1
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        try:
            with pytest.raises(Alarm):
                call()
            latencies.append(time.perf_counter() - due)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, former)
        if latencies[-1] < LATENCY:
            break
    return min(latencies)


@needs_alarm
@pytest.mark.filterwarnings("ignore:appell was installed without its C extension")
@pytest.mark.parametrize(("threads", "extension"), [(1, True), (2, True), (1, False)])
def test_a_batch_is_interrupted(compiler, monkeypatch, threads, extension):
    if not extension:
        monkeypatch.setattr(_native, "Kernel", None)
    dyn = appell.compile(appell.load("planar2r"), threads=threads)
    states = 2_000_000_000
    inputs = tuple(np.broadcast_to(np.full(2, 0.1), (states, 2)) for _ in range(3))
    kernel = dyn.functions.kernel(FunctionSpec("inverse_dynamics"), list(inputs)).kernel
    result = np.lib.stride_tricks.as_strided(np.empty(2), (states, 2), (0, 8))
    assert interrupt_latency(lambda: kernel.run(inputs, result)) < LATENCY


@needs_alarm
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("robots", [1, 100])
def test_a_rollout_is_interrupted(compiler, law, robots):
    dyn = appell.compile(appell.load("planar2r"), threads=1)
    start = np.full((robots, 2), 0.1)

    def roll(steps):
        appell.rollout(dyn, start, 0 * start, steps=steps, dt=1e-6, save_every=steps, law=law, **LAWS[law])

    roll(10)
    assert interrupt_latency(lambda: roll(5_000_000)) < LATENCY


@needs_alarm
@pytest.mark.parametrize("derivative", [lambda motion: motion.jvp([1.0, 0.0]), lambda motion: motion.vjp(motion.q)])
@pytest.mark.parametrize(("robots", "steps"), [(1, 2_000_000), (4000, 5000)])
def test_derivatives_of_rollouts_are_interrupted(compiler, derivative, robots, steps):
    dyn = appell.compile(appell.load("planar2r"), threads=1)
    start = np.full((robots, 2), 0.1)
    short, long = (appell.rollout(dyn, start, start, steps=k, dt=1e-6, save_every=k) for k in (10, steps))
    derivative(short)
    assert interrupt_latency(lambda: derivative(long)) < LATENCY


@pytest.mark.parametrize("law", LAWS)
def test_other_threads_go_on_during_a_rollout(compiler, law):
    dyn = appell.compile(appell.load("planar2r"), threads=1)
    ticks, stop = [], threading.Event()

    def tick():
        while not stop.wait(1e-3):
            ticks.append(time.perf_counter())

    thread = threading.Thread(target=tick)
    thread.start()
    appell.rollout(dyn, [0.1, 0.2], [0.0, 0.0], steps=1_500_000, dt=1e-6, save_every=1_500_000, law=law, **LAWS[law])
    stop.set()
    thread.join()
    taken, longest = ticks[-1] - ticks[0], np.diff(ticks).max()
    assert longest < 0.5 * taken


@pytest.mark.parametrize("columns", [False, True])
@pytest.mark.parametrize(("every", "hold"), [(1, None), (7, 10), (12, 5), (60, 60), (31, 400), (997, None)])
def test_portions_of_steps_give_the_same_bits(compiler, monkeypatch, every, hold, columns):
    dyn = appell.compile(appell.load("planar2r"), layout="columns" if columns else "rows")
    rng = np.random.default_rng(3)
    q, qd = rng.uniform(-1, 1, (2, 11, 2))
    controls = None if hold is None else rng.uniform(-1, 1, (11, -(-997 // hold), 2))
    given = [None if x is None else np.moveaxis(x, (0, -1), (-1, 0)) if columns else x for x in (q, qd, controls)]

    def roll():
        return appell.rollout(
            dyn, *given[:2], controls=given[2], steps=997, dt=1e-3, save_every=every, control_every=hold
        )

    expected = roll()
    for operations in (1, 30_000, 100_000, 400_000):
        monkeypatch.setattr(native, "OPERATIONS_PER_CALL", operations)
        result = roll()
        np.testing.assert_array_equal(result.q, expected.q)
        np.testing.assert_array_equal(result.qd, expected.qd)


def test_portions_begin_and_end_where_a_kernel_can_count():
    rng = np.random.default_rng(4)
    for _ in range(2000):
        longest, every, hold = (int(x) for x in rng.integers(1, 40, 3))
        steps = every * int(rng.integers(1, 30))
        end = 0
        for first, last in step_portions(steps, longest, every, hold):
            assert first == end
            assert 0 < last - first <= longest
            assert first % hold == 0 or last - first <= hold - first % hold
            assert (first % every == 0 and last % every == 0) or last - first <= every - first % every
            end = last
        assert end == steps
