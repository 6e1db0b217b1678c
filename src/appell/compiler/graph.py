"""CasADi's own evaluator as a kernel."""

from __future__ import annotations

import numpy as np

from appell.compiler.trace import Trace


class GraphKernel:
    """Slower than native code, needs no compiler, and is the definition of what is right."""

    CHUNK = 1024

    def __init__(self, traced: Trace) -> None:
        self.graph = traced.graph

    def run(self, inputs: tuple[np.ndarray, ...], out: np.ndarray) -> bool:
        rows = out.reshape(1, -1) if out.ndim == 1 else out
        for start in range(0, len(rows), self.CHUNK):
            columns = [np.atleast_2d(array)[start : start + self.CHUNK].T.astype(float) for array in inputs]
            rows[start : start + self.CHUNK] = np.asarray(self.graph(*columns).full()).T
        return bool(np.isfinite(out).all() and all(np.isfinite(array).all() for array in inputs))
