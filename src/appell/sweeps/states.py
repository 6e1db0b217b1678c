"""States of a sweep: arrays, or a description from which any part is made alone and is the same whatever the parts.

Random states, a grid and a Sobol sequence follow from the index of a state.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from appell.deprecation import renamed_attributes, renamed_fields
from appell.sweeps.uniform import uniform_columns

BLOCK = 8192
"""States that are made and evaluated at once: 0.6 MB for six joints in float32, which stays in the processor's cache."""
SOBOL_BITS = 52


@renamed_fields(drive="qdd_or_tau")
@dataclass(frozen=True)
class States:
    """N states; slices are states, too.

    Attributes:
        q: coordinates, (N, nq).
        qd: velocities, (N, nv).
        qdd_or_tau: accelerations, or forces for forward dynamics, (N, nv).
    """

    q: np.ndarray
    qd: np.ndarray
    qdd_or_tau: np.ndarray

    def __len__(self) -> int:
        return len(self.q)

    def __getitem__(self, part: slice) -> States:
        return States(self.q[part], self.qd[part], self.qdd_or_tau[part])

    @property
    def carried_bytes(self) -> int:
        """Bytes of one state that travel with a task."""
        return sum(array.itemsize * array.shape[1] for array in vars(self).values())

    def part(self, start: int, stop: int, dtype: str = "float64") -> States:
        """The states from start to stop."""
        return States(*(np.asarray(array[start:stop], dtype) for array in vars(self).values()))

    def carried(self, start: int, stop: int) -> tuple[States, int, int]:
        """What travels with a task for these states: an object with `part`, and its arguments."""
        return self[start:stop], 0, stop - start

    def describe(self) -> dict[str, Any]:
        """What distinguishes these states from others."""
        content = hashlib.sha256()
        for array in vars(self).values():
            content.update(f"{array.dtype} {array.shape}".encode())
            content.update(np.ascontiguousarray(array).data)
        return {"kind": "arrays", "count": len(self), "sha256": content.hexdigest()}


@renamed_attributes(drive="qdd_or_tau")
class LazyStates(ABC):
    """States that are made when they are used; slices and the arrays `q`, `qd`, `qdd_or_tau` make them.

    Attributes:
        kind: what makes them, in stores; another generator is another kind.
    """

    kind: ClassVar[str]
    carried_bytes = 0
    nq: int
    nv: int

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def part(self, start: int, stop: int, dtype: str = "float64") -> States:
        """The states from start to stop."""

    def __getitem__(self, part: slice) -> States:
        start, stop, step = part.indices(len(self))
        return self.part(start, max(start, stop))[::step]

    def carried(self, start: int, stop: int) -> tuple[Any, int, int]:
        """What travels with a task for these states: an object with `part`, and its arguments."""
        return self, start, stop

    def describe(self) -> dict[str, Any]:
        """What distinguishes these states from others."""
        return {"kind": self.kind, **asdict(self)}  # type: ignore[call-overload]

    def from_columns(self, columns: np.ndarray, dtype: str) -> States:
        """States from an array (nq + 2 nv, N), without copies where the type is right."""
        rows, nq, nv = columns.astype(dtype, copy=False).T, self.nq, self.nv
        return States(rows[:, :nq], rows[:, nq : nq + nv], rows[:, nq + nv :])

    @property
    def q(self) -> np.ndarray:
        """All coordinates."""
        return self[:].q

    @property
    def qd(self) -> np.ndarray:
        """All velocities."""
        return self[:].qd

    @property
    def qdd_or_tau(self) -> np.ndarray:
        """All accelerations or forces."""
        return self[:].qdd_or_tau


@dataclass(frozen=True)
class RandomStates(LazyStates):
    """Uniformly distributed states, on 2^32 values.

    Attributes:
        low, high: of q, qd and qdd_or_tau, one after the other; 0 and 1 for quaternions.
        quaternions: where they begin in q.
    """

    kind = "random, SplitMix64"
    count: int
    seed: int
    nq: int
    nv: int
    low: tuple[float, ...]
    high: tuple[float, ...]
    quaternions: tuple[int, ...]

    def __len__(self) -> int:
        return self.count

    def part(self, start: int, stop: int, dtype: str = "float64") -> States:
        columns = uniform_columns(self.seed, self.low, self.high, start, stop, dtype)
        for row in self.quaternions:
            columns[row : row + 4] = uniform_quaternions(columns[row : row + 3])
        return self.from_columns(columns, dtype)


