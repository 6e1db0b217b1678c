"""Device functions for other people's kernels: they compile, and compute what the library computes."""

from __future__ import annotations

import ctypes
import shutil
import subprocess

import numpy as np
import pytest
from helpers.closeness import assert_close
from helpers.cuda_as_cpp import SHIM, compiler

import appell

ROBOTS = {"puma560": appell.load("puma560"), "chain": appell.robots.random_chain(20, seed=3)}
FUNCTIONS = ["inverse_dynamics", "mass_matrix"]
KERNEL = """
__global__ void kernel(const double *q, double *tau)
{
    double zero[6] = {0}, own[6], out[6];
    for (int j = 0; j < 6; j++) own[j] = q[6 * threadIdx.x + j];
    puma560_inverse_dynamics(own, zero, zero, out);
    for (int j = 0; j < 6; j++) tau[6 * threadIdx.x + j] = out[j];
}
"""


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="nvcc is not installed")
def test_header_compiles_inside_a_kernel(tmp_path):
    (header,) = appell.export(ROBOTS["puma560"], "inverse_dynamics", tmp_path, language="cuda")
    (tmp_path / "use.cu").write_text(f'#include "{header.name}"\n{KERNEL}')
    command = ["nvcc", "-arch=sm_90", "-Werror", "all-warnings", "-cubin", "-o", str(tmp_path / "use.cubin")]
    done = subprocess.run([*command, str(tmp_path / "use.cu")], capture_output=True, text=True, check=False)
    assert done.stderr == ""


@pytest.mark.skipif(compiler() is None, reason="no C++ compiler")
@pytest.mark.parametrize("name", list(ROBOTS))
def test_functions_compute_what_the_library_computes(tmp_path, name):
    robot = ROBOTS[name]
    (header,) = appell.export(robot, FUNCTIONS, tmp_path, language="cuda", prefix="arm")
    n = robot.nv
    arguments = "const double *q, const double *qd, const double *qdd, double *tau, double *M"
    body = "arm_inverse_dynamics(q, qd, qdd, tau); arm_mass_matrix(q, M);"
    (tmp_path / "use.cpp").write_text(
        f'{SHIM}\n#include "{header.name}"\nextern "C" void use({arguments}) {{ {body} }}\n'
    )
    command = [compiler() or "g++", "-O1", "-w", "-shared", "-fPIC", "-o", str(tmp_path / "use.so")]
    subprocess.run([*command, str(tmp_path / "use.cpp")], check=True)
    rng = np.random.default_rng(0)
    q, qd, qdd = rng.normal(size=(3, n))
    tau, M = np.full(n, np.nan), np.full((n, n), np.nan)
    arrays = (array.ctypes.data_as(ctypes.c_void_p) for array in (q, qd, qdd, tau, M))
    ctypes.CDLL(str(tmp_path / "use.so")).use(*arrays)
    assert_close(tau, robot.inverse_dynamics(q, qd, qdd), tolerance=1e-13)
    assert_close(M, robot.mass_matrix(q), tolerance=1e-13)
