"""Results of a Monte Carlo study, in memory or in a store: statistics and bands of quantiles without loading everything."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import Any

import numpy as np

from appell.checks import require_choice
from appell.errors import ArgumentError
from appell.plotting import COLOURS, new_figure, save_figure, tidy
from appell.sweeps.executors import missing_extra
from appell.sweeps.runs import MESSAGE
from appell.table import Table

MOST_BYTES = 2**28
"""Memory for quantiles: so many columns of a result are read at once."""
LEVELS = (0.05, 0.5, 0.95)


@dataclass(frozen=True)
class MonteCarlo:
    """Results of a Monte Carlo study.

    Attributes:
        arrays: draws and results by name, (runs, ...) each, and `message`: NumPy arrays, or Zarr arrays in a store.
        seconds: wall-clock time. [s]
        chunk: runs that are read at once.
        store: path of the store, None for results in memory.
        attributes: robot, version, seed, names of the draws, units.
        dims: names of the dimensions by array.
    """

    robot_name: str
    arrays: Mapping[str, Any] = field(repr=False)
    seconds: float
    chunk: int
    store: str | None = None
    attributes: Mapping[str, Any] = field(default_factory=dict, repr=False)
    dims: Mapping[str, tuple[str, ...]] = field(default_factory=dict, repr=False)

    @classmethod
    def open(cls, store: str | PathLike) -> MonteCarlo:
        """The study of a store; runs that are not finished are among its failures."""
        try:
            from appell.sweeps.store import IDENTITY, open_store
        except ImportError:
            raise missing_extra() from None
        found = open_store(store)
        about = dict(found.group.attrs.asdict())
        identity: Any = about.pop(IDENTITY)
        if MESSAGE not in found.names:
            raise ArgumentError(f"{found.path} is the store of a sweep. Open it with appell.sweeps.Sweep.open.")
        return cls(identity["robot"], found.arrays(), 0.0, found.chunk, found.path, about)

    def __len__(self) -> int:
        return self.arrays[MESSAGE].shape[0]

    @property
    def drawn(self) -> dict[str, Any]:
        """What was drawn, by name."""
        return {name: self.arrays[name] for name in self.attributes["drawn"]}

    @property
    def results(self) -> dict[str, Any]:
        """Results by name."""
        others = {MESSAGE, *self.attributes["drawn"]}
        return {name: values for name, values in self.arrays.items() if name not in others}

    def parts(self, name: str) -> Iterator[np.ndarray]:
        """Entries of runs that did not fail, (runs, entries), a few chunks at a time."""
        values, step = self.arrays[name], self.chunk * max(1, 4096 // self.chunk)
        for start in range(0, len(self), step):
            good = np.asarray(self.arrays[MESSAGE][start : start + step]) == ""
            yield np.asarray(values[start : start + step]).reshape(len(good), -1)[good]

    def failures(self) -> dict[int, str]:
        """Messages of the runs that failed, by run."""
        messages = np.asarray(self.arrays[MESSAGE][:])
        return {int(k): str(messages[k]) for k in np.flatnonzero(messages != "")}

    @property
    def failed(self) -> int:
        """Number of runs that failed."""
        return len(self.failures())

    def quantiles(self, name: str, levels: Sequence[float] = LEVELS) -> np.ndarray:
        """Quantiles of a draw or result over the runs that did not fail, (levels, ...), interpolated linearly."""
        values = self.arrays[require_choice("array", name, [key for key in self.arrays if key != MESSAGE])]
        shape = values.shape[1:]
        size, columns = int(np.prod(shape, dtype=int)), []
        width = max(1, MOST_BYTES // (8 * len(self)))
        for start in range(0, size, width):
            block = np.concatenate([part[:, start : start + width] for part in self.parts(name)])
            columns.append(
                np.quantile(block, levels, axis=0) if len(block) else np.full((len(levels), block.shape[1]), np.nan)
            )
        return (
            np.concatenate(columns, axis=1).reshape(len(levels), *shape) if columns else np.empty((len(levels), *shape))
        )

    def table(self) -> Table:
        """Mean, standard deviation and quantiles of the entries of every result."""
        rows = []
        for name, values in self.results.items():
            count, total, squares = 0, 0.0, 0.0
            low, high = np.inf, -np.inf
            for part in self.parts(name):
                count, total = count + part.size, total + float(part.sum())
                if part.size:
                    low, high = min(low, float(part.min())), max(high, float(part.max()))
            mean = total / max(count, 1)
            for part in self.parts(name):
                squares += float(np.square(part - mean).sum())
            middle = [float(np.mean(level)) for level in self.quantiles(name)]
            shape = " x ".join(map(str, values.shape[1:])) or "1"
            rows.append((name, shape, mean, (squares / max(count - 1, 1)) ** 0.5, low, *middle, high))
        columns = ("result", "shape", "mean", "deviation", "smallest", *(f"{level:.0%}" for level in LEVELS), "largest")
        failures = self.failures()
        notes = [
            f"{len(self)} runs" + (f" in {self.seconds:.3g} s" if self.seconds else "") + f", {len(failures)} failed."
        ]
        notes += [f"run {k}: {text}" for k, text in list(failures.items())[:3]]
        if any(values.ndim > 1 for values in self.results.values()):
            notes.append("Quantiles of arrays are averages of the quantiles of their entries.")
        return Table(f"Monte Carlo study of {self.robot_name}", columns, tuple(rows), tuple(notes))

    def plot(self, path: str | PathLike | None = None, levels: Sequence[float] = LEVELS, t: Any = None) -> Any:
        """One panel per result: a histogram of numbers, bands of quantiles of vectors, over t or their index.

        Results of more dimensions are left out. Needs matplotlib; returns the figure.
        """
        shown = {name: values for name, values in self.results.items() if values.ndim <= 2}
        if not shown:
            raise ArgumentError("no result is a number or a vector. Use `quantiles` and a plot of your own.")
        figure = new_figure(8.0, 2.6 * len(shown))
        for i, (name, panel) in enumerate(zip(shown, np.atleast_1d(figure.subplots(len(shown), 1)), strict=True)):
            colour = COLOURS[i % len(COLOURS)]
            if shown[name].ndim == 1:
                panel.hist(np.concatenate([part.ravel() for part in self.parts(name)]), bins=50, color=colour)
                panel.set(xlabel=self._label(name), ylabel="runs")
            else:
                _plot_bands(
                    panel,
                    np.arange(shown[name].shape[1]) if t is None else t,
                    self.quantiles(name, levels),
                    levels,
                    colour,
                )
                panel.set(xlabel="index" if t is None else "t [s]", ylabel=self._label(name))
            tidy(panel)
        save_figure(figure, path)
        return figure

    def _label(self, name: str) -> str:
        unit = self.attributes["units"].get(name)
        return f"{name} [{unit}]" if unit else name

    def to_xarray(self) -> Any:
        """Draws, results and messages as an `xarray.Dataset` with the dimension `run`; lazy where they are in a store."""
        try:
            import xarray
        except ImportError:
            raise missing_extra() from None
        if self.store is not None:
            return xarray.open_zarr(self.store, chunks={}, consolidated=True)
        named = {name: (("run", *self.dims[name]), values) for name, values in self.arrays.items()}
        return xarray.Dataset(named, attrs=dict(self.attributes))


def _plot_bands(panel: Any, t: Any, quantiles: np.ndarray, levels: Sequence[float], colour: str) -> None:
    """Shaded bands between the k-th lowest and the k-th highest quantile, and the middle one as a line."""
    order = np.argsort(levels)
    pairs = len(order) // 2
    for k in range(pairs):
        low, high = order[k], order[-1 - k]
        label = f"{levels[low]:.0%} to {levels[high]:.0%}"
        panel.fill_between(
            t, quantiles[low], quantiles[high], color=colour, alpha=0.25 + 0.2 * k, linewidth=0, label=label
        )
    if len(order) % 2:
        panel.plot(t, quantiles[order[pairs]], color=colour, label=f"{levels[order[pairs]]:.0%}")
    panel.legend(frameon=False, fontsize=8)
