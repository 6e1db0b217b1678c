"""Threads that make the first calls of freshly compiled robots: `python thread_rounds.py ROUNDS`.

A round has eight threads that share a robot, and one that binds its function to ten other kernels in the meantime. Every
result is compared with that of a single thread. Run by the tests, and with more rounds under the thread sanitizer
(`.ci/sanitize`).
"""

import sys
import threading

import numpy as np

import appell
from appell import _native
from appell.algorithms.function_spec import FunctionSpec

THREADS = 8
CALLS = 4
KERNELS = 10
STATES = 4000  # enough for calls without the lock of the interpreter
SPEC = FunctionSpec("inverse_dynamics")


def main(rounds: int) -> None:
    sys.setswitchinterval(1e-6)
    robot = appell.load("puma560")
    rng = np.random.default_rng(1)
    state = tuple(rng.uniform(-1, 1, (STATES, 6)) for _ in range(3))
    expected = appell.compile(robot).inverse_dynamics(*state)
    for k in range(rounds):
        failures = one_round(robot, state, expected)
        if failures:
            raise SystemExit(f"round {k}: {failures[0]}")
    print(f"{rounds} rounds")


def one_round(robot, state, expected) -> list[str]:
    """What went wrong."""
    dyn, spare = (
        appell.compile(robot),
        [appell.compile(robot).functions.kernel(SPEC, list(state)).kernel for _ in range(KERNELS)],
    )
    failures, used, begin = [], set(), threading.Barrier(THREADS + 1)

    def compute() -> None:
        begin.wait()
        for _ in range(CALLS):
            if not np.array_equal(dyn.inverse_dynamics(*state), expected):
                failures.append("a wrong result")
            used.add(dyn.functions.kernel(SPEC, list(state)).kernel)

    def bind() -> None:
        begin.wait()
        while spare and _native.bind is not None:
            _native.bind(dyn.inverse_dynamics, spare.pop(), None, True)

    threads = [threading.Thread(target=target) for target in (*[compute] * THREADS, bind)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if len(used) != 1:
        failures.append(f"{len(used)} kernels for one function")
    return failures


if __name__ == "__main__":
    main(int(sys.argv[1]))
