"""appell on a GPU beside a plain copy and frax (JAX), in one run.

Where CasADi is installed the robots are compiled here; elsewhere they come from a folder that this script has written:

    python benchmarks/gpu.py --prepare robots/         # anywhere: saves the robots and their URDFs
    python benchmarks/gpu.py --robots robots/ --json figures.json       # on the machine with the GPU
    python benchmarks/gpu.py --docs figures.json       # writes docs/benchmarks_gpu.md from the figures

The Panda and the G1 are read from --descriptions (default ../shared/robots). Times are medians of CUDA events over
device-resident random states; correctness is against the CPU on other random states.
"""

from __future__ import annotations

import argparse
import datetime
import json
import platform
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

import appell
from appell.model.body import Body

LARGE, SMALL, FLEET = 1 << 23, 4096, 1 << 17
FUNCTIONS = {"inverse_dynamics": 3, "mass_matrix": 1, "forward_dynamics": 3}
HUMANOID = {"inverse_dynamics": 3, "forward_dynamics": 3}
DERIVATIVES = {"inverse_dynamics_derivatives": 3, "forward_dynamics_derivatives": 3}
SECOND = {"inverse_dynamics_second_derivatives": 3}


def prepare(folder: Path, descriptions: Path) -> None:
    """Save the robots of the benchmark, and URDFs of the same robots for the peers."""
    folder.mkdir(parents=True, exist_ok=True)
    panda = appell.load(descriptions / "panda.urdf")
    fixed = [replace(j, kind="fixed", mimic=None) if "finger" in j.name else j for j in panda.joints]
    robots = {
        "puma560": appell.load("puma560"),
        "panda": replace(panda, joints=tuple(fixed)),
        "g1": appell.load(descriptions / "g1.urdf", base="floating"),
        "go2": appell.load(descriptions / "go2.urdf", base="floating"),
    }
    for name, robot in robots.items():
        plain = robot.nq == robot.nv
        for dtype in ("float32", "float64"):
            compiled = appell.compile(robot, dtype=dtype)
            functions = None if plain else tuple(HUMANOID)
            compiled.save(folder / f"{name}-{dtype}.appell", functions, rollouts=["torque"])
        more = (*DERIVATIVES, *(SECOND if plain else ()))
        for dtype in ("float32", "float64"):
            appell.compile(robot, dtype=dtype).save(folder / f"{name} derivatives-{dtype}.appell", more)
        if name == "go2":
            continue
        peer = robot if plain else appell.load(descriptions / f"{name}.urdf")
        bodies = (with_mass(peer.bodies[0]), *peer.bodies[1:])
        replace(peer, bodies=bodies).to_urdf(folder / f"{name}.urdf")


def blocks(result) -> tuple:
    """Matrices of derivatives side by side, or one result."""
    return result if isinstance(result, tuple) else (result,)


def with_mass(base: Body) -> Body:
    """A base that has a mass, which a peer asks for although it does not move."""
    return base if base.mass else replace(base, mass=1.0, inertia=(1.0, 0.0, 0.0, 1.0, 0.0, 1.0))


