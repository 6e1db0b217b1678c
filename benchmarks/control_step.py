"""Computing time of one control period: exported C, the compiled step from Python, and `Controller.step`.

chrt -f 10 python benchmarks/control_step.py        (real-time priority, where the machine is busy)
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import appell
from appell.control.controller import CONTROLLERS, Controller
from appell.table import Table

ROUNDS, STEPS = 9, 20_000
GAINS = {"kp": 400.0, "kd": 40.0, "ki": 2000.0}
PENTIUM_II = 61.0
"""Valera 2003: the control algorithms on a Pentium II of 350 MHz. [us]"""

MAIN = """\
#include <stdio.h>
#include <time.h>
#include "law.h"

int main(void)
{{
    double in[{inputs}][6], tau[6], best = 1e9;
    {memory}
    for (int k = 0; k < {inputs}; k++) for (int i = 0; i < 6; i++) in[k][i] = 0.1 * (k + i);
    for (int round = 0; round < {rounds}; round++) {{
        struct timespec a, b;
        clock_gettime(CLOCK_MONOTONIC, &a);
        for (int step = 0; step < {steps}; step++) {{
            law_step(&law_default, {given}, {kept}tau);
            in[0][step % 6] += 1e-9 * tau[0];
        }}
        clock_gettime(CLOCK_MONOTONIC, &b);
        const double us = ((double)(b.tv_sec - a.tv_sec) * 1e6 + (double)(b.tv_nsec - a.tv_nsec) * 1e-3) / {steps};
        if (us < best) best = us;
    }}
    printf("%.6f\\n", best);
    return 0;
}}
"""


def in_c(controller: Controller) -> float | None:
    """Microseconds a step of the exported code, each waiting for the one before; None where there is no compiler."""
    if shutil.which("cc") is None:
        return None
    law, inputs = controller.law, 2 + len(controller.law.signals)
    with tempfile.TemporaryDirectory() as folder:
        appell.control.export(controller, folder, prefix="law")
        given = ", ".join(f"in[{k}]" for k in range(inputs))
        memory = "law_memory memory; law_start(&memory);" if law.memory else ""
        text = MAIN.format(
            inputs=inputs, rounds=ROUNDS, steps=STEPS, given=given, memory=memory, kept="&memory, " if law.memory else ""
        )  # fmt: skip
        Path(folder, "main.c").write_text(text)
        command = ["cc", "-O2", "-D_POSIX_C_SOURCE=199309L", "law.c", "main.c", "-o", "step", "-lm"]
        subprocess.run(command, cwd=folder, check=True)
        return float(subprocess.run([Path(folder, "step")], capture_output=True, text=True, check=True).stdout)


def best(call: Callable[[], object]) -> float:
    """Microseconds a call, the best of several rounds."""
    times = []
    for _ in range(ROUNDS):
        begun = time.perf_counter()
        for _ in range(STEPS):
            call()
        times.append((time.perf_counter() - begun) / STEPS)
    return 1e6 * min(times)


def row(controller: Controller) -> tuple[str, float | None, float, float]:
    q, qd = np.full(6, 0.3), np.full(6, 0.1)
    signals, memory = controller.signals(0.0), controller.initial_memory(0.0, q, qd)
    native = best(lambda: controller.native_step(q, qd, signals, memory))
    return controller.law.name, in_c(controller), native, best(lambda: controller.step(0.0, q, qd, memory))


def main() -> None:
    robot = appell.load("puma560")
    rest = appell.trajectories.joint_line(robot, np.zeros(6), np.ones(6), duration=1.0)
    rows = []
    for kind in CONTROLLERS.values():
        gains = {name: GAINS[name] for name in kind.law.gains}
        rows.append(row(kind(robot, rest, limit=100.0, **gains)))
    columns = ("law", "exported C [us]", "native_step from Python [us]", "step from Python [us]")
    print(
        Table(
            "One control period of the PUMA", columns, tuple(rows), (f"paper: {PENTIUM_II:g} us, Pentium II 350 MHz",)
        )
    )


if __name__ == "__main__":
    main()
