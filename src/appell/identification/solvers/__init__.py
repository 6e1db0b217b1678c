"""Solvers of A β = z in the sense of least squares (Valera 2003, section 4). To add one: write its file and list it here.

A solver is a function from A (r, b), whose columns have unit length, and z (r,) to the matrix G of its answer β = G z. All
answers are linear in z, so G also says how noise in z reaches β.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from appell.identification.solvers.pinv import pinv
from appell.identification.solvers.qr import qr
from appell.identification.solvers.ridge import ridge
from appell.identification.solvers.svd import svd

Solver = Callable[[np.ndarray, np.ndarray, float, int], np.ndarray]
"""`solver(A, z, rest, count)`: rest is |residual|² that no β removes, count the number of samples behind A."""

SOLVERS: dict[str, Solver] = {"qr": qr, "svd": svd, "pinv": pinv, "ridge": ridge}