class Bench:
    """Measures one thing after the other on the current device and collects rows of a table."""

    def __init__(self, folder: Path) -> None:
        import cupy

        self.cp, self.folder = cupy, folder
        self.rows: list[dict] = []

    def seconds(self, work: Callable[[], object], repeats: int = 15) -> float:
        """Median device time of one call."""
        cp = self.cp
        work()
        times = []
        for _ in range(repeats):
            start, stop = cp.cuda.Event(), cp.cuda.Event()
            start.record()
            work()
            stop.record()
            stop.synchronize()
            times.append(cp.cuda.get_elapsed_time(start, stop) * 1e-3)
        return float(np.median(times))

    def replayed(self, work: Callable[[], object], copies: int = 20) -> float:
        """Device time of one call inside a captured graph, without the host's share."""
        stream = self.cp.cuda.Stream(non_blocking=True)
        with stream:
            work()
            stream.begin_capture()
            for _ in range(copies):
                work()
            graph = stream.end_capture()
            times = []
            for _ in range(15):
                start, stop = self.cp.cuda.Event(), self.cp.cuda.Event()
                start.record(stream)
                graph.launch(stream)
                stop.record(stream)
                stop.synchronize()
                times.append(self.cp.cuda.get_elapsed_time(start, stop) * 1e-3 / copies)
        return float(np.median(times))

    def add(self, work: str, dtype: str, layout: str, rate: float, **more) -> None:
        self.rows.append({"work": work, "dtype": dtype, "layout": layout, "G/s": rate / 1e9, **more})
        told = ", ".join(f"{name} {value:.3g}" for name, value in more.items())
        print(f"{work:48s} {dtype:8s} {layout:8s} {rate / 1e9:8.3f} G/s  {told}", flush=True)

    def copy(self) -> None:
        """The card's memory bandwidth, bytes read and written."""
        source = self.cp.random.standard_normal(1 << 28, dtype=self.cp.float32)
        target = self.cp.empty_like(source)
        seconds = self.seconds(lambda: self.cp.copyto(target, source))
        self.bandwidth = 2 * source.nbytes / seconds
        print(f"plain copy {self.bandwidth / 1e12:.2f} TB/s", flush=True)

    def load(self, name: str, dtype: str, layout: str):
        path = self.folder / f"{name}-{dtype}.appell"
        return appell.load_compiled(path, target="cuda", layout=layout)

    def states(self, robot, count: int, inputs: int, dtype: str, layout: str) -> list:
        """Random states; quaternions of a floating base are of unit length."""
        arrays = []
        for size in (robot.nq, robot.nv, robot.nv)[:inputs]:
            rows = self.cp.random.standard_normal((size, count), dtype=dtype)
            if size != robot.nv:
                rows[3:7] /= self.cp.linalg.norm(rows[3:7], axis=0)
            arrays.append(rows if layout == "columns" else self.cp.ascontiguousarray(rows.T))
        return arrays

    def functions(self, name: str, functions: dict[str, int], count: int) -> None:
        for dtype in ("float32", "float64"):
            cpu = appell.load_compiled(self.folder / f"{name}-float64.appell")
            for layout in ("columns", "rows"):
                dyn = self.load(name, dtype, layout)
                for function, inputs in functions.items():
                    call = getattr(dyn, function)
                    few = self.states(dyn.robot, 1000, inputs, dtype, layout)
                    rows = [x.get().astype("float64") for x in few]
                    rows = [x.T for x in rows] if layout == "columns" else rows
                    expected = getattr(cpu, function)(*map(np.ascontiguousarray, rows))
                    got = [x.get() for x in blocks(call(*few))]
                    got = [np.moveaxis(x, -1, 0) for x in got] if layout == "columns" else got
                    got, expected = (np.concatenate(blocks(x), axis=-1) for x in (tuple(got), expected))
                    error = float(np.abs(got - expected).max() / np.abs(expected).max())
                    many = self.states(dyn.robot, count, inputs, dtype, layout)
                    shape = (*got.shape[1:], count) if layout == "columns" else (count, *got.shape[1:])
                    out = self.cp.empty(shape, dtype)
                    seconds = self.seconds(lambda: call(*many, out=out, check=False))  # noqa: B023 (called at once)
                    moved = (sum(x.nbytes for x in many) + out.nbytes) / seconds / self.bandwidth
                    work = f"{name.split()[0]} {function}"
                    self.add(work, dtype, layout, count / seconds, error=error, copy=moved)
                    many, out = [], None
                    self.cp.get_default_memory_pool().free_all_blocks()

    def small_batches(self, name: str) -> None:
        for dtype in ("float32", "float64"):
            for layout in ("columns", "rows"):
                dyn = self.load(name, dtype, layout)
                given = self.states(dyn.robot, SMALL, 3, dtype, layout)
                out = dyn.inverse_dynamics(*given)
                work = lambda: dyn.inverse_dynamics(*given, out=out, check=False)  # noqa: B023, E731 (called at once)
                self.add(f"{name} inverse_dynamics, N = {SMALL}, calls", dtype, layout, SMALL / self.seconds(work, 100))
                self.add(f"{name} inverse_dynamics, N = {SMALL}, graph", dtype, layout, SMALL / self.replayed(work))

    def rollouts(self, name: str, steps: int = 1000) -> None:
        for dtype in ("float32", "float64"):
            dyn = self.load(name, dtype, "columns")
            q0, qd0 = self.states(dyn.robot, FLEET, 2, dtype, "columns")
            for integrator in ("rk4", "semi_implicit_euler"):
                options = {
                    "steps": steps,
                    "dt": 1e-4,
                    "save_every": steps,
                    "options": appell.RolloutOptions(integrator, check=False),
                }
                seconds = self.seconds(lambda: appell.rollout(dyn, q0, 0 * qd0, **options), 3)  # noqa: B023
                self.add(f"{name} rollout, {integrator}, steps", dtype, "columns", FLEET * steps / seconds)

    def adjoints(self, name: str, count: int, steps: int = 100) -> None:
        """Gradients of all arguments of rollouts from weights of the last state."""
        for dtype in ("float32", "float64"):
            dyn = self.load(name, dtype, "columns")
            q0, qd0 = self.states(dyn.robot, count, 2, dtype, "columns")
            for integrator in ("rk4", "semi_implicit_euler"):
                options = appell.RolloutOptions(integrator, check=False)
                motion = appell.rollout(dyn, q0, 0 * qd0, steps=steps, dt=1e-4, save_every=steps, options=options)
                weights = self.cp.ones_like(motion.q)
                seconds = self.seconds(lambda: motion.vjp(weights))  # noqa: B023 (called at once)
                work = f"{name} adjoint, {integrator}, {count} robots, steps"
                self.add(work, dtype, "columns", count * steps / seconds)

    def frax(self, name: str, urdf: Path, floating: str | None, count: int) -> None:
        """The fastest GPU peer known to us, on the same robot: batched by vmap, compiled by jit."""
        try:
            import jax
            from frax.core.robot import Robot
        except ImportError as error:
            print(f"frax is not installed ({error}); not measured")
            return
        for dtype in ("float32", "float64"):
            jax.config.update("jax_enable_x64", dtype == "float64")  # the peer's constants take this precision, too
            robot = Robot(str(urdf), floating_base=floating)
            gravity = jax.numpy.array([0.0, 0.0, 9.81, 0.0, 0.0, 0.0], dtype)
            works = {
                "inverse_dynamics": lambda q, v, a: robot.rnea(q, v, a, gravity, None),  # noqa: B023 (called at once)
                "mass_matrix": lambda q, v, a: robot.crba(q),  # noqa: B023
                "forward_dynamics": lambda q, v, a: robot.forward_dynamics(q, v, a, None),  # noqa: B023
            }
            keys = jax.random.split(jax.random.key(0), 3)
            sizes = (robot.nq, robot.nv, robot.nv)
            given = [jax.random.normal(key, (count, n), dtype) for key, n in zip(keys, sizes, strict=True)]
            for function, work in works.items():
                batched = jax.jit(jax.vmap(work))
                result = jax.block_until_ready(batched(*given))
                assert str(result.dtype) == dtype, f"the peer computed in {result.dtype}, not {dtype}"
                seconds = self.wall(lambda: jax.block_until_ready(batched(*given)))  # noqa: B023
                self.add(f"frax {name} {function}", dtype, "rows", count / seconds, N=count)

    @staticmethod
    def wall(work: Callable[[], object], repeats: int = 9) -> float:
        """Median time on the host's clock, for libraries that run on streams of their own; the work waits for the device."""
        import time

        times = []
        for _ in range(repeats):
            start = time.perf_counter()
            work()
            times.append(time.perf_counter() - start)
        return float(np.median(times))

    def facts(self) -> dict:
        cp = self.cp
        card = cp.cuda.runtime.getDeviceProperties(0)["name"].decode()
        versions = {"appell": appell.__version__, "cupy": cp.__version__, "python": platform.python_version()}
        return {"date": datetime.date.today().isoformat(), "card": card, **versions, "copy TB/s": self.bandwidth / 1e12}


