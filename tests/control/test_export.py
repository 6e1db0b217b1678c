"""Controllers as C: compiled as strictly as compilers can, run under sanitizers, step by step as in Python."""

from __future__ import annotations

import re
import subprocess

import numpy as np
import pytest
from helpers.closeness import assert_close
from helpers.exported_c import C99, SANITIZED, compiled, require
from helpers.random_trees import general_tree

import appell
from appell.algorithms.laws import LAWS
from appell.control import export
from appell.control.controller import CONTROLLERS

PUMA = appell.load("puma560")
STEPS = 40
GAINS = {"kp": np.linspace(90.0, 110.0, 6), "kd": np.linspace(18.0, 22.0, 6), "ki": np.linspace(40.0, 60.0, 6)}
LIMIT = np.array([30.0, 60.0, 30.0, 8.0, 8.0, 1.0])
TOLERANCE = {"float64": 2e-14, "float32": 2e-5}

MAIN = """\
#include <stdio.h>
#include <stdlib.h>
#include "{name}.h"

/* Every argument lies in a block of exactly its size, so that the sanitizer sees an access beyond it. */
int main(int argc, char **argv)
{{
    const long steps = argc > 1 ? atol(argv[1]) : 0;
    {real} *in[{inputs}], *tau = ({real} *)malloc({n} * sizeof *tau);
    for (int k = 0; k < {inputs}; k++) in[k] = ({real} *)malloc({n} * sizeof *tau);
    {memory}
    for (long step = 0; step < steps; step++) {{
        for (int k = 0; k < {inputs}; k++)
            if (fread(in[k], sizeof *tau, {n}, stdin) != {n}) return 2;
        {name}_step(&{name}_default, {given}, {kept}tau);
        if (fwrite(tau, sizeof *tau, {n}, stdout) != {n}) return 3;
        {write}
    }}
    for (int k = 0; k < {inputs}; k++) free(in[k]);
    free(tau);
    {end}
    return 0;
}}
"""


class Along:
    """A reference with a row for every step."""

    def __init__(self, rows: np.ndarray, period: float) -> None:
        self.rows, self.period = rows, period

    def __call__(self, t):
        return tuple(self.rows[:, round(float(t) / self.period)])


def made(law: str, robot, reference, limit, period=2e-3):
    gains = {name: GAINS[name][: robot.nv] for name in LAWS[law].gains}
    return CONTROLLERS[law](robot, reference, effort_limit=limit, period=period, **gains)


def write_main(folder, name: str, law, n: int, real: str) -> None:
    inputs = 2 + len(law.signals)
    memory = f"{name}_memory"
    (folder / "main.c").write_text(
        MAIN.format(
            name=name, real=real, n=n, inputs=inputs, given=", ".join(f"in[{k}]" for k in range(inputs)),
            kept="memory, " if law.memory else "",
            memory=f"{memory} *memory = ({memory} *)malloc(sizeof *memory); {name}_start(memory);" if law.memory else "",
            write="if (fwrite(memory, sizeof *memory, 1, stdout) != 1) return 4;" if law.memory else "",
            end="free(memory);" if law.memory else "",
        )
    )  # fmt: skip


def random_steps(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """States (2, STEPS, n) and references (3, STEPS, n) far enough apart that torques meet their limits now and then."""
    rng = np.random.default_rng(seed)
    reference = rng.normal(size=(3, STEPS, n))
    return reference[:2] + 0.15 * rng.normal(size=(2, STEPS, n)), reference


def in_python(controller, states) -> np.ndarray:
    """Torques and memory of every step."""
    memory = controller.initial_memory(0.0, *states[:, 0])
    rows = []
    for k in range(STEPS):
        tau, memory = controller.step(k * controller.period, *states[:, k], memory)
        rows.append(np.concatenate([tau, memory]))
    return np.array(rows)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("law", list(CONTROLLERS))
def test_steps_are_those_of_python(law, dtype, tmp_path):
    states, reference = random_steps(6, 3)
    states, reference = states.astype(dtype).astype(float), reference.astype(dtype).astype(float)
    controller = made(law, PUMA, Along(reference, 2e-3), LIMIT)
    header, source = export(controller, tmp_path, dtype=dtype)
    real = {"float64": "double", "float32": "float"}[dtype]
    write_main(tmp_path, header.stem, LAWS[law], 6, real)
    program = compiled(SANITIZED, tmp_path, source.name, "main.c")
    order = [*states, *(reference[("q", "qd", "qdd").index(name)] for name in LAWS[law].signals)]
    content = np.stack(order, axis=1).astype(dtype).tobytes()
    done = subprocess.run([program, str(STEPS)], input=content, capture_output=True)
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    got, expected = np.frombuffer(done.stdout, dtype).reshape(STEPS, -1), in_python(controller, states)
    assert (np.abs(expected[:, :6]) == LIMIT).any()
    assert (np.abs(expected[:, :6]) < LIMIT).any()
    assert_close(got, expected.astype(dtype), tolerance=TOLERANCE[dtype])


def test_a_long_robot_is_written_in_parts(tmp_path):
    robot = general_tree(30, 1, kinds=("revolute", "prismatic"))
    kind = CONTROLLERS["integral_tracking"]
    controller = kind(robot, np.zeros(robot.nv), kp=100.0, kd=20.0, ki=10.0)
    _, source = export(controller, tmp_path, prefix="long")
    assert "long_law_part1" in source.read_text()
    compiled((*C99, "-O0", "-c"), tmp_path, source.name, name="long.o")


def test_settings_hold_the_numbers_of_the_controller(tmp_path):
    controller = made("pd", PUMA, np.zeros(6), None)
    header, source = export(controller, tmp_path, prefix="arm")
    assert "0.002" in source.read_text()
    assert "3e+38" in source.read_text()
    assert "malloc" not in source.read_text()
    assert re.search(r"void arm_step\(const arm_settings \*settings, .* double tau\[6\]\);", header.read_text())
    require("g++")
    done = subprocess.run(
        ["g++", "-x", "c++", "-Wall", "-Wextra", "-Werror", "-c", source.name, "-o", "arm.o"],
        cwd=tmp_path, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_what_cannot_be_exported_is_refused(tmp_path):
    with pytest.raises(appell.ArgumentError, match=r"expected one of appell\.control"):
        export(PUMA, tmp_path)
    with pytest.raises(appell.ArgumentError, match="a sampled controller is needed"):
        export(made("pd", PUMA, np.zeros(6), None, period=None), tmp_path)
    with pytest.raises(appell.ArgumentError, match="unknown dtype 'half'"):
        export(made("pd", PUMA, np.zeros(6), None), tmp_path, dtype="half")
    (tmp_path / "puma560_pd.h").write_text("mine")
    with pytest.raises(appell.ArgumentError, match="was not generated by appell"):
        export(made("pd", PUMA, np.zeros(6), None), tmp_path)
