"""Results of a sweep, in memory or in a store: tables, histograms, files and xarray datasets, chunk by chunk."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product, zip_longest
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from appell.checks import require_choice
from appell.columns import column_names
from appell.errors import AppellError, ArgumentError
from appell.files import whole_file, write_csv, write_npz_parts
from appell.plotting import COLOURS, new_figure, save_figure, tidy
from appell.sweeps.evaluate import stored_name
from appell.sweeps.executors import missing_extra
from appell.sweeps.layout import ChunkSeconds
from appell.sweeps.states import GridStates, RandomStates, SobolStates, StateSource
from appell.table import Table

BINS = 100
SOURCES: dict[str, Any] = {source.kind: source for source in (RandomStates, GridStates, SobolStates)}
"""States that are described in a store as a whole, by their kind."""


@dataclass(frozen=True)
class Sweep:
    """Results of a sweep.

    Attributes:
        states: states at which the functions were evaluated; None for an opened store whose states were arrays or are made
            otherwise by this version.
        results: values by function as named in the call, (N, ...) each: NumPy arrays, or Zarr arrays in a store.
        seconds: wall-clock time, without compilation, with the disk. [s]
        chunk: states that are handled at once.
        work: time in the parts of the work, summed over threads and workers.
        store: path of the store, None for results in memory.
        attributes: robot, version, seed and command.
        dims: names of the dimensions of a result, by function.
    """

    robot_name: str
    states: StateSource | None = field(repr=False)
    results: Mapping[str, Any] = field(repr=False)
    seconds: float
    chunk: int
    work: ChunkSeconds = field(default_factory=ChunkSeconds)
    store: str | None = None
    attributes: Mapping[str, Any] = field(default_factory=dict, repr=False)
    dims: Mapping[str, tuple[str, ...]] = field(default_factory=dict, repr=False)

    @classmethod
    def open(cls, store: str | PathLike) -> Sweep:
        """The sweep of a store; what is not finished is NaN."""
        try:
            from appell.sweeps.store import IDENTITY, open_store
        except ImportError:
            raise missing_extra() from None
        found = open_store(store)
        attributes = dict(found.group.attrs.asdict())
        identity: Any = attributes.pop(IDENTITY)
        if "functions" not in identity:
            raise ArgumentError(
                f"{found.path} is the store of a Monte Carlo study. Open it with appell.sweeps.MonteCarlo.open."
            )
        kind = SOURCES.get(identity["states"].pop("kind"))
        fields = {name: tuple(x) if isinstance(x, list) else x for name, x in identity["states"].items()}
        arrays = found.arrays()
        results = {name: arrays[stored_name(name)] for name in identity["functions"]}
        states = kind(**fields) if kind else None
        return cls(identity["robot"], states, results, 0.0, found.chunk, store=found.path, attributes=attributes)

    def __len__(self) -> int:
        return next(iter(self.results.values())).shape[0]

    def parts(self, values: Any) -> Iterator[np.ndarray]:
        """An array, chunk by chunk."""
        for start in range(0, values.shape[0], self.chunk):
            yield np.asarray(values[start : start + self.chunk])

    def table(self) -> Table:
        """Smallest, mean and largest entry of every result, and the state of the largest magnitude."""
        rows = []
        for name, values in self.results.items():
            low, high, total, worst, place, first = np.inf, -np.inf, 0.0, -1.0, 0, 0
            for part in self.parts(values):
                low, high = min(low, float(part.min())), max(high, float(part.max()))
                total += float(part.sum(dtype=float))
                magnitude = max(float(part.max()), -float(part.min()))
                if magnitude > worst:
                    state = int(np.abs(part.reshape(len(part), -1)).max(axis=1).argmax())
                    worst, place = magnitude, first + state
                first += len(part)
            mean = total / max(np.prod(values.shape), 1)
            rows.append((name, " x ".join(map(str, values.shape[1:])) or "1", low, float(mean), high, place))
        columns = ("function", "shape", "smallest", "mean", "largest", "state of the largest magnitude")
        rate = ""
        if self.seconds:
            rate = f" in {self.seconds:.3g} s, {len(self) / self.seconds:.3g} states/s for all functions together"
        return Table(f"Sweep of {self.robot_name}", columns, tuple(rows), (f"{len(self)} states{rate}.",))

    def save(self, path: str | PathLike) -> None:
        """Write states and results as .npz (arrays by name), .csv or .parquet (one column per number), part by part."""
        suffix = require_choice("ending of a file name", Path(path).suffix, WRITERS)
        WRITERS[suffix](self, Path(path))

    def plot(self, path: str | PathLike | None = None) -> Any:
        """Histograms of all results, one panel per function. Needs matplotlib; returns the figure."""
        figure = new_figure(8.0, 2.4 * len(self.results))
        panels = np.atleast_1d(figure.subplots(len(self.results), 1))
        ranges = {row[0]: (row[2], row[4]) for row in self.table().rows}
        for i, (panel, (name, values)) in enumerate(zip(panels, self.results.items(), strict=True)):
            counts, edges = np.zeros(BINS, int), np.histogram_bin_edges([], BINS, ranges[name])
            for part in self.parts(values):
                counts += np.histogram(part, edges)[0]
            panel.stairs(counts, edges, fill=True, color=COLOURS[i % len(COLOURS)])
            panel.set(xlabel=f"entries of {name} [SI]", ylabel="count", yscale="log")
            tidy(panel)
        save_figure(figure, path)
        return figure

    def to_xarray(self) -> Any:
        """The results as an `xarray.Dataset` with named dimensions, units and attributes; lazy where they are in a store.

        Example:
            >>> import appell
            >>> from appell.sweeps import random_states
            >>> robot = appell.load("planar2r")
            >>> appell.sweep(robot, ["gravity"], random_states(robot, 10)).to_xarray()["gravity"].dims
            ('state', 'joint')
        """
        try:
            import xarray
        except ImportError:
            raise missing_extra() from None
        if self.store is not None:
            found = xarray.open_zarr(self.store, chunks={}, consolidated=True)
            found.attrs.pop("appell", None)
        else:
            named = {stored_name(name): (("state", *self.dims[name]), values) for name, values in self.results.items()}
            found = xarray.Dataset(named, attrs=dict(self.attributes))
        return found.assign_coords(joint=list(names)) if (names := found.attrs.pop("joint_names", None)) else found

    def columns(self) -> list[str]:
        """Names of the columns of a table, one per number: `q.elbow`, `mass_matrix.elbow.wrist`, `pose:tool.1.4`."""
        empty, joints = self._require_states().part(0, 0), self.attributes.get("joint_names")
        arrays = {"q": empty.q, "qd": empty.qd, "qdd_or_tau": empty.qdd_or_tau, **self.results}
        named: dict[str, Sequence[Any]] = {
            "q": [self.attributes.get("coordinate_names")], "qd": [joints], "qdd_or_tau": [joints],
            **{name: [joints if dim.startswith("joint") else None for dim in self._dims(name)] for name in self.results},
        }  # fmt: skip
        columns = []
        for name, values in arrays.items():
            axes = [
                own or range(1, size + 1)
                for own, size in zip_longest(named[name], values.shape[1:])
                if size is not None
            ]
            columns += column_names(name, [".".join(map(str, index)) for index in product(*axes)]) if axes else [name]
        return columns

    def _dims(self, name: str) -> tuple[str, ...]:
        """Names of the dimensions of a result, the states left out."""
        if name in self.dims:
            return self.dims[name]
        return tuple(getattr(getattr(self.results[name], "metadata", None), "dimension_names", None) or ())[1:]

    def rows(self) -> Iterator[np.ndarray]:
        """Tables (n, columns) of states and results, chunk by chunk."""
        states = self._require_states()
        for start in range(0, len(self), self.chunk):
            part = states.part(start, min(start + self.chunk, len(self)))
            values = [np.asarray(each[start : start + self.chunk]) for each in self.results.values()]
            yield np.concatenate(
                [x.reshape(len(part), -1) for x in (part.q, part.qd, part.qdd_or_tau, *values)], axis=1
            )

    def _require_states(self) -> StateSource:
        if self.states is None:
            raise AppellError(
                f"{self.store} does not hold its states, which were arrays or made by another version. "
                "Save the sweep where it was made."
            )
        return self.states


def _write_npz(sweep: Sweep, path: Path) -> None:
    states, count = sweep._require_states(), len(sweep)

    def parts(name: str) -> Iterator[np.ndarray]:
        for start in range(0, count, sweep.chunk):
            yield getattr(states.part(start, min(start + sweep.chunk, count)), name)

    arrays: dict[str, tuple[Any, Iterable[Any]]] = {}
    for name in ("q", "qd", "qdd_or_tau"):
        arrays[name] = np.broadcast_to(0.0, (count, getattr(states.part(0, 0), name).shape[1])), parts(name)
    write_npz_parts(path, arrays | {stored_name(k): (x, sweep.parts(x)) for k, x in sweep.results.items()})


def _write_csv(sweep: Sweep, path: Path) -> None:
    write_csv(path, sweep.columns(), (row for part in sweep.rows() for row in part.tolist()))


def _write_parquet(sweep: Sweep, path: Path) -> None:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise AppellError(
            "Parquet files need pyarrow. Install it, for instance with: pip install 'appell[parquet]'"
        ) from None
    names = sweep.columns()
    with whole_file(path) as file:
        schema = pyarrow.schema([(name, pyarrow.float64()) for name in names])
        with parquet.ParquetWriter(file, schema) as writer:
            for part in sweep.rows():
                writer.write_table(pyarrow.table(list(np.ascontiguousarray(part.T)), schema=schema))


WRITERS: dict[str, Callable[[Sweep, Path], None]] = {".npz": _write_npz, ".csv": _write_csv, ".parquet": _write_parquet}
"""Writers by the ending of a file name."""