GOALS = {
    ("puma560 inverse_dynamics", "float32"): 33, ("puma560 inverse_dynamics", "float64"): 16,
    ("panda inverse_dynamics", "float32"): 17, ("panda inverse_dynamics", "float64"): 7,
    ("panda mass_matrix", "float32"): 8, ("panda mass_matrix", "float64"): 3.5,
    ("panda forward_dynamics", "float32"): 12, ("panda forward_dynamics", "float64"): 5,
    ("g1 inverse_dynamics", "float32"): 1, ("g1 inverse_dynamics", "float64"): 0.25,
    ("panda inverse_dynamics, N = 4096, graph", "float32"): 0.7, ("panda inverse_dynamics, N = 4096, graph", "float64"): 0.5,
    ("panda rollout, rk4, steps", "float32"): 3, ("panda rollout, rk4, steps", "float64"): 1.2,
    ("panda inverse_dynamics_derivatives", "float32"): 5, ("panda inverse_dynamics_derivatives", "float64"): 2.5,
    ("panda forward_dynamics_derivatives", "float32"): 3.5, ("panda forward_dynamics_derivatives", "float64"): 1.5,
    ("go2 inverse_dynamics_derivatives", "float32"): 0.6,
    ("panda adjoint, semi_implicit_euler, 4096 robots, steps", "float32"): 1,
}  # fmt: skip
"""What we set out to reach on an H200, G states a second."""


