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
