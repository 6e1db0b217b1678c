"""The contact solver on recorded problems: how many it solves, in how many iterations and what time.

python benchmarks/contact_problems.py FILE.npz [--tolerance 1e-9] [--repeats 20]

The file has `mu` and, for each problem NAME, `NAME_G` (3k, 3k) and `NAME_c` (3k,). Times are the least of the repeats.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from appell import _native
from appell.simulation.contact.solver import MAX_ITERATIONS, ContactBlocks


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("--tolerance", type=float, default=1e-9)
    parser.add_argument("--repeats", type=int, default=20)
    options = parser.parse_args()
    data = np.load(options.file)
    names = [name[:-2] for name in data.files if name.endswith("_G")]
    rows = []
    for name in names:
        G, c = np.ascontiguousarray(data[f"{name}_G"]), data[f"{name}_c"].copy()
        blocks = ContactBlocks.points(np.full(len(c) // 3, float(data["mu"])))
        times = []
        for _ in range(options.repeats):
            p, w = np.zeros_like(c), np.empty_like(c)
            start = time.perf_counter()
            residual, iterations, newton = _native.solve_contacts(
                G, c, blocks.rows, blocks.limits, p, w, options.tolerance, options.tolerance, MAX_ITERATIONS
            )
            times.append(time.perf_counter() - start)
        rows.append((residual, iterations, newton, min(times) * 1e6))
    residual, iterations, newton, times = np.array(rows).T
    print(f"{(residual <= options.tolerance).sum()} of {len(names)} problems solved to {options.tolerance:g} m/s")
    for label, values in (("iterations", iterations), ("Newton steps", newton), ("time [us]", times)):
        print(f"{label}: median {np.median(values):.1f}, 90 % {np.percentile(values, 90):.1f}, most {values.max():.1f}")


if __name__ == "__main__":
    main()