INTRODUCTION = """# Benchmarks on a GPU

Measured by `python benchmarks/gpu.py`, all contenders in one run, medians of CUDA events over device-resident random
states. *Copy* is the memory traffic as a part of what a plain copy reaches; *error* is the largest difference from the
CPU's float64, relative to the largest entry. frax runs under `jit` and `vmap`, its best batch size counts. *Calls*
include the host's share of a Python call; *graph* replays captured launches.
"""


def page(data: dict) -> str:
    """The figures of a run as a page of the documentation."""
    rows, facts = data["rows"], data["facts"]
    peers: dict[tuple[str, str], float] = {}
    for row in rows:
        if row["work"].startswith("frax "):
            key = (row["work"].removeprefix("frax "), row["dtype"])
            peers[key] = max(peers.get(key, 0.0), row["G/s"])
    lines = [
        INTRODUCTION,
        *(f"- {name}: {value if isinstance(value, str) else format(value, '.3g')}" for name, value in facts.items()), "",
        "| work | dtype | layout | G states/s | goal | copy | error | times frax |", "|---|---|---|---|---|---|---|---|",
    ]  # fmt: skip
    for row in rows:
        peer = peers.get((row["work"], row["dtype"]))
        cells = [
            row["work"], row["dtype"], row["layout"], f"{row['G/s']:.3g}", GOALS.get((row["work"], row["dtype"]), ""),
            f"{row['copy']:.2f}" if "copy" in row else "", f"{row['error']:.1e}" if "error" in row else "",
            f"{row['G/s'] / peer:.0f}" if peer else "",
        ]  # fmt: skip
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join([*lines, ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prepare", type=Path, help="write the robots to this folder and stop")
    parser.add_argument("--robots", type=Path, default=Path("gpu_robots"), help="folder written by --prepare")
    parser.add_argument("--descriptions", type=Path, default=Path(__file__).parents[2] / "shared" / "robots")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--docs", type=Path, metavar="FIGURES", help="write the page from a file of --json and stop")
    given = parser.parse_args()
    if given.prepare:
        return prepare(given.prepare, given.descriptions)
    if given.docs:
        target = Path(__file__).parents[1] / "docs" / "benchmarks_gpu.md"
        target.write_text(page(json.loads(given.docs.read_text())))
        return None
    bench = Bench(given.robots)
    bench.copy()
    bench.functions("puma560", FUNCTIONS, LARGE)
    bench.functions("panda", FUNCTIONS, LARGE)
    bench.functions("g1", HUMANOID, LARGE)
    bench.functions("panda derivatives", DERIVATIVES, LARGE)
    bench.functions("panda derivatives", SECOND, LARGE // 64)
    bench.functions("go2 derivatives", DERIVATIVES, LARGE // 8)
    bench.small_batches("panda")
    bench.rollouts("panda")
    bench.rollouts("g1", steps=100)
    for count in (SMALL, FLEET):
        bench.adjoints("panda", count)
    for count in (LARGE // 64, LARGE // 4):
        bench.frax("puma560", given.robots / "puma560.urdf", None, count)
        bench.frax("panda", given.robots / "panda.urdf", None, count)
        bench.frax("g1", given.robots / "g1.urdf", "quaternion", count // 8)
    print(json.dumps(bench.facts()))
    if given.json:
        given.json.write_text(json.dumps({"facts": bench.facts(), "rows": bench.rows}, indent=1))
    return None


if __name__ == "__main__":
    main()
