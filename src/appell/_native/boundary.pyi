from collections.abc import Callable
from typing import Any

import numpy as np

class Kernel:
    def __init__(
        self,
        library: object,
        one: int,
        batch: int,
        work: int,
        sizes: tuple[int, ...],
        shape: tuple[int, ...],
        single: bool,
        threads: int,
        grain: int,
    ) -> None: ...
    def run(self, inputs: tuple[np.ndarray, ...], out: np.ndarray, /) -> bool: ...

class Function:
    def __init__(self, general: Callable[..., Any]) -> None: ...
    def __call__(self, *arguments: Any, **keywords: Any) -> Any: ...

def bind(
    function: Function,
    kernel: Kernel,
    parameters: np.ndarray | None,
    rows: bool,
    quaternions: tuple[int, ...] = ...,
    blocks: type[tuple] | None = ...,
    widths: tuple[int, ...] = ...,
    /,
) -> None: ...
def solve_contacts(
    G: np.ndarray,
    c: np.ndarray,
    blocks: np.ndarray,
    limits: np.ndarray,
    p: np.ndarray,
    w: np.ndarray,
    tolerance: float,
    acceptable: float,
    most: int,
    /,
) -> tuple[float, int, int]: ...
def mode_accelerations(
    M: np.ndarray,
    F: np.ndarray,
    J: np.ndarray,
    bias: np.ndarray,
    blocks: np.ndarray,
    limits: np.ndarray,
    states: np.ndarray,
    d: np.ndarray,
    qdd: np.ndarray,
    f: np.ndarray,
    /,
) -> bool: ...
def uniform_columns(seed: int, first: int, ranges: np.ndarray, out: np.ndarray, /) -> None: ...

class Stepper:
    steps: int
    splits: int
    impacts: int
    failures: int
    worst_residual: float
    deepest: float
    energy: float
    energy_before: float
    depth: float
    reach: float
    def __init__(
        self,
        kernels: tuple[tuple[int, int], ...],
        sizes: tuple[int, int, int, int],
        joints: np.ndarray,
        entries: np.ndarray,
        units: np.ndarray,
        parents: np.ndarray,
        points: np.ndarray,
        surfaces: np.ndarray,
        limits: np.ndarray,
        damping: np.ndarray,
        friction: np.ndarray,
        tolerance: float,
        acceptable: float,
        most: int,
        general: Callable[..., None] | None,
        keep: object,
    ) -> None: ...
    def start(self, q: np.ndarray, qd: np.ndarray, warm: bool = False, /) -> None: ...
    def run(
        self,
        tau: np.ndarray,
        dt: float,
        steps: int,
        q: np.ndarray,
        qd: np.ndarray,
        work: np.ndarray,
        force: np.ndarray,
        /,
    ) -> tuple[int, int, float, int]: ...
    def read(self, name: str, out: np.ndarray, /) -> None: ...

class Motion:
    def __init__(
        self,
        stepper: Stepper,
        index: np.ndarray,
        states: np.ndarray,
        carries: np.ndarray,
        slack: np.ndarray,
        reference: np.ndarray,
        joints: np.ndarray,
        friction: np.ndarray,
        loads: np.ndarray,
        added: np.ndarray,
        works: bool,
        look_ahead: float,
        /,
    ) -> None: ...
    def rate(self, y: np.ndarray, tau: np.ndarray, out: np.ndarray, /) -> bool: ...
    def stages(self, y: np.ndarray, tau: np.ndarray, A: np.ndarray, K: np.ndarray, h: float, done: int, /) -> bool: ...
    def implicit_step(self, tau: np.ndarray, y: np.ndarray, h: float, /) -> bool: ...
    def margins(self, y: np.ndarray, tau: np.ndarray, tolerance: float, /) -> tuple[float, float]: ...
    def project(self, q: np.ndarray, v: np.ndarray, /) -> tuple[float, float]: ...
    def refer(self, y: np.ndarray, tau: np.ndarray, /) -> bool: ...
    def forces(self, y: np.ndarray, tau: np.ndarray, qdd: np.ndarray, f: np.ndarray, d: np.ndarray, /) -> bool: ...
    @staticmethod
    def gaps(stepper: Stepper, q: np.ndarray, qd: np.ndarray, out: np.ndarray, /) -> bool: ...
    @staticmethod
    def contacts(
        stepper: Stepper,
        q: np.ndarray,
        qd: np.ndarray,
        gap: np.ndarray,
        normal: np.ndarray,
        velocity: np.ndarray,
        J: np.ndarray,
        bias: np.ndarray,
        curvature: np.ndarray,
        /,
    ) -> bool: ...