def uniform_quaternions(numbers: np.ndarray) -> np.ndarray:
    """Uniformly distributed rotations (4, N) from numbers (3, N) between 0 and 1 (Shoemake, Graphics Gems III, 1992)."""
    u, (a, b) = numbers[0], 2 * np.pi * numbers[1:]
    r, s = np.sqrt(1 - u), np.sqrt(u)
    return np.stack([r * np.sin(a), r * np.cos(a), s * np.sin(b), s * np.cos(b)])


@dataclass(frozen=True)
class GridStates(LazyStates):
    """Configurations on a grid, at rest; the last coordinate changes first."""

    kind = "grid"
    points: int
    nq: int
    nv: int
    low: tuple[float, ...]
    high: tuple[float, ...]

    def __len__(self) -> int:
        return self.points**self.nq

    def part(self, start: int, stop: int, dtype: str = "float64") -> States:
        index, columns = np.arange(start, stop), []
        for low, high in zip(reversed(self.low), reversed(self.high), strict=True):
            index, place = np.divmod(index, self.points)
            columns.append(np.linspace(low, high, self.points).astype(dtype)[place])
        rest = np.broadcast_to(np.zeros(1, dtype), (stop - start, self.nv))
        return States(np.stack(columns[::-1], axis=1) if columns else rest[:, :0], rest, rest)


@dataclass(frozen=True)
class SobolStates(LazyStates):
    """A scrambled Sobol sequence (SciPy's), scaled to `low` and `high` of q, qd and qdd_or_tau."""

    kind = "Sobol"
    count: int
    seed: int
    nq: int
    nv: int
    low: tuple[float, ...]
    high: tuple[float, ...]

    def __len__(self) -> int:
        return self.count

    def part(self, start: int, stop: int, dtype: str = "float64") -> States:
        low, high = np.array(self.low)[:, None], np.array(self.high)[:, None]
        return self.from_columns(low + (high - low) * sobol(len(low), self.seed, start, stop), dtype)


def sobol(dimensions: int, seed: int, start: int, stop: int) -> np.ndarray:
    """Points start to stop of a scrambled Sobol sequence, (dimensions, N).

    Point k is the exclusive or of the direction numbers at the set bits of the Gray code of k; SciPy's generator reaches it
    only over all points before.
    """
    directions, shift = _direction_numbers(dimensions, seed)
    index = np.arange(start, stop, dtype=np.uint64)
    gray = index ^ (index >> np.uint64(1))
    points = np.repeat(shift[:, None], len(index), axis=1)
    for bit in range(int(gray.max(initial=0)).bit_length()):
        points ^= directions[:, bit, None] * ((gray >> np.uint64(bit)) & np.uint64(1))
    return points * 2.0**-SOBOL_BITS


@lru_cache(maxsize=8)
def _direction_numbers(dimensions: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    from scipy.stats.qmc import Sobol

    engine = Sobol(dimensions, scramble=True, bits=SOBOL_BITS, seed=np.random.default_rng(seed))  # type: ignore[call-arg]
    return engine._sv, engine._shift


@dataclass(frozen=True)
class DaskStates(LazyStates):
    """States from a Dask array (N, nq + 2 nv) of q, qd and qdd or tau; the graph of a part travels with its task."""

    kind = "dask array"
    array: Any
    nq: int
    nv: int

    def __len__(self) -> int:
        return len(self.array)

    def part(self, start: int, stop: int, dtype: str = "float64") -> States:
        return self.from_columns(self.array[start:stop].compute(scheduler="synchronous").T, dtype)

    def carried(self, start: int, stop: int) -> tuple[Any, int, int]:
        import dask

        (array,) = dask.optimize(self.array[start:stop])  # type: ignore[attr-defined]
        return DaskStates(array, self.nq, self.nv), 0, stop - start

    def describe(self) -> dict[str, Any]:
        return {"kind": self.kind, "count": len(self), "name": self.array.name}


StateSource = States | LazyStates
"""What a sweep takes: `len`, `part`, `carried` and `describe`."""
